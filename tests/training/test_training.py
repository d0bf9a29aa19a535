import subprocess
import sys

import pytest

from tripleshot import training


def test_the_public_names_are_those_of_their_modules():
    for name in training.__all__:
        assert getattr(training, name) is getattr(sys.modules[training.MODULES[name]], name)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        training.nothing  # noqa: B018


def test_a_run_is_described_without_torch():
    script = "import sys; from tripleshot.training import load_config; print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True).stdout == "False\n"
