"""Which evidence to trust for a relation: how well each feature tells the examples' own tails from others.

Each example is left out in turn and asked about by means of the rest. A feature that is larger for its tail than for
entities that play a role of the examples' tails elsewhere in the graph can be trusted for this relation. One example
has nobody to vouch for it: nothing is known then.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tripleshot.arrays import IntArray
from tripleshot.datasets.episodes import Episode
from tripleshot.graph.hidden_edges import NO_RELATION, HiddenEdges
from tripleshot.methods.evidence.evidence_index import EvidenceIndex
from tripleshot.methods.evidence.features import FeatureTable

SEED = 0
NUM_OTHERS = 32  # entities that an example's tail is compared with
MAX_LEFT_OUT = 10  # examples that are asked about, of more

Array = npt.NDArray[np.float32]


class TrustMeter:
    """Asks the examples of relations about each other."""

    def __init__(self, index: EvidenceIndex, table: FeatureTable, is_used: bool = True) -> None:
        """Share the index of a graph; `table` has the features that are measured.

        One that is not used trusts nothing (ablation).
        """
        self.index, self.table, self.is_used = index, table, is_used

    def of_examples(self, support: IntArray, hidden: HiddenEdges = HiddenEdges.none()) -> Array:
        """Return how far each feature can be trusted, shape (number of features,); it depends on nothing else."""
        support = np.asarray(support, dtype=np.int64)
        asked = Episode(-1, support, support[:1], support[:1, 1:], 1.0, hidden)
        return self.of_episodes([asked], np.random.default_rng(SEED))[0]

    def of_episodes(self, episodes: Sequence[Episode], rng: np.random.Generator, num_threads: int = 1) -> Array:
        """Return how far each feature can be trusted in each episode, shape (number of episodes, number of features).

        From 1, where every tail that was left out has more of a feature than all others, to -1, where it has less.
        """
        left_out = [self._leave_out(episode, rng) for episode in episodes]
        found = np.zeros((len(episodes), len(self.table)), dtype=np.float32)
        asked = [question for questions in left_out for question in questions]
        if not asked:
            return found
        features = self.index.episode_features(self.table, asked, num_threads)[:, 0]
        above = np.sign(features[:, :1] - features[:, 1:]).mean(axis=1)
        owners = np.repeat(np.arange(len(episodes)), [len(questions) for questions in left_out])
        np.add.at(found, owners, above)
        return found / np.maximum([[len(questions)] for questions in left_out], 1).astype(np.float32)

    def _leave_out(self, episode: Episode, rng: np.random.Generator) -> list[Episode]:
        """Return one question for each example, which the others are the examples of."""
        support = np.asarray(episode.support, dtype=np.int64)
        if len(support) < 2 or not self.is_used:
            return []
        chosen = np.unique(np.linspace(0, len(support) - 1, min(len(support), MAX_LEFT_OUT)).astype(np.int64))
        relation = episode.hidden.relation
        models = support[rng.integers(len(support), size=(len(chosen), NUM_OTHERS)), 1]
        others = self.index.profiles.draw_alike(models.ravel(), rng, NO_RELATION if relation is None else relation)
        questions = []
        for place, row in zip(chosen.tolist(), others.reshape(models.shape), strict=True):
            is_true = np.isin(row, support[support[:, 0] == support[place, 0], 1])
            wrong = np.where(is_true, rng.integers(self.index.graph.num_entities, size=len(row)), row)
            rest, asked = np.delete(support, place, axis=0), support[place : place + 1]
            questions.append(Episode(-1, rest, asked, wrong[None], 1.0, episode.hidden))
        return questions
