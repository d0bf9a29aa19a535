"""Settings of RSCL, all in one place; presets are functions."""

from dataclasses import dataclass, replace
from typing import Literal

from tripleshot.datasets.episodes import Regime
from tripleshot.errors import InputError
from tripleshot.methods.rscl.contexts import TopNeighbors
from tripleshot.methods.rscl.masking import MaskingShares
from tripleshot.methods.settings import Schedule, TrainingSettings

RelationToken = Literal["shared", "own", "difference"]


@dataclass(frozen=True)
class RSCLSettings(TrainingSettings):
    """Everything that decides what RSCL is and how it learns; the defaults are the paper's for NELL-One.

    Attributes:
        width: d, size of the embeddings.
        num_layers: L, transformer blocks.
        num_heads: attention heads of each block; they need not divide the width.
        dropout: rate in both encoders.
        global_share: lambda, weight of the global score against the local one.
        use_global: false removes the global encoder (ablation).
        use_local: false removes the local encoder (ablation).
        scale_attention: divide by the root of the width where queries attend to examples.
        max_neighbors: p, pairs on each side of a context.
        max_distant: q, distant neighbors among them at most; 0 uses direct neighbors only (ablation).
        top_neighbors: which neighbors come first in validation and test: in file order, or rare relations first.
        factorised: read what is around the head and around the tail apart, so that a candidate is encoded once for all
            queries; not in the paper.
        connected: contexts begin with what joins head and tail, and mark it; not in the paper.
        train_edges: show the triples of the train tasks as edges, too, but to no episode those of its own task; the
            paper's contexts show the background alone.
        text: read the names and labels of entities and relations, too; not in the paper.
        relation_token: what stands for a few-shot relation: one shared token; its own, which for a new relation is a
            vector that was never trained; or the difference of the examples' mean embeddings.
        regime: draw episodes from the train tasks alone, or from background relations as well.
        background_share: how often a background relation is drawn in the in-train regime.
        batch_size: B, queries of a step.
        relations_per_step: how many relations share them, each with a support of its own; the paper takes one.
        num_negatives: wrong answers a query.
        margin: gamma of the ranking loss.
        masking_weight: weight of the masked-token loss of the true triples beside the ranking loss; 0 leaves it out.
        masked_relation_share: share of masked contexts whose relation is asked for by the shared token.
        masked_end_share: share of masked contexts whose head or tail is asked for.
        hidden_neighbors_share: share of those in which the neighbors of the masked end are hidden with it.
        num_sampled: entities that stand for all in the masked-token loss; 0 takes all of them.
        pretrained: a run whose pre-training to start from, instead of a pre-training of its own.
        pretraining_steps: steps of masked-token training on the background and the train tasks before the episodes.
        pretraining_task_share: share of train tasks' triples among the pre-training's; the others are the background's.
        pretraining_batch_size: contexts of such a step.
        pretraining_rate: its learning rate.
        batch_contexts: contexts scored at once by each thread; it bounds memory, some 0.3 MB each at the paper's size.
    """

    width: int = 100
    num_layers: int = 4
    num_heads: int = 4
    dropout: float = 0.3
    global_share: float = 0.4
    use_global: bool = True
    use_local: bool = True
    scale_attention: bool = True
    max_neighbors: int = 8
    max_distant: int = 5
    top_neighbors: TopNeighbors = "file"
    factorised: bool = False
    connected: bool = False
    train_edges: bool = False
    text: bool = False
    relation_token: RelationToken = "shared"
    regime: Regime = "pre-train"
    background_share: float = 0.5
    batch_size: int = 256
    relations_per_step: int = 1
    num_negatives: int = 1
    margin: float = 5.0
    masking_weight: float = 1.0
    masked_relation_share: float = 0.5
    masked_end_share: float = 0.5
    hidden_neighbors_share: float = 0.8
    num_sampled: int = 1024
    pretrained: str = ""
    pretraining_steps: int = 10_000
    pretraining_task_share: float = 0.3
    pretraining_batch_size: int = 256
    pretraining_rate: float = 1e-3
    batch_contexts: int = 256
    steps: int = 300_000
    schedule: Schedule = "stepwise"
    clip: float = 5.0
    validate_every: int = 10_000
    valid_queries: int = 200
    patience: int = 10

    @property
    def masking_shares(self) -> MaskingShares:
        """How often relation and ends are asked for in masked contexts."""
        return MaskingShares(self.masked_relation_share, self.masked_end_share, self.hidden_neighbors_share)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (self.use_global or self.use_local):
            raise InputError("without both encoders nothing is left of RSCL")
        if self.factorised and (self.connected or self.relation_token != "shared" or self.masking_weight):
            raise InputError(
                "a factorised encoder knows one side alone: not what joins the two (connected), nor the relation "
                "(relation_token), and it does not mask in episodes (masking_weight 0)"
            )
        if self.max_neighbors < 3:
            raise InputError("max_neighbors must be 3 or more: the paper's positions begin at 2p - 4")


def paper() -> RSCLSettings:
    """Return the paper's settings for NELL-One."""
    return RSCLSettings()


def wiki_one() -> RSCLSettings:
    """Return the paper's settings for Wiki-One."""
    return RSCLSettings(width=50, num_layers=2, batch_size=64)


def fast() -> RSCLSettings:
    """Return settings for two CPU cores: two layers, background relations as tasks, eight relations a step."""
    return RSCLSettings(
        num_layers=2,
        dropout=0.2,
        regime="in-train",
        batch_size=128,
        relations_per_step=8,
        masking_weight=0.0,
        pretraining_steps=4000,
        steps=2000,
        schedule="linear",
        validate_every=500,
        valid_queries=150,
        checkpoint_every=500,
    )


def demo() -> RSCLSettings:
    """Return settings for a small graph and two minutes: one layer, smaller contexts, a higher rate."""
    return replace(
        fast(),
        width=64,
        num_layers=1,
        dropout=0.1,
        max_neighbors=6,
        max_distant=4,
        background_share=0.6,
        batch_size=64,
        pretraining_steps=2500,
        pretraining_batch_size=128,
        pretraining_rate=3e-3,
        steps=2500,
        learning_rate=3e-3,
        validate_every=500,
        valid_queries=150,
    )


PRESETS = {"paper": paper, "wiki-one": wiki_one, "fast": fast, "demo": demo}
