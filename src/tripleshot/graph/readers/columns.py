"""Which of several named columns hold the head, the relation and the tail."""

from collections.abc import Sequence

from tripleshot.errors import InputError, did_you_mean

ROLES = (
    frozenset({"head", "subject", "source", "from", "src", "subj", "head_id", "h", "s"}),
    frozenset({"relation", "predicate", "property", "rel", "pred", "relation_id", "p", "r"}),
    frozenset({"tail", "object", "target", "to", "dst", "obj", "tail_id", "t", "o"}),
)

Picks = tuple[int, int, int]


def usual_columns(names: Sequence[str]) -> Picks | None:
    """Return the positions of head, relation and tail, or None unless exactly one column is named like each."""
    folded = [name.strip().casefold() for name in names]
    found = [[position for position, name in enumerate(folded) if name in role] for role in ROLES]
    if any(len(positions) != 1 for positions in found):
        return None
    (head,), (relation,), (tail,) = found
    return head, relation, tail


def pick_columns(names: Sequence[str], columns: Sequence[str] | None, origin: str) -> Picks:
    """Return the positions of head, relation and tail: as asked for, by the usual names, or the only three."""
    if columns is not None:
        head, relation, tail = (_position(names, column, origin) for column in columns)
        return head, relation, tail
    usual = usual_columns(names)
    if usual is None and not len(names) == len(set(names)) == 3:
        raise InputError(
            f"{origin}: cannot tell head, relation and tail among {len(names)} columns "
            f"({', '.join(map(repr, names[:8]))}); name them with columns=(head, relation, tail)"
        )
    return usual or (0, 1, 2)


def _position(names: Sequence[str], column: str, origin: str) -> int:
    if names.count(column) != 1:
        problem = "no column" if column not in names else "more than one column"
        raise InputError(f"{origin}: {problem} named {column!r}{did_you_mean(column, names)}")
    return names.index(column)
