"""RSCL in two halves against the same network on contexts of which the other half is left out."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch

from learning_checks import question
from tripleshot.datasets.episodes import Episode
from tripleshot.errors import InputError
from tripleshot.graph.hidden_edges import HiddenEdges
from tripleshot.methods.rscl.contexts import ContextBatch
from tripleshot.methods.rscl.factorised import FactorisedRSCL, HalfBatch
from tripleshot.methods.rscl.method import RSCLMethod
from tripleshot.methods.rscl.settings import RSCLSettings
from tripleshot.methods.rscl.tokens import PAD
from tripleshot.training.fit import fit
from tripleshot.training.runs import load_trained_weights, save_names

SETTINGS = RSCLSettings(
    width=12,
    num_layers=2,
    num_heads=3,
    max_neighbors=4,
    max_distant=2,
    dropout=0.0,
    factorised=True,
    masking_weight=0.0,
    regime="in-train",
    batch_size=4,
    relations_per_step=2,
    num_negatives=3,
)


@pytest.fixture
def method(tiny):
    made = RSCLMethod(SETTINGS)
    made.prepare(tiny, 3)
    made.module.eval()
    return made


def plain_half(method, entity, is_tail):
    """Encode a whole context of (entity, relation, entity) with one side blanked, token by token."""
    module, extractor, p = method.module, method.extractor, SETTINGS.max_neighbors
    contexts = extractor.extract(np.array([entity]), np.array([entity]))
    batch = ContextBatch.of(contexts, extractor)
    own = slice(2 * p + 1, None) if is_tail else slice(0, 2 * p + 2)
    keep = torch.zeros_like(batch.tokens, dtype=torch.bool)
    keep[:, own] = True
    tokens = torch.where(keep, batch.tokens, PAD)
    states = module.states(replace(batch, tokens=tokens), tokens != PAD)
    grid = torch.full((tokens.shape[1], SETTINGS.width), torch.nan)
    grid[(tokens != PAD)[0]] = states
    relation, end = grid[2 * p + 1], grid[2 * p + 2 if is_tail else 2 * p]
    local, total = module.local_encoder, torch.zeros(2 * SETTINGS.width)
    count = int((batch.direct_tails if is_tail else batch.direct_heads)[0])
    first, step = (2 * p + 3, 2) if is_tail else (2 * p - 1, -2)
    places = [(first + step * pair + step // 2, first + step * pair) for pair in range(count)]
    if places:
        combined = [local.combine(torch.cat([grid[entity_at], grid[relation_at]])) for entity_at, relation_at in places]
        weights = torch.stack([torch.nn.functional.leaky_relu(local.weigh(value)) for value in combined]).softmax(0)
        total = (weights * torch.stack(combined)).sum(0)
    return (relation / 2 + end) / 3, end + local.return_to_width(total) + local.relate(relation)


@torch.no_grad()
@pytest.mark.parametrize("is_tail", [False, True])
def test_a_half_is_what_the_network_makes_of_one_side(method, is_tail):
    assert isinstance(method.module, FactorisedRSCL)
    entities = np.arange(method.graph.num_entities)
    read = method.module.encode_halves(HalfBatch.of(method.extractor, entities, is_tail, method.device))
    for entity in entities.tolist():
        globally, locally = plain_half(method, entity, is_tail)
        torch.testing.assert_close(read.globally[entity], globally, atol=1e-4, rtol=1e-4)
        torch.testing.assert_close(read.locally[entity], locally, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("change", [{}, {"use_local": False}, {"use_global": False}], ids=str)
def test_scores_are_those_of_heads_and_tails_put_together(tiny, change):
    method = RSCLMethod(replace(SETTINGS, **change, batch_contexts=3))
    method.prepare(tiny, 3)
    module, task = method.module.eval(), tiny.test[0]
    assert isinstance(module, FactorisedRSCL)
    support, head, tails = task.support(3), int(task.queries(3)[0, 0]), np.arange(tiny.graph.num_entities)

    @torch.no_grad()
    def encode(heads, ends):
        sides = ((heads, False), (ends, True))
        return module.join(
            *(
                module.encode_halves(HalfBatch.of(method.extractor, np.array(ids), is_tail, method.device))
                for ids, is_tail in sides
            )
        )

    examples = encode(support[:, 0], support[:, 1])
    expected = [module.score(encode([head], [tail]), examples).item() for tail in tails.tolist()]
    for _ in range(2):  # the second time tails are known
        np.testing.assert_allclose(method.score(support, head, tails), expected, atol=1e-4, rtol=1e-4)


def test_training_and_asking_score_alike(method, tiny):
    task = tiny.train[0]
    pairs, negatives = task.pairs.astype(np.int64), np.arange(6).reshape(2, 3)
    episode = Episode(0, pairs[:3], pairs[3:5], negatives, 1.0, HiddenEdges.none())
    method.extractor.neighbors = partial(_without_rng, method.extractor.neighbors)
    with torch.no_grad():
        scores = method.reader.read([episode, episode], np.random.default_rng(0)).scores
    for query in range(2):
        candidates = np.append(episode.queries[query, 1], negatives[query])
        asked = method.score(episode.support, int(episode.queries[query, 0]), candidates)
        np.testing.assert_allclose(scores[1, query], asked, atol=1e-4, rtol=1e-4)


def _without_rng(neighbors, entities, rng=None, hidden=HiddenEdges.none()):
    return neighbors(entities, None, hidden)


def test_it_learns_starts_from_a_pre_training_and_is_restored(tiny, tmp_path):
    settings = replace(SETTINGS, pretraining_steps=4, steps=6, validate_every=3, num_sampled=8)
    whole = RSCLMethod(replace(settings, factorised=False))
    fit(whole, tiny, 3, tmp_path)
    save_names(tiny.graph, tmp_path)
    halves = RSCLMethod(replace(settings, pretrained=str(tmp_path)))
    later = tmp_path / "later"
    later.mkdir()
    fit(halves, tiny, 3, later)
    again = RSCLMethod(settings)
    again.restore(tiny, load_trained_weights(later))
    asked = question(tiny)
    np.testing.assert_array_equal(halves.score(*asked), again.score(*asked))


def test_what_it_weighs_is_shown_without_a_map(method, tiny):
    support, head, tails = question(tiny)
    seen = method.attention(support, head, int(tails[0]))
    assert seen.layers is None
    assert seen.global_examples is not None
    assert seen.global_examples.sum() == pytest.approx(1)
    for side in (seen.of_head, seen.of_tail):
        assert side.weights is not None
        assert side.weights.sum() == pytest.approx(1 if side.num_direct else 0)


@pytest.mark.parametrize("change", [{"connected": True}, {"relation_token": "difference"}, {"masking_weight": 1.0}])
def test_what_needs_the_whole_context_is_refused(change):
    with pytest.raises(InputError, match="factorised"):
        replace(SETTINGS, **change)
