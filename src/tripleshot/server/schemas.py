"""The JSON that goes in and out."""

import re
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

Reference = Annotated[
    Annotated[str, Field(min_length=1)] | Annotated[int, Field(strict=True, ge=0, lt=2**31)],
    Field(description="An entity: its name, its label if no other has it, or its id as 12 or '#12'."),
]


def check_digits(text: str) -> str:
    """Refuse a number that is not written the one plain way: `007`, `+7`, `7.0`, `1_000`."""
    if not re.fullmatch(r"0|[1-9][0-9]*", text):
        raise ValueError("an id is a number without sign and leading zeros")
    return text


EntityId = Annotated[int, BeforeValidator(check_digits), Field(ge=0, lt=2**31)]


class Request(BaseModel):
    """What is sent; a field that is not known is an error rather than overlooked."""

    model_config = ConfigDict(extra="forbid")


class Pair(Request):
    """A head and a tail that stand in the relation."""

    head: Reference
    tail: Reference


RelationName = Annotated[
    Annotated[str, Field(min_length=1)] | None,
    Field(
        description="What the relation is called. If the graph has it, its triples are hidden from the method, what "
        "they say is known, and some of them are the examples where none are given."
    ),
]
Examples = Annotated[
    list[Pair] | None, Field(description="Pairs of the relation; they can be left out if the graph has the relation.")
]
Asked = Annotated[list[Reference], Field(min_length=1)] | None


class Question(Request):
    """A relation, by examples or by its name, and the heads whose tails are asked for, or the tails whose heads are."""

    examples: Examples = None
    heads: Asked = None
    tails: Annotated[Asked, Field(description="In place of heads: which heads has each of these tails?")] = None
    relation: RelationName = None
    top: Annotated[int, Field(strict=True, ge=1, lt=2**31, description="Answers for each entity asked about.")] = 10
    candidates: Annotated[
        Literal["open", "all"] | list[str],
        Field(description="What could be an answer: typed like the examples' answers, every entity, or given types."),
    ] = "open"
    with_known: Annotated[bool, Field(strict=True, description="Also rank what is known already.")] = False

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "examples": [{"head": "city/barcelona-es", "tail": "sea/mediterranean-sea"}],
                    "heads": ["city/baku-az"],
                    "top": 3,
                }
            ]
        }
    )


class ExplainRequest(Request):
    """A relation as in a question, and the answer to explain: the tail, or the head if the tail was asked about."""

    examples: Examples = None
    head: Reference
    tail: Reference
    asked: Annotated[Literal["head", "tail"], Field(description="Which of the two was asked about.")] = "head"
    relation: RelationName = None


class Entity(BaseModel):
    """An entity; the label is what to show a person."""

    id: int
    name: str
    label: str


class Relation(BaseModel):
    """A relation, or its inverse: the same one read from tail to head."""

    id: int
    name: str
    label: str
    is_inverse: bool


class RankedEntity(BaseModel):
    """An entity that the method proposes; scores are comparable within one question only."""

    rank: int
    entity: Entity
    score: float
    confidence: float | None
    is_known: bool


class HeadAnswers(BaseModel):
    """The best tails of one head."""

    head: Entity
    num_candidates: int
    none: float | None
    answers: list[RankedEntity]


class TailAnswers(BaseModel):
    """The best heads of one tail."""

    tail: Entity
    num_candidates: int
    none: float | None
    answers: list[RankedEntity]


class Answers(BaseModel):
    """The answers to a question, in the order of the entities asked about."""

    relation: str | None
    results: list[HeadAnswers] | list[TailAnswers]
    seconds: float


class ExampleWeight(BaseModel):
    """An example, and how much of the support it was."""

    head: Entity
    tail: Entity
    global_weight: float | None
    local_weight: float | None


class NeighborWeight(BaseModel):
    """A neighbor of the head or the tail that the method looked at."""

    side: Literal["head", "tail"]
    hops: int
    relation: Relation
    entity: Entity
    through: Entity | None
    local_weight: float | None
    attention: float | None


class Path(BaseModel):
    """A link or a path from head to tail in the graph."""

    relations: list[Relation]
    entities: list[Entity]


class KnownPair(BaseModel):
    """A head and a tail that are known to stand in a relation."""

    head: Entity
    tail: Entity


class Reason(BaseModel):
    """One of the method's own reasons; a weight below zero speaks against the answer."""

    kind: str
    text: str
    weight: float
    is_main: bool
    paths: list[Path]
    examples: list[KnownPair]


class ExplainResponse(BaseModel):
    """What carried an answer."""

    head: Entity
    tail: Entity
    asked: Literal["head", "tail"]
    relation: str
    score: float
    summary: str
    reasons: list[Reason]
    remarks: list[str]
    examples: list[ExampleWeight]
    neighbors: list[NeighborWeight]
    connections: list[Path]
    text: str
    tokens: list[str]
    attention: list[list[float]] | None


class FoundEntity(Entity):
    """An entity that a search found."""

    similarity: float
    degree: int
    types: list[str]


class FoundEntities(BaseModel):
    """What a search found, the best first."""

    entities: list[FoundEntity]


class Neighbor(BaseModel):
    """An edge that leaves an entity."""

    relation: Relation
    entity: Entity


class Neighbors(BaseModel):
    """The first edges of an entity; the degree counts all of them."""

    entity: Entity
    degree: int
    neighbors: list[Neighbor]


class SuggestedQuestion(BaseModel):
    """A question to try, which this server answers rightly: examples of a relation, and a head.

    The right answer is known, so it is an answer only `with_known`; but the method has not seen it.
    """

    relation: str
    examples: list[KnownPair]
    head: Entity
    with_known: bool


class Suggestion(BaseModel):
    """A question to try, if one was found."""

    question: SuggestedQuestion | None


class RequestLimits(BaseModel):
    """How much one question may hold: examples, entities asked about, answers for each."""

    examples: int
    asked: int
    top: int


class About(BaseModel):
    """What is served."""

    name: str
    method: str
    shots: int
    num_entities: int
    num_relations: int
    num_triples: int
    num_types: int
    types: Annotated[list[str], Field(description="The first of them; /types has all, page by page.")]
    has_confidence: bool
    limits: RequestLimits


class FoundTypes(BaseModel):
    """Types of entities, a page of those whose names have the text that was asked for, and how many there are."""

    types: list[str]
    num_found: int


class Health(BaseModel):
    """Whether the server is up."""

    status: Literal["ok"]


class Ready(BaseModel):
    """Whether the server can take requests."""

    status: Literal["ready"]


class Problem(BaseModel):
    """What went wrong, in one sentence."""

    detail: str
