"""Ask about a new relation: a graph, a few examples, and an entity; ranked answers, how sure, and why."""

import time
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tripleshot.answering.answers import Answers, as_batch
from tripleshot.answering.examples import Reference, read_examples
from tripleshot.answering.explaining import explain
from tripleshot.answering.explanation import Explanation, Side
from tripleshot.answering.ranking import Candidates, Ranked, choose_candidates, rank_tails
from tripleshot.arrays import FloatArray, IntArray
from tripleshot.datasets import catalog
from tripleshot.datasets.dataset import FewShotDataset, check_shots
from tripleshot.errors import InputError
from tripleshot.evaluation.calibration import Calibration, save_calibration
from tripleshot.evaluation.results import command, commit
from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.graph.readers import read_graph
from tripleshot.graph.search import NameIndex
from tripleshot.graph.types import with_types_from_names
from tripleshot.methods import create_method, find_method, settings_of
from tripleshot.methods.protocol import Method
from tripleshot.methods.trainable import TrainableMethod, TrainedNames, TrainedWeights
from tripleshot.training.runs import CONFIG, RunConfig, save_config, save_names

HEADS_PER_BATCH = 32
DATA = "data"  # the dataset inside a saved run, so that it can be given away
DEFAULT_METHOD = "evidence"
DEFAULT_SHOTS = 5


