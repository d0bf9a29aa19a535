"""Languages and scripts: where they are spoken, how they are written, how they are related."""

import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import gflanguages  # pyrefly: ignore[missing-import]
from babel import Locale, localedata  # pyrefly: ignore[missing-import]

from atlas.draft import Draft, read_table, slug
from atlas.places import band, country_name
from atlas.world import ENGLISH, cldr, countries

OFFICIAL = frozenset({"official", "de_facto_official"})
SMALLEST_SHARE = 1.0
SPEAKER_BANDS = (
    (100_000_000, "over 100 million speakers"),
    (10_000_000, "10 to 100 million speakers"),
    (1_000_000, "1 to 10 million speakers"),
    (100_000, "100 thousand to 1 million speakers"),
    (0, "under 100 thousand speakers"),
)
# These languages have a form of its own for round millions ("un million de"), which nobody counts as a plural.
WITH_A_FORM_FOR_MILLIONS = frozenset({"ca", "es", "fr", "it", "lld", "pt", "scn", "vec"})
# Babel cannot tell "no plural" from "no data"; these are the languages CLDR says have none.
WITHOUT_PLURALS = frozenset(
    {"bm", "bo", "dz", "hnj", "id", "ig", "ii", "ja", "jv", "kde", "kea", "km", "ko", "lkt", "lo", "ms", "my", "sah"}
    | {"ses", "sg", "su", "th", "to", "tpi", "vi", "wo", "yo", "yue", "zh"}
)


def spoken_languages(code: str) -> dict[str, dict[str, Any]]:
    """CLDR's languages of a territory by bare language code, most spoken first, the larger entry of two scripts."""
    shares: dict[str, dict[str, Any]] = {}
    entries = cldr("territory_languages").get(code, {}).items()
    for tag, entry in sorted(entries, key=lambda item: (-item[1]["population_percent"], item[0])):
        shares.setdefault(tag.partition("_")[0], entry)
    return shares


def official_first(code: str) -> list[str]:
    """Languages of a territory, official ones before the others and the most spoken first."""
    spoken = spoken_languages(code)
    return sorted(spoken, key=lambda language: spoken[language]["official_status"] not in OFFICIAL)


def add_languages(draft: Draft) -> None:
    """Languages of note (with a known branch, an official status, or a share of some country) and their facts."""
    branches = {code: branch for branch, _, codes in read_table("language_branches") for code in codes.split()}
    speakers: defaultdict[str, float] = defaultdict(float)
    of_note: set[str] = set()
    for code, record in countries().items():
        for language, entry in spoken_languages(code).items():
            speakers[language] += record["population"] * entry["population_percent"] / 100
            of_note_here = entry["official_status"] or entry["population_percent"] >= SMALLEST_SHARE
            if language in ENGLISH.languages and (language in branches or of_note_here):
                of_note.add(language)
    for language in sorted(of_note):
        name = draft.entity("language", language, ENGLISH.languages[language])
        size = band(speakers[language], SPEAKER_BANDS)
        draft.link(name, "has_speakers", draft.entity("speaker_band", size, size))
        _add_likely_script_and_country(draft, language)
        if localedata.exists(language):
            _add_plural_forms(draft, language)
    for code in countries():
        for language, entry in spoken_languages(code).items():
            if language not in of_note:
                continue
            if entry["official_status"] in OFFICIAL:
                draft.link(country_name(code), "official_language", f"language/{language}")
            elif entry["official_status"] or entry["population_percent"] >= SMALLEST_SHARE:
                draft.link(country_name(code), "also_speaks", f"language/{language}")
    _add_relatives(draft, of_note)


def _add_plural_forms(draft: Draft, language: str) -> None:
    tags = Locale(language).plural_form.tags - ({"many"} if language in WITH_A_FORM_FOR_MILLIONS else set())
    forms = len(tags) + 1
    if forms > 1 or language in WITHOUT_PLURALS:
        label = f"{forms} plural forms" if forms > 1 else "a single form"
        draft.link(f"language/{language}", "plural_forms", draft.entity("plural_forms", str(forms), label))


def _add_likely_script_and_country(draft: Draft, language: str) -> None:
    likely = cldr("likely_subtags").get(language, "").split("_")
    if len(likely) != 3:
        return
    _, script, territory = likely
    draft.link(f"language/{language}", "written_in", _script(draft, script))
    if territory in countries():
        draft.link(f"language/{language}", "chiefly_spoken_in", country_name(territory))


def _add_relatives(draft: Draft, of_note: set[str]) -> None:
    for branch_label, family_label, codes in read_table("language_branches"):
        branch = draft.entity("language_branch", branch_label, f"{branch_label} languages")
        family = draft.entity("language_family", family_label, f"{family_label} family")
        draft.link(branch, "branch_of_family", family)
        for language in sorted(set(codes.split()) & of_note):
            draft.link(f"language/{language}", "language_branch", branch)
            draft.link(f"language/{language}", "language_family", family)


def add_scripts(draft: Draft) -> None:
    """Direction, kind and group of scripts, further scripts of languages, and the main script of every country."""
    for code in countries():
        language = official_first(code)[0]
        subtags = cldr("likely_subtags")
        likely = subtags.get(f"{language}_{code}") or subtags.get(f"und_{code}", "")
        if not likely.startswith(f"{language}_"):
            likely = subtags[language]
        draft.link(country_name(code), "main_script", _script(draft, likely.split("_")[1]))
    for language, script in _written_pairs():
        name = f"language/{language}"
        if name in draft.labels and (name, "written_in", f"script/{slug(script)}") not in draft.triples:
            draft.link(name, "also_written_in", _script(draft, script))
    directions = {script: direction for direction, codes in read_table("script_directions") for script in codes.split()}
    for script, group in _script_groups().items():
        name = _script(draft, script)
        draft.link(name, "script_group", draft.entity("script_group", group, f"{group} scripts"))
        direction = directions.get(script, "left to right")
        if direction != "unsure":
            draft.link(name, "script_direction", draft.entity("direction", direction, direction))
    for kind, codes in read_table("script_kinds"):
        for script in codes.split():
            draft.link(_script(draft, script), "script_kind", draft.entity("script_kind", kind, kind))


def _script(draft: Draft, code: str) -> str:
    label = {"Hans": "Simplified Chinese", "Hant": "Traditional Chinese"}.get(code, ENGLISH.scripts[code])
    return draft.entity("script", code, f"{label.removesuffix(' script')} script")


def _data_folder() -> Path:
    return Path(gflanguages.__file__).parent / "data"


def _written_pairs() -> list[tuple[str, str]]:
    """Language and script of every orthography that gflanguages lists; historical ones are left out."""
    pairs = []
    for path in sorted((_data_folder() / "languages").glob("*.textproto")):
        language, _, script = path.stem.partition("_")
        is_historical = "historical: true" in path.read_text(encoding="utf-8")
        if script in ENGLISH.scripts and not is_historical:
            pairs.append((language, script))
    return pairs


def _script_groups() -> dict[str, str]:
    groups = {}
    for path in sorted((_data_folder() / "scripts").glob("*.textproto")):
        group = re.search(r'^family: "(.+)"', path.read_text(encoding="utf-8"), re.MULTILINE)
        if group and path.stem in ENGLISH.scripts:
            groups[path.stem] = group[1].capitalize() if group[1].islower() else group[1]
    return groups
