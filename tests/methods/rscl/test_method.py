import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from tripleshot.datasets.dataset import FewShotDataset, Task
from tripleshot.errors import InputError
from tripleshot.evaluation.protocol import evaluate
from tripleshot.methods.evidence.evidence_net import EvidenceNet
from tripleshot.methods.rscl.method import RSCLMethod
from tripleshot.methods.rscl.settings import tiny as preset
from tripleshot.methods.trainable import PRETRAINED
from tripleshot.training.fit import fit
from tripleshot.training.runs import RunConfig, load_trained_weights, save_config, save_names

QUICK = replace(
    preset(),
    dropout=0.0,
    pretraining_steps=20,
    pretraining_batch_size=32,
    steps=40,
    learning_rate=0.005,
    schedule="constant",
    warmup=5,
    validate_every=20,
    patience=0,
    checkpoint_every=15,
)


@pytest.fixture(scope="module")
def finished(tiny, tmp_path_factory) -> tuple[RSCLMethod, Path]:
    """A method after its training, and the folder of the run."""
    method, folder = RSCLMethod(QUICK), tmp_path_factory.mktemp("finished")
    fit(method, tiny, 3, folder)
    return method, folder


@pytest.fixture
def folder(finished, tmp_path) -> Path:
    """A copy of the finished run."""
    return Path(shutil.copytree(finished[1], tmp_path / "finished"))


def test_it_overfits_a_tiny_graph(tiny):
    """What it was trained on, it knows: the train tasks, asked as if they were test tasks."""
    method = RSCLMethod(replace(QUICK, steps=300, pretraining_steps=0, masking_weight=0.0, width=32))
    fit(method, replace(tiny, valid=()), 3)
    memorized = FewShotDataset("seen", tiny.graph, (), (), tiny.train)
    assert evaluate(method, memorized, 3).mrr > 0.9


def test_the_same_seed_gives_the_same_scores_and_another_does_not(tiny, finished):
    task = tiny.test[0]
    question = (task.support(3), int(task.queries(3)[0, 0]), tiny.candidates(task))

    def scores(seed):
        method = RSCLMethod(replace(QUICK, seed=seed))
        fit(method, tiny, 3)
        return method.score(*question)

    first = finished[0].score(*question)
    np.testing.assert_array_equal(scores(QUICK.seed), first)
    assert not np.array_equal(scores(QUICK.seed + 1), first)


def test_query_triples_of_any_split_change_nothing(tiny, finished):
    """Take every query of the test tasks away: weights and scores stay the same to the bit."""
    bare = replace(tiny, test=tuple(replace(task, pairs=task.pairs[:4], known=task.known) for task in tiny.test))
    method = RSCLMethod(QUICK)
    fit(method, bare, 3)
    task = tiny.test[0]
    question = (task.support(3), int(task.queries(3)[0, 0]), tiny.candidates(task))
    np.testing.assert_array_equal(finished[0].score(*question), method.score(*question))


@pytest.mark.parametrize("settings", [QUICK, replace(QUICK, frozen_elements=True)])
def test_resuming_gives_the_weights_of_an_uninterrupted_run(tiny, tmp_path, settings):
    whole = RSCLMethod(settings)
    fit(whole, tiny, 3, tmp_path)
    broken = tmp_path / "broken"
    broken.mkdir()
    half = RSCLMethod(settings)

    def cut_power(update):
        if update.stage == "episodes" and update.step == 33:
            raise RuntimeError("power cut")

    with pytest.raises(RuntimeError, match="power cut"):
        fit(half, tiny, 3, broken, callback=cut_power)
    resumed = RSCLMethod(settings)
    fit(resumed, tiny, 3, broken, resume=True)
    for (name, left), right in zip(
        whole.module.state_dict().items(), resumed.module.state_dict().values(), strict=True
    ):
        assert torch.equal(left, right), name


def test_frozen_elements_stay_as_pre_training_left_them_while_the_encoders_learn(tiny, tmp_path):
    method = RSCLMethod(replace(QUICK, frozen_elements=True, masking_weight=1.0))
    fit(method, tiny, 3, tmp_path)
    between, after = load_file(tmp_path / PRETRAINED), method.module.state_dict()
    assert torch.equal(between["elements.weight"], after["elements.weight"])
    assert not torch.equal(between["local_encoder.combine.weight"], after["local_encoder.combine.weight"])
    assert between["elements.weight"].std() > 0


def test_a_run_can_be_restored(tiny, finished):
    method, folder = finished
    again = RSCLMethod(QUICK)
    again.restore(tiny, load_trained_weights(folder))
    task = tiny.test[0]
    question = (task.support(3), int(task.queries(3)[0, 0]), tiny.candidates(task))
    np.testing.assert_array_equal(method.score(*question), again.score(*question))


def test_a_graph_without_background_edges_can_be_learnt_from(tiny):
    bare = replace(tiny, graph=tiny.graph.without_relations(np.arange(tiny.graph.num_relations)))
    method = RSCLMethod(QUICK)
    fit(method, bare, 3)
    task = bare.test[0]
    scores = method.score(task.support(3), int(task.queries(3)[0, 0]), bare.candidates(task))
    assert np.isfinite(scores).all()


