import numpy as np
import pytest

from tripleshot.datasets.held_back import train_without_held_back
from tripleshot.errors import InputError
from tripleshot.methods.fewshot.gmatching import GMatchingSettings
from tripleshot.methods.fewshot.metar import MetaRSettings
from tripleshot.methods.fewshot.settings import make_episode_sampler, make_task_sampler


def test_an_episode_has_the_sizes_of_the_settings(tiny):
    settings = GMatchingSettings(batch_size=8, num_negatives=2)
    episode = make_episode_sampler(settings, tiny, 3).draw(np.random.default_rng(0))
    assert [part.shape for part in (episode.support, episode.queries, episode.negatives)] == [(3, 2), (8, 2), (8, 2)]


def test_episodes_can_ask_about_what_an_embedding_run_held_back(tiny):
    """No query is among the triples that the run has seen."""
    share = 0.5
    sampler = make_episode_sampler(GMatchingSettings(batch_size=8, held_back=share), tiny, 2)
    seen = train_without_held_back(tiny, share).train
    rng = np.random.default_rng(0)
    for _ in range(20):
        episode = sampler.draw(rng)
        known = {tuple(pair) for pair in seen[episode.task].pairs.tolist()}
        assert known.isdisjoint(map(tuple, episode.queries.tolist()))


def test_a_batch_of_tasks_shares_the_queries_among_the_relations(tiny):
    settings = MetaRSettings(batch_size=32, relations_per_step=8, num_negatives=2)
    batch = make_task_sampler(settings, tiny, 3).draw(np.random.default_rng(0))
    shapes = [part.shape for part in (batch.support, batch.queries, batch.negatives)]
    assert shapes == [(8, 3, 2), (8, 4, 2), (8, 4, 2)]


def test_random_vectors_cannot_be_frozen():
    with pytest.raises(InputError, match="must learn"):
        GMatchingSettings(fine_tune=False)


def test_a_dropout_that_is_no_share_is_refused():
    with pytest.raises(InputError, match="encoder_dropout is a share"):
        GMatchingSettings(encoder_dropout=2.0)


def test_settings_that_make_no_sense_are_refused():
    with pytest.raises(InputError, match="relations_per_step must divide batch_size"):
        MetaRSettings(batch_size=10, relations_per_step=3)
    with pytest.raises(InputError, match="dropout is a share"):
        MetaRSettings(dropout=1.5)
