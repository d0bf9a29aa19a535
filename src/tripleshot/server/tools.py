"""What an assistant can ask: tools with a name, a description, and schemas of what goes in and out.

They are the questions of the HTTP API, under the same limits. What an answer has beyond what is worth reading, such as
the attention between all tokens of an explanation, is left out.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Generic, TypeVar

from pydantic import BaseModel, Field

from tripleshot.answering.steps import Result, Steps, in_one_step
from tripleshot.server import schemas
from tripleshot.server.relation_schemas import Count, CountedRelation
from tripleshot.server.service import Service

MAX_LISTED = 100  # relations, and types, of the graph: an assistant reads all of them

Asked = TypeVar("Asked", bound=schemas.Request)


class Nothing(schemas.Request):
    """No arguments."""


class Search(schemas.Request):
    """What is typed to find an entity."""

    text: Annotated[str, Field(description="Part of a name or label; case, accents and small typos are forgiven.")]
    limit: Annotated[Count, Field(description="How many entities at most.")] = 10


class NeighborsOf(schemas.Request):
    """An entity whose edges are listed."""

    entity: schemas.Reference
    limit: Annotated[Count, Field(description="How many edges at most.")] = 50


class AboutGraph(schemas.About):
    """What is asked: the first of its types, and the relations that can be asked about by name, most frequent first."""

    relations: list[CountedRelation]


class Explained(BaseModel):
    """What carried an answer, in words, and reason by reason."""

    head: schemas.Entity
    tail: schemas.Entity
    asked: str
    relation: str
    score: float
    summary: str
    text: str
    reasons: list[schemas.Reason]
    remarks: list[str]


@dataclass(frozen=True)
class Tool(Generic[Asked, Result]):
    """Something that an assistant can call.

    Attributes:
        name: what it is called by.
        title: what a person sees.
        description: what the assistant goes by when it chooses.
        request: what goes in.
        response: what comes out.
        call: does it in steps, after which others get their turn.
    """

    name: str
    title: str
    description: str
    request: type[Asked]
    response: type[Result]
    call: Callable[[Service, Asked], Steps[Result]]


def describe_graph(service: Service, _: Nothing) -> Steps[AboutGraph]:
    """Say what the graph is."""
    about = service.about().model_dump()
    yield
    listed = service.relations(min(MAX_LISTED, service.limits.max_listed)).model_dump()
    cut = {"types": about["types"][:MAX_LISTED], **listed}
    return AboutGraph.model_validate({**about, **cut})


def find_entities(service: Service, request: Search) -> Steps[schemas.FoundEntities]:
    """Find entities by what was typed."""
    return in_one_step(lambda: service.search(request.text, request.limit))


def list_neighbors(service: Service, request: NeighborsOf) -> Steps[schemas.Neighbors]:
    """List the edges of an entity."""
    return in_one_step(lambda: service.neighbors(service.resolve(request.entity), request.limit))


def explain_answer(service: Service, request: schemas.ExplainRequest) -> Steps[Explained]:
    """Say what carried an answer."""
    found = yield from service.explain(request)
    return Explained.model_validate(found.model_dump())


TOOLS: tuple[Tool[Any, Any], ...] = (
    Tool(
        "about",
        "What the graph is",
        "Say what knowledge graph this is: its size, the types of its entities, its most frequent relations, and how "
        "much one question may hold.",
        Nothing,
        AboutGraph,
        describe_graph,
    ),
    Tool(
        "search",
        "Find entities",
        "Find entities of the graph by name. The other tools take the `name` of what was found.",
        Search,
        schemas.FoundEntities,
        find_entities,
    ),
    Tool(
        "neighbors",
        "Look at an entity",
        "List what the graph says about an entity: its relations to others, in both directions.",
        NeighborsOf,
        schemas.Neighbors,
        list_neighbors,
    ),
    Tool(
        "predict",
        "Predict missing facts",
        "Predict what the graph does not say. Give a relation by a few `examples`, pairs of head and tail, or by the "
        "name of a `relation` that the graph has. Give the `heads` whose tails are wanted, or the `tails` whose heads "
        "are. `confidence` is the probability that an answer is right, and `none` that no candidate is; they are null "
        "where that is not known. Answers are predictions, not facts of the graph, unless `is_known`.",
        schemas.Question,
        schemas.Answers,
        Service.answer,
    ),
    Tool(
        "explain",
        "Explain a prediction",
        "Say why an entity is an answer of `predict`, with the paths and known facts that speak for it. Give the same "
        "`examples` or `relation`, and `asked`: whether the head or the tail was asked about.",
        schemas.ExplainRequest,
        Explained,
        explain_answer,
    ),
)
