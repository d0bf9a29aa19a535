"""Build what a release consists of, and look at it as a stranger would: `make release-check`.

1. The changelog, the citation, the conda recipe and the fallback version speak of one version, that of the tag if there
   is one on the commit.
2. The source distribution and the wheel, which is built from it, have the files that git has, and no other.
3. twine, cffconvert and rattler-build find nothing wrong with them, the citation and the recipe.
4. The wheel, installed into an environment of its own in another folder, answers a question about a file, and the
   first two of the demo.
"""

import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
PACKAGE = "src/tripleshot/"
NEEDED = (
    "tripleshot/data/atlas/triples.tsv.gz",
    "tripleshot/data/universal/weights.safetensors",
    "tripleshot/data/universal/calibration.json",
    "tripleshot/server/static/index.html",
    "tripleshot/server/static/cytoscape/cytoscape.min.js",
    "tripleshot/methods/evidence/native/evidence.c",
    "tripleshot/methods/rscl/native/encoder.c",
    "tripleshot/experiments/published.json",
    "tripleshot/py.typed",
)
"""What no wheel may be without: data, universal weights, the page, the C sources, and that the package has types."""
ON_CONDA = {"torch": "pytorch", "matplotlib": "matplotlib-base"}
"""Packages that have another name there."""
VALIDATOR = "cffconvert==2.0.0"
HEADING = re.compile(r"^## (\d+\.\d+\.\d+), (unreleased|\d{4}-\d{2}-\d{2})$", re.MULTILINE)


class NotReadyError(Exception):
    """What stands in the way of a release, in one line."""


def newest_change(changelog: str) -> tuple[str, str]:
    """Return the version on top of a changelog and when it was released; versions have to go down."""
    found = HEADING.findall(changelog)
    if len(found) != len(re.findall(r"^## ", changelog, re.MULTILINE)) or not found:
        raise NotReadyError(
            "CHANGELOG.md: every heading of a version is `## 1.2.3, 2026-01-31` or `## 1.2.3, unreleased`"
        )
    numbers = [tuple(map(int, version.split("."))) for version, _ in found]
    if numbers != sorted({*numbers}, reverse=True):
        raise NotReadyError("CHANGELOG.md: the newest version has to stand first, and each once")
    if "unreleased" in [day for _, day in found[1:]]:
        raise NotReadyError("CHANGELOG.md: only the version on top can be unreleased")
    return found[0]


def check_versions(root: Path, tag: str) -> str:
    """Require one version everywhere, and return it; a tag stands on what is released."""
    version, day = newest_change((root / "CHANGELOG.md").read_text(encoding="utf-8"))
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    said = {
        "CITATION.cff": _line_of(root / "CITATION.cff", r"version: (.+)"),
        "conda/recipe.yaml": _line_of(root / "conda/recipe.yaml", r'  version: "(.+)"'),
        "pyproject.toml, fallback-version": project["tool"]["hatch"]["version"]["fallback-version"].removesuffix(
            ".dev0"
        ),
    }
    for place, found in said.items():
        if found != version:
            raise NotReadyError(f"{place}: says {found}, but the changelog is at {version}")
    if tag and tag != f"v{version}":
        raise NotReadyError(f"the tag is {tag}, but the changelog is at {version}")
    if tag and day == "unreleased":
        raise NotReadyError(f"CHANGELOG.md: {version} has a tag, and no day")
    return version


