"""Settings of `evidence-net`; presets are functions."""

from dataclasses import dataclass

from tripleshot.datasets.task_pool import Regime
from tripleshot.methods.evidence.features import FeatureTable
from tripleshot.methods.settings import TrainingSettings, count, setting, share


@dataclass(frozen=True)
class EvidenceNetSettings(TrainingSettings):
    """How evidence is weighed, and how that is learned."""

    train_edges: bool = setting(True, "show the triples of train tasks as edges, too, but no episode those of its task")
    text: bool = setting(False, "look at the names of entities, too")
    without_evidence: str = setting(
        "",
        "kinds of evidence to leave out (ablation), separated by commas or blanks: link, path, common, walk, support, "
        "similarity, type, text",
    )
    trust: bool = setting(False, "ask the examples about each other, so that what they confirm counts more")
    hidden_width: int = count(48, "size of the network's hidden layer")
    pretrained: str = setting(
        "",
        "what to start from: `universal`, the weights that come with the package, or a run of evidence-net on any "
        "graph; empty starts at random",
    )
    fine_tuning_rate: float = setting(1e-3, "learning rate of a training that starts from weights that are there")
    max_shots: int = setting(0, "draw 1 to so many examples for an episode, few more often than many; 0 draws K")
    evidence_dropout: float = share(0.1, "share of the features that are left out of a training step")
    among_all_share: float = share(0.0, "share of episodes whose wrong answers are any entities, not candidates only")
    regime: Regime = setting("in-train", "draw episodes from train tasks alone, or from background relations as well")
    background_share: float = share(0.5, "how often a background relation is drawn in the in-train regime")
    batch_size: int = count(64, "B, queries per step")
    relations_per_step: int = count(8, "how many relations share them, each with examples of its own")
    num_negatives: int = count(256, "wrong answers per query")
    steps: int = 3000
    learning_rate: float = 3e-3
    clip: float = 5.0
    validate_every: int = 500
    valid_queries: int = 0
    patience: int = 10
    checkpoint_every: int = 500

    def __post_init__(self) -> None:
        super().__post_init__()
        FeatureTable(self.text).columns_of(*self.left_out)

    @property
    def left_out(self) -> list[str]:
        """The kinds of evidence to leave out."""
        return self.without_evidence.replace(",", " ").split()


def universal() -> EvidenceNetSettings:
    """Return settings to learn from many graphs what serves any other, with one example to ten."""
    mixed = {"max_shots": 10, "among_all_share": 0.3, "evidence_dropout": 0.25}
    return EvidenceNetSettings(**mixed)


def tiny() -> EvidenceNetSettings:
    """Return settings for a graph of some thirty entities and a few seconds."""
    return EvidenceNetSettings(batch_size=16, num_negatives=16, steps=20, validate_every=10)
