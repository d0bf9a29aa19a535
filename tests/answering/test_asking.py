from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from tripleshot.answering.asking import Asking, OpenedAsking
from tripleshot.answering.models import train
from tripleshot.errors import InputWarning

SEAS = (("Barcelona", "Mediterranean Sea"), ("Odesa", "Black Sea"))
ATLAS = Asking("atlas", SEAS, k=2, method="evidence")


@pytest.fixture
def files(tmp_path):
    (tmp_path / "more.tsv").write_text("city/new-town\tin_country\tcountry/azerbaijan\n")
    (tmp_path / "less.tsv").write_text("city/baku-az\tin_country\tcountry/azerbaijan\n")
    return tmp_path


def test_triples_are_added_and_left_out(files):
    changed = replace(ATLAS, add=(str(files / "more.tsv"),), remove=(str(files / "less.tsv"),)).open().graph
    assert "city/new-town" in changed.entities
    assert changed.num_triples == ATLAS.open().graph.num_triples


def test_batches_are_the_answers_of_the_predictor():
    for asking in (ATLAS, Asking("atlas", None, "borders", "tail", 3, "all", True, "evidence")):
        asked = ["Baku"] if asking.side == "head" else ["Italy"]
        choices: dict[str, Any] = {
            "k": asking.k,
            "candidates": asking.candidates,
            "include_known": asking.include_known,
        }
        about: dict[str, Any] = {"examples": asking.examples, "relation": asking.relation, f"{asking.side}s": asked}
        expected = asking.open().predict(**about, **choices).to_arrow()
        opened = OpenedAsking.of(asking)
        assert pa.Table.from_batches(opened.batches(opened.find(asked))).equals(expected)


def test_from_anywhere_it_is_the_same(files, monkeypatch):
    monkeypatch.chdir(files)
    here = Asking("less.tsv", (("city/baku-az", "country/azerbaijan"),), method="evidence", add=("more.tsv",))
    assert ATLAS.from_anywhere() == ATLAS
    there, known = here.from_anywhere(), OpenedAsking.of(here).fingerprint()
    monkeypatch.chdir("/")
    assert OpenedAsking.of(there).fingerprint() == known


def test_a_warning_about_the_input_is_given_once(tmp_path, recwarn):
    (tmp_path / "graph.ttl").write_text("<ex:a> <ex:r> <ex:b> . <ex:c> <ex:born> 1999 .")
    asking = Asking(str(tmp_path / "graph.ttl"), (("ex:a", "ex:b"),), method="evidence")
    with pytest.warns(InputWarning, match="literal"):
        first = OpenedAsking.of(asking)
    assert OpenedAsking.again(asking).fingerprint() == first.fingerprint()
    assert not len(recwarn)


def test_a_fingerprint_names_what_the_answers_follow_from(files):
    changes: dict[str, dict[str, Any]] = {
        "graph": {"add": (str(files / "more.tsv"),)},
        "weights": {"method": None},
        "examples": {"examples": SEAS[:1]},
        "options": {"candidates": ("sea",)},
    }
    before = OpenedAsking.of(ATLAS).fingerprint()
    assert OpenedAsking.of(ATLAS).fingerprint() == before
    for part, change in changes.items():
        after = OpenedAsking.of(replace(ATLAS, **change)).fingerprint()
        assert part in {name for name in before if before[name] != after[name]}


def test_the_weights_of_a_run_are_part_of_the_fingerprint(tmp_path):
    prints, graph = [], tmp_path / "graph.tsv"
    triples = [f"person:{i}\tr{r}\tcity:{i * (r + 1) % 9}\n" for r in range(6) for i in range(60)]
    graph.write_text("".join(triples))
    pairs = (("person:0", "city:0"), ("person:1", "city:2"))
    for seed in (0, 1):
        settings = {"seed": seed, "steps": 1, "valid_queries": 5}
        run = tmp_path / str(seed)
        train("evidence-net", str(graph), folder=run, preset="tiny", settings=settings, start="scratch")
        prints.append(OpenedAsking.of(Asking(str(run), pairs)).fingerprint())
    assert [name for name in prints[0] if prints[0][name] != prints[1][name]] == ["weights"]
