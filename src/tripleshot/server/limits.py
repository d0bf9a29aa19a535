"""How much one request may ask for, and how many may wait."""

from dataclasses import dataclass

from tripleshot.errors import InputError


@dataclass(frozen=True)
class Limits:
    """How much a server accepts.

    Attributes:
        max_body: bytes of a request.
        max_examples: examples of a relation.
        max_heads: heads asked about at once.
        max_types: different types that candidates are chosen by.
        max_candidates: tails scored for a head.
        max_top: answers for a head.
        max_memory: bytes that a question may take, as estimated before it is answered.
        max_text: letters of a name or label.
        max_listed: entities or neighbors in a list.
        max_seconds: for a request; it is given up afterwards.
        max_waiting: requests that wait for a free worker; more are turned away.
        workers: requests that are answered at the same time.
        max_connections: open at once; one more takes the place of the one that has been silent longest.
        max_per_address: open at once from one address, likewise; all that come through a proxy have its address.
        header_seconds: for the headers of a request to arrive.
    """

    max_body: int = 1_000_000
    max_examples: int = 100
    max_heads: int = 100
    max_types: int = 1000
    max_candidates: int = 1_000_000
    max_top: int = 100
    max_memory: int = 500_000_000
    max_text: int = 1000
    max_listed: int = 1000
    max_seconds: float = 30.0
    max_waiting: int = 64
    workers: int = 2
    max_connections: int = 512
    max_per_address: int = 128
    header_seconds: float = 10.0

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not value > 0 and not (name == "max_waiting" and value == 0):
                raise InputError(f"{name.replace('_', '-')}: must be above zero, found {value}")
