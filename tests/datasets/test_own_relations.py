import numpy as np

import tripleshot as ts
from tripleshot.datasets.own_relations import sample_relations

TRIPLES = [
    *((f"person {number}", "lives in", f"city {number % 7}") for number in range(50)),
    *((f"person {number}", "lives in", f"city {(number + 1) % 7}") for number in range(0, 50, 5)),
    *((f"city {number}", "lies in", "the country") for number in range(7)),
    ("person 0", "is married to", "person 1"),
    *((f"person {number}", "knows", f"person {number + 1}") for number in range(20)),
]


def sample(**about):
    return sample_relations(ts.read_graph(TRIPLES), np.random.default_rng(0), **about)


def test_relations_with_a_single_pair_or_a_single_tail_teach_nothing():
    assert [task.name for task in sample()] == ["lives in", "knows"]
    assert [len(task.pairs) for task in sample()] == [60, 20]


def test_relations_and_pairs_are_bounded_and_drawn_by_the_generator_alone():
    (task,) = sample(max_relations=1, max_pairs=10)
    assert len(task.pairs) == 10
    again = sample(max_relations=1, max_pairs=10)[0]
    assert (task.name, task.pairs.tolist()) == (again.name, again.pairs.tolist())


def test_everything_true_about_the_heads_of_drawn_pairs_is_known():
    graph = ts.read_graph(TRIPLES)
    (task,) = sample_relations(graph, np.random.default_rng(1), max_pairs=10, without=["knows"])
    heads = set(task.pairs[:, 0].tolist())
    expected = {
        (graph.entities.id(head), graph.entities.id(tail))
        for head, relation, tail in TRIPLES
        if relation == "lives in" and graph.entities.id(head) in heads
    }
    assert {(head, tail) for head, tail in task.known.tolist()} == expected


def test_candidates_are_all_tails_of_the_relation_where_there_are_no_types():
    graph = ts.read_graph(TRIPLES)
    (task,) = sample_relations(graph, np.random.default_rng(1), max_pairs=3, without=["knows"])
    assert task.given_candidates is not None
    names = [graph.entities.name(entity) for entity in task.given_candidates.tolist()]
    assert sorted(names) == [f"city {number}" for number in range(7)]
