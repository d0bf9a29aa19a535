import json
import shutil
import warnings
from dataclasses import replace

import numpy as np
import pytest

from tripleshot.answering.loading import load, open_predictor
from tripleshot.answering.models import train
from tripleshot.answering.predictor import DEFAULT_METHOD, Predictor
from tripleshot.datasets import catalog
from tripleshot.errors import InputError, InputWarning
from tripleshot.files.checksums import read_document
from tripleshot.methods.embedding.method import TransE
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


KNOW_NAMES = ("rscl", "metar", "gana", "gmatching", "fsrl", "faan", "transe", "complex")


@pytest.fixture(scope="module")
def folder(tiny, tmp_path_factory):
    folder = tmp_path_factory.mktemp("data") / "tiny"
    tiny.save(folder)
    return folder


@pytest.mark.parametrize("method", KNOW_NAMES)
def test_a_run_that_has_learned_names_is_asked_about_every_triple_and_measured_without(tiny, folder, tmp_path, method):
    run = tmp_path / "run"
    train(method, folder, shots=3, preset="tiny", settings={"steps": 2}, folder=run)
    measured = load(run)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        asked = open_predictor(str(run))
        named = open_predictor(str(run), data=str(folder))
    for opened in (asked, named):
        assert set(opened.graph.triples()) == set(tiny.whole.graph.triples())
        assert (opened.name, opened.shots) == (method, 3)
    assert "works in" not in measured.graph.relations
    support, tails = tiny.test[0].support(3), np.arange(tiny.graph.num_entities)
    same = [model.score(support, 5, tails) for model in (asked, named, Predictor(folder, measured))]
    np.testing.assert_array_equal(same[0], same[1])
    np.testing.assert_array_equal(same[0], same[2])
    if method in ("transe", "complex", "metar"):  # they look at vectors alone
        np.testing.assert_allclose(same[0], measured.score(support, 5, tails), atol=1e-6)
    answers = asked.predict("person:5", relation="works in", k=2)
    assert len(answers[0]) == 2
    why = asked.explain("person:5", "city:1", examples=support.tolist())
    assert any("works in" in asked.graph.relations.name(one.relations[0]) for one in why.connections)


def test_names_that_are_new_to_a_run_are_counted_without_the_relations_of_tasks(tiny, folder, tmp_path):
    train("transe", folder, shots=3, preset="tiny", folder=tmp_path / "run")
    replace(tiny, graph=tiny.graph.with_triples([("person:0", "admires", "stranger")])).save(tmp_path / "grown")
    with pytest.warns(InputWarning) as caught:
        opened = open_predictor(str(tmp_path / "run"), data=str(tmp_path / "grown"))
    (message,) = [str(one.message) for one in caught]
    assert message.startswith("1 of 27 entities and 1 of 5 relations of tiny are new to the run")
    assert opened.graph.num_triples == tiny.whole.graph.num_triples + 1


def test_a_file_that_is_too_small_for_tasks_is_asked_by_a_run_that_has_learned_names(tiny, folder, tmp_path):
    train("transe", folder, shots=3, preset="tiny", folder=tmp_path / "run")
    rows = ["\t".join(triple) for triple in tiny.graph.triples()]
    (tmp_path / "now.tsv").write_text("".join(f"{row}\n" for row in [*rows, rows[0]]))
    with pytest.warns(InputWarning) as caught:
        opened = open_predictor(str(tmp_path / "run"), data=str(tmp_path / "now.tsv"))
    assert len(caught) == 1  # that a line was repeated
    assert opened.graph.num_triples == len(rows)


def test_a_method_whose_weights_fit_no_other_relations_answers_from_what_it_was_trained_on(
    tiny, folder, tmp_path, monkeypatch
):
    train("transe", folder, shots=3, preset="tiny", folder=tmp_path / "run")
    restore = TransE.restore

    def refuse(method, dataset, weights):
        if not weights.names.fits(dataset.graph):
            raise InputError("it knows no names but those it was trained with")
        restore(method, dataset, weights)

    monkeypatch.setattr(TransE, "restore", refuse)
    with pytest.warns(InputWarning, match="run: transe fits no other relations than it was trained with"):
        opened = open_predictor(str(tmp_path / "run"))
    assert opened.graph.num_triples == tiny.graph.num_triples


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
