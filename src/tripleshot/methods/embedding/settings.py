"""Settings of the embedding methods, and those that each of them starts from."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from tripleshot.methods.losses import CorruptionLoss
from tripleshot.methods.settings import OptimizerKind, TrainingSettings, count, setting, share


@dataclass(frozen=True)
class EmbeddingSettings(TrainingSettings):
    """How an embedding method learns."""

    width: int = count(100, "d, size of the embeddings; ComplEx has as many imaginary numbers beside them")
    norm: int = setting(1, "of distances, 1 or 2; products have none", at_least=1, at_most=2)
    loss: CorruptionLoss = setting(
        "margin",
        "keep a margin between true and wrong triples, push each to its side of zero (softplus), or make the true one "
        "the most probable among its wrong ones (softmax)",
    )
    margin: float = setting(5.0, "gamma of the margin loss")
    regularization: float = setting(
        0.0, "weight of the mean square of the vectors in a batch, and of the rows of matrices; 0 leaves it out"
    )
    batch_size: int = count(256, "B, true triples per step")
    num_negatives: int = count(16, "wrong triples per true one")
    shared_negatives: int = setting(
        0, "wrong entities of each step that all of its triples share, besides: a thousand cost as much as some ten"
    )
    bernoulli: bool = setting(True, "replace the head more often where a head has many tails; else half of the time")
    filtered: bool = setting(False, "draw wrong triples that are known to be true again")
    held_back: float = share(
        0.0, "share of the train tasks' triples that training does not see, for a few-shot method to be asked about"
    )
    fitting_steps: int = setting(
        50, "steps in which a relation that training has not seen is fitted to its examples; 0 keeps the closed form"
    )
    pretrained: str = setting(
        "",
        "run whose vectors to start from, on the same data with as many examples, as TransR starts from TransE; empty "
        "starts at random",
    )
    optimizer: OptimizerKind = setting("adagrad", "which one; both touch only the embeddings in use")
    steps: int = 80_000
    learning_rate: float = 0.1
    validate_every: int = 4000
    checkpoint_every: int = 4000


PRODUCT = EmbeddingSettings(loss="softplus", regularization=1.0)
DEFAULTS = {
    "transe": EmbeddingSettings(),
    "transh": EmbeddingSettings(margin=4.0),
    "transr": EmbeddingSettings(margin=4.0, learning_rate=0.01),  # matrices leave the identity slowly
    "rescal": EmbeddingSettings(margin=1.0),
    "distmult": PRODUCT,
    "complex": PRODUCT,
}


NELL_ONE = {"loss": "softmax", "num_negatives": 1, "shared_negatives": 1000, "validate_every": 10_000}
TUNED: dict[str, dict[str, Any]] = {
    "transe": {**NELL_ONE, "shared_negatives": 256, "steps": 20_000, "validate_every": 20_000},
    "distmult": {**NELL_ONE, "regularization": 3.0, "steps": 10_000, "validate_every": 5000},
    "rescal": {**NELL_ONE, "regularization": 3.0, "batch_size": 512, "steps": 4000, "validate_every": 2000},
}
"""What was chosen for NELL-One on its valid tasks and on train tasks that were held out."""


def presets_of(variant: str) -> dict[str, Callable[[], EmbeddingSettings]]:
    """Return the settings that a model can start from, by name."""
    usual = DEFAULTS[variant]
    tiny = replace(usual, width=8, batch_size=32, num_negatives=4, steps=20, validate_every=10)
    tuned = {"nell-one": lambda: replace(usual, **TUNED[variant])} if variant in TUNED else {}
    return {"fast": lambda: usual, **tuned, "tiny": lambda: tiny}
