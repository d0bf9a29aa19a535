"""Every kind of method is asked: one that counts evidence, one with embeddings, one with weights that know no names."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tripleshot.answering.predictor import Predictor
from tripleshot.answering.questions import HEADS_PER_BATCH
from tripleshot.answering.ranking import choose_candidates
from tripleshot.errors import InputError
from tripleshot.evaluation.calibration import calibrate
from tripleshot.evaluation.protocol import evaluate
from tripleshot.methods import find_method
from tripleshot.methods.evidence.baselines import Degree
from tripleshot.methods.evidence.universal import Universal
from tripleshot.training.fit import fit

SHOTS = 3
LEARNED = ("rscl", "evidence-net")


@pytest.fixture(scope="module")
def dataset(tiny):
    """The small dataset with three valid tasks: fewer than two cannot be calibrated on."""
    return replace(tiny, valid=(*tiny.valid, *tiny.train))


@pytest.fixture(scope="module", params=["evidence", *LEARNED])
def predictor(request, dataset):
    entry = find_method(request.param)
    method = entry.method_class()(entry.preset("tiny")) if entry.learns else entry.create()
    fit(method, dataset, SHOTS)
    return Predictor.of(dataset, method, request.param, SHOTS, calibrate(method, dataset, SHOTS))


def question(predictor):
    task = predictor.dataset.task("works in")
    return task.support(SHOTS).tolist(), int(task.queries(SHOTS)[0, 0])


def answers(predictor, examples, head, **choices):
    return predictor.predict(head, examples=examples, **choices)[0]


def test_a_graph_can_be_asked_without_training(tiny):
    pairs = [tuple(map(tiny.graph.entities.name, pair)) for pair in tiny.task("works in").support(3).tolist()]
    found = Predictor(tiny.graph).predict(["person:3", "person:4"], examples=pairs, k=3)
    assert len(found) == 2
    assert [one.rank for one in found["person:3"]] == [1, 2, 3]
    best = found["person:3"][0]
    assert (best.name, best.label) == ("city:3", "city:3")
    assert best.confidence is not None
    assert 0 < best.confidence < 1
    scores = [one.score for one in found[0]]
    assert scores == sorted(scores, reverse=True)


def test_heads_of_a_tail_can_be_asked_for(tiny):
    examples = [("person:0", "city:0"), ("person:1", "city:1")]
    found = Predictor(tiny.graph).predict(tails="city:2", examples=examples, k=5)
    assert {one.name for one in found[0]} <= {f"person:{number}" for number in (2, 6, 10, 14, 18)}
    table = found.to_arrow().to_pylist()
    assert {row["tail"] for row in table} == {"city:2"}
    assert table[0]["head"] == found[0][0].name


def test_the_best_answers_come_first_with_confidence(predictor):
    examples, head = question(predictor)
    found = answers(predictor, examples, head, k=3)
    assert [one.rank for one in found] == [1, 2, 3]
    assert found[0].score >= found[1].score >= found[2].score
    confidence = [one.confidence for one in found]
    assert confidence == sorted(confidence, reverse=True)
    assert all(0 <= share <= 1 for share in confidence)
    assert all(predictor.graph.entities.name(one.id) == one.name for one in found)


def test_a_score_is_what_the_evaluation_computes(predictor):
    """The rank of every true tail among all answers is its rank by the protocol."""
    task = predictor.dataset.task("pays tax in")
    support = task.support(SHOTS)
    ranks = evaluate(predictor, predictor.dataset, SHOTS, candidates="open").ranks
    index = ranks.relation_names.index(task.name)
    for row in np.flatnonzero(ranks.relations == index)[:5]:
        found = answers(predictor, support.tolist(), int(ranks.heads[row]), k=100)
        mine = next(one for one in found if one.id == ranks.tails[row])
        assert mine.rank <= ranks.pessimistic[row]
        alone = predictor.score(support, int(ranks.heads[row]), np.array([mine.id]))[0]
        assert mine.score == pytest.approx(alone, abs=1e-5)
        assert ranks.pessimistic[row] == sum(one.score >= mine.score for one in found)


def test_what_the_examples_say_and_the_head_itself_are_no_answers_unless_asked_for(predictor):
    examples, _ = question(predictor)
    head, tail = examples[0]
    everyone = {one.id for one in answers(predictor, examples, head, k=100, candidates="all")}
    assert everyone == set(range(predictor.graph.num_entities)) - {head, tail}
    known = answers(predictor, examples, head, k=100, candidates="all", include_known=True)
    found = {one.id: one for one in known}
    assert found.keys() == set(range(predictor.graph.num_entities)) - {head}
    assert [one.id for one in found.values() if one.is_known] == [tail]
    assert found[tail].confidence == 1


def test_known_answers_leave_the_others_as_they_are(predictor):
    examples, _ = question(predictor)
    head = examples[0][0]
    without = {one.id: one.confidence for one in answers(predictor, examples, head, k=100)}
    found = answers(predictor, examples, head, k=100, include_known=True)
    with_known = {one.id: one.confidence for one in found}
    assert without == pytest.approx({entity: with_known[entity] for entity in without}, abs=1e-5)


def test_examples_are_given_by_name_or_id(predictor):
    names = predictor.graph.entities
    first = names.id("person:0"), names.id("city:1")
    support = predictor.support([("person:0", "city:1"), first, (f"#{first[0]}", "city:1")])
    assert support.dtype == np.int64
    assert support.tolist() == [list(first)] * 3
    with pytest.raises(InputError, match="did you mean"):
        predictor.support([("person:0", "citty:1")])


def test_candidates_are_open_all_or_of_given_types(predictor):
    examples, head = question(predictor)
    graph, support = predictor.graph, predictor.support(examples)
    assert {graph.entities.name(i)[:5] for i in predictor.candidates(support)} == {"city:"}
    assert len(predictor.candidates(support, "all")) == graph.num_entities
    assert len(predictor.candidates(support, ["country", "city", "city"])) == 6
    assert {one.name[:7] for one in answers(predictor, examples, head, candidates="country")} == {"country"}
    with pytest.raises(InputError, match="no entity is of type 'citty'; did you mean 'city'"):
        predictor.candidates(support, "citty")
    with pytest.raises(InputError, match="have no types"):
        choose_candidates(graph.with_types(None), support, ("city",))


@pytest.mark.parametrize(
    ("heads", "choices", "message"),
    [
        ("person:3", {"examples": []}, "examples: give at least one pair"),
        ("person:3", {"examples": [("person:0",)]}, "examples: pair 1: expected head and tail"),
        ("person:3", {"examples": "nowhere.tsv"}, "nowhere.tsv: cannot be read"),
        ("person:3", {"k": 0}, "k: expected one answer or more"),
        ("person:3", {"k": 1.5}, "k: expected one answer or more, found 1.5"),
        ("person:3", {"k": True}, "k: expected one answer or more, found True"),
        ([], {}, "heads: give at least one entity"),
        (None, {}, "give the heads or the tails"),
        ("person:3", {"tails": "city:1"}, "give the heads or the tails"),
        (-1, {}, "unknown entity #-1"),
        (True, {}, "heads: expected a name or an id, found True"),
        (3.0, {}, "heads: expected a name or an id, found 3.0"),
        (b"person:3", {}, "heads: expected a name or an id, found b'person:3'"),
        (np.array(3), {}, "heads: expected a name or an id"),
        ([3.0], {}, "heads: expected a name or an id, found 3.0"),
        (["person:3", None], {}, "heads: expected a name or an id, found None"),
        ([np.True_] * 100, {}, "heads: expected a name or an id, found np.True_"),
        (None, {"tails": [("city:1", "city:2")]}, "tails: expected a name or an id"),
        ("person:3", {"examples": [(0, np.float32(1))]}, "examples: pair 1: expected head and tail, by name or id"),
        ("persson:3", {}, "unknown entity 'persson:3': did you mean"),
    ],
)
def test_a_question_that_makes_no_sense_is_refused_by_name(tiny, heads, choices, message):
    asked: dict[str, Any] = {"examples": [("person:0", "city:0")], **choices}
    with pytest.raises(InputError, match=message):
        Predictor(tiny.graph).predict(heads, **asked)


def test_whole_numbers_of_numpy_are_ids_and_counts(tiny):
    predictor: Any = Predictor(tiny.graph, "linked")
    expected = predictor.predict([3, 4], examples=[(0, 1)], k=2)
    pairs = [(np.int64(0), np.uint8(1))]
    for heads in ([np.int64(3), np.int32(4)], np.array([3, 4], dtype=np.uint16)):
        assert list(predictor.predict(heads, examples=pairs, k=np.int64(2))) == list(expected)
    assert predictor.predict(np.int64(3), examples=pairs, k=2)[0] == expected[0]
    assert predictor.resolve(np.int64(3)) == 3
    with pytest.raises(InputError, match="expected a name or an id, found True"):
        predictor.explain(True, 4, examples=pairs)


@pytest.mark.parametrize("method", ["universal", "evidence", "linked"])
@pytest.mark.parametrize(
    ("support", "head", "tails", "message"),
    [
        ([[0, 20]], 10**6, [21], "unknown entity #1000000: ids go from 0 to 25"),
        ([[0, 20]], -1, [21], "unknown entity #-1"),
        ([[0, 20]], 1, [21, -1], "unknown entity #-1"),
        ([[0, 20]], 1, [26], "unknown entity #26"),
        ([[0, 20], [2, -1]], 1, [21], "unknown entity #-1"),
        ([], 1, [21], "examples: give at least one pair of head and tail"),
        (np.empty((0, 2), dtype=np.int64), 1, [21], "examples: give at least one pair"),
        ([0, 20], 1, [21], "examples: expected ids of entities"),
        ([[0, 20, 21]], 1, [21], "examples: expected ids of entities"),
        ([["person:0", "city:0"]], 1, [21], "examples: expected ids of entities"),
        ([[0, 20]], True, [21], "head: expected ids of entities, found True"),
        ([[0, 20]], 1.5, [21], "head: expected ids of entities, found 1.5"),
        ([[0, 20]], 1, 21, "tails: expected ids of entities, found 21"),
        ([[0, 20]], 1, [21.0], r"tails: expected ids of entities, found \[21.0\]"),
    ],
)
def test_what_cannot_be_scored_is_refused_before_a_method_reads_it(tiny, method, support, head, tails, message):
    with pytest.raises(InputError, match=message):
        Predictor(tiny.graph, method).score(support, head, tails)


def test_scores_are_given_for_any_whole_numbers_and_for_no_tails(tiny):
    predictor: Any = Predictor(tiny.graph, "evidence")
    expected = predictor.score(np.array([[0, 20]]), 1, np.array([21, 22]))
    np.testing.assert_array_equal(predictor.score([[0, 20]], np.int32(1), [21, 22]), expected)
    assert predictor.score([[0, 20]], 1, []).shape == (0,)


@pytest.mark.parametrize(
    ("data", "choices", "message"),
    [
        ("nowhere.tsv", {}, "nowhere.tsv: no such file"),
        (None, {}, "cannot read triples from NoneType"),
        ([("a", "b", "c")], {"method": "evidense"}, "unknown method 'evidense'.*did you mean 'evidence'"),
        ([("a", "b", "c")], {"method": "rscl"}, "rscl has to learn first"),
        ([("a", "b", "c")], {"shots": 0}, "shots"),
        ([("a", "b", "c")], {"device": "banana"}, "device 'banana' cannot be used here"),
        ([("a", "b", "c")], {"method": "linked", "device": "banana"}, "device 'banana' cannot be used here"),
        ([("a", "b", "c")], {"method": Universal(), "device": "banana"}, "device 'banana' cannot be used here"),
        ([("a", "b", "c")], {"method": Degree(), "device": "banana"}, "device 'banana' cannot be used here"),
    ],
)
def test_a_predictor_that_cannot_be_is_refused_by_name(data, choices, message):
    with pytest.raises(InputError, match=message):
        Predictor(data, **choices)


def test_many_heads_get_the_answers_that_each_gets_alone(predictor):
    examples, _ = question(predictor)
    heads = [*range(20), *range(20)]
    batches = list(predictor.predict_batches(iter(heads), examples=examples, k=2, include_known=True))
    assert len(batches) == -(-len(heads) // HEADS_PER_BATCH)
    rows = [row for batch in batches for row in batch.to_pylist()]
    assert [row["rank"] for row in rows] == [1, 2] * len(heads)
    label = predictor.graph.entities.label
    for head, row in zip(heads, rows[::2], strict=True):
        alone = answers(predictor, examples, head, k=1, include_known=True)[0]
        assert (row["head_label"], row["tail"], row["is_known"]) == (label(head), alone.name, alone.is_known)
        assert (row["score"], row["confidence"]) == pytest.approx((alone.score, alone.confidence), abs=1e-5)


def test_threads_get_the_answers_they_would_get_alone(predictor):
    tasks = [task for _, task in predictor.dataset.all_tasks()]
    questions = [(task.support(SHOTS).tolist(), head) for head in range(8) for task in tasks]
    alone = [answers(predictor, *one) for one in questions]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda one: answers(predictor, *one), questions * 4))
    for found, expected in zip(together, alone * 4, strict=True):
        assert [one.score for one in found] == pytest.approx([one.score for one in expected], abs=1e-5)
        assert {one.id for one in found} == {one.id for one in expected}


def test_an_answer_can_be_explained(predictor, tmp_path):
    examples, head = question(predictor)
    best = answers(predictor, examples, head, k=1)[0]
    explanation = predictor.explain(head, best.name, examples=examples)
    assert explanation.score == pytest.approx(best.score, abs=1e-5)
    assert str(explanation).startswith(f"Why {best.label} for ")
    explanation.plot(tmp_path / "why.svg")
    assert (tmp_path / "why.svg").stat().st_size > 1000


def test_new_triples_are_known_without_training(predictor):
    examples, _ = question(predictor)
    more = predictor.with_triples(
        [("person:new", "lives in", "city:1"), ("person:new", "pen pal of", "person:3"), ("x", "part of", "country:0")]
    )
    assert predictor.graph.num_entities + 2 == more.graph.num_entities
    assert "person:new" not in predictor.graph.entities
    head = more.resolve("person:new")
    assert head in more.candidates(more.support([("city:0", "person:0")]))  # typed by its name
    assert more.resolve("x") not in more.candidates(more.support(examples))
    found = answers(more, examples, "person:new", k=4)
    assert len(found) == 4
    assert all(np.isfinite(one.score) for one in found)


def test_what_new_triples_do_not_touch_is_answered_as_before(predictor):
    examples, head = question(predictor)
    more = predictor.with_triples([("stranger", "greets", "other stranger")])
    support = predictor.support(examples)
    tails = predictor.candidates(support, "all")
    before, after = (one.score(support, head, tails) for one in (predictor, more))
    np.testing.assert_allclose(after, before, atol=1e-5)


def test_triples_that_are_taken_away_again_leave_no_trace(predictor):
    examples, head = question(predictor)
    triple = ("person:0", "knows", "person:9")
    back = predictor.with_triples([triple]).without_triples([triple])
    support = predictor.support(examples)
    tails = predictor.candidates(support, "all")
    np.testing.assert_allclose(back.score(support, head, tails), predictor.score(support, head, tails), atol=1e-5)
    with pytest.raises(InputError, match="does not have the triple"):
        predictor.without_triples([triple])


def test_a_new_neighbor_counts_as_evidence(dataset):
    more = Predictor(dataset).with_triples([("person:new", "lives in", "city:1")])
    examples = dataset.task("works in").support(SHOTS).tolist()
    assert answers(more, examples, "person:new")[0].name == "city:1"


def test_trained_weights_serve_another_graph(predictor, dataset):
    examples, head = question(predictor)
    graph = dataset.graph.with_triples([("stranger", "greets", "other stranger")])
    other = Predictor(graph, predictor)
    assert (other.name, other.shots, other.calibration) == (predictor.name, SHOTS, predictor.calibration)
    assert len(answers(other, examples, head, k=3)) == 3


def test_without_a_calibration_there_is_no_confidence(predictor):
    bare = Predictor.of(predictor.dataset, predictor.method, predictor.name, SHOTS)
    examples, head = question(bare)
    assert {one.confidence for one in answers(bare, examples, head)} == {None}
    assert next(bare.predict_batches(head, examples=examples)).column("confidence").null_count == 4


def test_train_tasks_that_a_method_sees_are_relations_of_its_graph(predictor, dataset):
    names = {task.name for task in dataset.train}
    assert (names <= set(predictor.graph.relations.names.to_pylist())) == (predictor.name == "evidence-net")


def test_a_triple_of_a_train_task_can_be_added(predictor, dataset):
    name = dataset.train[0].name
    added = predictor.with_triples([("newcomer", name, dataset.graph.entities.name(0))])
    assert added.graph.relations.names.to_pylist().count(name) == 1
    explained = added.explain("newcomer", 0, examples=dataset.test[0].support(SHOTS).tolist())
    assert explained.connections[0].relations == (added.graph.relations.id(name),)


def test_a_method_of_ones_own_is_prepared_and_one_that_is_prepared_keeps_its_weights(tiny):
    fresh = Predictor(tiny, Universal())
    ours, theirs = (one.score(tiny.test[0].pairs[:3], 0, np.arange(9)) for one in (fresh, Predictor(tiny)))
    np.testing.assert_array_equal(ours, theirs)
    grown = fresh.with_triples([("person:0", "knows", "person:1")])
    with pytest.raises(InputError, match="device 'banana' cannot be used here"):
        Predictor(tiny.graph, fresh, device="banana")
    assert isinstance(fresh.method, Universal)
    assert isinstance(grown.method, Universal)
    before, after = (np.asarray(one.network.state()["hidden.weight"]) for one in (fresh.method, grown.method))
    np.testing.assert_array_equal(before, after)
