"""How people of a country write dates, numbers and prices, start the week, drive, plug in and celebrate."""

import re
from collections import defaultdict

import holidays  # pyrefly: ignore[missing-import]
from babel import Locale, localedata  # pyrefly: ignore[missing-import]

from atlas.draft import Draft, read_table
from atlas.languages import official_first
from atlas.places import country_name
from atlas.world import countries

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
FIELD_NAMES = {"d": "day", "M": "month", "y": "year"}
SEPARATORS = {",": ("comma", "decimal comma"), ".": ("point", "decimal point"), "٫": ("momayyez", "momayyez (٫)")}
PLUGS_WITHOUT_EARTH = frozenset("AC")
HOLIDAY_YEAR = 2025
FEWEST_COUNTRIES_OF_A_HOLIDAY = 3
SAME_HOLIDAY = {
    "Labour Day": "Labor Day",
    "International Labor Day": "Labor Day",
    "May Day": "Labor Day",
    "International Workers' Day": "Labor Day",
    "International Worker's Day": "Labor Day",
    "Workers' Day": "Labor Day",
    "Worker's Day": "Labor Day",
    "Eid al-Fitr Holiday": "Eid al-Fitr",
    "Eid al-Adha Holiday": "Eid al-Adha",
    "National Independence Day": "Independence Day",
    "Whit Monday": "Pentecost Monday",
    "National Heroes' Day": "National Heroes Day",
    "Women's Day": "International Women's Day",
    "Easter": "Easter Sunday",
    "Chinese New Year": "Lunar New Year",
}
NOT_A_SHARED_OCCASION = frozenset(
    {"National Day", "Spring Festival", "Public Holiday", "Constitution Day", "Independence Day"}
)


def main_locale(code: str) -> Locale | None:
    """CLDR's locale for the most spoken official language of a country that has one."""
    for language in official_first(code):
        if localedata.exists(f"{language}_{code}"):
            return Locale.parse(f"{language}_{code}")
        for script in ("Hans", "Hant", "Cyrl", "Latn", "Arab"):
            if localedata.exists(f"{language}_{script}_{code}"):
                return Locale.parse(f"{language}_{script}_{code}")
    return None


def add_written_habits(draft: Draft) -> None:
    """Order of dates, decimal separator, clock, first day of the week, place of the currency sign."""
    for position, day in enumerate(WEEKDAYS):
        draft.entity("weekday", day, day)
        draft.entity("weekday", WEEKDAYS[position - 1], WEEKDAYS[position - 1])
        draft.link(f"weekday/{day.lower()}", "follows_day", f"weekday/{WEEKDAYS[position - 1].lower()}")
    for code in countries():
        locale = main_locale(code)
        if locale is None:
            continue
        country = country_name(code)
        draft.link(country, "week_starts_on", f"weekday/{WEEKDAYS[locale.first_week_day].lower()}")
        fields = list(dict.fromkeys(re.findall("[dMy]", re.sub("'[^']*'", "", locale.date_formats["short"].pattern))))
        if len(fields) == 3:
            order = ", ".join(FIELD_NAMES[field] for field in fields)
            draft.link(country, "date_order", draft.entity("date_order", order, order))
        native, latin = (locale.number_symbols[system] for system in (locale.default_numbering_system, "latn"))
        key, label = SEPARATORS[native["decimal"] if "decimal" in native else latin["decimal"]]
        draft.link(country, "decimal_separator", draft.entity("decimal_separator", key, label))
        clock = "24-hour clock" if "H" in locale.time_formats["short"].pattern else "12-hour clock"
        draft.link(country, "reads_clock", draft.entity("clock", clock, clock))
        price = re.sub(r"[^¤#0]", "", locale.currency_formats["standard"].pattern.partition(";")[0])
        place = "before the amount" if price.startswith("¤") else "after the amount"
        draft.link(country, "currency_sign_place", draft.entity("sign_place", place, place))


def add_roads_and_sockets(draft: Draft) -> None:
    """Side of the road, plug types and mains frequency, from the tables of public facts."""
    left = set(read_table("driving")[0][1].split())
    sides = {True: draft.entity("side", "left", "left side"), False: draft.entity("side", "right", "right side")}
    frequencies = {key: set(codes.split()) for key, codes in read_table("mains_frequency")}
    for code in countries():
        draft.link(country_name(code), "drives_on", sides[code in left])
        if code in frequencies["unsure"]:
            continue
        if code in frequencies["60"]:
            draft.link(country_name(code), "mains_frequency", draft.entity("frequency", "60-hz", "60 Hz"))
        if code not in frequencies["60"] or code in frequencies["both"]:
            draft.link(country_name(code), "mains_frequency", draft.entity("frequency", "50-hz", "50 Hz"))
    for plug, codes in read_table("plugs"):
        socket = draft.entity("plug", f"type-{plug}", f"plug type {plug}")
        contact = "no earth contact" if plug in PLUGS_WITHOUT_EARTH else "an earth contact"
        draft.link(socket, "plug_has", draft.entity("earthing", contact, contact))
        for code in codes.split():
            draft.link(country_name(code), "plug_type", socket)


def add_holidays(draft: Draft) -> None:
    """Public holidays that at least a few countries share; names unique to one country connect nothing."""
    celebrated: defaultdict[str, list[str]] = defaultdict(list)
    for code in sorted(holidays.list_supported_countries(include_aliases=False)):
        if code not in countries():
            continue
        english = "en_US" if "en_US" in getattr(holidays, code).supported_languages else None
        days = holidays.country_holidays(code, years=HOLIDAY_YEAR, language=english)
        names = {re.sub(r" \((?:observed|estimated|observed, estimated)\)", "", name) for name in _single_names(days)}
        for name in sorted({SAME_HOLIDAY.get(name, name) for name in names} - NOT_A_SHARED_OCCASION):
            celebrated[name].append(code)
    for name, codes in sorted(celebrated.items()):
        if len(codes) >= FEWEST_COUNTRIES_OF_A_HOLIDAY:
            holiday = draft.entity("holiday", name, name)
            for code in codes:
                draft.link(country_name(code), "celebrates", holiday)


def _single_names(days: holidays.HolidayBase) -> list[str]:
    return [name for day in sorted(days) for name in days[day].split("; ")]
