import threading

import numpy as np
import pytest
import torch

from tripleshot.methods.caching import EntityCache, SupportCache, SupportLookup, in_batches, score_in_batches

SUPPORTS = np.array([[[1, 2], [3, 4]], [[5, 6], [-1, -1]], [[3, 4], [1, 2]]])


def test_examples_are_recognised_in_any_order_and_the_last_task_wins():
    known = SupportLookup(SUPPORTS)
    assert len(known) == 3
    assert known.find(np.array([[1, 2], [3, 4]], dtype=np.int32)) == 2
    assert known.find(np.array([[5, 6]])) == 1
    assert known.find(np.array([[1, 2]])) is None


def test_what_was_made_of_examples_is_kept_until_the_cache_is_cleared():
    cache, made = SupportCache(), []

    def ask(support):
        return cache.get(np.array(support), lambda: made.append(support) or len(made))

    assert [ask([[1, 2]]), ask([[1, 2]]), ask([[3, 4]])] == [1, 1, 2]
    cache.clear()
    assert ask([[3, 4]]) == 3


def test_clients_that_ask_in_turns_keep_what_was_made_for_each():
    cache, made = SupportCache(max_supports=2), []

    def ask(number):
        return cache.get(np.array([[number, 0]]), lambda: made.append(number) or number)

    assert [ask(number) for number in (1, 2, 1, 2, 1, 3, 1, 2)] == [1, 2, 1, 2, 1, 3, 1, 2]
    assert made == [1, 2, 3, 2]


def test_threads_that_ask_different_things_get_their_own_answers():
    cache, wrong = SupportCache(), []

    def ask(number):
        for _ in range(2000):
            if cache.get(np.array([[number, 0]]), lambda: number) != number:
                wrong.append(number)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.fixture(params=[np.asarray, torch.from_numpy], ids=["arrays", "tensors"])
def counting_codes(request):
    def make(num_entities, max_entities):
        asked = []

        def encode(entities):
            asked.append(entities.tolist())
            return request.param(entities[:, None] * np.array([1.0, 10.0], dtype=np.float32))

        return EntityCache(num_entities, encode, max_entities), asked

    return make


def test_a_code_is_computed_once(counting_codes):
    codes, asked = counting_codes(10, max_entities=8)
    assert codes.get(np.array([3, 1, 3])).tolist() == [[3, 30], [1, 10], [3, 30]]
    assert codes.get(np.array([1, 2, 3])).tolist() == [[1, 10], [2, 20], [3, 30]]
    assert asked == [[1, 3], [2]]
    assert codes.get(np.array([], dtype=np.int64)).shape[0] == 0


def test_codes_that_are_kept_are_bounded_and_can_be_cleared(counting_codes):
    codes, asked = counting_codes(10, max_entities=4)
    codes.get(np.array([0, 1, 2]))
    assert codes.get(np.array([4, 2, 5])).tolist() == [[4, 40], [2, 20], [5, 50]]
    assert asked[-1] == [2, 4, 5]  # the first ones had to go
    codes.clear()
    codes.get(np.array([4]))
    assert asked[-1] == [4]


@pytest.mark.parametrize(("count", "sizes"), [(0, []), (3, [3]), (4, [3, 1]), (6, [3, 3])])
def test_batches_are_as_large_as_asked_for_but_the_last(count, sizes):
    batches = list(in_batches(np.arange(count), 3))
    assert [len(batch) for batch in batches] == sizes
    scores = score_in_batches(lambda some: torch.from_numpy(some) * 0.5, np.arange(count), 3)
    np.testing.assert_array_equal(scores, np.arange(count) * 0.5)
