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
from tripleshot.methods.fewshot.gana import (
    GANA,
    LSTM_LAYERS,
    GANAMethod,
    GANASettings,
    Relations,
    gradients,
    project,
)
from tripleshot.methods.fewshot.gradient_step import draw_wrong_tails
from tripleshot.methods.fewshot.neighborhoods import Neighborhoods
from tripleshot.methods.fewshot.settings import make_task_sampler
from tripleshot.training.fit import fit
from tripleshot.training.runs import load_trained_weights, save_names

QUICK = quick_meta(GANASettings, steps=24, batch_size=64, relations_per_step=16, lstm_width=8, max_neighbors=4)


def fitted(dataset, shots=3, **changes):
    method = GANAMethod(replace(QUICK, **changes))
    fit(method, dataset, shots)
    return method


def plain_scores(method, support, head, tails):
    """One candidate at a time, nothing cached, and the inner gradients by autograd."""
    settings, module = method.settings, method.module
    vectors = module.entities.weight.detach()
    ids = torch.from_numpy(support.astype(np.int64))
    relation = module(ids[None], method.finder.find(support.ravel()))[0].detach().requires_grad_()
    normal = module.normal.detach()
    normal = (normal if settings.match_released_code else normal / normal.norm()).requires_grad_()

    def distance(start, end, of_relation, of_normal):
        head_vector, tail_vector = (v - (v @ of_normal) * of_normal for v in (vectors[start], vectors[end]))
        return (head_vector + of_relation - tail_vector).norm()

    loss = torch.zeros(())
    for (start, end), other in zip(
        support.tolist(), draw_wrong_tails(method.dataset.graph, support).tolist(), strict=True
    ):
        near, far = (distance(start, tail, relation, normal) for tail in (end, other))
        loss = loss + torch.relu(settings.margin + near - far) / len(support)
    of_relation, of_normal = torch.autograd.grad(loss, [relation, normal])
    moved = relation.detach() - settings.inner_rate * of_relation
    turned = normal.detach()
    if not settings.match_released_code:
        turned = turned - settings.hyperplane_rate * of_normal
        turned = turned / turned.norm()
    return np.array([-distance(head, tail, moved, turned).item() for tail in tails.tolist()])


@pytest.mark.parametrize(
    "change",
    [{}, {"regime": "pre-train"}, {"hyperplane_rate": 0.0}, {"num_negatives": 3}, {"match_released_code": True}],
    ids=str,
)
def test_every_variant_trains_and_scores_like_the_plain_way(tiny, change):
    method = fitted(tiny, **change)
    asked = question(tiny)
    np.testing.assert_allclose(method.score(*asked), plain_scores(method, *asked), atol=1e-4)


def test_an_entity_is_mixed_with_its_weighted_neighbors_through_a_gate():
    torch.manual_seed(0)
    module = GANA(5, 2, 0, width=3, lstm_width=8, dropout=0.1).eval()
    relations, others = torch.tensor([0, 3, 1]), torch.tensor([2, 4, 0])
    found = Neighborhoods(relations, others, torch.tensor([0, 0, 2]), torch.tensor([2, 0, 1]))
    entities = module.symbols.entities(torch.tensor([1, 2, 3]))
    states = [
        torch.nn.functional.leaky_relu(
            module.edge(torch.cat([module.symbols.relations.weight[r], module.symbols.entities.weight[e]]))
        )
        for r, e in zip(relations, others, strict=True)
    ]
    shares = torch.stack([module.attention(state)[0] for state in states[:2]]).softmax(0)
    neighbors = shares[0] * states[0] + shares[1] * states[1]
    gate = module.gate(neighbors).sigmoid()
    mixed = module.aggregate(entities, found)
    torch.testing.assert_close(mixed[0], gate * neighbors + (1 - gate) * entities[0])
    torch.testing.assert_close(mixed[1], entities[1])


def test_examples_are_attended_to_from_the_final_cells_of_their_own_relation():
    """A relation's vector is the same alone as among others: no state is read across the batch."""
    torch.manual_seed(0)
    module = GANA(9, 2, 0, width=16, lstm_width=8, dropout=0.1).eval()
    support = torch.randint(9, (4, 3, 2))
    none = torch.empty(0, dtype=torch.long)

    def alone(part):
        return module(part, Neighborhoods(none, none, none, torch.zeros(part.numel(), dtype=torch.long)))

    together = alone(support)
    torch.testing.assert_close(together, torch.cat([alone(part[None]) for part in support]))
    states = module.symbols.entities(support[:1]).flatten(2)
    outputs, (_, cells) = module.lstm(states)
    contexts = []
    for layer in range(LSTM_LAYERS):
        final = torch.cat([cells[2 * layer, 0], cells[2 * layer + 1, 0]])
        contexts.append((outputs[0] @ final).softmax(0) @ outputs[0])
    torch.testing.assert_close(together[0], module.relation(torch.cat(contexts)))


def test_without_any_edge_it_trains_and_scores_finitely(tiny):
    bare = replace(tiny, graph=tiny.graph.without_relations(np.arange(tiny.graph.num_relations)))
    assert np.isfinite(fitted(bare).score(*question(bare))).all()


