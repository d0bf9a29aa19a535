import numpy as np

from tripleshot.datasets.task_pool import TaskPool


def test_many_wrong_tails_are_those_that_are_drawn_one_by_one(tiny):
    pool = TaskPool(tiny, 3, "in-train", 0.5, 1000)
    for task in range(len(pool.names)):
        rows = np.arange(pool.pair_offsets[task], pool.pair_offsets[task + 1])
        first, second = np.random.default_rng(task), np.random.default_rng(task)
        found = pool.draw_many_wrong_tails(task, rows, 40, first)
        assert np.array_equal(found, pool.draw_wrong_tails(np.repeat(rows[:, None], 40, axis=1), second))
        assert first.random() == second.random()
        assert not pool.is_known(np.repeat(rows[:, None], 40, axis=1), found).all()
