import pytest

from embedding import measure_memory, time_ours, time_theirs
from tripleshot.datasets.negatives import collect_triples
from tripleshot.methods.embedding.settings import EmbeddingSettings

SMALL = EmbeddingSettings(width=8, batch_size=8, num_negatives=2)


@pytest.mark.parametrize("name", ["transe", "transr"])
def test_our_steps_are_timed(tiny, name):
    assert time_ours(name, SMALL, collect_triples(tiny, 3), tiny.graph.num_entities, 3) > 0


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["transr", "complex"])
def test_their_steps_are_timed(tiny, name):
    pytest.importorskip("pykeen", reason="PyKEEN, which it is compared with, is not installed")
    assert time_theirs(name, SMALL, collect_triples(tiny, 3), tiny.graph.num_entities, 3) > 0


def test_memory_is_at_least_that_of_the_table():
    found = measure_memory(1000, 2000, 10)
    assert found["table_mib"] == pytest.approx(1001 * 10 * 4 / 2**20)
    assert found["peak_mib"] > found["table_mib"]
