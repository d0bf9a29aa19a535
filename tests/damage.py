"""Damage to the content of files."""

from hypothesis import strategies as st

EDITS = st.lists(st.tuples(st.integers(0, 10_000), st.binary(max_size=3), st.integers(0, 4)), min_size=1, max_size=4)


def mutated(content: bytes, edits: list[tuple[int, bytes, int]]) -> bytes:
    """Replace up to four bytes by up to three others, at each of a few places."""
    for place, inserted, num_removed in edits:
        place %= len(content) + 1
        content = content[:place] + inserted + content[place + num_removed :]
    return content


def flipped(content: bytes, place: int) -> bytes:
    """Return the content with one bit changed."""
    byte, bit = divmod(place % (8 * len(content)), 8)
    return content[:byte] + bytes([content[byte] ^ 1 << bit]) + content[byte + 1 :]
