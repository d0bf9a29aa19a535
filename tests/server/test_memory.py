"""What a question takes is known before it is paid, and too much is refused before anything is made of that size."""

import tracemalloc
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest

import tripleshot as ts
from server.conftest import QUESTION, Client, detail
from tripleshot.answering.predictor import Predictor
from tripleshot.answering.steps import finish
from tripleshot.errors import InputError
from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.graph.types import types_from_names
from tripleshot.server import Limits, create_app, schemas
from tripleshot.server.memory import BYTES_PER_CANDIDATE, TooLargeError, check_memory, estimate_bytes
from tripleshot.server.service import Service

NUM_ENTITIES = 60_000
EXAMPLES = [{"head": f"city/{number}", "tail": f"city/{number + 1}"} for number in range(3)]


class ById:
    """Scores by id, and needs nothing for it."""

    def __init__(self, graph: KnowledgeGraph) -> None:
        self.graph = graph

    def prepare(self, dataset: ts.FewShotDataset, shots: int) -> None:
        pass

    def score(self, support: np.ndarray, head: int, tails: np.ndarray) -> np.ndarray:
        return tails.astype(np.float64)


@pytest.fixture(scope="module")
def large() -> Predictor:
    """A ring of many cities, and a few towns that each stand before one of them."""
    ring = [f"city/{number}" for number in range(NUM_ENTITIES)]
    heads = [*ring, *(f"town/{number}" for number in range(10))]
    tails = [*ring[1:], ring[0], *ring[:10]]
    graph = ts.read_graph(pa.table({"head": heads, "relation": ["before"] * len(heads), "tail": tails}))
    graph = graph.with_types(types_from_names(graph))
    predictor = Predictor(graph, ById(graph))
    assert predictor.index.search("city", 1)
    return predictor


def peak_of(work: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        work()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


def question(num_heads: int = 1, **more) -> schemas.Question:
    heads: list[str | int] = [f"city/{number}" for number in range(num_heads)]
    return schemas.Question.model_validate({"examples": EXAMPLES, "heads": heads, **more})


@pytest.mark.parametrize(
    ("asked", "num_answers"),
    [
        (question(candidates="all"), 10),
        (question(), 10),
        (question(candidates=["city", "town"]), 10),
        (question(20, top=100, candidates=["town"]), 200),
        (question(20, top=100), 2000),
    ],
)
def test_a_question_takes_no_more_memory_than_estimated(large, asked, num_answers):
    service = Service(large, Limits())
    finish(service.answer(question()))  # what is made once and kept
    num_candidates = 10 if asked.candidates == ["town"] else NUM_ENTITIES + 10
    estimated = estimate_bytes(num_candidates, num_answers)
    assert estimated / 4 < peak_of(lambda: finish(service.answer(asked))) < estimated


@pytest.mark.parametrize("candidates", ["all", "open", ["city"], ["town", "city"]])
def test_a_question_that_takes_too_much_is_refused_before_candidates_are_looked_up(large, candidates):
    service = Service(large, Limits(max_memory=NUM_ENTITIES * BYTES_PER_CANDIDATE - 1))
    finish(service.answer(question(candidates=["town"])))

    def ask() -> None:
        with pytest.raises(TooLargeError, match=r"more than the 4\.8 MB that this server allows"):
            finish(service.answer(question(candidates=candidates)))

    ask()
    assert peak_of(ask) < NUM_ENTITIES  # not a byte for each


def test_answers_count_and_no_more_of_them_than_there_are_candidates():
    check_memory(10, 100, 1_000_000, estimate_bytes(10, 1000))
    with pytest.raises(InputError, match=r"^10 candidates and 1,000 answers take about 3\.0 MB"):
        check_memory(10, 100, 1_000_000, estimate_bytes(10, 1000) - 1)


def test_too_much_memory_is_one_clear_answer_and_counted(predictor):
    client = Client(create_app(predictor, Limits(max_memory=1000), None))
    said = detail(client.post("/answer", json=QUESTION), 413)
    assert said.endswith("MB of memory, more than the 0.0 MB that this server allows; ask for fewer")
    assert 'tripleshot_rejected_requests_total{reason="size"} 1.0' in client.get("/metrics").text


def test_without_types_candidates_are_counted_once_they_are_found():
    graph = ts.read_graph([("Riga", "lies in", "Latvia"), ("Baku", "lies in", "Azerbaijan")])
    client = Client(create_app(Predictor(graph, "evidence"), Limits(max_memory=1000), None))
    body = {"examples": [{"head": "Riga", "tail": "Latvia"}], "heads": ["Baku"]}
    assert detail(client.post("/answer", json=body), 413).startswith("2 candidates and 2 answers take")
