"""The columns of the indexes against plain loops over the triples, whatever the size of the blocks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphs import graph_of_ids
from tripleshot.graph import edge_blocks
from tripleshot.graph.edge_blocks import SEVERAL, adjacency_blocks, pair_blocks, profile_blocks, split_rows
from tripleshot.graph.index_files import collect

NUM_ENTITIES, NUM_RELATIONS = 6, 3
TRIPLES = st.lists(
    st.tuples(st.integers(0, NUM_ENTITIES - 1), st.integers(0, NUM_RELATIONS - 1), st.integers(0, NUM_ENTITIES - 1)),
    max_size=25,
)
BLOCK_SIZES = st.sampled_from([1, 2, 5, 1000])


def edges_of(triples):
    """Every edge in both directions and in file order: (from, relation, to)."""
    edges = [[(h, r, t), (t, r + NUM_RELATIONS, h)] for h, r, t in triples]
    return [edge for both in edges for edge in both]


def columns_of(blocks, triples, edges_per_block):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(edge_blocks, "EDGES_PER_BLOCK", edges_per_block)
        return collect(blocks(graph_of_ids(triples, NUM_ENTITIES, NUM_RELATIONS)))


@given(TRIPLES, BLOCK_SIZES)
def test_adjacency_is_in_file_order(triples, edges_per_block):
    columns = columns_of(adjacency_blocks, triples, edges_per_block)
    edges = [edge for entity in range(NUM_ENTITIES) for edge in edges_of(triples) if edge[0] == entity]
    assert columns["relations"].tolist() == [relation for _, relation, _ in edges]
    assert columns["entities"].tolist() == [other for _, _, other in edges]
    assert columns["degrees"].tolist() == [sum(edge[0] == entity for edge in edges) for entity in range(NUM_ENTITIES)]
    assert columns["offsets"].tolist() == [0, *np.cumsum(columns["degrees"]).tolist()]


@given(TRIPLES, BLOCK_SIZES)
def test_pairs_are_in_order_with_their_relations_in_file_order(triples, edges_per_block):
    columns = columns_of(pair_blocks, triples, edges_per_block)
    edges = edges_of(triples)
    pairs = sorted({(a, b) for a, _, b in edges})
    joining = [[r for a, r, b in edges if (a, b) == pair] for pair in pairs]
    sole = [{r % NUM_RELATIONS for r in relations} for relations in joining]
    assert columns["middles"].tolist() == [b for _, b in pairs]
    assert columns["rows"].tolist() == [sum(a < entity for a, _ in pairs) for entity in range(NUM_ENTITIES + 1)]
    assert columns["relations"].tolist() == [relation for relations in joining for relation in relations]
    assert columns["edges"].tolist() == [0, *np.cumsum([len(relations) for relations in joining]).tolist()]
    assert columns["sole_relations"].tolist() == [min(one) if len(one) == 1 else SEVERAL for one in sole]


@given(TRIPLES, BLOCK_SIZES)
def test_profiles_group_the_edges_by_entity_relation_and_other(triples, edges_per_block):
    columns = columns_of(profile_blocks, triples, edges_per_block)
    edges = sorted(edges_of(triples))
    groups = sorted({(a, r) for a, r, _ in edges})
    counts = [sum((a, r) == group for a, r, _ in edges) for group in groups]
    assert columns["relations"].tolist() == [relation for _, relation in groups]
    assert columns["counts"].tolist() == counts
    assert columns["offsets"].tolist() == [sum(a < entity for a, _ in groups) for entity in range(NUM_ENTITIES + 1)]
    assert columns["starts"].tolist() == [0, *np.cumsum(counts).tolist()]
    assert columns["entities"].tolist() == [other for _, _, other in edges]
    seen = [sum(r == relation for _, r in groups) for relation in range(2 * NUM_RELATIONS)]
    assert columns["rarity"].tolist() == pytest.approx([np.log((NUM_ENTITIES + 1) / (count + 1)) for count in seen])


@pytest.mark.parametrize("blocks", [adjacency_blocks, pair_blocks, profile_blocks])
def test_offsets_have_eight_bytes_and_ids_four(blocks):
    for triples in ([], [(0, 0, 1), (1, 2, 2)]):
        for name, column in columns_of(blocks, triples, 1).items():
            is_offset = name in ("offsets", "degrees", "rows", "edges", "starts")
            assert column.dtype == (np.int64 if is_offset else np.float64 if name == "rarity" else np.int32), name
            assert column.flags.c_contiguous
            assert not column.flags.writeable


def test_a_row_longer_than_a_block_is_a_block():
    offsets = np.array([0, 1, 2, 9, 9, 10])
    assert list(split_rows(offsets, 3)) == [(0, 2), (2, 3), (3, 5)]
    assert list(split_rows(np.array([0]), 3)) == []
