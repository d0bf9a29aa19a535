from dataclasses import replace

import numpy as np
import pytest

from tripleshot.datasets.dataset import FewShotDataset
from tripleshot.datasets.negatives import CorruptingSampler, collect_triples
from tripleshot.errors import InputError


def as_set(triples):
    return set(zip(triples.heads.tolist(), triples.relations.tolist(), triples.tails.tolist(), strict=True))


def test_background_train_tasks_and_examples_are_learnt_from_and_no_query(tiny):
    triples, graph = collect_triples(tiny, 3), tiny.graph
    expected = set(zip(graph.head_ids.tolist(), graph.relation_ids.tolist(), graph.tail_ids.tolist(), strict=True))
    for number, (split, task) in enumerate(tiny.all_tasks()):
        pairs = task.pairs if split == "train" else task.pairs[:3]
        expected |= {(head, graph.num_relations + number, tail) for head, tail in pairs.tolist()}
    assert as_set(triples) == expected
    assert len(triples.heads) == len(expected)
    assert triples.num_relations == graph.num_relations + 5
    assert triples.supports[4].tolist() == tiny.test[1].pairs[:3].tolist()


def test_a_task_with_fewer_examples_is_filled_up(tiny):
    short = replace(tiny.train[0], pairs=tiny.train[0].pairs[:2])
    supports = collect_triples(replace(tiny, train=(short,)), 3).supports
    assert supports[0, 2].tolist() == [-1, -1]


def test_nothing_to_learn_from_is_one_clear_error(tiny):
    empty = tiny.graph.without_relations(np.arange(tiny.graph.num_relations))
    with pytest.raises(InputError, match="no triple to learn from"):
        collect_triples(FewShotDataset("empty", empty, (), (), ()), 3)


@pytest.mark.parametrize("filtered", [False, True])
def test_a_batch_is_of_true_triples_and_wrong_entities(tiny, filtered):
    triples = collect_triples(tiny, 3)
    known = as_set(triples)
    sampler = CorruptingSampler(triples, tiny.graph.num_entities, 200, 8, filtered=filtered)
    batch = sampler.draw(np.random.default_rng(0))
    assert (np.diff(batch.relations) >= 0).all()
    assert batch.entities.shape == (200, 10)
    assert 0 < batch.backwards.mean() < 1
    num_known = 0
    for relation, row, turned in zip(batch.relations, batch.entities, batch.backwards, strict=True):
        given, true, *wrong = row.tolist()
        assert ((true, relation, given) if turned else (given, relation, true)) in known
        num_known += sum(((w, relation, given) if turned else (given, relation, w)) in known for w in wrong)
    assert (num_known == 0) == filtered


def test_heads_are_replaced_more_often_where_a_head_has_many_tails(tiny):
    """All twenty people live in four cities: a wrong person is likely true, a wrong city less so."""
    triples = collect_triples(tiny, 3)
    shares = CorruptingSampler(triples, tiny.graph.num_entities, 1, 1).head_shares
    assert shares[tiny.graph.relations.id("lives in")] == pytest.approx(4 / 24)
    assert shares[tiny.graph.relations.id("knows")] == pytest.approx(0.5)
    assert set(CorruptingSampler(triples, tiny.graph.num_entities, 1, 1, bernoulli=False).head_shares) == {0.5}
