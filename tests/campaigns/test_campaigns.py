"""The fault campaigns in a form that takes seconds; `tests/faults.py` has the long one."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from campaigns.children import run_child
from faults import add_up

FAULTS = Path(__file__).parents[1] / "faults.py"


@pytest.mark.skipif(sys.platform != "linux", reason="children are forked, and limited as on Linux")
def test_no_fault_loses_anything(tmp_path):
    sizes = {"kills": 5, "full-disks": 3, "damages": 12, "inputs": 200, "minutes": 8}
    words = [f"--{name}={size}" for name, size in sizes.items()]
    command = [sys.executable, str(FAULTS), *words, "--json", str(tmp_path / "faults.json")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads((tmp_path / "faults.json").read_text())
    assert found["lost"] == 0
    assert found["runs"][0]["command"].startswith("faults.py --kills=5 ")
    assert found["tried"].keys() == {"kill", "full disk", "no place", "damage", "fuzz"}


def test_runs_of_a_campaign_are_added_up():
    runs = [
        {"seed": 0, "campaigns": {"kill: ask": {"tried": 3, "lost": 0}, "fuzz: a.tsv": {"tried": 9, "lost": 0}}},
        {"seed": 1, "campaigns": {"kill: ask": {"tried": 2, "lost": 1}, "kill: compare": {"tried": 4, "lost": 0}}},
    ]
    found = add_up(runs)
    assert (found["tried"], found["lost"], found["runs"]) == ({"kill": 9, "fuzz": 9}, 1, runs)
    assert found["parts"]["kill: ask"] == {"tried": 5, "lost": 1}


@pytest.mark.skipif(sys.platform != "linux", reason="children are forked, and limited as on Linux")
def test_a_disk_that_is_full_is_not_that_of_what_is_printed(tmp_path):
    def write() -> None:
        print("a line")
        (tmp_path / "file").write_text("more than fits")

    assert run_child(write, tmp_path / "output", max_bytes=2) == 70
    assert (tmp_path / "output").read_text().startswith("a line")
    assert "File too large" in (tmp_path / "output").read_text()
