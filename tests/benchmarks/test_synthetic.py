import numpy as np
import pytest

from synthetic import synthetic_dataset, synthetic_graph

SIZE = (3000, 20_000, 40)


@pytest.fixture(scope="module")
def graph():
    return synthetic_graph(*SIZE, self_loops=0.02)


def columns(graph):
    return np.stack([graph.head_ids, graph.relation_ids, graph.tail_ids], axis=1)


def test_it_has_the_size_that_was_asked_for_and_no_triple_twice(graph):
    assert (graph.num_entities, graph.num_triples, graph.num_relations) == SIZE
    assert len(np.unique(columns(graph), axis=0)) == graph.num_triples


def test_the_same_seed_gives_the_same_graph(graph):
    assert np.array_equal(columns(synthetic_graph(*SIZE, self_loops=0.02)), columns(graph))
    assert not np.array_equal(columns(synthetic_graph(*SIZE, self_loops=0.02, seed=1)), columns(graph))


def test_every_entity_has_a_triple_and_a_few_have_many(graph):
    assert graph.degrees.min() > 0
    assert graph.degrees.max() > 20 * np.median(graph.degrees)


def test_as_many_triples_are_loops_as_were_asked_for(graph):
    assert np.mean(graph.head_ids == graph.tail_ids) == pytest.approx(0.02, abs=0.005)


def test_tasks_have_candidates_of_few_types():
    dataset = synthetic_dataset(*SIZE)
    assert min(len(dataset.train), len(dataset.valid), len(dataset.test)) > 0
    for _, task in dataset.all_tasks():
        assert 50 < len(task.pairs) < 500
        assert 10 < len(dataset.candidates(task)) <= SIZE[0] // 8
