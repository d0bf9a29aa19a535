from dataclasses import replace

import numpy as np
import pytest

from graphs import make_graph
from tripleshot.datasets.dataset import FewShotDataset, Task, background_tasks, candidates_like, exclude_known
from tripleshot.errors import InputError


def names(graph, ids):
    return {graph.entities.name(int(index)) for index in ids}


def test_the_first_pairs_are_the_support_and_the_rest_are_queries():
    task = Task.of("r", np.array([[0, 1], [2, 3], [4, 5]]))
    assert task.support(2).tolist() == [[0, 1], [2, 3]]
    assert task.queries(2).tolist() == [[4, 5]]


@pytest.mark.parametrize(
    ("shots", "message"),
    [(0, "1 or more, not 0"), (1.5, "1 or more, not 1.5"), (3, "has 3 triples"), (9, "has 3 triples")],
)
def test_shots_that_leave_no_example_or_no_query_are_refused(shots, message):
    with pytest.raises(InputError, match=message):
        Task.of("r", np.array([[0, 1], [2, 3], [4, 5]])).support(shots)


def test_known_tails_include_the_task_itself_and_what_is_known_beside():
    task = Task.of("r", np.array([[7, 1], [2, 3], [7, 0]]), known=np.array([[7, 9], [7, 1]]))
    assert task.known_tails(7).tolist() == [0, 1, 9]
    assert task.known_tails(2).tolist() == [3]
    assert task.known_tails(5).tolist() == []


def test_tasks_cannot_be_written_to():
    task = Task.of("r", np.array([[0, 1], [2, 3]]))
    with pytest.raises(ValueError, match="read-only"):
        task.pairs[0, 0] = 5


def test_benchmark_candidates_share_a_type_with_any_tail(tiny):
    task = tiny.task("works in")
    assert names(tiny.graph, tiny.candidates(task)) == {f"city:{i}" for i in range(4)}


def test_open_candidates_do_not_look_at_query_tails():
    types = {"a": "person", "b": "person", "x": "city", "y": "city", "z": "country"}
    graph = make_graph([("a", "r", "x"), ("b", "r", "y"), ("a", "s", "z")], types)
    ids = graph.entities.ids
    task = Task.of("t", ids(["a", "x", "b", "z"]).reshape(2, 2))
    dataset = FewShotDataset("d", graph, (), (), (task,))
    assert names(graph, dataset.candidates(task, "open", shots=1)) == {"x", "y"}
    assert names(graph, dataset.candidates(task, "benchmark", shots=1)) == {"x", "y", "z"}


def test_without_types_candidates_are_the_observed_range():
    graph = make_graph([("a", "r", "x"), ("b", "r", "y"), ("a", "s", "z")])
    task = Task.of("t", graph.entities.ids(["a", "x", "b", "z"]).reshape(2, 2))
    dataset = FewShotDataset("d", graph, (), (), (task,))
    assert names(graph, dataset.candidates(task)) == {"x", "z"}
    assert names(graph, dataset.candidates(task, "open", shots=1)) == {"x", "y"}


def test_entities_without_a_type_count_as_one_type():
    graph = make_graph([("a", "r", "7"), ("b", "r", "8"), ("a", "s", "x")], {"a": "p", "b": "p", "x": "city"})
    assert names(graph, candidates_like(graph, graph.entities.ids(["7"]))) == {"7", "8"}
    assert names(graph, candidates_like(graph, graph.entities.ids(["x"]))) == {"x"}


def test_given_candidates_win_over_types(tiny):
    pairs = tiny.task("works in").pairs
    task = Task.of("t", pairs, given_candidates=np.array([5, 3, 5]))
    assert tiny.candidates(task).tolist() == [3, 5]


def test_in_train_adds_background_relations_as_tasks(tiny):
    added = tiny.in_train.train[len(tiny.train) :]
    assert [task.name for task in added] == ["lives in", "part of", "knows", "twin of"]
    assert [len(task.pairs) for task in added] == [20, 4, 20, 4]
    assert tiny.in_train.test is tiny.test
    assert tiny.in_train.graph is tiny.graph


def test_every_train_task_is_held_out_once_and_no_test_task_is_left(tiny):
    folds = [tiny.hold_out_fold(fold, 2) for fold in (1, 2)]
    assert sorted(task.name for fold in folds for task in fold.test) == sorted(task.name for task in tiny.train)
    for fold in folds:
        assert set(fold.train) | set(fold.test) == set(tiny.train)
        assert not set(fold.train) & set(fold.test)
        assert not {task.name for _, task in fold.all_tasks()} & {task.name for task in tiny.test}
        assert (fold.valid, fold.graph) == (tiny.valid, tiny.graph)
    assert [fold.name for fold in folds] == ["tiny-part-1-of-2", "tiny-part-2-of-2"]


@pytest.mark.parametrize(("fold", "num_folds"), [(0, 2), (3, 2), (1, 1), (1, 99)])
def test_a_fold_that_does_not_exist_is_refused(tiny, fold, num_folds):
    with pytest.raises(InputError, match=f"fold {fold} of {num_folds} cannot be held out"):
        tiny.hold_out_fold(fold, num_folds)


