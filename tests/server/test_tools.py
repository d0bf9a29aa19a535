"""The tools: what each is described by, and that they are the service's questions within its limits."""

from typing import Any

import pytest

from graphs import make_graph
from server.conftest import EXAMPLES, QUESTION
from tripleshot.answering.predictor import Predictor
from tripleshot.answering.steps import finish
from tripleshot.errors import InputError
from tripleshot.graph.readers import read_graph
from tripleshot.server import Limits
from tripleshot.server.service import Service
from tripleshot.server.tools import MAX_LISTED, TOOLS

DEFAULTS = Limits()
BY_NAME = {tool.name: tool for tool in TOOLS}


def call(predictor: Predictor, name: str, limits: Limits = DEFAULTS, **arguments) -> Any:
    tool = BY_NAME[name]
    found = finish(tool.call(Service(predictor, limits), tool.request.model_validate(arguments)))
    assert type(found) is tool.response
    return found


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_a_tool_says_what_it_does_and_what_it_takes(tool):
    assert tool.description.endswith(".")
    fields = tool.request.model_json_schema().get("properties", {})
    assert fields.keys() == tool.request.model_fields.keys()


def test_about_lists_the_most_frequent_relations_first():
    triples = [("Baku", "lies in", "Azerbaijan"), ("Riga", "lies in", "Latvia"), ("Riga", "twin of", "Baku")]
    about = call(Predictor(read_graph(triples), "evidence"), "about")
    listed = [(relation.name, relation.num_triples) for relation in about.relations]
    assert listed == [("lies in", 2), ("twin of", 1)]
    assert (about.num_entities, about.num_triples) == (4, 3)


def test_about_lists_no_more_relations_and_types_than_can_be_read():
    most = MAX_LISTED + 5
    triples = [(f"a{number}", f"r{number}", f"b{number}") for number in range(most)]
    graph = make_graph(triples, {name: f"type of {name}" for head, _, tail in triples for name in (head, tail)})
    about = call(Predictor(graph, "evidence"), "about")
    assert (len(about.relations), about.num_relations) == (MAX_LISTED, most)
    assert (len(about.types), about.num_types) == (MAX_LISTED, 2 * most)


def test_what_a_search_has_found_can_be_asked_about_by_its_name(predictor):
    found = call(predictor, "search", text="bakku", limit=1).entities
    assert [entity.name for entity in found] == ["city/baku-az"]
    neighbors = call(predictor, "neighbors", entity=found[0].name, limit=3)
    assert (neighbors.entity.label, len(neighbors.neighbors)) == ("Baku", 3)
    answers = call(predictor, "predict", **QUESTION).results[0].answers
    assert (answers[0].entity.label, len(answers)) == ("Caspian Sea", 3)


def test_an_explanation_has_words_and_reasons(predictor):
    why = call(predictor, "explain", examples=EXAMPLES, head="city/baku-az", tail="Caspian Sea")
    assert why.text.startswith("Why Caspian Sea for Baku?")
    assert why.reasons[0].paths
    assert why.asked == "head"


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("search", {"text": "b" * 11}, "letters of a name: 11 are more than the 10"),
        ("search", {"text": "b", "limit": 6}, "limit: 6 are more than the 5"),
        ("neighbors", {"entity": "#1", "limit": 6}, "limit: 6 are more than the 5"),
        ("neighbors", {"entity": "b" * 11}, "letters of a name: 11 are more than the 10"),
        ("predict", {"heads": ["#1"] * 3, "relation": "borders"}, "heads: 3 are more than the 2"),
        ("predict", {"heads": ["#1"], "relation": "borders", "top": 4}, "top: 4 are more than the 3"),
        ("explain", {"examples": [{"head": 1, "tail": 2}] * 3, "head": 1, "tail": 2}, "examples: 3 are more than"),
    ],
)
def test_limits_hold(predictor, name, arguments, message):
    limits = Limits(max_text=10, max_listed=5, max_heads=2, max_top=3, max_examples=2)
    with pytest.raises(InputError, match=message):
        call(predictor, name, limits, **arguments)
