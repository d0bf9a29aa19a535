from dataclasses import replace

import numpy as np
import pytest

from tripleshot.datasets import episodes
from tripleshot.datasets.dataset import Task
from tripleshot.datasets.episodes import EpisodeSampler, TaskBatchSampler
from tripleshot.errors import InputError


def draw_episodes(dataset, count=200, **choices):
    sampler = EpisodeSampler(dataset, shots=3, num_queries=8, **choices)
    rng = np.random.default_rng(0)
    return sampler, [sampler.draw(rng) for _ in range(count)]


def test_an_episode_has_its_shapes(tiny):
    _, episodes = draw_episodes(tiny, num_negatives=4)
    for episode in episodes:
        assert episode.support.shape == (3, 2)
        assert episode.queries.shape == (8, 2)
        assert episode.negatives.shape == (8, 4)
        assert episode.hidden.is_none


def test_queries_are_true_and_not_in_the_support(tiny):
    _, episodes = draw_episodes(tiny)
    for episode in episodes:
        truth = set(map(tuple, tiny.train[episode.task].pairs.tolist()))
        support = set(map(tuple, episode.support.tolist()))
        queries = set(map(tuple, episode.queries.tolist()))
        assert support | queries <= truth
        assert not support & queries


def test_negatives_are_candidates_that_are_not_known_to_be_true(tiny):
    _, episodes = draw_episodes(tiny, num_negatives=5)
    for episode in episodes:
        task = tiny.train[episode.task]
        candidates = set(tiny.candidates(task).tolist())
        for (head, _), tails in zip(episode.queries.tolist(), episode.negatives.tolist(), strict=True):
            assert set(tails) <= candidates - set(task.known_tails(head).tolist())


def test_few_queries_are_repeated_to_fill_the_batch(tiny):
    sampler = EpisodeSampler(tiny, shots=3, num_queries=50)
    assert sampler.draw(np.random.default_rng(0)).queries.shape == (50, 2)


def test_in_train_draws_background_relations_and_says_what_to_hide(tiny):
    sampler, episodes = draw_episodes(tiny, regime="in-train", background_share=0.5)
    hidden = [episode.hidden.relation for episode in episodes if not episode.hidden.is_none]
    assert len(hidden) / len(episodes) == pytest.approx(0.5, abs=0.1)
    assert set(hidden) == {0, 1, 2, 3}
    assert sampler.pool.num_train == 2


def test_valid_and_test_tasks_are_never_drawn(tiny):
    changed = replace(tiny, valid=(), test=())
    assert [e.queries.tolist() for e in draw_episodes(tiny)[1]] == [
        e.queries.tolist() for e in draw_episodes(changed)[1]
    ]


def test_nothing_to_train_on_is_one_clear_error(tiny):
    with pytest.raises(InputError, match="no relation to train on"):
        EpisodeSampler(replace(tiny, train=()), shots=3, num_queries=8)


def test_mixed_episodes_have_one_example_to_many(tiny):
    sampler, rng = EpisodeSampler(tiny, 1, 2, 3), np.random.default_rng(0)
    drawn = [sampler.draw_mixed(rng, 3, 0.5) for _ in range(60)]
    assert {len(episode.support) for episode in drawn} == {1, 2, 3}
    assert len({episode.weight for episode in drawn if episode.task == 0}) == 2
    assert {len(sampler.draw_mixed(rng, 0, 0.0).support) for _ in range(9)} == {1}


def test_wrong_answers_stand_for_all_candidates(tiny):
    _, episodes = draw_episodes(tiny, count=5, num_negatives=4)
    for episode in episodes:
        candidates = tiny.candidates(tiny.train[episode.task])
        assert episode.weight * 4 == pytest.approx(len(candidates))


def test_an_episode_hides_its_own_train_edges_and_is_drawn_no_oftener(tiny):
    shown = tiny.with_train_edges
    sampler, episodes = draw_episodes(shown, regime="in-train", background_share=0.5)
    assert sampler.pool.names == EpisodeSampler(tiny, 3, 8, regime="in-train").pool.names
    for episode in episodes:
        assert episode.hidden.relation is not None
        edges = shown.graph.relation_ids == episode.hidden.relation
        pairs = np.stack([shown.graph.head_ids[edges], shown.graph.tail_ids[edges]], axis=1).tolist()
        assert all(query in pairs for query in episode.queries.tolist())


def draw_batches(dataset, count=20, shots=3, num_tasks=64, num_queries=4, **choices):
    sampler = TaskBatchSampler(dataset, shots, num_tasks, num_queries, **choices)
    rng = np.random.default_rng(0)
    return sampler, [sampler.draw(rng) for _ in range(count)]


