"""Evidence measured pair by pair with arrays alone: the reference of the kernel in `native`, and its stand-in."""

from dataclasses import replace

import numpy as np

from tripleshot.arrays import IntArray, lookup
from tripleshot.graph.hidden_edges import HiddenEdges
from tripleshot.graph.paths import CommonNeighbors, PairIndex
from tripleshot.graph.relation_profiles import RelationProfiles
from tripleshot.methods.evidence.pair_evidence import (
    Booleans,
    Examples,
    Floats,
    Integers,
    Joins,
    Likeness,
    TailsByHead,
)
from tripleshot.methods.evidence.path_rules import MAX_MIDDLE_DEGREE, JoiningPaths, PathTypes, find_joining_paths
from tripleshot.methods.evidence.type_likeness import TypeLikeness
from tripleshot.methods.evidence.walk_rules import RuleWalks, WalkRules
from tripleshot.methods.evidence.walks import ThreeStepWalks


class PlainEvidence:
    """Measures evidence on one graph."""

    def __init__(
        self, pairs: PairIndex, profiles: RelationProfiles, types: TypeLikeness, relation_rarity: Floats
    ) -> None:
        """Take what is indexed already."""
        self.graph, self.pairs, self.profiles, self.types = pairs.graph, pairs, profiles, types
        self.walks = ThreeStepWalks(pairs.graph, pairs, profiles)
        self.rule_walks = RuleWalks(pairs, profiles)
        self.relation_rarity = relation_rarity

    def join(self, support: Integers, hidden: HiddenEdges) -> tuple[JoiningPaths, Booleans]:
        """Return the path types that join pairs, shape (K, 2), and which pairs have a common neighbor."""
        heads, tails = support.T
        common = self.pairs.common(heads, tails, hidden)
        joining = find_joining_paths(self.pairs, self.pairs.links(heads, tails, hidden), common, hidden)
        return joining, np.isin(np.arange(len(support)), common.owners)

    def mine_walks(self, support: Integers, hidden: HiddenEdges) -> WalkRules:
        """Collect the path types of three steps that join pairs, shape (K, 2)."""
        return self.rule_walks.mine(support, hidden)

    def read_profiles(self, entities: Integers, hidden: HiddenEdges) -> Floats:
        """Return the relations of entities, as `RelationProfiles` weighs them: shape (2 * num_relations, n)."""
        return self.profiles.of(entities, hidden).dense(self.graph.num_relations).T

    def measure_joins(self, examples: Examples, asked: TailsByHead, num_threads: int = 1) -> Joins:
        """Measure what joins heads to tails."""
        heads, tails, hidden = asked.heads[asked.rows], asked.tails, examples.hidden
        owners, relations = links = self.pairs.links(heads, tails, hidden)
        common = self.pairs.common(heads, tails, hidden)

        def best_link(values: Floats) -> Floats:
            largest = np.zeros(len(tails))
            np.maximum.at(largest, owners, values)
            return largest

        return Joins(
            num_links=np.bincount(owners, minlength=len(tails)).astype(np.float64),
            link_share=best_link(examples.link_shares[relations]),
            link_exclusiveness=best_link(1 / np.maximum(self.profiles.count(heads[owners], relations), 1)),
            link_rarity=best_link(self.relation_rarity[self.graph.base(relations)]),
            path_weight=examples.rules.weigh(find_joining_paths(self.pairs, links, common, hidden), len(tails)),
            path_probability=self._draw_paths(examples, heads, links, common),
            common_weight=self._weigh_common(common, len(tails), hidden),
            walk_weight=self.walks.weigh(heads, tails, hidden),
            walk_probability=self.rule_walks.weigh(examples.walk_rules, heads, tails),
        )

    def measure_likeness(self, hidden: HiddenEdges, entities: IntArray, others: Integers, profiles: Floats) -> Likeness:
        """Compare entities with others by relations, whose profiles are given, and by neighbors."""
        asked, places = np.unique(entities, return_inverse=True)
        first, second = np.repeat(asked, len(others)), np.tile(others, len(asked))
        shared = self._weigh_common(self.pairs.common(first, second, hidden), len(first), hidden)
        return Likeness(
            degrees=self.profiles.degrees(asked, hidden)[places],
            similarity=self.profiles.of(asked, hidden).similarity(profiles.T)[places].T,
            shared=shared.reshape(len(asked), len(others))[places].T,
            types=self.types.compare(asked, others)[:, places],
        )

    def _draw_paths(
        self, examples: Examples, heads: Integers, links: tuple[Integers, Integers], common: CommonNeighbors
    ) -> Floats:
        """Return how probable it is that a walk along a rule, drawn by its weight, joins each pair: shape (n,)."""
        types, rules, (linked, relations) = PathTypes.of(self.graph), examples.rules, links
        common = common.take(self.graph.degrees[common.middles] <= MAX_MIDDLE_DEGREE)
        ways = replace(common, owners=np.arange(len(common.owners)))
        places, first, second = self.pairs.paths(ways, examples.hidden)
        joined = common.owners[places]
        walks = self.profiles.count(heads[joined], first) * self.profiles.count(common.middles[places], second)
        owners, path_types, num_ends = (
            np.concatenate(columns)
            for columns in (
                (linked, joined),
                (types.encode(relations), types.encode(first, second)),
                (self.profiles.count(heads[linked], relations), walks),
            )
        )
        which, is_rule = lookup(rules.path_types, path_types)
        shares = rules.shares[which[is_rule]] / num_ends[is_rule]
        return np.bincount(owners[is_rule], shares, minlength=len(heads)).astype(np.float64)

    def _weigh_common(self, common: CommonNeighbors, num_pairs: int, hidden: HiddenEdges) -> Floats:
        """Add up the common neighbors of each pair, shape (num_pairs,); one with many edges says little."""
        degrees = self.profiles.degrees(common.middles, hidden)
        return np.bincount(common.owners, 1 / np.maximum(degrees, 1), minlength=num_pairs).astype(np.float64)
