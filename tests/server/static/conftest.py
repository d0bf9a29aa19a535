"""A real server and a real browser; both end with the module, because the browser's driver keeps an event loop."""

import os
import shutil
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from urllib.parse import urljoin

import pytest
import uvicorn
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tripleshot.answering.predictor import Predictor
from tripleshot.datasets.catalog import load_atlas
from tripleshot.methods.evidence.evidence_net import EvidenceNet
from tripleshot.methods.rscl.method import RSCLMethod
from tripleshot.methods.rscl.settings import RSCLSettings
from tripleshot.server import Limits, create_app

FLAGS = ("no-sandbox", "disable-gpu", "disable-background-networking", "disable-component-update", "disable-sync")
HOSTILE = "sea/<script>document.title='taken'</script>'\"&amp;<img src=x onerror=alert(1)>"
TOKEN = "a-token-of-the-tests"
PATIENCE = 20_000  # milliseconds, for a machine that is busy with something else

expect.set_options(timeout=PATIENCE)


@contextmanager
def serving(predictor: Predictor, token: str | None = None) -> Generator[str]:
    """Serve in a thread on a free port and give the address."""
    app = create_app(predictor, Limits(), token)
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning", ws="none"))
    has_started = threading.Event()
    started = server.startup

    async def startup(sockets=None) -> None:
        await started(sockets)
        has_started.set()

    server.startup = startup
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    assert has_started.wait(30)
    port = server.servers[0].sockets[0].getsockname()[1]
    yield f"http://127.0.0.1:{port}/"
    server.should_exit = True
    thread.join(10)


@pytest.fixture(scope="module")
def evidence() -> Predictor:
    return Predictor(load_atlas(), "evidence", shots=5).with_triples([("city/baku-az", "near", HOSTILE)])


@pytest.fixture(scope="module")
def address(evidence: Predictor) -> Iterator[str]:
    """A server of a method that gives reasons, and of an entity whose name is an attack."""
    with serving(evidence) as found:
        yield found


@pytest.fixture(scope="module")
def guarded_address(evidence: Predictor) -> Iterator[str]:
    """A server that asks for a token."""
    with serving(evidence, TOKEN) as found:
        yield found


@pytest.fixture(scope="module")
def attentive_address() -> Iterator[str]:
    """A server of RSCL, untrained: it has attention and weights to show."""
    method = RSCLMethod(RSCLSettings(width=16, num_layers=2, num_heads=2, max_neighbors=6, max_distant=3))
    method.prepare(load_atlas(), 5)
    with serving(Predictor.of(load_atlas(), method, "rscl", 5)) as found:
        yield found


@pytest.fixture(scope="module")
def calibrated_address() -> Iterator[str]:
    """A server of the universal weights, which come with a calibration."""
    with serving(Predictor(load_atlas(), "universal", shots=5)) as found:
        yield found


@pytest.fixture(scope="module")
def network_address() -> Iterator[str]:
    """A server of the evidence network, untrained: its weights speak for an answer and against it."""
    method = EvidenceNet()
    method.prepare(load_atlas(), 5)
    with serving(Predictor.of(load_atlas(), method, "evidence-net", 5)) as found:
        yield found


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    chromium = os.environ.get("TRIPLESHOT_CHROMIUM") or shutil.which("chromium")
    if not chromium:
        pytest.skip("no chromium: install Debian's package `chromium`, or set TRIPLESHOT_CHROMIUM to its path")
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=chromium, args=[f"--{flag}" for flag in FLAGS])
        yield found
        found.close()


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Open addresses in fresh windows; afterwards, nothing may have complained or gone to another host."""
    contexts: list[BrowserContext] = []
    complaints: list[str] = []

    def opened(address: str, width: int = 1280, **options) -> Page:
        context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        context.set_default_timeout(PATIENCE)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda message: complain(message.type, message.text))
        page.on("request", lambda request: check_host(request.url, address))
        page.goto(address)
        return page

    def complain(kind: str, text: str) -> None:
        is_refusal = text.startswith("Failed to load resource: the server responded with a status of 4")
        if kind in ("error", "warning") and not is_refusal:
            complaints.append(text)

    def check_host(url: str, address: str) -> None:
        if not url.startswith((urljoin(address, "/"), "data:")):
            complaints.append(f"a request to {url}")

    yield opened
    for context in contexts:
        context.close()
    assert complaints == []
