"""Settings that few-shot methods share, and the samplers of episodes that they ask for."""

from dataclasses import dataclass

from tripleshot.datasets.dataset import FewShotDataset
from tripleshot.datasets.episodes import EpisodeSampler, TaskBatchSampler
from tripleshot.datasets.task_pool import Regime
from tripleshot.errors import InputError
from tripleshot.methods.settings import Schedule, TrainingSettings, count, setting, share

RELEASED_CODE = "follow the released code where it differs from the paper; its page under docs/methods says where"


@dataclass(frozen=True)
class NeighborSettings(TrainingSettings):
    """What GMatching, FSRL and FAAN share: neighbors of pairs, one relation per step; for two CPU cores."""

    width: int = count(100, "d, size of the embeddings")
    dropout: float = share(0.5, "dropout rate on the neighbors' vectors as they are looked up")
    encoder_dropout: float = share(0.2, "dropout rate in the encoder of pairs")
    max_neighbors: int = count(50, "direct neighbors per entity at most")
    fine_tune: bool = setting(True, "train the vectors of entities and relations, too; those of a random start must be")
    regime: Regime = setting("pre-train", "draw episodes from train tasks alone, or from background relations as well")
    background_share: float = share(0.5, "how often a background relation is drawn in the in-train regime")
    batch_size: int = count(128, "B, queries per step")
    num_negatives: int = count(1, "wrong answers per query")
    margin: float = setting(5.0, "gamma of the ranking loss")
    pretrained: str = setting("", "run of an embedding method whose vectors to start from; empty starts at random")
    held_back: float = share(
        0.0, "ask only about this share of the train tasks' triples, which the run that `pretrained` names held back"
    )
    match_released_code: bool = setting(False, RELEASED_CODE)
    steps: int = 30_000
    clip: float = 5.0
    validate_every: int = 2000
    valid_queries: int = 200
    patience: int = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.pretrained and not self.fine_tune:
            raise InputError("vectors that start at random must learn: give --pretrained, or leave fine_tune on")


def make_episode_sampler(settings: NeighborSettings, dataset: FewShotDataset, shots: int) -> EpisodeSampler:
    """Return what draws an episode of one relation, as the settings ask for it."""
    sizes = (shots, settings.batch_size, settings.num_negatives)
    return EpisodeSampler(dataset, *sizes, settings.regime, settings.background_share, held_back=settings.held_back)


@dataclass(frozen=True)
class MetaSettings(TrainingSettings):
    """What MetaR and GANA share: many relations per step, each moved by the gradient of its examples; as published."""

    width: int = count(100, "d, size of the embeddings")
    dropout: float = share(0.5, "dropout rate in the network that makes a relation's vector")
    inner_rate: float = setting(
        5.0, "beta, how far the gradient of the examples' loss moves a relation's vector; 0 leaves it"
    )
    regime: Regime = setting("in-train", "draw episodes from train tasks alone, or from background relations as well")
    background_share: float = share(0.85, "how often a background relation is drawn in the in-train regime")
    batch_size: int = count(3072, "B, queries per step")
    relations_per_step: int = count(1024, "how many relations share them, each with examples of its own")
    num_negatives: int = count(1, "wrong answers per query")
    margin: float = setting(1.0, "gamma of the ranking loss")
    pretrained: str = setting("", "run of an embedding method whose vectors to start from; empty starts at random")
    match_released_code: bool = setting(False, RELEASED_CODE)
    steps: int = 100_000
    schedule: Schedule = "constant"
    warmup: int = 0
    valid_queries: int = 0
    patience: int = 10


def make_task_sampler(settings: MetaSettings, dataset: FewShotDataset, shots: int) -> TaskBatchSampler:
    """Return what draws the episodes of many relations at once, as the settings ask for them."""
    num_queries = settings.batch_size // settings.relations_per_step
    sizes = (shots, settings.relations_per_step, num_queries, settings.num_negatives)
    return TaskBatchSampler(dataset, *sizes, settings.regime, settings.background_share)