def test_a_run_starts_from_the_pre_training_of_another(tiny, folder):
    save_names(tiny.graph, folder)
    second = RSCLMethod(replace(QUICK, pretrained=str(folder), steps=0))
    fit(second, tiny, 1)
    assert [stage.name for stage in second.stages()] == ["episodes"]
    between = load_file(folder / PRETRAINED)
    assert all(torch.equal(value, between[name]) for name, value in second.module.state_dict().items())


def test_a_pre_training_on_other_tasks_is_refused(tiny, folder):
    save_names(tiny.graph, folder)
    save_config(RunConfig("rscl", {}, 3, "tiny", "tiny", tiny.content_hash, "", None), folder)
    held_out = replace(tiny, train=tiny.train[:1], test=tiny.train[1:])
    with pytest.raises(InputError, match="was trained on tiny"):
        fit(RSCLMethod(replace(QUICK, pretrained=str(folder))), held_out, 3)


@pytest.mark.parametrize(("held_back", "is_refused"), [(0.3, True), (0.2, False), (0.1, False), (0.0, False)])
def test_a_pre_training_that_has_seen_what_episodes_are_to_ask_about_is_refused(tiny, folder, held_back, is_refused):
    save_names(tiny.graph, folder)
    save_config(RunConfig("rscl", {"held_back": 0.2}, 3, "tiny", "tiny", tiny.content_hash, "", None), folder)
    later = RSCLMethod(replace(QUICK, pretrained=str(folder), held_back=held_back, steps=0))
    if not is_refused:
        fit(later, tiny, 3)
        return
    with pytest.raises(InputError, match=r"held back 0\.2 of all triples.*held_back must be 0\.2 or less"):
        fit(later, tiny, 3)


def test_a_pre_training_on_other_names_is_refused(tiny, folder):
    save_names(tiny.graph.without_relations([0]), folder)
    with pytest.raises(InputError, match="was not trained on the entities and relations"):
        fit(RSCLMethod(replace(QUICK, pretrained=str(folder))), tiny, 3)


def test_a_run_that_sees_train_edges_starts_from_one_that_did_not(tiny, folder):
    save_names(tiny.graph, folder)
    first, later = RSCLMethod(QUICK), RSCLMethod(replace(QUICK, train_edges=True, pretrained=str(folder)))
    first.prepare(tiny, 3)
    load_trained_weights(folder, PRETRAINED).load_into(first.module)
    later.prepare(tiny, 3)
    later.start_from(load_trained_weights(folder, PRETRAINED))
    for name in (tiny.graph.entities.name(0), tiny.graph.entities.name(5)):
        rows = [
            method.module.elements.weight[method.tokens.entities(np.array([tiny.graph.entities.id(name)]))]
            for method in (first, later)
        ]
        assert torch.equal(*rows)


def test_a_run_that_sees_train_edges_is_restored(tiny, tmp_path):
    settings = replace(QUICK, train_edges=True)
    trained, again = RSCLMethod(settings), RSCLMethod(settings)
    fit(trained, tiny, 3, tmp_path)
    again.restore(tiny, load_trained_weights(tmp_path))
    task = tiny.test[0]
    asked = (task.support(3), int(task.queries(3)[0, 0]), tiny.candidates(task))
    assert np.array_equal(trained.score(*asked), again.score(*asked))


@pytest.mark.parametrize(
    "make",
    [lambda: RSCLMethod(replace(QUICK, train_edges=True, connected=True)), EvidenceNet],
    ids=["connected contexts", "evidence"],
)
def test_scores_with_train_edges_do_not_change_when_the_query_is_taken_out_of_the_task_files(tiny, make):
    task = tiny.test[0]
    head, candidates = int(task.queries(3)[0, 0]), tiny.candidates(task)
    without = replace(tiny, test=(Task.of(task.name, np.delete(task.pairs, 3, axis=0)), *tiny.test[1:]))
    scores = []
    for dataset in (tiny, without):
        method = make()
        method.prepare(dataset, 3)
        scores.append(method.score(task.support(3), head, candidates))
    assert np.array_equal(scores[0], scores[1])


def test_with_text_a_new_entity_is_read_by_its_name(tiny, tmp_path):
    settings = replace(QUICK, text=True)
    trained = RSCLMethod(settings)
    fit(trained, tiny, 3, tmp_path)
    save_names(tiny.graph, tmp_path)
    known = tiny.graph.entities.name(0)
    larger = replace(tiny, graph=tiny.graph.with_triples([(f"{known} the second", "r", known)]))
    again = RSCLMethod(settings)
    again.restore(larger, load_trained_weights(tmp_path))
    task = tiny.test[0]
    asked = (task.support(3), int(task.queries(3)[0, 0]), tiny.candidates(task))
    assert np.isfinite(again.score(*asked)).all()
    assert again.module.text is not None
    assert again.module.text(torch.tensor([len(again.tokens) - 1])).any()
