"""What is known about pairs of head and tail: the quantities that features are made of.

Everything is computed from the background graph and the examples alone, and for a pair by itself: it does not depend on
which other tails are asked about. In training a background relation can be hidden as if it were not in the graph.
`plain_evidence` measures it pair by pair, `native` by propagation.
"""

from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from tripleshot.arrays import IntArray
from tripleshot.graph.hidden_edges import HiddenEdges
from tripleshot.graph.trigrams import NameTrigrams
from tripleshot.methods.evidence.path_rules import PathRules
from tripleshot.methods.evidence.walk_rules import WalkRules

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Booleans = npt.NDArray[np.bool_]

NOBODY = -1  # a head that is nobody's, where only tails are looked at


@dataclass(frozen=True, eq=False)
class Examples:
    """What the examples of a relation say, whatever is asked.

    Attributes:
        support: shape (K, 2).
        hidden: edges that are not seen.
        rules: paths of one or two steps that join examples.
        walk_rules: paths of three steps that join examples.
        link_shares: shape (2 * num_relations,), the share of examples joined by each relation.
        head_profiles: shape (2 * num_relations, K), the relations of each example's head.
        tail_profiles: shape (2 * num_relations, K), the relations of each example's tail.
        linked_share: share of examples that some edge joins.
        common_share: share of examples with a common neighbor.
        distinct_tails: number of different tails per example.
        distinct_heads: number of different heads per example.
        type_rarity: shape (K,), how rare the types of each example's tail are; 0 without any.
        typed_share: share of examples whose tail has a type.
        loop_share: share of examples whose tail is the head itself.
    """

    support: Integers
    hidden: HiddenEdges
    rules: PathRules
    walk_rules: WalkRules
    link_shares: Floats
    head_profiles: Floats
    tail_profiles: Floats
    linked_share: float
    common_share: float
    distinct_tails: float
    distinct_heads: float
    type_rarity: Floats
    typed_share: float
    loop_share: float


@dataclass(frozen=True, eq=False)
class TailsByHead:
    """Heads, each with the tails that are asked about, end to end; contiguous int64, as the kernel reads them.

    Attributes:
        heads: shape (h,).
        offsets: shape (h + 1,), where the tails of each head start and end.
        tails: shape (n,).
    """

    heads: Integers
    offsets: Integers
    tails: Integers

    @classmethod
    def of(cls, head: int, tails: IntArray) -> "TailsByHead":
        """Ask about the tails of one head."""
        return cls(np.array([head]), np.array([0, len(tails)]), np.ascontiguousarray(tails, dtype=np.int64))

    @classmethod
    def of_matrix(cls, heads: IntArray, tails: IntArray) -> "TailsByHead":
        """Ask about as many tails of each head: shape (h, m)."""
        rows, columns = tails.shape
        return cls(np.ascontiguousarray(heads, np.int64), np.arange(rows + 1) * columns, tails.astype(np.int64).ravel())

    @property
    def rows(self) -> Integers:
        """Which head each tail belongs to, shape (n,)."""
        return np.repeat(np.arange(len(self.heads)), np.diff(self.offsets))


@dataclass(frozen=True, eq=False)
class Joins:
    """What joins head and tail of n pairs, shape (n,) each; 0 where nothing does.

    Attributes:
        num_links: number of edges between the two.
        link_share: largest share of examples that are joined by the relation of one of the links.
        link_exclusiveness: largest 1 / (the head's edges of the link's relation) among the links.
        turned_exclusiveness: largest 1 / (the tail's edges of the link's relation, turned round) among the links.
        link_rarity: largest rarity in the graph of the relation of one of the links.
        link_overlap: over all links, share of examples that have it times its relation's rarity.
        is_head: whether the tail is the head itself.
        path_weight: sum of the weights of the examples' rules that join the two.
        path_probability: how probable it is that a random walk leads from head to tail, along the relations of one of
            these rules, which is drawn by its weight.
        path_returning: the same of walks from the tail to the head, along the relations turned round.
        common_weight: weight of the entities next to both.
        walk_weight: weight of the walks of three steps from head to tail.
        walk_probability: what `path_probability` is, of the examples' rules of three steps.
        walk_returning: the same of walks from the tail to the head; those that are found on the way there.
    """

    num_links: Floats
    link_share: Floats
    link_exclusiveness: Floats
    turned_exclusiveness: Floats
    link_rarity: Floats
    link_overlap: Floats
    is_head: Floats
    path_weight: Floats
    path_probability: Floats
    path_returning: Floats
    common_weight: Floats
    walk_weight: Floats
    walk_probability: Floats
    walk_returning: Floats

    @classmethod
    def nothing(cls, num_pairs: int) -> "Joins":
        """Return that nothing joins any pair."""
        return cls(*np.zeros((len(fields(cls)), num_pairs)))

    @property
    def block(self) -> Floats:
        """All of them in the order of their fields, shape (14, n); no copy if they are the rows of a matrix."""
        rows = [getattr(self, field.name) for field in fields(self)]
        whole = rows[0].base
        is_matrix = isinstance(whole, np.ndarray) and whole.shape == (len(rows), len(rows[0]))
        return whole if is_matrix and all(row.base is whole for row in rows) else np.stack(rows)


