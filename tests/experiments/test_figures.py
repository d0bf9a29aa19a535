import numpy as np
import pytest

from experiments.paper.documents import result
from tripleshot.errors import InputError
from tripleshot.experiments.comparison_table import make_comparison
from tripleshot.experiments.figures import draw_comparison, draw_neighbor_histogram, spread_out

CURVE = [(step, 0.1 * step) for step in (1, 2, 3)]
RESULTS = [{**one, "seconds": 20.0} for one in (result("degree", 0.07), result("rscl", 0.31, curve=CURVE))]


@pytest.mark.parametrize("results", [RESULTS, RESULTS[:1], [{**result("rscl", 0.0), "seconds": 20.0}]])
def test_the_figure_can_be_drawn_with_and_without_curves(results, tmp_path):
    draw_comparison(make_comparison(results, "tiny", 5, 30), tmp_path / "compare.png")
    assert (tmp_path / "compare.png").read_bytes().startswith(b"\x89PNG")


def test_labels_are_spread_as_little_as_needed():
    assert spread_out([1, 5], 1, 0, 10) == [1, 5]
    np.testing.assert_allclose(spread_out([5, 5, 5], 1, 0, 10), [4, 5, 6])
    np.testing.assert_allclose(spread_out([0, 0, 9.9, 10], 1, 0, 10), [0, 1, 9, 10])
    assert spread_out([], 1, 0, 10) == []
    crowded = np.array(spread_out(np.sort(np.random.default_rng(0).random(12)).tolist(), 0.08, 0, 1))
    assert np.diff(crowded).min() >= 0.08 - 1e-9
    assert (crowded.min(), crowded.max()) >= (0, 0.8)


@pytest.mark.parametrize("suffix", ["png", "pdf", "svg"])
def test_the_first_figure_is_drawn(tiny, tmp_path, suffix):
    path = tmp_path / "deep" / f"figure.{suffix}"
    draw_neighbor_histogram(tiny, path)
    assert path.stat().st_size > 1000


def test_an_unknown_picture_format_is_one_clear_error(tiny, tmp_path):
    with pytest.raises(InputError, match=r"figure\.docx: a figure is a \.png, \.svg or \.pdf file"):
        draw_neighbor_histogram(tiny, tmp_path / "figure.docx")
