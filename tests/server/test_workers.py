"""Many requests at once: equal answers, no queue without an end, nothing that piles up."""

import asyncio
import threading
import time

import httpx
import pytest

from server.conftest import EXAMPLES, QUESTION, Client, SlowMethod, connect, predictor_of
from tripleshot.answering.steps import Steps, finish, in_one_step
from tripleshot.methods.rscl.method import RSCLMethod
from tripleshot.methods.rscl.settings import demo
from tripleshot.server import Limits, create_app
from tripleshot.server.workers import BusyError, Workers, timed


def without_seconds(response: httpx.Response) -> list:
    assert response.status_code == 200, response.text
    return response.json()["results"]


@pytest.fixture(scope="module")
def neural(predictor):
    method = RSCLMethod(demo())
    method.prepare(predictor.dataset, 3)
    return predictor_of("rscl", method)


@pytest.mark.parametrize("kind", ["predictor", "neural"])
def test_many_questions_at_once_get_the_answers_that_each_gets_alone(kind, request):
    app = create_app(request.getfixturevalue(kind), Limits(workers=4), None)
    heads = ["city/baku-az", "city/odesa-ua", "city/mumbai-in", "city/lisbon-pt"]
    questions = [
        {"examples": EXAMPLES[: 1 + number % 3], "heads": [heads[number % 4]], "top": 5} for number in range(12)
    ]

    async def ask() -> None:
        async with connect(app) as client:
            alone = [without_seconds(await client.post("/answer", json=question)) for question in questions]
            together = await asyncio.gather(*(client.post("/answer", json=questions[n % 12]) for n in range(64)))
            assert [without_seconds(response) for response in together] == [alone[n % 12] for n in range(64)]

    asyncio.run(ask())


def test_requests_beyond_those_that_may_wait_are_turned_away():
    slow = SlowMethod()
    app = create_app(predictor_of("slow", slow), Limits(workers=1, max_waiting=1), None)

    async def ask() -> None:
        async with connect(app) as client:
            first = asyncio.create_task(client.post("/answer", json=QUESTION))
            await asyncio.to_thread(slow.has_begun.wait, 10)
            second = asyncio.create_task(client.post("/answer", json=QUESTION))
            await asyncio.sleep(0.05)
            refused = await client.post("/answer", json=QUESTION)
            assert refused.status_code == 503
            assert refused.headers["Retry-After"] == "1"
            assert "detail" in refused.json()
            assert "tripleshot_waiting_requests 1.0" in (await client.get("/metrics")).text
            assert (await client.get("/health")).status_code == 200
            assert (await client.get("/entities?q=baku")).status_code == 200
            assert (await client.get("/ready")).status_code == 503
            slow.may_go_on.set()
            assert [(await task).status_code for task in (first, second)] == [200, 200]
            assert (await client.post("/answer", json=QUESTION)).status_code == 200

    asyncio.run(ask())


def test_a_request_that_takes_too_long_is_given_up_and_its_work_ends():
    slow = SlowMethod()
    app = create_app(predictor_of("slow", slow), Limits(workers=1, max_waiting=5, max_seconds=0.2), None)

    async def ask() -> None:
        async with connect(app) as client:
            asked = QUESTION | {"heads": ["city/baku-az"] * 50}
            responses = await asyncio.gather(*(client.post("/answer", json=asked) for _ in range(4)))
            assert [response.status_code for response in responses] == [504] * 4
            assert responses[0].json() == {"detail": "given up after 0.2 seconds"}
            slow.may_go_on.set()
            assert await answered_again(client)
            assert slow.num_scored == 2  # the head that had begun, of the first request, and this one

    asyncio.run(ask())


async def answered_again(client: httpx.AsyncClient) -> bool:
    """Ask until the worker is free."""
    for _ in range(50):
        if (await client.post("/answer", json=QUESTION)).status_code == 200:
            return True
    return False


