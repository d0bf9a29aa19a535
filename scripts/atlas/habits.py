"""What is usual in groups: the side of the road among members of the Commonwealth, the script of a language family.

Values such as "left" or "decimal comma" would otherwise be known only from the questions about them, and no context
could answer those. Shares are computed from the answers, so only relations to train on may take part: a share of a
held-out relation would carry its answers into the background.
"""

from collections import Counter, defaultdict
from dataclasses import dataclass

from atlas.checks import read_relations
from atlas.draft import Draft

SMALLEST_SHARE = 0.6
SMALLEST_LEAD = 0.1

OF_COUNTRIES = (
    "drives_on",
    "week_starts_on",
    "main_script",
    "date_order",
    "decimal_separator",
    "reads_clock",
    "currency_sign_place",
    "changes_clocks",
    "dials_abroad_with",
    "trunk_prefix",
    "postcode_shape",
    "plug_type",
    "mains_frequency",
)


@dataclass(frozen=True)
class Grouping:
    """Which relation gathers heads into groups, what is compared in them, and how the outcome is called."""

    membership: str
    habits: tuple[str, ...]
    outcome: str
    smallest_group: int


GROUPINGS = (
    Grouping("member_of", OF_COUNTRIES, "usual_among", smallest_group=4),
    Grouping("has_coast_on", OF_COUNTRIES, "usual_around", smallest_group=4),
    Grouping("celebrates", OF_COUNTRIES, "usual_where_celebrated", smallest_group=4),
    Grouping("member_of", ("on_continent",), "home_of_most_members", smallest_group=4),
    Grouping("has_coast_on", ("on_continent",), "home_of_most_shores", smallest_group=4),
    Grouping("language_family", ("plural_forms",), "usual_in_family", smallest_group=3),
    Grouping("script_group", ("script_direction", "script_kind"), "usual_in_script_group", smallest_group=3),
)


def add_habits(draft: Draft) -> None:
    """Link each value to the groups most of which keep it, and clearly more often than everybody does."""
    trained_on = {relation.name for relation in read_relations() if relation.split == "train"}
    held_out = sorted({habit for grouping in GROUPINGS for habit in grouping.habits} - trained_on)
    if held_out:
        raise ValueError(f"habits would give away the answers of {held_out}")
    values: defaultdict[str, defaultdict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for head, relation, tail in draft.triples:
        values[relation][head].add(tail)
    for grouping in GROUPINGS:
        groups: defaultdict[str, set[str]] = defaultdict(set)
        for member, tails in values[grouping.membership].items():
            for group in tails:
                groups[group].add(member)
        for habit in grouping.habits:
            everywhere = _shares(values[habit], set(values[habit]))
            for group, members in groups.items():
                known = members & values[habit].keys()
                if len(known) < grouping.smallest_group:
                    continue
                for value, share in _shares(values[habit], known).items():
                    if share >= SMALLEST_SHARE and share >= everywhere[value] + SMALLEST_LEAD:
                        draft.link(value, grouping.outcome, group)


def _shares(values: dict[str, set[str]], members: set[str]) -> dict[str, float]:
    counts = Counter(value for member in members for value in values[member])
    return {value: count / len(members) for value, count in counts.items()}
