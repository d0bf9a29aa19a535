from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from tripleshot.answering.explaining import explain
from tripleshot.answering.predictor import Predictor
from tripleshot.errors import InputError
from tripleshot.evaluation.protocol import evaluate
from tripleshot.methods.rscl import masked_score
from tripleshot.methods.rscl.contexts import ContextExtractor
from tripleshot.methods.rscl.masked_score import MaskedScore, MaskingHead, masked_contexts
from tripleshot.methods.rscl.method import RSCLMethod
from tripleshot.methods.rscl.pretraining import RSCLTraining
from tripleshot.methods.rscl.settings import tiny as preset
from tripleshot.methods.rscl.tokens import MASK, PAD, RELATION
from tripleshot.methods.trainable import PRETRAINED, TrainedWeights
from tripleshot.training.fit import fit
from tripleshot.training.runs import load_trained_weights, save_names

SETTINGS = replace(preset(), masked_score=True, pretraining_batch_size=32, validate_every=20)


@pytest.fixture(scope="module")
def trained(tiny, tmp_path_factory):
    """A method that was trained with what is expected in its score, and its folder."""
    method, folder = RSCLMethod(SETTINGS), tmp_path_factory.mktemp("masked")
    fit(method, tiny, 3, folder)
    save_names(tiny.graph, folder)
    return method, folder


def head_of(method) -> MaskingHead:
    assert method.masked_score is not None
    return method.masked_score.masking_head


def question(dataset):
    task = dataset.test[0]
    return task.support(3), int(task.queries(3)[0, 0]), dataset.candidates(task)


def test_a_masked_context_shows_the_head_and_its_neighbors_and_nothing_of_any_tail(tiny, extractor):
    heads, tails = tiny.test[0].queries(3).T
    p = extractor.max_neighbors
    masked, whole = masked_contexts(extractor, heads), extractor.extract(heads, tails)
    np.testing.assert_array_equal(masked.tokens[:, : 2 * p + 1], whole.tokens[:, : 2 * p + 1])
    assert (masked.tokens[:, 2 * p + 1] == RELATION).all()
    assert (masked.tokens[:, 2 * p + 2] == MASK).all()
    assert (masked.tokens[:, 2 * p + 3 :] == PAD).all()
    assert (whole.tokens[:, 2 * p + 3 :] != PAD).any()
    assert not masked.direct_tails.any()
    np.testing.assert_array_equal(extractor.positions(masked)[:, 2 * p + 3 :], 0)


@pytest.mark.parametrize("changes", [{}, {"connected": True}, {"text": True}, {"num_layers": 2}], ids=str)
def test_what_is_expected_agrees_with_a_softmax_over_every_entity(tiny, changes):
    method = RSCLMethod(replace(SETTINGS, **changes))
    method.prepare(tiny, 3)
    method.module.eval()
    _, head, tails = question(tiny)
    masking_head = head_of(method)
    network, first = masking_head.module, method.tokens.first_entity
    p = method.extractor.max_neighbors
    contexts = method.extractor.extract(np.array([head]), np.array([head]))
    tokens = torch.from_numpy(contexts.tokens[:, : 2 * p + 3].copy())
    tokens[:, -1] = MASK
    positions = torch.from_numpy(method.extractor.positions(contexts)[:, : 2 * p + 3].copy())
    is_there = (tokens != PAD)[0]
    tokens, positions = tokens[0, is_there], positions[0, is_there]
    assert network.encoder is not None
    with torch.no_grad():
        elements = network.elements(tokens) + (network.text(tokens) if network.text is not None else 0)
        states = network.embedding_norm(elements + network.positions(positions))
        for block in network.encoder.blocks:
            states = plain_block(block, states)
        logits = network.elements.weight[first:] @ states[-1]
    log_probability = logits.log_softmax(0)
    expected = (log_probability - log_probability.mean()).numpy()[tails]
    np.testing.assert_allclose(masking_head.score(head, tails), expected, atol=1e-4)


def plain_block(block, states):
    """Return what a transformer block makes of one sequence, head by head."""
    keys, values = block.key_value(states).chunk(2, dim=-1)
    parts = [part.split(block.head_width, dim=-1) for part in (block.query(states), keys, values)]
    mixed = [(q @ k.T / block.head_width**0.5).softmax(-1) @ v for q, k, v in zip(*parts, strict=True)]
    states = block.attention_norm(states + block.attention_output(torch.cat(mixed, -1)))
    return block.output_norm(states + block.narrow(torch.nn.functional.gelu(block.widen(states))))


class KnownSimilarity:
    """Scores entities by a table, whatever the examples and the head."""

    def __init__(self, values):
        self.values = np.asarray(values, dtype=np.float32)

    def score(self, support, head, tails):
        return self.values[tails]


