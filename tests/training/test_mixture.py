"""Training one network on several datasets."""

from dataclasses import replace

import numpy as np
import pytest

from tripleshot.errors import InputError
from tripleshot.evaluation.calibration import load_calibration
from tripleshot.methods.evidence.evidence_net import EvidenceNet
from tripleshot.methods.evidence.evidence_net import tiny as tiny_settings
from tripleshot.methods.trainable import WEIGHTS
from tripleshot.training.log import LOG, read_log
from tripleshot.training.mixture import train_mixture
from tripleshot.training.runs import VOCABULARY, load_config, load_trained_weights

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


def test_validations_ask_every_graph_with_few_and_with_many_examples(tiny, other, tmp_path):
    train_mixture([tiny, other], tmp_path, SETTINGS, 3)
    rows = [row for row in read_log(tmp_path / LOG) if "valid_mrr" in row]
    alone = tmp_path / "alone"
    train_mixture([tiny], alone, SETTINGS, 3)
    asked = [row for row in read_log(alone / LOG) if "valid_mrr" in row]
    assert rows[0]["queries"] == 2 * asked[0]["queries"]


def test_a_dataset_that_is_given_twice_is_refused(tiny, tmp_path):
    with pytest.raises(InputError, match="dataset 'tiny' is given twice"):
        train_mixture([tiny, tiny], tmp_path, SETTINGS)


def test_a_run_is_not_overwritten_and_not_resumed_on_other_data(tiny, other, tmp_path):
    train_mixture([tiny, other], tmp_path, SETTINGS, 3)
    with pytest.raises(InputError, match="a run is there already"):
        train_mixture([tiny, other], tmp_path, SETTINGS, 3)
    with pytest.raises(InputError, match=r"was trained on tiny \+ other"):
        train_mixture([tiny], tmp_path, SETTINGS, 3, resume=True)
