"""Ask about a new relation: a graph, a few examples, and an entity; ranked answers, how sure, and why."""

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tripleshot.answering.answers import Answers
from tripleshot.answering.completing import MAX_HEADS, Completion, Rules
from tripleshot.answering.examples import Reference, read_examples
from tripleshot.answering.explaining import explain
from tripleshot.answering.explanation import Explanation, Side
from tripleshot.answering.hidden_relations import HiddenRelations
from tripleshot.answering.proposals import Proposals
from tripleshot.answering.questions import (
    MAX_EXAMPLES,
    Question,
    answer_in_batches,
    as_ids,
    as_support,
    find_asked,
    hide_relation,
    make_question,
)
from tripleshot.answering.ranking import Candidates, Ranked, as_candidates, choose_candidates
from tripleshot.answering.saving import save_predictor
from tripleshot.answering.sources import add_triples, as_dataset, calibration_of, create_ready, put_on
from tripleshot.answering.steps import finish
from tripleshot.arrays import FloatArray, IntArray
from tripleshot.datasets.dataset import FewShotDataset, check_shots
from tripleshot.evaluation.calibration import Calibration
from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.graph.search import NameIndex
from tripleshot.methods.protocol import Method

DEFAULT_METHOD, DEFAULT_SHOTS = "universal", 5