def truth_of(dataset, name):
    task = next(task for task in dataset.in_train.train if task.name == name)
    return task, set(map(tuple, task.known.tolist()))


def test_a_batch_has_its_shapes(tiny):
    _, batches = draw_batches(tiny, count=1, num_negatives=2)
    batch = batches[0]
    assert batch.tasks.shape == batch.hidden.relations.shape == (64,)
    assert batch.support.shape == (64, 3, 2)
    assert batch.support_negatives.shape == (64, 3)
    assert batch.queries.shape == (64, 4, 2)
    assert batch.negatives.shape == (64, 4, 2)


def test_pairs_are_true_and_distinct_and_negatives_are_wrong_candidates(tiny):
    sampler, batches = draw_batches(tiny, num_negatives=2)
    for batch in batches:
        for index, task_id in enumerate(batch.tasks):
            task, truth = truth_of(tiny, sampler.pool.names[task_id])
            candidates = set(tiny.candidates(task).tolist())
            pairs = [*map(tuple, batch.support[index].tolist()), *map(tuple, batch.queries[index].tolist())]
            assert set(pairs) <= truth
            if len(task.pairs) >= 7:
                assert len(set(pairs)) == len(pairs)
            assert not set(pairs[:3]) & set(pairs[3:])
            for pair, wrong in zip(pairs[:3], batch.support_negatives[index].tolist(), strict=True):
                assert wrong in candidates
                assert (pair[0], wrong) not in truth
            for pair, several in zip(pairs[3:], batch.negatives[index].tolist(), strict=True):
                assert not {(pair[0], wrong) for wrong in several} & truth


def test_every_pair_is_as_likely_in_the_support_as_any_other(tiny):
    _, batches = draw_batches(replace(tiny, train=tiny.train[:1]), count=200, regime="pre-train")
    heads = np.concatenate([batch.support[..., 0].ravel() for batch in batches])
    counts = np.bincount(heads)[np.unique(tiny.train[0].pairs[:, 0])]
    assert counts.min() > 0.9 * counts.mean()
    assert counts.max() < 1.1 * counts.mean()


def test_a_relation_with_few_pairs_repeats_its_queries_only(tiny):
    few = replace(tiny, train=(Task.of("few", tiny.train[1].pairs[:5]),))
    _, batches = draw_batches(few, regime="pre-train")
    for batch in batches:
        for support, queries in zip(batch.support.tolist(), batch.queries.tolist(), strict=True):
            assert len(set(map(tuple, support))) == 3
            assert len(set(map(tuple, queries))) == 2
            assert not set(map(tuple, support)) & set(map(tuple, queries))


def test_background_relations_are_tasks_in_train_only_and_are_named_as_hidden(tiny):
    sampler, batches = draw_batches(tiny, background_share=0.7)
    hidden = np.concatenate([batch.hidden.relations for batch in batches])
    assert 0.65 < (hidden >= 0).mean() < 0.75
    batch = batches[0]
    for task, relation in zip(batch.tasks, batch.hidden.relations, strict=True):
        if relation >= 0:
            assert sampler.pool.names[task] == tiny.graph.relations.name(int(relation))
        else:
            assert sampler.pool.names[task] in {task.name for task in tiny.train}
    _, alone = draw_batches(tiny, regime="pre-train")
    assert all((batch.hidden.relations == -1).all() for batch in alone)


def test_without_train_tasks_the_background_is_all_there_is(tiny):
    sampler, batches = draw_batches(replace(tiny, train=()), background_share=0.1)
    assert sampler.pool.num_train == 0
    assert all((batch.hidden.relations >= 0).all() for batch in batches)


def test_too_many_candidates_are_thinned_out_evenly(tiny, monkeypatch):
    monkeypatch.setattr(episodes, "MAX_BATCH_CANDIDATES", 3)
    sampler, _ = draw_batches(tiny)
    assert (sampler.pool.candidate_ends - sampler.pool.candidate_starts).max() == 3
    assert sampler.pool.num_candidates.max() == 20


def test_relations_with_the_same_candidates_share_them(tiny):
    task = tiny.train[0]
    twice = replace(tiny, train=(task, replace(task, name="again", pairs=task.pairs[::-1])))
    pool = EpisodeSampler(twice, shots=3, num_queries=8).pool
    assert pool.candidates.tolist() == tiny.candidates(task).tolist()
    assert pool.candidate_starts.tolist() == [0, 0]
    assert pool.candidate_ends.tolist() == [len(pool.candidates)] * 2


def test_a_dataset_without_enough_triples_is_refused(tiny):
    with pytest.raises(InputError, match="no relation to train on with 50 examples"):
        draw_batches(tiny, shots=50)
