import numpy as np
import pytest

from graphs import make_graph
from tripleshot.methods.rscl.tokens import MASK, NUM_SPECIAL, Tokens, trained_rows
from tripleshot.methods.trainable import TrainedNames

TRAINED = make_graph([("a", "r", "b"), ("b", "s", "c")])
OTHER = make_graph([("c", "new", "d"), ("b", "s", "a")])


def names_of_tokens(graph, num_tasks=0):
    special = ["[PAD]", "[MASK]", "[REL]"]
    relations = graph.relations.names.to_pylist()
    tasks = [f"task {i}" for i in range(num_tasks)]
    return [*special, *relations, *(f"{r}_inv" for r in relations), *tasks, *graph.entities.names.to_pylist()]


@pytest.mark.parametrize(("trained_tasks", "tasks"), [(0, 0), (2, 3)])
def test_a_name_keeps_its_row_and_a_new_one_is_masked(trained_tasks, tasks):
    table = np.array(names_of_tokens(TRAINED, trained_tasks))
    tokens = Tokens(OTHER.num_relations, tasks, OTHER.num_entities)
    rows = trained_rows(tokens, OTHER, TrainedNames(TRAINED.entities, TRAINED.relations))
    assert len(rows) == len(tokens)
    for token, found in zip(names_of_tokens(OTHER, tasks), table[rows], strict=True):
        is_new = token.startswith(("new", "d", "task"))
        assert found == ("[MASK]" if is_new else token)


def test_the_same_names_keep_all_rows():
    tokens = Tokens(TRAINED.num_relations, 0, TRAINED.num_entities)
    rows = trained_rows(tokens, TRAINED, TrainedNames(TRAINED.entities, TRAINED.relations))
    assert (rows % len(tokens)).tolist() == list(range(len(tokens)))
    assert MASK < NUM_SPECIAL
