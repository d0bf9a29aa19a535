from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tripleshot.answering.loading import load
from tripleshot.answering.models import train
from tripleshot.answering.predictor import Predictor
from tripleshot.errors import InputError, InputWarning
from tripleshot.evaluation.calibration import CALIBRATION
from tripleshot.evaluation.protocol import evaluate
from tripleshot.methods import find_method, settings_of
from tripleshot.methods.evidence.evidence_net import EvidenceNet
from tripleshot.training.log import LOG, read_log
from tripleshot.training.runs import CONFIG, load_trained_weights

SHOTS = 3
METHODS = ("evidence", "rscl", "evidence-net")


@pytest.fixture(scope="module")
def data(tiny, tmp_path_factory):
    """The small dataset with three valid tasks, saved: fewer than two cannot be calibrated on."""
    dataset = replace(tiny, valid=(*tiny.valid, *tiny.train))
    folder = tmp_path_factory.mktemp("models") / "data"
    dataset.save(folder)
    return dataset, folder


def preset(name):
    return "tiny" if find_method(name).learns else "fast"


@pytest.fixture(scope="module", params=METHODS)
def run(request, data, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param) / "run"
    train(request.param, data[1], shots=SHOTS, folder=folder, preset=preset(request.param))
    return folder


def scores(model, dataset):
    return model.score(dataset.test[0].support(SHOTS), 5, np.arange(dataset.graph.num_entities))


@pytest.mark.parametrize("name", METHODS)
def test_a_model_in_memory_can_be_saved_and_loaded_anywhere(data, tmp_path, monkeypatch, name):
    dataset, _ = data
    model = train(name, dataset, shots=SHOTS, preset=preset(name))
    model.save(tmp_path / "kept")
    monkeypatch.chdir("/")
    again = load(tmp_path / "kept")
    np.testing.assert_array_equal(scores(again, dataset), scores(model, dataset))
    assert (again.name, again.shots) == (name, SHOTS)
    assert again.calibration is not None
    assert evaluate(again, dataset).mrr == evaluate(model, dataset).mrr
    with pytest.raises(InputError, match="a run is there already"):
        model.save(tmp_path / "kept")


def test_a_run_on_disk_is_what_was_trained(run, data):
    dataset, _ = data
    model = load(run)
    assert model.calibration is not None
    assert np.isfinite(scores(model, dataset)).all()


def test_settings_are_the_presets_but_for_those_given(data):
    model = train("evidence-net", data[0], shots=SHOTS, preset="tiny", settings={"hidden_width": 7})
    assert settings_of(model.method)["hidden_width"] == 7
    with pytest.raises(InputError, match="evidence-net has no setting 'wdith'"):
        train("evidence-net", data[0], settings={"wdith": 7})


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"shots": 0}, "shots"),
        ({"budget": "soon"}, "budget"),
        ({"preset": "fsat"}, "there is no preset 'fsat'.*did you mean 'fast'"),
        ({"device": "banana"}, "device 'banana' cannot be used here"),
        ({"settings": {"hidden_width": 0}}, "hidden_width must be 1 or more"),
    ],
)
def test_a_wrong_argument_is_named_and_leaves_nothing_behind(data, tmp_path, choices, message):
    with pytest.raises(InputError, match=message):
        train("evidence-net", data[0], folder=tmp_path / "run", **choices)
    assert not (tmp_path / "run" / CONFIG).exists()


def test_a_run_trained_on_a_dataset_in_memory_keeps_it(data, tmp_path):
    updates = []
    train("evidence", data[0], shots=SHOTS, folder=tmp_path / "run", callback=updates.append)
    assert load(tmp_path / "run").dataset.content_hash == data[0].content_hash
    assert {update.stage for update in updates} == {"calibrating"}
    assert updates[-1].step == updates[-1].steps


def test_data_that_has_moved_is_found_where_it_is_now(run, data, tmp_path):
    moved = Path(data[1]).rename(tmp_path / "elsewhere")
    try:
        with pytest.raises(InputError, match=r"if it has moved, say where it is now.*--data"):
            load(run)
        assert load(run, moved).calibration is not None
    finally:
        moved.rename(data[1])


