import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from graphs import make_graph
from tripleshot.answering.hidden_relations import HiddenRelations
from tripleshot.answering.predictor import Predictor

PATIENCE = 20  # seconds, for a machine that is busy with something else


class Maker:
    """Makes predictors, and counts how often each was made."""

    def __init__(self) -> None:
        self.made: list[str] = []

    def make(self, name: str) -> Predictor:
        self.made.append(name)
        return Predictor(make_graph([("a", name, "b")]), "linked")


def ask(cache: HiddenRelations, maker: Maker, names: str, num_triples: int = 1) -> list[str]:
    """Ask for each name in turn and return those that were made for it."""
    before = len(maker.made)
    for name in names:
        assert name in cache.get(name, num_triples, lambda name=name: maker.make(name)).graph.relations
    return maker.made[before:]


def test_a_few_are_kept_and_the_one_that_was_longest_not_asked_for_goes():
    cache, maker = HiddenRelations(max_kept=2), Maker()
    assert ask(cache, maker, "abab") == ["a", "b"]
    assert ask(cache, maker, "c") == ["c"]  # in place of a
    assert ask(cache, maker, "bc") == []
    assert ask(cache, maker, "a") == ["a"]  # in place of b
    assert ask(cache, maker, "cab") == ["b"]


@pytest.mark.parametrize(("num_triples", "num_kept"), [(10, 3), (40, 2), (60, 1), (1000, 1)])
def test_of_larger_graphs_fewer_are_kept(num_triples, num_kept):
    cache, maker = HiddenRelations(max_kept=3, max_triples=100), Maker()
    ask(cache, maker, "abcd", num_triples)
    assert ask(cache, maker, "dcba"[:num_kept], num_triples) == []
    assert ask(cache, maker, "dcba"[num_kept], num_triples) == ["dcba"[num_kept]]


def test_whoever_asks_while_it_is_made_gets_the_same_and_what_is_kept_is_not_waited_for():
    cache, maker = HiddenRelations(), Maker()
    kept = cache.get("kept", 1, lambda: maker.make("kept"))
    has_begun, may_go_on = threading.Event(), threading.Event()

    def make_slowly() -> Predictor:
        has_begun.set()
        assert may_go_on.wait(PATIENCE)
        return maker.make("slow")

    with ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(cache.get, "slow", 1, make_slowly) for _ in range(3)]
        assert has_begun.wait(PATIENCE)
        assert pool.submit(cache.get, "kept", 1, make_slowly).result(PATIENCE) is kept
        may_go_on.set()
        found = [each.result(PATIENCE) for each in asked]
    assert found[0] is found[1] is found[2]
    assert maker.made == ["kept", "slow"]


def test_what_could_not_be_made_is_made_when_it_is_asked_for_again():
    cache, maker = HiddenRelations(), Maker()

    def fail() -> Predictor:
        raise MemoryError

    with pytest.raises(MemoryError):
        cache.get("a", 1, fail)
    assert ask(cache, maker, "a") == ["a"]
