import pytest

from completions import MISSING, NUM_KNOWN, NUM_PEOPLE, make_predictor
from server.conftest import Client, detail
from tripleshot.server import Limits, create_app


@pytest.fixture(scope="module")
def people() -> Client:
    return Client(create_app(make_predictor(), Limits(max_heads=10), None))


def pairs(found) -> set[tuple[str, str]]:
    return {(one["head"]["name"], one["tail"]["name"]) for one in found["proposals"]}


def test_a_relation_is_completed_some_heads_at_a_time(people):
    asked = {"relation": "lives in", "limit": 5, "missing_only": True}
    first = people.post("/complete", json=asked).json()
    assert (first["relation"], first["num_heads"], first["next"]) == ("lives in", NUM_PEOPLE - NUM_KNOWN, 5)
    assert len(first["examples"]) == 10
    second = people.post("/complete", json={**asked, "skip": first["next"]}).json()
    assert second["next"] is None
    assert pairs(first) | pairs(second) == MISSING
    assert all(one["confidence"] >= 0.5 for one in first["proposals"])
    assert people.post("/complete", json={**asked, "skip": 100}).json()["proposals"] == []


def test_what_is_given_as_an_example_is_not_proposed_again(people):
    examples = [{"head": f"person {i}", "tail": f"city {i % 4}"} for i in range(4)]
    accepted = {"head": "person 20", "tail": "city 0"}
    asked = {"relation": "lives in", "heads": ["person 20", "person 21"], "min_confidence": 0.9}
    assert pairs(people.post("/complete", json=asked).json()) == {("person 20", "city 0"), ("person 21", "city 1")}
    found = people.post("/complete", json={**asked, "examples": [*examples, accepted]}).json()
    assert pairs(found) == {("person 21", "city 1")}
    assert len(found["examples"]) == 5


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"limit": 11}, "limit: 11 are more than the 10 that this server allows"),
        ({"heads": ["person 1"] * 11}, "heads: 11 are more than the 10 that this server allows"),
        ({"top": 101}, "top: 101 are more than the 100 that this server allows"),
        ({"relation": "lives on"}, "the graph has no relation 'lives on'"),
    ],
)
def test_more_than_is_allowed_is_refused(people, wrong, message):
    assert message in detail(people.post("/complete", json={"relation": "lives in", "limit": 5, **wrong}), 400)


def test_a_request_of_another_form_is_refused(people):
    named = {"relation": "lives in"}
    for wrong in ({}, {"relation": ""}, {**named, "skip": -1}, {**named, "min_confidence": 2}, {**named, "heads": []}):
        detail(people.post("/complete", json=wrong), 422)


def test_heads_that_would_take_too_much_memory_are_not_looked_for():
    served = Client(create_app(make_predictor(), Limits(max_memory=4000), None))
    assert "MB of memory" in detail(served.post("/complete", json={"relation": "lives in", "limit": 5}), 413)


def test_relations_are_listed_the_most_frequent_first(people):
    listed = people.get("/relations").json()["relations"]
    assert [(one["name"], one["num_triples"]) for one in listed] == [
        ("works at", NUM_PEOPLE),
        ("lives in", NUM_KNOWN),
        ("located in", 12),
    ]
    assert len(people.get("/relations?limit=1").json()["relations"]) == 1
    detail(people.get("/relations?limit=0"), 422)
