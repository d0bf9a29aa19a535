"""What the server can be asked: requests in, the library's documents out, within the limits."""

import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tripleshot.answering.answers import Answers
from tripleshot.answering.completing import Plan, Rules, choose_heads
from tripleshot.answering.documents import (
    entity_document,
    explanation_document,
    pair_document,
    proposal_documents,
    relation_document,
)
from tripleshot.answering.explanation import Side
from tripleshot.answering.predictor import Predictor
from tripleshot.answering.provenance import name_of
from tripleshot.answering.questions import MAX_EXAMPLES, Question
from tripleshot.answering.ranking import as_candidates, count_candidates
from tripleshot.answering.steps import Steps
from tripleshot.arrays import IntArray
from tripleshot.errors import InputError
from tripleshot.server import relation_schemas, schemas
from tripleshot.server.limits import Limits
from tripleshot.server.memory import check_memory
from tripleshot.server.suggestion import suggest_question

NUM_HEADS = 50  # of a relation that is completed, unless somebody wants another number
SLICE_SIZE = 8192  # candidates scored before others may have their turn: far below a second for most methods


class UnknownEntityError(InputError):
    """An address that names no entity."""


class Service:
    """A predictor, and how much it may be asked at once.

    Attributes:
        predictor: what answers.
        limits: how much a request may ask for.
        suggestion: a question to try, once one was looked for.
    """

    def __init__(self, predictor: Predictor, limits: Limits) -> None:
        self.predictor, self.graph, self.index = predictor, predictor.graph, predictor.index
        self.limits = limits
        self.suggestion: schemas.Suggestion | None = None

    @property
    def is_ready(self) -> bool:
        """Whether names can be searched without waiting for their index."""
        return self.index.nbytes > 0

    def about(self) -> schemas.About:
        """Say what is served."""
        graph, predictor, most = self.graph, self.predictor, self.limits
        return schemas.About(
            name=predictor.dataset.name,
            method=predictor.name,
            shots=predictor.shots,
            num_entities=graph.num_entities,
            num_relations=graph.num_relations,
            num_triples=graph.num_triples,
            num_types=len(self._type_names),
            types=list(self._type_names[: most.max_listed]),
            has_confidence=predictor.calibration is not None,
            limits=schemas.RequestLimits(examples=most.max_examples, asked=most.max_heads, top=most.max_top),
        )

    def types(self, text: str, first: int, limit: int) -> schemas.FoundTypes:
        """List types of entities whose names have a text in them, from the first so many on."""
        self._check_letters(text)
        self._check_count("limit", limit, self.limits.max_listed)
        found = [name for name in self._type_names if text.casefold() in name.casefold()]
        return schemas.FoundTypes(types=found[first : first + limit], num_found=len(found))

    def answer(self, question: schemas.Question) -> Steps[schemas.Answers]:
        """Rank answers for every entity asked about, some candidates at each step."""
        started = time.perf_counter()
        side, given = self._asked(question)
        self._check_count(f"{side}s", len(given), self.limits.max_heads)
        self._check_count("top", question.top, self.limits.max_top)
        chosen = self._chosen(question.candidates)
        asked = [self.resolve(entity) for entity in given]
        understood = self._understand(question.examples, question.relation, side)
        pool = self._candidates(understood, chosen, len(asked), question.top)
        yield
        rankings = []
        for entity in asked:
            ranking = yield from understood.rank(entity, pool, question.top, question.with_known, SLICE_SIZE)
            rankings.append(ranking)
        about = (side, time.perf_counter() - started, understood.relation)
        answers = Answers(self.graph, tuple(asked), tuple(rankings), *about)
        return schemas.Answers.model_validate(answers.to_dict())

    def complete(self, request: relation_schemas.CompletionRequest) -> Steps[relation_schemas.Completion]:
        """Propose triples of a relation for some of the heads that could have it, some candidates at each step."""
        started = time.perf_counter()
        limit = min(NUM_HEADS, self.limits.max_heads) if request.limit is None else request.limit
        self._check_count("limit", limit, self.limits.max_heads)
        self._check_count("top", request.top, self.limits.max_top)
        self._check_count("heads", len(request.heads or ()), self.limits.max_heads)
        rules = Rules(request.top, request.min_confidence, max_heads=self.graph.num_entities or 1)
        rules.threshold(self.predictor)
        question = self._understand(request.examples, request.relation, "head")
        pool = self._candidates(question, "open", limit, request.top)
        yield
        if request.heads is not None:
            alike = np.array([self.resolve(head) for head in request.heads], dtype=np.int64)
        else:
            self._check_heads(question)
            alike, _ = choose_heads(question, replace(rules, missing_only=request.missing_only))
        end = request.skip + limit
        plan = Plan(question, alike[request.skip : end], len(alike), rules)
        rankings = []
        for head in plan.heads.tolist():
            rankings.append((yield from plan.rank(head, pool, SLICE_SIZE)))
        document = {
            "relation": name_of(question),
            "label": question.relation,
            "examples": [pair_document(self.graph, *pair) for pair in question.support.tolist()],
            "num_heads": len(alike),
            "next": end if end < len(alike) else None,
            "proposals": proposal_documents(self.graph, plan.heads, rankings),
            "seconds": time.perf_counter() - started,
        }
        return relation_schemas.Completion.model_validate(document)

    def explain(self, request: schemas.ExplainRequest) -> Steps[schemas.ExplainResponse]:
        """Say what carried an answer."""
        ends = self.resolve(request.head), self.resolve(request.tail)
        understood = self._understand(request.examples, request.relation, request.asked)
        yield
        explanation = self.predictor.explain_for(understood, *ends)
        return schemas.ExplainResponse.model_validate(explanation_document(explanation))

    def suggest(self) -> Steps[schemas.Suggestion]:
        """Offer a question to try."""
        found = yield from suggest_question(self.predictor)
        if found is None:
            return schemas.Suggestion(question=None)
        pairs = [[entity_document(self.graph, entity) for entity in pair] for pair in found.support.tolist()]
        question = {
            "relation": found.relation,
            "examples": [{"head": head, "tail": tail} for head, tail in pairs],
            "head": entity_document(self.graph, found.head),
            "with_known": True,
        }
        return schemas.Suggestion.model_validate({"question": question})

    def relations(self, limit: int) -> relation_schemas.Relations:
        """List the most frequent relations that can be asked about by name."""
        self._check_count("limit", limit, self.limits.max_listed)
        graph = self.predictor.dataset.whole.graph
        counts, names = graph.relation_counts(), graph.relations
        listed = [
            relation_schemas.CountedRelation(name=names.name(r), label=names.label(r), num_triples=int(counts[r]))
            for r in np.argsort(-counts, kind="stable")[:limit].tolist()
        ]
        return relation_schemas.Relations(relations=listed)

    def search(self, text: str, limit: int) -> schemas.FoundEntities:
        """Find entities by what was typed."""
        self._check_letters(text)
        self._check_count("limit", limit, self.limits.max_listed)
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
        self._check_count("limit", limit, self.limits.max_listed)
        if not 0 <= entity < self.graph.num_entities:
            raise UnknownEntityError(f"unknown entity #{entity}: ids go from 0 to {self.graph.num_entities - 1}")
        graph = self.graph
        relations, entities = graph.adjacency.edges(entity)
        edges = zip(relations[:limit].tolist(), entities[:limit].tolist(), strict=True)
        listed = [{"relation": relation_document(graph, r), "entity": entity_document(graph, e)} for r, e in edges]
        about = {"entity": entity_document(graph, entity), "degree": len(entities)}
        return schemas.Neighbors.model_validate({**about, "neighbors": listed})

    def resolve(self, text: str | int) -> int:
        """Return the id of an entity given by name, label or id."""
        self._check_letters(text)
        return self.index.resolve(text)

    def _check_count(self, what: str, count: int, limit: int) -> None:
        if count > limit:
            raise InputError(f"{what}: {count:,} are more than the {limit:,} that this server allows")

    def _asked(self, question: schemas.Question) -> tuple[Side, list[str | int]]:
        if question.heads is not None and question.tails is None:
            return "head", question.heads
        if question.tails is not None and question.heads is None:
            return "tail", question.tails
        raise InputError("give the heads or the tails that are asked about, and not both")

    def _chosen(self, candidates: str | list[str]) -> str | list[str]:
        """Return what candidates are chosen by, each type once: nothing is looked up before it is known how many."""
        if isinstance(candidates, str):
            return candidates
        types = list(dict.fromkeys(candidates))
        self._check_count("types of candidates", len(types), self.limits.max_types)
        for name in types:
            self._check_letters(name)
        return types

    def _candidates(self, question: Question, chosen: str | list[str], num_asked: int, top: int) -> IntArray:
        """Return what could be an answer; nothing is expanded that would take too much memory."""
        graph = self.predictor.dataset.graph  # the one that candidates are taken from
        at_most = count_candidates(graph, question.support, as_candidates(chosen))
        if at_most is not None:
            check_memory(at_most, num_asked, top, self.limits.max_memory)
        pool = self.predictor.candidates_for(question, chosen)
        self._check_count("candidates", len(pool), self.limits.max_candidates)
        check_memory(len(pool), num_asked, top, self.limits.max_memory)
        return pool

    def _check_heads(self, question: Question) -> None:
        """Refuse to look for heads where that would take too much memory."""
        at_most = count_candidates(self.predictor.dataset.graph, question.support[:, ::-1])
        check_memory(at_most or 0, 1, 1, self.limits.max_memory)

    def _check_letters(self, text: str | int | None) -> None:
        if isinstance(text, str):
            self._check_count("letters of a name", len(text), self.limits.max_text)

    def _understand(self, examples: Sequence[schemas.Pair] | None, relation: str | None, side: Side) -> Question:
        """Return what is asked in ids; nothing is indexed before it is known that it can be answered."""
        self._check_letters(relation)
        pairs = None
        if examples is not None:
            self._check_count("examples", len(examples), self.limits.max_examples)
            pairs = [(self.resolve(pair.head), self.resolve(pair.tail)) for pair in examples]
        return self.predictor.question(pairs, relation, side, min(MAX_EXAMPLES, self.limits.max_examples))

    @property
    def _type_names(self) -> Sequence[str]:
        return () if self.graph.types is None else self.graph.types.names

    def _types(self, entity: int) -> list[str]:
        types = self.graph.types
        return [] if types is None else [types.names[kind] for kind in types.of(np.array([entity])).tolist()]
