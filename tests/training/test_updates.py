"""The points of curves: steps run on over stages, and a training that is resumed says what it has told before."""

from tripleshot.training.updates import Curve, CurvePoint

ROWS = [
    {"stage": "first", "step": 100, "losses": {"fit": 2.0}},
    {"stage": "first", "step": 150, "finished": "first"},
    {"stage": "second", "step": 100, "losses": {"fit": 1.0, "bias": 0.5}},
    {"stage": "second", "step": 100, "valid_mrr": 0.25},
]


def test_steps_run_on_from_one_stage_to_the_next():
    curve = Curve()
    for row in ROWS:
        curve.add(row)
    assert curve.take() == (
        CurvePoint("first", 100, {"fit": 2.0}),
        CurvePoint("second", 250, {"fit": 1.0, "bias": 0.5}),
        CurvePoint("second", 250, {}, 0.25),
    )
    assert curve.take() == ()


def test_trackers_know_a_loss_by_its_stage_and_a_validation_by_its_metric():
    assert CurvePoint("second", 250, {"fit": 1.0}).values == {"second/fit": 1.0}
    assert CurvePoint("second", 250, {}, 0.25).values == {"valid/mrr": 0.25}


def test_a_training_that_goes_on_gives_all_points_and_says_which_are_new():
    curve = Curve()
    curve.go_on_from(ROWS, num_kept=1)
    for row in [*ROWS[1:], {"stage": "second", "step": 200, "losses": {"fit": 0.5}}]:
        curve.add(row)
    assert [(point.step, point.is_new) for point in curve.take()] == [
        (100, False),
        (250, False),
        (250, False),
        (350, True),
    ]
