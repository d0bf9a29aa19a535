import numpy as np
import pytest

from tripleshot.graph.types import EntityTypes
from tripleshot.methods.evidence.type_likeness import TypeLikeness

TYPES = [(0, "city"), (1, "city"), (1, "port"), (2, "sea"), (3, "port"), (3, "city")]


@pytest.fixture
def likeness():
    """Two cities that are ports, one that is none, a sea, and an entity without a type."""
    owners, names = zip(*TYPES, strict=True)
    return TypeLikeness(EntityTypes.from_pairs(np.array(owners), names, 5))


def test_entities_are_alike_by_the_share_of_types_that_both_have(likeness):
    found = likeness.compare(np.arange(5), np.array([1, 2]))
    np.testing.assert_allclose(found, [[1 / 2, 1, 0, 1, 0], [0, 0, 1, 0, 0]])


def test_a_type_that_few_have_is_rare(likeness):
    np.testing.assert_allclose(
        likeness.rarity(np.array([0, 1, 2, 4])), [np.log(4 / 3), (np.log(4 / 3) + np.log(4 / 2)) / 2, np.log(4), 0]
    )


def test_it_tells_which_entities_have_a_type(likeness):
    assert likeness.has_any(np.arange(5)).tolist() == [True, True, True, True, False]


def test_without_types_nothing_is_alike():
    likeness = TypeLikeness(EntityTypes.none(3))
    assert not likeness.compare(np.arange(3), np.array([0, 1])).any()
    assert not likeness.rarity(np.arange(3)).any()
