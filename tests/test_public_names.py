import subprocess
import sys

import tripleshot


def test_every_public_name_is_there():
    assert all(hasattr(tripleshot, name) for name in tripleshot.__all__)


def test_importing_the_package_is_quick_and_draws_in_nothing_heavy():
    heavy = "import sys, tripleshot; print([name for name in ('torch', 'matplotlib', 'pandas') if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", heavy], capture_output=True, text=True).stdout == "[]\n"
