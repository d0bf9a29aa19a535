"""Countries, their regions and subdivisions, and cities, mostly from GeoNames."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable

from atlas.draft import Draft, read_table, slug
from atlas.world import ENGLISH, City, cities, countries, subdivision_names

CONTINENTS = {
    "AF": "Africa",
    "AS": "Asia",
    "EU": "Europe",
    "NA": "North America",
    "OC": "Oceania",
    "SA": "South America",
}
POPULATION_BANDS = (
    (10_000_000, "over 10 million inhabitants"),
    (3_000_000, "3 to 10 million inhabitants"),
    (1_000_000, "1 to 3 million inhabitants"),
    (300_000, "300 thousand to 1 million inhabitants"),
    (100_000, "100 to 300 thousand inhabitants"),
    (0, "under 100 thousand inhabitants"),
)
COUNTRY_AREA_BANDS = (
    (1_000_000, "over 1 million square kilometers"),
    (100_000, "100 thousand to 1 million square kilometers"),
    (10_000, "10 to 100 thousand square kilometers"),
    (500, "500 to 10 thousand square kilometers"),
    (0, "under 500 square kilometers"),
)
TROPIC, POLAR_CIRCLE = 23.44, 66.56
CITIES_FOR_A_QUESTION = 5
CITIES_FOR_A_SEAT = 3
CAPITAL_MOVED = frozenset({"GQ"})  # since the snapshot that marks capitals
# Countries whose city counts in GeoNames are of different kinds or years, so that the first is not the largest.
DOUBTFUL_LARGEST_CITY = frozenset({"BO", "EC", "GU", "KW", "MT", "NL", "PK", "SA", "SY"})
# Postcodes that are out of use or out of date in GeoNames.
DOUBTFUL_POSTCODE = frozenset({"AI", "HK", "HN", "MO", "TW", "VN"})


def country_name(code: str) -> str:
    """Stable name of a country, from its English CLDR name."""
    return f"country/{slug(ENGLISH.territories[code])}"


def subdivision_name(code: str) -> str:
    """Stable name of a first-level subdivision, such as `subdivision/bavaria-de`; empty when it has no known name."""
    country_code = code.partition(".")[0].lower()
    known = subdivision_names().get(code)
    return f"subdivision/{slug(known)}-{country_code}" if known and slug(known) else ""


def band(value: float, bands: Iterable[tuple[int, str]]) -> str:
    """The first band, from large to small, that a value reaches."""
    return next(label for smallest, label in bands if value >= smallest)


def add_countries(draft: Draft) -> None:
    """Countries with continent, subregion, neighbors, size, postcode shape and memberships."""
    for code in countries():
        draft.entity("country", ENGLISH.territories[code], ENGLISH.territories[code])
    for code, record in countries().items():
        country = country_name(code)
        continent = CONTINENTS[record["continentcode"]]
        draft.link(country, "on_continent", draft.entity("continent", continent, continent))
        size = band(record["areakm2"] or 0, COUNTRY_AREA_BANDS)
        draft.link(country, "has_area", draft.entity("area_band", size, size))
        neighbors = sorted(set(record["neighbours"].split(",")) & set(countries()))
        for neighbor in neighbors:
            if code < neighbor:
                draft.link(country, "borders", country_name(neighbor))
        digits = re.fullmatch(r"\^\(?(?:\(\?:[A-Z -]+\)\*)?\(?\\d\{(\d)\}\)?\$", record["postalcoderegex"] or "")
        if digits and code not in DOUBTFUL_POSTCODE:
            shape = draft.entity("postcode_shape", f"{digits[1]}-digits", f"{digits[1]} digits")
            draft.link(country, "postcode_shape", shape)
    for subregion, continent, codes in read_table("subregions"):
        region = draft.entity("subregion", subregion, subregion)
        draft.link(region, "part_of_continent", draft.entity("continent", continent, continent))
        for code in codes.split():
            draft.link(country_name(code), "in_subregion", region)
    for organization, codes in read_table("memberships"):
        club = draft.entity("organization", organization, organization)
        for code in codes.split():
            draft.link(country_name(code), "member_of", club)


def city_names() -> dict[int, str]:
    """Stable names by GeoNames id; a namesake in the same country carries its subdivision, a second one is left out."""
    names: dict[int, str] = {}
    taken: set[str] = set()
    for city in cities():
        country_code = city.country_code.lower()
        region = slug(subdivision_names().get(city.subdivision_code, ""))
        for candidate in (f"{slug(city.name)}-{country_code}", f"{slug(city.name)}-{region}-{country_code}"):
            if candidate not in taken and slug(city.name):
                taken.add(candidate)
                names[city.geoname_id] = f"city/{candidate}"
                break
    return names


def city_labels(names: dict[int, str]) -> dict[int, str]:
    """The largest city of a name keeps it bare; the others say where they are ("London, Ontario")."""
    labels: dict[int, str] = {}
    taken: set[str] = set()
    for city in cities():
        if city.geoname_id not in names:
            continue
        country = ENGLISH.territories[city.country_code]
        region = subdivision_names().get(city.subdivision_code, country)
        places = ("", f", {country if city.is_capital else region}", f", {country}", f", {region}, {country}")
        label = next(city.name + place for place in places if city.name + place not in taken)
        labels[city.geoname_id] = label
        taken.add(label)
    return labels


def add_cities(draft: Draft) -> None:
    """Cities with country, subdivision, population and latitude, and the capitals, seats and largest of their areas."""
    names = city_names()
    labels = city_labels(names)
    in_country: defaultdict[str, list[City]] = defaultdict(list)
    in_subdivision: defaultdict[str, list[City]] = defaultdict(list)
    for city in cities():
        if city.geoname_id not in names:
            continue
        name = draft.entity("city", names[city.geoname_id].removeprefix("city/"), labels[city.geoname_id])
        draft.link(name, "in_country", country_name(city.country_code))
        population = band(city.population, POPULATION_BANDS)
        draft.link(name, "has_population", draft.entity("population_band", population, population))
        draft.link(name, "in_latitude_zone", _latitude_zone(draft, city.latitude))
        in_country[city.country_code].append(city)
        if subdivision_name(city.subdivision_code):
            in_subdivision[city.subdivision_code].append(city)
    for code, residents in sorted(in_subdivision.items()):
        _add_subdivision(draft, code, residents, names)
    for code, residents in sorted(in_country.items()):
        _add_capital_and_largest(draft, code, residents, names)


def _add_subdivision(draft: Draft, code: str, residents: list[City], names: dict[int, str]) -> None:
    label = subdivision_names()[code]
    subdivision = subdivision_name(code)
    if subdivision in draft.labels:
        return
    country_code = code.partition(".")[0]
    if label in _labels_shared_between_countries():
        label = f"{label}, {ENGLISH.territories[country_code]}"
    draft.entity("subdivision", subdivision.removeprefix("subdivision/"), label)
    draft.link(subdivision, "subdivision_of", country_name(country_code))
    for city in residents:
        draft.link(names[city.geoname_id], "in_subdivision", subdivision)
    seats = [city for city in residents if city.is_seat]
    if len(seats) == 1 and len(residents) >= CITIES_FOR_A_SEAT:
        draft.link(subdivision, "seat_of_subdivision", names[seats[0].geoname_id])


def _labels_shared_between_countries() -> set[str]:
    counts = Counter(subdivision_names().values())
    return {label for label, count in counts.items() if count > 1}


def _add_capital_and_largest(draft: Draft, code: str, residents: list[City], names: dict[int, str]) -> None:
    country = country_name(code)
    capitals = [city for city in residents if city.is_capital and code not in CAPITAL_MOVED]
    for capital in capitals:
        draft.link(country, "capital_city", names[capital.geoname_id])
        draft.link(country, "capital_hemisphere", _hemisphere(draft, capital.latitude))
    if len(residents) >= CITIES_FOR_A_QUESTION and code not in DOUBTFUL_LARGEST_CITY:
        draft.link(country, "largest_city", names[residents[0].geoname_id])
    population = countries()[code]["population"]
    size = band(population, POPULATION_BANDS)
    draft.link(country, "has_population", draft.entity("population_band", size, size))


def _hemisphere(draft: Draft, latitude: float) -> str:
    label = "Northern Hemisphere" if latitude >= 0 else "Southern Hemisphere"
    return draft.entity("hemisphere", label, label)


def _latitude_zone(draft: Draft, latitude: float) -> str:
    if abs(latitude) >= POLAR_CIRCLE:
        label = "Arctic zone" if latitude > 0 else "Antarctic zone"
    elif abs(latitude) <= TROPIC:
        label = "northern tropics" if latitude >= 0 else "southern tropics"
    else:
        label = "northern temperate zone" if latitude > 0 else "southern temperate zone"
    zone = draft.entity("latitude_zone", label, label)
    draft.link(zone, "zone_of_hemisphere", _hemisphere(draft, latitude))
    return zone
