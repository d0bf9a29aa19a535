"""Where proposals come from: which program, method and graph, when, and from which examples."""

import json
import uuid
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from tripleshot.answering.questions import Question, as_support
from tripleshot.errors import InputError

if TYPE_CHECKING:
    from tripleshot.answering.predictor import Predictor

METADATA = b"tripleshot.provenance"  # the key of a Parquet file's metadata
RUNS = uuid.UUID("5a2c7a0e-4f0b-5d7e-9a3b-6f1f0d6c2b11")  # the space of names that runs are named in


@dataclass(frozen=True)
class RelationOrigin:
    """What one relation was asked by.

    Attributes:
        name: of the relation.
        examples: head and tail of each example, by name.
        num_heads: how many heads were asked about.
        num_alike: how many could have been asked about.
    """

    name: str
    examples: tuple[tuple[str, str], ...] = ()
    num_heads: int | None = None
    num_alike: int | None = None


@dataclass(frozen=True)
class Provenance:
    """Where proposals come from.

    Attributes:
        time: when they were asked for, in UTC as ISO 8601.
        version: of tripleshot.
        method: that scored; empty where that is not known.
        graph: a SHA-256 over all that can change a result: names, types and triples; empty where it is not known.
        graph_name: what the graph is called.
        relations: what each was asked by.
    """

    time: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    version: str = field(default_factory=lambda: version("tripleshot"))
    method: str = ""
    graph: str = ""
    graph_name: str = ""
    relations: tuple[RelationOrigin, ...] = ()

    @classmethod
    def of(cls, predictor: "Predictor", relations: Sequence[RelationOrigin]) -> "Provenance":
        """Return what there is to say about proposals of a predictor."""
        dataset = predictor.dataset
        about = {"method": predictor.name, "graph": dataset.content_hash, "graph_name": dataset.name}
        return cls(**about, relations=tuple(relations))

    @cached_property
    def run(self) -> uuid.UUID:
        """An identifier, the same wherever the same proposals are written to."""
        return uuid.uuid5(RUNS, json.dumps(self.to_dict(), sort_keys=True))

    def to_dict(self) -> dict[str, Any]:
        """Return the content as plain JSON."""
        return json.loads(json.dumps(asdict(self)))

    @classmethod
    def from_dict(cls, document: Any, where: object) -> "Provenance":  # noqa: ANN401 (whatever a file has)
        """Read what `to_dict` has written.

        Raises:
            InputError: it is something else.
        """
        try:
            relations = [
                replace(RelationOrigin(**one), examples=tuple((str(head), str(tail)) for head, tail in one["examples"]))
                for one in document["relations"]
            ]
            return replace(cls(**document), relations=tuple(relations))
        except (TypeError, ValueError, LookupError):
            raise InputError(f"{where}: says in no readable form where its proposals come from") from None


def origin_of(question: Question, num_heads: int | None = None, num_alike: int | None = None) -> RelationOrigin:
    """Return what a relation is asked by: its name and the examples, head first."""
    names = question.origin.graph.entities
    pairs = as_support(question.support, question.side).tolist()
    examples = tuple((names.name(head), names.name(tail)) for head, tail in pairs)
    return RelationOrigin(name_of(question), examples, num_heads, num_alike)


def name_of(question: Question) -> str:
    """Return the name of the relation in the graph or, if it is new, what it is called."""
    return question.hidden or question.relation