def test_other_examples_are_other_orders_of_the_same_triples_and_the_first_is_as_published(tiny):
    assert tiny.redraw_examples(0) is tiny
    first, again, second = (tiny.redraw_examples(draw) for draw in (1, 1, 2))
    task, same, other = (dataset.test[0].pairs.tolist() for dataset in (first, again, second))
    assert task == same
    assert sorted(task) == sorted(other) == sorted(tiny.test[0].pairs.tolist())
    assert len({str(pairs) for pairs in (task, other, tiny.test[0].pairs.tolist())}) > 1
    assert first.train is tiny.train
    assert np.array_equal(first.candidates(first.test[0]), tiny.candidates(tiny.test[0]))
    with pytest.raises(InputError, match="draw is the number of an order"):
        tiny.redraw_examples(-1)


def test_a_background_task_with_one_candidate_borrows_those_of_another_relation():
    types = {"a": "person", "b": "person", "moon": "moon", "x": "city"}
    graph = make_graph([("a", "sees", "moon"), ("b", "likes", "moon"), ("b", "likes", "x")], types)
    sees, likes = background_tasks(graph)
    assert names(graph, sees.given_candidates) == {"moon", "x"}
    assert likes.given_candidates is None


def test_long_tail_counts_distinct_neighbors_in_both_directions():
    triples = [("hub", "r", f"leaf{i}") for i in range(10)] + [(f"leaf{i}", "s", "other") for i in range(10)]
    triples += [("hub", "s", "leaf0"), ("poor", "r", "leaf0")]
    graph = make_graph(triples)
    dataset = FewShotDataset("d", graph, (), (), ())
    pairs = graph.entities.ids(["hub", "other", "hub", "poor"]).reshape(2, 2)
    assert dataset.long_tail(pairs).tolist() == [False, True]


def test_an_unknown_task_suggests_the_nearest(tiny):
    with pytest.raises(InputError, match="did you mean 'works in'"):
        tiny.task("work in")


@pytest.mark.nell
def test_nell_one_in_train_has_every_background_relation_and_candidates_for_each(nell_one):
    in_train = nell_one.in_train
    assert len(in_train.train) == 51 + 291
    assert min(len(in_train.candidates(task)) for task in in_train.train) > 1


def test_train_tasks_can_be_relations_of_the_graph(tiny):
    shown = tiny.with_train_edges
    graph = shown.graph
    assert graph.relations.names.to_pylist()[tiny.graph.num_relations :] == [task.name for task in tiny.train]
    assert graph.num_triples == tiny.graph.num_triples + sum(len(task.pairs) for task in tiny.train)
    for task in tiny.train:
        rows = graph.relation_ids == graph.relations.id(task.name)
        assert np.array_equal(np.stack([graph.head_ids[rows], graph.tail_ids[rows]], axis=1), task.pairs)
    assert (shown.valid, shown.test) == (tiny.valid, tiny.test)


def test_labels_of_train_tasks_become_labels_of_relations(tiny):
    labelled = replace(tiny, train=(replace(tiny.train[0], label="is like"), *tiny.train[1:]))
    relations = labelled.with_train_edges.graph.relations
    assert relations.label(relations.id(tiny.train[0].name)) == "is like"
    assert relations.label(0) == tiny.graph.relations.label(0)


def test_without_train_tasks_there_are_no_train_edges(tiny):
    assert replace(tiny, train=()).with_train_edges.graph.num_triples == tiny.graph.num_triples


def test_a_dataset_and_a_task_say_what_they_hold(tiny):
    assert repr(tiny) == (
        "FewShotDataset('tiny', 2 train, 1 valid and 2 test tasks, "
        "KnowledgeGraph(26 entities, 4 relations, 48 triples))"
    )
    assert repr(tiny.test[0]) == "Task('works in', 20 triples)"
    assert repr(replace(tiny.test[0], label="has a job in")) == "Task('works in', 'has a job in', 20 triples)"


def test_a_wrong_split_or_candidate_mode_is_named(tiny):
    with pytest.raises(InputError, match="split must be one of train, valid, test, not 'dev'"):
        tiny.tasks("dev")  # type: ignore[bad-argument-type]
    with pytest.raises(InputError, match="mode must be one of benchmark, open, not 'closed'"):
        tiny.candidates(tiny.test[0], "closed")  # type: ignore[bad-argument-type]


def test_the_head_and_its_known_tails_are_not_ranked():
    support = np.array([[1, 5], [2, 6]])
    assert exclude_known(support, 1, np.arange(8)).tolist() == [0, 2, 3, 4, 6, 7]
    assert exclude_known(support, 3, np.array([5, 3, 4, 5])).tolist() == [4, 5]


def test_the_whole_has_the_triples_of_all_tasks_and_what_is_known_beside(tiny):
    known = Task.of("knows well", np.array([[0, 1], [2, 3]]), known=np.array([[4, 5]]))
    dataset = replace(tiny, valid=(replace(known, label="is a friend of"),))
    whole = dataset.whole
    assert [*whole.all_tasks()] == []
    triples = set(whole.graph.triples())
    name = tiny.graph.entities.name
    for _, task in dataset.all_tasks():
        assert {(name(head), task.name, name(tail)) for head, tail in task.known.tolist()} <= triples
    assert len(triples) == tiny.graph.num_triples + sum(len(task.known) for _, task in dataset.all_tasks())
    assert whole.graph.relations.label(whole.graph.relations.id("knows well")) == "is a friend of"
    assert whole.whole is whole
