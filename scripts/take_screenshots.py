"""Take the pictures of the page under `docs/images` from a running server: `tripleshot serve atlas`."""

import os
import shutil
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from urllib.parse import urlencode

from cyclopts import App
from PIL import Image
from playwright.sync_api import Browser, sync_playwright

from tripleshot.datasets.catalog import load_atlas
from tripleshot.errors import InputError
from tripleshot.files.atomic import write_file

IMAGES = Path(__file__).parents[1] / "docs" / "images"
MAX_BYTES = 200_000
WIDTH = 1280  # of the window
LABELLED = "![...document.querySelectorAll('.pair, .chips li')].some(node => node.textContent.includes('/'))"
DRAWN = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"

app = App(help=__doc__)


@dataclass(frozen=True)
class Shot:
    """One picture.

    Attributes:
        name: of the file, without `page-` and its suffix.
        fragment: of the address, which says what is on the screen.
        ready: what is there once everything is drawn, as a CSS selector.
        height: of the window.
        is_opened: whether the best answer is opened.
        typed: letters typed where a head is searched for; the suggestions are then open.
    """

    name: str
    fragment: str
    ready: str
    height: int = 800
    is_opened: bool = False
    typed: str = ""


def question(relation: str, shots: int, head: str) -> str:
    """Write a question about a few-shot relation of Atlas as the page's address does."""
    dataset = load_atlas()
    names = dataset.graph.entities.name
    task = dataset.task(relation)
    support = task.support(shots).tolist()
    pairs = [part for first, last in support for part in (("from", names(first)), ("to", names(last)))]
    return urlencode([("relation", task.label), *pairs, ("ask", head)])


def shots_of(asked: str) -> list[Shot]:
    """List every picture of the page that the documentation shows."""
    return [
        Shot("search", "", ".start .offer", height=720, typed="swahil"),
        Shot("answers", asked, ".answer"),
        Shot("explanation", asked, ".answer", height=1080, is_opened=True),
    ]


def take(browser: Browser, address: str, shot: Shot) -> bytes:
    """Open the page as one picture wants it and photograph the window, with as many colours as it needs."""
    context = browser.new_context(
        viewport={"width": WIDTH, "height": shot.height},
        color_scheme="light",
        reduced_motion="reduce",
        bypass_csp=True,  # the page forbids code from strings, which is how it is asked whether it is ready
    )
    page = context.new_page()
    page.goto(f"{address}#{shot.fragment}")
    page.locator(shot.ready).first.wait_for()
    page.wait_for_function(LABELLED)
    if shot.typed:
        page.get_by_role("combobox", name="Head of a new example").press_sequentially(shot.typed)
        page.get_by_role("option").first.wait_for()
    if shot.is_opened:
        page.locator(".answer").first.click()
        page.locator(".picture canvas").first.wait_for()
        page.mouse.move(0, 0)
        page.locator(".answer").first.evaluate("node => node.scrollIntoView()")
    page.evaluate(DRAWN)
    picture = Image.open(BytesIO(page.screenshot()))
    context.close()
    file = BytesIO()
    picture.convert("RGB").quantize(256).save(file, "png", optimize=True)
    return file.getvalue()


@app.default
def main(
    address: str, *, relation: str = "on_sea", head: str = "city/basseterre-kn", shots: int = 5, folder: Path = IMAGES
) -> None:
    """Take all pictures.

    Parameters
    ----------
    address
        Where the server is, with a slash at the end.
    relation
        The few-shot relation of Atlas whose first pairs are the examples.
    head
        The head asked about; of this relation the graph says nothing about it, but there is an answer.
    shots
        How many examples.
    folder
        Where the pictures go.
    """
    chromium = os.environ.get("TRIPLESHOT_CHROMIUM") or shutil.which("chromium")
    if not chromium:
        raise InputError("no chromium: install it, or set TRIPLESHOT_CHROMIUM to its path")
    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        for shot in shots_of(question(relation, shots, head)):
            picture = take(browser, address, shot)
            if len(picture) > MAX_BYTES:
                raise InputError(f"{shot.name}: {len(picture):,} bytes, more than {MAX_BYTES:,}")
            write_file(folder / f"page-{shot.name}.png", picture)
        browser.close()


if __name__ == "__main__":
    app()
