from dataclasses import replace
from itertools import combinations
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.image import imread

from drawn_texts import texts_of
from graphs import make_graph
from tripleshot.answering import plots as picturing
from tripleshot.answering.explaining import explain
from tripleshot.answering.plots import MAX_DRAWN, draw_attention, draw_neighbors, shorten
from tripleshot.errors import InputError
from tripleshot.methods import create_method
from tripleshot.methods.rscl.method import RSCLMethod
from tripleshot.methods.rscl.settings import RSCLSettings
from tripleshot.training.fit import fit

SMALL = RSCLSettings(width=16, num_layers=2, num_heads=2, max_neighbors=4, max_distant=2)
LONG = "a name with $dollars$ that is much too long to be written out beside "


def untrained(dataset, **changes):
    method = RSCLMethod(replace(SMALL, **changes))
    method.prepare(dataset, 3)
    return method


@pytest.fixture
def explanation(tiny):
    task = tiny.test[0]
    return explain(untrained(tiny), task.support(3), *task.queries(3)[0].tolist())


@pytest.fixture(scope="module")
def crowded(tiny):
    """A head with more neighbors than fit, all with long names, and a tail with none."""
    triples = [(LONG + str(i), "points $to^the_" + LONG, LONG + "all") for i in range(20)]
    graph = make_graph([*triples, ("x", "near", "y"), ("y", "near", "lonely")]).without_relations(np.array([1]))
    dataset = replace(tiny, graph=graph, train=(), valid=(), test=())
    head, tail, x, y = graph.entities.ids([LONG + "all", "lonely", "x", "y"]).tolist()
    return explain(untrained(dataset, max_neighbors=16), np.array([[x, y]]), head, tail)


@pytest.fixture
def figures(monkeypatch):
    """Catch figures instead of writing them."""
    caught = []
    monkeypatch.setattr(picturing, "write_figure", lambda figure, path: caught.append(figure))
    return caught


@pytest.mark.parametrize("draw", [draw_attention, draw_neighbors])
def test_pictures_are_valid_png(tiny, explanation, tmp_path, draw):
    path = tmp_path / "deep" / "picture.png"
    draw(explanation, path)
    pixels = imread(path)
    assert min(pixels.shape[:2]) > 300
    assert pixels.std() > 0.01


@pytest.mark.parametrize("draw", [draw_attention, draw_neighbors])
def test_pictures_are_valid_svg_with_text_that_can_be_read(tiny, explanation, tmp_path, draw):
    path = tmp_path / "picture.SVG"
    draw(explanation, path)
    words = "\n".join(ElementTree.parse(path).getroot().itertext())
    for entity in (explanation.head, explanation.tail, *(near.entity for near in explanation.around("head"))):
        assert tiny.graph.entities.label(entity) in words
    assert "the new relation" in words


@pytest.mark.parametrize("draw", [draw_attention, draw_neighbors])
@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_the_same_explanation_gives_the_same_bytes(tiny, explanation, tmp_path, draw, suffix):
    paths = [tmp_path / f"{name}.{suffix}" for name in "ab"]
    for path in paths:
        draw(explanation, path)
    assert paths[0].read_bytes() == paths[1].read_bytes()


@pytest.mark.parametrize("draw", [draw_attention, draw_neighbors])
@pytest.mark.parametrize("name", ["picture.docx", "picture"])
def test_another_suffix_is_an_error_that_names_the_file(tiny, explanation, tmp_path, draw, name):
    with pytest.raises(InputError, match=f"{name}: a figure is a .png, .svg"):
        draw(explanation, tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_a_method_without_attention_has_no_attention_map(tiny, tmp_path):
    method, task = create_method("evidence"), tiny.test[0]
    fit(method, tiny, 3)
    explanation = explain(method, task.support(3), *task.queries(3)[0].tolist())
    with pytest.raises(InputError, match=r"map\.png: there is no attention to draw"):
        draw_attention(explanation, tmp_path / "map.png")
    draw_neighbors(explanation, tmp_path / "neighbors.png")
    assert (tmp_path / "neighbors.png").stat().st_size > 1000


def test_percentages_are_the_neighbors_weights(tiny, explanation, figures, tmp_path):
    draw_neighbors(explanation, tmp_path / "picture.png")
    written = [text.get_text() for text, _ in texts_of(figures[0])]
    for neighbor in explanation.around("tail"):
        assert f"{neighbor.weight:.0%}  {tiny.graph.entities.label(neighbor.entity)}" in written


@pytest.mark.parametrize("draw", [draw_attention, draw_neighbors])
def test_no_two_texts_overlap(tiny, explanation, crowded, figures, tmp_path, draw):
    draw(explanation, tmp_path / "picture.png")
    draw(crowded, tmp_path / "picture.png")
    for figure in figures:
        for (one, box), (other, rival) in combinations(texts_of(figure), 2):
            assert not box.overlaps(rival), (one.get_text(), other.get_text())


def test_too_many_neighbors_are_counted_and_none_are_said_to_be_none(crowded, figures, tmp_path):
    draw_neighbors(crowded, tmp_path / "picture.png")
    written = [text.get_text() for text, _ in texts_of(figures[0])]
    assert f"and {16 - MAX_DRAWN} more" in written
    assert "no neighbors" in written


def test_long_names_keep_both_ends():
    assert shorten("short  and\nplain") == "short and plain"
    shortened = shorten(LONG + "17")
    assert len(shortened) <= 28
    assert shortened.startswith("a name")
    assert shortened.endswith("17")


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("concept:sportsteamposition:player", "sportsteamposition:player"),
        ("← concept:personborninlocation", "← personborninlocation"),
        ("http://somewhere.org/resource/Albert", "resource/Albert"),
        ("short:name", "short:name"),
        ("The ratio 1:2, as it is written", "The ratio 1:2, as…written"),
        ("ending:with:a:colon:and:much:more:", "with:a:colon:and:much:more:"),
    ],
)
def test_namespaces_are_left_out_of_long_identifiers_but_words_never(name, written):
    assert shorten(name, 27) == written
