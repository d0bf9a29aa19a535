"""Settings that the few-shot methods of others share."""

from dataclasses import dataclass

from tripleshot.datasets.dataset import FewShotDataset
from tripleshot.datasets.episodes import EpisodeSampler, Regime, TaskBatchSampler
from tripleshot.errors import InputError
from tripleshot.methods.settings import Schedule, TrainingSettings


@dataclass(frozen=True)
class EpisodeSettings(TrainingSettings):
    """What a method that learns from episodes has to be told.

    Attributes:
        width: d, size of the embeddings.
        dropout: rate in the network.
        regime: draw episodes from the train tasks alone, or from background relations as well.
        background_share: how often a background relation is drawn in the in-train regime.
        batch_size: B, queries of a step.
        num_negatives: wrong answers a query.
        margin: gamma of the ranking loss.
        pretrained: folder of a run of an embedding method whose vectors to start from; empty starts at random.
    """

    width: int = 100
    dropout: float = 0.5
    regime: Regime = "pre-train"
    background_share: float = 0.5
    batch_size: int = 128
    num_negatives: int = 1
    margin: float = 5.0
    pretrained: str = ""


@dataclass(frozen=True)
class NeighborSettings(EpisodeSettings):
    """What GMatching, FSRL and FAAN share: neighbors of pairs, one relation a step; for two CPU cores.

    Attributes:
        dropout: rate on the neighbors' vectors as they are looked up.
        encoder_dropout: rate in the encoder of pairs.
        max_neighbors: direct neighbors of an entity at most.
        fine_tune: let the vectors of entities and relations learn; a random start must.
    """

    encoder_dropout: float = 0.2
    max_neighbors: int = 50
    fine_tune: bool = True
    steps: int = 30_000
    clip: float = 5.0
    validate_every: int = 2000
    valid_queries: int = 200
    patience: int = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.pretrained and not self.fine_tune:
            raise InputError("vectors that start at random must learn: give --pretrained, or leave fine_tune on")


def sampler_of(settings: NeighborSettings, dataset: FewShotDataset, shots: int) -> EpisodeSampler:
    """Return what draws the episodes that the settings ask for."""
    sizes = (shots, settings.batch_size, settings.num_negatives)
    return EpisodeSampler(dataset, *sizes, settings.regime, settings.background_share)


@dataclass(frozen=True)
class MetaSettings(EpisodeSettings):
    """What MetaR and GANA share: many relations a step, each moved by the gradient of its examples; as published.

    Attributes:
        inner_rate: beta, how far the gradient of the examples' loss moves a relation's vector; 0 leaves it.
        relations_per_step: how many relations share the queries, each with a support of its own.
    """

    inner_rate: float = 5.0
    relations_per_step: int = 1024
    regime: Regime = "in-train"
    background_share: float = 0.85
    batch_size: int = 3072
    margin: float = 1.0
    steps: int = 100_000
    schedule: Schedule = "constant"
    warmup: int = 0
    valid_queries: int = 0
    patience: int = 10


def batches_of(settings: MetaSettings, dataset: FewShotDataset, shots: int) -> TaskBatchSampler:
    """Return what draws the batches of tasks that the settings ask for."""
    num_queries = settings.batch_size // settings.relations_per_step
    sizes = (shots, settings.relations_per_step, num_queries, settings.num_negatives)
    return TaskBatchSampler(dataset, *sizes, settings.regime, settings.background_share)
