import argparse
import json
from importlib.util import find_spec

import pytest

from scale import METHODS, SECTIONS, make_data, run_step, short_settings

SIZES = (2000, 6000, 40)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("scale") / "synthetic"
    make_data(folder, SIZES)
    return folder


def arguments(**given):
    return argparse.Namespace(steps=4, width=8, methods=["transe"], **given)


def test_a_training_is_measured_from_the_dataset_to_the_weights(folder, capsys):
    run_step("training:transe", folder, arguments())
    found = json.loads(capsys.readouterr().out)
    assert found["steps"] == 4
    assert found["weights"] > 8 * SIZES[0]
    assert min(found["seconds_per_step"], found["training_seconds"], found["peak_mib"]) > 0
    assert [path.name for path in folder.parent.iterdir()] == ["synthetic"]
    assert SECTIONS["training"].show({"transe": found}).row_count == 1


@pytest.mark.filterwarnings("ignore")
@pytest.mark.skipif(find_spec("pykeen") is None, reason="PyKEEN, which it is compared with, is not installed")
def test_pykeen_takes_batches_of_the_same_triples(folder, capsys):
    run_step("pykeen:transe", folder, arguments())
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert min(found["seconds_per_step"], found["peak_mib"]) > 0
    assert SECTIONS["pykeen"].show({"transe": found}).row_count == 1


@pytest.mark.parametrize("name", METHODS)
def test_every_method_takes_as_many_steps_with_a_checkpoint_on_the_way(name):
    settings = short_settings(name, 300, 50)
    assert settings["steps"] + settings.get("pretraining_steps", 0) == 300
    assert settings["width"] == 50
    assert settings["steps"] / 2 < settings["checkpoint_every"] < settings["steps"]
