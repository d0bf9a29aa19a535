from dataclasses import replace

import numpy as np
import pytest

from graphs import make_graph
from tripleshot.answering.explaining import explain, order_reasons, roll_out
from tripleshot.datasets.dataset import FewShotDataset
from tripleshot.graph.paths import find_connections
from tripleshot.methods import create_method
from tripleshot.methods.protocol import ExplainingMethod, Reason
from tripleshot.methods.rscl.method import RSCLMethod
from tripleshot.methods.rscl.settings import RSCLSettings
from tripleshot.training.fit import fit

SMALL = RSCLSettings(width=16, num_layers=2, num_heads=2, max_neighbors=4, max_distant=2)


def untrained(dataset, **changes):
    method = RSCLMethod(replace(SMALL, **changes))
    method.prepare(dataset, 3)
    return method


def question(tiny):
    task = tiny.test[0]
    return task.support(3), *task.queries(3)[0].tolist()


def edges_of(graph):
    triples = list(zip(graph.head_ids.tolist(), graph.relation_ids.tolist(), graph.tail_ids.tolist(), strict=True))
    return set(triples) | {(tail, relation + graph.num_relations, head) for head, relation, tail in triples}


@pytest.fixture
def explanation(tiny):
    return explain(untrained(tiny), *question(tiny))


def test_rollout_of_a_case_done_by_hand():
    """Halved with the identity, the maps are [[1, 0], [1/4, 3/4]] and [[3/5, 2/5], [0, 1]]."""
    first, last = np.array([[1, 0], [0.5, 0.5]]), np.array([[0.2, 0.8], [0, 1]])
    np.testing.assert_allclose(roll_out(np.stack([first, last]), np.array([0])), [0.7, 0.3])
    np.testing.assert_allclose(roll_out(np.stack([first, last]), np.array([0, 1])), [0.475, 0.525])


def test_rollout_is_the_product_of_all_layers_and_sums_to_one():
    layers = np.random.default_rng(0).dirichlet(np.ones(7), size=(3, 7))
    halves = [(layer + np.eye(7)) / 2 for layer in layers]
    expected = (halves[2] @ halves[1] @ halves[0])[2:5].mean(axis=0)
    found = roll_out(layers, np.arange(2, 5))
    np.testing.assert_allclose(found, expected)
    assert found.sum() == pytest.approx(1)


def test_the_score_is_the_methods_own(tiny, explanation):
    support, head, tail = question(tiny)
    assert explanation.score == untrained(tiny).score(support, head, np.array([tail]))[0]
    assert (explanation.head, explanation.tail) == (head, tail)


def test_examples_come_in_order_with_weights_that_sum_to_one(tiny, explanation):
    support, _, _ = question(tiny)
    assert [[example.head, example.tail] for example in explanation.examples] == support.tolist()
    assert sum(example.global_weight for example in explanation.examples) == pytest.approx(1)
    assert sum(example.local_weight for example in explanation.examples) == pytest.approx(1)
    assert sum(example.weight for example in explanation.examples) == pytest.approx(1)


def test_neighbors_are_those_of_the_context(tiny, explanation):
    _, head, tail = question(tiny)
    extractor = untrained(tiny).extractor
    for side, entity in (("head", head), ("tail", tail)):
        expected = extractor.neighbors(np.array([entity]))
        listed = [neighbor for neighbor in explanation.neighbors if neighbor.side == side]
        pairs = int(expected.num_pairs[0])
        assert [neighbor.entity for neighbor in listed] == expected.entities[0, :pairs].tolist()
        assert [neighbor.relation for neighbor in listed] == expected.relations[0, :pairs].tolist()
        assert sum(neighbor.hops == 1 for neighbor in listed) == expected.num_direct[0]
        assert sum(neighbor.local_weight for neighbor in listed if neighbor.hops == 1) == pytest.approx(1)


def test_every_neighbors_edge_exists_where_it_is_said_to_be(tiny):
    """Direct edges leave the side's entity, distant ones a direct neighbor of it in the same context."""
    edges, method = edges_of(tiny.graph), untrained(tiny, max_neighbors=6, max_distant=4)
    distant = 0
    for head, tail in tiny.test[0].queries(3).tolist():
        explanation = explain(method, tiny.test[0].support(3), head, tail)
        for neighbor in explanation.neighbors:
            center = head if neighbor.side == "head" else tail
            start = center if neighbor.hops == 1 else neighbor.through
            assert (start, neighbor.relation, neighbor.entity) in edges
            if neighbor.hops == 2:
                distant += 1
                assert neighbor.local_weight is None
                assert neighbor.through in [near.entity for near in explanation.around(neighbor.side)]
    assert distant > 0


def test_the_same_distant_neighbor_reached_twice_came_through_two_neighbors():
    triples = [("head", "near", "first"), ("head", "near", "second"), ("x", "near", "y")]
    graph = make_graph([*triples, ("first", "part of", "whole"), ("second", "part of", "whole")])
    support = np.array([graph.entities.ids(["x", "y"])])
    head, tail = graph.entities.ids(["head", "y"]).tolist()
    explanation = explain(untrained(FewShotDataset("twice", graph, (), (), ())), support, head, tail)
    through = {far.through for far in explanation.around("head", hops=2)}
    assert through == set(graph.entities.ids(["first", "second"]).tolist())


def test_attention_to_neighbors_and_to_the_triple_sums_to_one(tiny, explanation):
    layers = untrained(tiny).attention(*question(tiny)).layers
    assert layers is not None
    first = 2 * sum(neighbor.side == "head" for neighbor in explanation.neighbors)
    triple = roll_out(layers, np.arange(first, first + 3))[first : first + 3].sum()
    assert sum(neighbor.attention for neighbor in explanation.neighbors) + triple == pytest.approx(1)


