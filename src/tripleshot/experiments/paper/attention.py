"""The paper's figures about one triple: the attention map of the global encoder, the weights of the local encoder."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tripleshot.answering.explaining import explain
from tripleshot.answering.explanation import Explanation, WeightedNeighbor
from tripleshot.answering.plots import draw_attention, draw_neighbors
from tripleshot.datasets.dataset import FewShotDataset
from tripleshot.errors import InputError
from tripleshot.experiments.paper.report import NONE, Missing, Picture, Report, Table
from tripleshot.experiments.paper.values import printed_rows
from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.graph.search import NameIndex
from tripleshot.training.runs import load_run

NAME, TITLE = "attention", "Attention and local weights"


@dataclass(frozen=True)
class Triple:
    """A triple by names."""

    head: str
    relation: str
    tail: str


def triple_of(dataset: FewShotDataset) -> Triple:
    """Return the triple that the paper shows; for other datasets the last triple of the first test relation."""
    for row in printed_rows("attention", dataset.name):
        return Triple(row["head"], row["relation"], row["tail"])
    if not dataset.test:
        raise InputError(f"{dataset.name} has no test tasks: name a triple")
    task = dataset.test[0]
    head, tail = (dataset.graph.entities.name(entity) for entity in task.pairs[-1].tolist())
    return Triple(head, task.name, tail)


def no_attention_report(command: str) -> Report:
    """Return a report without figures that names the command which would draw them from a run."""
    return Report(NAME, TITLE, missing=(Missing(("an RSCL run",), command),))


def attention_report(dataset: FewShotDataset, run: Path, triple: Triple) -> Report:
    """Explain one triple with a run, and draw its attention and weights.

    The examples are the first of the relation beside the triple itself: the paper's is one of the first five.
    """
    method, config = load_run(run, dataset)
    index, task = NameIndex.of(dataset.graph.entities), dataset.task(triple.relation)
    head, tail = index.resolve(triple.head), index.resolve(triple.tail)
    is_other = (task.pairs != np.array([head, tail])).any(axis=1)
    graph = method.graph
    explanation = explain(method, task.pairs[is_other][: config.shots], head, tail)
    pictures = [
        Picture("local-weights", "The direct neighbors of the triple.", lambda p: draw_neighbors(explanation, p))
    ]
    if explanation.attention is not None:
        caption = "The attention map of the global encoder: each token (row) attends to each other (column)."
        drawing = Picture("attention-map", caption, lambda path: draw_attention(explanation, path))
        pictures.insert(0, drawing)
    asked = f"({graph.entities.label(head)}, {task.label or task.name}, {graph.entities.label(tail)})"
    return Report(
        NAME,
        TITLE,
        (
            f"{asked}, asked of `{config.method}` with {config.shots} other examples of the relation. The triple's own "
            "edge is not in the background graph. Attention is averaged over heads and layers in the map, and rolled "
            "out over the layers in the table.",
        ),
        (_table(explanation, graph),),
        tuple(pictures),
        data={
            "triple": [triple.head, triple.relation, triple.tail],
            "run": {"method": config.method, "command": config.command, "commit": config.commit},
            "data_hash": config.data_hash,
            "seed": config.settings.get("seed", 0),
            "score": explanation.score,
            "text": str(explanation),
            "tokens": list(explanation.tokens),
            "attention": None if explanation.attention is None else np.round(explanation.attention, 5).tolist(),
        },
    )


def _table(explanation: Explanation, graph: KnowledgeGraph) -> Table:
    headings = ("neighbor", "relation", "of the", "hops", "local weight", "attention")
    order = [("head", 1), ("tail", 1), ("head", 2), ("tail", 2)]
    rows = [_row(one, graph) for side, hops in order for one in explanation.around(side, hops)]  # pyrefly: ignore
    return Table("neighbors in the context", headings, tuple(rows))


def _row(neighbor: WeightedNeighbor, graph: KnowledgeGraph) -> tuple[str, ...]:
    relation = graph.relations.label(graph.base(neighbor.relation)) + " (inverse)" * graph.is_inverse(neighbor.relation)
    weights = (neighbor.local_weight, neighbor.attention)
    cells = (NONE if weight is None else f"{weight:.1%}" for weight in weights)
    return graph.entities.label(neighbor.entity), relation, neighbor.side, str(neighbor.hops), *cells
