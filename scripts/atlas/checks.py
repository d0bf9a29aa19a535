"""What must hold before Atlas is written: no relation gives another away, and context can answer the questions."""

from collections import Counter, defaultdict
from collections.abc import Collection
from dataclasses import dataclass

from atlas.draft import Draft, read_table

TASK_BOUNDS = range(51, 500)
LARGEST_OVERLAP = 0.8
SMALLEST_COVERAGE = 0.95

Pairs = set[tuple[str, str]]


@dataclass(frozen=True)
class Relation:
    """One row of the table of relations; the label reads as text between head and tail."""

    name: str
    label: str
    split: str
    question: str

    @property
    def is_task(self) -> bool:
        """Whether the relation is asked about rather than given as context."""
        return self.split != "background"


def read_relations() -> list[Relation]:
    """The relations of Atlas, in the order of the table: tasks by split, then background by theme."""
    return [Relation(*row) for row in read_table("relations")]


def check(draft: Draft, relations: list[Relation]) -> None:
    """Raise with every fault found, so that one build shows them all."""
    pairs: defaultdict[str, Pairs] = defaultdict(set)
    for head, relation, tail in draft.triples:
        pairs[relation].add((head, tail))
    faults = [
        *_unlisted(pairs.keys(), {relation.name for relation in relations}),
        *_out_of_bounds(pairs, relations),
        *_copies(pairs),
        *_uncovered(pairs, relations),
        *(f"{label!r} labels two entities" for label in _repeated_labels(draft)),
    ]
    if faults:
        raise ValueError("\n".join(faults))


def _unlisted(found: Collection[str], listed: Collection[str]) -> list[str]:
    return [f"{name} is in only one of the triples and the table" for name in sorted(set(found) ^ set(listed))]


def _out_of_bounds(pairs: dict[str, Pairs], relations: list[Relation]) -> list[str]:
    sizes = {relation.name: len(pairs[relation.name]) for relation in relations if relation.is_task}
    return [
        f"{name} has {size} triples, too few or too many" for name, size in sizes.items() if size not in TASK_BOUNDS
    ]


def _copies(pairs: dict[str, Pairs]) -> list[str]:
    faults = []
    for first in sorted(pairs):
        inverse = {(tail, head) for head, tail in pairs[first]}
        for second in sorted(pairs):
            smallest_share = LARGEST_OVERLAP * max(len(pairs[first]), len(pairs[second]))
            if first < second and len(pairs[first] & pairs[second]) >= smallest_share:
                faults.append(f"{first} nearly copies {second}")
            if first <= second and len(inverse & pairs[second]) >= smallest_share:
                faults.append(f"{first} nearly inverts {second}")
    return faults


def _uncovered(pairs: dict[str, Pairs], relations: list[Relation]) -> list[str]:
    in_tasks: set[str] = set()
    in_background: set[str] = set()
    for relation in relations:
        mentioned = in_tasks if relation.is_task else in_background
        mentioned.update(name for pair in pairs[relation.name] for name in pair)
    coverage = len(in_tasks & in_background) / len(in_tasks)
    print(f"{coverage:.1%} of {len(in_tasks)} entities in tasks have an edge in the background")
    return [f"only {coverage:.1%} of task entities are in the background"] if coverage < SMALLEST_COVERAGE else []


def _repeated_labels(draft: Draft) -> list[str]:
    return [label for label, count in Counter(draft.labels.values()).items() if count > 1]
