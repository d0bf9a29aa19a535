"""Answers and explanations in a notebook: what they show, and that no name in them is more than text."""

from dataclasses import replace

import numpy as np
import pytest

from graphs import make_graph
from shown_html import HOSTILE, check_shown
from tripleshot.answering.answers import Answers
from tripleshot.answering.explaining import order_reasons
from tripleshot.answering.explanation import Explanation, WeightedNeighbor
from tripleshot.answering.ranking import Ranked
from tripleshot.graph.paths import Connection
from tripleshot.methods.protocol import Reason

CITIES = make_graph([("Baku", "lies on", "Caspian Sea"), ("Varna", "lies on", "Black Sea")])
WICKED = make_graph([(HOSTILE[0], HOSTILE[1], HOSTILE[2])]).with_labels({HOSTILE[0]: HOSTILE[3]})


def ranked(tails, confidence=None, none=None):
    scores, known = np.linspace(2, 1, len(tails)), np.zeros(len(tails), dtype=bool)
    known[:1] = True
    sure = None if confidence is None else np.array(confidence)
    return Ranked(np.array(tails), scores, sure, known, 25, none)


def test_answers_show_their_rank_confidence_and_score_and_what_speaks_for_none():
    found = Answers(CITIES, (0, 1), (ranked([2, 3], [0.9, 0.05], 0.05), ranked([3])), relation="lies on")
    shown = check_shown(found.to_html())
    assert "Baku — lies on → ?" in shown.text
    assert "1.Caspian Sea (known)90%2.000" in shown.text
    assert "none of the 25 candidates5%" in shown.text
    assert "1.Black Sea (known)2.000" in shown.text


def test_a_score_is_never_shown_as_a_zero_with_a_sign():
    nearly = replace(ranked([2, 3]), scores=np.array([-0.0004, -0.0006]))
    shown = check_shown(Answers(CITIES, (0,), (nearly,)).to_html())
    assert "Caspian Sea (known)0.000" in shown.text
    assert "Black Sea-0.001" in shown.text


def test_of_very_many_answers_the_first_are_shown_and_the_others_counted():
    tails = [2, 3] * 15
    found = Answers(CITIES, (0,) * 12, (ranked(tails),) * 12)
    shown = check_shown(found.to_html())
    assert shown.tags.count("table") == 10
    assert shown.text.count("and 10 more answers") == 10
    assert "and 2 more entities" in shown.text


def test_names_in_answers_are_text():
    head, tail = WICKED.entities.ids([HOSTILE[0], HOSTILE[2]]).tolist()
    shown = check_shown(Answers(WICKED, (head,), (ranked([tail], [0.5]),), relation=HOSTILE[1]).to_html())
    assert f"{HOSTILE[3]} — {HOSTILE[1]} → ?" in shown.text
    assert HOSTILE[2] in shown.text


def explanation(graph, reasons=(), neighbors=(), relation="lies on"):
    return Explanation(graph, 0, 2, 1.0, (), neighbors, (), order_reasons(reasons), (), None, relation=relation)


def test_an_explanation_shows_its_summary_and_a_picture_in_the_colors_of_the_page():
    path = Connection((0,), (0, 2))
    reasons = (Reason("link", "an edge joins the two", 1.2, (path,)), Reason("walk", "nothing else does", -0.4))
    html = explanation(CITIES, reasons).to_html()
    shown = check_shown(html)
    assert "Why Caspian Sea for Baku (lies on)?" in shown.text
    assert "Caspian Sea, mainly because an edge joins the two, although nothing else does." in shown.text
    assert shown.tags.count("svg") == 1
    assert "fill: #222222" not in html
    assert "<style" not in html
    assert "<metadata" not in html
    assert "currentColor" in html


def test_an_explanation_without_reasons_shows_its_neighbors():
    neighbors = (WeightedNeighbor("head", 1, 0, 2, None, 0.7, None),)
    assert "70%" in check_shown(explanation(CITIES, (), neighbors).to_html()).text


@pytest.mark.parametrize("relation", HOSTILE)
def test_names_in_an_explanation_are_text_in_words_and_in_its_picture(relation):
    wicked = make_graph([(HOSTILE[0], relation, HOSTILE[2]), ("other", "r", HOSTILE[1])])
    head, tail = wicked.entities.ids([HOSTILE[0], HOSTILE[2]]).tolist()
    reason = Reason("link", HOSTILE[1], 1.0, (Connection((0,), (head, tail)),))
    found = Explanation(wicked, head, tail, 1.0, (), (), (), (reason,), (), None, relation=relation)
    shown = check_shown(found.to_html())
    assert HOSTILE[1] in shown.text
