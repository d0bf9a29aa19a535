"""Settings of RSCL, all in one place; presets are functions."""

from dataclasses import dataclass, replace
from typing import Literal

from tripleshot.datasets.task_pool import Regime
from tripleshot.errors import InputError
from tripleshot.graph.neighbors import NeighborOrder
from tripleshot.methods.settings import Schedule, TrainingSettings, count, setting, share

RelationToken = Literal["shared", "own", "difference"]
MIN_NEIGHBORS = 3  # the paper's positions begin at 2p - 4


@dataclass(frozen=True)
class MaskingShares:
    """How often the triple itself is asked for, beside the 15% of all tokens.

    Attributes:
        relation: share of the contexts whose relation has to be predicted; the token that stands for every few-shot
            relation takes its place.
        end: share of the contexts whose head or whose tail has to be predicted.
        hidden_neighbors: share of those in which the neighbors of the masked end are hidden, too. Where they are shown,
            the end is recognised by them, and nothing is learned about what joins head and tail.
    """

    relation: float = 0.5
    end: float = 0.5
    hidden_neighbors: float = 0.8


@dataclass(frozen=True)
class RSCLSettings(TrainingSettings):
    """Everything that decides what RSCL is and how it learns; the defaults are the paper's for NELL-One."""

    width: int = count(100, "d, size of the embeddings")
    num_layers: int = count(4, "L, transformer blocks")
    num_heads: int = count(4, "attention heads of each block; they need not divide the width")
    dropout: float = share(0.3, "rate in both encoders")
    global_share: float = share(0.4, "lambda, weight of the global score against the local one")
    use_global: bool = setting(True, "false removes the global encoder (ablation)")
    use_local: bool = setting(True, "false removes the local encoder (ablation)")
    scale_attention: bool = setting(True, "divide by the root of the width where queries attend to examples")
    max_neighbors: int = setting(8, "p, pairs on each side of a context", at_least=MIN_NEIGHBORS)
    max_distant: int = setting(5, "q, distant neighbors among them at most; 0 uses direct neighbors only (ablation)")
    top_neighbors: NeighborOrder = setting(
        "file", "which neighbors come first in validation and test: in file order, or rare relations first"
    )
    factorised: bool = setting(
        False,
        "encode the neighbors of the head and those of the tail apart, so that a candidate is encoded once for all "
        "queries; not in the paper",
    )
    connected: bool = setting(
        False, "contexts begin with links between head and tail and with neighbors that both have; not in the paper"
    )
    train_edges: bool = setting(
        False,
        "show the triples of the train tasks as edges, too, but to no episode those of its own task; the paper's "
        "contexts show the background alone",
    )
    text: bool = setting(False, "read the names and labels of entities and relations, too; not in the paper")
    masked_score: bool = setting(
        False,
        "mix the similarity with what the pre-trained encoder expects in the tail's place; it is kept beside the one "
        "that learns from episodes; not in the paper",
    )
    expected_share: float = share(
        0.6,
        "share of the probability that what is expected usually has, beside the similarity; several examples decide "
        "how far their relation is from there",
    )
    relation_token: RelationToken = setting(
        "shared",
        "what stands for a few-shot relation: one shared token; its own, which for a new relation is a vector that was "
        "never trained; or the difference of the examples' mean embeddings",
    )
    regime: Regime = setting(
        "pre-train", "draw episodes from the train tasks alone, or from background relations as well"
    )
    background_share: float = share(0.5, "how often a background relation is drawn in the in-train regime")
    batch_size: int = count(256, "B, queries per step")
    relations_per_step: int = count(
        1, "how many relations share them, each with a support of its own; the paper takes one"
    )
    num_negatives: int = count(1, "wrong answers per query")
    hardest_of: int = count(
        1,
        "how many wrong answers are drawn for each that is learned from, which is the one that scores highest (hard "
        "negative mining); the paper draws one",
    )
    swapped_heads: float = share(
        0.0,
        "share of the queries of an episode that show the token of another query's head, beside the neighbors of their "
        "own: what is known of a pair by heart says nothing about them, and what is like the examples has to; the "
        "paper shows every head",
    )
    margin: float = setting(5.0, "gamma of the ranking loss")
    masking_weight: float = setting(
        1.0, "weight of the masked-token loss of the true triples beside the ranking loss; 0 leaves it out"
    )
    masked_relation_share: float = share(
        0.5, "share of masked contexts whose relation has to be predicted from the shared token"
    )
    masked_end_share: float = share(0.5, "share of masked contexts whose head or tail has to be predicted")
    hidden_neighbors_share: float = share(
        0.8, "share of those in which the neighbors of the masked end are hidden with it"
    )
    num_sampled: int = setting(1024, "entities that stand for all in the masked-token loss; 0 takes all of them")
    pretrained: str = setting("", "a run whose pre-training to start from, instead of a pre-training of its own")
    pretraining_steps: int = setting(
        10_000, "steps of masked-token training on the background and the train tasks before the episodes"
    )
    pretraining_task_share: float = share(
        0.3, "share of train tasks' triples among the pre-training's; the others are the background's"
    )
    held_back: float = share(
        0.0,
        "share of all triples that pre-training does not see and that alone are asked about in episodes, as those of a "
        "new relation are; the paper shows all of them",
    )
    held_back_episodes: float = share(
        1.0, "how often an episode asks about what was held back alone; the others ask about all triples"
    )
    remembering_steps: int = setting(
        0,
        "steps that a second encoder goes on with pre-training, from where the first is, about all triples, those held "
        "back as well; masked_score asks this one what it expects. 0 makes no second one; not in the paper",
    )
    pretraining_batch_size: int = count(256, "contexts per step of pre-training")
    pretraining_rate: float = setting(1e-3, "learning rate of pre-training")
    pretraining_dropout: float = share(0.3, "dropout rate of pre-training")
    frozen_elements: bool = setting(
        False,
        "keep the embeddings as pre-training left them while the encoders learn from episodes, which know few of the "
        "entities; not in the paper",
    )
    batch_contexts: int = count(
        256, "contexts scored at once by each thread; it bounds memory, some 0.3 MB each at the paper's size"
    )
    steps: int = 300_000
    schedule: Schedule = "stepwise"
    clip: float = 5.0
    validate_every: int = 10_000
    valid_queries: int = 200
    patience: int = 10

    @property
    def keeps_pretrained(self) -> bool:
        """Whether an encoder that was pre-trained is kept beside the one that learns from episodes."""
        return self.masked_score or bool(self.remembering_steps)

    @property
    def masking_shares(self) -> MaskingShares:
        """How often relation and ends are asked for in masked contexts."""
        return MaskingShares(self.masked_relation_share, self.masked_end_share, self.hidden_neighbors_share)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (self.use_global or self.use_local):
            raise InputError("without both encoders nothing is left of RSCL")
        if self.masked_score and not (self.use_global and (self.pretraining_steps or self.pretrained)):
            raise InputError("masked_score needs an encoder that was pre-trained: use_global, and pretraining_steps")
        if self.remembering_steps and not (self.use_global and (self.pretraining_steps or self.pretrained)):
            raise InputError("remembering_steps go on with a pre-training: use_global, and pretraining_steps")
        if self.frozen_elements and not (self.use_global and (self.pretraining_steps or self.pretrained)):
            raise InputError(
                "frozen_elements needs embeddings that were pre-trained: use_global, and pretraining_steps"
            )
        if self.swapped_heads and (self.masking_weight or self.factorised):
            raise InputError(
                "swapped_heads makes contexts that are not true, which masking in episodes would ask about "
                "(masking_weight 0), and there are no whole contexts with factorised"
            )
        if self.factorised and (self.connected or self.relation_token != "shared" or self.masking_weight):
            raise InputError(
                "a factorised encoder knows one side alone: not what joins the two (connected), nor the relation "
                "(relation_token), and it does not mask in episodes (masking_weight 0)"
            )


