"""Making a few-shot dataset from any graph by the paper's rule (section V-A).

Relations with more than 50 and fewer than 500 triples become tasks, the others stay as the background. A background
relation that says the same as a task, forwards or backwards, would give every answer away: it is kept out and named.
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


@dataclass(frozen=True)
class SplittingRule:
    """How relations become tasks.

    Attributes:
        more_than: a few-shot relation has more triples than this.
        fewer_than: and fewer than this.
        num_valid: tasks for choosing; None takes NELL-One's share, 5 of 67, and at least one.
        num_test: tasks for the final report; None takes 11 of 67, and at least one.
        seed: decides the split and which triples come first, as support.
        same_from: two relations are copies or inverses of each other if they share this part of the pairs of both.
    """

    more_than: int = 50
    fewer_than: int = 500
    num_valid: int | None = None
    num_test: int | None = None
    seed: int = 0
    same_from: float = 0.8


@dataclass(frozen=True)
class Overlap:
    """How much two relations say the same.

    Attributes:
        relation: id of the one; `other` of the other.
        is_inverse: the pairs agree when one of the two is read backwards.
        share: shared pairs over those of `relation`; `share_of_other` over those of `other`.
    """

    relation: int
    other: int
    is_inverse: bool
    share: float
    share_of_other: float


def find_overlaps(graph: KnowledgeGraph, relations: IntArray, at_least: float) -> list[Overlap]:
    """Find, for each of these relations, all that share at least this part of the pairs of both."""
    found = [
        overlap
        for is_inverse in (False, True)
        for overlap in _overlaps_one_way(graph, relations, is_inverse)
        if min(overlap.share, overlap.share_of_other) >= at_least
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
    name: str,
    rule: SplittingRule | None = None,
    *,
    splits: Mapping[Split, Sequence[str]] | None = None,
    keep: Sequence[str] = (),
) -> FewShotDataset:
    """Make a few-shot dataset of a graph.

    Args:
        graph: all triples, those of the tasks among them.
        name: how the dataset is called in tables and files.
        rule: bounds, sizes and seed; see `SplittingRule`.
        splits: relation names by split, instead of the rule's choice.
        keep: relations that stay in the background whatever their size, such as the type relation.
    """
    rule = rule or SplittingRule()
    chosen = None if splits is None else {split: graph.relations.ids(splits.get(split, ())) for split in SPLITS}
    relations = _relations_in_bounds(graph, rule, keep) if chosen is None else np.concatenate(list(chosen.values()))
    overlaps = find_overlaps(graph, relations, rule.same_from)
    if chosen is None:
        chosen = _split(relations, [o for o in overlaps if np.isin(o.other, relations)], rule)
    leaks = [overlap for overlap in overlaps if overlap.other not in relations]
    dropped = np.unique([leak.other for leak in leaks]).astype(np.int64)
    shuffler = np.random.default_rng(rule.seed)
    tasks = {split: tuple(_make_task(graph, int(r), shuffler) for r in chosen[split]) for split in SPLITS}
    background = graph.without_relations(np.concatenate([relations, dropped]))
    notes = tuple(_describe(graph, leak) for leak in leaks)
    return FewShotDataset(name, background, tasks["train"], tasks["valid"], tasks["test"], notes)


def _relations_in_bounds(graph: KnowledgeGraph, rule: SplittingRule, keep: Sequence[str]) -> npt.NDArray[np.int64]:
    counts = graph.relation_counts()
    kept = graph.relations.ids(keep)
    relations = np.setdiff1d(np.flatnonzero((counts > rule.more_than) & (counts < rule.fewer_than)), kept)
    if len(relations) < 3:
        raise InputError(
            f"{len(relations)} relations have more than {rule.more_than} and fewer than {rule.fewer_than} triples; "
            "train, valid and test need one each: widen the bounds"
        )
    return relations


def _split(relations: IntArray, same: Sequence[Overlap], rule: SplittingRule) -> dict[Split, npt.NDArray[np.int64]]:
    """Share relations out at random, those that say the same always together."""
    num_test = max(1, round(len(relations) * TEST_SHARE)) if rule.num_test is None else rule.num_test
    num_valid = max(1, round(len(relations) * VALID_SHARE)) if rule.num_valid is None else rule.num_valid
    if num_test < 0 or num_valid < 0 or num_test + num_valid >= len(relations):
        raise InputError(
            f"{num_valid} valid and {num_test} test tasks leave none of {len(relations)} relations to train on"
        )
    leader = {int(relation): int(relation) for relation in relations}
    for overlap in same:
        joined, kept = leader[overlap.other], leader[overlap.relation]
        leader = {relation: kept if group == joined else group for relation, group in leader.items()}
    groups = [[r for r in leader if leader[r] == group] for group in sorted(set(leader.values()))]
    np.random.default_rng(rule.seed).shuffle(groups)
    result: dict[Split, list[int]] = {"train": [], "valid": [], "test": []}
    for group in groups:
        if len(result["test"]) + len(group) <= num_test:
            result["test"] += group
        elif len(result["valid"]) + len(group) <= num_valid:
            result["valid"] += group
        else:
            result["train"] += group
    return {split: np.array(sorted(ids), dtype=np.int64) for split, ids in result.items()}


def _make_task(graph: KnowledgeGraph, relation: int, shuffler: np.random.Generator) -> Task:
    rows = shuffler.permutation(np.flatnonzero(graph.relation_ids == relation))
    pairs = np.stack([graph.head_ids[rows], graph.tail_ids[rows]], axis=1)
    task = Task.of(graph.relations.name(relation), pairs)
    return replace(task, label=graph.relations.label(relation)) if graph.relations.has_labels else task


def _describe(graph: KnowledgeGraph, leak: Overlap) -> str:
    kind = "the inverse" if leak.is_inverse else "a copy"
    other, relation = graph.relations.name(leak.other), graph.relations.name(leak.relation)
    return f"relation {other!r} is kept out: it is {kind} of the few-shot relation {relation!r} ({leak.share:.0%})"
