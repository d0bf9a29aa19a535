"""How thousands of tails of one head are scored at little cost.

The first layer of the network is linear in the features. What the tail and the examples say is added up once per tail,
what the head says once per head, and only tails that something joins to the head have features of the pair.
"""

from dataclasses import dataclass
from typing import get_args

import numpy as np
import numpy.typing as npt

from tripleshot.arrays import FloatArray, IntArray
from tripleshot.methods.caching import EntityCache
from tripleshot.methods.evidence.evidence_index import EvidenceIndex
from tripleshot.methods.evidence.features import FeatureTable, Scope
from tripleshot.methods.evidence.native import EvidenceKernel
from tripleshot.methods.evidence.network_weights import NetworkWeights
from tripleshot.methods.evidence.pair_evidence import NOBODY, AskedEvidence, Examples, Joins, Likeness, TailsByHead


class QuestionScorer:
    """Scores tails of any head for the examples of one relation, with weights that do not change meanwhile.

    The first layer is linear in the features. What the tail and the examples say is added up once per tail, what the
    head says once per head, and only tails that something speaks for have features of the pair.
    """

    def __init__(
        self,
        index: EvidenceIndex,
        kernel: EvidenceKernel,
        table: FeatureTable,
        network: NetworkWeights,
        examples: Examples,
    ) -> None:
        """Take the first layer apart."""
        self.index, self.kernel, self.table, self.examples = index, kernel, table, examples
        weights, self.bias = network.first_layer()
        self.out = network.out.copy()
        self.columns = {scope: table.columns_in(scope) for scope in get_args(Scope)}
        self.weights = {scope: np.ascontiguousarray(weights[:, columns].T) for scope, columns in self.columns.items()}
        self.pair_features = kernel.prepare(tuple(table.features[column] for column in self.columns["pair"]))
        encoder = _TailEncoder(index, kernel, table, examples, self.columns["tail"], self.weights["tail"])
        self.tails = EntityCache(index.graph.num_entities, encoder.encode)

    def score(self, head: int, tails: IntArray) -> FloatArray:
        """Return the scores of tails, shape (n,)."""
        asked = TailsByHead.of(head, tails)
        joins = self.index.measure_joins(self.examples, asked)
        likeness = self.index.head_likeness(self.examples, asked.heads)
        codes, rows = self.tails.find(asked.tails)
        factors = self.table.factors(AskedEvidence(self.examples, asked, joins, likeness, likeness))[0]
        start = self.bias + factors[self.columns["query"]] @ self.weights["query"]
        return self.kernel.score_tails(
            self.pair_features,
            self.examples,
            factors[self.columns["pair"]],
            likeness,
            asked.tails,
            joins,
            codes,
            rows,
            start,
            self.weights["pair"],
            self.out,
        )


@dataclass(frozen=True, eq=False)
class _TailEncoder:
    """What the tail and the examples say; it does not know its scorer, so that both go as soon as nobody asks."""

    index: EvidenceIndex
    kernel: EvidenceKernel
    table: FeatureTable
    examples: Examples
    columns: npt.NDArray[np.int64]
    weights: npt.NDArray[np.float32]

    def encode(self, tails: IntArray) -> npt.NDArray[np.float32]:
        """Return what the first layer says of tails, their degrees and what they share: shape (n, width + 1 + K)."""
        likeness = self.index.tail_likeness(self.examples, tails)
        nobody = Likeness.nothing(1, len(self.examples.support))
        evidence = AskedEvidence(
            self.examples, TailsByHead.of(NOBODY, tails), Joins.nothing(len(tails)), nobody, likeness
        )
        features = self.kernel.compute_features(self.table, evidence)[:, self.columns]
        said = np.einsum("nf,fw->nw", features, self.weights)  # to the bit the same among any other tails
        columns = [said, likeness.degrees, likeness.shared.T]
        return np.column_stack(columns).astype(np.float32)
