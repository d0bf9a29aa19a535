from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from tripleshot.cli.display import PlottedProgress, TrainingDisplay, training_display
from tripleshot.cli.live_plot import LivePlot, draw, has_room
from tripleshot.training.updates import CurvePoint, TrainingUpdate

FALLING = [(100, 3.0), (200, 2.0), (300, 1.0)]


def console(width=100, height=30, **about):
    settings: dict[str, Any] = {"force_terminal": True, **about}
    return Console(file=StringIO(), width=width, height=height, **settings)


def written(shown):
    assert isinstance(shown.file, StringIO)
    return shown.file.getvalue()


def test_a_plot_falls_from_the_upper_left_to_the_lower_right():
    title, *lines, steps = draw("loss", FALLING, "red", 40).plain.split("\n")
    assert title.split() == ["loss", "1.000"]
    assert lines[0].split("┤")[0].strip() == "3"
    assert lines[-1].split("┤")[0].strip() == "1"
    dots = [[sign != "⠀" for sign in line[9:]] for line in lines]
    assert dots[0][0]
    assert dots[-1][-1]
    assert not dots[0][-1]
    assert steps.split() == ["100", "step", "300"]
    assert {len(line) for line in (title, *lines, steps)} == {40}


def test_a_single_point_is_a_plot_too():
    assert draw("loss", [(100, 0.0)], "red", 30).plain.count("\n") == 7


@pytest.mark.parametrize(
    ("about", "expected"),
    [
        ({}, True),
        ({"width": 60}, False),
        ({"height": 10}, False),
        ({"force_terminal": False}, False),
        ({"legacy_windows": True}, False),
        ({"_environ": {"TERM": "dumb"}}, False),
    ],
)
def test_plots_are_drawn_where_a_terminal_has_room_for_them(about, expected, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    assert has_room(console(**about)) == expected


def test_plots_stand_above_the_line_of_a_training_and_grow():
    shown = console()
    with PlottedProgress("{task.description}", console=shown, auto_refresh=False) as progress:
        progress.plot = LivePlot()
        display = TrainingDisplay(progress, progress.plot)
        display(TrainingUpdate("episodes", 500, 1, {"fit": 3.0}, -1.0, 1.0, 0.0))
        progress.refresh()
        assert "loss of" not in written(shown)
        points = tuple(CurvePoint("episodes", step, {"fit": value}) for step, value in FALLING)
        display(TrainingUpdate("episodes", 500, 300, {"fit": 1.0}, -1.0, 1.0, 0.0, points))
        progress.refresh()
        assert "loss of episodes 1.000" in written(shown)
        assert "valid MRR" not in written(shown)
        points = (CurvePoint("episodes", 300, {}, 0.4),)
        display(TrainingUpdate("episodes", 500, 301, {"fit": 1.0}, 0.4, 1.0, 0.0, points))
        progress.refresh()
    assert "valid MRR 0.400" in written(shown)


def test_without_a_terminal_nothing_is_drawn_unless_it_is_asked_for(capsys):
    with training_display() as display:
        assert display.plot is None
    with training_display(plots=True) as display:
        assert display.plot is not None
    assert capsys.readouterr().err == ""
