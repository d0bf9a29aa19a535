"""Write the datasets that the universal weights are trained on, each as a folder that `tripleshot train` reads.

Atlas comes with the package, Nations, Kinships and UMLS with PyKEEN. NELL-One, CoDEx-S and another dataset of
NELL-One's layout are given as folders, WordNet as Debian's `wordnet-base` installs it, Debian's packages as the
`Packages` file of a distribution. What is not given is left out. Made-up graphs stand for the tables of users: a few
kinds of things, relations between them, and relations that follow from others. The card beside the weights says what
each may be used for.
"""

import itertools
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import numpy as np
from cyclopts import App

from tripleshot import load_dataset, make_dataset, read_graph
from tripleshot.datasets.dataset import FewShotDataset, Split
from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.graph.types import types_from_mapping

Triple = tuple[str, str, str]

HELD_OUT = 5  # every fifth train task of a published dataset is held out, too, to choose and to calibrate on
NUM_MADE_UP = 4
NUM_DERIVED, NUM_HELD_OUT = 24, 5  # relations of a made-up graph that follow from others, and those held out
POINTERS = {
    "!": "antonym of",
    "@": "hypernym",
    "@i": "instance of",
    "#m": "member of",
    "#s": "substance of",
    "#p": "part of",
    "=": "attribute",
    "+": "derived from",
    ";c": "topic",
    ";r": "region",
    ";u": "usage",
    "*": "entails",
    ">": "causes",
    "^": "see also",
    "$": "verb group",
    "&": "similar to",
    "<": "participle of",
    "\\": "pertains to",
}  # of two pointers that are each other's inverse only one
KINDS = {"n": "noun", "v": "verb", "a": "adjective", "s": "adjective", "r": "adverb"}
BY_SECTION = ("Recommends", "Suggests", "Enhances", "Conflicts", "Replaces", "Provides", "Breaks")

app = App(help=__doc__)


@app.default
def main(
    out: Path,
    *,
    nell_one: Path | None = None,
    wikidata_few: Path | None = None,
    codex_s: Path | None = None,
    wordnet: Path | None = None,
    packages: Path | None = None,
) -> None:
    """Write one folder per graph into OUT."""
    for name in ("nations", "kinships", "umls"):
        sizes = {"nations": (10, 100, 6, 9), "kinships": (50, 1000, 4, 6), "umls": (40, 500, 5, 7)}[name]
        save(split(read_graph(pykeen_triples(name)), name, *sizes), out)
    for seed in range(NUM_MADE_UP):
        save(make_up(seed), out)
    save(hold_out_more(load_dataset("atlas")), out)
    for folder in filter(None, (nell_one, wikidata_few)):
        save(hold_out_more(load_dataset(folder)), out)
    if codex_s is not None:
        save(split(read_codex(codex_s), "codex-s", 50, 1600, 4, 8), out)
    if wordnet is not None:
        save(split(read_graph(wordnet_triples(wordnet)), "wordnet", 50, 5000, 5, 6), out)
    if packages is not None:
        save(split(read_graph(debian_triples(packages)), "debian", 50, 500, 12, 12), out)


def split(graph: KnowledgeGraph, name: str, least: int, most: int, num_valid: int, num_test: int) -> FewShotDataset:
    """Make tasks of the relations within the bounds."""
    bounds = {"min_triples": least, "max_triples": most}
    return make_dataset(graph, name=name, **bounds, num_valid=num_valid, num_test=num_test)


def hold_out_more(dataset: FewShotDataset) -> FewShotDataset:
    """Move every fifth train task to the valid tasks."""
    held_out = dataset.train[HELD_OUT - 1 :: HELD_OUT]
    rest = tuple(task for task in dataset.train if task not in held_out)
    return replace(dataset, train=rest, valid=(*dataset.valid, *held_out))


def save(dataset: FewShotDataset, out: Path) -> None:
    """Write a dataset and say what it is."""
    dataset.save(out / dataset.name, overwrite=True)
    print(dataset, dataset.content_hash[:12], flush=True)


def pykeen_triples(name: str) -> Iterator[Triple]:
    """Read a graph that comes with PyKEEN, whole."""
    folder = files("pykeen.datasets") / name
    for part in ("train", "valid", "test"):
        yield from (_three(line.split("\t")) for line in (folder / f"{part}.txt").read_text().splitlines())


def read_codex(folder: Path) -> KnowledgeGraph:
    """Read CoDEx with its types, whole."""
    lines = [line for part in ("train", "valid", "test") for line in (folder / f"{part}.txt").read_text().splitlines()]
    graph = read_graph([_three(line.split("\t")) for line in lines])
    types = json.loads((folder / "types.json").read_text())
    return graph.with_types(
        types_from_mapping(graph, {name: kinds for name, kinds in types.items() if name in graph.entities})
    )


