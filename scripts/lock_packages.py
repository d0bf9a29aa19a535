"""Write the hashes of every package that is installed, into files under `locks/` that pip can be held to.

    python scripts/lock_packages.py

Versions are those of `constraints.txt`; a package that it does not name is the newest, and stays as it is until the
files are removed. Hashes are those of every file of a version, so that a lock holds on every platform.

- `serve.txt`: the service with the methods that need no torch. `torch.txt`: what the others need beside it.
- `test.txt`: everything that the tests need. `docs.txt`: what builds the documentation site.
- `build.txt`: what makes a wheel of the source. `release.txt`: that, and what looks at a release before it is made.
- `tools.txt`: what writes locks and inventories, and looks for known vulnerabilities.
"""

import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
LOCKS = ROOT / "locks"
CONSTRAINTS = ROOT / "constraints.txt"
TOOLS = ("uv", "cyclonedx-bom", "pip-audit", "packaging")
RELEASE_TOOLS = ("build", "twine", "py-rattler-build")
OLDEST_PYTHON = "3.11"


def locked_sets(pyproject: dict) -> dict[str, list[str]]:
    """Return what each lock is for: its name, and what it has to satisfy."""
    project = pyproject["project"]
    needed, extras = project["dependencies"], project["optional-dependencies"]
    own = project["name"]
    everything = [text for texts in (needed, *extras.values()) for text in texts if Requirement(text).name != own]
    return {
        "serve": [text for text in (*needed, *extras["serve"]) if Requirement(text).name != "torch"],
        "torch": [text for text in needed if Requirement(text).name == "torch"],
        "test": everything,
        "docs": extras["docs"],
        "build": pyproject["build-system"]["requires"],
        "release": [*pyproject["build-system"]["requires"], *RELEASE_TOOLS],
        "tools": list(TOOLS),
    }


def write_lock(name: str, requirements: Sequence[str]) -> None:
    """Write one lock."""
    command = ["uv", "pip", "compile", "-", "--quiet", "--universal", "--generate-hashes", "--no-annotate"]
    command += ["--python-version", OLDEST_PYTHON, "--constraint", str(CONSTRAINTS)]
    command += ["--custom-compile-command", "make locks", "--output-file", str(LOCKS / f"{name}.txt")]
    here = Path(sys.executable).parent / "uv"
    subprocess.run(
        [str(here) if here.exists() else "uv", *command[1:]],
        input="\n".join(requirements).encode(),
        stdout=subprocess.DEVNULL,
        check=True,
    )


def main() -> None:
    """Write all locks."""
    LOCKS.mkdir(exist_ok=True)
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    for name, requirements in locked_sets(pyproject).items():
        write_lock(name, requirements)


if __name__ == "__main__":
    main()
