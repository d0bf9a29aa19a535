from itertools import combinations
from xml.etree import ElementTree

import numpy as np
import pytest

from drawn_texts import texts_of
from graphs import make_graph
from tripleshot.answering import reason_plots
from tripleshot.answering.explaining import explain, order_reasons
from tripleshot.answering.explanation import Explanation
from tripleshot.answering.reason_plots import draw_reasons
from tripleshot.datasets.dataset import FewShotDataset
from tripleshot.errors import InputError
from tripleshot.graph.paths import Connection
from tripleshot.methods.evidence.evidence_net import EvidenceNet
from tripleshot.methods.protocol import Reason

LONG = "a name with $dollars$ that is much too long to be written out beside "
GRAPH = make_graph(
    [
        ("Baku", "is a city of", LONG + "Baki"),
        (LONG + "Baki", "is a subdivision of " + LONG, "Azerbaijan"),
        ("Azerbaijan", "has a coast on the", "Caspian Sea"),
        ("Odesa", "is a city in", "Ukraine"),
    ]
)
BAKU, BAKI, COUNTRY, SEA, ODESA = GRAPH.entities.ids(
    ["Baku", LONG + "Baki", "Azerbaijan", "Caspian Sea", "Odesa"]
).tolist()
WALK = Connection((0, 1, 2), (BAKU, BAKI, COUNTRY, SEA))


def explanation(*reasons):
    return Explanation(GRAPH, BAKU, SEA, 1.0, (), (), (), order_reasons(reasons), (), None, relation="lies on")


def crowded():
    return explanation(
        Reason("walk", "three steps lead to it, by way of " + 2 * LONG, 1.2, (WALK,)),
        Reason("path", "a path", 0.4, (Connection(WALK.relations[1:], WALK.entities[1:]),)),
        Reason("support", "the example Odesa has this answer", 0.3, (), ((ODESA, SEA),)),
        Reason("link", "no edge joins the two", -0.9),
    )


@pytest.fixture
def figures(monkeypatch):
    """Catch figures instead of writing them."""
    caught = []
    monkeypatch.setattr(reason_plots, "write_figure", lambda figure, path: caught.append(figure))
    return caught


def test_the_picture_tells_the_reasons_of_the_text_in_its_order(tmp_path):
    found = crowded()
    draw_reasons(found, tmp_path / "why.svg")
    words = " ".join(" ".join(ElementTree.parse(tmp_path / "why.svg").getroot().itertext()).split())
    lines = [line.split() for line in str(found).splitlines() if line.startswith(("  +", "  −"))]
    numbers = [number for number, *_ in lines]
    assert numbers == ["+1.20", "+0.40", "+0.30", "−0.90"]
    for number, *text in lines:
        assert number in words
        assert " ".join(text) in words
    assert [words.index(number) for number in numbers] == sorted(words.index(number) for number in numbers)


def test_a_main_reason_of_three_steps_is_drawn_with_every_entity_on_the_way(figures, tmp_path):
    draw_reasons(explanation(Reason("walk", "three steps lead to it", 1.2, (WALK,))), tmp_path / "why.png")
    written = [text.get_text() for text, _ in texts_of(figures[0])]
    assert {"Baku", "Azerbaijan", "Caspian Sea", "has a coast on the"} <= set(written)
    assert any(text.startswith("a name with") for text in written)


def test_no_two_texts_overlap_and_none_leaves_the_picture(figures, tmp_path):
    draw_reasons(crowded(), tmp_path / "why.png")
    (figure,) = figures
    found = texts_of(figure)
    for (one, box), (other, rival) in combinations(found, 2):
        assert not box.overlaps(rival), (one.get_text(), other.get_text())
    for text, box in found:
        assert figure.bbox.x0 <= box.x0, text.get_text()
        assert box.x1 <= figure.bbox.x1, text.get_text()


def test_bars_for_and_against_point_to_opposite_sides_and_differ_without_colour(figures, tmp_path):
    draw_reasons(crowded(), tmp_path / "why.png")
    (axes,) = figures[0].axes
    bars = [patch for patch in axes.patches if patch.get_gid() == "bar"]
    zero = bars[0].get_x()
    assert [bar.get_x() + bar.get_width() <= zero for bar in bars] == [False, False, False, True]
    assert [bool(bar.get_hatch()) for bar in bars] == [False, False, False, True]


def test_without_reasons_there_is_nothing_to_draw(tmp_path):
    with pytest.raises(InputError, match=r"why\.png: there are no reasons to draw"):
        draw_reasons(explanation(), tmp_path / "why.png")


def test_every_reason_of_the_network_can_be_drawn(tmp_path):
    method = EvidenceNet()
    method.prepare(FewShotDataset("small", GRAPH, (), (), ()), 1)
    found = explain(method, np.array([[ODESA, SEA]]), BAKU, SEA)
    assert len(found.main_reasons[0].text) > 0
    found.plot(tmp_path / "why.png")
    assert (tmp_path / "why.png").stat().st_size > 1000