class KnownExpectation(MaskingHead):
    """Expects entities by a table, whatever the head."""

    def __init__(self, extractor, values):
        self.extractor, self.values = extractor, np.asarray(values, dtype=np.float32)

    def score(self, head, tails):
        return self.values[tails]


def mixture(extractor, similar, expected):
    return MaskedScore(KnownExpectation(extractor, expected), KnownSimilarity(similar), expected_share=0.6)


def share_of(extractor, support, similar, expected):
    return mixture(extractor, similar, expected).share_of(support)


def test_one_example_leaves_the_usual_share_and_so_do_several_that_say_nothing(tiny, extractor):
    support, nothing = tiny.test[0].support(4), np.zeros(tiny.graph.num_entities)
    assert share_of(extractor, support[:1], nothing, nothing) == 0.6
    assert share_of(extractor, support, nothing, nothing) == pytest.approx(0.6)


def test_what_gives_the_tails_of_examples_the_higher_probability_has_the_larger_share(tiny, extractor):
    support = tiny.test[0].support(2)
    right = np.zeros(tiny.graph.num_entities)
    right[support[:, 1]] = 3
    wrong = 3 - right
    assert share_of(extractor, support, right, wrong) < 0.6 < share_of(extractor, support, wrong, right)


def test_the_share_is_the_one_under_which_examples_are_likeliest(tiny, extractor):
    """A search over all shares: the likelihood of the examples left out, and two examples more of the usual share."""
    rng = np.random.default_rng(3)
    support, candidates = tiny.test[0].support(4), tiny.candidates(tiny.test[0]).tolist()
    shares = np.linspace(0.001, 0.999, 999)
    for _ in range(5):
        parts = rng.normal(size=(2, tiny.graph.num_entities)).astype(np.float32)
        likelihood = 2 * (0.4 * np.log(1 - shares) + 0.6 * np.log(shares))
        for place, (head, tail) in enumerate(support.tolist()):
            known = {head, *(other[1] for other in np.delete(support, place, axis=0).tolist() if other[0] == head)}
            rivals = [other for other in candidates if other not in known]
            similar, expected = (np.exp(part[tail]) / np.exp(part[rivals]).sum() for part in parts)
            likelihood = likelihood + np.log((1 - shares) * similar + shares * expected)
        assert share_of(extractor, support, *parts) == pytest.approx(shares[np.argmax(likelihood)], abs=2e-3)


def test_the_score_is_a_mixture_of_two_softmaxes_over_the_candidates(tiny, extractor):
    support, head, tails = question(tiny)
    parts = np.random.default_rng(4).normal(size=(2, tiny.graph.num_entities)).astype(np.float32)
    both = mixture(extractor, *parts)
    share, rivals = both.share_of(support), np.setdiff1d(tails, [head, *support[support[:, 0] == head, 1]])
    similar, expected = (np.exp(part[tails]) / np.exp(part[rivals]).sum() for part in parts)
    mixed = np.log((1 - share) * similar + share * expected)
    np.testing.assert_allclose(both.score(support, head, tails), mixed, atol=1e-5)


def test_what_tails_are_compared_among_can_be_told(tiny, extractor):
    support, head, tails = question(tiny)
    parts = np.random.default_rng(4).normal(size=(2, tiny.graph.num_entities)).astype(np.float32)
    among_all, everything = mixture(extractor, *parts), np.arange(tiny.graph.num_entities)
    opened = among_all.score(support, head, tails)
    among_all.compare_among(support, everything)
    known = [head, *support[support[:, 0] == head, 1]]
    similar, expected = (np.exp(part[tails]) / np.exp(np.delete(part, known)).sum() for part in parts)
    share = among_all.share_of(support)
    mixed = np.log((1 - share) * similar + share * expected)
    np.testing.assert_allclose(among_all.score(support, head, tails), mixed, atol=1e-5)
    assert (among_all.score(support, head, tails) < opened).all()


def test_an_evaluation_compares_among_its_own_candidates(tiny, trained, monkeypatch):
    method, _ = trained
    told = []
    monkeypatch.setattr(method.masked_score, "compare_among", lambda support, candidates: told.append(candidates))
    evaluate(method, tiny, 3)
    expected = [tiny.candidates(task) for task in tiny.test for _ in np.unique(task.queries(3)[:, 0])]
    assert len(told) == len(expected)
    assert all(map(np.array_equal, told, expected))


def test_a_tail_that_one_part_is_sure_of_is_not_ruled_out_by_the_other(tiny, extractor):
    support, head, tails = question(tiny)
    tail = int(np.setdiff1d(tails, support[:, 1])[0])
    sure, against = np.zeros((2, tiny.graph.num_entities))
    sure[tail], against[tail] = 20, -1000
    for parts in ((sure, against), (against, sure)):
        scores = mixture(extractor, *parts).score(support[:1], head, tails)
        assert tails[np.argmax(scores)] == tail


