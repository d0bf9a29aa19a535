"""What the server does, without HTTP: requests in, pages out. Everything here may run in several threads at once."""

import time
from collections.abc import Callable, Sequence

import numpy as np

from tripleshot.answering.explaining import Explanation, WeightedNeighbor, as_text
from tripleshot.answering.predictor import Answerer
from tripleshot.answering.ranking import Candidates, Ranked, rank_tails
from tripleshot.arrays import IntArray
from tripleshot.errors import InputError
from tripleshot.server import schemas
from tripleshot.server.limits import Limits


class UnknownEntityError(InputError):
    """An address that names no entity."""


class GivenUpError(Exception):
    """Nobody waits for the answer any more."""


class Service:
    """An answerer, and how much it may be asked at once."""

    def __init__(self, answerer: Answerer, limits: Limits) -> None:
        self.answerer, self.graph, self.index = answerer, answerer.graph, answerer.index
        self.limits = limits

    def about(self) -> schemas.About:
        """Say what is served."""
        graph, config = self.graph, self.answerer.config
        return schemas.About(
            name=config.dataset,
            method=config.method,
            shots=config.shots,
            num_entities=graph.num_entities,
            num_relations=graph.num_relations,
            num_triples=graph.num_triples,
            types=[] if graph.types is None else list(graph.types.names),
            has_confidence=self.answerer.calibration is not None,
            example=self._offered_question(),
        )

    def answer(self, question: schemas.Question, is_given_up: Callable[[], bool]) -> schemas.Answers:
        """Rank tails for every head; between two heads, stop if nobody waits any more."""
        started = time.perf_counter()
        self._check_count("heads", len(question.heads), self.limits.max_heads)
        self._check_count("top", question.top, self.limits.max_top)
        support = self._support(question.examples)
        heads = [self._resolve(head) for head in question.heads]
        pool = self._pool(support, question.candidates)
        results = []
        for head in heads:
            if is_given_up():
                raise GivenUpError
            ranked = rank_tails(
                self.answerer.method,
                support,
                head,
                pool,
                question.top,
                question.with_known,
                self.answerer.calibration,
            )
            results.append(self._head_answers(head, ranked))
        return schemas.Answers(results=results, seconds=time.perf_counter() - started)

    def explain(self, why: schemas.Why) -> schemas.Explained:
        """Say what carried an answer."""
        support = self._support(why.examples)
        if not len(support):
            raise InputError("give at least one example of the relation")
        explanation = self.answerer.explain(support, self._resolve(why.head), self._resolve(why.tail))
        return self._explained(explanation)

    def search(self, text: str, limit: int) -> schemas.FoundEntities:
        """Find entities by what was typed."""
        return schemas.FoundEntities(
            entities=[
                schemas.FoundEntity(
                    id=match.entity,
                    name=match.name,
                    label=match.label,
                    similarity=match.similarity,
                    degree=int(self.graph.degrees[match.entity]),
                    types=self._types(match.entity),
                )
                for match in self.index.search(text, limit)
            ]
        )

    def neighbors(self, entity: int, limit: int) -> schemas.Neighbors:
        """List the first edges of an entity."""
        if not 0 <= entity < self.graph.num_entities:
            raise UnknownEntityError(f"unknown entity #{entity}: ids go from 0 to {self.graph.num_entities - 1}")
        relations, entities = self.graph.adjacency.edges(entity)
        edges = zip(relations[:limit].tolist(), entities[:limit].tolist(), strict=True)
        return schemas.Neighbors(
            entity=self._entity(entity),
            degree=len(entities),
            neighbors=[schemas.Neighbor(relation=self._relation(r), entity=self._entity(e)) for r, e in edges],
        )

    def _check_count(self, what: str, count: int, limit: int) -> None:
        if count > limit:
            raise InputError(f"{what}: {count:,} are more than the {limit:,} that this server allows")

    def _resolve(self, text: str | int) -> int:
        if isinstance(text, str):
            self._check_count("letters of a name", len(text), self.limits.max_text)
        return self.index.resolve(text)

    def _support(self, examples: Sequence[schemas.Pair]) -> IntArray:
        self._check_count("examples", len(examples), self.limits.max_examples)
        pairs = [(self._resolve(pair.head), self._resolve(pair.tail)) for pair in examples]
        return np.array(pairs, dtype=np.int64).reshape(-1, 2)

    def _pool(self, support: IntArray, candidates: str | list[str]) -> IntArray:
        chosen: Candidates = "open" if candidates == "open" else "all" if candidates == "all" else tuple(candidates)
        pool = self.answerer.candidates(support, chosen)
        self._check_count("candidates", len(pool), self.limits.max_candidates)
        return pool

    def _head_answers(self, head: int, ranked: Ranked) -> schemas.HeadAnswers:
        sure = [None] * len(ranked.tails) if ranked.confidence is None else ranked.confidence.tolist()
        rows = zip(ranked.tails.tolist(), ranked.scores.tolist(), sure, ranked.is_known.tolist(), strict=True)
        answers = [
            schemas.RankedTail(rank=rank, entity=self._entity(tail), score=score, confidence=share, is_known=is_known)
            for rank, (tail, score, share, is_known) in enumerate(rows, start=1)
        ]
        return schemas.HeadAnswers(head=self._entity(head), num_candidates=ranked.num_candidates, answers=answers)

    def _explained(self, explanation: Explanation) -> schemas.Explained:
        return schemas.Explained(
            head=self._entity(explanation.head),
            tail=self._entity(explanation.tail),
            score=explanation.score,
            examples=[
                schemas.ExampleWeight(
                    head=self._entity(example.head),
                    tail=self._entity(example.tail),
                    global_weight=example.global_weight,
                    local_weight=example.local_weight,
                )
                for example in explanation.examples
            ],
            neighbors=[self._neighbor(neighbor) for neighbor in explanation.neighbors],
            connections=[
                schemas.Joining(
                    relations=[self._relation(relation) for relation in connection.relations],
                    entities=[self._entity(entity) for entity in connection.entities],
                )
                for connection in explanation.connections
            ],
            reasons=[schemas.Evidence(**vars(reason)) for reason in explanation.reasons],
            text=as_text(explanation, self.graph),
            tokens=list(explanation.tokens),
            attention=None if explanation.attention is None else explanation.attention.tolist(),
        )

    def _neighbor(self, neighbor: WeightedNeighbor) -> schemas.NeighborWeight:
        return schemas.NeighborWeight(
            side=neighbor.side,
            hops=neighbor.hops,
            relation=self._relation(neighbor.relation),
            entity=self._entity(neighbor.entity),
            through=None if neighbor.through is None else self._entity(neighbor.through),
            local_weight=neighbor.local_weight,
            attention=neighbor.attention,
        )

    def _offered_question(self) -> schemas.OfferedQuestion | None:
        """Make a question of the first few-shot relation that has one to ask."""
        shots = self.answerer.config.shots
        for task in (*self.answerer.dataset.test, *self.answerer.dataset.valid):
            if len(task.pairs) > shots:
                pairs = [(self._entity(head), self._entity(tail)) for head, tail in task.support(shots).tolist()]
                examples = [schemas.KnownPair(head=head, tail=tail) for head, tail in pairs]
                return schemas.OfferedQuestion(examples=examples, head=self._entity(int(task.queries(shots)[0, 0])))
        return None

    def _types(self, entity: int) -> list[str]:
        types = self.graph.types
        return [] if types is None else [types.names[kind] for kind in types.of(np.array([entity])).tolist()]

    def _entity(self, entity: int) -> schemas.Entity:
        entities = self.graph.entities
        return schemas.Entity(id=entity, name=entities.name(entity), label=entities.label(entity))

    def _relation(self, relation: int) -> schemas.Relation:
        relations, plain = self.graph.relations, self.graph.base(relation)
        return schemas.Relation(
            id=plain,
            name=relations.name(plain),
            label=relations.label(plain),
            is_inverse=self.graph.is_inverse(relation),
        )
