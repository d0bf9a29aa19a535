"""The application: addresses, what each can answer, the files of the page; and the process that serves it."""

import asyncio
import logging
import signal
import socket
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Annotated, cast

import uvicorn
from fastapi import APIRouter, FastAPI, Query, Request, Response, Security
from fastapi.security import HTTPBearer
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.responses import JSONResponse
from starlette.staticfiles import StaticFiles

from tripleshot.answering.predictor import Predictor
from tripleshot.answering.steps import in_one_step
from tripleshot.errors import InputError
from tripleshot.server import relation_schemas, schemas
from tripleshot.server.connections import EXTRA_SECONDS, Connection
from tripleshot.server.errors import add_handlers, documented
from tripleshot.server.hosts import AllowedHosts, HostGuard
from tripleshot.server.limits import Limits
from tripleshot.server.metrics import Metrics, RequestCounter
from tripleshot.server.middleware import BodyLimit, SafeHeaders, TimeLimit, TokenGuard
from tripleshot.server.reloading import Served, Terminal
from tripleshot.server.workers import BusyError, Workers, timed

WEB = Path(__file__).parent / "static"
LOOKUP_WORKERS = 2
THIS_MACHINE = AllowedHosts()
BACKLOG = 256  # connections that the system holds until they are accepted, all at once

logger = logging.getLogger(__name__)


def create_app(
    predictor: Predictor,
    limits: Limits,
    token: str | None,
    hosts: AllowedHosts = THIS_MACHINE,
    load: Callable[[], Predictor] | None = None,
) -> FastAPI:
    """Make the application that serves a predictor.

    Args:
        predictor: what is asked.
        limits: how much a request may ask for.
        token: what requests must carry as a bearer token; None lets everyone in.
        hosts: the names that it may be called by.
        load: loads the predictor anew, when `serve` is told to reload.
    """
    scoring, lookup = Workers(limits.workers, limits.max_waiting), Workers(LOOKUP_WORKERS, limits.max_waiting)
    metrics = Metrics(scoring)
    served = Served(predictor, limits, load, metrics.registry)
    routes = APIRouter()
    if token is not None:
        routes = APIRouter(dependencies=[Security(HTTPBearer(auto_error=False))], responses=documented(401))
    add_routes(routes, served, scoring, lookup, metrics)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncGenerator[None]:
        service = served.service
        indexing = asyncio.create_task(lookup.run(in_one_step(lambda: service.search("a", 1))))  # so that nobody waits
        yield
        indexing.cancel()
        scoring.close()
        lookup.close()
        await asyncio.gather(indexing, return_exceptions=True)

    async def ready() -> schemas.Ready:
        """Say that the server can take requests now; needs no token."""
        if scoring.is_full:
            raise BusyError
        if not served.service.is_ready:
            raise HTTPException(503, "the names are still being indexed")
        return schemas.Ready(status="ready")

    guards = [Middleware(RequestCounter, metrics), Middleware(SafeHeaders), Middleware(HostGuard, hosts)]
    guards.append(Middleware(TimeLimit, limits.max_seconds))
    if token is not None:
        guards.append(Middleware(TokenGuard, token, routes.routes))
    app = FastAPI(
        title="tripleshot",
        summary="Few-shot knowledge graph completion: examples of a new relation and a head, ranked tails.",
        version="1",
        lifespan=lifespan,
        responses=documented(421),
        middleware=[*guards, Middleware(BodyLimit, limits.max_body)],
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
    )
    routes.add_api_route("/openapi.json", lambda: JSONResponse(app.openapi()), include_in_schema=False)
    app.include_router(routes)
    app.add_api_route("/health", health, response_model=schemas.Health)
    app.add_api_route("/ready", ready, response_model=schemas.Ready, responses=documented(503))
    add_page(app)
    add_handlers(app)
    app.state.metrics, app.state.served = metrics, served
    return app


def add_routes(routes: APIRouter, served: Served, scoring: Workers, lookup: Workers, metrics: Metrics) -> None:
    """Add what the token guards; each request is answered to its end by what was served when it came."""
    limits = served.limits
    listed = Query(ge=1, le=limits.max_listed)
    suggesting = asyncio.Lock()  # one search for however many pages are opened at once

    @routes.post("/answer", responses=documented(400, 413, 422, 503, 504))
    async def answer(question: schemas.Question) -> schemas.Answers:
        """Rank tails for heads, or heads for tails, given examples of a relation."""
        answers = await scoring.run(timed(served.service.answer(question), metrics.scoring.observe))
        metrics.answers.inc(len(answers.results))
        return answers

    @routes.post("/explain", responses=documented(400, 413, 422, 503, 504))
    async def explain(request: schemas.ExplainRequest) -> schemas.ExplainResponse:
        """Say what carried an answer."""
        return await scoring.run(timed(served.service.explain(request), metrics.scoring.observe))

    @routes.post("/complete", responses=documented(400, 413, 422, 503, 504))
    async def complete(request: relation_schemas.CompletionRequest) -> relation_schemas.Completion:
        """Propose triples of a relation for some of the heads that could have it."""
        completion = await scoring.run(timed(served.service.complete(request), metrics.scoring.observe))
        metrics.answers.inc((completion.next or completion.num_heads) - min(request.skip, completion.num_heads))
        return completion

    @routes.get("/relations", responses=documented(422, 503, 504))
    async def relations(limit: Annotated[int, listed] = min(100, limits.max_listed)) -> relation_schemas.Relations:
        """List the most frequent relations of the graph."""
        service = served.service
        return await lookup.run(in_one_step(lambda: service.relations(limit)))

    @routes.get("/entities", responses=documented(422, 503, 504))
    async def entities(
        q: Annotated[
            str, Query(max_length=limits.max_text, description="Part of a name or label; typos are forgiven.")
        ],
        limit: Annotated[int, listed] = 10,
    ) -> schemas.FoundEntities:
        """Find entities by name."""
        service = served.service
        return await lookup.run(in_one_step(lambda: service.search(q, limit)))

    @routes.get("/entity/{entity_id}/neighbors", responses=documented(404, 422, 503, 504))
    async def neighbors(entity_id: schemas.EntityId, limit: Annotated[int, listed] = 50) -> schemas.Neighbors:
        """List the edges of an entity, both directions."""
        service = served.service
        return await lookup.run(in_one_step(lambda: service.neighbors(entity_id, limit)))

    @routes.get("/example", responses=documented(503, 504))
    async def example() -> schemas.Suggestion:
        """Offer a question to try, one whose first answer is right."""
        service = served.service
        async with suggesting:
            service.suggestion = service.suggestion or await scoring.run(service.suggest())
        return service.suggestion

    @routes.get("/about")
    async def about() -> schemas.About:
        """Say what is served."""
        return served.service.about()

    @routes.get("/types", responses=documented(422, 503, 504))
    async def types(
        q: Annotated[str, Query(max_length=limits.max_text, description="Part of a name.")] = "",
        first: Annotated[int, Query(ge=0, lt=2**31)] = 0,
        limit: Annotated[int, listed] = 100,
    ) -> schemas.FoundTypes:
        """List types of entities, page by page."""
        service = served.service
        return await lookup.run(in_one_step(lambda: service.types(q, first, limit)))

    @routes.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}})
    async def figures() -> Response:
        """Return figures about the server in the text format of Prometheus."""
        return Response(metrics.page(), media_type=CONTENT_TYPE_LATEST)


