"""How much memory a question takes, known from counts before anything of that size is made.

Entities are asked about one after the other, so their candidates are in memory once, and their answers together. What
a method needs for one slice of candidates is the same for every question and not counted.
"""

from tripleshot.errors import InputError

BYTES_PER_CANDIDATE = 80  # its id, score and confidence, and copies of them in another order
BYTES_PER_ANSWER = 3000  # as a document, checked, and as JSON


class TooLargeError(InputError):
    """A request that needs more memory than it may."""


def estimate_bytes(num_candidates: int, num_answers: int) -> int:
    """Return how many bytes a question takes.

    Args:
        num_candidates: of each entity that is asked about.
        num_answers: of all of them together.
    """
    return num_candidates * BYTES_PER_CANDIDATE + num_answers * BYTES_PER_ANSWER


def check_memory(num_candidates: int, num_asked: int, top: int, limit: int) -> None:
    """Refuse a question that takes more bytes than the limit.

    Args:
        num_candidates: of each entity that is asked about.
        num_asked: entities.
        top: answers for each at most.
        limit: bytes.
    """
    num_answers = num_asked * min(top, num_candidates)
    needed = estimate_bytes(num_candidates, num_answers)
    if needed > limit:
        about = f"{num_candidates:,} candidates and {num_answers:,} answers take about {needed / 1e6:,.1f} MB of memory"
        raise TooLargeError(f"{about}, more than the {limit / 1e6:,.1f} MB that this server allows; ask for fewer")
