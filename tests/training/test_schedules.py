import pytest

from tripleshot.training.optimization import learning_rate


@pytest.mark.parametrize(
    ("schedule", "step", "expected"),
    [
        ("stepwise", 0, 1.0),
        ("stepwise", 9_999, 1.0),
        ("stepwise", 10_000, 0.25),
        ("stepwise", 20_000, 0.0625),
        ("stepwise", 90_000, 0.025),
        ("once", 9_999, 1.0),
        ("once", 90_000, 0.25),
        ("linear", 50_000, 0.5),
        ("linear", 99_999, 0.025),
        ("constant", 99_999, 1.0),
    ],
)
def test_the_rate_goes_down_as_named(schedule, step, expected):
    assert learning_rate(schedule, 1.0, step, 100_000, warmup=0) == pytest.approx(expected)


def test_every_schedule_rises_first():
    rates = [learning_rate("constant", 1.0, step, 100, warmup=10) for step in range(12)]
    assert rates == pytest.approx([*(i / 10 for i in range(1, 11)), 1.0, 1.0])