def test_edges_of_the_relation_asked_about_are_not_seen_in_training(tiny, monkeypatch):
    method = GANAMethod(QUICK)
    method.prepare(tiny, 3)
    seen = []
    find = method.finder.find
    monkeypatch.setattr(method.finder, "find", lambda *given: seen.append((given, find(*given))) or seen[-1][1])
    method.stages()[0].losses(0, np.random.default_rng(0))
    ((entities, _, hidden), found) = seen[0]
    batch = make_task_sampler(QUICK, tiny, 3).draw(np.random.default_rng(0))
    np.testing.assert_array_equal(entities, batch.support.ravel())
    relations = found.relations.numpy() % tiny.graph.num_relations
    assert len(relations)
    assert (relations != hidden.relations[found.owners.numpy()]).all()


def test_one_example_is_enough_to_train_and_evaluate(tiny):
    assert 0 < evaluate(fitted(tiny, 1), tiny, 1).mrr <= 1


def test_it_overfits_a_tiny_graph(tiny):
    assert memorized_mrr(GANAMethod(replace(QUICK, steps=300, regime="pre-train", width=32)), tiny) > 0.9


def test_matching_the_released_code_gives_relations_hyperplanes_of_their_own_and_a_new_one_none(tiny):
    method = fitted(tiny, match_released_code=True)
    untrained = GANAMethod(replace(QUICK, match_released_code=True))
    untrained.prepare(tiny, 3)
    own, before = (each.module.state_dict()["own_normals.weight"] for each in (method, untrained))
    assert own.shape == before.shape
    assert not torch.equal(own, before)
    torch.testing.assert_close(method.module.normal, untrained.module.normal)


def test_query_triples_of_any_split_change_nothing(tiny):
    assert_queries_change_nothing(lambda: GANAMethod(QUICK), tiny)


def test_resuming_gives_the_weights_of_an_uninterrupted_run(tiny, tmp_path):
    assert_resumes_to_the_same_weights(lambda: GANAMethod(QUICK), tiny, tmp_path, stop_at=20)


@pytest.mark.parametrize("released", [False, True])
def test_a_run_can_be_restored_also_on_a_larger_graph(tiny, tmp_path, released):
    method = GANAMethod(replace(QUICK, match_released_code=released))
    fit(method, tiny, 3, tmp_path)
    save_names(tiny.graph, tmp_path)
    larger = replace(tiny, graph=tiny.graph.with_triples([("person:new", "likes", "city:0")]))
    for dataset in (tiny, larger):
        again = GANAMethod(method.settings)
        again.restore(dataset, load_trained_weights(tmp_path))
        support, head, tails = question(tiny)
        assert np.isfinite(again.score(support, head, np.arange(dataset.graph.num_entities))).all()
        if dataset is tiny:
            np.testing.assert_array_equal(again.score(support, head, tails), method.score(support, head, tails))


def test_pretrained_symbols_are_where_it_starts_from_and_stay_as_they_are(tiny, tmp_path):
    start = train_start(tiny, tmp_path, width=16)
    method = fitted(tiny, pretrained=str(tmp_path))
    np.testing.assert_array_equal(method.module.symbols.entities.weight[:-1], start.entities)
    assert not np.array_equal(method.module.entities.weight[:-1].detach(), start.entities)


def test_too_few_neighbors_are_refused():
    with pytest.raises(InputError, match="max_neighbors must be 1 or more"):
        replace(QUICK, max_neighbors=0)


def test_a_projection_done_by_hand():
    """(2, 3) along the normal (0, 1) is 3, which goes; along (0.6, 0.8) it is 3.6."""
    vectors = torch.tensor([[2.0, 3.0], [2.0, 3.0]])
    normals = torch.tensor([[0.0, 1.0], [0.6, 0.8]])
    torch.testing.assert_close(project(vectors, normals), torch.tensor([[2.0, 0.0], [-0.16, 0.12]]))


def test_what_is_projected_onto_a_hyperplane_lies_in_it():
    torch.manual_seed(0)
    normals = torch.nn.functional.normalize(torch.randn(5, 7), dim=-1)
    projected = project(torch.randn(5, 7), normals)
    torch.testing.assert_close((projected * normals).sum(-1), torch.zeros(5), atol=1e-6, rtol=0)


def test_residuals_are_head_and_relation_minus_tail_on_the_hyperplane():
    torch.manual_seed(0)
    heads, tails, vectors, normals = torch.randn(4, 3, 5), torch.randn(4, 3, 5), torch.randn(4, 5), torch.randn(4, 5)
    expected = project(heads, normals[:, None]) + vectors[:, None] - project(tails, normals[:, None])
    torch.testing.assert_close(Relations(vectors, normals).residuals(heads - tails), expected)


def test_the_gradients_are_those_of_autograd():
    torch.manual_seed(0)
    relations = Relations(*(torch.randn(6, 4, requires_grad=True) for _ in range(2)))
    near, far = torch.randn(6, 3, 4), 2 * torch.randn(6, 3, 4)
    lengths = (relations.residuals(part).norm(dim=-1) for part in (near, far))
    short, long = lengths
    losses = torch.relu(1.0 + short - long).mean(1)
    expected = torch.autograd.grad(losses.sum(), [relations.vectors, relations.normals])
    found = gradients(relations, near, far, 1.0)
    torch.testing.assert_close(found.vectors, expected[0])
    torch.testing.assert_close(found.normals, expected[1])
