from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace

import numpy as np
import pytest
import torch

from learning_checks import cut_power_at, question
from tripleshot.datasets.dataset import FewShotDataset
from tripleshot.datasets.held_back import train_without_held_back
from tripleshot.errors import InputError
from tripleshot.evaluation.protocol import evaluate
from tripleshot.methods import find_method
from tripleshot.methods.embedding import method as embedding
from tripleshot.methods.embedding.method import fit_relation, mean_square
from tripleshot.methods.embedding.models import SCORINGS, Relations
from tripleshot.methods.embedding.settings import DEFAULTS, EmbeddingSettings
from tripleshot.training.fit import fit, train_run
from tripleshot.training.runs import load_trained_weights, save_names

QUICK = EmbeddingSettings(
    width=8,
    batch_size=32,
    num_negatives=4,
    steps=30,
    warmup=5,
    validate_every=15,
    patience=0,
    checkpoint_every=12,
    fitting_steps=5,
)


def make(name, settings):
    return find_method(name).method_class()(settings)


def fitted(tiny, name="transe", settings=QUICK, folder=None):
    method = make(name, settings)
    fit(method, tiny, 3, folder)
    return method


@pytest.mark.parametrize("name", SCORINGS)
def test_scores_are_those_of_the_relation_that_was_trained_with_the_examples(tiny, name, monkeypatch):
    monkeypatch.setattr(embedding, "SCORING_BATCH", 3)
    method = fitted(tiny, name)
    support, head, tails = question(tiny)
    relation = tiny.graph.num_relations + len(tiny.train) + len(tiny.valid)
    relations = Relations(method.module.tables(), torch.tensor([relation]))
    expected = [
        method.module.score(method.module.entity_vectors(torch.tensor([[head, tail]])), relations).item()
        for tail in tails.tolist()
    ]
    np.testing.assert_allclose(method.score(support, head, tails), expected, atol=1e-5)
    np.testing.assert_array_equal(method.score(support[::-1], head, tails), method.score(support, head, tails))


@pytest.mark.parametrize(
    "change",
    [
        {"loss": "softplus", "regularization": 0.1},
        {"optimizer": "adam", "learning_rate": 0.01},
        {"filtered": True, "bernoulli": False},
        {"norm": 2, "clip": 1.0},
        {"loss": "softmax", "num_negatives": 1, "shared_negatives": 8},
    ],
    ids=str,
)
def test_every_variant_trains(tiny, change):
    scores = fitted(tiny, "transh", replace(QUICK, **change)).score(*question(tiny))
    assert np.isfinite(scores).all()


def test_what_is_held_back_is_not_learned_from_and_the_background_is(tiny):
    method, everything = make("transe", replace(QUICK, held_back=0.5)), make("transe", QUICK)
    method.prepare(tiny, 3)
    everything.prepare(tiny, 3)
    seen, there = (len(one.stages()[0].losses.args[0].triples.heads) for one in (method, everything))
    kept, all_pairs = (sum(len(task.pairs) for task in one.train) for one in (train_without_held_back(tiny, 0.5), tiny))
    assert there - seen == all_pairs - kept > 0


@pytest.mark.parametrize("name", SCORINGS)
def test_it_overfits_a_tiny_graph(tiny, name):
    """What it was trained on, it knows: the train tasks, asked as if they were test tasks.

    Relations that go in circles are left out, for no translation can hold them.
    """
    graph = tiny.graph.without_relations(tiny.graph.relations.ids(["knows", "twin of"]))
    settings = replace(DEFAULTS[name], width=16, batch_size=64, num_negatives=8, steps=250, warmup=5, regularization=0)
    method = make(name, replace(settings, norm=2, margin=1.0))
    fit(method, replace(tiny, graph=graph, valid=(), test=()), 3)
    memorized = FewShotDataset("seen", graph, (), (), tiny.train)
    assert evaluate(method, memorized, 3).mrr > 0.9


@pytest.mark.parametrize("name", SCORINGS)
def test_a_new_relation_is_fitted_to_its_examples(tiny, name):
    """The closed form already prefers the examples' tails to others, and some steps do no harm to that."""
    settings = replace(QUICK, steps=200, width=16)
    method = fitted(tiny, name, replace(settings, loss=DEFAULTS[name].loss))
    support = tiny.valid[0].pairs[4:10]
    tails = np.arange(tiny.graph.num_entities)
    above = [
        np.mean(method.score(support, int(head), tails[tail : tail + 1]) > method.score(support, int(head), tails))
        for head, tail in support
    ]
    assert np.mean(above) > 0.6


