"""Seas and rivers, the countries and cities on them: public geography from the hand-written tables."""

from atlas.draft import Draft, read_table, slug
from atlas.places import city_names, country_name
from atlas.world import cities, countries, table_city

INLAND_SEA = "Caspian Sea"


def add_waters(draft: Draft) -> None:
    """Coasts of countries, mouths and countries of rivers, and the cities on both."""
    largest = _largest_city_by_name()
    rivers = read_table("rivers")
    river_labels = {label for label, *_ in rivers}
    for label, *_ in rivers:
        draft.entity("river", label, label)
    for label, mouth, codes, towns in rivers:
        river = f"river/{slug(label)}"
        draft.link(river, "flows_into", f"river/{slug(mouth)}" if mouth in river_labels else _sea(draft, mouth))
        for code in codes.split():
            draft.link(river, "flows_through", country_name(code))
        for town in towns.split(", "):
            draft.link(largest[table_city(town)], "on_river", river)
    coastal = set()
    for label, codes in read_table("coasts"):
        for code in codes.split():
            if label != INLAND_SEA:
                coastal.add(code)
            draft.link(country_name(code), "has_coast_on", _sea(draft, label))
    for label, towns in read_table("seaside"):
        for town in towns.split(", "):
            draft.link(largest[table_city(town)], "on_sea", _sea(draft, label))
    _add_access(draft, coastal)


def _add_access(draft: Draft, coastal: set[str]) -> None:
    for code, record in countries().items():
        if not record["neighbours"]:
            access = draft.entity("access", "no-land-border", "sea on every side, no land border")
        elif code in coastal:
            access = draft.entity("access", "coast", "a coast and land borders")
        else:
            access = draft.entity("access", "landlocked", "no coast on an ocean")
        draft.link(country_name(code), "access_to_sea", access)


def _sea(draft: Draft, label: str) -> str:
    return draft.entity("sea", label, label)


def _largest_city_by_name() -> dict[tuple[str, str], str]:
    """Cities by country code and name; main names win over alternative ones, large cities over small ones."""
    names = city_names()
    found: dict[tuple[str, str], str] = {}
    inhabited = [city for city in cities() if city.geoname_id in names]
    for city in inhabited:
        found.setdefault((city.country_code, slug(city.name)), names[city.geoname_id])
    for city in inhabited:
        for other in city.other_names:
            found.setdefault((city.country_code, slug(other)), names[city.geoname_id])
    return found
