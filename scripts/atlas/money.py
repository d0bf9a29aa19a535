"""Currencies in use and their predecessors, from CLDR; subunits from the table of public facts."""

import re
from collections import defaultdict

from atlas.draft import Draft, read_table, slug
from atlas.places import country_name
from atlas.world import ENGLISH, cldr, countries

IN_USE_SINCE_CLDR = {"BG": "EUR"}  # Bulgaria changed in January 2026
FEWEST_CURRENCIES_OF_A_UNIT = 2
EARLIEST_PREDECESSOR = 1950
SUBUNIT_FRACTIONS = {
    "fils": "thousandth",
    "millime": "thousandth",
    "baisa": "thousandth",
    "khoums": "fifth",
    "iraimbilanja": "fifth",
}
NOT_A_UNIT_WORD = frozenset({"mark", "note", "unit"})


def add_currencies(draft: Draft) -> None:
    """Who uses what now, what they used before, and what each currency is called, written and divided like."""
    current: dict[str, set[str]] = {}
    succession: list[tuple[str, str]] = []
    for code in countries():
        country = country_name(code)
        history = cldr("territory_currencies").get(code, [])
        tenders = [(currency, start, end) for currency, start, end, is_tender in history if is_tender]
        in_use = [IN_USE_SINCE_CLDR[code]] if code in IN_USE_SINCE_CLDR else [c for c, _, end in tenders if end is None]
        current[code] = set(in_use)
        for currency in in_use:
            draft.link(country, "uses_currency", _currency(draft, currency))
        for currency, _, end in tenders:
            is_past = currency not in in_use and (end is None or end[0] >= EARLIEST_PREDECESSOR)
            if is_past and currency in ENGLISH.currencies:
                draft.link(country, "formerly_used", _currency(draft, currency))
                succession.extend((currency, successor) for successor in in_use)
    in_circulation = sorted(set().union(*current.values()))
    for currency, successor in succession:
        if currency not in in_circulation:
            draft.link(_currency(draft, currency), "gave_way_to", _currency(draft, successor))
    _add_regions(draft, current)
    _add_looks(draft, in_circulation, former=sorted({currency for currency, _ in succession} - set(in_circulation)))


def _currency(draft: Draft, code: str) -> str:
    return draft.entity("currency", code, ENGLISH.currencies[code])


def _add_regions(draft: Draft, current: dict[str, set[str]]) -> None:
    """Where in the world a currency is at home, without naming its countries: that is the question."""
    regions: defaultdict[str, set[str]] = defaultdict(set)
    for subregion, _, codes in read_table("subregions"):
        for code in codes.split():
            for currency in current.get(code, ()):
                regions[currency].add(subregion)
    for currency, subregions in sorted(regions.items()):
        for subregion in sorted(subregions):
            draft.link(_currency(draft, currency), "circulates_in", f"subregion/{slug(subregion)}")


def _add_looks(draft: Draft, currencies: list[str], former: list[str]) -> None:
    units: defaultdict[str, list[str]] = defaultdict(list)
    for code in (*currencies, *former):
        units[re.sub(r" \(.*\)", "", ENGLISH.currencies[code]).split()[-1].lower()].append(code)
    for code in currencies:
        decimals = cldr("currency_fractions").get(code, cldr("currency_fractions")["DEFAULT"])[0]
        amount = draft.entity("decimals", f"{decimals}-decimals", f"{decimals} decimals")
        draft.link(_currency(draft, code), "written_with_decimals", amount)
    for unit, codes in sorted(units.items()):
        if len(codes) >= FEWEST_CURRENCIES_OF_A_UNIT and unit not in NOT_A_UNIT_WORD:
            for code in codes:
                draft.link(_currency(draft, code), "currency_unit", draft.entity("currency_unit", unit, unit))
    for table, relation in (("subunits", "currency_subunit"), ("former_subunits", "was_divided_into")):
        for subunit, codes in read_table(table):
            part = draft.entity("subunit", subunit, subunit)
            fraction = SUBUNIT_FRACTIONS.get(subunit, "hundredth")
            draft.link(part, "fraction_of_unit", draft.entity("fraction", fraction, f"a {fraction} of the unit"))
            for code in codes.split():
                if code in currencies or code in former:
                    draft.link(_currency(draft, code), relation, part)