def test_of_very_many_candidates_some_stand_for_all(tiny, extractor, monkeypatch):
    support, head, tails = question(tiny)
    values = np.zeros(tiny.graph.num_entities)
    whole = mixture(extractor, values, values).score(support, head, tails)
    monkeypatch.setattr(masked_score, "MAX_RIVALS", 2)
    np.testing.assert_allclose(mixture(extractor, values, values).score(support, head, tails), whole, atol=1e-5)


def test_reasons_tell_how_much_likelier_than_any_candidate_a_tail_is_and_by_what(tiny, trained):
    method, _ = trained
    support, head, tails = question(tiny)
    scores, count = method.score(support, head, tails), method.masked_score.rivals(support, head).count
    expected = head_of(method).score(head, tails)
    mean = np.exp(method.masked_score.rivals(support, head).expected) / count
    for tail, score, one in zip(tails.tolist(), scores, expected, strict=True):
        similarity, expectation, start = method.explain(support, head, tail)
        assert similarity.weight + expectation.weight + start.weight == pytest.approx(score, abs=1e-4)
        assert (similarity.kind, expectation.kind, start.kind) == ("similarity", "expectation", "start")
        assert start.weight == pytest.approx(-np.log(count))
        assert ("does not expect" in expectation.text) == (np.exp(one) <= mean)
    told = explain(method, support, head, int(tails[0]))
    assert {reason.kind for reason in told.reasons} == {"similarity", "expectation", "start"}


def test_a_tail_scores_the_same_alone_as_among_others(tiny, trained):
    method, _ = trained
    support, head, tails = question(tiny)
    alone = [method.score(support, head, tails[i : i + 1])[0] for i in range(len(tails))]
    np.testing.assert_allclose(alone, method.score(support, head, tails), atol=1e-4)


def test_without_it_nothing_is_expected_and_no_reason_is_given(tiny):
    method = RSCLMethod(replace(SETTINGS, masked_score=False))
    method.prepare(tiny, 3)
    support, head, tails = question(tiny)
    assert method.explain(support, head, int(tails[0])) == []
    assert not any(name.startswith("pretrained.") for name in method.state())


def test_episodes_leave_the_pre_trained_encoder_as_it_was(trained):
    method, folder = trained
    between, kept = load_file(folder / PRETRAINED), method.module.pretrained.state_dict()
    assert all(torch.equal(value, between[name]) for name, value in kept.items())
    assert not torch.equal(kept["elements.weight"], method.module.elements.weight)


def test_a_run_that_starts_from_a_pre_training_keeps_it(tiny, trained):
    _, folder = trained
    later = RSCLMethod(replace(SETTINGS, pretrained=str(folder), steps=0))
    fit(later, tiny, 3)
    between = load_file(folder / PRETRAINED)
    kept = head_of(later).module.state_dict()
    assert all(torch.equal(value, between[name]) for name, value in kept.items())


@pytest.fixture(scope="module")
def remembering(tiny, tmp_path_factory):
    """A method whose second encoder went on with pre-training about all triples, and its folder."""
    settings = replace(SETTINGS, masked_score=False, held_back=0.4, remembering_steps=10, validate_every=20)
    method, folder = RSCLMethod(settings), tmp_path_factory.mktemp("remembering")
    fit(method, tiny, 3, folder)
    save_names(tiny.graph, folder)
    return method, folder


def encoders_of(folder, name=PRETRAINED):
    state = load_file(folder / name)
    second = {key.removeprefix("pretrained."): value for key, value in state.items() if key.startswith("pretrained.")}
    return {key: state[key] for key in second}, second


def test_the_second_encoder_goes_on_from_the_first_which_stays(remembering, tiny, tmp_path):
    method, folder = remembering
    first, second = encoders_of(folder)
    fit(RSCLMethod(replace(method.settings, remembering_steps=0)), tiny, 3, tmp_path)
    alone = load_file(tmp_path / PRETRAINED)
    assert all(torch.equal(value, alone[name]) for name, value in first.items())
    assert all(not torch.equal(value, first[name]) for name, value in second.items())
    kept = method.module.pretrained.state_dict()
    assert all(torch.equal(value, second[name]) for name, value in kept.items())


def test_the_second_encoder_is_asked_about_all_triples_with_all_edges_in_their_contexts(tiny):
    method = RSCLMethod(replace(SETTINGS, held_back=0.4, remembering_steps=10))
    method.prepare(tiny, 3)
    training = RSCLTraining(method.reader, tiny, 3)
    assert len(training.triples) < len(training.all_triples) == tiny.graph.num_triples + len(training.all_triples.pairs)
    assert method.extractor.graph.num_triples == tiny.graph.num_triples


