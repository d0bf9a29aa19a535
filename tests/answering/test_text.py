import pytest

from graphs import make_graph
from tripleshot.answering.explanation import Explanation, WeightedExample, WeightedNeighbor
from tripleshot.answering.text import as_text, signed, summarize
from tripleshot.graph.paths import Connection, find_connections
from tripleshot.methods.protocol import Reason

GRAPH = make_graph(
    [
        ("Baku", "is a city in", "Azerbaijan"),
        ("airport", "serves", "Baku"),
        ("Azerbaijan", "has a coast on the", "Caspian Sea"),
        ("Iran", "has a coast on the", "Caspian Sea"),
        ("Azerbaijan", "borders", "Iran"),
        ("Odesa", "faces", "Black Sea"),
        ("Jeddah", "faces", "Red Sea"),
    ]
)
ID, R = GRAPH.entities.id, GRAPH.relations.id
BACK = GRAPH.num_relations


def near(side, relation, entity, weight, through=None):
    local, attention = (weight, 0.01) if through is None else (None, weight)
    return WeightedNeighbor(side, 1 if through is None else 2, relation, ID(entity), through, local, attention)


def explanation(examples=(0.7, 0.3), neighbors=(), connections=(), reasons=()):
    pairs = [("Odesa", "Black Sea"), ("Jeddah", "Red Sea")]
    weighed = [WeightedExample(ID(h), ID(t), w, w) for (h, t), w in zip(pairs, examples, strict=True)]
    return Explanation(
        GRAPH, ID("Baku"), ID("Caspian Sea"), 1.0, tuple(weighed), tuple(neighbors), connections, reasons, (), None
    )


def test_it_reads_like_an_answer():
    neighbors = (
        near("head", BACK + R("serves"), "airport", 0.2),
        near("head", R("is a city in"), "Azerbaijan", 0.8),
        near("head", R("borders"), "Iran", 0.06, ID("Azerbaijan")),
        near("tail", BACK + R("has a coast on the"), "Azerbaijan", 0.51),
        near("tail", BACK + R("has a coast on the"), "Iran", 0.49),
    )
    connections = find_connections(GRAPH, ID("Baku"), ID("Caspian Sea"))
    assert as_text(explanation(neighbors=neighbors, connections=connections)).splitlines() == [
        "Why Caspian Sea for Baku?",
        "Caspian Sea, mainly because it resembles the example Odesa → Black Sea (70%).",
        "It resembles most the examples Odesa → Black Sea (70%) and Jeddah → Red Sea (30%).",
        "What weighed most around Baku: is a city in → Azerbaijan (80%), ← serves — airport (20%).",
        "Around Caspian Sea, 2 neighbors weighed about the same, among them: "
        "← has a coast on the — Azerbaijan (51%), ← has a coast on the — Iran (49%).",
        "Further away, by attention: Azerbaijan — borders → Iran (6%).",
        "In the graph: Baku — is a city in → Azerbaijan — has a coast on the → Caspian Sea.",
    ]


def test_examples_that_weigh_the_same_are_not_told_apart():
    assert "It resembles all 2 examples about equally." in as_text(explanation(examples=(0.52, 0.48)))


def test_what_is_not_in_the_graph_is_said_plainly():
    text = as_text(explanation())
    assert "The graph says nothing about Baku." in text
    assert text.endswith("In the graph no link and no path of two steps joins Baku and Caspian Sea.")


def test_a_single_neighbor_is_not_compared():
    text = as_text(explanation(neighbors=(near("head", R("is a city in"), "Azerbaijan", 1.0),)))
    assert "Around Baku: is a city in → Azerbaijan (100%)." in text


def test_a_method_that_weighs_nothing_gives_its_reasons_and_no_neighbors():
    reasons = (Reason("path", "examples share a path", 0.4), Reason("degree", "it has 2 edges", 0.1))
    neighbors = (WeightedNeighbor("head", 1, R("is a city in"), ID("Azerbaijan"), None, None, None),)
    assert as_text(explanation((None, None), neighbors, reasons=reasons)).splitlines() == [
        "Why Caspian Sea for Baku?",
        "Caspian Sea, mainly because examples share a path.",
        "What spoke for it:",
        "  +0.40  examples share a path",
        "  +0.10  it has 2 edges",
        "The graph says nothing about Caspian Sea.",
        "In the graph no link and no path of two steps joins Baku and Caspian Sea.",
    ]


def test_reasons_for_and_against_stand_apart_with_signs_and_their_paths():
    (path,) = find_connections(GRAPH, ID("Baku"), ID("Caspian Sea"))
    reasons = (
        Reason("walk", "three steps lead to it", 1.2, (path,)),
        Reason("common", "both are next to Azerbaijan", 0.5, (path,)),
        Reason("link", "no edge joins the two", -0.9),
        Reason("support", "no example has it", -0.004),
        Reason("start", "where every answer starts", 2.0),
    )
    assert as_text(explanation((None, None), connections=(path,), reasons=reasons)).splitlines() == [
        "Why Caspian Sea for Baku?",
        "Caspian Sea, mainly because three steps lead to it, although no edge joins the two.",
        "What spoke for it:",
        "  +1.20  three steps lead to it",
        "         Baku — is a city in → Azerbaijan — has a coast on the → Caspian Sea",
        "  +0.50  both are next to Azerbaijan",
        "What spoke against it:",
        "  −0.90  no edge joins the two",
        "The graph says nothing about Baku.",
        "The graph says nothing about Caspian Sea.",
    ]


def test_what_nothing_speaks_for_is_said_to_have_nothing():
    text = as_text(explanation((None, None), reasons=(Reason("link", "no edge joins the two", -0.9),)))
    assert "Caspian Sea, although no edge joins the two, and nothing speaks for it." in text
    assert "What spoke for it" not in text
    assert "for which the method gives no reason." in as_text(explanation((None, None)))


def test_the_summary_names_the_heaviest_neighbor_when_no_example_stands_out():
    neighbors = (near("head", R("is a city in"), "Azerbaijan", 0.8), near("tail", R("borders"), "Iran", 0.6))
    found = summarize(explanation((0.5, 0.5), neighbors))
    assert found == "Caspian Sea, with most weight on Baku — is a city in → Azerbaijan (80%)."


@pytest.mark.parametrize(
    ("weight", "written"),
    [(1.234, "+1.23"), (-0.5, "−0.50"), (0.0, "0.00"), (-0.0, "0.00"), (-0.001, "−0.001"), (0.0004, "+0.0004")],
)
def test_a_weight_has_a_sign_and_never_only_zeros(weight, written):
    assert signed(weight) == written


@pytest.mark.parametrize("count", [1, 3, 4, 20])
def test_many_connections_are_cut_short(count):
    ends = (ID("Baku"), ID("Caspian Sea"))
    text = as_text(explanation(connections=tuple(Connection((R("serves"),), ends) for _ in range(count))))
    assert text.count("In the graph: ") == min(count, 3)
    assert ("there are more" in text) == (count > 3)
    assert len(text.splitlines()) <= 12
