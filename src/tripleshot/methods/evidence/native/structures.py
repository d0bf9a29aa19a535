"""The compiled kernel, and what it reads as its headers define it: structures of numbers and of pointers to arrays."""

import ctypes
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt

from tripleshot.methods.native_code import load_library

POINTER, NUMBER = ctypes.c_void_p, ctypes.c_int64

INTEGERS, SMALL, FLOATS = np.dtype(np.int64), np.dtype(np.int32), np.dtype(np.float64)


Members = dict[str, np.dtype | None]
"""The members of a structure by name: the type of the array that a pointer leads to, or None for a number."""


class Structure(ctypes.Structure):
    """A structure whose arrays have types.

    Attributes:
        types: its members.
    """

    types: ClassVar[Members]


def _fields(members: Members) -> list[tuple[str, type]]:
    return [(name, NUMBER if dtype is None else POINTER) for name, dtype in members.items()]


class GraphStructure(Structure):
    """A graph and its indexes."""

    types: ClassVar[Members] = {
        **dict.fromkeys(("num_entities", "num_relations")),
        "rows": INTEGERS,
        "middles": SMALL,
        "sole_relations": SMALL,
        "edges": INTEGERS,
        "pair_relations": SMALL,
        "groups": INTEGERS,
        "relations": SMALL,
        "starts": INTEGERS,
        "entities": SMALL,
        "degrees": INTEGERS,
        "rarity": FLOATS,
        "type_offsets": INTEGERS,
        "type_values": SMALL,
        "type_rarity": FLOATS,
        **dict.fromkeys(("max_middle_degree", "max_walks", "max_rules", "max_ends", "max_visits", "max_mined")),
    }
    _fields_ = _fields(types)


class RulesStructure(Structure):
    """Path types and their weights."""

    types: ClassVar[Members] = {"count": None, "first": INTEGERS, "second": INTEGERS, "weights": FLOATS}
    _fields_ = _fields(types)


class WalkRulesStructure(Structure):
    """Path types of three steps, and how often each is drawn."""

    types: ClassVar[Members] = {
        "count": None,
        **dict.fromkeys(("first", "second", "third"), INTEGERS),
        "shares": FLOATS,
    }
    _fields_ = _fields(types)


class HiddenStructure(Structure):
    """A relation that is not seen, and the ends of its triples."""

    types: ClassVar[Members] = {"relation": None, "num_ends": None, "ends": SMALL}
    _fields_ = _fields(types)


class SupportStructure(Structure):
    """Examples."""

    types: ClassVar[Members] = {"count": None, "heads": INTEGERS, "tails": INTEGERS, "type_rarity": FLOATS}
    _fields_ = _fields(types)


class FeaturesStructure(Structure):
    """Features as data."""

    types: ClassVar[Members] = {
        "count": None,
        **dict.fromkeys(("quantities", "transforms", "factors"), INTEGERS),
        "scales": FLOATS,
    }
    _fields_ = _fields(types)


class EpisodeStructure(ctypes.Structure):
    """An episode of training, and where its features go."""

    _fields_ = [
        *(("hidden", HiddenStructure), ("num_examples", NUMBER), ("num_heads", NUMBER), ("num_tails", NUMBER)),
        *((name, POINTER) for name in ("support", "heads", "tails", "out")),
    ]


class NetworkStructure(Structure):
    """A network of one hidden layer, and what it is shown at once."""

    types: ClassVar[Members] = {
        **dict.fromkeys(("num_queries", "num_tails", "num_features", "width")),
        **dict.fromkeys(("weights", "bias", "out"), np.dtype(np.float32)),
    }
    _fields_ = _fields(types)


class EvidenceStructure(ctypes.Structure):
    """What joins pairs, one array per field of `Joins`."""

    _fields_ = [
        *((name, POINTER) for name in ("links", "share", "exclusiveness", "turned_exclusiveness", "rarity")),
        *((name, POINTER) for name in ("overlap", "is_head", "path", "path_probability", "path_returning")),
        *((name, POINTER) for name in ("common", "walk", "walk_probability", "walk_returning")),
    ]

    @classmethod
    def of(cls, block: npt.NDArray[np.float64]) -> Self:
        """Point to the rows of a matrix, shape (14, n)."""
        start, step = block.ctypes.data, block.strides[0]
        return cls(*(start + row * step for row in range(len(block))))


class Pinned:
    """A structure together with its arrays, which live as long as it does."""

    def __init__(self, kind: type[Structure], **members: int | npt.NDArray) -> None:
        """Fill in a structure; an array of another type is copied."""
        self._arrays = {
            name: np.ascontiguousarray(members[name], dtype) for name, dtype in kind.types.items() if dtype is not None
        }
        addresses = {name: array.ctypes.data for name, array in self._arrays.items()}
        self._structure = kind(**{**members, **addresses})
        self.address = ctypes.addressof(self._structure)


def run_in_parts(run: Callable[[int, int], None], size: int, num_threads: int) -> None:
    """Run a function on parts of a range, given by where they start and end, each in a thread of its own."""
    num_parts = max(1, min(num_threads, size))
    if num_parts == 1:
        return run(0, size)
    bounds = [size * part // num_parts for part in range(num_parts + 1)]
    with ThreadPoolExecutor(num_parts) as pool:
        list(pool.map(run, bounds[:-1], bounds[1:]))
    return None


@cache
def library() -> ctypes.CDLL | None:
    """Return the compiled kernel, or None where it cannot be had."""
    loaded = load_library(__name__.rpartition(".")[0], "evidence")
    if loaded is None:
        return None
    arguments = {
        "make_scratch": (NUMBER,),
        "free_scratch": (POINTER,),
        "measure_pairs": (*7 * (POINTER,), NUMBER, *3 * (POINTER,), EvidenceStructure),
        "join_pairs": (POINTER, NUMBER, NUMBER, POINTER, POINTER, NUMBER, *3 * (POINTER,)),
        "mine_walks": (POINTER, POINTER, NUMBER, NUMBER, *4 * (POINTER,)),
        "count_reached": (POINTER, POINTER, POINTER, NUMBER, POINTER, POINTER),
        "read_profiles": (POINTER, NUMBER, NUMBER, POINTER, POINTER),
        "compare": (*3 * (POINTER,), NUMBER, POINTER, NUMBER, *6 * (POINTER,)),
        "write_features": (
            *(POINTER, POINTER, NUMBER, *3 * (POINTER,), NUMBER, POINTER, POINTER),
            *(EvidenceStructure, *5 * (POINTER,)),
        ),
        "score_tails": (
            *(*5 * (POINTER,), NUMBER, POINTER, EvidenceStructure, NUMBER),
            *(POINTER, NUMBER, *5 * (POINTER,)),
        ),
        "write_episodes": (*4 * (POINTER,), ctypes.c_double, NUMBER, POINTER),
        "learn": (POINTER, NUMBER, *4 * (POINTER,)),
    }
    results = {"make_scratch": POINTER, "join_pairs": NUMBER, "mine_walks": NUMBER}
    results |= dict.fromkeys(("free_scratch", "read_profiles", "write_features"))
    for name, types in arguments.items():
        function = getattr(loaded, name)
        function.argtypes, function.restype = types, results.get(name, ctypes.c_int)
    return loaded
