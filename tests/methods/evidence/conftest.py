import pytest

from graphs import make_graph


@pytest.fixture
def graph():
    """Three players, their teams and the leagues of those."""
    return make_graph(
        [
            ("ann", "plays for", "reds"),
            ("bob", "plays for", "blues"),
            ("cid", "plays for", "reds"),
            ("reds", "in league", "north"),
            ("blues", "in league", "south"),
            ("cid", "met", "south"),
        ]
    )
