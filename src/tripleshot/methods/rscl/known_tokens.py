"""Which rows of a trained embedding table the tokens of another graph take: the same names, whatever their ids."""

import numpy as np
import numpy.typing as npt

from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.methods.rscl.contexts import MASK, NUM_SPECIAL, Tokens
from tripleshot.methods.trainable import TrainedNames


def trained_rows(
    tokens: Tokens, graph: KnowledgeGraph, trained: TrainedNames, same_tasks: bool = False
) -> npt.NDArray[np.int64]:
    """Return, for each token of a graph, the row of its embedding in a table that was trained on other ids.

    A name that was never trained is read as [MASK], which stood in pre-training for what had to be made out from its
    neighbors. The tokens of the train tasks play no part in answering and take that row, too, unless they are wanted.

    Args:
        tokens: of the graph.
        graph: to be read.
        trained: the names that the table was trained on.
        same_tasks: the table was trained on the same train tasks: their tokens keep their rows.

    Returns:
        shape (len(tokens),); entities stand at the end of a table and are counted from there, below zero.
    """
    first_task = NUM_SPECIAL + 2 * len(trained.relations)
    tasks = np.arange(first_task, first_task + tokens.num_tasks) if same_tasks else np.full(tokens.num_tasks, MASK)
    return np.concatenate(
        [
            np.arange(NUM_SPECIAL),
            trained.relations.align(graph.relations, MASK, NUM_SPECIAL),
            trained.relations.align(graph.relations, MASK, NUM_SPECIAL + len(trained.relations)),  # inverses
            tasks,
            trained.entities.align(graph.entities, MASK, -len(trained.entities)),
        ]
    )
