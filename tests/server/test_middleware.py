import json

import pytest

from server.conftest import QUESTION, Client, detail
from tripleshot.server import Limits, create_app


def test_large_requests_are_refused_whatever_they_declare(client):
    large = json.dumps(QUESTION | {"candidates": ["x" * 2_000_000]}).encode()
    headers = {"Content-Type": "application/json"}
    assert "larger than" in detail(client.post("/answer", content=large, headers=headers), 413)

    async def pieces():
        for place in range(0, len(large), 65536):
            yield large[place : place + 65536]

    assert "larger than" in detail(client.post("/answer", content=pieces(), headers=headers), 413)


def test_a_token_is_asked_for_everywhere_but_for_health_and_the_page(predictor):
    client = Client(create_app(predictor, Limits(), "sesame"))
    right, wrong = {"Authorization": "Bearer sesame"}, {"Authorization": "Bearer sesam\u00e9".encode("latin-1")}
    for path in ("/about", "/relations", "/entities?q=a", "/entity/0/neighbors", "/metrics", "/openapi.json"):
        assert client.get(path, headers=right).status_code == 200
        assert "token" in detail(client.get(path), 401)
        assert client.get(path, headers=wrong).headers["WWW-Authenticate"] == "Bearer"
    for path in ("/answer", "/explain"):
        assert detail(client.post(path, content=b"{"), 401)
    for path in ("/health", "/", "/app.js"):
        assert client.get(path).status_code == 200


@pytest.mark.parametrize(
    ("authorization", "status"),
    [("Bearer sesame", 200), ("bearer sesame", 200), ("BEARER  sesame", 200), ("Basic sesame", 401), ("sesame", 401)],
)
def test_the_word_bearer_may_be_written_in_any_case(predictor, authorization, status):
    client = Client(create_app(predictor, Limits(), "sesame"))
    assert client.get("/about", headers={"Authorization": authorization}).status_code == status


def test_the_page_is_served_with_safe_headers(client):
    page = client.get("/")
    assert page.headers["content-type"].startswith("text/html")
    policy = page.headers["content-security-policy"]
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    assert page.headers["x-content-type-options"] == "nosniff"
    assert page.headers["cache-control"] == "no-cache"
    again = client.get("/", headers={"If-None-Match": page.headers["etag"]})
    assert again.status_code == 304
    assert client.get("/about").headers["cache-control"] == "no-store"