class Predictor:
    """A graph and a method, ready to be asked; safe to call from several threads.

    Example:
        >>> import tripleshot as ts
        >>> graph = ts.read_graph([("Baku", "capital of", "Azerbaijan"), ("Riga", "capital of", "Latvia")])
        >>> answers = ts.Predictor(graph).predict("Baku", examples=[("Riga", "Latvia")], k=1)
        >>> answers["Baku"][0].name
        'Azerbaijan'

    Attributes:
        dataset: whose background graph is asked.
        method: ready to score.
        name: of the method.
        shots: how many examples it was trained for; any number can be given.
        calibration: turns scores into confidence; None where nothing is known about that.
        device: where the method computes.
    """

    def __init__(
        self,
        data: Any,  # noqa: ANN401 (a graph, a dataset, or anything that read_graph takes)
        method: "str | Method | Predictor" = DEFAULT_METHOD,
        *,
        shots: int | None = None,
        device: str = "cpu",
        calibration: Calibration | None = None,
    ) -> None:
        """Prepare a method for a graph.

        Args:
            data: a graph, of which every triple counts; a dataset, whose background graph is asked; the name of a
                dataset of the catalog; or whatever `read_graph` reads.
            method: the name of one that needs no training, a method of your own, or something trained: what `train`
                and `load` return. Trained weights find the entities of another graph by their names.
            shots: how many examples will be given, for a method that has to know.
            device: where to compute.
            calibration: turns scores into confidence; by default that of what was trained.
        """
        self.dataset = _as_dataset(data)
        trained = method if isinstance(method, Predictor) else None
        self.device = device
        self.shots = shots if shots is not None else (trained.shots if trained else DEFAULT_SHOTS)
        check_shots(self.shots)
        self.calibration = calibration or (trained.calibration if trained else None)
        if isinstance(method, str):
            self.name, self.method = method, _create(method, device)
            self.method.prepare(self.dataset, self.shots)
        else:
            given = method.method if isinstance(method, Predictor) else method
            self.name = method.name if isinstance(method, Predictor) else type(given).__name__
            self.method = _on_dataset(given, self.dataset, self.shots, device)

    @classmethod
    def of(
        cls,
        dataset: FewShotDataset,
        method: Method,
        name: str,
        shots: int,
        calibration: Calibration | None = None,
        device: str = "cpu",
    ) -> "Predictor":
        """Wrap a method that is already prepared for a dataset."""
        made = cls.__new__(cls)
        made.dataset, made.method, made.name, made.shots = dataset, method, name, shots
        made.calibration, made.device = calibration, device
        return made

    def __repr__(self) -> str:
        return f"Predictor({self.name!r} on {self.graph!r})"

    @property
    def graph(self) -> KnowledgeGraph:
        """The graph that the method looks at: the background, perhaps with the train tasks as relations."""
        return self.method.graph

    @cached_property
    def index(self) -> NameIndex:
        """Finds entities by what people type."""
        return NameIndex.of(self.graph.entities, self.graph.degrees)

    def predict(
        self,
        heads: Reference | Iterable[Reference] | None = None,
        *,
        examples: Any,  # noqa: ANN401 (pairs, a data frame or a file)
        tails: Reference | Iterable[Reference] | None = None,
        k: int = 10,
        candidates: Candidates | str | Sequence[str] = "open",
        include_known: bool = False,
    ) -> Answers:
        """Rank the tails of heads, or the heads of tails, for the relation that the examples show.

        Args:
            heads: the entities asked about, by name, label or id; (head, relation, ?) is answered.
            examples: pairs of head and tail that stand in the relation: a list, a data frame or a file.
            tails: in place of heads; (?, relation, tail) is answered.
            k: how many answers for each.
            candidates: what could be an answer: `open`, what could stand where the examples' answers stand; `all`
                entities; or the names of types.
            include_known: also rank what the examples already say.
        """
        started = time.perf_counter()
        side, asked = self._asked(heads, tails)
        support = self.support(examples, side)
        pool = self.candidates(support, candidates)
        rankings = tuple(self.rank(support, entity, pool, k, include_known) for entity in asked)
        return Answers(self.graph, tuple(asked), rankings, side, time.perf_counter() - started)

    def predict_batches(
        self,
        heads: Reference | Iterable[Reference] | None = None,
        *,
        examples: Any,  # noqa: ANN401 (as in predict)
        tails: Reference | Iterable[Reference] | None = None,
        k: int = 10,
        candidates: Candidates | str | Sequence[str] = "open",
        include_known: bool = False,
    ) -> Iterator[pa.RecordBatch]:
        """Answer as `predict` does, for any number of entities: a few at a time, as record batches."""
        side, asked = self._asked(heads, tails)
        support = self.support(examples, side)
        pool = self.candidates(support, candidates)
        remaining = iter(asked)
        while some := list(islice(remaining, HEADS_PER_BATCH)):
            yield as_batch(
                self.graph, some, [self.rank(support, entity, pool, k, include_known) for entity in some], side
            )

    def explain(
        self,
        head: Reference,
        tail: Reference,
        *,
        examples: Any,  # noqa: ANN401 (as in predict)
        asked_side: Side = "head",
        relation: str | None = None,
    ) -> Explanation:
        """Say what carried an answer: print it, or `plot` it.

        Args:
            head: of the relation; `tail` its tail.
            tail: see `head`.
            examples: as in `predict`.
            asked_side: "tail" where the tail was asked about, and the head is the answer.
            relation: what to call the relation.
        """
        ends = self.resolve(head), self.resolve(tail)
        return explain(self.method, self.support(examples), *ends, asked_side=asked_side, relation=relation)

    def with_triples(self, triples: Iterable[tuple[str, str, str]]) -> "Predictor":
        """Return a predictor that knows more triples, given by name, also of new entities; nothing is trained.

        A method with embeddings has none for a new entity: it reads it as one that it does not know, and goes by its
        neighbors. A new entity has the type that its name begins with (`city/lisbon`), if the graph has that type.
        """
        background = self.dataset.graph
        return self._on(with_types_from_names(background.with_triples(triples), background.num_entities))

    def without_triples(self, triples: Iterable[tuple[str, str, str]]) -> "Predictor":
        """Return a predictor that does not know some triples, given by name; one that is not there is an error."""
        return self._on(self.dataset.graph.without_triples(triples))

    def _on(self, graph: KnowledgeGraph) -> "Predictor":
        dataset = replace(self.dataset, graph=graph)
        method = _on_dataset(self.method, dataset, self.shots, self.device)
        return Predictor.of(dataset, method, self.name, self.shots, self.calibration, self.device)

    def save(self, folder: str | Path) -> None:
        """Write settings, weights, names, calibration and the dataset itself into a folder that `load` reads."""
        folder = Path(folder)
        if (folder / CONFIG).exists():
            raise InputError(f"{folder}: a run is there already; choose another folder")
        self.dataset.save(folder / DATA, overwrite=True)
        save_names(self.graph, folder)
        if isinstance(self.method, TrainableMethod):
            from tripleshot.training.checkpoints import save_weights  # nobody waits for torch who has no weights

            save_weights(self.method.module, folder)
        if self.calibration is not None:
            save_calibration(self.calibration, folder)
        about = (self.dataset.name, self.dataset.content_hash, command(), commit())
        save_config(RunConfig(self.name, settings_of(self.method), self.shots, DATA, *about), folder)

    def resolve(self, entity: Reference) -> int:
        """Return the id of an entity given by name, label or id."""
        return self.index.resolve(entity)

    def support(self, examples: Any, side: Side = "head") -> npt.NDArray[np.int64]:  # noqa: ANN401
        """Return examples as ids, shape (K, 2): the entity that is asked about first, then the answer."""
        pairs = [(self.resolve(head), self.resolve(tail)) for head, tail in read_examples(examples)]
        return np.array(pairs if side == "head" else [pair[::-1] for pair in pairs], dtype=np.int64)

    def candidates(self, support: IntArray, chosen: Candidates | str | Sequence[str] = "open") -> IntArray:
        """Return, sorted, the entities that could be an answer."""
        kinds: Candidates = "open" if chosen == "open" else "all" if chosen == "all" else ()
        if kinds == ():
            kinds = (chosen,) if isinstance(chosen, str) else tuple(chosen)
        return choose_candidates(self.dataset.graph, support, kinds)

    def rank(self, support: IntArray, head: int, pool: IntArray, k: int = 10, include_known: bool = False) -> Ranked:
        """Rank a pool of candidates for one entity, all of them ids."""
        return rank_tails(self.method, support, head, pool, k, include_known, self.calibration)

    def score(self, support: IntArray, head: int, tails: IntArray) -> FloatArray:
        """Score tails, higher is better, all of them ids; so a predictor can be evaluated like a method."""
        return self.method.score(support, head, np.asarray(tails))

    def _asked(
        self, heads: Reference | Iterable[Reference] | None, tails: Reference | Iterable[Reference] | None
    ) -> tuple[Side, list[int]]:
        if (heads is None) == (tails is None):
            raise InputError("give the heads or the tails that are asked about, and not both")
        side, given = ("head", heads) if heads is not None else ("tail", tails)
        assert given is not None
        asked = [self.resolve(entity) for entity in ([given] if isinstance(given, str | int) else given)]
        if not asked:
            raise InputError(f"{side}s: give at least one entity to ask about")
        return side, asked


def _as_dataset(data: Any) -> FewShotDataset:  # noqa: ANN401 (as in Predictor)
    if isinstance(data, FewShotDataset):
        return data
    if isinstance(data, str) and data in catalog.dataset_names():
        return catalog.load_dataset(data)
    graph = data if isinstance(data, KnowledgeGraph) else read_graph(data)
    return FewShotDataset("graph", graph, (), (), ())


def _create(name: str, device: str) -> Method:
    if find_method(name).learns:
        raise InputError(f"{name} has to learn first: Predictor(graph, train({name!r}, dataset))")
    return create_method(name, device=device)


def _on_dataset(method: Method, dataset: FewShotDataset, shots: int, device: str) -> Method:
    """Return a method like the given one for another dataset: with its weights, or prepared anew."""
    if not isinstance(method, TrainableMethod):
        fresh = copy(method)
        fresh.prepare(dataset, shots)
        return fresh
    names = TrainedNames(method.graph.entities, method.graph.relations)
    fresh = type(method)(method.settings, device)
    fresh.restore(dataset, TrainedWeights.of(method.state(), names, f"the trained {type(method).__name__}"))
    return fresh