def test_the_closed_form_of_a_translation_is_the_mean_difference(tiny):
    method = fitted(tiny, settings=replace(QUICK, fitting_steps=0))
    support = tiny.valid[0].pairs[4:8].astype(np.int64)
    vectors = method.module.entity_vectors(torch.from_numpy(support)).detach()
    expected = (vectors[:, 1] - vectors[:, 0]).mean(0)
    found = fit_relation(method.module, support, method.settings)
    torch.testing.assert_close(found["vectors"][0], expected)


def test_a_new_relation_is_the_same_whenever_wherever_and_in_whatever_order_it_is_asked(tiny, monkeypatch):
    monkeypatch.setattr(embedding, "MAX_FITTED", 2)
    method = fitted(tiny)
    _, head, tails = question(tiny)
    supports = [tiny.valid[0].pairs[start : start + 3] for start in (4, 7, 10)]
    expected = [method.score(support, head, tails) for support in supports]
    again = fitted(tiny)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda support: again.score(support[::-1], head, tails), supports * 4))
    for i, scores in enumerate(found):
        np.testing.assert_array_equal(scores, expected[i % 3])


def test_a_new_relation_can_be_fitted_inside_inference_mode(tiny):
    method = fitted(tiny)
    support, head, tails = question(tiny)
    with torch.inference_mode():
        assert np.isfinite(method.score(support[:2], head, tails)).all()


def test_resuming_gives_the_weights_of_an_uninterrupted_run(tiny, tmp_path):
    whole = fitted(tiny, "transr", folder=tmp_path)
    broken = tmp_path / "broken"
    broken.mkdir()

    with pytest.raises(RuntimeError, match="power cut"):
        fit(make("transr", QUICK), tiny, 3, broken, callback=cut_power_at(20))
    resumed = make("transr", QUICK)
    fit(resumed, tiny, 3, broken, resume=True)
    for (name, left), right in zip(
        whole.module.state_dict().items(), resumed.module.state_dict().values(), strict=True
    ):
        assert torch.equal(left, right), name


def test_a_run_goes_by_names_on_a_graph_that_has_grown(tiny, tmp_path):
    method = fitted(tiny, folder=tmp_path)
    save_names(tiny.graph, tmp_path)
    order = np.random.default_rng(0).permutation(tiny.graph.num_entities)
    names = tiny.graph.entities.names.take(order)
    places = np.argsort(order)
    entities = replace(tiny.graph.entities, names=names)
    graph = replace(
        tiny.graph, entities=entities, head_ids=places[tiny.graph.head_ids], tail_ids=places[tiny.graph.tail_ids]
    ).with_types(None)
    grown = graph.with_triples([("newcomer", "knows", "person:1")])
    again = make("transe", QUICK)
    again.restore(FewShotDataset("grown", grown, (), (), ()), load_trained_weights(tmp_path))
    support, head, tails = question(tiny)
    found = again.score(places[support], int(places[head]), places[tails])
    np.testing.assert_allclose(found, method.score(support, head, tails), atol=1e-6)
    newcomer = np.array([grown.num_entities - 1])
    assert np.isfinite(again.score(places[support], int(places[head]), newcomer)).all()


def test_a_method_starts_from_the_vectors_of_another(tiny, tmp_path):
    settings = replace(QUICK, steps=3)
    train_run("transe", tiny, 3, tmp_path, settings=asdict(settings))
    weights = load_trained_weights(tmp_path)
    later = make("transr", settings)
    later.prepare(tiny, 3)
    later.start_from(weights)
    for name in ("entities.weight", "relations.vectors"):
        assert torch.equal(later.module.state_dict()[name], weights.tensors[name])
    for variant, width in (("rescal", settings.width), ("transr", settings.width + 1)):
        other = make(variant, replace(settings, width=width))
        other.prepare(tiny, 3)
        with pytest.raises(InputError, match="as wide and for as many relations"):
            other.start_from(weights)


def test_numbers_of_a_matrix_are_held_back_as_much_as_those_of_a_vector():
    vectors, matrices = torch.ones(3, 4, requires_grad=True), torch.ones(3, 4, 4, requires_grad=True)
    of_vectors, of_matrices = torch.autograd.grad(mean_square(vectors) + mean_square(matrices), (vectors, matrices))
    torch.testing.assert_close(of_vectors, torch.full((3, 4), 1 / 6))
    torch.testing.assert_close(of_matrices, torch.full((3, 4, 4), 1 / 6))
