import json
import shutil
import warnings

import numpy as np
import pytest

from tripleshot.answering.loading import load, open_predictor
from tripleshot.answering.models import train
from tripleshot.answering.predictor import DEFAULT_METHOD
from tripleshot.datasets import catalog
from tripleshot.errors import InputError
from tripleshot.files.checksums import read_document
from tripleshot.training.runs import CONFIG, DATA


def test_a_run_of_a_methods_former_name_loads_with_one_line_that_says_so(tiny, tmp_path):
    model = train("evidence-net", tiny, shots=3, preset="tiny", folder=tmp_path / "run")
    path = tmp_path / "run" / CONFIG
    path.write_text(json.dumps({**read_document(path), "method": "rscl+"}))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        again = load(tmp_path / "run")
    assert [str(warning.message) for warning in caught] == [
        f"{tmp_path / 'run'}: was trained as rscl+, which is now called evidence-net"
    ]
    assert again.name == "evidence-net"
    support, tails = tiny.test[0].support(3), np.arange(tiny.graph.num_entities)
    np.testing.assert_array_equal(again.score(support, 5, tails), model.score(support, 5, tails))


@pytest.fixture
def project(tiny, tmp_path):
    """A folder with a dataset and a run that was trained on it, by a path of its own."""
    folder = tmp_path / "project"
    tiny.save(folder / "tiny")
    train("evidence-net", folder / "tiny", shots=3, preset="tiny", folder=folder / "runs" / "one")
    return folder


def test_a_run_and_its_data_can_be_moved_together(project, tmp_path, monkeypatch):
    project.rename(tmp_path / "moved")
    monkeypatch.chdir(tmp_path / "moved" / "runs")
    assert load("one").dataset.name == "tiny"
    monkeypatch.chdir("/")
    assert load(tmp_path / "moved" / "runs" / "one").dataset.name == "tiny"


def test_a_run_with_its_graph_needs_no_other_folder(project, tiny, tmp_path):
    given = train("evidence-net", project / "tiny", shots=3, preset="tiny", folder=tmp_path / "run", with_graph=True)
    shutil.rmtree(project)
    (tmp_path / "run").rename(tmp_path / "given away")
    again = load(tmp_path / "given away")
    assert (tmp_path / "given away" / DATA).is_dir()
    support, tails = tiny.test[0].support(3), np.arange(tiny.graph.num_entities)
    np.testing.assert_array_equal(again.score(support, 5, tails), given.score(support, 5, tails))


def test_data_that_are_gone_or_have_changed_are_an_error_that_says_what_to_do(project, tiny, tmp_path):
    run, moved = project / "runs" / "one", (project / "tiny").rename(tmp_path / "elsewhere")
    with pytest.raises(InputError, match=r"tiny: no such file.*if it has moved, say where it is now: --data"):
        load(run)
    tiny.whole.save(project / "tiny")
    with pytest.raises(InputError, match=r"tiny: has changed since .*one was trained on it.*--data"):
        load(run)
    assert load(run, moved).dataset.content_hash == tiny.content_hash
    assert load(run, project / "tiny").dataset.content_hash == tiny.whole.content_hash


def test_the_catalog_is_where_data_are_looked_for_last(project, tiny, tmp_path, monkeypatch):
    (project / "tiny").rename(tmp_path / "elsewhere")
    path = project / "runs" / "one" / CONFIG
    path.write_text(json.dumps({**read_document(path), "dataset": "atlas"}))
    with pytest.raises(InputError, match=r"atlas: has changed since.*--data"):
        load(path.parent)
    monkeypatch.setattr(catalog, "load_atlas", lambda: tiny)
    assert load(path.parent).dataset is tiny


def test_a_run_a_file_a_folder_and_a_name_of_the_catalog_are_opened_alike(project):
    assert open_predictor(str(project / "runs" / "one")).name == "evidence-net"
    (project / "graph.tsv").write_text("a\tr\tb\n")
    for source in (project / "tiny", project / "graph.tsv", "atlas"):
        assert open_predictor(str(source)).name == DEFAULT_METHOD
        assert open_predictor(str(source), "linked").name == "linked"
    assert "works in" in open_predictor(str(project / "tiny")).graph.relations


def test_a_run_is_asked_about_every_triple_of_its_data(project, tiny):
    run = project / "runs" / "one"
    assert open_predictor(str(run)).graph.num_triples == tiny.whole.graph.num_triples
    assert load(run).graph.num_triples < tiny.whole.graph.num_triples  # to measure, valid and test tasks are hidden


def test_weights_that_know_no_names_answer_on_another_graph_without_a_warning(project, tmp_path):
    rows = [(f"town {i}", "lies in", f"land {i % 3}") for i in range(12)]
    rows += [(f"land {i}", "belongs to", f"part {i}") for i in range(3)]
    (tmp_path / "other.tsv").write_text("".join("\t".join(row) + "\n" for row in rows))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        moved = open_predictor(str(project / "runs" / "one"), data=str(tmp_path / "other.tsv"))
    assert (moved.name, moved.graph.num_triples) == ("evidence-net", len(rows))
    examples = [("town 0", "part 0"), ("town 1", "part 1")]
    assert {answer.name for answer in moved.predict("town 5", examples=examples)[0]} == {"part 0", "part 1", "part 2"}
