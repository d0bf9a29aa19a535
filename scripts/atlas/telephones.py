"""Calling codes and dialing prefixes, from the numbering plans in phonenumbers."""

from collections import defaultdict

import phonenumbers  # pyrefly: ignore[missing-import]
from phonenumbers.tzdata import TIMEZONE_DATA  # pyrefly: ignore[missing-import]

from atlas.clocks import canonical_zone
from atlas.draft import Draft
from atlas.places import country_name
from atlas.world import cldr, countries

NUMBERING_ZONES = {
    "1": "North America and the Caribbean",
    "2": "Africa and the Atlantic",
    "3": "Europe, first zone",
    "4": "Europe, second zone",
    "5": "Latin America",
    "6": "South-east Asia and Oceania",
    "7": "Russia and Kazakhstan",
    "8": "East Asia",
    "9": "South, Central and West Asia",
}


def add_telephones(draft: Draft) -> None:
    """Per country its calling code and prefixes; per calling code its world zone and the time zones it reaches."""
    codes: defaultdict[str, set[str]] = defaultdict(set)
    for code in countries():
        metadata = phonenumbers.PhoneMetadata.metadata_for_region(code)
        if metadata is None:
            continue
        country = country_name(code)
        number = str(metadata.country_code)
        codes[number].add(code)
        draft.link(country, "calling_code", draft.entity("callingcode", number, f"+{number}"))
        abroad = metadata.preferred_international_prefix or metadata.international_prefix
        if abroad and abroad.isdigit():
            prefix = draft.entity("exit_prefix", abroad, f"exit code {abroad}")
            draft.link(country, "dials_abroad_with", prefix)
        trunk = metadata.national_prefix or "none"
        label = "no trunk prefix" if trunk == "none" else f"trunk prefix {trunk}"
        draft.link(country, "trunk_prefix", draft.entity("trunk_prefix", trunk, label))
    for number in sorted(codes):
        zone = f"World numbering zone {number[0]} ({NUMBERING_ZONES[number[0]]})"
        numbering = draft.entity("numbering_zone", f"zone-{number[0]}", zone)
        draft.link(f"callingcode/{number}", "in_numbering_zone", numbering)
        for identifier in TIMEZONE_DATA.get(number, ()):
            # The table names one zone for several that agree, so zones outside the code's countries are left out.
            if cldr("zone_territories").get(identifier) in codes[number]:
                draft.link(f"callingcode/{number}", "reaches_time_zone", canonical_zone(identifier))
