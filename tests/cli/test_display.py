from io import StringIO

import pytest
from rich.console import Console
from rich.progress import Progress, TextColumn
from rich.text import Text

from tripleshot.cli.display import TrainingDisplay, confidence_bar, hint, progress_bar, waiting
from tripleshot.cli.messages import set_verbosity, terminal_logging
from tripleshot.training.updates import TrainingUpdate


def test_hints_are_whole_lines_and_left_out_when_only_results_are_wanted(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    with terminal_logging():
        set_verbosity(0)
        hint("try: tripleshot evaluate [DATA] --run a-run")
        set_verbosity(-1)
        hint("not shown")
    assert capsys.readouterr().out == "try: tripleshot evaluate [DATA] --run a-run\n"


def test_progress_is_silent_where_there_is_no_terminal(capsys):
    with progress_bar("counting") as progress:
        progress(1, 2)
    with waiting("counting"):
        pass
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(("budget", "expected"), [(0.0, "episodes 3/10"), (60.0, "episodes 0:00:30 of 0:01:00")])
def test_a_training_shows_its_steps_or_its_time(budget, expected):
    written = StringIO()
    console = Console(file=written, force_terminal=True, width=120)
    columns = (TextColumn("{task.description} {task.fields[done]}"), TextColumn("{task.fields[note]}"))
    with Progress(*columns, console=console) as progress:
        TrainingDisplay(progress)(TrainingUpdate("episodes", 10, 3, {"margin": 0.5}, 0.25, 30.0, budget))
    shown = written.getvalue()
    assert expected in shown
    assert "margin 0.500  best valid MRR 0.250" in shown


@pytest.mark.parametrize(
    ("share", "shown"), [(0.0, "░░░░░░░░░░   0%"), (0.42, "████░░░░░░  42%"), (1.0, "██████████ 100%")]
)
def test_confidence_is_a_bar_of_one_length_with_its_percentage(share, shown):
    assert Text.from_markup(confidence_bar(share)).plain == shown
