import json
from contextlib import suppress
from dataclasses import asdict, replace

import numpy as np
import pytest
from hypothesis import given

from damage import EDITS, mutated
from tripleshot.errors import InputError, InputWarning
from tripleshot.methods.rscl.settings import tiny as rscl
from tripleshot.methods.trainable import PRETRAINED
from tripleshot.training.fit import train_run
from tripleshot.training.runs import (
    CONFIG,
    VOCABULARY,
    RunConfig,
    load_config,
    load_names,
    load_run,
    require_known_names,
    require_same_data,
    save_config,
    save_names,
)


def config_of(dataset):
    return RunConfig("rscl", {"width": 8}, 5, "somewhere", dataset.name, dataset.content_hash, "train", None)


def test_a_config_comes_back(tiny, tmp_path):
    save_config(config_of(tiny), tmp_path)
    assert load_config(tmp_path) == config_of(tiny)


def test_a_run_of_a_method_that_was_renamed_still_loads_and_says_so(tiny, tmp_path):
    save_config(replace(config_of(tiny), method="rscl+"), tmp_path)
    with pytest.warns(InputWarning, match="rscl\\+, which is now called evidence-net"):
        assert load_config(tmp_path) == replace(config_of(tiny), method="evidence-net")


def test_a_folder_without_a_config_is_no_run(tmp_path):
    with pytest.raises(InputError, match="not a run"):
        load_config(tmp_path)


@pytest.mark.parametrize("content", ["{}", "[]", "7", '{"method": "rscl", "width": 8}'])
def test_what_does_not_describe_a_run_is_refused_by_what_it_needs(tmp_path, content):
    (tmp_path / CONFIG).write_text(content)
    with pytest.raises(InputError, match=f"{CONFIG}: does not describe a run: it needs command, commit, data"):
        load_config(tmp_path)


def test_a_vocabulary_comes_back(tiny, tmp_path):
    save_names(tiny.graph, tmp_path)
    found = load_names(tmp_path)
    assert found is not None
    assert found.fits(tiny.graph)
    assert found.entities.names.to_pylist() == tiny.graph.entities.names.to_pylist()
    assert found.relations.names.to_pylist() == tiny.graph.relations.names.to_pylist()
    assert not found.fits(tiny.graph.with_triples([("a", "lives in", "b")]))


def test_a_broken_vocabulary_is_refused(tmp_path):
    assert load_names(tmp_path) is None
    (tmp_path / VOCABULARY).write_bytes(b"nothing of the kind")
    with pytest.raises(InputError, match=VOCABULARY):
        load_names(tmp_path)


def test_a_name_that_was_changed_is_noticed(tiny, tmp_path):
    save_names(tiny.graph, tmp_path)
    content = (tmp_path / VOCABULARY).read_bytes()
    (tmp_path / VOCABULARY).write_bytes(content.replace(b"country:0", b"country:9"))
    with pytest.raises(InputError, match=f"{VOCABULARY}: changed since it was written"):
        load_names(tmp_path)


@given(edits=EDITS)
def test_no_damage_to_a_vocabulary_raises_anything_but_an_input_error(tiny, tmp_path_factory, edits):
    folder = tmp_path_factory.mktemp("damaged")
    save_names(tiny.graph, folder)
    (folder / VOCABULARY).write_bytes(mutated((folder / VOCABULARY).read_bytes(), edits))
    with suppress(InputError):
        found = load_names(folder)
        assert found is not None
        assert found.fits(tiny.graph)


def test_a_setting_that_was_changed_is_noticed(tiny, tmp_path):
    save_config(config_of(tiny), tmp_path)
    text = (tmp_path / CONFIG).read_text()
    (tmp_path / CONFIG).write_text(text.replace('"width": 8', '"width": 9'))
    with pytest.raises(InputError, match=f"{CONFIG}: changed since it was written"):
        load_config(tmp_path)


@pytest.mark.parametrize(("field", "value"), [("method", 7), ("settings", []), ("shots", "5"), ("commit", 1)])
def test_a_field_of_another_kind_is_named(tiny, tmp_path, field, value):
    (tmp_path / CONFIG).write_text(json.dumps({**asdict(config_of(tiny)), field: value}))
    with pytest.raises(InputError, match=f"{CONFIG}: does not describe a run: {field} cannot be"):
        load_config(tmp_path)


def grown(dataset, count):
    triples = [(f"new:{i}", "knows", f"new:{i + 1}") for i in range(count - 1)]
    return replace(dataset, graph=dataset.graph.with_triples([*triples, ("new:0", "greets", "person:0")]))


def test_names_that_are_new_to_a_run_are_counted_once(tiny, tmp_path):
    save_names(tiny.graph, tmp_path)
    require_known_names(config_of(tiny), tiny, tmp_path)
    with pytest.warns(InputWarning, match="26 of 52 entities and 1 of 5 relations") as found:
        require_known_names(config_of(tiny), grown(tiny, 26), tmp_path)
    assert len(found) == 1


def test_names_that_are_gone_or_in_another_order_are_nothing_to_warn_of(tiny, tmp_path):
    save_names(grown(tiny, 5).graph, tmp_path)
    require_known_names(config_of(grown(tiny, 5)), tiny, tmp_path)


def test_a_run_that_knows_less_than_half_of_the_entities_is_refused(tiny, tmp_path):
    save_names(tiny.graph, tmp_path)
    with pytest.raises(InputError, match="would not fit"):
        require_known_names(config_of(tiny), grown(tiny, 27), tmp_path)


def test_without_a_vocabulary_only_the_same_data_will_do(tiny, tmp_path):
    require_known_names(config_of(tiny), tiny, tmp_path)
    with pytest.raises(InputError, match="would not fit"):
        require_known_names(config_of(tiny), grown(tiny, 1), tmp_path)


def test_what_must_be_the_same_data_is(tiny):
    require_same_data(config_of(tiny), tiny)
    with pytest.raises(InputError, match="would not fit"):
        require_same_data(config_of(tiny), grown(tiny, 1))


def test_a_changed_setting_finds_the_pre_training_in_the_run_or_in_the_one_it_started_from(tiny, tmp_path):
    task = tiny.test[0]
    asked = (task.support(3), int(task.queries(3)[0, 0]), tiny.candidates(task))
    first, second = tmp_path / "first", tmp_path / "second"
    train_run("rscl", tiny, 3, first, settings=asdict(rscl()))
    train_run("rscl", tiny, 3, second, settings=asdict(replace(rscl(), pretrained=str(first), seed=1)))
    assert not (second / PRETRAINED).exists()
    for folder in (first, second):
        plain, _ = load_run(folder, tiny)
        changed, config = load_run(folder, tiny, {"masked_score": True})
        assert config.settings["masked_score"]
        assert not np.array_equal(plain.score(*asked), changed.score(*asked))
    (first / PRETRAINED).unlink()
    with pytest.raises(InputError, match="nothing is left of its pre-training"):
        load_run(second, tiny, {"masked_score": True})
