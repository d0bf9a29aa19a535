"""Contexts that are read many at a time against contexts that are read one by one."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from tripleshot.datasets.episodes import EpisodeSampler
from tripleshot.errors import InputError
from tripleshot.methods.rscl.contexts import ContextBatch
from tripleshot.methods.rscl.method import RSCLMethod
from tripleshot.methods.rscl.settings import tiny as preset
from tripleshot.methods.rscl.tokens import RELATION
from tripleshot.training.fit import fit

QUICK = replace(preset(), dropout=0.0, learning_rate=0.005, schedule="constant", warmup=5)


def difference(method, support):
    table, first = method.module.elements.weight, method.tokens.first_entity
    return table[support[:, 1] + first].mean(0) - table[support[:, 0] + first].mean(0)


def plain_scores(method, support, head, tails):
    """Encode support and candidates together, one candidate at a time, nothing cached."""
    scores = []
    for tail in tails.tolist():
        heads, ends = np.append(support[:, 0], head), np.append(support[:, 1], tail)
        contexts = method.extractor.extract(heads, ends, RELATION)
        batch = ContextBatch.of(contexts, method.extractor)
        relation = {"shared": None, "own": method.reader.untrained_relation, "difference": difference(method, support)}
        vector = relation[method.settings.relation_token]
        encoded = method.module(batch if vector is None else replace(batch, relation=vector.repeat(len(heads), 1)))
        scores.append(method.module.score(encoded.rows(len(support)), encoded.rows(0, len(support))).item())
    return np.array(scores)


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"use_global": False},
        {"use_local": False},
        {"max_distant": 0},
        {"relation_token": "own"},
        {"relation_token": "difference"},
        {"regime": "in-train"},
        {"top_neighbors": "rare"},
        {"num_negatives": 3, "masking_weight": 0.0},
        {"num_negatives": 2, "hardest_of": 4},
        {"swapped_heads": 0.5, "masking_weight": 0.0, "num_negatives": 2, "relations_per_step": 2},
        {"relations_per_step": 4, "regime": "in-train", "num_negatives": 2},
        {"relations_per_step": 2, "relation_token": "own", "regime": "in-train"},
        {"relations_per_step": 2, "relation_token": "difference"},
        {"connected": True},
        {"connected": True, "relations_per_step": 4, "regime": "in-train", "train_edges": True},
    ],
    ids=str,
)
def test_every_variant_trains_and_scores_like_the_plain_way(tiny, change):
    method = RSCLMethod(replace(QUICK, **change, batch_contexts=3))
    fit(method, tiny, 3)
    task = tiny.test[0]
    support, head, tails = task.support(3), int(task.queries(3)[0, 0]), np.arange(tiny.graph.num_entities)
    with torch.inference_mode():
        expected = plain_scores(method, support, head, tails)
    np.testing.assert_allclose(method.score(support, head, tails), expected, atol=1e-4)


@pytest.mark.parametrize("factorised", [False, True])
def test_the_wrong_answers_that_score_highest_are_kept(tiny, factorised):
    method = RSCLMethod(replace(preset(), dropout=0.5, masking_weight=0.0, factorised=factorised))
    method.prepare(tiny, 3)
    method.module.train()
    rng, again = (np.random.default_rng(1) for _ in range(2))
    sampler = EpisodeSampler(tiny, 3, num_queries=5, num_negatives=8)
    episodes = [sampler.draw(np.random.default_rng(seed)) for seed in range(2)]
    kept = method.reader.keep_hardest(episodes, 3, rng)
    assert method.module.training
    method.module.eval()
    scores = method.reader.read(episodes, again).scores[..., 1:].detach().numpy()
    for before, after, of_wrong in zip(episodes, kept, scores, strict=True):
        hardest = np.argsort(-of_wrong, axis=1)[:, :3]
        np.testing.assert_array_equal(after.negatives, np.take_along_axis(before.negatives, hardest, axis=1))
        np.testing.assert_array_equal(after.queries, before.queries)


def test_several_threads_give_the_same_scores_and_are_left_as_they_were(tiny):
    method = RSCLMethod(replace(QUICK, batch_contexts=4))
    fit(method, tiny, 3)
    task = tiny.test[0]
    question = (task.support(3), int(task.queries(3)[0, 0]), np.arange(tiny.graph.num_entities))
    expected = method.score(*question)
    torch.set_num_threads(2)
    try:
        np.testing.assert_allclose(method.score(*question), expected, atol=1e-5)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(1)


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_swapped_heads_are_those_of_other_queries_beside_the_neighbors_of_their_own(tiny, share, monkeypatch):
    method = RSCLMethod(replace(QUICK, swapped_heads=share, masking_weight=0.0))
    method.prepare(tiny, 3)
    rng, seen = np.random.default_rng(0), []
    monkeypatch.setattr(method.reader.extractor, "extract", watch(method.reader.extractor.extract, seen))
    sampler = EpisodeSampler(tiny, 3, num_queries=8, num_negatives=2)
    episodes = [sampler.draw(rng) for _ in range(2)]
    method.reader.read(episodes, rng)
    (contexts,), p, count = seen, method.extractor.max_neighbors, len(episodes)
    shown = contexts.tokens[:, 2 * p] - method.tokens.first_entity
    support, queries, negatives = np.split(shown, np.cumsum([count * 3, count * 8]))
    np.testing.assert_array_equal(support, np.concatenate([episode.support[:, 0] for episode in episodes]))
    np.testing.assert_array_equal(negatives, np.repeat(queries, 2))
    own = np.concatenate([episode.queries[:, 0] for episode in episodes])
    assert (queries == own).mean() == pytest.approx(1 - share, abs=0.35)
    for row, episode in zip(queries.reshape(count, -1), episodes, strict=True):
        assert set(row) <= set(episode.queries[:, 0])
    tails = contexts.tokens[count * 3 :, 2 * p + 2] - method.tokens.first_entity
    np.testing.assert_array_equal(tails[: count * 8], np.concatenate([episode.queries[:, 1] for episode in episodes]))


def watch(extract, seen):
    """Return what extracts contexts and takes down all of them."""

    def watched(*arguments):
        seen.append(extract(*arguments))
        return seen[-1]

    return watched


@pytest.mark.parametrize("change", [{"masking_weight": 1.0}, {"masking_weight": 0.0, "factorised": True}], ids=str)
def test_swapped_heads_need_whole_contexts_and_no_masking_in_episodes(change):
    with pytest.raises(InputError, match="swapped_heads"):
        replace(preset(), swapped_heads=0.5, **change)
