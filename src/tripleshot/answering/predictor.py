"""K examples of a new relation and a head: ranked tails, with confidence, and with reasons where the method has any.

`answer` asks any fitted method. An `Answerer` is a run, ready to be asked by name.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tripleshot.answering.explaining import Explanation, explain
from tripleshot.answering.ranking import Candidates, Ranked, choose_candidates, rank_tails
from tripleshot.arrays import FloatArray, IntArray
from tripleshot.datasets.catalog import load_dataset
from tripleshot.datasets.dataset import FewShotDataset
from tripleshot.errors import InputError
from tripleshot.evaluation.calibration import Calibration, load_calibration
from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.graph.search import NameIndex
from tripleshot.graph.types import with_types_from_names
from tripleshot.methods import find_method
from tripleshot.methods.protocol import ExplainingMethod, Method, Reason
from tripleshot.training.runs import VOCABULARY, RunConfig, load_config, load_run, restore_method

HEADS_PER_BATCH = 32


@dataclass(frozen=True)
class Answer:
    """A tail that the method proposes.

    Attributes:
        rank: 1 for the best.
        entity: the tail's id.
        name: the tail's name; `label` is what to show a person.
        score: the method's own score; comparable within one question only.
        confidence: how likely it is right; None where nothing is known about that.
        is_known: whether the examples already say so.
        reasons: what spoke for it, the weightiest first; empty when not asked for, or when the method cannot say.
    """

    rank: int
    entity: int
    name: str
    label: str
    score: float
    confidence: float | None
    is_known: bool
    reasons: tuple[Reason, ...]


def answer(
    method: Method,
    graph: KnowledgeGraph,
    support: IntArray,
    head: int,
    top: int = 10,
    *,
    candidates: Candidates = "open",
    with_known: bool = False,
    with_reasons: bool = False,
    calibration: Calibration | None = None,
) -> list[Answer]:
    """Rank tails for a head, given examples of a relation.

    Args:
        method: fitted on the graph.
        graph: the background graph.
        support: shape (K, 2), the examples.
        head: the entity asked about; it is no answer itself.
        top: how many answers.
        candidates: what could be an answer.
        with_known: also rank what the examples already say about this head.
        with_reasons: say why, for a method that can.
        calibration: turns scores into confidence.
    """
    pool = choose_candidates(graph, support, candidates)
    ranked = rank_tails(method, support, head, pool, top, with_known, calibration)
    can_explain = with_reasons and isinstance(method, ExplainingMethod)
    return [
        Answer(
            place + 1,
            tail,
            graph.entities.name(tail),
            graph.entities.label(tail),
            float(ranked.scores[place]),
            None if ranked.confidence is None else float(ranked.confidence[place]),
            bool(ranked.is_known[place]),
            tuple(method.explain(support, head, tail)) if can_explain else (),
        )
        for place, tail in enumerate(ranked.tails.tolist())
    ]


@dataclass(frozen=True, eq=False)
class Answerer:
    """A run and its graph, ready to be asked; safe to call from several threads.

    Attributes:
        run: the folder it came from.
        dataset: whose background graph is asked.
        method: ready to score.
        config: what the run is.
        calibration: turns scores into confidence; None if the run has none.
        device: where the method computes.
    """

    run: Path
    dataset: FewShotDataset
    method: Method
    config: RunConfig
    calibration: Calibration | None
    device: str = "cpu"

    @classmethod
    def load(cls, run: Path, data: str | None = None, device: str = "cpu") -> "Answerer":
        """Load what `tripleshot train` has written.

        Args:
            run: the folder.
            data: the dataset, if it is no longer where it was. It may have changed since: names are what counts.
            device: where to compute.
        """
        run = Path(run)
        dataset = _find_dataset(load_config(run), data)
        method, config = load_run(run, dataset, device, same_data=False)
        return cls(run, dataset, method, config, load_calibration(run), device)

    @property
    def graph(self) -> KnowledgeGraph:
        """The graph that the method looks at: the background, perhaps with the train tasks as relations."""
        return self.method.graph

    @cached_property
    def index(self) -> NameIndex:
        """Finds entities by what people type."""
        return NameIndex.of(self.graph.entities, self.graph.degrees)

    def support(self, examples: Iterable[tuple[str | int, str | int]]) -> npt.NDArray[np.int64]:
        """Return examples given by names, labels or ids as an array of shape (K, 2)."""
        pairs = [(self.index.resolve(head), self.index.resolve(tail)) for head, tail in examples]
        return np.array(pairs, dtype=np.int64).reshape(-1, 2)

    def candidates(self, support: IntArray, chosen: Candidates = "open") -> IntArray:
        """Return, sorted, the entities that could be an answer."""
        return choose_candidates(self.dataset.graph, support, chosen)

    def answer(
        self,
        support: IntArray,
        head: int,
        top: int = 10,
        candidates: Candidates = "open",
        with_known: bool = False,
        with_reasons: bool = False,
    ) -> list[Answer]:
        """Rank tails for a head; see `answer`."""
        return answer(
            self.method,
            self.dataset.graph,
            support,
            head,
            top,
            candidates=candidates,
            with_known=with_known,
            with_reasons=with_reasons,
            calibration=self.calibration,
        )

    def answer_many(
        self,
        support: IntArray,
        heads: Iterable[int],
        top: int = 10,
        candidates: Candidates = "open",
        with_known: bool = False,
    ) -> Iterator[pa.RecordBatch]:
        """Rank tails for many heads and give their best answers, some heads at a time.

        Columns are head, head_label, rank, tail, tail_label, score, confidence and is_known; the rows of a head stand
        together, best first.
        """
        pool = self.candidates(support, candidates)
        remaining = iter(heads)
        while some := list(islice(remaining, HEADS_PER_BATCH)):
            yield self._batch(
                some, [rank_tails(self.method, support, h, pool, top, with_known, self.calibration) for h in some]
            )

    def _batch(self, heads: list[int], ranked: list[Ranked]) -> pa.RecordBatch:
        counts = [len(one.tails) for one in ranked]
        sure = [np.full(len(one.tails), np.nan) if one.confidence is None else one.confidence for one in ranked]
        names, labels = self.graph.entities.names, self._labels
        asked = pa.array(np.repeat(np.array(heads, dtype=np.int64), counts))
        tails = pa.array(np.concatenate([one.tails for one in ranked]).astype(np.int64))
        columns = {
            "head": names.take(asked),
            "head_label": labels.take(asked),
            "rank": pa.array(np.concatenate([np.arange(1, count + 1, dtype=np.int32) for count in counts])),
            "tail": names.take(tails),
            "tail_label": labels.take(tails),
            "score": pa.array(np.concatenate([one.scores for one in ranked]).astype(np.float64)),
            "confidence": pa.array(np.concatenate(sure), from_pandas=True),
            "is_known": pa.array(np.concatenate([one.is_known for one in ranked])),
        }
        return pa.RecordBatch.from_pydict(columns)

    @cached_property
    def _labels(self) -> pa.LargeStringArray:
        """What to show for each entity."""
        entities = self.graph.entities
        return entities.names if entities.labels is None else pa.compute.coalesce(entities.labels, entities.names)

    def score(self, support: IntArray, head: int, tails: IntArray) -> FloatArray:
        """Score tails, higher is better."""
        return self.method.score(support, head, np.asarray(tails))

    def explain(self, support: IntArray, head: int, tail: int) -> Explanation:
        """Say what carried an answer."""
        return explain(self.method, self.graph, support, head, tail)

    def with_triples(self, triples: Iterable[tuple[str, str, str]]) -> "Answerer":
        """Return an answerer that knows more triples, given by name, also of new entities; nothing is trained.

        A method with embeddings has none for a new entity: it reads it as one that it does not know, and goes by its
        neighbors. A new entity has the type that its name begins with (`city/lisbon`), if the graph has that type.
        """
        entry = find_method(self.config.method)
        if entry.learns and not (self.run / VOCABULARY).exists():
            raise InputError(f"{self.run}: has no {VOCABULARY}: train it again to add triples")
        background = self.dataset.graph
        graph = with_types_from_names(background.with_triples(triples), background.num_entities)
        dataset = replace(self.dataset, graph=graph)
        method = restore_method(self.config, self.run, dataset, self.device)
        return replace(self, dataset=dataset, method=method)


def _find_dataset(config: RunConfig, data: str | None) -> FewShotDataset:
    try:
        return load_dataset(data or config.data)
    except InputError as error:
        if data is not None:
            raise
        raise InputError(f"{error}; if the run's dataset has moved, say where it is now") from None
