import sys

import pytest

from tripleshot import evaluation


def test_the_public_names_are_those_of_their_modules():
    for name in evaluation.__all__:
        assert getattr(evaluation, name) is getattr(sys.modules[evaluation.MODULES[name]], name)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        evaluation.nothing  # noqa: B018
