"""The JSON that goes in and out."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Reference = Annotated[
    Annotated[str, Field(min_length=1)] | Annotated[int, Field(strict=True, ge=0, lt=2**31)],
    Field(description="An entity: its name, its label if no other has it, or its id as 12 or '#12'."),
]


class Request(BaseModel):
    """What is sent; a field that is not known is an error rather than overlooked."""

    model_config = ConfigDict(extra="forbid")


class Pair(Request):
    """A head and a tail that stand in the relation."""

    head: Reference
    tail: Reference


class Question(Request):
    """Examples of a relation, and the heads asked about."""

    examples: list[Pair]
    heads: Annotated[list[Reference], Field(min_length=1)]
    top: Annotated[int, Field(strict=True, ge=1, lt=2**31, description="Answers for each head.")] = 10
    candidates: Annotated[
        Literal["open", "all"] | list[str],
        Field(description="What could be an answer: typed like the examples' tails, every entity, or given types."),
    ] = "open"
    with_known: Annotated[bool, Field(strict=True, description="Also rank what the examples say.")] = False

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
    """Examples of a relation, and the answer to explain."""

    examples: list[Pair]
    head: Reference
    tail: Reference


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


class RankedTail(BaseModel):
    """A tail that the method proposes; scores are comparable within one question only."""

    rank: int
    entity: Entity
    score: float
    confidence: float | None
    is_known: bool


class HeadAnswers(BaseModel):
    """The best tails of one head."""

    head: Entity
    num_candidates: int
    answers: list[RankedTail]


class Answers(BaseModel):
    """The answers to a question, in the order of its heads."""

    results: list[HeadAnswers]
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


class Reason(BaseModel):
    """One of the method's own reasons."""

    kind: str
    text: str
    weight: float


class ExplainResponse(BaseModel):
    """What carried an answer."""

    head: Entity
    tail: Entity
    score: float
    examples: list[ExampleWeight]
    neighbors: list[NeighborWeight]
    connections: list[Path]
    reasons: list[Reason]
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


class KnownPair(BaseModel):
    """A head and a tail that are known to stand in a relation."""

    head: Entity
    tail: Entity


class SuggestedQuestion(BaseModel):
    """A question to try: examples of a relation that is no part of the graph, and a head."""

    examples: list[KnownPair]
    head: Entity


class About(BaseModel):
    """What is served."""

    name: str
    method: str
    shots: int
    num_entities: int
    num_relations: int
    num_triples: int
    types: list[str]
    has_confidence: bool
    example: SuggestedQuestion | None


class Health(BaseModel):
    """Whether the server is up."""

    status: Literal["ok"]


class Problem(BaseModel):
    """What went wrong, in one sentence."""

    detail: str
