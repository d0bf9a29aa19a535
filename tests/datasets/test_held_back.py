import numpy as np
import pytest

from graphs import make_graph
from tripleshot.datasets.dataset import FewShotDataset, Task
from tripleshot.datasets.episodes import EpisodeSampler
from tripleshot.datasets.held_back import is_held_back, train_without_held_back, without_held_back

SHARE = 0.3


def triples_of(dataset):
    """Return all triples of a dataset's graph and train tasks, by names of relations and ids of entities."""
    graph = dataset.graph
    names = graph.relations.names.to_pylist()
    columns = (graph.head_ids, graph.relation_ids, graph.tail_ids)
    of_graph = {
        (head, names[relation], tail) for head, relation, tail in zip(*(c.tolist() for c in columns), strict=True)
    }
    return of_graph | {(head, task.name, tail) for task in dataset.train for head, tail in task.pairs.tolist()}


@pytest.fixture(scope="module")
def dataset():
    graph = make_graph(
        [(f"a{n}", f"r{relation}", f"b{(n * relation) % 17}") for relation in range(1, 5) for n in range(60)]
    )
    pairs = np.array([[n, 60 + n % 7] for n in range(60)])
    return FewShotDataset("held", graph, (Task.of("t0", pairs), Task.of("t1", pairs[:, [0, 1]])), (), ())


def test_about_the_share_of_all_triples_is_held_back():
    rows = np.arange(20_000)
    held = is_held_back(["r"], rows, np.zeros_like(rows), rows % 91, SHARE)
    assert held.mean() == pytest.approx(SHARE, abs=0.02)
    assert not is_held_back(["r"], rows, np.zeros_like(rows), rows, 0.0).any()
    assert is_held_back(["r"], rows, np.zeros_like(rows), rows, 1.0).all()


def test_what_is_held_back_follows_from_the_triple_alone():
    rows = np.arange(500)
    held = is_held_back(["r", "s"], rows, rows % 2, rows[::-1], SHARE)
    again = is_held_back(["s", "r"], rows[::-1], 1 - rows[::-1] % 2, rows, SHARE)
    np.testing.assert_array_equal(held, again[::-1])
    other = is_held_back(["r", "t"], rows, rows % 2, rows[::-1], SHARE)
    np.testing.assert_array_equal(held[::2], other[::2])
    assert (held[1::2] != other[1::2]).any()


def test_graph_and_train_tasks_lack_what_is_held_back_and_nothing_else(dataset):
    kept = without_held_back(dataset, SHARE)
    missing = triples_of(dataset) - triples_of(kept)
    assert 0.2 < len(missing) / len(triples_of(dataset)) < 0.4
    assert triples_of(kept) < triples_of(dataset)
    assert kept.graph.num_entities == dataset.graph.num_entities
    assert kept.graph.relations is dataset.graph.relations


def test_train_tasks_can_lack_what_is_held_back_while_the_graph_keeps_it(dataset):
    kept, of_both = train_without_held_back(dataset, SHARE), without_held_back(dataset, SHARE)
    assert kept.graph is dataset.graph
    for task, expected in zip(kept.train, of_both.train, strict=True):
        np.testing.assert_array_equal(task.pairs, expected.pairs)


@pytest.mark.parametrize("regime", ["pre-train", "in-train"])
def test_episodes_ask_about_what_is_held_back_alone(dataset, regime):
    missing = triples_of(dataset) - triples_of(without_held_back(dataset, SHARE))
    sampler = EpisodeSampler(dataset, 3, num_queries=8, num_negatives=2, regime=regime, held_back=SHARE)
    rng, names = np.random.default_rng(0), set()
    for _ in range(60):
        episode = sampler.draw(rng)
        found = [name for name in sampler.pool.names if {(h, name, t) for h, t in episode.queries.tolist()} <= missing]
        assert found
        names.update(found)
        support = {tuple(pair) for pair in episode.support.tolist()}
        assert len(support) == 3
        assert not support & {tuple(pair) for pair in episode.queries.tolist()}
    assert len(names) == len(sampler.pool.names)


def test_a_share_of_the_episodes_can_ask_about_what_was_held_back_and_the_others_about_all(dataset):
    missing = triples_of(dataset) - triples_of(without_held_back(dataset, SHARE))
    sampler = EpisodeSampler(dataset, 3, num_queries=8, held_back=SHARE, held_back_episodes=0.5)
    rng, about_held_back = np.random.default_rng(0), []
    for _ in range(200):
        queries = sampler.draw(rng).queries.tolist()
        about_held_back.append(any({(h, name, t) for h, t in queries} <= missing for name in sampler.pool.names))
    assert 0.35 < np.mean(about_held_back) < 0.65


def test_a_relation_of_which_nothing_was_held_back_is_asked_about_all_the_same():
    graph = make_graph([("a", "r", "b"), ("b", "r", "c")])
    task = Task.of("t", np.array([[0, 1], [1, 2], [2, 0]]))
    sampler = EpisodeSampler(FewShotDataset("few", graph, (task,), (), ()), 2, 4, held_back=1e-9)
    episode = sampler.draw(np.random.default_rng(0))
    assert episode.queries.shape == (4, 2)
    assert episode.support.shape == (2, 2)
