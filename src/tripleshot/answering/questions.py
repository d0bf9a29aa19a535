"""What is asked: a relation, by examples of it or by its name, and the entities on one side of it.

A relation that the graph has already is asked about as if it were new: some of its triples are the examples, and all
of them are hidden, as in training. Otherwise the answer to a question would be the triple that says it.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tripleshot.answering.answers import as_batch
from tripleshot.answering.examples import Reference, as_reference
from tripleshot.answering.explanation import Side
from tripleshot.answering.ranking import Ranked, rank_in_slices
from tripleshot.answering.steps import Steps, finish
from tripleshot.arrays import IntArray
from tripleshot.datasets.dataset import FewShotDataset
from tripleshot.errors import InputError, did_you_mean
from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.graph.search import ID, unknown_id
from tripleshot.graph.trigrams import representable
from tripleshot.graph.types import find_relation

if TYPE_CHECKING:
    from tripleshot.answering.predictor import Predictor

MAX_EXAMPLES = 10  # drawn from the graph: more say little more, and cost time
MAX_LISTED = 5  # relations named in an error
SEED = 0  # the same question has the same examples
HEADS_PER_BATCH = 32
MANY = 64  # names are looked up all at once rather than one by one


@dataclass(frozen=True, eq=False)
class Question:
    """A relation as it is asked about, in ids.

    Attributes:
        origin: was asked.
        side: what is asked about, heads or tails.
        support: shape (K, 2), the examples: the entity that is asked about first, then the answer.
        known: shape (n, 2), likewise, all that is known of the relation: the examples, and triples of the graph.
        relation: what it is called; empty if nobody said.
        hidden: the name of the relation, if the graph has it: its triples must not be seen.
    """

    origin: "Predictor"
    side: Side
    support: npt.NDArray[np.int64]
    known: npt.NDArray[np.int64]
    relation: str
    hidden: str | None = None

    @cached_property
    def predictor(self) -> "Predictor":
        """Who answers, without seeing the relation; made when first asked for, since hiding takes time."""
        return self.origin if self.hidden is None else self.origin.without_relation(self.hidden)

    def rank(
        self, entity: int, pool: IntArray, k: int, include_known: bool = False, slice_size: int | None = None
    ) -> Steps[Ranked]:
        """Rank a pool of candidates for one entity; each step scores so many of them, so that others get a turn."""
        method, calibration = self.predictor.method, self.origin.calibration
        choices = (entity, pool, k, include_known)
        return rank_in_slices(method, self.support, *choices, calibration, self.known, slice_size)


@dataclass(frozen=True, eq=False)
class KnownRelation:
    """A relation of the graph, or of the tasks of its dataset.

    Attributes:
        name: its name; `label` is what to show a person.
        pairs: shape (n, 2), head and tail of every triple.
    """

    name: str
    label: str
    pairs: npt.NDArray[np.int32]


def make_question(
    predictor: "Predictor",
    examples: Any,  # noqa: ANN401 (as in Predictor.predict)
    relation: str | None,
    side: Side,
    max_drawn: int = MAX_EXAMPLES,
) -> Question:
    """Return what is asked in ids, and who answers it: by examples, by a relation that the graph has, or by both."""
    known = find_known_relation(predictor.dataset, relation) if relation else None
    if examples is None and known is None:
        raise unknown_relation(predictor.dataset, relation)
    if known is None or examples is not None:
        support = predictor.support(examples, side)
    else:
        support = as_support(draw_examples(known.pairs, max_drawn), side)
    if known is None:
        return Question(predictor, side, support, support, relation or "")
    everything = np.concatenate([support, as_support(known.pairs, side)])
    return Question(predictor, side, support, everything, known.label, known.name)


def find_asked(
    predictor: "Predictor",
    heads: Reference | Iterable[Reference] | None,
    tails: Reference | Iterable[Reference] | None,
) -> tuple[Side, list[int]]:
    """Return the ids of the entities that are asked about, and on which side of the relation they are."""
    if (heads is None) == (tails is None):
        raise InputError("give the heads or the tails that are asked about, and not both")
    side, given = ("head", heads) if heads is not None else ("tail", tails)
    assert given is not None
    is_one = isinstance(given, str | bytes) or not isinstance(given, Iterable) or getattr(given, "ndim", 1) == 0
    asked = [as_reference(one, f"{side}s") for one in ([given] if is_one else given)]
    if not asked:
        raise InputError(f"{side}s: give at least one entity to ask about")
    return side, _resolve(predictor, asked)


def _resolve(predictor: "Predictor", given: Sequence[Reference]) -> list[int]:
    """Return the ids of entities; most of many are given by their names, and these are found in one pass."""
    if len(given) < MANY:
        return [predictor.resolve(entity) for entity in given]
    is_name = [isinstance(entity, str) and not ID.fullmatch(entity) for entity in given]
    texts = [representable(str(entity)) for entity in given]
    places = predictor.graph.entities.find(texts).tolist()
    return [
        place if named and place >= 0 else predictor.resolve(entity)
        for entity, named, place in zip(given, is_name, places, strict=True)
    ]


def answer_in_batches(
    question: Question, asked: Iterable[int], pool: IntArray, k: int, include_known: bool = False
) -> Iterator[pa.RecordBatch]:
    """Rank a pool of candidates for any number of entities, a few at a time, as record batches."""
    remaining = iter(asked)
    while some := list(islice(remaining, HEADS_PER_BATCH)):
        rankings = [finish(question.rank(entity, pool, k, include_known)) for entity in some]
        yield as_batch(question.origin.graph, some, rankings, question.side)


def as_support(pairs: IntArray, side: Side) -> npt.NDArray[np.int64]:
    """Return pairs of head and tail, shape (n, 2), with what is asked about first."""
    return (pairs if side == "head" else pairs[:, ::-1]).astype(np.int64)


def find_known_relation(dataset: FewShotDataset, text: str) -> KnownRelation | None:
    """Return the relation with this name, label or last part of an IRI; None if there is none with triples."""
    graph = dataset.whole.graph
    found = find_relation(graph.relations, text)
    pairs = np.empty((0, 2), dtype=np.int32) if found is None else graph.pairs_of(found)
    if found is None or not len(pairs):
        return None
    return KnownRelation(graph.relations.name(found), graph.relations.label(found), pairs)


def unknown_relation(dataset: FewShotDataset, text: str | None) -> InputError:
    """Return an error that suggests the relation that was probably meant, or asks for examples."""
    if not text:
        return InputError("examples: give at least one pair of head and tail, or the name of a relation of the graph")
    relations = dataset.whole.graph.relations
    labels = [] if relations.labels is None else [label for label in relations.labels.to_pylist() if label]
    names = relations.names.to_pylist()
    hint = did_you_mean(text, [*names, *labels, *map(_last_part, names)])
    listed = f"; it has {', '.join(names[:MAX_LISTED])}{', ...' if len(names) > MAX_LISTED else ''}"
    return InputError(f"the graph has no relation {text!r} to take examples from{hint or listed}")


def draw_examples(pairs: npt.NDArray[np.int32], count: int = MAX_EXAMPLES) -> npt.NDArray[np.int64]:
    """Draw some pairs of a relation, the same each time, and each of another head as far as there are as many."""
    shuffled = np.random.default_rng(SEED).permutation(pairs).astype(np.int64)
    _, first = np.unique(shuffled[:, 0], return_index=True)
    is_repeated = np.ones(len(shuffled), dtype=bool)
    is_repeated[first] = False
    return shuffled[np.argsort(is_repeated, kind="stable")[:count]]


def as_ids(
    graph: KnowledgeGraph,
    support: Any,  # noqa: ANN401 (arrays, or what they are made of)
    head: Any,  # noqa: ANN401
    tails: Any,  # noqa: ANN401
) -> tuple[IntArray, int, IntArray]:
    """Return what is to be scored as arrays of ids, and refuse what the graph does not have: methods do not look."""
    pairs, asked, answers = (np.asarray(given) for given in (support, head, tails))
    if not pairs.size:
        raise InputError("examples: give at least one pair of head and tail")
    for what, ids, shape in (
        ("examples", pairs, (len(pairs), 2) if pairs.ndim else None),
        ("head", asked, ()),
        ("tails", answers, (answers.size,)),
    ):
        if ids.shape != shape or (ids.size and not np.issubdtype(ids.dtype, np.integer)):
            raise InputError(f"{what}: expected ids of entities, found {ids.tolist()!r:.80}")
        wrong = ids[(ids < 0) | (ids >= graph.num_entities)]
        if wrong.size:
            raise unknown_id(graph.entities, int(wrong[0]))
    return pairs, int(asked), answers if answers.size else np.empty(0, dtype=np.int64)


def hide_relation(dataset: FewShotDataset, name: str) -> FewShotDataset:
    """Return a dataset that has nothing of a relation: neither its edges nor its task."""
    graph = dataset.graph
    if name in graph.relations:
        graph = graph.without_relations(np.array([graph.relations.id(name)]))
    train, valid, test = (
        tuple(task for task in tasks if task.name != name) for tasks in (dataset.train, dataset.valid, dataset.test)
    )
    return replace(dataset, graph=graph, train=train, valid=valid, test=test)


def _last_part(name: str) -> str:
    return name.rpartition("#")[2].rpartition("/")[2]
