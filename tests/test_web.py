import pytest

from tripleshot.web import InterruptedTransferError, with_retries


def test_waits_grow_and_are_as_long_as_the_server_asks_for_within_bounds(monkeypatch):
    waits, asked = [], [0.0, 0.0, 30.0, 1e9]

    def fail():
        raise InterruptedTransferError("not now", asked[len(waits)] if len(waits) < len(asked) else 0.0)

    monkeypatch.setattr("tripleshot.web.time.sleep", waits.append)
    with pytest.raises(InterruptedTransferError, match="not now"):
        with_retries(fail, attempts=5, wait=1.0)
    assert waits == [1.0, 2.0, 30.0, 600.0]


def test_what_works_is_done_once():
    done = []
    assert with_retries(lambda: done.append(1) or "well", attempts=3, wait=100) == "well"
    assert done == [1]
