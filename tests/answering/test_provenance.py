import pytest

from completions import make_predictor
from tripleshot.answering.provenance import Provenance
from tripleshot.errors import InputError


def test_it_says_what_proposals_follow_from():
    predictor = make_predictor()
    found = predictor.complete(["lives in", "located in"], k=1).provenance
    assert (found.method, found.graph) == ("evidence", predictor.dataset.content_hash)
    assert [(origin.name, len(origin.examples)) for origin in found.relations] == [("lives in", 10), ("located in", 10)]


def test_it_is_read_back_as_it_was_written():
    found = make_predictor().complete("lives in", k=1).provenance
    again = Provenance.from_dict(found.to_dict(), "here")
    assert again == found
    assert again.run == found.run
    assert Provenance().run != found.run


@pytest.mark.parametrize("wrong", [None, {}, {"relations": [3]}, {"relations": [], "color": "red"}])
def test_something_else_is_an_error(wrong):
    with pytest.raises(InputError, match="here: says in no readable form"):
        Provenance.from_dict(wrong, "here")
