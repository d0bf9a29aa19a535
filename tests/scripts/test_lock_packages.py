"""The locks are those of the constraints: nothing is installed that is not pinned, or whose hash is not known."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from lock_packages import CONSTRAINTS, LOCKS, ROOT, locked_sets

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
NAMES = sorted(locked_sets(PYPROJECT))
HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}")


def locked(name: str) -> dict[str, tuple[Requirement, str]]:
    """Return the packages of a lock: what is required, and the rest of its entry."""
    text = (LOCKS / f"{name}.txt").read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    entries = [(Requirement(line.partition(" --hash")[0].strip()), line) for line in lines]
    return {canonicalize_name(entry.name): (entry, line) for entry, line in entries}


def version(requirement: Requirement) -> str:
    (pin,) = requirement.specifier
    assert pin.operator == "=="
    return pin.version


def pins(path: Path) -> dict[str, str]:
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    return {canonicalize_name(one.name): version(one) for one in map(Requirement, lines)}


@pytest.mark.parametrize("name", NAMES)
def test_every_package_has_one_version_that_of_the_constraints_and_its_hashes(name):
    constrained = pins(CONSTRAINTS)
    for package, (requirement, line) in locked(name).items():
        assert version(requirement) == constrained.get(package, version(requirement))
        assert HASH.findall(line)
        assert not requirement.url


@pytest.mark.parametrize("name", NAMES)
def test_a_lock_has_all_that_it_is_for(name):
    found = locked(name)
    for text in locked_sets(PYPROJECT)[name]:
        requirement = Requirement(text)
        assert requirement.specifier.contains(version(found[canonicalize_name(requirement.name)][0]))


@pytest.mark.parametrize("name", NAMES)
def test_a_lock_says_nothing_about_where_packages_come_from(name):
    text = (LOCKS / f"{name}.txt").read_text(encoding="utf-8")
    assert "://" not in text
    assert "index-url" not in text


def test_the_service_needs_no_torch():
    assert "torch" not in locked("serve")
    assert "torch" in locked("torch")


def test_the_tests_have_every_package_of_the_constraints_in_their_lock():
    assert not pins(CONSTRAINTS).keys() - locked("test").keys()


def test_there_is_a_lock_for_each_set_and_no_other():
    assert sorted(path.stem for path in LOCKS.glob("*")) == NAMES