def test_a_body_that_never_ends_is_given_up(predictor):
    app = create_app(predictor, Limits(max_seconds=0.2), None)

    async def endless():
        while True:
            yield b" "
            await asyncio.sleep(0.02)

    async def ask() -> None:
        async with connect(app) as client:
            response = await client.post("/answer", content=endless(), headers={"Content-Type": "application/json"})
            assert response.status_code == 504

    asyncio.run(ask())


def test_workers_take_no_more_than_may_wait_and_then_take_again():
    async def work() -> None:
        workers, may_end = Workers(1, max_waiting=0), threading.Event()
        running = asyncio.create_task(workers.run(in_one_step(lambda: may_end.wait(20))))
        await asyncio.sleep(0)
        assert workers.is_full
        with pytest.raises(BusyError):
            await workers.run(in_one_step(lambda: None))
        may_end.set()
        await running
        assert await workers.run(in_one_step(lambda: 7)) == 7
        workers.close()

    asyncio.run(work())


def endless(turns: list[str], name: str) -> Steps[None]:
    """Work that has no end, and says whenever it has done something."""
    while True:
        turns.append(name)
        time.sleep(0.01)
        yield


def test_a_small_request_does_not_wait_for_the_end_of_large_ones():
    async def work() -> None:
        workers, turns = Workers(2, max_waiting=5), []
        large = [asyncio.create_task(workers.run(endless(turns, name))) for name in "abc"]
        while not set("abc") <= set(turns):  # three take turns on two threads
            await asyncio.sleep(0.01)
        assert await asyncio.wait_for(workers.run(in_one_step(lambda: "small")), 20) == "small"
        for task in large:
            task.cancel()
        await asyncio.gather(*large, return_exceptions=True)
        workers.close()
        assert workers.num_running == workers.num_waiting == 0

    asyncio.run(work())


def test_work_that_is_given_up_ends_after_its_present_step():
    async def work() -> None:
        workers, has_begun, may_go_on, ended = Workers(1, 0), threading.Event(), threading.Event(), threading.Event()

        def steps() -> Steps[None]:
            try:
                has_begun.set()
                assert may_go_on.wait(20)
                yield
                raise AssertionError("another step was done")
            finally:
                ended.set()

        running = asyncio.create_task(workers.run(steps()))
        await asyncio.to_thread(has_begun.wait, 20)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        assert workers.num_running == 1  # its thread is still taken
        may_go_on.set()
        assert await asyncio.to_thread(ended.wait, 20)
        workers.close()
        assert workers.num_running == 0

    asyncio.run(work())


def test_an_answer_in_slices_is_the_whole_one_and_can_be_given_up_within_a_head(predictor, monkeypatch):
    asked = QUESTION | {"candidates": "all", "with_known": True}

    async def ask(slow: SlowMethod) -> None:
        app = create_app(predictor_of("slow", slow), Limits(workers=1, max_seconds=0.2), None)
        async with connect(app) as client:
            assert (await client.post("/answer", json=asked)).status_code == 504
            slow.may_go_on.set()
            assert await answered_again(client)

    whole = Client(create_app(predictor, Limits(), None)).post("/answer", json=asked)
    monkeypatch.setattr("tripleshot.server.service.SLICE_SIZE", 100)
    sliced = Client(create_app(predictor, Limits(), None)).post("/answer", json=asked)
    assert without_seconds(sliced) == without_seconds(whole)
    slow = SlowMethod()
    asyncio.run(ask(slow))
    assert slow.num_scored == 2  # the slice that had begun, and the one of the question with few candidates


def test_only_the_time_of_the_steps_themselves_is_counted():
    told = []

    def steps() -> Steps[str]:
        yield
        return "done"

    work = timed(steps(), told.append)
    started = time.perf_counter()
    next(work)
    time.sleep(0.2)
    assert finish(work) == "done"
    assert 0 <= told[0] <= time.perf_counter() - started - 0.2