def test_what_a_run_without_masked_score_remembers_can_be_asked_for_later(remembering, tiny):
    method, folder = remembering
    first, second = (weights["elements.weight"][-tiny.graph.num_entities :] for weights in encoders_of(folder))

    def expects_by_second(later):
        return torch.equal(head_of(later).module.elements.weight[-tiny.graph.num_entities :], second)

    weights, start = load_trained_weights(folder), load_trained_weights(folder, PRETRAINED)
    asked = RSCLMethod(replace(method.settings, masked_score=True))
    asked.restore(tiny, weights)
    assert expects_by_second(asked)
    plain = RSCLMethod(replace(method.settings, remembering_steps=0, pretrained=str(folder), steps=0))
    fit(plain, tiny, 3)
    assert torch.equal(plain.module.elements.weight[-tiny.graph.num_entities :], first)
    later = RSCLMethod(replace(plain.settings, masked_score=True))
    later.restore(tiny, replace(TrainedWeights.of(plain.state(), weights.names, "later"), pretrained=start))
    assert expects_by_second(later)
    trained_later = RSCLMethod(replace(plain.settings, masked_score=True))
    fit(trained_later, tiny, 3)
    assert expects_by_second(trained_later)


def test_a_run_that_remembers_ends_the_same_when_it_is_resumed(tiny, tmp_path):
    settings = replace(SETTINGS, held_back=0.4, remembering_steps=10, checkpoint_every=5)

    def cut_power(update):
        if (update.stage, update.step) == ("remembering", 7):
            raise RuntimeError("power cut")

    whole, resumed = RSCLMethod(settings), RSCLMethod(settings)
    (tmp_path / "whole").mkdir()
    (tmp_path / "broken").mkdir()
    fit(whole, tiny, 3, tmp_path / "whole")
    with pytest.raises(RuntimeError, match="power cut"):
        fit(RSCLMethod(settings), tiny, 3, tmp_path / "broken", callback=cut_power)
    fit(resumed, tiny, 3, tmp_path / "broken", resume=True)
    again = resumed.module.state_dict()
    assert all(torch.equal(value, again[name]) for name, value in whole.module.state_dict().items())


def test_a_run_that_is_loaded_scores_like_the_one_that_was_saved(tiny, trained):
    method, folder = trained
    again = RSCLMethod(SETTINGS)
    again.restore(tiny, load_trained_weights(folder))
    np.testing.assert_array_equal(again.score(*question(tiny)), method.score(*question(tiny)))


def test_a_run_that_was_trained_with_it_can_go_without(tiny, trained):
    method, folder = trained
    plain = RSCLMethod(replace(SETTINGS, masked_score=False))
    plain.restore(tiny, load_trained_weights(folder))
    np.testing.assert_array_equal(plain.score(*question(tiny)), method.reader.score(*question(tiny)))


def test_a_run_of_which_no_pre_training_is_left_is_refused(tiny, tmp_path):
    fit(RSCLMethod(replace(SETTINGS, masked_score=False)), tiny, 3, tmp_path)
    with pytest.raises(InputError, match="nothing is left of its pre-training"):
        RSCLMethod(SETTINGS).restore(tiny, load_trained_weights(tmp_path))


def test_an_entity_without_an_embedding_is_as_likely_as_the_mean(tiny, trained):
    method, _ = trained
    larger = tiny.graph.with_triples([("person:new", "knows", "person:0")])
    again = Predictor(replace(tiny, graph=larger), Predictor.of(tiny, method, "rscl", 3)).method
    head, new = larger.entities.id("person:1"), larger.entities.id("person:new")
    odds = head_of(again).score(head, np.array([new, 0]))
    assert odds[0] == 0
    assert odds[1] != 0


def test_edges_of_a_tail_change_its_context_and_not_what_is_expected(tiny, extractor):
    """Countries stand two steps from people: their own edges are in no person's context."""
    head, tail = tiny.test[1].queries(3)[0].tolist()
    names = tiny.graph.entities
    larger = tiny.graph.with_triples(
        [(names.name(tail), "twin of", "country:0"), (names.name(tail), "part of", "city:1")]
    )
    seen = ContextExtractor(larger, extractor.tokens, extractor.max_neighbors, extractor.max_distant)
    asked = np.array([head]), np.array([tail])
    assert not np.array_equal(seen.extract(*asked).tokens, extractor.extract(*asked).tokens)
    np.testing.assert_array_equal(masked_contexts(seen, asked[0]).tokens, masked_contexts(extractor, asked[0]).tokens)
