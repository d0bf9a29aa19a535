import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from graph_names import named
from tripleshot.graph.readers import read_graph

COLUMNS = {
    "s": ["a", "b"],
    "p": ["r", "r"],
    "o": ["b", "c"],
    "s_label": ["Ada", None],
    "o_label": ["Bob", " "],
    "p_label": ["relates to", None],
    "o_types": [["person"], None],
    "s_types": [["person", "poet"], []],
}


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_frames_have_labels_and_types_beside_their_triples(frame):
    graph = read_graph(frame(COLUMNS))
    assert named(graph) == [("a", "r", "b"), ("b", "r", "c")]
    assert [graph.entities.label(entity) for entity in range(3)] == ["Ada", "Bob", "c"]
    assert graph.relations.label(0) == "relates to"
    assert graph.types is not None
    assert sorted(graph.types.names) == ["person", "poet"]
    assert graph.types.offsets.tolist() == [0, 2, 3, 3]


def test_columns_of_another_kind_are_no_labels_and_types():
    graph = read_graph(pa.table({"s": ["a"], "p": ["r"], "o": ["b"], "s_label": [7], "o_types": ["person"]}))
    assert not graph.entities.has_labels
    assert graph.types is None
