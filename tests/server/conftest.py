import asyncio
import threading
from pathlib import Path

import httpx
import numpy as np
import pytest
from fastapi import FastAPI

from tripleshot.answering.models import train
from tripleshot.answering.predictor import Predictor
from tripleshot.datasets.catalog import load_atlas
from tripleshot.datasets.dataset import FewShotDataset
from tripleshot.methods.protocol import Method
from tripleshot.server import Limits, create_app

EXAMPLES = [
    {"head": "city/barcelona-es", "tail": "sea/mediterranean-sea"},
    {"head": "city/mumbai-in", "tail": "Arabian Sea"},
    {"head": "city/odesa-ua", "tail": "sea/black-sea"},
]
QUESTION = {"examples": EXAMPLES, "heads": ["city/baku-az"], "top": 3}


def detail(response, status: int) -> str:
    assert response.status_code == status, response.text
    assert list(response.json()) == ["detail"]
    return response.json()["detail"]


def predictor_of(name: str, method: Method) -> Predictor:
    """A predictor over Atlas without a run on disk."""
    return Predictor.of(load_atlas(), method, name, 3)


class SlowMethod:
    """Scores by id, but only once it is told to go on."""

    def __init__(self) -> None:
        self.graph = load_atlas().graph
        self.has_begun, self.may_go_on = threading.Event(), threading.Event()
        self.num_scored = 0

    def prepare(self, dataset: FewShotDataset, shots: int) -> None:
        pass

    def score(self, support: np.ndarray, head: int, tails: np.ndarray) -> np.ndarray:
        self.has_begun.set()
        assert self.may_go_on.wait(20)
        self.num_scored += 1
        return tails.astype(np.float64)


@pytest.fixture(scope="session")
def predictor() -> Predictor:
    return Predictor(load_atlas(), "evidence", shots=3)


@pytest.fixture(scope="session")
def evidence_run(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("evidence")
    train("evidence", "atlas", shots=3, folder=folder)
    return folder


@pytest.fixture(scope="session")
def network_run(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("evidence-net")
    train("evidence-net", "atlas", shots=3, folder=folder, preset="tiny", settings={"valid_queries": 5})
    return folder


@pytest.fixture(scope="session")
def client(predictor: Predictor) -> "Client":
    return Client(create_app(predictor, Limits(), None))


class Client:
    """Asks an application within this process, one request at a time."""

    def __init__(self, app: FastAPI) -> None:
        self.app = app

    def get(self, path: str, **options) -> httpx.Response:
        return asyncio.run(self._request("GET", path, options))

    def post(self, path: str, **options) -> httpx.Response:
        return asyncio.run(self._request("POST", path, options))

    async def _request(self, method: str, path: str, options: dict) -> httpx.Response:
        async with connect(self.app) as client:
            return await client.request(method, path, **options)


def connect(app: FastAPI) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    return httpx.AsyncClient(transport=transport, base_url="http://localhost", timeout=60)
