"""Training one network on several datasets."""

from dataclasses import replace

import numpy as np
import pytest

from tripleshot.errors import InputError
from tripleshot.evaluation.calibration import CALIBRATION, load_calibration
from tripleshot.methods.evidence.evidence_net import EvidenceNet
from tripleshot.methods.evidence.evidence_net import tiny as tiny_settings
from tripleshot.methods.trainable import WEIGHTS
from tripleshot.training.log import LOG, read_log
from tripleshot.training.mixture import train_mixture
from tripleshot.training.runs import CONFIG, VOCABULARY, load_config, load_trained_weights

SETTINGS = replace(tiny_settings(), max_shots=4, valid_queries=20)


@pytest.fixture
def other(tiny):
    return replace(tiny, name="other", train=tiny.train[:1])


def test_a_run_on_several_graphs_has_weights_and_calibration_but_no_names(tiny, other, tmp_path):
    mixture, calibration = train_mixture([tiny, other], tmp_path, SETTINGS, 3)
    config = load_config(tmp_path)
    assert (config.method, config.dataset, config.data) == ("evidence-net", "tiny + other", "")
    assert load_calibration(tmp_path) == calibration
    assert not (tmp_path / VOCABULARY).exists()
    restored = EvidenceNet.with_settings(config.settings)
    restored.restore(tiny, load_trained_weights(tmp_path))
    question = (tiny.test[0].support(3), 0, np.arange(tiny.graph.num_entities))
    np.testing.assert_array_equal(restored.score(*question), mixture.wholes[0].score(*question))


def test_the_same_seed_gives_the_same_weights(tiny, other, tmp_path):
    for folder in ("one", "two"):
        train_mixture([tiny, other], tmp_path / folder, SETTINGS, 3)
    one, two = ((tmp_path / folder / WEIGHTS).read_bytes() for folder in ("one", "two"))
    assert one == two


def test_who_only_ranks_does_without_a_calibration(tiny, other, tmp_path):
    _, calibration = train_mixture([tiny, other], tmp_path, SETTINGS, 3, calibrates=False)
    assert calibration is None
    assert not (tmp_path / CALIBRATION).exists()


def test_the_last_weights_are_kept(tiny, other, tmp_path):
    mixture, _ = train_mixture([tiny, other], tmp_path, SETTINGS, 3)
    rows = read_log(tmp_path / LOG)
    assert not [row for row in rows if "valid_mrr" in row]
    assert rows[-1]["step"] == SETTINGS.steps
    kept = load_trained_weights(tmp_path).arrays["hidden.weight"]
    np.testing.assert_array_equal(kept, mixture.module.hidden.weight.detach().numpy())


def test_a_dataset_that_is_given_twice_is_refused(tiny, tmp_path):
    with pytest.raises(InputError, match="dataset 'tiny' is given twice"):
        train_mixture([tiny, tiny], tmp_path, SETTINGS)


def test_a_run_is_not_overwritten_and_not_resumed_on_other_data(tiny, other, tmp_path):
    train_mixture([tiny, other], tmp_path, SETTINGS, 3)
    with pytest.raises(InputError, match="a run is there already"):
        train_mixture([tiny, other], tmp_path, SETTINGS, 3)
    with pytest.raises(InputError, match=r"was trained on tiny \+ other"):
        train_mixture([tiny], tmp_path, SETTINGS, 3, resume=True)


def test_a_training_that_fails_leaves_the_folder_as_it_was(tiny, other, tmp_path):
    def fail(update):
        raise RuntimeError("the disk is full")

    with pytest.raises(RuntimeError, match="the disk is full"):
        train_mixture([tiny, other], tmp_path / "run", SETTINGS, 3, callback=fail)
    assert not (tmp_path / "run" / CONFIG).exists()


def test_calibration_is_told_of(tiny, other, tmp_path):
    told = []
    train_mixture([tiny, other], tmp_path, SETTINGS, 3, progress=lambda done, total: told.append((done, total)))
    assert told == [(1, 2), (2, 2)]
