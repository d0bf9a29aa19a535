import numpy as np
import pyarrow.parquet as pq
import pytest

from graph_names import named
from graphs import make_graph
from tripleshot.errors import InputError
from tripleshot.graph import exporting
from tripleshot.graph.exporting import write_graph
from tripleshot.graph.readers import read_graph

TRIPLES = [("a", "r", "b"), ("b", "s", "c"), ("a", "s", "\n;\x1b")]


@pytest.mark.parametrize("rows_at_once", [1, 2, 1000])
def test_a_graph_comes_back_with_labels_and_types(tmp_path, monkeypatch, rows_at_once):
    monkeypatch.setattr(exporting, "ROWS_AT_ONCE", rows_at_once)
    graph = make_graph(TRIPLES, {"a": "person", "c": "city"}).with_labels({"a": "Ada"}, {"s": "sees"})
    write_graph(graph, tmp_path / "graph.parquet")
    found = read_graph(tmp_path / "graph.parquet")
    assert named(found) == TRIPLES
    ids = {name: found.entities.id(name) for name in ("a", "b", "c")}
    assert [found.entities.label(entity) for entity in ids.values()] == ["Ada", "b", "c"]
    assert [found.relations.label(found.relations.id(name)) for name in ("r", "s")] == ["r", "sees"]
    assert found.types is not None
    kinds = {name: [found.types.names[kind] for kind in found.types.of(np.array([ids[name]]))] for name in ids}
    assert kinds == {"a": ["person"], "b": [], "c": ["city"]}


def test_a_graph_without_labels_and_types_has_three_columns(tmp_path):
    write_graph(make_graph(TRIPLES), tmp_path / "graph.parquet")
    assert pq.read_schema(tmp_path / "graph.parquet").names == ["head", "relation", "tail"]
    assert read_graph(tmp_path / "graph.parquet").types is None


def test_a_file_is_replaced_only_when_asked(tmp_path):
    path = tmp_path / "graph.parquet"
    write_graph(make_graph(TRIPLES), path)
    with pytest.raises(InputError, match="exists already"):
        write_graph(make_graph(TRIPLES[:1]), path)
    write_graph(make_graph(TRIPLES[:1]), path, overwrite=True)
    assert named(read_graph(path)) == TRIPLES[:1]
    with pytest.raises(InputError, match=r"ends with \.parquet"):
        write_graph(make_graph(TRIPLES), tmp_path / "graph.tsv")
    (tmp_path / "folder.parquet").mkdir()
    with pytest.raises(InputError, match="is a folder"):
        write_graph(make_graph(TRIPLES), tmp_path / "folder.parquet", overwrite=True)
