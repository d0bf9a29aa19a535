"""What is asked, and of what, as plain data: another process opens the same graph and answers the same question."""

import json
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pyarrow as pa

from tripleshot.answering.answers import write_answers
from tripleshot.answering.completing import with_relation
from tripleshot.answering.examples import Pair, Reference
from tripleshot.answering.explanation import Side
from tripleshot.answering.export import TRIPLE_SUFFIXES, ExportStyle, write_triples
from tripleshot.answering.loading import open_predictor
from tripleshot.answering.predictor import Predictor
from tripleshot.answering.provenance import Provenance, name_of, origin_of
from tripleshot.answering.questions import HEADS_PER_BATCH, Question, answer_in_batches, find_asked
from tripleshot.answering.ranking import Candidates
from tripleshot.arrays import IntArray, hash_arrays
from tripleshot.datasets.catalog import absolute_source
from tripleshot.errors import InputError, InputWarning
from tripleshot.graph.readers import Literals, read_graph
from tripleshot.methods import settings_of
from tripleshot.methods.evidence.universal import Universal
from tripleshot.methods.protocol import Method
from tripleshot.methods.trainable import TrainableMethod, TrainedWeights


@dataclass(frozen=True)
class Asking:
    """A relation to ask about, in whatever graph, for any number of entities.

    Attributes:
        source: a run, a file of triples, the folder of a dataset or its name in the catalog.
        examples: pairs of head and tail that stand in the relation; None takes triples of the graph.
        relation: what it is called.
        side: what is asked about, heads or tails.
        k: how many answers for each.
        candidates: what could be an answer.
        include_known: also rank what is already known.
        method: of a source that is no run; None takes the default.
        data: of a run, its dataset, if it is no longer where it was.
        device: where to compute.
        columns: of a file of triples, those of head, relation and tail.
        literals: of a file, whether RDF literals are left out or become entities.
        add: files of triples that the graph does not have; `remove` has those to leave out.
    """

    source: str
    examples: tuple[Pair, ...] | None = None
    relation: str | None = None
    side: Side = "head"
    k: int = 10
    candidates: Candidates = "open"
    include_known: bool = False
    method: str | None = None
    data: str | None = None
    device: str = "cpu"
    columns: tuple[str, str, str] | None = None
    literals: Literals = "skip"
    add: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()

    def open(self) -> Predictor:
        """Return what answers."""
        predictor = open_predictor(self.source, self.method, self.data, self.device, self.columns, self.literals)
        for file in self.add:
            predictor = predictor.with_triples(read_graph(file).triples())
        for file in self.remove:
            predictor = predictor.without_triples(read_graph(file).triples())
        return predictor

    def open_again(self) -> Predictor:
        """Open what another process has opened before, whose user was warned of what is wrong with the input."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InputWarning)
            return self.open()

    def from_anywhere(self) -> "Asking":
        """Return the same with whole paths, for a process that works in another folder."""
        add, remove = (tuple(str(Path(file).resolve()) for file in files) for files in (self.add, self.remove))
        data = None if self.data is None else absolute_source(self.data)
        return replace(self, source=absolute_source(self.source), data=data, add=add, remove=remove)


@dataclass(frozen=True, eq=False)
class OpenedAsking:
    """A question that is ready to be answered.

    Attributes:
        asking: what was opened.
        predictor: answers.
        question: the relation in ids.
        pool: ids of the candidates.
    """

    asking: Asking
    predictor: Predictor
    question: Question
    pool: IntArray

    @classmethod
    def of(cls, asking: Asking, predictor: Predictor | None = None) -> "OpenedAsking":
        """Open the graph unless it is open already, and look up the examples."""
        predictor = predictor or asking.open()
        question = predictor.question(list(asking.examples) if asking.examples else None, asking.relation, asking.side)
        return cls(asking, predictor, question, predictor.candidates_for(question, asking.candidates))

    @classmethod
    def again(cls, asking: Asking) -> "OpenedAsking":
        """Open what another process has opened before."""
        return cls.of(asking, asking.open_again())

    def find(self, references: Iterable[Reference]) -> list[int]:
        """Return the ids of the entities that are asked about, given by name, label or id."""
        return find_asked(self.predictor, **{"heads": None, "tails": None, f"{self.asking.side}s": references})[1]

    def batches(self, asked: Sequence[int]) -> Iterator[pa.RecordBatch]:
        """Answer for some entities, given by their ids, as record batches."""
        return answer_in_batches(self.question, asked, self.pool, self.asking.k, self.asking.include_known)

    def write(
        self, asked: Sequence[int], path: Path, progress: Callable[[int], None], style: ExportStyle | None = None
    ) -> None:
        """Answer for some entities into a file: a table, or triples that are not known yet with their provenance.

        Args:
            asked: ids of the entities.
            path: its ending says what is written.
            progress: called with the number of entities that have been answered so far.
            style: how names become IRIs and nodes.
        """
        if path.suffix not in TRIPLE_SUFFIXES:
            write_answers(self.batches(asked), path, progress)
            return
        if not name_of(self.question):
            raise InputError(f"{path}: triples need a relation: say what it is called")
        provenance = Provenance.of(self.predictor, [origin_of(self.question, len(asked))])
        write_triples(self._triples(asked, progress), path, provenance, style)

    def _triples(self, asked: Sequence[int], progress: Callable[[int], None]) -> Iterator[pa.RecordBatch]:
        for number, batch in enumerate(self.batches(asked), start=1):
            yield with_relation(batch, self.question)
            progress(min(number * HEADS_PER_BATCH, len(asked)))

    def fingerprint(self) -> dict[str, Any]:
        """Return what the answers follow from, as hashes and plain values: where it is equal, answers are equal."""
        asking = self.asking
        return {
            **predictor_fingerprint(self.predictor),
            "examples": hash_arrays(self.question.support, self.question.known),
            "options": {
                "side": asking.side,
                "relation": self.question.relation,
                "k": asking.k,
                "candidates": asking.candidates if isinstance(asking.candidates, str) else list(asking.candidates),
                "include_known": asking.include_known,
                "device": asking.device,
            },
        }


def predictor_fingerprint(predictor: Predictor) -> dict[str, Any]:
    """Return what all answers of a predictor follow from, whatever it is asked."""
    method, calibration = predictor.method, predictor.calibration
    settings = {"method": predictor.name, "shots": predictor.shots, **settings_of(method)}
    confidence = None if calibration is None else asdict(calibration)
    about = json.dumps([settings, confidence], sort_keys=True, default=str)
    weights = hash_arrays(about, *_weights(method))
    return {"graph": predictor.dataset.content_hash, "weights": weights, "version": version("tripleshot")}


def _weights(method: Method) -> list[Any]:
    """Return the names and values of a method's weights; nothing for one that does not learn."""
    trained = method.network if isinstance(method, Universal) else method
    if not isinstance(trained, TrainableMethod):
        return []
    arrays = TrainedWeights.of(trained.state(), None, "").arrays
    return [part for name in sorted(arrays) for part in (name, arrays[name])]
