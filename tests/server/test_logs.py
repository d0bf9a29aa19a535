import json
import logging
import sys

from server.conftest import Client, SlowMethod, predictor_of
from tripleshot.server import Limits, create_app
from tripleshot.server.logs import JsonFormatter, json_logging, request_id


def record(message: str, **more) -> logging.LogRecord:
    made = logging.LogRecord("tripleshot.x", logging.WARNING, "x.py", 1, message, (), None)
    vars(made).update(more)
    return made


def test_a_record_is_one_line_of_json_whatever_it_says():
    line = JsonFormatter().format(record("Ba\x1b[2Jku\nnext \u202e", request={"status": 200}))
    assert line.isascii()
    assert line.isprintable()
    found = json.loads(line)
    assert found.pop("time").endswith("+00:00")
    assert found == {
        "level": "warning",
        "logger": "tripleshot.x",
        "message": "Ba\x1b[2Jku\nnext \u202e",
        "status": 200,
    }


def test_a_record_says_which_request_it_is_about_and_what_was_raised():
    token = request_id.set("one")
    try:
        raise ValueError("wrong")
    except ValueError:
        found = json.loads(JsonFormatter().format(record("failed", exc_info=sys.exc_info())))
    finally:
        request_id.reset(token)
    assert found["request_id"] == "one"
    assert found["exception"].endswith("ValueError: wrong")


def test_loggers_write_json_meanwhile_and_are_left_as_they_were(capsys, client):
    loggers = [logging.getLogger(name) for name in ("tripleshot", "uvicorn")]
    before = [(logger.handlers, logger.level, logger.propagate) for logger in loggers]
    with json_logging():
        client.get("/about", headers={"X-Request-ID": "one"})
        logging.getLogger("uvicorn.error").error("broken")
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    asked, broken = (next(line for line in lines if line["message"].startswith(text)) for text in ("GET", "broken"))
    assert (asked["request_id"], asked["path"], asked["status"]) == ("one", "/about", 200)
    assert asked["seconds"] >= 0
    assert broken["level"] == "error"
    assert [(logger.handlers, logger.level, logger.propagate) for logger in loggers] == before


def test_what_is_logged_while_a_worker_answers_names_the_request(monkeypatch, capsys):
    method = SlowMethod()
    method.may_go_on.set()
    monkeypatch.setattr(
        "tripleshot.server.service.Service.search",
        lambda *_: logging.getLogger("tripleshot.graph").warning("looked") or {"entities": []},
    )
    with json_logging():
        Client(create_app(predictor_of("slow", method), Limits(), None)).get(
            "/entities?q=a", headers={"X-Request-ID": "one"}
        )
    looked = next(json.loads(line) for line in capsys.readouterr().err.splitlines() if "looked" in line)
    assert looked["request_id"] == "one"
