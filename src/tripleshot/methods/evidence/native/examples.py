"""Examples, rules and hidden edges as the kernel reads them."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tripleshot.graph.hidden_edges import NO_RELATION, HiddenEdges
from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.methods.evidence.native.structures import (
    HiddenStructure,
    Pinned,
    RulesStructure,
    SupportStructure,
    WalkRulesStructure,
)
from tripleshot.methods.evidence.pair_evidence import Examples, Floats, Integers
from tripleshot.methods.evidence.path_rules import PathTypes


@dataclass(frozen=True, eq=False)
class PinnedExamples:
    """What the examples of a relation say, made once for all heads that are asked about.

    Attributes:
        support: the examples themselves.
        rules: paths of one or two steps that join them.
        walk_rules: those of three steps.
        hidden: edges that are not seen.
    """

    support: Pinned
    rules: Pinned
    walk_rules: Pinned
    hidden: Pinned

    @classmethod
    def of(cls, examples: Examples, graph: KnowledgeGraph, path_types: PathTypes) -> "PinnedExamples":
        """Copy what the kernel needs."""
        heads, tails = examples.support.T
        support = Pinned(SupportStructure, count=len(heads), heads=heads, tails=tails, type_rarity=examples.type_rarity)
        rules = pin_rules(path_types, examples.rules.path_types, examples.rules.weights)
        first, second, third = examples.walk_rules.steps(graph)
        walk_rules = Pinned(
            WalkRulesStructure,
            count=len(first),
            first=first,
            second=second,
            third=third,
            shares=examples.walk_rules.shares,
        )
        return cls(support, rules, walk_rules, pin_hidden(graph, examples.hidden))


def pin_rules(all_types: PathTypes, path_types: Integers, weights: Floats | None = None) -> Pinned:
    """Return rules of some path types, with weights if they have any."""
    first, second = np.divmod(path_types, all_types.base)
    weights = np.zeros(len(path_types)) if weights is None else weights
    return Pinned(RulesStructure, count=len(path_types), first=first, second=second - 1, weights=weights)


def pin_hidden(graph: KnowledgeGraph, hidden: HiddenEdges) -> Pinned:
    """Return hidden edges with their ends."""
    ends = ends_of(graph, hidden)
    return Pinned(HiddenStructure, relation=number_of(hidden), num_ends=len(ends), ends=ends)


def ends_of(graph: KnowledgeGraph, hidden: HiddenEdges) -> npt.NDArray[np.int32]:
    """Return the ends of hidden edges."""
    number = number_of(hidden)
    return graph.ends_of(number) if number >= 0 else np.empty(0, np.int32)


def number_of(hidden: HiddenEdges) -> int:
    """Return the relation whose edges are hidden, as the kernel counts."""
    return NO_RELATION if hidden.relation is None else hidden.relation
