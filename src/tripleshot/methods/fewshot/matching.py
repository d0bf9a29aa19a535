"""What GMatching and FSRL share: a neighbor code for each entity, pairs of codes, and the LSTM that matches them.

An entity's code does not depend on the pair it stands in. In training it is computed once for each distinct entity of
an episode; in scoring it is kept between the questions, for as long as the weights stay the same.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from tripleshot.arrays import FloatArray, IntArray
from tripleshot.datasets.episodes import Episode
from tripleshot.methods.caching import EntityCache, score_in_batches
from tripleshot.methods.fewshot.neighborhoods import NeighborFinder, Neighborhoods
from tripleshot.methods.fewshot.vectors import SymbolVectors

SCORING_BATCH = 1024  # candidates


class PairEncoder(nn.Module):
    """g(x) = LN(x + dropout(W2 relu(W1 x))), with (x - mean) / (deviation + 0.001) for a norm."""

    def __init__(self, width: int, dropout: float) -> None:
        """Make the encoder of pairs of codes of this width."""
        super().__init__()
        self.widen = nn.Linear(2 * width, 4 * width)
        self.narrow = nn.Linear(4 * width, 2 * width)
        self.dropout = nn.Dropout(dropout)
        self.gain = nn.Parameter(torch.ones(2 * width))
        self.bias = nn.Parameter(torch.zeros(2 * width))
        for layer in (self.widen, self.narrow):
            nn.init.xavier_normal_(layer.weight)

    def forward(self, pairs: Tensor) -> Tensor:
        """Encode pairs: (n, 2d) to (n, 2d)."""
        mixed = pairs + self.dropout(self.narrow(functional.relu(self.widen(pairs))))
        deviation, mean = torch.std_mean(mixed, dim=-1, keepdim=True)
        return (mixed - mean) / (deviation + 1e-3) * self.gain + self.bias


class MatchingProcessor(nn.Module):
    """A few steps of an LSTM cell that compares a query with the prototype S.

    With the cell's state twice as wide as the query q, a step is (h~, c) = LSTM(q, ([h; S], c)), h = q + h~[:2d]; the
    attention over prototypes is 1, as there is one. The second halves of h~ and c are never read by anything but the
    second half of c, so they are left out here: the scores are the same.
    """

    def __init__(self, width: int, num_steps: int) -> None:
        """Make a cell for pairs of codes of this width."""
        super().__init__()
        self.num_steps = num_steps
        self.of_query = nn.Linear(2 * width, 8 * width)  # gates: input, forget, cell, output
        self.of_hidden = nn.Linear(2 * width, 8 * width, bias=False)
        self.of_prototype = nn.Linear(2 * width, 8 * width, bias=False)
        bound = (4 * width) ** -0.5  # as for the whole state
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -bound, bound)

    def forward(self, queries: Tensor, prototype: Tensor) -> Tensor:
        """Score queries, shape (n, 2d), against a prototype, shape (2d,): shape (n,)."""
        from_query = self.of_query(queries)
        gates, cell, hidden = from_query, torch.zeros_like(queries), queries
        for step in range(self.num_steps):
            if step:
                gates = from_query + self.of_hidden(hidden) + self.of_prototype(prototype)
            taken, kept, new, shown = gates.chunk(4, dim=-1)
            cell = kept.sigmoid() * cell + taken.sigmoid() * new.tanh()
            hidden = queries + shown.sigmoid() * cell.tanh()
        return hidden @ prototype


class Matcher(nn.Module, ABC):
    """A network that codes entities by their neighbors and compares pairs with a prototype of the support."""

    def __init__(
        self,
        num_entities: int,
        num_relations: int,
        width: int,
        dropout: float,
        encoder_dropout: float,
        matching_steps: int,
        padded_to: int = 0,
    ) -> None:
        """Make the network; `padded_to` places of a neighborhood count as in the public code, 0 masks padding."""
        super().__init__()
        self.padded_to = padded_to
        self.symbols = SymbolVectors(num_entities, num_relations, width)
        self.dropout = nn.Dropout(dropout)
        self.encode_pair = PairEncoder(width, encoder_dropout)
        self.processor = MatchingProcessor(width, matching_steps)
        self.add_layers(width)

    @abstractmethod
    def add_layers(self, width: int) -> None:
        """Make what reads neighbors and examples."""

    @abstractmethod
    def encode(self, neighborhoods: Neighborhoods) -> Tensor:
        """Return the codes of n entities: shape (n, d)."""

    @abstractmethod
    def prototype(self, support: Tensor) -> Tensor:
        """Make one vector, shape (2d,), of the examples' pairs, shape (K, 2d)."""

    def match(self, pairs: Tensor, prototype: Tensor) -> Tensor:
        """Score pairs, shape (n, 2d), against a prototype: shape (n,)."""
        return self.processor(self.encode_pair(pairs), prototype)


@dataclass(frozen=True, eq=False)
class EpisodePairs:
    """An episode in pairs of codes.

    Attributes:
        support: shape (K, 2d).
        queries: shape (B, 2d), true pairs.
        negatives: shape (B * n, 2d), the wrong pairs of each query one after the other.
    """

    support: Tensor
    queries: Tensor
    negatives: Tensor

    def scores(self, matcher: Matcher, prototype: Tensor) -> tuple[Tensor, Tensor]:
        """Score the true pairs, shape (B, 1), and the wrong ones, shape (B, n)."""
        scores = matcher.match(torch.cat([self.queries, self.negatives]), prototype)
        positive, negative = scores.split([len(self.queries), len(self.negatives)])
        return positive[:, None], negative.view(len(self.queries), -1)


def encode_episode(
    matcher: Matcher, finder: NeighborFinder, episode: Episode, rng: np.random.Generator
) -> EpisodePairs:
    """Code the distinct entities of an episode once and put the codes into pairs."""
    repeated = np.repeat(episode.queries[:, 0], episode.negatives.shape[1])
    negatives = np.stack([repeated, episode.negatives.ravel()], axis=1)
    pairs = np.concatenate([episode.support, episode.queries, negatives])
    entities, places = np.unique(pairs, return_inverse=True)
    codes = matcher.encode(finder.find(entities, rng, episode.hidden))
    coded = codes[torch.from_numpy(places.reshape(pairs.shape)).to(codes.device)].flatten(1)
    return EpisodePairs(*coded.split([len(episode.support), len(episode.queries), len(negatives)]))


@torch.inference_mode()
def score_tails(matcher: Matcher, codes: EntityCache, support: IntArray, head: int, tails: IntArray) -> FloatArray:
    """Score tails for a head by the kept codes, a bounded number at a time."""
    prototype = matcher.prototype(codes.get(support.reshape(-1)).view(len(support), -1))
    of_head = codes.get(np.array([head]))

    def score(some: IntArray) -> Tensor:
        of_tails = codes.get(some)
        return matcher.match(torch.cat([of_head.expand(len(of_tails), -1), of_tails], dim=1), prototype)

    return score_in_batches(score, tails, SCORING_BATCH)
