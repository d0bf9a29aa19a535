from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphs import make_graph
from tripleshot.datasets.dataset import SPLITS
from tripleshot.datasets.splitting import find_overlaps, make_dataset
from tripleshot.errors import InputError

BOUNDS: dict[str, Any] = {"min_triples": 5, "max_triples": 50}


def relation(name, size, offset=0, inverse=False):
    pairs = [(f"h{i + offset}", f"t{(i * 3 + offset) % 40}") for i in range(size)]
    return [(tail, name, head) if inverse else (head, name, tail) for head, tail in pairs]


def graph_of(*parts):
    return make_graph([triple for part in parts for triple in part])


def plain_overlaps(graph, relations, at_least):
    def pairs(index, inverse=False):
        rows = graph.relation_ids == index
        columns = (
            (graph.tail_ids[rows], graph.head_ids[rows]) if inverse else (graph.head_ids[rows], graph.tail_ids[rows])
        )
        return set(zip(*(column.tolist() for column in columns), strict=True))

    return {
        (one, other, inverse)
        for one in relations
        for other in range(graph.num_relations)
        for inverse in (False, True)
        if one != other
        and len(pairs(one) & pairs(other, inverse)) >= at_least * max(len(pairs(one)), len(pairs(other)))
        and pairs(one) & pairs(other, inverse)
    }


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3), st.integers(0, 5)), min_size=1, max_size=60, unique=True),
    st.sampled_from([0.3, 0.5, 0.8, 1.0]),
)
def test_overlaps_agree_with_plain_set_arithmetic(triples, at_least):
    graph = make_graph([(f"e{h}", f"r{r}", f"e{t}") for h, r, t in triples])
    relations = np.arange(min(2, graph.num_relations))
    found = {(o.relation, o.other, o.is_inverse) for o in find_overlaps(graph, relations, at_least)}
    assert found == plain_overlaps(graph, relations.tolist(), at_least)


def test_bounds_are_exclusive():
    graph = graph_of(
        *(
            relation(name, size, 60 * i)
            for i, (name, size) in enumerate({"five": 5, "six": 6, "seven": 7, "forty-nine": 49, "fifty": 50}.items())
        )
    )
    dataset = make_dataset(graph, **BOUNDS)
    assert {task.name for _, task in dataset.all_tasks()} == {"six", "seven", "forty-nine"}
    assert dataset.graph.relations.names.to_pylist() == ["five", "fifty"]


def test_every_triple_is_in_the_background_or_in_one_task():
    graph = graph_of(*(relation(f"r{i}", 10 + i, 60 * i) for i in range(8)), relation("big", 80, 600))
    dataset = make_dataset(graph, **BOUNDS)
    tasks = [task for _, task in dataset.all_tasks()]
    assert dataset.graph.num_triples + sum(len(task.pairs) for task in tasks) == graph.num_triples
    assert [len(dataset.tasks(split)) for split in SPLITS] == [5, 2, 1]


@pytest.mark.parametrize(
    ("num_relations", "arguments", "sizes"),
    [
        (3, {}, [1, 1, 1]),
        (7, {}, [5, 1, 1]),
        (8, {}, [5, 2, 1]),
        (20, {}, [15, 2, 3]),
        (27, {}, [21, 2, 4]),
        (67, {}, [51, 5, 11]),
        (12, {"num_valid": 1}, [9, 1, 2]),
        (12, {"num_valid": 0}, [10, 0, 2]),
        (12, {"num_test": 5}, [5, 2, 5]),
        (12, {"num_test": 10}, [1, 1, 10]),
    ],
)
def test_confidence_can_be_fitted_to_the_valid_tasks_wherever_enough_remain_to_learn_from(
    num_relations, arguments, sizes
):
    graph = graph_of(*(relation(f"r{i}", 10, 60 * i) for i in range(num_relations)))
    dataset = make_dataset(graph, **BOUNDS, **arguments)
    assert [len(dataset.tasks(split)) for split in SPLITS] == sizes


def test_a_copy_and_an_inverse_of_a_task_are_kept_out_and_named():
    graph = graph_of(
        *(relation(f"r{i}", 10, 60 * i) for i in range(3)),
        relation("copy of r0", 60, 0),
        relation("far", 60, 700),
        relation("inverse of r1", 12, 60, inverse=True),
    )
    dataset = make_dataset(graph, min_triples=9, max_triples=11, overlap_threshold=0.8)
    assert dataset.graph.relations.names.to_pylist() == ["copy of r0", "far"]
    assert dataset.notes == (
        "relation 'inverse of r1' is kept out: it is the inverse of the few-shot relation 'r1' (100%)",
    )


