"""Rules of three steps, against a plain search."""

from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphs import graph_of_ids
from tripleshot.graph.hidden_edges import HiddenEdges
from tripleshot.graph.paths import PairIndex
from tripleshot.graph.relation_profiles import RelationProfiles
from tripleshot.methods.evidence import walk_rules
from tripleshot.methods.evidence.walk_rules import RuleWalks, encode_steps

NUM_ENTITIES, NUM_RELATIONS = 6, 2
ENTITIES = st.integers(0, NUM_ENTITIES - 1)
EDGES = st.lists(st.tuples(ENTITIES, st.integers(0, NUM_RELATIONS - 1), ENTITIES), max_size=16, unique=True)
EXAMPLES = st.lists(st.tuples(ENTITIES, ENTITIES), min_size=1, max_size=3)
CHAIN = [(0, 0, 1), (1, 1, 2), (2, 0, 3)]


def rules_on(triples):
    graph = graph_of_ids(triples, NUM_ENTITIES, NUM_RELATIONS)
    return graph, RuleWalks(PairIndex(graph), RelationProfiles(graph))


def plain_walks(triples, hidden=None):
    """The probability of each walk through four different entities, by its steps and entities."""
    seen = [(head, relation, tail) for head, relation, tail in triples if relation != hidden]
    edges = sorted({*seen, *((tail, relation + NUM_RELATIONS, head) for head, relation, tail in seen)})
    leaving = Counter((start, relation) for start, relation, _ in edges)
    found = {}
    for walk in product(edges, repeat=3):
        passed = (walk[0][0], *(end for *_, end in walk))
        if [start for start, *_ in walk] == list(passed[:-1]) and len(set(passed)) == 4:
            steps = tuple(relation for _, relation, _ in walk)
            found[steps, passed] = 1 / np.prod([leaving[start, relation] for start, relation, _ in walk])
    return found


@given(EDGES, EXAMPLES, st.sampled_from([None, 0]))
def test_masses_are_those_of_the_walks_between_examples(triples, pairs, hidden):
    graph, rules = rules_on(triples)
    expected = Counter()
    for (steps, passed), share in plain_walks(triples, hidden).items():
        key = encode_steps(graph, np.array(steps)[:, None])[0]
        expected[key] += share * pairs.count((passed[0], passed[-1]))
    expected = {key: mass for key, mass in sorted(expected.items()) if mass > 0}
    found = rules.mine(np.array(pairs), HiddenEdges.of(hidden))
    assert found.path_types.tolist() == list(expected)
    assert found.masses == pytest.approx(list(expected.values()))


@given(EDGES, EXAMPLES)
def test_a_tail_is_as_probable_as_the_walks_that_lead_to_it_and_back(triples, pairs):
    graph, rules = rules_on(triples)
    found = rules.mine(np.array(pairs), HiddenEdges.none())
    drawn = dict(zip(zip(*(steps.tolist() for steps in found.steps(graph)), strict=True), found.shares, strict=True))
    walks = plain_walks(triples)
    expected = np.zeros((2, NUM_ENTITIES, NUM_ENTITIES))
    for (steps, (head, first, second, tail)), share in walks.items():
        turned = tuple((step + NUM_RELATIONS) % (2 * NUM_RELATIONS) for step in steps[::-1])
        back = walks[turned, (tail, second, first, head)]
        expected[:, head, tail] += drawn.get(steps, 0) * np.array([share, back])
    heads, tails = np.divmod(np.arange(NUM_ENTITIES**2), NUM_ENTITIES)
    probability, returning = rules.weigh(found, heads, tails)
    assert probability == pytest.approx(expected[0].ravel())
    assert returning == pytest.approx(expected[1].ravel())


def test_the_weightiest_rule_is_spelled_out_along_its_most_probable_walk():
    _, rules = rules_on([*CHAIN, (0, 0, 4), (4, 1, 2), (4, 1, 5)])
    found = rules.mine(np.array([[0, 3]]), HiddenEdges.none())
    assert found.masses == pytest.approx([1 / 2 + 1 / 4])
    walk = rules.best_walk(found, 0, 3)
    assert walk is not None
    assert (walk.relations, walk.entities) == ((0, 1, 0), (0, 1, 2, 3))
    assert rules.best_walk(found, 0, 5) is None


def test_only_the_largest_masses_become_rules_and_of_equal_ones_the_first(monkeypatch):
    monkeypatch.setattr(walk_rules, "MAX_RULES", 2)
    graph, rules = rules_on([*CHAIN, (0, 1, 1), (0, 0, 4), (1, 0, 2)])
    found = rules.mine(np.array([[0, 3]]), HiddenEdges.none())
    assert found.path_types.tolist() == encode_steps(graph, np.array([[1, 1], [0, 1], [0, 0]])).tolist()
    assert found.masses.tolist() == [1, 1]


def test_what_is_less_probable_than_one_of_many_is_left_out(monkeypatch):
    _, rules = rules_on([*CHAIN, (0, 0, 4)])
    monkeypatch.setattr(walk_rules, "MAX_ENDS", 2)
    assert len(rules.mine(np.array([[0, 3]]), HiddenEdges.none()).path_types) == 1
    monkeypatch.setattr(walk_rules, "MAX_ENDS", 1)
    assert len(rules.mine(np.array([[0, 3]]), HiddenEdges.none()).path_types) == 0


def test_of_too_many_walks_between_examples_every_other_one_stands_for_two(monkeypatch):
    _, rules = rules_on([*CHAIN, (0, 1, 1)])
    monkeypatch.setattr(walk_rules, "MAX_MINED", 2)
    assert rules.mine(np.array([[0, 3]]), HiddenEdges.none()).masses.tolist() == [2]
