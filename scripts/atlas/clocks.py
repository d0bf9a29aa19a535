"""Time zones: the area they belong to, their offset and daylight saving in 2026, and what CLDR calls their time."""

import zoneinfo
from collections import Counter, defaultdict
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from atlas.draft import Draft, slug
from atlas.places import city_names, country_name, subdivision_name
from atlas.world import ENGLISH, cities, cldr, countries

zoneinfo.reset_tzpath(to=())  # the pinned tzdata package, never the copy of the machine that builds
MIDWINTER = datetime(2026, 1, 15, tzinfo=UTC)
MIDSUMMER = datetime(2026, 7, 15, tzinfo=UTC)
FEWEST_ZONES_FOR_A_QUESTION = 2


def canonical_zone(identifier: str) -> str:
    """Name of a time zone after following CLDR's aliases; empty for zones of no territory in Atlas."""
    identifier = cldr("zone_aliases").get(identifier, identifier)
    known = cldr("zone_territories").get(identifier) in countries()
    return f"timezone/{slug(identifier)}" if known else ""


def add_time_zones(draft: Draft) -> None:
    """Every zone of a territory in Atlas."""
    offsets_of_name: defaultdict[str, list[str]] = defaultdict(list)
    for identifier, code in sorted(cldr("zone_territories").items()):
        if code not in countries():
            continue
        zone = draft.entity("timezone", identifier, identifier.replace("_", " "))
        area = identifier.partition("/")[0]
        draft.link(zone, "zone_area", draft.entity("zone_area", area, f"{area} (time zone area)"))
        draft.link(zone, "zone_of_country", country_name(code))
        winter, summer = offsets(identifier)
        draft.link(zone, "standard_offset", _offset_entity(draft, min(winter, summer)))
        draft.link(zone, "daylight_saving", _daylight_entity(draft, winter, summer))
        metazone = cldr("meta_zones").get(identifier, "")
        label = ENGLISH.meta_zones.get(metazone, {}).get("long", {}).get("standard")
        if label:
            time_name = draft.entity("time_name", metazone, label)
            draft.link(zone, "time_is_called", time_name)
            offsets_of_name[time_name].append(_offset_entity(draft, min(winter, summer)))
    for time_name, found in sorted(offsets_of_name.items()):
        if len(set(found)) == 1:
            draft.link(time_name, "stands_for", found[0])


def add_order_of_offsets(draft: Draft) -> None:
    """Each offset that occurs, and the next one east of it."""
    offsets_in_order = sorted(
        (name for name in draft.labels if name.startswith("utc_offset/")), key=lambda name: _hours(draft.labels[name])
    )
    for west, east in pairwise(offsets_in_order):
        draft.link(east, "just_ahead_of", west)


def _hours(label: str) -> float:
    """Hours ahead of UTC that a label such as `UTC-03:30` says."""
    hours, minutes = label.removeprefix("UTC").split(":")
    return float(hours) + (float(minutes) / 60 if hours.startswith("+") else -float(minutes) / 60)


def add_time_of_places(draft: Draft) -> None:
    """Zones of cities, of the capitals' countries, and of subdivisions in countries that keep several zones."""
    names = city_names()
    in_subdivision: defaultdict[str, Counter[str]] = defaultdict(Counter)
    zones_of_country: defaultdict[str, set[str]] = defaultdict(set)
    for city in cities():
        zone = canonical_zone(city.time_zone)
        if not zone or city.geoname_id not in names:
            continue
        draft.link(names[city.geoname_id], "city_time_zone", zone)
        in_subdivision[city.subdivision_code][zone] += 1
        zones_of_country[city.country_code].add(zone)
        if city.is_capital:
            winter, summer = offsets(city.time_zone)
            draft.link(country_name(city.country_code), "capital_offset", _offset_entity(draft, min(winter, summer)))
            draft.link(country_name(city.country_code), "changes_clocks", _daylight_entity(draft, winter, summer))
    for code, zones in sorted(in_subdivision.items()):
        subdivision = subdivision_name(code)
        several = len(zones_of_country[code.partition(".")[0]]) >= FEWEST_ZONES_FOR_A_QUESTION
        if several and len(zones) == 1 and subdivision in draft.labels:
            draft.link(subdivision, "subdivision_time_zone", next(iter(zones)))


def offsets(identifier: str) -> tuple[timedelta, timedelta]:
    """Offset from UTC in the middle of January and of July 2026."""
    zone = zoneinfo.ZoneInfo(identifier)
    winter, summer = (moment.astimezone(zone).utcoffset() for moment in (MIDWINTER, MIDSUMMER))
    return winter or timedelta(0), summer or timedelta(0)


def _offset_entity(draft: Draft, offset: timedelta) -> str:
    minutes = int(offset.total_seconds() // 60)
    hours, rest = divmod(abs(minutes), 60)
    direction = "plus" if minutes >= 0 else "minus"
    sign = "+" if minutes >= 0 else "-"
    return draft.entity("utc_offset", f"{direction}-{hours:02d}-{rest:02d}", f"UTC{sign}{hours:02d}:{rest:02d}")


def _daylight_entity(draft: Draft, winter: timedelta, summer: timedelta) -> str:
    if winter == summer:
        return draft.entity("daylight_saving", "none", "the same time all year")
    if summer > winter:
        return draft.entity("daylight_saving", "northern-summer", "summer time around July")
    return draft.entity("daylight_saving", "southern-summer", "summer time around January")
