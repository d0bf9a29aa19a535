from dataclasses import replace

import numpy as np
import pytest
import torch

from learning_checks import (
    assert_queries_change_nothing,
    assert_resumes_to_the_same_weights,
    memorized_mrr,
    question,
    train_start,
)
from quick_settings import quick_meta
from tripleshot.errors import InputError
from tripleshot.evaluation.protocol import evaluate
from tripleshot.methods.fewshot.gradient_step import draw_wrong_tails
from tripleshot.methods.fewshot.metar import MetaR, MetaRMethod, MetaRSettings
from tripleshot.training.fit import fit
from tripleshot.training.runs import load_trained_weights, save_names

QUICK = quick_meta(MetaRSettings, steps=40, batch_size=128, relations_per_step=32)


def fitted(dataset, shots=3, **changes):
    method = MetaRMethod(replace(QUICK, **changes))
    fit(method, dataset, shots)
    return method


def plain_scores(method, support, head, tails):
    """One candidate at a time, nothing cached, and the inner gradient by autograd."""
    vectors = method.module.entities.weight.detach()
    relation = method.module(vectors[torch.from_numpy(support.astype(np.int64))][None])[0].detach().requires_grad_()
    wrong = draw_wrong_tails(method.dataset.graph, support)
    loss = torch.zeros(())
    for (start, end), other in zip(support.tolist(), wrong.tolist(), strict=True):
        near = (vectors[start] + relation - vectors[end]).norm()
        far = (vectors[start] + relation - vectors[other]).norm()
        loss = loss + torch.relu(method.settings.margin + near - far) / len(support)
    (gradient,) = torch.autograd.grad(loss, relation)
    moved = relation.detach() - method.settings.inner_rate * gradient
    return np.array([-(vectors[head] + moved - vectors[tail]).norm().item() for tail in tails.tolist()])


@pytest.mark.parametrize(
    "change",
    [{}, {"regime": "pre-train"}, {"inner_rate": 0.0}, {"num_negatives": 3}, {"match_released_code": True}],
    ids=str,
)
def test_every_variant_trains_and_scores_like_the_plain_way(tiny, change):
    method = fitted(tiny, **change)
    asked = question(tiny)
    np.testing.assert_allclose(method.score(*asked), plain_scores(method, *asked), atol=1e-5)


def test_the_relation_vector_is_the_mean_over_the_examples_of_three_normed_layers():
    torch.manual_seed(0)
    module = MetaR(num_entities=5, shots=2, width=3, dropout=0.5).eval()
    support = torch.randn(1, 2, 2, 3)
    outputs = []
    for place in range(2):
        state = support[0, place].flatten()
        for layer in (module.first, module.second, module.third):
            norm = layer.norm
            state = layer.linear(state)
            mean, variance = (norm.get_buffer(name)[place] for name in ("running_mean", "running_var"))
            state = (state - mean) / (variance + norm.eps).sqrt()
            state = state * norm.weight[place] + norm.bias[place]
            state = state if layer is module.third else torch.nn.functional.leaky_relu(state)
        outputs.append(state)
    torch.testing.assert_close(module(support)[0], torch.stack(outputs).mean(0))


@pytest.mark.parametrize("shots", [1, 3])
def test_it_can_be_asked_with_more_or_fewer_examples_than_it_was_trained_with(tiny, shots):
    method = fitted(tiny, shots)
    for asked in (1, 2, 5):
        assert np.isfinite(method.score(*question(tiny, asked))).all()


def test_one_example_is_enough_to_train_and_evaluate(tiny):
    assert 0 < evaluate(fitted(tiny, 1), tiny, 1).mrr <= 1


def test_it_overfits_a_tiny_graph(tiny):
    assert memorized_mrr(MetaRMethod(replace(QUICK, steps=400, regime="pre-train", width=32)), tiny) > 0.9


def losses_of_a_step(method, dataset):
    method.prepare(dataset, 3)
    method.module.train()
    return method.stages()[0].losses(0, np.random.default_rng(0))


def test_matching_the_released_code_divides_the_gradient_and_minimises_the_examples_loss_too(tiny):
    methods = [MetaRMethod(replace(QUICK, match_released_code=released, dropout=0.0)) for released in (False, True)]
    losses = [losses_of_a_step(method, tiny) for method in methods]
    assert set(losses[0]) == {"query"}
    assert set(losses[1]) == {"query", "support"}
    barely = MetaRMethod(replace(QUICK, inner_rate=QUICK.inner_rate / 32, dropout=0.0))
    torch.testing.assert_close(losses_of_a_step(barely, tiny)["query"], losses[1]["query"])


def test_matching_the_released_code_fixes_batch_norm_after_the_first_validation(tiny):
    method = MetaRMethod(replace(QUICK, match_released_code=True))
    method.prepare(tiny, 3)
    (stage,) = method.stages()
    for step, expected in ((19, True), (20, False)):
        method.module.train()
        stage.losses(step, np.random.default_rng(0))
        assert method.module.training is expected


def test_query_triples_of_any_split_change_nothing(tiny):
    assert_queries_change_nothing(lambda: MetaRMethod(QUICK), tiny)


def test_resuming_gives_the_weights_of_an_uninterrupted_run(tiny, tmp_path):
    assert_resumes_to_the_same_weights(lambda: MetaRMethod(QUICK), tiny, tmp_path, stop_at=33)


def test_a_run_can_be_restored_whatever_its_number_of_examples(tiny, tmp_path):
    method = MetaRMethod(QUICK)
    fit(method, tiny, 2, tmp_path)
    again = MetaRMethod(QUICK)
    again.restore(tiny, load_trained_weights(tmp_path))
    np.testing.assert_array_equal(again.score(*question(tiny, 2)), method.score(*question(tiny, 2)))


def test_on_a_larger_graph_entities_are_found_by_name_and_new_ones_stand_at_the_origin(tiny, tmp_path):
    method = MetaRMethod(QUICK)
    fit(method, tiny, 3, tmp_path)
    save_names(tiny.graph, tmp_path)
    larger = replace(tiny, graph=tiny.graph.with_triples([("person:new", "lives in", "city:0")]))
    again = MetaRMethod(QUICK)
    again.restore(larger, load_trained_weights(tmp_path))
    weights, before = again.module.entities.weight, method.module.entities.weight
    torch.testing.assert_close(weights[: tiny.graph.num_entities], before[:-1])
    assert weights[tiny.graph.num_entities :].abs().max() == 0


def test_weights_that_are_not_there_are_an_error_in_one_line(tiny, tmp_path):
    with pytest.raises(InputError, match="not readable as weights"):
        MetaRMethod(QUICK).restore(tiny, load_trained_weights(tmp_path))


def test_pretrained_vectors_are_where_it_starts_from(tiny, tmp_path):
    start = train_start(tiny, tmp_path, width=16)
    method = fitted(tiny, pretrained=str(tmp_path), steps=1, learning_rate=1e-9, regime="pre-train")
    torch.testing.assert_close(method.module.entities.weight[:-1], torch.from_numpy(start.entities))
