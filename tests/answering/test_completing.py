import pytest

from completions import MISSING, NUM_KNOWN, NUM_PEOPLE, ROWS, make_predictor, pairs_of
from tripleshot.answering.completing import Completion, Rules, choose_heads, relations_to_complete
from tripleshot.errors import InputError


@pytest.fixture(scope="module")
def predictor():
    return make_predictor()


def test_what_is_missing_is_proposed_and_what_is_known_is_not(predictor):
    found = predictor.complete("lives in", k=1)
    assert pairs_of(found) >= MISSING
    known = {(head, tail) for head, relation, tail in ROWS if relation == "lives in"}
    assert not pairs_of(found) & known
    assert set(found.to_arrow()["relation"].to_pylist()) == {"lives in"}
    assert min(found.to_arrow()["confidence"].to_pylist()) >= 0.5


def test_heads_that_have_a_tail_can_be_left_out(predictor):
    found = predictor.complete("lives in", k=1, missing_only=True)
    assert pairs_of(found) == MISSING
    (origin,) = found.provenance.relations
    assert (origin.num_heads, origin.num_alike) == (NUM_PEOPLE - NUM_KNOWN, NUM_PEOPLE - NUM_KNOWN)


def test_heads_are_those_typed_like_the_examples_and_those_without_a_tail_come_first(predictor):
    question = predictor.question(None, "lives in")
    heads, num_alike = choose_heads(question, Rules())
    names = [predictor.graph.entities.name(head) for head in heads.tolist()]
    assert sorted(names) == sorted(f"person {i}" for i in range(NUM_PEOPLE))
    assert {int(name.split()[1]) >= NUM_KNOWN for name in names[: NUM_PEOPLE - NUM_KNOWN]} == {True}
    few, still_alike = choose_heads(question, Rules(max_heads=5))
    assert few.tolist() == heads[:5].tolist()
    assert still_alike == num_alike == NUM_PEOPLE


def test_heads_stand_at_the_same_places_in_a_graph_without_types():
    predictor = make_predictor()
    untyped = type(predictor)(predictor.graph.with_types(None), "evidence", calibration=predictor.calibration)
    heads, _ = choose_heads(untyped.question(None, "lives in"), Rules())
    assert {untyped.graph.entities.name(head).split()[0] for head in heads.tolist()} == {"person"}


def test_heads_can_be_given(predictor):
    found = predictor.complete("lives in", heads=["person 20", "person 17"], k=1)
    assert pairs_of(found) == {pair for pair in MISSING if pair[0] in ("person 20", "person 17")}


def test_a_new_relation_is_completed_from_examples(predictor):
    examples = [(f"person {i}", f"city {i % 4}") for i in range(4)]
    found = predictor.complete("votes in", examples=examples, k=1)
    assert pairs_of(found) >= MISSING
    assert found.provenance.relations[0].examples == tuple(examples)
    with pytest.raises(InputError, match="examples: are those of one relation"):
        predictor.complete(examples=examples)


def test_the_most_confident_of_all_relations_come_first(predictor):
    everything = predictor.complete(k=2, min_confidence=0.0).to_arrow()
    best = predictor.complete(k=2, min_confidence=0.0, most=7).to_arrow()["confidence"].to_pylist()
    assert best == sorted(everything["confidence"].to_pylist(), reverse=True)[:7]
    assert set(everything["relation"].to_pylist()) == {"works at", "located in", "lives in"}


def test_all_relations_are_those_with_enough_triples_and_none_that_says_types():
    rows = [*ROWS, *((f"person {i}", "rdf:type", "human") for i in range(5)), ("person 1", "met", "person 2")]
    assert relations_to_complete(make_predictor(rows), None) == ["works at", "located in", "lives in"]


def test_a_method_without_confidence_proposes_its_best_and_knows_no_threshold():
    predictor = make_predictor(calibration=None)
    found = predictor.complete("lives in", k=1)
    assert len(found) == NUM_PEOPLE
    assert found.to_arrow()["confidence"].null_count == NUM_PEOPLE
    with pytest.raises(InputError, match="min_confidence: nothing is known about the confidence of evidence"):
        predictor.complete("lives in", min_confidence=0.4)
    with pytest.raises(InputError, match="most: nothing is known about confidence"):
        predictor.complete("lives in", most=3)


@pytest.mark.parametrize("wrong", [{"k": 0}, {"max_heads": 0}, {"min_confidence": 1.5}])
def test_a_wrong_rule_is_named(wrong):
    with pytest.raises(InputError, match=next(iter(wrong))):
        Rules(**wrong)


def test_an_unknown_relation_is_named(predictor):
    with pytest.raises(InputError, match=r"no relation 'lives on'.*did you mean 'lives in'"):
        predictor.complete("lives on")


def test_progress_counts_heads_to_the_last(predictor):
    reports = []
    completion = Completion(predictor, ["lives in", "works at"], Rules(k=1))
    for _ in completion.batches(reports.append):
        pass
    assert reports[-1] == completion.num_heads == 2 * NUM_PEOPLE
    assert reports == sorted(reports)