@dataclass(frozen=True, eq=False)
class Likeness:
    """How much n entities are like the heads, or the tails, of K examples.

    Attributes:
        degrees: shape (n,), number of edges of the entity.
        similarity: shape (K, n), cosine of its relations with those of each example's entity.
        shared: shape (K, n), weight of the neighbors that it has in common with each example's entity.
        types: shape (K, n), share of the types of both that it has in common with each example's entity.
    """

    degrees: Integers
    similarity: Floats
    shared: Floats
    types: Floats

    @classmethod
    def nothing(cls, num_entities: int, num_examples: int) -> "Likeness":
        """Return that no entity is like those of any example."""
        return cls(np.zeros(num_entities, np.int64), *np.zeros((3, num_examples, num_entities)))

    def take(self, rows: IntArray) -> "Likeness":
        """Return the entities at these places."""
        return Likeness(self.degrees[rows], *(part[:, rows] for part in (self.similarity, self.shared, self.types)))


@dataclass(frozen=True, eq=False)
class AskedEvidence:
    """What was measured about heads and the tails that are asked about.

    Attributes:
        examples: of the relation that is asked about.
        asked: h heads with n tails in all.
        joins: what joins the heads to their tails, n pairs.
        head_likeness: of the h heads to those of the examples.
        tail_likeness: of the n tails to those of the examples.
        names: of all entities; None if names are not looked at.
    """

    examples: Examples
    asked: TailsByHead
    joins: Joins
    head_likeness: Likeness
    tail_likeness: Likeness
    names: NameTrigrams | None = None

    def quantities(self) -> dict[str, Floats]:
        """Return what features are made of, by name, shape (n,) each; the kernel in `native` computes the same."""
        rows, tails, support = self.asked.rows, self.asked.tails, self.examples.support
        heads, like = self.head_likeness.take(rows), self.tail_likeness
        is_tail = support[:, 1, None] == tails
        root = np.sqrt(np.maximum(like.degrees, 1))
        found = {field.name: getattr(self.joins, field.name) for field in fields(self.joins)}
        found |= {
            "walk_by_degree": self.joins.walk_weight / root,
            "tail_share": is_tail.mean(axis=0),
            "tail_is_head": (support[:, 0, None] == tails).any(axis=0).astype(np.float64),
            "similar_head": (is_tail * heads.similarity).max(axis=0, initial=0),
            "same_neighbors": (is_tail * heads.shared).max(axis=0, initial=0),
            "mean_similarity": like.similarity.mean(axis=0),
            "largest_similarity": like.similarity.max(axis=0, initial=0),
            "shared_by_degree": like.shared.mean(axis=0) / root,
            "shared_share": (like.shared > 0).mean(axis=0),
            "shared_by_similarity": (like.shared * heads.similarity).max(axis=0, initial=0),
            "type_share": like.types.mean(axis=0),
            "largest_type_share": like.types.max(axis=0, initial=0),
            "rare_type_share": (like.types * self.examples.type_rarity[:, None]).mean(axis=0),
            "one": np.ones(len(tails)),
        }
        return found if self.names is None else found | self._name_quantities(self.names)

    def _name_quantities(self, names: NameTrigrams) -> dict[str, Floats]:
        heads, tails, support = self.asked.heads[self.asked.rows], self.asked.tails, self.examples.support

        def similarities(entities: Integers, others: Integers) -> Floats:
            return np.stack([names.similarity(np.full(len(entities), other), entities) for other in others])

        to_heads, to_tails = similarities(heads, support[:, 0]), similarities(tails, support[:, 1])
        return {
            "name_similarity": names.similarity(heads, tails),
            "largest_name_similarity": to_tails.max(axis=0, initial=0),
            "mean_name_similarity": to_tails.mean(axis=0),
            "name_by_similarity": (to_heads * to_tails).max(axis=0, initial=0),
        }

    def query_quantities(self) -> dict[str, Floats | Booleans | float]:
        """Return what is the same for all tails of a head, by name: shape (h,), or one number for every head."""
        heads, support, examples = self.asked.heads, self.examples.support, self.examples
        return {
            "linked_share": examples.linked_share,
            "is_unlinked": float(examples.linked_share == 0),
            "common_share": examples.common_share,
            "distinct_tails": examples.distinct_tails,
            "repeated_tails": 1 - examples.distinct_tails,
            "distinct_heads": examples.distinct_heads,
            "head_is_head": (support[:, 0, None] == heads).any(axis=0),
            "head_is_tail": (support[:, 1, None] == heads).any(axis=0),
            "log_head_degree": np.log1p(self.head_likeness.degrees),
            "typed_share": examples.typed_share,
            "loop_share": examples.loop_share,
            "always": 1.0,
        }
