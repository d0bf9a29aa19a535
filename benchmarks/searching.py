"""Search for entities by name among millions: the index beside a comparison with every name.

Names are made up ("city/trounder-baish-123"), with words as unevenly common as in a language. Searches are whole names,
names with one wrong, missing, added or swapped letter, beginnings, single words and letters at random. "found" is the
share of searches whose name is among the first ten answers.

    python benchmarks/searching.py --json results/benchmarks/searching.json
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from rich.console import Console
from rich.table import Table

from measuring import describe_machine
from tripleshot.evaluation.results import write_json
from tripleshot.graph.search import NameIndex
from tripleshot.graph.vocabulary import Vocabulary

STARTS = ("b", "br", "c", "ch", "d", "dr", "f", "fl", "g", "gr", "h", "j", "k", "l", "m", "n", "p", "r", "s", "t", "v")
MIDDLES = ("a", "e", "i", "o", "u", "ai", "ea", "ou", "ie", "oo")
ENDS = ("", "n", "r", "s", "t", "l", "m", "ng", "rd", "ck", "x", "nd")
KINDS = ("city", "person", "company", "film", "species", "book", "river", "gene")
NUM_WORDS = 60_000
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def make_names(count: int, rng: np.random.Generator) -> pa.LargeStringArray:
    """Make about so many different names."""
    syllables = np.array([start + middle + end for start in STARTS for middle in MIDDLES for end in ENDS])
    lengths = rng.integers(1, 4, NUM_WORDS)
    words = np.unique(["".join(rng.choice(syllables, length)) for length in lengths])
    ranks = np.minimum(rng.zipf(1.15, size=(count, 2)) - 1, len(words) - 1)
    chosen = pa.array(words, type=pa.large_string()).take(pa.array(rng.permutation(len(words))[ranks].ravel()))
    kinds = pa.array(KINDS, type=pa.large_string()).take(pa.array(rng.integers(0, len(KINDS), count)))
    numbers = pc.cast(pa.array(rng.integers(0, 1000, count)), pa.large_string())
    dash, slash = (pa.scalar(mark, pa.large_string()) for mark in "-/")
    first, second = chosen.take(pa.array(np.arange(0, 2 * count, 2))), chosen.take(pa.array(np.arange(1, 2 * count, 2)))
    names = pc.binary_join_element_wise(first, second, numbers, dash)
    return pc.unique(pc.binary_join_element_wise(kinds, names, slash))


def with_typo(name: str, rng: np.random.Generator) -> str:
    """Put one letter wrong."""
    place, letter = int(rng.integers(1, len(name) - 1)), LETTERS[rng.integers(26)]
    before, after = name[:place], name[place + 1 :]
    swapped = f"{before}{after[:1]}{name[place]}{after[1:]}"
    return (f"{before}{letter}{after}", before + after, f"{before}{letter}{name[place:]}", swapped)[rng.integers(4)]


def searches_of(rng: np.random.Generator) -> dict[str, Callable[[str], str]]:
    """Return what to type when looking for a name, by kind of search."""
    return {
        "whole name": lambda name: name,
        "one typo": lambda name: with_typo(name, rng),
        "beginning": lambda name: name[: int(rng.integers(1, len(name)))],
        "one word": lambda name: name.split("/")[1].split("-")[0],
        "random letters": lambda name: "".join(LETTERS[place] for place in rng.integers(0, 26, 8)),
    }


def measure(num_names: int, num_searches: int) -> dict[str, object]:
    """Build an index over names and search it."""
    rng = np.random.default_rng(0)
    names = make_names(num_names, rng)
    weights = rng.zipf(1.5, len(names)).clip(0, 10**6)
    index = NameIndex.of(Vocabulary("entity", names), weights)
    started = time.perf_counter()
    index.search("a")
    build_seconds = time.perf_counter() - started
    looked_for = [names[int(place)].as_py() for place in rng.integers(0, len(names), num_searches)]
    kinds = {kind: _search(index, looked_for, typed) for kind, typed in searches_of(rng).items()}
    return {"names": len(names), "build_seconds": build_seconds, "index_mib": index.nbytes / 2**20, "searches": kinds}


def _search(index: NameIndex, names: list[str], typed: Callable[[str], str]) -> dict[str, float]:
    seconds, found = [], 0
    for name in names:
        text = typed(name)
        started = time.perf_counter()
        matches = index.search(text)
        seconds.append(time.perf_counter() - started)
        found += any(match.name == name for match in matches)
    return {
        "p50_ms": 1000 * float(np.median(seconds)),
        "p99_ms": 1000 * float(np.quantile(seconds, 0.99)),
        "found": found / len(names),
    }


def compare_plainly(num_names: int, num_searches: int) -> dict[str, float]:
    """Time the same comparison with every name, which is what the index saves."""
    rng = np.random.default_rng(0)
    names = make_names(num_names, rng)
    index, everyone = NameIndex.of(Vocabulary("entity", names)), np.arange(len(names))
    texts = [with_typo(names[int(place)].as_py(), rng) for place in rng.integers(0, len(names), num_searches)]
    started = time.perf_counter()
    for text in texts:
        index.rank(text, everyone, 10)
    return {"names": len(names), "ms": 1000 * (time.perf_counter() - started) / num_searches}


def show(sizes: list[dict], plain: dict[str, float]) -> None:
    """Print one row per size and kind of search."""
    table = Table("names", "build s", "index MiB", "search", "p50 ms", "p99 ms", "found", title="Search by name")
    for size in sizes:
        for kind, figures in size["searches"].items():
            table.add_row(
                f"{size['names']:,}",
                f"{size['build_seconds']:.1f}",
                f"{size['index_mib']:.0f}",
                kind,
                f"{figures['p50_ms']:.1f}",
                f"{figures['p99_ms']:.1f}",
                f"{figures['found']:.0%}",
            )
    Console().print(table)
    Console().print(f"comparing with every one of {plain['names']:,.0f} names: {plain['ms']:,.0f} ms a search")


def main() -> None:
    """Measure, print and store the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--names", type=int, nargs="+", default=[1_000_000, 5_000_000])
    parser.add_argument("--searches", type=int, default=300, help="of each kind")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    arguments = parser.parse_args()
    sizes = [measure(count, arguments.searches) for count in arguments.names]
    plain = compare_plainly(min(arguments.names), 3)
    show(sizes, plain)
    if arguments.json:
        write_json({**describe_machine(), "figures": {"tripleshot": sizes, "plain": plain}}, arguments.json)


if __name__ == "__main__":
    main()
