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

        shares, rarity = examples.link_shares[relations], self.relation_rarity[self.graph.base(relations)]
        path_probability, path_returning = self._draw_paths(examples, asked, links, common)
        walk_probability, walk_returning = self.rule_walks.weigh(examples.walk_rules, heads, tails)
        return Joins(
            num_links=np.bincount(owners, minlength=len(tails)).astype(np.float64),
            link_share=best_link(shares),
            link_exclusiveness=best_link(1 / self.profiles.count(heads[owners], relations)),
            turned_exclusiveness=best_link(1 / self._count_turned(tails[owners], relations)),
            link_rarity=best_link(rarity),
            link_overlap=np.bincount(owners, shares * rarity, minlength=len(tails)).astype(np.float64),
            is_head=(heads == tails).astype(np.float64),
            path_weight=examples.rules.weigh(find_joining_paths(self.pairs, links, common, hidden), len(tails)),
            path_probability=path_probability,
            path_returning=path_returning,
            common_weight=self._weigh_common(common, len(tails), hidden),
            walk_weight=self.walks.weigh(heads, tails, hidden),
            walk_probability=walk_probability,
            walk_returning=walk_returning,
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
        self, examples: Examples, asked: TailsByHead, links: tuple[Integers, Integers], common: CommonNeighbors
    ) -> tuple[Floats, Floats]:
        """Return how probable walks along rules, drawn by weight, are for each pair, there and back: (n,) each."""
        heads, tails, (linked, relations) = asked.heads[asked.rows], asked.tails, links
        types, rules, num_pairs = PathTypes.of(self.graph), examples.rules, len(asked.tails)
        common = common.take(self.graph.degrees[common.middles] <= MAX_MIDDLE_DEGREE)
        ways = replace(common, owners=np.arange(len(common.owners)))
        places, first, second = self.pairs.paths(ways, examples.hidden)
        joined, middles = common.owners[places], common.middles[places]
        there = self.profiles.count(heads[joined], first) * self.profiles.count(middles, second)
        back = self._count_turned(middles, first) * self._count_turned(tails[joined], second)
        owners, path_types, num_ends, num_starts = (
            np.concatenate(columns)
            for columns in (
                (linked, joined),
                (types.encode(relations), types.encode(first, second)),
                (self.profiles.count(heads[linked], relations), there),
                (self._count_turned(tails[linked], relations), back),
            )
        )
        which, is_rule = lookup(rules.path_types, path_types)
        owners, shares = owners[is_rule], rules.shares[which[is_rule]]
        probability = np.bincount(owners, shares / num_ends[is_rule], minlength=num_pairs)
        returning = np.bincount(owners, shares / num_starts[is_rule], minlength=num_pairs)
        return probability.astype(np.float64), returning.astype(np.float64)

    def _count_turned(self, entities: Integers, relations: Integers) -> Integers:
        """Return how many edges of a relation lead to each entity."""
        return self.profiles.count(entities, self.graph.inverse(relations))

    def _weigh_common(self, common: CommonNeighbors, num_pairs: int, hidden: HiddenEdges) -> Floats:
        """Add up the common neighbors of each pair, shape (num_pairs,); one with many edges says little."""
        degrees = self.profiles.degrees(common.middles, hidden)
        return np.bincount(common.owners, 1 / np.maximum(degrees, 1), minlength=num_pairs).astype(np.float64)