def test_a_run_finds_its_names_on_data_that_have_grown(run, data):
    dataset, _ = data
    expected = scores(load(run), dataset)
    graph = dataset.graph.with_triples([("stranger", "greets", "other stranger")])
    grown = replace(dataset, graph=graph)
    name = load(run).name
    if find_method(name).learns and find_method(name).method_class().knows_names:
        with pytest.warns(InputWarning, match="2 of 28 entities and 1 of .* relations of tiny are new to the run"):
            model = load(run, grown)
    else:
        model = load(run, grown)
    np.testing.assert_allclose(scores(model, dataset), expected, atol=1e-5)


def test_one_valid_task_is_too_few_to_calibrate_on(tiny, tmp_path):
    train("evidence", tiny, shots=SHOTS, folder=tmp_path / "run")
    assert not (tmp_path / "run" / CALIBRATION).exists()


def universal_scores(dataset):
    return scores(Predictor(dataset, "universal"), dataset)


def test_a_training_starts_from_the_universal_weights_unless_it_is_told_otherwise(data, tmp_path):
    dataset, _ = data
    given = {"shots": SHOTS, "preset": "tiny", "settings": {"steps": 0}}
    begun = train("evidence-net", dataset, **given, folder=tmp_path / "begun")
    assert settings_of(begun.method)["pretrained"] == "universal"
    np.testing.assert_array_equal(scores(begun, dataset), universal_scores(dataset))
    scratch = train("evidence-net", dataset, **given, start="scratch")
    assert settings_of(scratch.method)["pretrained"] == ""
    assert np.abs(scores(scratch, dataset) - universal_scores(dataset)).max() > 0.1
    other = replace(dataset, name="other", graph=dataset.with_train_edges.graph)
    again = train("evidence-net", other, **given, start=tmp_path / "begun")
    network = EvidenceNet.with_settings(settings_of(again.method))
    network.restore(other, load_trained_weights(tmp_path / "begun"))
    network.fit_to_graph()
    np.testing.assert_array_equal(scores(again, other), scores(Predictor.of(other, network, "", SHOTS), other))


def test_a_start_that_does_not_fit_is_an_error_or_not_taken(data, tmp_path):
    dataset, _ = data
    with pytest.raises(InputError, match="rscl does not start from the network of another: only evidence-net does"):
        train("rscl", dataset, preset="tiny", start="universal")
    with pytest.raises(InputError, match=r"nowhere.*not readable as weights"):
        train("evidence-net", dataset, preset="tiny", start=tmp_path / "nowhere", folder=tmp_path / "run")
    assert not (tmp_path / "run").exists()
    narrow = train("evidence-net", dataset, shots=SHOTS, preset="tiny", settings={"hidden_width": 7})
    assert settings_of(narrow.method)["pretrained"] == ""


def test_fine_tuning_never_ends_worse_on_the_valid_tasks_than_it_began(data, tmp_path):
    dataset, _ = data
    wild = {"fine_tuning_rate": 3.0, "warmup": 0}  # steps that only do harm
    model = train("evidence-net", dataset, shots=SHOTS, preset="tiny", settings=wild, folder=tmp_path / "run")
    validations = [row for row in read_log(tmp_path / "run" / LOG) if "valid_mrr" in row]
    assert validations[0]["step"] == 0
    assert [row["step"] for row in validations[1:]] == [10, 20]
    universal = Predictor(dataset, "universal", shots=SHOTS)
    before, after = (evaluate(one, dataset, split="valid").mrr for one in (universal, model))
    assert before == pytest.approx(validations[0]["valid_mrr"])
    assert after >= before


@pytest.mark.parametrize("num_valid", [0, 1])
def test_a_run_with_too_few_valid_tasks_has_the_confidence_of_the_universal_weights(tiny, tmp_path, num_valid):
    dataset = replace(tiny, valid=tiny.valid[:num_valid])
    model = train("evidence-net", dataset, shots=SHOTS, preset="tiny", folder=tmp_path / "run")
    assert model.calibration == load(tmp_path / "run").calibration
    if not num_valid:
        assert model.calibration == Predictor(dataset, "universal").calibration
        np.testing.assert_array_equal(scores(model, dataset), universal_scores(dataset))
    assert model.predict("person:7", examples=[("person:0", "city:0")])[0][0].confidence is not None