def _line_of(path: Path, pattern: str) -> str:
    found = re.search(f"^{pattern}$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return found[1] if found else "nothing"


def faults_of_wheel(names: Iterable[str], tracked: Iterable[str]) -> list[str]:
    """Return what is missing in a wheel or foreign to it, given what git has."""
    found = {name for name in names if ".dist-info/" not in name}
    wanted = {name.removeprefix("src/") for name in tracked if name.startswith(PACKAGE)}
    faults = [f"the wheel has no {name}" for name in sorted({*wanted, *NEEDED} - found)]
    return faults + [f"the wheel has {name}, which git does not know" for name in sorted(found - wanted)]


def faults_of_source(names: Iterable[str], tracked: Iterable[str]) -> list[str]:
    """Return what is missing in a source distribution or foreign to it, given what git has."""
    found = {name.partition("/")[2] for name in names} - {"PKG-INFO"}
    wanted = {name for name in tracked if not name.startswith(".ci/")}
    faults = [f"the source distribution has no {name}" for name in sorted(wanted - found)]
    return faults + [f"the source distribution has {name}, which git does not know" for name in sorted(found - wanted)]


def faults_of_recipe(recipe: Mapping, project: Mapping, version: str) -> list[str]:
    """Return where a rendered recipe says otherwise than the package about itself."""
    faults = [] if recipe["package"]["version"] == version else [f"the recipe is of {recipe['package']['version']}"]
    wanted = {"python" + project["requires-python"], *(text.replace(" ", "") for text in project["dependencies"])}
    for name, other in ON_CONDA.items():
        wanted = {re.sub(rf"^{name}(?=\W)", other, text) for text in wanted}
    asked = {text.replace(" ", "") for text in recipe["requirements"]["run"]}
    faults += [f"the recipe does not need {text}" for text in sorted(wanted - asked)]
    return faults + [f"the recipe needs {text}, the package does not" for text in sorted(asked - wanted)]


def small_graph() -> str:
    """Return triples of people, companies and cities; where people work follows from two of them."""
    lines = [f"person {i}\tworks at\tcompany {i * 7 % 60}" for i in range(60)]
    lines += [f"company {i}\tlocated in\tcity {i % 6}" for i in range(60)]
    lines += [f"person {i}\tknows\tperson {(i * 11 + 1) % 60}" for i in range(60)]
    return "\n".join(lines) + "\n"


def run(*words: str | Path, folder: Path = ROOT, **variables: str) -> str:
    """Run a program, and return what it prints; one that fails ends the check."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "TRIPLESHOT_"))}
    command = [str(word) for word in words]
    done = subprocess.run(command, cwd=folder, env=environment | variables, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NotReadyError(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


def build() -> tuple[Path, Path]:
    """Build the source distribution and from it the wheel; what another build has left is removed."""
    for path in (*DIST.glob("tripleshot-*.whl"), *DIST.glob("tripleshot-*.tar.gz")):
        path.unlink()
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", DIST)
    (wheel,), (source,) = DIST.glob("tripleshot-*.whl"), DIST.glob("tripleshot-*.tar.gz")
    return source, wheel


def check_contents(source: Path, wheel: Path) -> int:
    """Require that both have what git has, and return the number of files in the wheel."""
    tracked = [name for name in run("git", "ls-files", "-z").split("\0") if name]
    with tarfile.open(source) as archive:
        faults = faults_of_source([one.name for one in archive if not one.isdir()], tracked)
    names = zipfile.ZipFile(wheel).namelist()
    if faults := faults + faults_of_wheel(names, tracked):
        raise NotReadyError("\n".join(faults))
    return len(names)


def check_recipe(version: str) -> None:
    """Require that rattler-build can render the recipe, and that it asks for what the package asks for."""
    from rattler_build import Stage0Recipe, VariantConfig

    (rendered,) = Stage0Recipe.from_file(str(ROOT / "conda/recipe.yaml")).render(VariantConfig())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    if faults := faults_of_recipe(rendered.recipe.to_dict(), project, version):
        raise NotReadyError("\n".join(faults))


def check_citation() -> None:
    """Require a valid citation; the validator needs older packages than others, so it has an environment of its own."""
    with tempfile.TemporaryDirectory(prefix="tripleshot-citation-") as name:
        run(sys.executable, "-m", "venv", name)
        run(Path(name) / "bin" / "python", "-m", "pip", "install", "--quiet", VALIDATOR)
        run(Path(name) / "bin" / "cffconvert", "--validate")


def check_installed(wheel: Path) -> Iterator[str]:
    """Install the wheel where the checkout is not, use it, and tell what was seen."""
    with tempfile.TemporaryDirectory(prefix="tripleshot-release-") as name:
        folder = Path(name)
        run(sys.executable, "-m", "venv", "environment", folder=folder)
        programs = folder / "environment" / "bin"
        install = ("install", "--quiet", "--constraint", ROOT / "constraints.txt", wheel)
        run(programs / "python", "-m", "pip", *install, folder=folder)
        run(programs / "python", "-m", "pip", "check", folder=folder)
        yield run(programs / "tripleshot", "--version", folder=folder).strip()
        (folder / "graph.tsv").write_text(small_graph(), encoding="utf-8")
        pairs = [f"person {i} | city {i * 7 % 60 % 6}" for i in range(3)]
        examples = [word for pair in pairs for word in ("--example", pair)]
        asked = ("ask", "graph.tsv", *examples, "--head", "person 10", "--top", "1", "--json")
        home = {"TRIPLESHOT_HOME": str(folder / "home"), "COLUMNS": "100"}
        (found,) = json.loads(run(programs / "tripleshot", *asked, folder=folder, **home))["results"]
        if (best := found["answers"][0]["entity"]["label"]) != "city 4":
            raise NotReadyError(f"person 10 works in city 4, and not in {best}")
        yield "ask: person 10 works in city 4"
        shown = run(programs / "tripleshot", "demo", "--no-train", folder=folder, **home)
        right = [line for line in shown.splitlines() if "✓ true" in line and "1. " in line]
        if len(right) != 2:
            raise NotReadyError(f"the demo does not answer its two questions\n{shown}")
        yield "demo: both questions are answered"


def main() -> None:
    """Check everything, in the order of the top of this file."""
    tag = run("git", "tag", "--points-at", "HEAD", "--list", "v*").strip()
    version = check_versions(ROOT, tag)
    print(f"version {version}, {f'tag {tag}' if tag else 'no tag'}")
    source, wheel = build()
    print(f"{source.name} and {wheel.name}: {check_contents(source, wheel)} files in the wheel")
    run(sys.executable, "-m", "twine", "check", "--strict", source, wheel)
    check_citation()
    check_recipe(version)
    print("metadata, citation and conda recipe are valid")
    for line in check_installed(wheel):
        print(line)


if __name__ == "__main__":
    try:
        main()
    except NotReadyError as error:
        sys.exit(str(error))
