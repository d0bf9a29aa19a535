import numpy as np

from graph_names import named
from tripleshot.graph.readers import encoding, read_graph


def test_more_text_than_small_strings_hold_is_read_the_same(monkeypatch, tmp_path):
    monkeypatch.setattr(encoding, "MAX_SMALL_BYTES", 1)
    path = tmp_path / "graph.tsv"
    path.write_text("a\tr\tb\nb\ts\tc\n")
    assert named(read_graph(path)) == [("a", "r", "b"), ("b", "s", "c")]


def test_keys_of_very_many_entities_do_not_overflow():
    heads = np.array([0, 2**31 - 2, 0, 2**31 - 2, 5], dtype=np.int32)
    relations = np.array([0, 2**20, 0, 2**20, 1], dtype=np.int32)
    tails = np.array([1, 2**31 - 2, 1, 2**31 - 3, 2**31 - 2], dtype=np.int32)
    assert encoding.find_repeats(heads, relations, tails, 2**31 - 1, 2**20 + 1).tolist() == [2]