def make_up(seed: int) -> FewShotDataset:
    """Make up a graph with relations that follow from others, some exactly and some mostly; these are the tasks."""
    rng = np.random.default_rng(seed)
    kinds = [int(size) for size in np.exp(rng.uniform(np.log(8), np.log(400), rng.integers(4, 8)))]
    named: dict[str, list[tuple[int, int]]] = {}
    ends: dict[str, tuple[int, int]] = {}
    for number in range(int(rng.integers(6, 12))):
        head, tail = rng.choice(len(kinds), 2)
        count = int(kinds[head] * rng.choice([0.5, 1, 1, 1, 3]))
        popular = rng.permutation(kinds[tail])[(kinds[tail] * rng.random(count) ** rng.choice([1, 2])).astype(int)]
        ends[f"relation {number}"] = (head, tail)
        named[f"relation {number}"] = [
            *zip(rng.integers(kinds[head], size=count).tolist(), popular.tolist(), strict=True)
        ]
    steps = [(name, False) for name in named] + [(name, True) for name in named]
    derived: dict[str, list[tuple[int, int]]] = {}
    while len(derived) < NUM_DERIVED:
        path = [steps[place] for place in rng.choice(len(steps), rng.choice([2, 2, 2, 3]))]
        joints = [ends[name][::-1] if is_turned else ends[name] for name, is_turned in path]
        if any(one[1] != other[0] for one, other in itertools.pairwise(joints)):
            continue
        pairs = _follow([[pair[::-1] if turn else pair for pair in named[name]] for name, turn in path])
        if 12 < len(pairs) < 5000:
            chosen = rng.permutation(len(pairs))[: int(rng.integers(12, 400))]
            label = f"derived {len(derived)}"
            wrong = rng.random(len(chosen)) < rng.choice([0, 0, 0.1, 0.3])
            tails = rng.integers(kinds[joints[-1][1]], size=len(chosen))
            found = [
                (pairs[place][0], int(tails[n]) if wrong[n] else pairs[place][1]) for n, place in enumerate(chosen)
            ]
            derived[label], ends[label] = list(dict.fromkeys(found)), (joints[0][0], joints[-1][1])
    triples = [
        (f"{ends[name][0]} {head}", name, f"{ends[name][1]} {tail}")
        for name, pairs in (named | derived).items()
        for head, tail in dict.fromkeys(pairs)
    ]
    splits: dict[Split, list[str]] = {"train": [*derived][NUM_HELD_OUT:], "valid": [*derived][:NUM_HELD_OUT]}
    return make_dataset(read_graph(triples), name=f"made-up-{seed}", splits=splits, overlap_threshold=1.0)


def _follow(parts: list[list[tuple[int, int]]]) -> list[tuple[int, int]]:
    """Return the pairs that a path of relations joins, each once."""
    pairs = dict.fromkeys(parts[0])
    for part in parts[1:]:
        onwards: dict[int, list[int]] = {}
        for head, tail in part:
            onwards.setdefault(head, []).append(tail)
        pairs = dict.fromkeys((head, tail) for head, middle in pairs for tail in onwards.get(middle, ()))
    return list(pairs)


def wordnet_triples(folder: Path) -> Iterator[Triple]:
    """Read how synsets of WordNet point to each other."""
    for part in ("noun", "verb", "adj", "adv"):
        for line in (folder / f"data.{part}").read_text(encoding="latin-1").splitlines():
            if line.startswith(" "):
                continue  # the license
            fields = line.split(" | ")[0].split(" ")
            kind, num_words = fields[2], int(fields[3], 16)
            pointers = fields[4 + 2 * num_words :]
            for place in range(int(pointers[0])):
                symbol, target, target_kind = pointers[1 + 4 * place : 4 + 4 * place]
                if symbol in POINTERS:
                    relation = f"{POINTERS[symbol]} ({KINDS[kind]})"
                    yield f"{fields[0]} {KINDS[kind]}", relation, f"{target} {KINDS[target_kind]}"


def debian_triples(packages: Path) -> Iterator[Triple]:
    """Read what packages depend on, who maintains them and what they are tagged with.

    What packages of one section recommend, suggest, replace and so on is a relation of its own: these are the tasks.
    """
    for entry in packages.read_text(encoding="utf-8").split("\n\n"):
        fields: dict[str, str] = dict(re.findall(r"^(\S+): ((?:.*)(?:\n .*)*)", entry, flags=re.MULTILINE))
        if "Package" not in fields:
            continue
        name = f"package/{fields['Package']}"
        for field in ("Depends", *BY_SECTION):
            relation = f"{field.lower()} ({fields['Section']})" if field in BY_SECTION else field.lower()
            for needed in filter(None, re.split(r"[,|]\s*", fields.get(field, ""))):
                yield name, relation, f"package/{needed.split()[0].split(':')[0]}"
        yield name, "section", f"section/{fields['Section']}"
        yield name, "maintainer", f"maintainer/{fields['Maintainer'].split(' <')[0]}"
        yield name, "source", f"source/{fields.get('Source', fields['Package']).split()[0]}"
        tags = (tag.strip() for tag in fields.get("Tag", "").replace("\n", "").split(","))
        yield from ((name, "tag", tag) for tag in filter(None, tags))


def _three(fields: list[str]) -> Triple:
    head, relation, tail = fields
    return head, relation, tail


if __name__ == "__main__":
    app()
