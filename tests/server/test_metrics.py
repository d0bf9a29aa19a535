import logging

import pytest

from server.conftest import QUESTION, Client
from tripleshot.server import Limits, create_app
from tripleshot.server.hosts import AllowedHosts


def test_figures_are_counted_for_each_application(predictor):
    client = Client(create_app(predictor, Limits(), None))
    client.post("/answer", json=QUESTION)
    client.post("/answer", json=QUESTION | {"heads": ["nobody"]})
    client.get("/entity/0/neighbors")
    client.get("/nothing")
    text = client.get("/metrics").text
    assert 'tripleshot_requests_total{path="/answer",status="200"} 1.0' in text
    assert 'tripleshot_requests_total{path="/answer",status="400"} 1.0' in text
    assert 'tripleshot_requests_total{path="/entity/{entity_id}/neighbors",status="200"} 1.0' in text
    assert 'tripleshot_requests_total{path="other",status="404"} 1.0' in text
    assert "tripleshot_answers_total 1.0" in text
    assert "tripleshot_waiting_requests 0.0" in text
    assert 'tripleshot_request_seconds_count{path="/answer"} 2.0' in text
    assert "tripleshot_scoring_seconds_count 2.0" in text


def test_what_is_turned_away_is_counted_by_what_it_lacked(predictor):
    limits = Limits(max_body=1000)
    client = Client(create_app(predictor, limits, "sesame", AllowedHosts()))
    client.get("/about")
    client.get("/health", headers={"Host": "evil.example"})
    right = {"Authorization": "Bearer sesame"}
    client.post("/answer", content=b"x" * 2000, headers=right)
    text = client.get("/metrics", headers=right).text
    for reason in ("token", "host", "size"):
        assert f'tripleshot_rejected_requests_total{{reason="{reason}"}} 1.0' in text
    assert "process_resident_memory_bytes" in text


def test_every_answer_carries_the_id_of_its_request(client):
    made = client.get("/health").headers["X-Request-ID"]
    assert len(made) == 32
    assert client.get("/health").headers["X-Request-ID"] != made
    assert client.get("/nothing", headers={"X-Request-ID": "page-7.a"}).headers["X-Request-ID"] == "page-7.a"


@pytest.mark.parametrize("given", ["", "a b", "x" * 65, "<script>", "a\tb"])
def test_an_id_that_could_confuse_a_log_is_replaced(client, given):
    assert len(client.get("/health", headers={"X-Request-ID": given}).headers["X-Request-ID"]) == 32


def test_every_request_is_logged_with_its_id_and_without_its_query(client, caplog):
    with caplog.at_level(logging.INFO, "tripleshot.server"):
        client.get("/entities?q=secret", headers={"X-Request-ID": "one"})
    (record,) = [record for record in caplog.records if record.name == "tripleshot.server.metrics"]
    assert record.getMessage().startswith("GET /entities 200, ")
    assert record.getMessage().endswith(" ms, request one")
    about = vars(record)["request"]
    assert (about["method"], about["path"], about["status"]) == ("GET", "/entities", 200)
    assert "secret" not in caplog.text
