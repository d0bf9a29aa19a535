"""A release that is not ready is stopped by a line that names what is wrong."""

import re
import shutil
import tomllib

import pytest

from check_release import (
    NEEDED,
    ROOT,
    NotReadyError,
    check_versions,
    faults_of_recipe,
    faults_of_source,
    faults_of_wheel,
    newest_change,
)

FILES = ("CHANGELOG.md", "CITATION.cff", "pyproject.toml", "conda/recipe.yaml")
PROJECT = {"requires-python": ">=3.11", "dependencies": ["numpy>=2.0", "torch>=2.6", "matplotlib>=3.9"]}
RECIPE = {
    "package": {"version": "1.0.0"},
    "requirements": {"run": ["python >=3.11", "numpy >=2.0", "pytorch >=2.6", "matplotlib-base >=3.9"]},
}
TRACKED = [f"src/{name}" for name in NEEDED]


@pytest.fixture
def checkout(tmp_path):
    """The files of the project that say a version."""
    (tmp_path / "conda").mkdir()
    for name in FILES:
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def test_the_files_of_the_project_say_one_version(checkout):
    assert re.fullmatch(r"\d+\.\d+\.\d+", check_versions(checkout, ""))


@pytest.mark.parametrize("name", FILES[1:])
def test_a_file_with_another_version_is_named(checkout, name):
    version = check_versions(checkout, "")
    path = checkout / name
    path.write_text(path.read_text(encoding="utf-8").replace(version, "99.0.0"), encoding="utf-8")
    with pytest.raises(NotReadyError, match=f"{name}.*: says 99.0.0, but the changelog is at {version}"):
        check_versions(checkout, "")


def test_a_tag_is_that_of_the_changelog_which_has_a_day(checkout):
    version = check_versions(checkout, "")
    with pytest.raises(NotReadyError, match=r"the tag is v99\.0\.0"):
        check_versions(checkout, "v99.0.0")
    changelog = checkout / "CHANGELOG.md"
    text = re.sub(r"^(## \S+), .*$", r"\1, unreleased", changelog.read_text(encoding="utf-8"), count=1, flags=re.M)
    changelog.write_text(text, encoding="utf-8")
    with pytest.raises(NotReadyError, match="has a tag, and no day"):
        check_versions(checkout, f"v{version}")
    changelog.write_text(text.replace(", unreleased", ", 2026-12-24", 1), encoding="utf-8")
    assert check_versions(checkout, f"v{version}") == version


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# Changelog\n", "every heading"),
        ("## 1.0.0\n", "every heading"),
        ("## 1.0.0, unreleased\n## 1.1.0, 2026-01-01\n", "newest version has to stand first"),
        ("## 1.1.0, unreleased\n## 1.0.0, unreleased\n", "only the version on top"),
    ],
)
def test_a_changelog_out_of_order_is_refused(text, message):
    with pytest.raises(NotReadyError, match=message):
        newest_change(text)


def test_a_wheel_has_what_git_has_under_the_package_and_nothing_else():
    names = [*NEEDED, "tripleshot-1.0.0.dist-info/METADATA"]
    assert faults_of_wheel(names, [*TRACKED, "tests/test_a.py"]) == []
    assert faults_of_wheel(names[1:], TRACKED) == [f"the wheel has no {NEEDED[0]}"]
    assert faults_of_wheel([*names, "tripleshot/notes.txt"], TRACKED) == [
        "the wheel has tripleshot/notes.txt, which git does not know"
    ]


def test_a_source_distribution_has_what_git_has_and_nothing_else():
    tracked = ["README.md", "src/tripleshot/a.py", ".ci/run"]
    names = ["t-1/README.md", "t-1/src/tripleshot/a.py", "t-1/PKG-INFO"]
    assert faults_of_source(names, tracked) == []
    assert faults_of_source(names[1:], tracked) == ["the source distribution has no README.md"]
    assert faults_of_source([*names, "t-1/a.log"], tracked) == [
        "the source distribution has a.log, which git does not know"
    ]


def test_a_recipe_asks_for_what_the_package_asks_for():
    assert faults_of_recipe(RECIPE, PROJECT, "1.0.0") == []
    less = {**PROJECT, "dependencies": PROJECT["dependencies"][1:]}
    assert faults_of_recipe(RECIPE, less, "1.0.0") == ["the recipe needs numpy>=2.0, the package does not"]
    more = {**PROJECT, "dependencies": [*PROJECT["dependencies"], "rich>=13"]}
    assert faults_of_recipe(RECIPE, more, "2.0.0") == ["the recipe is of 1.0.0", "the recipe does not need rich>=13"]


def test_the_recipe_of_the_project_names_every_package_that_it_needs():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    text = (ROOT / "conda/recipe.yaml").read_text(encoding="utf-8")
    run = re.findall(r"^    - (.+)$", text.partition("  run:\n")[2].partition("\n\n")[0], re.MULTILINE)
    recipe = {"package": {"version": "1.0.0"}, "requirements": {"run": run}}
    assert faults_of_recipe(recipe, project, "1.0.0") == []
