"""The fault campaigns in a form that takes seconds; `tests/faults.py` has the long one."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

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
    assert found["tried"].keys() == {"kill", "full disk", "no place", "damage", "fuzz"}
