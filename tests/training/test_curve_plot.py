from shown_html import HOSTILE, check_shown
from tripleshot.training.curve_plot import draw_curves, loss_series, mrr_series, spread, thinned
from tripleshot.training.updates import CurvePoint

POINTS = [
    CurvePoint("first", 100, {"fit": 9.0}),
    CurvePoint("second", 200, {"fit": 2.0, "bias": 1.0}),
    CurvePoint("second", 300, {}, 0.25),
    CurvePoint("second", 400, {"fit": 1.0, "bias": 0.5}),
]


def test_the_loss_is_that_of_the_stage_that_runs_and_the_mrr_that_of_all():
    assert loss_series(POINTS) == ("second", [(200, 3.0), (400, 1.5)])
    assert mrr_series(POINTS) == [(300, 0.25)]
    assert loss_series([]) == ("", [])


def test_curves_are_a_picture_with_the_last_values_and_the_steps():
    shown = check_shown(draw_curves(POINTS))
    assert "loss of second  1.500" in shown.text
    assert "valid MRR  0.250" in shown.text
    assert "step 400" in shown.text
    assert shown.tags.count("polyline") == 2


def test_before_the_first_validation_there_is_no_curve_of_it():
    shown = check_shown(draw_curves(POINTS[:1]))
    assert "none yet" in shown.text
    assert shown.tags.count("polyline") == 1


def test_the_name_of_a_stage_is_text():
    assert HOSTILE[0] in check_shown(draw_curves([CurvePoint(HOSTILE[0], 1, {"fit": 1.0})])).text


def test_a_long_line_is_thinned_and_keeps_its_end():
    line = [(step, 1.0) for step in range(1001)]
    kept = thinned(line, 100)
    assert len(kept) <= 100
    assert kept[-1] == line[-1]
    assert thinned(line, 2000) == line


def test_a_value_that_stays_the_same_has_an_axis_around_it():
    low, high = spread([0.5, 0.5])
    assert low < 0.5 < high
    low, high = spread([0.0])
    assert low < 0.0 < high
