"""Few-shot tasks from any graph, by the paper's rule (section V-A).

Relations with more than 50 and fewer than 500 triples become tasks, the others stay as the background. A background
relation that says the same as a task, forwards or backwards, would give every answer away: it is kept out and named
in the notes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from tripleshot import arrays
from tripleshot.arrays import IntArray
from tripleshot.datasets.dataset import SPLITS, FewShotDataset, Split, Task
from tripleshot.errors import InputError
from tripleshot.graph.knowledge_graph import KnowledgeGraph

VALID_SHARE = 5 / 67  # NELL-One's 51/5/11
TEST_SHARE = 11 / 67
MIN_VALID = 2  # confidence is fitted to the valid tasks, and one task says nothing about another
MIN_TO_LEARN = 5  # train tasks that have to remain beside so many valid ones


@dataclass(frozen=True)
class Overlap:
    """How many pairs two relations share.

    Attributes:
        relation: id of one relation; `other` is the id of the other.
        is_inverse: the pairs agree when one of the two relations is read backwards.
        share: shared pairs as a part of the pairs of `relation`; `share_of_other` as a part of those of `other`.
    """

    relation: int
    other: int
    is_inverse: bool
    share: float
    share_of_other: float


def find_overlaps(graph: KnowledgeGraph, relations: IntArray, threshold: float) -> list[Overlap]:
    """Find, for each of these relations, every relation that shares at least this part of the pairs of both."""
    found = [
        overlap
        for is_inverse in (False, True)
        for overlap in _overlaps_one_way(graph, relations, is_inverse)
        if min(overlap.share, overlap.share_of_other) >= threshold
    ]
    return sorted(found, key=lambda overlap: (overlap.relation, overlap.other, overlap.is_inverse))


def _overlaps_one_way(graph: KnowledgeGraph, relations: IntArray, is_inverse: bool) -> list[Overlap]:
    of_interest = np.isin(graph.relation_ids, relations)
    keys, owners = graph.pair_keys()[of_interest], graph.relation_ids[of_interest]
    unique_keys, group = np.unique(keys, return_inverse=True)
    offsets, order = arrays.group(group, len(unique_keys))

    other_keys = graph.pair_keys(inverse=is_inverse)
    places, found = arrays.lookup(unique_keys, other_keys)
    meets = np.flatnonzero(found)
    positions, hits = arrays.expand(offsets, places[meets])
    pairs = np.stack([owners[order[positions]], graph.relation_ids[meets[hits]]], axis=1)
    counts = graph.relation_counts()
    return [
        Overlap(int(one), int(other), is_inverse, shared / counts[one], shared / counts[other])
        for (one, other), shared in zip(*np.unique(pairs, axis=0, return_counts=True), strict=True)
        if one != other
    ]


def make_dataset(
    graph: KnowledgeGraph,
    *,
    name: str = "dataset",
    min_triples: int = 50,
    max_triples: int = 500,
    num_valid: int | None = None,
    num_test: int | None = None,
    seed: int = 0,
    overlap_threshold: float = 0.8,
    splits: Mapping[Split, Sequence[str]] | None = None,
    keep: Sequence[str] = (),
) -> FewShotDataset:
    """Make a few-shot dataset of a graph: relations within the bounds become tasks, the others are the background.

    Args:
        graph: all triples, those of the tasks among them.
        name: how the dataset is called in tables and files.
        min_triples: exclusive lower bound: a task has more triples than this (paper: more than 50).
        max_triples: exclusive upper bound: a task has fewer triples than this (paper: fewer than 500).
        num_valid: number of valid tasks; None takes NELL-One's share, 5 of 67, and at least two, on which confidence
            can be fitted; one where fewer than five train tasks would remain.
        num_test: number of test tasks; None takes NELL-One's share, 11 of 67, and at least one.
        seed: decides the split, and which triples of a task come first, as its support.
        overlap_threshold: two relations are copies or inverses of each other if they share at least this part of the
            pairs of both.
        splits: relation names by split; given, the bounds and the numbers of tasks do not count.
        keep: relations that stay in the background whatever their size, such as the type relation.

    Raises:
        InputError: an argument is wrong, or fewer than three relations are within the bounds.
    """
    if not isinstance(graph, KnowledgeGraph):
        raise InputError(f"graph must be a KnowledgeGraph, as read_graph returns it, not a {type(graph).__name__}")
    _check_counts({"min_triples": min_triples, "max_triples": max_triples, "seed": seed})
    _check_counts({"num_valid": num_valid or 0, "num_test": num_test or 0})
    if max_triples <= min_triples + 1:
        raise InputError(
            f"max_triples={max_triples} leaves no size above min_triples={min_triples}: both bounds are exclusive"
        )
    if not isinstance(overlap_threshold, int | float | np.number) or not 0 < overlap_threshold <= 1:
        raise InputError(f"overlap_threshold must be a share above 0 and up to 1, not {overlap_threshold!r}")
    if splits is None:
        chosen = None
        relations = _relations_in_bounds(graph, min_triples, max_triples, keep)
    else:
        chosen = _named_splits(graph, splits)
        relations = np.concatenate(list(chosen.values()))
    overlaps = find_overlaps(graph, relations, overlap_threshold)
    if chosen is None:
        same = [overlap for overlap in overlaps if np.isin(overlap.other, relations)]
        chosen = _split(relations, same, num_valid, num_test, seed)
    leaks = [overlap for overlap in overlaps if overlap.other not in relations]
    dropped = np.unique([leak.other for leak in leaks]).astype(np.int64)
    rng = np.random.default_rng(seed)
    tasks = {split: tuple(_make_task(graph, int(r), rng) for r in chosen[split]) for split in SPLITS}
    background = graph.without_relations(np.concatenate([relations, dropped]))
    notes = [_describe(graph, leak) for leak in leaks]
    if not background.num_triples:
        notes.append(f"all {graph.num_relations} relations are tasks or kept out: none remains for the background")
    return FewShotDataset(name, background, tasks["train"], tasks["valid"], tasks["test"], tuple(notes))


def _check_counts(counts: Mapping[str, int]) -> None:
    for argument, value in counts.items():
        if not isinstance(value, int | np.integer) or value < 0:
            raise InputError(f"{argument} must be a whole number, 0 or more, not {value!r}")


def _named_splits(graph: KnowledgeGraph, splits: Mapping[Split, Sequence[str]]) -> dict[Split, npt.NDArray[np.integer]]:
    if unknown := [str(split) for split in splits if split not in SPLITS]:
        raise InputError(f"splits has no split {unknown[0]!r}: there are {', '.join(SPLITS)}")
    names = [name for split in SPLITS for name in splits.get(split, ())]
    if not names:
        raise InputError("splits names no relation: a few-shot dataset needs at least one task")
    if repeated := [name for place, name in enumerate(names) if name in names[:place]]:
        raise InputError(f"splits names relation {repeated[0]!r} twice")
    return {split: graph.relations.ids(splits.get(split, ())) for split in SPLITS}


def _relations_in_bounds(
    graph: KnowledgeGraph, min_triples: int, max_triples: int, keep: Sequence[str]
) -> npt.NDArray[np.int64]:
    counts = graph.relation_counts()
    is_free = ~np.isin(np.arange(len(counts)), graph.relations.ids(keep))
    relations = np.flatnonzero(is_free & (counts > min_triples) & (counts < max_triples))
    if len(relations) < 3:
        sizes = np.sort(counts[is_free])[::-1]
        largest = ", ".join(f"{size:,}" for size in sizes[:5]) + (", ..." if len(sizes) > 5 else "")
        raise InputError(
            f"{len(relations)} of {len(sizes)} relations have more than {min_triples} and fewer than {max_triples} "
            f"triples, but train, valid and test need one each: change min_triples or max_triples "
            f"(the largest relations have {largest or 'no'} triples); a graph can be asked without tasks"
        )
    return relations


def _split(
    relations: IntArray, same: Sequence[Overlap], num_valid: int | None, num_test: int | None, seed: int
) -> dict[Split, npt.NDArray[np.integer]]:
    """Distribute relations at random; those that say the same always stay together."""
    num_test = max(1, round(len(relations) * TEST_SHARE)) if num_test is None else num_test
    if num_valid is None:
        least = MIN_VALID if len(relations) - num_test >= MIN_TO_LEARN + MIN_VALID else 1
        num_valid = max(least, round(len(relations) * VALID_SHARE))
    if num_test + num_valid >= len(relations):
        raise InputError(
            f"num_valid={num_valid} and num_test={num_test} leave none of {len(relations)} relations to train on"
        )
    leader = {int(relation): int(relation) for relation in relations}
    for overlap in same:
        joined, kept = leader[overlap.other], leader[overlap.relation]
        leader = {relation: kept if group == joined else group for relation, group in leader.items()}
    groups = [[r for r in leader if leader[r] == group] for group in sorted(set(leader.values()))]
    np.random.default_rng(seed).shuffle(groups)
    result: dict[Split, list[int]] = {"train": [], "valid": [], "test": []}
    for group in groups:
        if len(result["test"]) + len(group) <= num_test:
            result["test"] += group
        elif len(result["valid"]) + len(group) <= num_valid:
            result["valid"] += group
        else:
            result["train"] += group
    return {split: np.array(sorted(ids), dtype=np.int64) for split, ids in result.items()}


def _make_task(graph: KnowledgeGraph, relation: int, rng: np.random.Generator) -> Task:
    rows = rng.permutation(np.flatnonzero(graph.relation_ids == relation))
    pairs = np.stack([graph.head_ids[rows], graph.tail_ids[rows]], axis=1)
    task = Task.of(graph.relations.name(relation), pairs)
    return replace(task, label=graph.relations.label(relation)) if graph.relations.has_labels else task


def _describe(graph: KnowledgeGraph, leak: Overlap) -> str:
    kind = "the inverse" if leak.is_inverse else "a copy"
    other, relation = graph.relations.name(leak.other), graph.relations.name(leak.relation)
    return f"relation {other!r} is kept out: it is {kind} of the few-shot relation {relation!r} ({leak.share:.0%})"