class Predictor:
    """A graph and a method, ready to be asked; safe to call from several threads.

    Examples:
        >>> import tripleshot as ts
        >>> triples = [("Baku", "capital of", "Azerbaijan"), ("Riga", "capital of", "Latvia")]
        >>> predictor = ts.Predictor(ts.read_graph(triples))
        >>> answers = predictor.predict("Baku", examples=[("Riga", "Latvia")], k=1)
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
            data: what is asked, and every triple of it counts: a graph, or whatever `read_graph` reads; the folder of a
                dataset or its name in the catalog. Of a dataset in memory the background graph is asked, to measure.
            method: the name of one that needs no training, a method of your own, or something trained: what `train`
                and `load` return. Trained weights find the entities of another graph by their names.
            shots: how many examples will be given, for a method that has to know.
            device: where to compute.
            calibration: turns scores into confidence; by default that of what was trained, or of the universal weights.
        """
        self.dataset = as_dataset(data)
        trained = method if isinstance(method, Predictor) else None
        self.device, self._hidden = device, HiddenRelations()
        self.shots = shots if shots is not None else (trained.shots if trained else DEFAULT_SHOTS)
        check_shots(self.shots)
        if isinstance(method, str):
            self.name, self.method = method, create_ready(method, device)
            self.method.prepare(self.dataset, self.shots)
        else:
            given = method.method if isinstance(method, Predictor) else method
            self.name = method.name if isinstance(method, Predictor) else type(given).__name__
            self.method = put_on(given, self.dataset, self.shots, device)
        self.calibration = calibration or (trained.calibration if trained else calibration_of(self.method))

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
        made.calibration, made.device, made._hidden = calibration, device, HiddenRelations()
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
        examples: Any = None,  # noqa: ANN401 (pairs, a data frame or a file)
        relation: str | None = None,
        tails: Reference | Iterable[Reference] | None = None,
        k: int = 10,
        candidates: Candidates | str | Sequence[str] = "open",
        include_known: bool = False,
    ) -> Answers:
        """Rank the tails of heads, or the heads of tails, for the relation that the examples show.

        Args:
            heads: the entities asked about, by name, label or id; (head, relation, ?) is answered.
            examples: pairs of head and tail that stand in the relation: a list, a data frame or a file.
            relation: what it is called. If the graph has it, its triples are not looked at, what they say is known, and
                without examples some of them are the examples.
            tails: in place of heads; (?, relation, tail) is answered.
            k: how many answers for each.
            candidates: what could be an answer: `open`, what could stand where the examples' answers stand; `all`
                entities; or the names of types.
            include_known: also rank what is already known.
        """
        started = time.perf_counter()
        side, asked = find_asked(self, heads, tails)
        question = self.question(examples, relation, side)
        pool = self.candidates_for(question, candidates)
        rankings = tuple(self.rank_for(question, entity, pool, k, include_known) for entity in asked)
        return Answers(self.graph, tuple(asked), rankings, side, time.perf_counter() - started, question.relation)

    def predict_batches(
        self,
        heads: Reference | Iterable[Reference] | None = None,
        *,
        examples: Any = None,  # noqa: ANN401 (as in predict)
        relation: str | None = None,
        tails: Reference | Iterable[Reference] | None = None,
        k: int = 10,
        candidates: Candidates | str | Sequence[str] = "open",
        include_known: bool = False,
    ) -> Iterator[pa.RecordBatch]:
        """Answer as `predict` does, for any number of entities: a few at a time, as record batches."""
        side, asked = find_asked(self, heads, tails)
        question = self.question(examples, relation, side)
        yield from answer_in_batches(question, asked, self.candidates_for(question, candidates), k, include_known)

    def complete(
        self,
        relations: str | Sequence[str] | None = None,
        *,
        examples: Any = None,  # noqa: ANN401 (as in predict)
        heads: Iterable[Reference] | None = None,
        k: int = 3,
        most: int | None = None,
        min_confidence: float | None = None,
        candidates: Candidates | str | Sequence[str] = "open",
        max_heads: int = MAX_HEADS,
        missing_only: bool = False,
    ) -> Proposals:
        """Propose triples that the graph does not have, for every head that could have the relation.

        Args:
            relations: one of the graph or several, some of whose triples are the examples; None takes all.
            examples: as in `predict`, of one relation, which may be new.
            heads: to ask about; by default those that are like the heads of the examples.
            k: how many proposals for a head at most.
            most: how many in all at most, the most confident first; by default all, in the order of asking.
            min_confidence: of a proposal; by default one half, and none where a method knows no confidence.
            candidates: as in `predict`.
            max_heads: of each relation; those without a tail of it come first, and of these those with the most edges.
            missing_only: leave out heads that have a tail of the relation already.
        """
        rules = Rules(k, min_confidence, as_candidates(candidates), max_heads, missing_only)
        completion = Completion(self, relations, rules, examples, heads)
        return Proposals.of(completion.batches(), completion.provenance, most)

    def explain(
        self,
        head: Reference,
        tail: Reference,
        *,
        examples: Any = None,  # noqa: ANN401 (as in predict)
        asked_side: Side = "head",
        relation: str | None = None,
    ) -> Explanation:
        """Say what carried an answer: print it, or `plot` it.

        Args:
            head: of the relation.
            tail: of the relation.
            examples: as in `predict`.
            asked_side: "tail" where the tail was asked about, and the head is the answer.
            relation: as in `predict`.
        """
        return self.explain_for(self.question(examples, relation, asked_side), self.resolve(head), self.resolve(tail))

    def question(
        self,
        examples: Any,  # noqa: ANN401 (as in predict)
        relation: str | None = None,
        side: Side = "head",
        max_drawn: int = MAX_EXAMPLES,
    ) -> Question:
        """Return what is asked in ids, and who answers it.

        Args:
            examples: as in `predict`.
            relation: as in `predict`.
            side: what is asked about.
            max_drawn: how many triples of the graph are the examples, where none are given.
        """
        return make_question(self, examples, relation, side, max_drawn)

    def without_relation(self, name: str) -> "Predictor":
        """Return a predictor that sees nothing of a relation, given by its name; this one, if it sees nothing of it."""
        if name not in self.graph.relations and all(task.name != name for task in self.dataset.train):
            return self
        return self._hidden.get(name, self.graph.num_triples, lambda: self._on(hide_relation(self.dataset, name)))

    def candidates_for(self, question: Question, chosen: Candidates | str | Sequence[str] = "open") -> IntArray:
        """Return, sorted, what could be an answer; what answers some question about the relation is one of them."""
        pool = self.candidates(question.support, chosen, question.side)
        return np.union1d(pool, question.known[:, 1]) if chosen == "open" else pool

    def rank_for(self, question: Question, entity: int, pool: IntArray, k: int, include_known: bool = False) -> Ranked:
        """Rank a pool of candidates for one entity that a question is about."""
        return finish(question.rank(entity, pool, k, include_known))

    def explain_for(self, question: Question, head: int, tail: int) -> Explanation:
        """Say what carried an answer to a question, both ends given as ids."""
        pairs = as_support(question.support, question.side)
        about = {"asked_side": question.side, "relation": question.relation or None}
        return explain(question.predictor.method, pairs, head, tail, **about)

    def with_triples(self, triples: Iterable[tuple[str, str, str]]) -> "Predictor":
        """Return a predictor that knows more triples, given by name, also of new entities; nothing is trained.

        A method with embeddings has none for a new entity: it reads it as one that it does not know, and goes by its
        neighbors. A new entity has the type that its name begins with (`city/lisbon`), if the graph has that type.
        """
        return self._on(add_triples(self.dataset, triples))

    def without_triples(self, triples: Iterable[tuple[str, str, str]]) -> "Predictor":
        """Return a predictor that does not know some triples, given by name; one that is not there is an error."""
        return self._on(replace(self.dataset, graph=self.dataset.graph.without_triples(triples)))

    def _on(self, dataset: FewShotDataset) -> "Predictor":
        method = put_on(self.method, dataset, self.shots, self.device)
        return Predictor.of(dataset, method, self.name, self.shots, self.calibration, self.device)

    def save(self, folder: str | Path) -> None:
        """Write settings, weights, names, calibration and the dataset itself into a folder that `load` reads."""
        save_predictor(self, Path(folder))

    def resolve(self, entity: Reference) -> int:
        """Return the id of an entity given by name, label or id."""
        return self.index.resolve(entity)

    def support(self, examples: Any, side: Side = "head") -> npt.NDArray[np.int64]:  # noqa: ANN401
        """Return examples as ids, shape (K, 2): the entity that is asked about first, then the answer."""
        pairs = [(self.resolve(head), self.resolve(tail)) for head, tail in read_examples(examples)]
        return as_support(np.array(pairs, dtype=np.int64), side)

    def candidates(
        self, support: IntArray, chosen: Candidates | str | Sequence[str] = "open", side: Side = "head"
    ) -> IntArray:
        """Return, sorted, the entities that could be an answer."""
        return choose_candidates(self.dataset.graph, support, as_candidates(chosen), asks_for_heads=side == "tail")

    def score(self, support: IntArray, head: int, tails: IntArray) -> FloatArray:
        """Score tails, higher is better, all of them ids; so a predictor can be evaluated like a method."""
        return self.method.score(*as_ids(self.graph, support, head, tails))
