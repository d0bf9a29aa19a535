"""Build the documentation site in `site/` from the pages of the repository: `make docs`.

The pages are copied to `build/documentation`. There their links are those of the site (see `site_pages.py`), and an
equation, a block of the kind `math` in LaTeX, becomes MathML, which browsers draw without a script.

Nothing of the site comes from another host, and it can be read from a folder, without a server. What was built is
checked by `check_site.py`; a link or an anchor that leads nowhere is an error.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from latex2mathml.converter import convert

from check_site import faults_of
from site_pages import CONFIGURATION, DOCS, ROOT, moved_links, places_of_pages, text_of

MATH = re.compile(r"^```math\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHIM = re.compile(r"https://[\w./-]*/iframe-worker/shim")  # what zensical loads so that search works without a server
OWN_SHIM = "assets/worker.js"


def with_drawn_equations(text: str) -> str:
    """Return a text with MathML in place of LaTeX."""
    return MATH.sub(lambda found: f'<div class="equation">{convert(found[1].strip(), display="block")}</div>', text)


def copy_pages(folder: Path) -> None:
    """Write what the site is built from."""
    shutil.rmtree(folder, ignore_errors=True)
    pages = folder / "pages"
    shutil.copytree(DOCS, pages, ignore=shutil.ignore_patterns("*.md", "notebooks"))
    shutil.copy(CONFIGURATION, folder)
    (folder / "src").symlink_to(ROOT / "src")
    places = places_of_pages()
    for page, name in places.items():
        text = with_drawn_equations(moved_links(text_of(page), page, places))
        (pages / name).parent.mkdir(parents=True, exist_ok=True)
        (pages / name).write_text(text, encoding="utf-8")


def keep_to_this_host(site: Path) -> None:
    """Put our own script in place of the one that zensical loads from another host."""
    for page in site.rglob("*.html"):
        own = os.path.relpath(site / OWN_SHIM, page.parent)
        page.write_text(SHIM.sub(own, page.read_text(encoding="utf-8")), encoding="utf-8")


def build(site: Path, work: Path) -> None:
    """Build the site in one folder, with another one to work in; stop the program if anything is wrong."""
    copy_pages(work)
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean"]
    if subprocess.run(command, cwd=work, check=False).returncode:
        sys.exit("the site was not built")
    keep_to_this_host(work / "site")
    if faults := faults_of(work / "site"):
        sys.exit("\n".join(faults))
    shutil.rmtree(site, ignore_errors=True)
    shutil.move(work / "site", site)


if __name__ == "__main__":
    build(ROOT / "site", ROOT / "build" / "documentation")
    print(ROOT / "site" / "index.html")
