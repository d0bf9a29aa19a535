"""The JSON of whole relations: which ones a graph has, and what is proposed for the heads of one."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from tripleshot.server.schemas import Asked, Entity, Examples, KnownPair, Request

Count = Annotated[int, Field(strict=True, ge=1, lt=2**31)]


class CountedRelation(BaseModel):
    """A relation of the graph."""

    name: str
    label: str
    num_triples: int


class Relations(BaseModel):
    """The most frequent relations of the graph, which can be asked about by name."""

    relations: list[CountedRelation]


class CompletionRequest(Request):
    """A relation to complete, and how many of its heads to ask about; the next request goes on behind them."""

    relation: Annotated[str, Field(min_length=1, description="What it is called in the graph, or a new one's name.")]
    examples: Examples = None
    heads: Annotated[Asked, Field(description="Heads to ask about; by default those like the examples' heads.")] = None
    skip: Annotated[int, Field(strict=True, ge=0, lt=2**31, description="How many heads to pass over.")] = 0
    limit: Annotated[
        Count | None, Field(description="How many heads to ask about; by default 50, or as many as the server allows.")
    ] = None
    top: Annotated[Count, Field(description="Proposals for a head at most.")] = 1
    min_confidence: Annotated[
        Annotated[float, Field(strict=True, ge=0, le=1)] | None,
        Field(description="Of a proposal; by default 0.5 where confidence is known."),
    ] = None
    missing_only: Annotated[
        bool, Field(strict=True, description="Leave out heads that have a tail of the relation already.")
    ] = False

    model_config = ConfigDict(json_schema_extra={"examples": [{"relation": "borders", "limit": 20}]})


class Proposal(BaseModel):
    """A triple that the graph does not have; confidence counts if the head has the relation at all."""

    head: Entity
    tail: Entity
    rank: int
    score: float
    confidence: float | None


class Completion(BaseModel):
    """Proposals for some heads of a relation, in the order of asking; `next` is what to skip to go on.

    The examples are those that were given, or triples of the graph.
    """

    relation: str
    label: str
    examples: list[KnownPair]
    num_heads: int
    next: int | None
    proposals: list[Proposal]
    seconds: float