def test_the_attention_of_a_neighbor_is_that_of_its_two_tokens(tiny, explanation):
    layers = untrained(tiny).attention(*question(tiny)).layers
    assert layers is not None
    center = explanation.tokens.index("the new relation") - 1
    shares = roll_out(layers, np.arange(center, center + 3))
    nearest = next(neighbor for neighbor in explanation.neighbors if neighbor.side == "head")
    assert explanation.tokens[center - 2] == tiny.graph.entities.label(nearest.entity)
    assert nearest.attention == pytest.approx(shares[center - 2] + shares[center - 1])
    outermost = explanation.neighbors[-1]
    assert explanation.tokens[-1] == tiny.graph.entities.label(outermost.entity)
    assert outermost.attention == pytest.approx(shares[-2] + shares[-1])


def test_tokens_name_the_context_from_left_to_right(tiny):
    graph = tiny.graph
    person, city = graph.entities.ids(["person:0", "city:0"]).tolist()
    support = tiny.test[0].support(3)
    explanation = explain(untrained(tiny, max_neighbors=3), support, person, city)
    tokens = explanation.tokens
    assert tokens[4:9] == ("city:0", "← lives in", "person:0", "the new relation", "city:0")
    assert tokens[9:11] == ("← lives in", "person:0")
    assert explanation.attention is not None
    assert explanation.attention.shape == (len(tokens), len(tokens))
    np.testing.assert_allclose(explanation.attention.sum(axis=1), 1, atol=1e-6)


def test_connections_are_those_of_the_graph(tiny, explanation):
    _, head, tail = question(tiny)
    assert explanation.connections == find_connections(tiny.graph, head, tail)
    assert explanation.connections


def test_without_an_encoder_its_weights_are_missing(tiny):
    without_global = explain(untrained(tiny, use_global=False), *question(tiny))
    assert without_global.attention is None
    assert without_global.tokens == ()
    assert all(neighbor.attention is None for neighbor in without_global.neighbors)
    assert all(example.global_weight is None for example in without_global.examples)
    assert all(example.weight == example.local_weight for example in without_global.examples)
    without_local = explain(untrained(tiny, use_local=False), *question(tiny))
    assert all(neighbor.local_weight is None for neighbor in without_local.neighbors)
    assert all(neighbor.weight == neighbor.attention for neighbor in without_local.neighbors)


@pytest.mark.parametrize("name", ["degree", "support-frequency", "linked", "evidence"])
def test_a_method_without_attention_is_explained_by_its_reasons(tiny, name):
    method = create_method(name)
    fit(method, tiny, 3)
    support, head, tail = question(tiny)
    explanation = explain(method, support, head, tail)
    assert explanation.score == method.score(support, head, np.array([tail]))[0]
    assert isinstance(method, ExplainingMethod)
    assert explanation.reasons == order_reasons(method.explain(support, head, tail))
    assert {example.weight for example in explanation.examples} == {None}
    assert {neighbor.weight for neighbor in explanation.neighbors} == {None}
    _, entities = tiny.graph.adjacency.edges(head)
    assert [neighbor.entity for neighbor in explanation.around("head")] == entities[:8].tolist()


def test_entities_without_edges_can_be_explained(tiny):
    bare = replace(tiny, graph=tiny.graph.without_relations(np.arange(tiny.graph.num_relations)))
    explanation = explain(untrained(bare), *question(bare))
    assert explanation.neighbors == explanation.connections == ()
    assert len(explanation.tokens) == 3


def test_the_same_question_has_the_same_explanation(tiny, explanation):
    again = explain(untrained(tiny), *question(tiny))
    assert (again.examples, again.neighbors, again.tokens) == (
        explanation.examples,
        explanation.neighbors,
        explanation.tokens,
    )
    np.testing.assert_array_equal(again.attention, explanation.attention)


def test_reasons_for_come_before_those_against_and_the_start_is_last():
    given = [("start", 5.0), ("a", -0.2), ("b", 0.1), ("c", -0.9), ("d", 0.7)]
    ordered = order_reasons(Reason(kind, kind, weight) for kind, weight in given)
    assert [reason.kind for reason in ordered] == ["d", "b", "c", "a", "start"]


def test_a_head_that_answers_a_tail_is_explained_in_the_relations_own_direction(tiny):
    support, head, tail = question(tiny)
    method = create_method("evidence")
    fit(method, tiny, 3)
    explanation = explain(method, support, head, tail, asked_side="tail", relation="works at")
    assert explanation.score == method.score(support[:, ::-1], tail, np.array([head]))[0]
    assert (explanation.head, explanation.tail) == (head, tail)
    assert (explanation.asked, explanation.answer) == (tail, head)
    assert [[example.head, example.tail] for example in explanation.examples] == support.tolist()
    assert explanation.relation == "works at"
    paths = [path for reason in explanation.reasons for path in reason.paths]
    assert paths
    edges = edges_of(tiny.graph)
    for path in paths:
        assert (path.entities[0], path.entities[-1]) == (head, tail)
        for step in zip(path.entities, path.relations, path.entities[1:], strict=False):
            assert step in edges


def test_the_sides_of_neighbors_are_those_of_the_relation(tiny):
    support, head, tail = question(tiny)
    explanation = explain(untrained(tiny), support, head, tail, asked_side="tail")
    edges = edges_of(tiny.graph)
    assert {neighbor.side for neighbor in explanation.neighbors} == {"head", "tail"}
    for neighbor in explanation.neighbors:
        if neighbor.hops == 1:
            center = head if neighbor.side == "head" else tail
            assert (center, neighbor.relation, neighbor.entity) in edges
    assert explanation.neighbors[0].side == "tail"
