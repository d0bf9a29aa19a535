"""The application: addresses, what each can answer, and the files of the page."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, FastAPI, Query, Request, Response, Security
from fastapi.security import HTTPBearer
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.middleware import Middleware
from starlette.responses import JSONResponse
from starlette.staticfiles import StaticFiles

from tripleshot.answering.predictor import Predictor
from tripleshot.server import schemas
from tripleshot.server.errors import add_handlers, documented
from tripleshot.server.limits import Limits
from tripleshot.server.metrics import Counting, Metrics
from tripleshot.server.middleware import BodyLimit, SafeHeaders, TimeLimit, TokenGuard
from tripleshot.server.service import Service
from tripleshot.server.workers import Workers

WEB = Path(__file__).parent / "static"
LOOKUP_WORKERS = 2


def create_app(predictor: Predictor, limits: Limits, token: str | None) -> FastAPI:
    """Make the application that serves an predictor.

    Args:
        predictor: what is asked.
        limits: how much a request may ask for.
        token: what requests must carry as a bearer token; None lets everyone in.
    """
    service = Service(predictor, limits)
    scoring, lookup = Workers(limits.workers, limits.max_waiting), Workers(LOOKUP_WORKERS, limits.max_waiting)
    metrics = Metrics(scoring)
    routes = APIRouter()
    if token is not None:
        routes = APIRouter(dependencies=[Security(HTTPBearer(auto_error=False))], responses=documented(401))
    add_routes(routes, service, scoring, lookup, metrics)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncGenerator[None]:
        lookup.submit(lambda: service.search("a", 1))  # so that nobody waits for the index of names
        yield
        scoring.close()
        lookup.close()

    guards = [Middleware(Counting, metrics), Middleware(SafeHeaders), Middleware(TimeLimit, limits.max_seconds)]
    if token is not None:
        guards.append(Middleware(TokenGuard, token, routes.routes))
    app = FastAPI(
        title="tripleshot",
        summary="Few-shot knowledge graph completion: examples of a new relation and a head, ranked tails.",
        version="1",
        lifespan=lifespan,
        middleware=[*guards, Middleware(BodyLimit, limits.max_body)],
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
    )
    routes.add_api_route("/openapi.json", lambda: JSONResponse(app.openapi()), include_in_schema=False)
    app.include_router(routes)
    app.add_api_route("/health", health, response_model=schemas.Health)
    add_page(app)
    add_handlers(app)
    return app


def add_routes(routes: APIRouter, service: Service, scoring: Workers, lookup: Workers, metrics: Metrics) -> None:
    """Add what the token guards."""
    limits = service.limits
    listed = Query(ge=1, le=limits.max_listed)

    @routes.post("/answer", responses=documented(400, 413, 422, 503, 504))
    async def answer(question: schemas.Question) -> schemas.Answers:
        """Rank tails for heads, given examples of a relation."""

        def work(is_given_up: Callable[[], bool]) -> schemas.Answers:
            with metrics.scoring.time():
                return service.answer(question, is_given_up)

        answers = await scoring.run(work)
        metrics.answers.inc(len(answers.results))
        return answers

    @routes.post("/explain", responses=documented(400, 413, 422, 503, 504))
    async def explain(request: schemas.ExplainRequest) -> schemas.ExplainResponse:
        """Say what carried an answer."""

        def work(_: Callable[[], bool]) -> schemas.ExplainResponse:
            with metrics.scoring.time():
                return service.explain(request)

        return await scoring.run(work)

    @routes.get("/entities", responses=documented(422, 503, 504))
    async def entities(
        q: Annotated[
            str, Query(max_length=limits.max_text, description="Part of a name or label; typos are forgiven.")
        ],
        limit: Annotated[int, listed] = 10,
    ) -> schemas.FoundEntities:
        """Find entities by name."""
        return await lookup.run(lambda _: service.search(q, limit))

    @routes.get("/entity/{entity_id}/neighbors", responses=documented(404, 422, 503, 504))
    async def neighbors(entity_id: int, limit: Annotated[int, listed] = 50) -> schemas.Neighbors:
        """List the edges of an entity, both directions."""
        return await lookup.run(lambda _: service.neighbors(entity_id, limit))

    @routes.get("/about")
    async def about() -> schemas.About:
        """Say what is served."""
        return service.about()

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
