"""The network that weighs evidence, and how it scores thousands of tails of one head at little cost.

The first layer is linear in the features. What the tail and the examples say is added up once per tail, what the head
says once per head, and only tails that something joins to the head have features of the pair.
"""

from typing import get_args

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from tripleshot.arrays import FloatArray, IntArray
from tripleshot.methods.caching import EntityCache
from tripleshot.methods.evidence.evidence_index import EvidenceIndex
from tripleshot.methods.evidence.features import FeatureTable, Scope
from tripleshot.methods.evidence.native import EvidenceKernel
from tripleshot.methods.evidence.pair_evidence import NOBODY, AskedEvidence, Examples, Joins, Likeness, TailsByHead


class FeatureScorer(nn.Module):
    """A network of one hidden layer over the features of a pair, which it sees by how unusual they are."""

    mean: Tensor
    deviation: Tensor

    def __init__(self, num_features: int, width: int, left_out: Tensor | None = None) -> None:
        """Start at random; `standardize` has to be told what features look like.

        Args:
            num_features: per pair.
            width: of the hidden layer.
            left_out: shape (num_features,), true for those that are never looked at (ablation).
        """
        super().__init__()
        self.left_out = left_out
        self.hidden = nn.Linear(num_features, width)
        self.out = nn.Linear(width, 1, bias=False)
        self.register_buffer("mean", torch.zeros(num_features))
        self.register_buffer("deviation", torch.ones(num_features))

    def standardize(self, features: Tensor) -> None:
        """Take mean and deviation from a sample of pairs, shape (n, num_features)."""
        self.mean.copy_(features.mean(0))
        self.deviation.copy_(features.std(0).clamp(min=1e-3))

    def forward(self, features: Tensor, without: Tensor | None = None) -> Tensor:
        """Score pairs by their features, shape (..., num_features), as if those in `without` had their mean."""
        return self.second_layer(functional.linear(features, *self.first_layer(without)))

    def first_layer(self, without: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Return the first layer as it applies to features that are not standardized: weights and bias.

        It is linear: what parts of the features add to it can be computed apart and added up. Features in `without`,
        shape (num_features,), count as if they had their mean.
        """
        scale = 1 / self.deviation
        for ignored in (self.left_out, without):
            if ignored is not None:
                scale = scale * ~ignored.to(scale.device)
        weights = self.hidden.weight * scale
        return weights, self.hidden.bias - weights @ self.mean

    def second_layer(self, hidden: Tensor) -> Tensor:
        """Score pairs by what the first layer says of them, shape (..., width)."""
        return self.out(functional.gelu(hidden)).squeeze(-1)

    @torch.inference_mode()
    def contributions(self, features: Tensor, groups: Tensor) -> tuple[list[float], float]:
        """Split the score of one pair among groups of features.

        Groups are taken away one after the other, in their order and in the opposite one, and the mean of both counts:
        a Shapley value over two orders, so that what two groups say together is divided equally.

        Args:
            features: shape (num_features,).
            groups: shape (number of groups, num_features), true for the features of a group.

        Returns:
            added: what each group adds to the score.
            rest: the score without any of them; with what is added it is the whole score.
        """
        nothing = torch.zeros_like(groups[:1])
        orders = (torch.cat([nothing, order.cumsum(0).bool()]) for order in (groups, groups.flip(0)))
        scores = [self(torch.where(without, self.mean, features)).double().cpu() for without in orders]
        added = (-scores[0].diff() - scores[1].diff().flip(0)) / 2
        return added.tolist(), float(scores[0][-1])


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
        network: FeatureScorer,
        examples: Examples,
    ) -> None:
        """Take the first layer apart."""
        self.index, self.kernel, self.table, self.examples = index, kernel, table, examples
        weights, self.bias = (part.detach().numpy() for part in network.first_layer())
        self.out = np.ascontiguousarray(network.out.weight[0].detach().numpy())
        self.columns = {scope: table.columns_in(scope) for scope in get_args(Scope)}
        self.weights = {scope: np.ascontiguousarray(weights[:, columns].T) for scope, columns in self.columns.items()}
        self.pair_features = kernel.prepare(tuple(table.features[column] for column in self.columns["pair"]))
        self.tails = EntityCache(index.graph.num_entities, self._encode_tails)

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
            codes.numpy(),
            rows,
            start,
            self.weights["pair"],
            self.out,
        )

    def _encode_tails(self, tails: IntArray) -> Tensor:
        """Return what the first layer says of tails, their degrees and what they share: shape (n, width + 1 + K)."""
        likeness = self.index.tail_likeness(self.examples, tails)
        nobody = Likeness.nothing(1, len(self.examples.support))
        evidence = AskedEvidence(
            self.examples, TailsByHead.of(NOBODY, tails), Joins.nothing(len(tails)), nobody, likeness
        )
        features = self.kernel.compute_features(self.table, evidence)[:, self.columns["tail"]]
        said = np.einsum("nf,fw->nw", features, self.weights["tail"])  # to the bit the same among any other tails
        columns = [said, likeness.degrees, likeness.shared.T]
        return torch.from_numpy(np.column_stack(columns).astype(np.float32))
