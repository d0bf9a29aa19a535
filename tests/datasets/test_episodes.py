from dataclasses import replace

import numpy as np
import pytest

from tripleshot.datasets.episodes import EpisodeSampler
from tripleshot.errors import InputError


def draw(dataset, count=200, **choices):
    sampler = EpisodeSampler(dataset, shots=3, batch_size=8, **choices)
    chance = np.random.default_rng(0)
    return sampler, [sampler.draw(chance) for _ in range(count)]


def test_an_episode_has_its_shapes(tiny):
    _, episodes = draw(tiny, num_negatives=4)
    for episode in episodes:
        assert episode.support.shape == (3, 2)
        assert episode.queries.shape == (8, 2)
        assert episode.negatives.shape == (8, 4)
        assert episode.hidden is None


def test_queries_are_true_and_not_in_the_support(tiny):
    _, episodes = draw(tiny)
    for episode in episodes:
        truth = set(map(tuple, tiny.train[episode.task].pairs.tolist()))
        support = set(map(tuple, episode.support.tolist()))
        queries = set(map(tuple, episode.queries.tolist()))
        assert support | queries <= truth
        assert not support & queries


def test_negatives_are_candidates_that_are_not_known_to_be_true(tiny):
    _, episodes = draw(tiny, num_negatives=5)
    for episode in episodes:
        task = tiny.train[episode.task]
        candidates = set(tiny.candidates(task).tolist())
        for (head, _), tails in zip(episode.queries.tolist(), episode.negatives.tolist(), strict=True):
            assert set(tails) <= candidates - set(task.known_tails(head).tolist())


def test_few_queries_are_repeated_to_fill_the_batch(tiny):
    sampler = EpisodeSampler(tiny, shots=3, batch_size=50)
    assert sampler.draw(np.random.default_rng(0)).queries.shape == (50, 2)


def test_in_train_draws_background_relations_and_says_what_to_hide(tiny):
    sampler, episodes = draw(tiny, regime="in-train", background_share=0.5)
    hidden = [episode.hidden for episode in episodes if episode.hidden is not None]
    assert len(hidden) / len(episodes) == pytest.approx(0.5, abs=0.1)
    assert set(hidden) == {0, 1, 2, 3}
    assert sampler.num_train == 2


def test_valid_and_test_tasks_are_never_drawn(tiny):
    changed = replace(tiny, valid=(), test=())
    assert [e.queries.tolist() for e in draw(tiny)[1]] == [e.queries.tolist() for e in draw(changed)[1]]


def test_nothing_to_train_on_is_one_clear_error(tiny):
    with pytest.raises(InputError, match="no relation to train on"):
        EpisodeSampler(replace(tiny, train=()), shots=3, batch_size=8)


def test_wrong_answers_stand_for_all_candidates(tiny):
    _, episodes = draw(tiny, count=5, num_negatives=4)
    for episode in episodes:
        candidates = tiny.candidates(tiny.train[episode.task])
        assert episode.weight * 4 == pytest.approx(len(candidates))


def test_an_episode_hides_its_own_train_edges_and_is_drawn_no_oftener(tiny):
    shown = tiny.with_train_edges
    sampler, episodes = draw(shown, regime="in-train", background_share=0.5)
    assert len(sampler.tasks) == len(EpisodeSampler(tiny, 3, 8, regime="in-train").tasks)
    for episode in episodes:
        assert episode.hidden is not None
        edges = shown.graph.relation_ids == episode.hidden
        pairs = np.stack([shown.graph.head_ids[edges], shown.graph.tail_ids[edges]], axis=1).tolist()
        assert all(query in pairs for query in episode.queries.tolist())
