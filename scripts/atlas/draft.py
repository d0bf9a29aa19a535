"""The graph while it is being written: entities with labels and types, and triples in the order they were found."""

import re
import unicodedata
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

LETTERS_WITHOUT_DECOMPOSITION = str.maketrans(
    {"ø": "o", "Ø": "o", "ł": "l", "Ł": "l", "ß": "ss", "ı": "i", "đ": "d", "Đ": "d", "æ": "ae", "Æ": "ae", "ð": "d"}
    | {"þ": "th", "Þ": "th", "œ": "oe", "ə": "e", "Ə": "e", "&": " and ", "'": "", "’": "", "‘": "", "ʻ": "", "ʼ": ""}
)
TYPES_BY_CLAIM_TO_A_LABEL = ("country", "continent", "city", "language", "currency", "river")


def slug(text: str) -> str:
    """Lower-case ASCII words joined by hyphens, so that names survive any file system, shell or address bar."""
    decomposed = unicodedata.normalize("NFKD", text.translate(LETTERS_WITHOUT_DECOMPOSITION))
    ascii_only = decomposed.encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", ascii_only).strip("-")


def read_table(name: str) -> list[list[str]]:
    """Rows of one hand-written table of public facts, without its comment line."""
    path = Path(__file__).parent / "tables" / f"{name}.tsv"
    lines = path.read_text(encoding="utf-8").splitlines()
    return [line.split("\t") for line in lines if line and not line.startswith("#")]


@dataclass
class Draft:
    """Entities and triples collected so far. Insertion order does not matter: everything is sorted when written."""

    labels: dict[str, str] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)
    triples: dict[tuple[str, str, str], None] = field(default_factory=dict)

    def entity(self, kind: str, key: str, label: str) -> str:
        """Declare an entity once and return its name; a second declaration must agree with the first."""
        name = f"{kind}/{slug(key)}"
        if not label or name.endswith("/"):
            raise ValueError(f"{kind} {key!r} needs a key and a label")
        if self.labels.setdefault(name, label) != label:
            raise ValueError(f"{name} is called both {self.labels[name]!r} and {label!r}")
        self.types[name] = kind
        return name

    def link(self, head: str, relation: str, tail: str) -> None:
        """Add one triple between declared entities; saying it twice changes nothing."""
        for name in (head, tail):
            if name not in self.labels:
                raise KeyError(f"{relation} mentions {name}, which was never declared")
        if head == tail:
            raise ValueError(f"{head} {relation} itself")
        self.triples[head, relation, tail] = None

    def drop_relation_pairs(self, relation: str, covered_by: str) -> None:
        """Remove the triples of one relation that another already states, so that neither gives the other away."""
        stated = {(head, tail) for head, name, tail in self.triples if name == covered_by}
        for head, name, tail in list(self.triples):
            if name == relation and (head, tail) in stated:
                del self.triples[head, name, tail]

    def drop_lonely_entities(self) -> None:
        """Forget entities that no triple mentions."""
        mentioned = {name for head, _, tail in self.triples for name in (head, tail)}
        self.labels = {name: label for name, label in self.labels.items() if name in mentioned}
        self.types = {name: kind for name, kind in self.types.items() if name in mentioned}

    def make_labels_unique(self) -> None:
        """Name the type after labels that several entities share, except on the entity a reader would think of."""
        shared = {label for label, count in Counter(self.labels.values()).items() if count > 1}
        taken: set[str] = set()
        for name in sorted(self.labels, key=self._claim):
            label = self.labels[name]
            if label in shared and label in taken:
                self.labels[name] = f"{label} ({self.types[name].replace('_', ' ')})"
            taken.add(self.labels[name])

    def _claim(self, name: str) -> tuple[int, str]:
        kind = self.types[name]
        order = TYPES_BY_CLAIM_TO_A_LABEL
        return (order.index(kind) if kind in order else len(order), name)
