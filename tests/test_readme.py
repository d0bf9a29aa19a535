"""What stands in the README and the docs is so: figures come from results, and links, flags and names exist."""

import pkgutil
import re
import tomllib
from pathlib import Path

import pytest

import tripleshot as ts
from fill_tables import RESULTS, TABLES, filled
from pages import PAGES, ROOT, blocks_of, flags_of, name_of, prose_of
from tripleshot.cli import app
from tripleshot.evaluation.results import read_results
from tripleshot.methods import METHODS

STUDIES = [path for path in sorted(RESULTS.glob("*/*.jsonl")) if path.stem != "reports"]
REQUIRED = {"method", "dataset", "shots", "split", "seed", "config", "seconds", "queries", "micro", "version"}
WITH_CHANGELOG = [*PAGES, ROOT / "CHANGELOG.md"]
SPAN = re.compile(r"`([^`\n]+)`")
GROUPS = ("data", "paper")  # commands that have commands of their own
COMMANDS = [name for name in app if name not in GROUPS]
COMMANDS += [f"{group} {name}" for group in GROUPS for name in app[group]]
COMMANDS = [name for name in COMMANDS if "-" not in (name[0], name.split()[-1][0])]
ALL_FLAGS = set().union(*(flags_of(*command.split()) for command in COMMANDS))
OTHER_NAMES = {"tripleshot.methods"}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_table_of_figures_comes_from_results(page):
    text = page.read_text(encoding="utf-8")
    assert filled(text) == text


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_result_says_where_it_comes_from(path):
    for document in read_results(path):
        assert document["command"].startswith("tripleshot ")
        assert len(document["commit"]) == 40
        assert len(document["data_hash"]) == 64
        assert document.keys() >= REQUIRED
        assert document["method"] in METHODS
        assert document["dataset"].startswith(path.parent.name)


@pytest.mark.parametrize("page", WITH_CHANGELOG, ids=name_of)
def test_no_page_was_left_half_merged(page):
    assert not re.search(r"^(<{7}|={7}|>{7})( |$)", page.read_text(encoding="utf-8"), re.MULTILINE)


def test_results_are_few_and_small_files_that_the_readme_beside_them_explains():
    files = [path for path in RESULTS.rglob("*") if path.is_file() and path.suffix in (".json", ".jsonl")]
    assert len(files) <= 27
    assert sum(path.stat().st_size for path in files) < 1_600_000
    text = (RESULTS / "README.md").read_text(encoding="utf-8")
    for path in files:
        name = path.relative_to(RESULTS).as_posix()
        assert f"`{name}`" in text or path.parent.name == "benchmarks"


@pytest.mark.parametrize("path", sorted(RESULTS.glob("*/*.json*")), ids=lambda path: path.stem)
def test_results_have_no_machine_paths(path):
    assert not re.search(r"(?<![\w.])(/(tmp|work|root|home|Users)/|\.\./)", path.read_text(encoding="utf-8"))


def test_the_example_of_the_readme_is_short_and_speaks_in_names():
    example = next(block.text for block in blocks_of(ROOT / "README.md") if block.kind == "python")
    assert len(example.splitlines()) <= 12
    assert not re.search(r"\b(ids?|support|score)\b|#\d", example)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_command_and_flag_in_the_text_of_a_page_exists(page):
    spans = SPAN.findall(prose_of(page))
    for program, *words in (span.split() for span in spans if span.startswith("tripleshot ")):
        command = command_of(words)
        assert command, f"{program} {' '.join(words)}"
        known = ALL_FLAGS if command[-1] in GROUPS else flags_of(*command)
        assert flags_in(words) <= {*known, "--help"}, f"{program} {' '.join(words)}"
    for span in spans:
        if span.startswith("--"):
            assert flags_in(span.split()) <= ALL_FLAGS, span


def command_of(words: list[str]) -> list[str]:
    """Return the words that name a command, or a group of commands."""
    names = [" ".join(words[:length]) for length in (2, 1) if " ".join(words[:length]) in (*COMMANDS, *GROUPS)]
    return names[0].split() if names else []


def flags_in(words: list[str]) -> set[str]:
    """Return the flags among some words."""
    return {word.partition("=")[0] for word in words if word.startswith("--")}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_name_of_the_package_in_the_text_of_a_page_exists(page):
    for span in SPAN.findall(prose_of(page)):
        if re.fullmatch(r"tripleshot(\.\w+)+", span) and span not in OTHER_NAMES:
            pkgutil.resolve_name(span)
        if name := re.match(r"ts\.(\w+)", span):
            assert name[1] in ts.__all__, span
        if re.fullmatch(r"(src|scripts|benchmarks|tests|docs|results)/[a-z0-9_/.-]+", span):
            assert (ROOT / span).exists(), span


@pytest.mark.parametrize("page", WITH_CHANGELOG, ids=name_of)
def test_every_link_leads_somewhere(page):
    for link in re.findall(r"\]\(([^)\s]+)\)", prose_of(page)):
        if link.startswith("http"):
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        assert target.exists(), link
        if anchor:
            assert anchor in anchors_of(target), link


def anchors_of(page: Path) -> set[str]:
    """Return what links can lead to within a page: its headings in small letters, with hyphens for blanks."""
    headings = re.findall(r"^#+ (.+)$", prose_of(page), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}


def test_every_image_of_the_docs_is_shown_by_a_page():
    shown = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert [path.name for path in sorted((ROOT / "docs/images").iterdir()) if f"images/{path.name})" not in shown] == []


def test_every_table_of_figures_stands_on_one_page_beside_the_readme_which_may_repeat_it():
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES if page != ROOT / "README.md")
    assert {name: text.count(f"<!-- {name}:begin -->") for name in TABLES} == dict.fromkeys(TABLES, 1)


def test_the_readme_compares_like_with_like_and_says_where_its_rows_are_not():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    before, _, after = text.partition("<!-- comparison:begin -->")
    section = before.rpartition("\n## ")[2] + after.partition("<!-- comparison:end -->")[0]
    assert "not all like for like" in section
    table = after.partition("<!-- edges:begin -->")[2].partition("<!-- edges:end -->")[0]
    title, _, *rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.strip().splitlines()]
    assert title == ["graph", "method", "shots", "train tasks as edges", "background alone"]
    figures = {(graph, method.strip("`"), shots): both for graph, method, shots, *both in rows}
    for method in ("linked", "evidence", "trained on this graph alone"):
        for shots in ("1", "5"):
            assert all(re.fullmatch(r"\.\d{3}", one) for one in figures["nell-one", method, shots]), (method, shots)


@pytest.mark.parametrize("page", WITH_CHANGELOG, ids=name_of)
def test_no_page_has_a_path_of_a_machine(page):
    assert not re.search(r"(?<![\w.])/(tmp|work|root|home|Users)/", page.read_text(encoding="utf-8"))


def test_the_readme_lists_the_packages_in_the_order_of_their_layers_and_modules_that_exist():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    layers = project["tool"]["importlinter"]["contracts"][0]["layers"]
    section = prose_of(ROOT / "README.md").partition("## The path of a triple")[2].partition("\n## ")[0]
    rows = [
        [SPAN.findall(cell) for cell in line.split("|")[1:4]] for line in section.splitlines() if line.startswith("| `")
    ]
    assert [packages for packages, _, _ in rows] == [re.findall(r"\w+", layer) for layer in reversed(layers)]
    for packages, _, modules in rows:
        folder = ROOT / "src/tripleshot" / (packages[0] if len(packages) == 1 else "")
        assert [name for name in modules if not (folder / name).is_dir() and not (folder / f"{name}.py").exists()] == []
