"""Build Atlas, the knowledge graph that ships with tripleshot.

Install `scripts/atlas-requirements.txt` into an environment of its own, then run `python scripts/build_atlas.py`.
"""

import argparse
import gzip
import io
import os
from collections.abc import Iterable
from pathlib import Path

from atlas import airports, clocks, customs, habits, languages, money, places, telephones, waters
from atlas.card import write_card
from atlas.checks import check, read_relations
from atlas.draft import Draft

DESTINATION = Path(__file__).parents[1] / "src" / "tripleshot" / "data" / "atlas"
CHAPTERS = (
    places.add_countries,
    places.add_cities,
    clocks.add_time_zones,
    clocks.add_time_of_places,
    clocks.add_order_of_offsets,
    airports.add_airports,
    money.add_currencies,
    languages.add_languages,
    languages.add_scripts,
    customs.add_written_habits,
    customs.add_roads_and_sockets,
    customs.add_holidays,
    telephones.add_telephones,
    waters.add_waters,
    habits.add_habits,
)


def build() -> Draft:
    """Collect every chapter into one draft; later chapters refer to entities of earlier ones."""
    draft = Draft()
    for add_chapter in CHAPTERS:
        add_chapter(draft)
    draft.drop_lonely_entities()
    draft.make_labels_unique()
    return draft


def replace_file(path: Path, content: bytes) -> None:
    """Write beside the target and move into place, so that a reader never meets half a file."""
    beside = path.with_name(path.name + ".part")
    beside.write_bytes(content)
    os.replace(beside, path)  # noqa: PTH105 - the atomic one


def as_lines(rows: Iterable[Iterable[str]]) -> bytes:
    """Tab-separated UTF-8 lines."""
    return "".join("\t".join(row) + "\n" for row in rows).encode()


def compressed(content: bytes) -> bytes:
    """Gzip without time or file name, so that equal content gives equal bytes."""
    buffer = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", compresslevel=9, fileobj=buffer, mtime=0) as file:
        file.write(content)
    return buffer.getvalue()


def main() -> None:
    """Build, check, and write the four files."""
    parser = argparse.ArgumentParser(description="Build the Atlas knowledge graph.")
    parser.add_argument("--destination", type=Path, default=DESTINATION, help="folder to write into")
    destination: Path = parser.parse_args().destination
    draft, relations = build(), read_relations()
    check(draft, relations)
    destination.mkdir(parents=True, exist_ok=True)
    entities = sorted((name, draft.labels[name], draft.types[name]) for name in draft.labels)
    rows = [(relation.name, relation.label, relation.split, relation.question) for relation in relations]
    contents = {
        "triples.tsv.gz": compressed(as_lines(sorted(draft.triples))),
        "entities.tsv.gz": compressed(as_lines([("name", "label", "types"), *entities])),
        "relations.tsv": as_lines([("name", "label", "split", "question"), *rows]),
        "README.md": write_card(draft, relations).encode(),
    }
    for name, content in contents.items():
        replace_file(destination / name, content)
        print(f"{name}: {len(content):,} bytes")
    print(f"{len(entities):,} entities, {len(rows)} relations, {len(draft.triples):,} triples")


if __name__ == "__main__":
    main()