def test_tasks_that_say_the_same_stay_in_one_split():
    parts = [relation(f"r{i}", 10, 60 * i) for i in range(10)]
    parts += [relation(f"r{i} backwards", 10, 60 * i, inverse=True) for i in range(10)]
    for seed in range(5):
        dataset = make_dataset(graph_of(*parts), **BOUNDS, num_valid=4, num_test=4, seed=seed)
        where = {task.name: split for split, task in dataset.all_tasks()}
        assert all(where[f"r{i}"] == where[f"r{i} backwards"] for i in range(10))
        assert [len(dataset.tasks(split)) for split in SPLITS] == [12, 4, 4]


def test_the_seed_decides_split_and_support():
    graph = graph_of(*(relation(f"r{i}", 20, 60 * i) for i in range(12)))

    def fingerprint(seed):
        dataset = make_dataset(graph, **BOUNDS, seed=seed)
        return [(split, task.name, task.pairs.tolist()) for split, task in dataset.all_tasks()]

    assert fingerprint(1) == fingerprint(1)
    assert fingerprint(1) != fingerprint(2)


def test_named_splits_replace_the_rule():
    graph = graph_of(*(relation(f"r{i}", 10, 60 * i) for i in range(4)))
    dataset = make_dataset(graph, splits={"train": ["r3"], "test": ["r0"]})
    assert [task.name for _, task in dataset.all_tasks()] == ["r3", "r0"]


def test_relations_to_keep_stay_in_the_background():
    graph = graph_of(*(relation(f"r{i}", 10, 60 * i) for i in range(5)))
    dataset = make_dataset(graph, **BOUNDS, keep=["r2"])
    assert dataset.graph.relations.names.to_pylist() == ["r2"]


def test_too_few_relations_in_bounds_say_so():
    with pytest.raises(InputError, match=r"1 of 2 relations have more than 5 .*change min_triples or max_triples"):
        make_dataset(graph_of(relation("r", 10), relation("big", 60)), **BOUNDS)


def test_a_graph_of_tasks_alone_has_a_note_about_its_empty_background():
    dataset = make_dataset(graph_of(*(relation(f"r{i}", 10, 60 * i) for i in range(4))), **BOUNDS)
    assert dataset.notes == ("all 4 relations are tasks or kept out: none remains for the background",)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"min_triples": -1}, "min_triples must be a whole number, 0 or more, not -1"),
        ({"max_triples": "many"}, "max_triples must be a whole number, 0 or more, not 'many'"),
        ({"min_triples": 50, "max_triples": 51}, "max_triples=51 leaves no size above min_triples=50"),
        ({"num_valid": -2}, "num_valid must be"),
        ({"num_test": 0.5}, "num_test must be"),
        ({"seed": -1}, "seed must be"),
        ({"overlap_threshold": 0}, "overlap_threshold must be a share above 0 and up to 1, not 0"),
        ({"splits": {"dev": ["r0"]}}, "splits has no split 'dev'"),
        ({"splits": {"train": ["r0"], "test": ["r0"]}}, "splits names relation 'r0' twice"),
        ({"splits": {}}, "splits names no relation"),
        ({"splits": {"train": ["r9"]}}, "unknown relation 'r9'"),
        ({"keep": ["r9"]}, "unknown relation 'r9'"),
    ],
    ids=str,
)
def test_a_wrong_argument_is_named(arguments, message):
    graph = graph_of(*(relation(f"r{i}", 10, 60 * i) for i in range(4)))
    with pytest.raises(InputError, match=message):
        make_dataset(graph, **{**BOUNDS, **arguments})


def test_what_is_no_graph_is_refused():
    with pytest.raises(InputError, match="graph must be a KnowledgeGraph, as read_graph returns it, not a str"):
        make_dataset("triples.tsv")  # type: ignore[bad-argument-type]


def test_split_sizes_that_leave_nothing_to_train_on_are_refused():
    graph = graph_of(*(relation(f"r{i}", 10, 60 * i) for i in range(4)))
    with pytest.raises(InputError, match="leave none of 4 relations"):
        make_dataset(graph, **BOUNDS, num_valid=2, num_test=2)
