"""A cluster that loses machines, with a stand-in for Ray that says at once how many cores are left."""

import sys

from squares import Squares
from tripleshot.workers.ray_cluster import run_on_cluster


class ShrinkingRay:
    """Does tasks in this process, one per wait, and has a core less each time that it is asked."""

    def __init__(self, cores):
        self.cores = cores
        self.most_waiting = 0

    def is_initialized(self):
        return True

    def cluster_resources(self):
        self.cores = max(self.cores - 1, 1)
        return {"CPU": self.cores + 1}

    def remote(self, **options):
        def of(function):
            class Task:
                @staticmethod
                def remote(*given):
                    return lambda: function(*given)

            return Task

        return of

    def wait(self, running, timeout):
        self.most_waiting = max(self.most_waiting, len(running))
        return running[:1], running[1:]

    def get(self, reference):
        return reference()


def test_every_piece_is_done_when_more_are_begun_than_the_machines_left_would_be_given(tmp_path, monkeypatch):
    ray = ShrinkingRay(cores=5)
    monkeypatch.setitem(sys.modules, "ray", ray)
    results = list(run_on_cluster(Squares(str(tmp_path)), [*range(12)], "somewhere"))
    assert sorted(square for square, _ in results) == [number * number for number in range(12)]
    assert ray.most_waiting == 10
