"""Answers to a question: ranked entities by name, as objects, tables, files or JSON."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tripleshot.answering.documents import Document, ranking_document
from tripleshot.answering.explanation import Side
from tripleshot.answering.ranking import Ranked
from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.graph.vocabulary import Vocabulary
from tripleshot.tables import Tabular, write_batches


@dataclass(frozen=True)
class Answer:
    """An entity that the method proposes.

    Attributes:
        rank: 1 for the best.
        name: the entity's name; `label` is what to show a person, `id` its number in the graph.
        score: the method's own score; comparable within one question only.
        confidence: how likely it is right; None where nothing is known about that.
        is_known: whether the examples, or the graph's triples of the relation, already say so.
    """

    rank: int
    name: str
    label: str
    id: int
    score: float
    confidence: float | None
    is_known: bool


@dataclass(frozen=True, eq=False)
class Answers(Tabular):
    """The answers for every entity that was asked about, in the order of asking.

    `answers["Baku"]` gives those for one entity; iterating gives the lists of all.

    Attributes:
        graph: what the ids belong to.
        asked: ids of the entities that were asked about.
        rankings: the best answers for each of them.
        side: what the asked entities are, heads or tails of the relation.
        seconds: that it took.
        relation: what the relation is called; empty if nobody said.
    """

    graph: KnowledgeGraph
    asked: tuple[int, ...]
    rankings: tuple[Ranked, ...]
    side: Side = "head"
    seconds: float = 0.0
    relation: str = ""

    def __len__(self) -> int:
        return len(self.asked)

    def __iter__(self) -> Iterator[list[Answer]]:
        return (_answers_of(self.graph, ranked) for ranked in self.rankings)

    def __getitem__(self, asked: str | int) -> list[Answer]:
        """Return the answers for one entity, by its name, its label or its place in the order of asking."""
        if isinstance(asked, int):
            return _answers_of(self.graph, self.rankings[asked])
        entities = self.graph.entities
        for entity, ranked in zip(self.asked, self.rankings, strict=True):
            if asked in (entities.name(entity), entities.label(entity)):
                return _answers_of(self.graph, ranked)
        raise KeyError(asked)

    def __str__(self) -> str:
        lines = []
        for entity, answers, ranked in zip(self.asked, self, self.rankings, strict=True):
            lines.append(self.title(entity))
            for answer in answers:
                sure = "" if answer.confidence is None else f"  {answer.confidence:.0%}"
                lines.append(f"  {answer.rank}. {answer.label}{sure}  ({answer.score:z.3f})")
            if ranked.none is not None:
                lines.append(f"  none of the {ranked.num_candidates:,} candidates  {ranked.none:.0%}")
        return "\n".join(lines)

    def to_html(self) -> str:
        """Return a table for each entity that was asked about, as a notebook shows it; names are escaped."""
        from tripleshot.answering.answers_html import answers_html

        return answers_html(self)

    def title(self, entity: int) -> str:
        """Return what was asked about an entity: its label or, if the relation has a name, the triple that is open."""
        label = self.graph.entities.label(entity)
        if not self.relation:
            return label
        return f"{label} — {self.relation} → ?" if self.side == "head" else f"? — {self.relation} → {label}"

    def to_arrow(self, ids: bool = False) -> pa.Table:
        """Return one row for each answer: head, head_label, rank, tail, tail_label, score, confidence, is_known.

        With `ids` there are two more columns, head_id and tail_id.
        """
        return pa.Table.from_batches([as_batch(self.graph, self.asked, self.rankings, self.side, ids)])

    def to_dict(self) -> Document:
        """Return the answers as the server sends them."""
        results = [
            ranking_document(self.graph, entity, ranked, self.side)
            for entity, ranked in zip(self.asked, self.rankings, strict=True)
        ]
        return {"relation": self.relation or None, "results": results, "seconds": round(self.seconds, 6)}


def _answers_of(graph: KnowledgeGraph, ranked: Ranked) -> list[Answer]:
    confidence = [None] * len(ranked.tails) if ranked.confidence is None else ranked.confidence.tolist()
    rows = zip(ranked.tails.tolist(), ranked.scores.tolist(), confidence, ranked.is_known.tolist(), strict=True)
    return [
        Answer(rank, graph.entities.name(entity), graph.entities.label(entity), entity, float(score), share, known)
        for rank, (entity, score, share, known) in enumerate(rows, start=1)
    ]


def as_batch(
    graph: KnowledgeGraph, asked: Sequence[int], rankings: Sequence[Ranked], side: Side = "head", ids: bool = False
) -> pa.RecordBatch:
    """Lay rankings out as columns; the rows of an asked entity stand together, best first."""
    counts = [len(ranked.tails) for ranked in rankings]
    given = pa.array(np.repeat(np.array(asked, dtype=np.int64), counts))
    found = pa.array(np.concatenate([np.empty(0, np.int64), *(ranked.tails for ranked in rankings)]).astype(np.int64))
    heads, tails = (given, found) if side == "head" else (found, given)
    names = graph.entities.names
    ranks = [np.empty(0, np.int32), *(np.arange(1, count + 1, dtype=np.int32) for count in counts)]
    scores = [np.empty(0), *(ranked.scores for ranked in rankings)]
    unknown = (
        np.full(len(ranked.tails), np.nan) if ranked.confidence is None else ranked.confidence for ranked in rankings
    )
    columns = {
        **({"head_id": heads} if ids else {}),
        "head": names.take(heads),
        "head_label": _labels(graph.entities, heads),
        "rank": pa.array(np.concatenate(ranks)),
        **({"tail_id": tails} if ids else {}),
        "tail": names.take(tails),
        "tail_label": _labels(graph.entities, tails),
        "score": pa.array(np.concatenate(scores).astype(np.float64)),
        "confidence": pa.array(np.concatenate([np.empty(0), *unknown]), from_pandas=True),
        "is_known": pa.array(np.concatenate([np.empty(0, np.bool_), *(ranked.is_known for ranked in rankings)])),
    }
    return pa.RecordBatch.from_pydict(columns)


def write_answers(batches: Iterable[pa.RecordBatch], path: Path, progress: Callable[[int], None]) -> None:
    """Write answers to a file as they come: .parquet, .tsv or .csv.

    Args:
        batches: from `Predictor.predict_batches`; they are never in memory all at once.
        path: the file to write.
        progress: called with the number of heads that have been answered so far.
    """

    def counted() -> Iterator[pa.RecordBatch]:
        done = 0
        for batch in batches:
            yield batch
            done += pc.sum(pc.equal(batch.column("rank"), 1)).as_py() or 0
            progress(done)

    write_batches(counted(), path)


def _labels(entities: Vocabulary, ids: pa.Array) -> pa.LargeStringArray:
    """Return what to show for some entities."""
    names = entities.names.take(ids)
    return names if entities.labels is None else pc.coalesce(entities.labels.take(ids), names)
