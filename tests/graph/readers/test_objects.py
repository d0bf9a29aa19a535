from types import SimpleNamespace
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch

from graph_names import named
from tripleshot.errors import InputError, InputWarning
from tripleshot.graph.readers import read_graph
from tripleshot.graph.readers.objects import read_hetero_data, read_networkx


class HeteroData:
    """What PyTorch Geometric's HeteroData looks like to a reader."""

    def __init__(self, edges):
        self.edges = edges
        self.edge_types = list(edges)
        self.node_types = sorted({end for head, _, tail in edges for end in (head, tail)})

    def __getitem__(self, key):
        return SimpleNamespace(edge_index=torch.tensor(self.edges[key]))


EDGES = {("author", "writes", "paper"): [[0, 1], [0, 0]], ("paper", "cites", "paper"): [[0], [2]]}


def test_edges_of_networkx_are_named_by_attribute_or_key():
    graph: Any = nx.MultiDiGraph()
    graph.add_node("a", label="Ada", type="person")
    graph.add_node("lonely", type="person")
    graph.add_edge("a", "b", key="knows")
    graph.add_edge("a", "b", relation="likes")
    graph.add_edge("b", 7, key="since")
    found = read_graph(graph)
    assert named(found) == [("a", "knows", "b"), ("a", "likes", "b"), ("b", "since", "7")]
    assert found.entities.label(0) == "Ada"
    assert found.types is not None
    assert [found.types.names[kind] for kind in found.types.of(np.array([0, 1, 2]))] == ["person"]
    simple = nx.DiGraph([("a", "b", {"kind": "r", "type": "s"})])
    assert named(read_graph(simple)) == [("a", "s", "b")]
    assert named(read_networkx(simple, "kind")) == [("a", "r", "b")]


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (nx.Graph([(1, 2)]), "expected a directed graph"),
        (nx.DiGraph([(1, 2)]), r"edge \(1, 2\): .*no attribute and no key"),
        (nx.MultiDiGraph([(1, 2)]), r"edge \(1, 2, 0\): .*no attribute and no key"),
        (nx.DiGraph([(1, 2, {"type": "a", "label": "b"})]), "several attributes: type, label"),
        (nx.DiGraph([("1", 1, {"type": "r"})]), "nodes '1' and 1 would have the same name"),
        (nx.DiGraph([((1, 2), 3, {"type": "r"})]), r"expected a name as text or integer, found \(1, 2\)"),
        (nx.DiGraph(), "expected triples, found none"),
    ],
)
def test_graphs_without_names_or_direction_are_refused(graph, message):
    with pytest.raises(InputError, match=message):
        read_graph(graph)
    with pytest.raises(InputError, match="has no attribute 'via'"):
        read_networkx(nx.DiGraph([(1, 2)]), "via")


def test_edge_types_are_relations_and_node_types_are_types():
    graph = read_graph(HeteroData(EDGES))
    assert named(graph) == [
        ("author:0", "writes", "paper:0"),
        ("author:1", "writes", "paper:0"),
        ("paper:0", "cites", "paper:2"),
    ]
    assert graph.types is not None
    papers = graph.types.members(np.array([graph.types.ids["paper"]]))
    assert {graph.entities.name(entity) for entity in papers} == {"paper:0", "paper:2"}


def test_nodes_may_have_names():
    graph = read_hetero_data(HeteroData(EDGES), {"author": ["Ada", "Bob"]})
    assert named(graph)[:2] == [("Ada", "writes", "paper:0"), ("Bob", "writes", "paper:0")]
    with pytest.raises(InputError, match="node type 'author' has 1 names, and an edge of node 1"):
        read_hetero_data(HeteroData(EDGES), {"author": ["Ada"]})


def test_repeated_and_missing_edges_are_noticed():
    with pytest.warns(InputWarning, match="edge 2: duplicate triple skipped"):
        read_graph(HeteroData({("a", "r", "a"): [[0, 0], [1, 1]]}))
    with pytest.raises(InputError, match="expected edges, found none"):
        read_graph(HeteroData({}))
    with pytest.raises(InputError, match="expected an edge_index of shape"):
        read_graph(HeteroData({("a", "r", "a"): [0, 1]}))
