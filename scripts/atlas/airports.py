"""Airports with an IATA code near a city of Atlas, from airportsdata."""

import csv
import math
from collections import Counter, defaultdict
from pathlib import Path

import airportsdata  # pyrefly: ignore[missing-import]

from atlas.clocks import canonical_zone
from atlas.draft import Draft, slug
from atlas.places import city_names, country_name
from atlas.world import City, cities, countries

FARTHEST_KILOMETERS = 50
LARGE_CITY = 2_000_000
NOT_AN_AIRPORT = ("heliport", "helipad", "seaplane", "railway", "bus station", "air base", "air force")
CLOSED = frozenset({"HEW", "NAY", "TXL"})
ONE_LETTER_PREFIXES = frozenset("CKY")


def add_airports(draft: Draft) -> None:
    """Airports with city, country, time zone and the ICAO prefix that location codes of their country share."""
    names = city_names()
    served = _served_cities()
    prefixes: defaultdict[str, Counter[str]] = defaultdict(Counter)
    metropolitan = _metropolitan_cities()
    for iata, record in sorted(airportsdata.load("IATA").items()):
        code = record["country"]
        city = _nearest(served.get((code, slug(record["city"])), []), record["lat"], record["lon"])
        metropolis = metropolitan.get(iata)
        is_airport = not any(word in record["name"].lower() for word in NOT_AN_AIRPORT)
        if iata in CLOSED or not is_airport or code not in countries() or (city is None and metropolis is None):
            continue
        airport = draft.entity("airport", iata, _label(record["name"], record["city"], iata))
        draft.link(airport, "airport_in_country", country_name(code))
        if city is not None:
            draft.link(airport, "serves_city", names[city.geoname_id])
        if metropolis is not None:
            draft.link(airport, "serves_metropolis", names[metropolis.geoname_id])
        home = metropolis or city
        zone = canonical_zone(record["tz"])
        if zone and home and home.population >= LARGE_CITY:
            draft.link(airport, "airport_time_zone", zone)
        if len(record["icao"]) == 4 and record["icao"].isalpha():
            prefix = record["icao"][0] if record["icao"][0] in ONE_LETTER_PREFIXES else record["icao"][:2]
            prefixes[code][prefix] += 1
            draft.link(airport, "icao_prefix", draft.entity("icao_prefix", prefix, f"ICAO prefix {prefix}"))
    for code, counts in sorted(prefixes.items()):
        prefix, count = min(counts.items(), key=lambda item: (-item[1], item[0]))
        if count * 2 > counts.total():
            draft.link(country_name(code), "country_icao_prefix", f"icao_prefix/{prefix.lower()}")
    draft.drop_relation_pairs("serves_city", covered_by="serves_metropolis")


def _served_cities() -> dict[tuple[str, str], list[City]]:
    names = city_names()
    served: defaultdict[tuple[str, str], list[City]] = defaultdict(list)
    for city in cities():
        if city.geoname_id in names:
            for spelling in sorted({slug(name) for name in (city.name, *city.other_names)}):
                served[city.country_code, spelling].append(city)
    return served


def _metropolitan_cities() -> dict[str, City]:
    """IATA's multi-airport cities: the metropolis each airport belongs to, whichever town it stands in."""
    path = Path(airportsdata.__file__).parent / "iata_macs.csv"
    served = _served_cities()
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    found = {row["Airport Code"]: served.get((row["Country"], slug(row["City Name"])), []) for row in rows}
    return {iata: max(matches, key=lambda city: city.population) for iata, matches in found.items() if matches}


def _nearest(candidates: list[City], latitude: float, longitude: float) -> City | None:
    """The closest candidate within reach, since a name and a country alone confuse one Springfield with another."""
    measured = [(_kilometers(city, latitude, longitude), city.geoname_id, city) for city in candidates]
    within_reach = [item for item in measured if item[0] <= FARTHEST_KILOMETERS]
    return min(within_reach)[2] if within_reach else None


def _kilometers(city: City, latitude: float, longitude: float) -> float:
    north = math.radians(latitude - city.latitude)
    east = math.radians(longitude - city.longitude) * math.cos(math.radians(latitude))
    return 6371 * math.hypot(north, east)


def _label(name: str, city: str, iata: str) -> str:
    short, city = name.replace(" / ", " "), city.split(",")[0].split(" / ")[0]
    for ending in (" International Airport", " Airport", " International"):
        short = short.removesuffix(ending)
    if slug(city) and slug(city) not in slug(short):
        short = f"{city} {short}"
    return f"{short} ({iata})"
