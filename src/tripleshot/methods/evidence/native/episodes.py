"""Episodes of training as the kernel reads them."""

import ctypes
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tripleshot.datasets.episodes import Episode
from tripleshot.graph.hidden_edges import NO_RELATION
from tripleshot.methods.evidence.native.entity_ids import as_ids
from tripleshot.methods.evidence.native.structures import EpisodeStructure, HiddenStructure


class PinnedEpisodes:
    """Episodes together with their arrays, which live as long as it does, and room for their features.

    Attributes:
        features: shape (number of episodes, B, 1 + n, number of features), to be filled in.
    """

    def __init__(
        self,
        episodes: Sequence[Episode],
        ends: Sequence[npt.NDArray[np.int32]],
        num_entities: int,
        num_features: int,
    ) -> None:
        """Lay out episodes with as many queries and as many wrong tails; the number of examples may differ.

        Args:
            episodes: to read.
            ends: the ends of the edges that each of them hides.
            num_entities: of the graph.
            num_features: per pair.
        """
        tails = as_ids(np.stack([episode.tails for episode in episodes]), num_entities)
        heads = as_ids(np.stack([episode.queries[:, 0] for episode in episodes]), num_entities)
        supports = [as_ids(episode.support, num_entities) for episode in episodes]
        self.features = np.empty((*tails.shape, num_features), np.float32)
        self._arrays = tails, heads, supports, ends
        self._structures = (EpisodeStructure * len(episodes))(
            *(
                EpisodeStructure(
                    HiddenStructure(_hidden_relation(episode), len(hidden), hidden.ctypes.data),
                    *(len(support), *tails.shape[1:], support.ctypes.data, heads[place].ctypes.data),
                    *(tails[place].ctypes.data, self.features[place].ctypes.data),
                )
                for place, (episode, support, hidden) in enumerate(zip(episodes, supports, ends, strict=True))
            )
        )

    def address(self, place: int) -> int:
        """Return where an episode and those after it stand."""
        return ctypes.addressof(self._structures[place])


def _hidden_relation(episode: Episode) -> int:
    return NO_RELATION if episode.hidden.relation is None else episode.hidden.relation
