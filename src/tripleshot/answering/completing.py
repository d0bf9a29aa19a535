"""Complete a graph: propose triples that it does not have, for every head that could have a relation.

A relation of the graph is asked about as in `questions`: up to ten of its triples are the examples, all of them are
hidden, and what they say is not proposed again. Heads are those that could stand where the heads of the examples stand.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tripleshot.answering.answers import as_batch
from tripleshot.answering.examples import Reference, read_examples
from tripleshot.answering.proposals import Proposals, empty_batch
from tripleshot.answering.provenance import Provenance, name_of, origin_of
from tripleshot.answering.questions import HEADS_PER_BATCH, Question, find_asked
from tripleshot.answering.ranking import Candidates, Ranked
from tripleshot.answering.steps import Steps, finish
from tripleshot.arrays import IntArray, is_integer
from tripleshot.errors import InputError
from tripleshot.graph.types import TYPE_RELATIONS

if TYPE_CHECKING:
    from tripleshot.answering.predictor import Predictor

MAX_HEADS = 10_000  # of a relation, unless somebody wants more
MIN_TRIPLES = 3  # of a relation that is completed without being named
MIN_CONFIDENCE = 0.5


@dataclass(frozen=True)
class Rules:
    """What is proposed.

    Attributes:
        k: how many proposals for a head at most.
        min_confidence: of a proposal; None is one half, or nothing where a method knows no confidence.
        candidates: what could be a tail.
        max_heads: of each relation.
        missing_only: leave out heads that have a tail of the relation already.
    """

    k: int = 3
    min_confidence: float | None = None
    candidates: Candidates = "open"
    max_heads: int = MAX_HEADS
    missing_only: bool = False

    def __post_init__(self) -> None:
        if not (is_integer(self.k) and self.k >= 1):
            raise InputError(f"k: expected one proposal for a head or more, found {self.k!r}")
        if not (is_integer(self.max_heads) and self.max_heads >= 1):
            raise InputError(f"max_heads: expected one head or more, found {self.max_heads!r}")
        if self.min_confidence is not None and not 0 <= self.min_confidence <= 1:
            raise InputError(f"min_confidence: expected a share between 0 and 1, found {self.min_confidence}")

    def threshold(self, predictor: "Predictor") -> float:
        """Return the confidence that a proposal has at least; 0 where nothing is known about confidence."""
        if predictor.calibration is not None:
            return MIN_CONFIDENCE if self.min_confidence is None else self.min_confidence
        if self.min_confidence:
            raise InputError(f"min_confidence: nothing is known about the confidence of {predictor.name}; leave it out")
        return 0.0


@dataclass(frozen=True, eq=False)
class Plan:
    """How one relation is completed.

    Attributes:
        question: the relation.
        heads: shape (n,), ids of the heads to ask about, in this order.
        num_alike: how many heads could be asked about.
        rules: what is proposed.
    """

    question: Question
    heads: IntArray
    num_alike: int
    rules: Rules

    def propose(self, heads: Iterable[int], pool: IntArray) -> Iterator[pa.RecordBatch]:
        """Propose tails of some heads out of a pool of candidates, a few heads at a time."""
        remaining = iter(heads)
        while some := list(islice(remaining, HEADS_PER_BATCH)):
            yield self.as_batch(some, [finish(self.rank(head, pool)) for head in some])

    def rank(self, head: int, pool: IntArray, slice_size: int | None = None) -> Steps[Ranked]:
        """Rank the tails of one head, and leave out what is less confident than it has to be."""
        ranked = yield from self.question.rank(head, pool, self.rules.k, slice_size=slice_size)
        return _cut(ranked, self.rules.threshold(self.question.origin))

    def pool(self) -> IntArray:
        """Return, sorted, what could be a tail."""
        return self.question.origin.candidates_for(self.question, self.rules.candidates)

    def as_batch(self, heads: Sequence[int], rankings: Sequence[Ranked]) -> pa.RecordBatch:
        """Lay proposals out as columns, one row each."""
        rows = as_batch(self.question.origin.graph, heads, rankings)
        return with_relation(rows, self.question)


def plan(
    predictor: "Predictor",
    relation: str,
    rules: Rules,
    examples: Any = None,  # noqa: ANN401 (as in Predictor.predict)
    heads: Iterable[Reference] | None = None,
) -> Plan:
    """Look up a relation and choose the heads that are asked about.

    Args:
        predictor: answers.
        relation: of the graph or, with examples, a new one.
        rules: what is proposed.
        examples: pairs of the relation; None takes triples of the graph.
        heads: to ask about, by name, label or id; None takes those like the heads of the examples.
    """
    rules.threshold(predictor)
    question = predictor.question(examples, relation)
    if heads is not None:
        asked = np.array(find_asked(predictor, heads, None)[1], dtype=np.int64)
        return Plan(question, asked, len(asked), rules)
    chosen, num_alike = choose_heads(question, rules)
    return Plan(question, chosen, num_alike, rules)


def choose_heads(question: Question, rules: Rules) -> tuple[IntArray, int]:
    """Choose the heads that could have a relation, and tell how many there are before the limit.

    They are typed like the heads of the examples or, in a graph without types, stand at the beginning of the same
    relations; heads that have the relation are among them. Those without a tail come first: there something is
    missing. Among equals those with the most edges come first: about them the most is known.
    """
    predictor = question.origin
    alike = predictor.candidates(question.support[:, ::-1], "open", "tail")
    alike = np.union1d(alike, question.known[:, 0])
    has_tail = np.isin(alike, question.known[:, 0])
    if rules.missing_only:
        alike, has_tail = alike[~has_tail], has_tail[~has_tail]
    order = np.lexsort((alike, -predictor.graph.degrees[alike], has_tail))
    return alike[order[: rules.max_heads]].astype(np.int64), len(alike)


def relations_to_complete(predictor: "Predictor", relations: str | Sequence[str] | None) -> list[str]:
    """Return the names of relations, those of the graph if None are given: enough triples, and no type relation."""
    if relations is not None:
        named = [relations] if isinstance(relations, str) else list(relations)
        if not named:
            raise InputError("relations: give at least one relation of the graph")
        return list(dict.fromkeys(named))
    graph = predictor.dataset.whole.graph
    counts = graph.relation_counts().tolist()
    found = [
        graph.relations.name(relation)
        for relation, count in enumerate(counts)
        if count >= MIN_TRIPLES and graph.relations.name(relation) not in TYPE_RELATIONS
    ]
    if not found:
        raise InputError(f"no relation of the graph has {MIN_TRIPLES} triples to be completed from")
    return found


class Completion:
    """What is completed in a graph: relations one after the other, each with its heads.

    Nothing of one relation is held while another is at work, so that a graph of any size fits.
    """

    def __init__(
        self,
        predictor: "Predictor",
        relations: str | Sequence[str] | None = None,
        rules: Rules | None = None,
        examples: Any = None,  # noqa: ANN401 (as in Predictor.predict)
        heads: Iterable[Reference] | None = None,
    ) -> None:
        """Check what is wanted.

        Args:
            predictor: answers.
            relations: of the graph or, with examples, one that may be new; None takes all of the graph.
            rules: what is proposed.
            examples: pairs of the one relation; None takes triples of the graph.
            heads: to ask about; None takes those like the heads of the examples.
        """
        self.predictor, self.rules = predictor, rules or Rules()
        self.names = relations_to_complete(predictor, relations)
        self.examples = None if examples is None else read_examples(examples)
        self.heads = None if heads is None else list(heads)
        if examples is not None and (relations is None or len(self.names) > 1):
            raise InputError("examples: are those of one relation; give its name")

    def plans(self) -> Iterator[Plan]:
        """Plan one relation after the other."""
        for name in self.names:
            yield plan(self.predictor, name, self.rules, self.examples, self.heads)

    @cached_property
    def provenance(self) -> Provenance:
        """Where the proposals come from."""
        origins = [origin_of(one.question, len(one.heads), one.num_alike) for one in self.plans()]
        return Provenance.of(self.predictor, origins)

    @property
    def num_heads(self) -> int:
        """How many heads are asked about, those of all relations together."""
        return sum(origin.num_heads or 0 for origin in self.provenance.relations)

    def batches(self, progress: Callable[[int], None] | None = None) -> Iterator[pa.RecordBatch]:
        """Propose, a few heads at a time; there is at least one batch.

        Args:
            progress: called with the number of heads that are done.
        """
        done = 0
        yield empty_batch()
        for one in self.plans():
            for place, batch in enumerate(one.propose(one.heads.tolist(), one.pool()), start=1):
                yield batch
                if progress:
                    progress(done + min(place * HEADS_PER_BATCH, len(one.heads)))
            done += len(one.heads)


def with_relation(rows: pa.RecordBatch, question: Question) -> pa.RecordBatch:
    """Return rows of answers as triples of a relation: what is known already is left out."""
    rows = rows.filter(pc.invert(rows.column("is_known")))
    columns = {name: rows.column(name) for name in rows.schema.names}
    named = {"relation": name_of(question), "relation_label": question.relation or name_of(question)}
    columns |= {title: pa.array([text] * len(rows), type=pa.large_string()) for title, text in named.items()}
    return pa.RecordBatch.from_pydict({name: columns[name] for name in Proposals.COLUMNS})


def _cut(ranked: Ranked, min_confidence: float) -> Ranked:
    """Leave out what is less confident; nothing where nothing is known about confidence."""
    if ranked.confidence is None:
        return ranked
    kept = ranked.confidence >= min_confidence
    columns = {name: getattr(ranked, name)[kept] for name in ("tails", "scores", "confidence", "is_known")}
    return replace(ranked, **columns)