async def health() -> schemas.Health:
    """Say that the server is up; needs no token."""
    return schemas.Health(status="ok")


def add_page(app: FastAPI) -> None:
    """Serve the files of the page, each at an address of its own and nothing else."""
    files = StaticFiles(directory=WEB)

    def add(address: str, name: str) -> None:
        async def serve(request: Request) -> Response:
            response = await files.get_response(name, request.scope)
            response.headers["Cache-Control"] = "no-cache"  # kept, but asked about each time
            return response

        app.add_route(address, serve, methods=["GET"], include_in_schema=False)

    add("/", "index.html")
    for path in sorted(WEB.rglob("*.*")):
        name = path.relative_to(WEB).as_posix()
        add(f"/{name}", name)


def open_socket(host: str, port: int) -> socket.socket:
    """Take a port, which nobody can connect to before `serve` listens on it; 0 takes a free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio switches off the delay of small packets (Nagle) only if it is told that this is TCP
    opened = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        opened.bind((host, port))
    except OSError as error:
        opened.close()
        raise InputError(f"{host}:{port}: cannot be listened on: {error.strerror or error}") from None
    return opened


class Server(uvicorn.Server):
    """A server that says when it can be reached, and that can be told to reload what it serves."""

    def __init__(self, config: uvicorn.Config, announce: Callable[[str], None], served: Served) -> None:
        super().__init__(config)
        self.announce, self.served = announce, served
        self.loop: asyncio.AbstractEventLoop | None = None  # as long as it runs
        self.reloads: set[asyncio.Task[None]] = set()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start listening."""
        await super().startup(sockets)
        self.loop = asyncio.get_running_loop()
        host, port = self.servers[0].sockets[0].getsockname()[:2]
        self.announce(f"http://{f'[{host}]' if ':' in host else host}:{port}")

    def reload(self) -> None:
        """Begin to reload; may be called by the handler of a signal. What has just been loaded need not be again."""
        if self.loop is not None:
            self.loop.call_soon_threadsafe(self._begin_reload)

    def _begin_reload(self) -> None:
        task = asyncio.create_task(self.served.reload())
        self.reloads.add(task)  # one that nobody holds may be collected before it is done
        task.add_done_callback(self.reloads.discard)


def configure(app: Starlette, limits: Limits, has_own_log: bool = False) -> uvicorn.Config:
    """Tell uvicorn how to serve an application: with our own connections, and with our own log if there is one."""
    return uvicorn.Config(
        app,
        http=cast("type[asyncio.Protocol]", partial(Connection, limits, app.state.metrics.dropped)),
        log_level=logging.INFO if logger.isEnabledFor(logging.INFO) else logging.WARNING,
        log_config=None if has_own_log else uvicorn.config.LOGGING_CONFIG,
        access_log=False,  # the application logs its requests itself
        server_header=False,
        ws="none",
        timeout_graceful_shutdown=int(limits.max_seconds) + EXTRA_SECONDS,
        backlog=BACKLOG,
    )


def serve(
    app: Starlette, opened: socket.socket, limits: Limits, announce: Callable[[str], None], has_own_log: bool = False
) -> None:
    """Serve; on SIGHUP, reload; on SIGTERM or Ctrl-C, finish the requests that have begun and return.

    Args:
        app: what answers.
        opened: from `open_socket`.
        limits: how long a request may take, and how many connections may be open.
        announce: is told the address once it can be reached.
        has_own_log: whether loggers are set up already, those of uvicorn, too.
    """
    server = Server(configure(app, limits, has_own_log), announce, app.state.served)

    def stop(_: int, __: FrameType | None) -> None:
        server.should_exit = True  # uvicorn raises the signal again when it is done; this lets it end well

    def hang_up(_: int, __: FrameType | None) -> None:
        if terminal.is_lost():
            server.should_exit = True
        else:
            server.reload()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    if hasattr(signal, "SIGHUP"):  # Windows has none
        terminal = Terminal()
        signal.signal(signal.SIGHUP, hang_up)
    server.run([opened])
    if not server.started:
        raise SystemExit(1)
