"""Many requests at once: equal answers, no queue without an end, nothing that piles up."""

import asyncio
import time

import httpx
import pytest

from server.conftest import EXAMPLES, QUESTION, SlowMethod, connect, predictor_of
from tripleshot.methods.rscl.method import RSCLMethod
from tripleshot.methods.rscl.settings import demo
from tripleshot.server import Limits, create_app
from tripleshot.server.workers import BusyError, Workers


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
        workers = Workers(1, max_waiting=0)
        running = asyncio.create_task(workers.run(lambda _: time.sleep(0.2)))
        await asyncio.sleep(0.05)
        with pytest.raises(BusyError):
            await workers.run(lambda _: None)
        await running
        assert await workers.run(lambda is_given_up: is_given_up()) is False
        workers.close()

    asyncio.run(work())
