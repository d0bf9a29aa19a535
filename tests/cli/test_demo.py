import subprocess
import sys
from dataclasses import replace

import pytest
from rich.console import Console

from tripleshot.methods.rscl.method import RSCLMethod
from tripleshot.methods.rscl.settings import demo as demo_settings


@pytest.fixture
def short_demo(monkeypatch):
    """A demo whose training lasts a moment and which compares on few queries."""
    small = replace(demo_settings(), width=8, num_layers=1, valid_queries=5)
    monkeypatch.setitem(RSCLMethod.presets, "demo", lambda: small)
    monkeypatch.setattr("tripleshot.cli.demo.BUDGET", 3)
    monkeypatch.setattr("tripleshot.cli.demo.QUERIES", 30)


def test_the_demo_answers_then_trains_asks_both_and_ranks_the_methods(run, tmp_path, short_demo):
    code, out, _ = run("demo", "--run", tmp_path / "run")
    assert code == 0
    at_once, trained = out.split("RSCL, the paper's model, has to learn Atlas first")
    both, compared = trained.split("relations that no method has seen")
    for part in (at_once, both):
        assert "On which sea or ocean does Baku lie?" in part
        assert "What is the calling code of Spain?" in part
    assert "─ rscl ─" not in at_once
    assert [line for line in both.splitlines() if "─ universal ─" in line and "─ rscl ─" in line]
    assert [name for name in ("evidence", "universal", "rscl") if f"│ {name} " not in compared] == []
    assert "Atlas is among the graphs that the universal weights were trained on" in compared
    assert (tmp_path / "run" / "rscl" / "weights.safetensors").exists()


def test_first_answers_of_the_demo_are_right_and_do_not_wait_for_torch(tmp_path):
    lines = (
        "import sys",
        "sys.modules['torch'] = None",
        "from tripleshot.cli import app",
        f"app({['demo', '--no-train', '--run', str(tmp_path / 'run')]!r}, result_action='return_value')",
    )
    found = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True)
    assert not found.returncode, found.stderr
    assert not (tmp_path / "run").exists()
    right = [line for line in found.stdout.splitlines() if "✓ true" in line]
    assert ["1. " in line and "%" in line for line in right] == [True, True]
    assert "Caspian Sea" in right[0]
    assert "+34" in right[1]
    assert found.stdout.count("What spoke for it:") == 2


def test_a_narrow_terminal_has_the_answers_of_the_methods_below_each_other(run, tmp_path, short_demo, monkeypatch):
    monkeypatch.setattr("tripleshot.cli.demo.console", Console(width=80, highlight=False))
    code, out, _ = run("demo", "--run", tmp_path / "run")
    assert code == 0
    titles = [line for line in out.splitlines() if "─ universal ─" in line or "─ rscl ─" in line]
    assert ["rscl" in title for title in titles] == [False, False, False, True, False, True]


def test_the_demo_does_not_replace_what_is_no_run(run, tmp_path):
    (tmp_path / "precious").mkdir()
    code, _, err = run("demo", "--run", tmp_path / "precious")
    assert code == 1
    assert "is not a demo's" in err
