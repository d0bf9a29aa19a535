"""Requests made up from the schema: none may break the server, none may get an undocumented answer."""

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import positive_data_acceptance

from tripleshot.server import Limits, create_app
from tripleshot.server.hosts import AllowedHosts

WITH_INPUT = [
    *("POST /answer", "POST /complete", "POST /explain"),
    *("GET /relations", "GET /types", "GET /entities", "GET /entity/{entity_id}/neighbors"),
]
WITHOUT_INPUT = ["GET /about", "GET /example", "GET /metrics", "GET /health", "GET /ready"]


@pytest.fixture(scope="module")
def schema(predictor):
    return schemathesis.openapi.from_dict(create_app(predictor, Limits(), None).openapi())


def test_every_operation_is_asked(schema):
    assert sorted(result.ok().label for result in schema.get_all_operations()) == sorted(WITH_INPUT + WITHOUT_INPUT)


@pytest.mark.parametrize(
    ("label", "mode"),
    [
        *((label, mode) for label in WITH_INPUT for mode in GenerationMode),
        *((label, GenerationMode.POSITIVE) for label in WITHOUT_INPUT),
    ],
)
def test_every_request_gets_a_documented_answer(schema, predictor, label, mode):
    operation = next(result.ok() for result in schema.get_all_operations() if result.ok().label == label)
    app = create_app(predictor, Limits(), None, AllowedHosts.of("testserver"))

    @settings(
        derandomize=True,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def ask(case) -> None:
        case.call_and_validate(app=app, excluded_checks=[positive_data_acceptance])  # made-up names are unknown

    ask()