def paper() -> RSCLSettings:
    """Return the paper's settings for NELL-One."""
    return RSCLSettings()


def wiki_one() -> RSCLSettings:
    """Return the paper's settings for Wiki-One."""
    return RSCLSettings(width=50, num_layers=2, batch_size=64)


def nell_one() -> RSCLSettings:
    """Return settings for NELL-One and an hour of one CPU core.

    One layer; a short training with fixed embeddings, half of it about background relations. Half of the episodes ask
    only about triples that pre-training has not seen, and half of their queries show another head's token, so that both
    what is known and what is like the examples are learned from.
    """
    return RSCLSettings(
        num_layers=1,
        dropout=0.2,
        regime="in-train",
        batch_size=128,
        relations_per_step=8,
        hardest_of=4,
        swapped_heads=0.5,
        masking_weight=0.0,
        frozen_elements=True,
        held_back=0.15,
        held_back_episodes=0.5,
        pretraining_steps=30_000,
        pretraining_dropout=0.1,
        steps=5000,
        schedule="linear",
        validate_every=5000,
        valid_queries=100,
        patience=0,
        checkpoint_every=1000,
    )


def fast() -> RSCLSettings:
    """Return settings for two CPU cores: two layers, background relations as tasks, eight relations per step."""
    return RSCLSettings(
        num_layers=2,
        dropout=0.2,
        regime="in-train",
        batch_size=128,
        relations_per_step=8,
        masking_weight=0.0,
        pretraining_steps=4000,
        pretraining_dropout=0.2,
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
        pretraining_dropout=0.1,
        steps=2500,
        learning_rate=3e-3,
        validate_every=500,
        valid_queries=150,
    )


def tiny() -> RSCLSettings:
    """Return settings for tests: a small network and a few steps of each stage."""
    return RSCLSettings(
        width=16,
        num_layers=1,
        num_heads=2,
        max_neighbors=4,
        max_distant=2,
        batch_size=16,
        num_sampled=8,
        pretraining_steps=10,
        steps=20,
        validate_every=10,
    )


PRESETS = {"paper": paper, "nell-one": nell_one, "wiki-one": wiki_one, "fast": fast, "demo": demo, "tiny": tiny}
