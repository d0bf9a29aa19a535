"""One number for everything that can stand in a context, and the rows of a trained embedding table that it takes."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tripleshot.arrays import IntArray
from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.methods.trainable import TrainedNames

PAD, MASK, RELATION = 0, 1, 2  # [PAD], [MASK], and the one token that stands for every few-shot relation
NUM_SPECIAL = 3


@dataclass(frozen=True)
class Tokens:
    """The vocabulary of contexts.

    Special tokens come first, then the relations and their inverses, then the few-shot relations, then the entities.
    """

    num_relations: int
    num_tasks: int
    num_entities: int

    @property
    def first_task(self) -> int:
        """The token of the first few-shot relation."""
        return NUM_SPECIAL + 2 * self.num_relations

    @property
    def first_entity(self) -> int:
        """The token of entity 0."""
        return self.first_task + self.num_tasks

    def __len__(self) -> int:
        return self.first_entity + self.num_entities

    def relations(self, ids: IntArray) -> npt.NDArray[np.int64]:
        """Return the tokens of relations, inverses past `num_relations`."""
        return np.asarray(ids, dtype=np.int64) + NUM_SPECIAL

    def entities(self, ids: IntArray) -> npt.NDArray[np.int64]:
        """Return the tokens of entities."""
        return np.asarray(ids, dtype=np.int64) + self.first_entity


def trained_rows(
    tokens: Tokens, graph: KnowledgeGraph, trained: TrainedNames, same_tasks: bool = False
) -> npt.NDArray[np.int64]:
    """Return, for each token of a graph, the row of its embedding in a table that was trained on other ids.

    A name that was never trained is read as [MASK], which stood in pre-training for a token that had to be predicted
    from its neighbors. The tokens of the train tasks have no part in answering and take that row, too, unless they are
    wanted.

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
