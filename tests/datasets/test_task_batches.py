from dataclasses import replace

import numpy as np
import pytest

from tripleshot.datasets import task_batches
from tripleshot.datasets.dataset import Task
from tripleshot.datasets.task_batches import TaskBatchSampler
from tripleshot.errors import InputError


def draw(dataset, count=20, shots=3, num_tasks=64, num_queries=4, **choices):
    sampler = TaskBatchSampler(dataset, shots, num_tasks, num_queries, **choices)
    chance = np.random.default_rng(0)
    return sampler, [sampler.draw(chance) for _ in range(count)]


def truth_of(dataset, name):
    task = next(task for task in dataset.in_train.train if task.name == name)
    return task, set(map(tuple, task.known.tolist()))


def test_a_batch_has_its_shapes(tiny):
    _, batches = draw(tiny, count=1, num_negatives=2)
    batch = batches[0]
    assert batch.tasks.shape == batch.hidden.shape == (64,)
    assert batch.support.shape == (64, 3, 2)
    assert batch.support_negatives.shape == (64, 3)
    assert batch.queries.shape == (64, 4, 2)
    assert batch.negatives.shape == (64, 4, 2)


def test_pairs_are_true_and_distinct_and_negatives_are_wrong_candidates(tiny):
    sampler, batches = draw(tiny, num_negatives=2)
    for batch in batches:
        for index, task_id in enumerate(batch.tasks):
            task, truth = truth_of(tiny, sampler.names[task_id])
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
    _, batches = draw(replace(tiny, train=tiny.train[:1]), count=200, regime="pre-train")
    heads = np.concatenate([batch.support[..., 0].ravel() for batch in batches])
    counts = np.bincount(heads)[np.unique(tiny.train[0].pairs[:, 0])]
    assert counts.min() > 0.9 * counts.mean()
    assert counts.max() < 1.1 * counts.mean()


def test_a_relation_with_few_pairs_repeats_its_queries_only(tiny):
    few = replace(tiny, train=(Task.of("few", tiny.train[1].pairs[:5]),))
    _, batches = draw(few, regime="pre-train")
    for batch in batches:
        for support, queries in zip(batch.support.tolist(), batch.queries.tolist(), strict=True):
            assert len(set(map(tuple, support))) == 3
            assert len(set(map(tuple, queries))) == 2
            assert not set(map(tuple, support)) & set(map(tuple, queries))


def test_background_relations_are_tasks_in_train_only_and_are_named_as_hidden(tiny):
    sampler, batches = draw(tiny, background_share=0.7)
    hidden = np.concatenate([batch.hidden for batch in batches])
    assert 0.65 < (hidden >= 0).mean() < 0.75
    batch = batches[0]
    for task, relation in zip(batch.tasks, batch.hidden, strict=True):
        if relation >= 0:
            assert sampler.names[task] == tiny.graph.relations.name(int(relation))
        else:
            assert sampler.names[task] in {task.name for task in tiny.train}
    _, alone = draw(tiny, regime="pre-train")
    assert all((batch.hidden == -1).all() for batch in alone)


def test_without_train_tasks_the_background_is_all_there_is(tiny):
    sampler, batches = draw(replace(tiny, train=()), background_share=0.1)
    assert sampler.num_train == 0
    assert all((batch.hidden >= 0).all() for batch in batches)


def test_too_many_candidates_are_thinned_out_evenly(tiny, monkeypatch):
    monkeypatch.setattr(task_batches, "MAX_CANDIDATES", 3)
    sampler, _ = draw(tiny)
    assert np.diff(sampler._candidate_offsets).max() == 3


def test_a_dataset_without_enough_triples_is_refused(tiny):
    with pytest.raises(InputError, match="no relation to train on with 50 examples"):
        draw(tiny, shots=50)
