"""Settings of the embedding methods, and those that each of them starts from."""

from collections.abc import Callable
from dataclasses import dataclass

from tripleshot.errors import InputError
from tripleshot.methods.losses import CorruptionLoss
from tripleshot.methods.settings import OptimizerKind, TrainingSettings


@dataclass(frozen=True)
class EmbeddingSettings(TrainingSettings):
    """Everything that decides how an embedding method learns.

    Attributes:
        width: d, size of the embeddings; ComplEx has as many imaginary numbers beside them.
        norm: of distances, 1 or 2; products have none.
        loss: keep a margin between true and wrong, or push each to its side of zero (softplus).
        margin: gamma of the margin loss.
        regularization: weight of the mean square of the vectors in a step's batch; 0 leaves it out.
        batch_size: B, true triples of a step.
        num_negatives: wrong triples for each of them.
        bernoulli: replace the head more often where a head has many tails; else as often as not.
        filtered: redraw wrong triples that are known to be true.
        fitting_steps: steps in which a relation that training has not seen is fitted to its examples; 0 keeps the
            closed form.
        pretrained: folder of a run whose vectors to start from, on the same data with as many examples, as TransR
            starts from TransE; empty starts at random.
        optimizer: which one; both touch only the embeddings in use.
        clip: largest gradient norm of what relations are made of; 0 does not clip.
    """

    width: int = 100
    norm: int = 1
    loss: CorruptionLoss = "margin"
    margin: float = 5.0
    regularization: float = 0.0
    batch_size: int = 256
    num_negatives: int = 16
    bernoulli: bool = True
    filtered: bool = False
    fitting_steps: int = 50
    pretrained: str = ""
    optimizer: OptimizerKind = "adagrad"
    steps: int = 80_000
    learning_rate: float = 0.1
    validate_every: int = 4000
    checkpoint_every: int = 4000

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.norm not in (1, 2):
            raise InputError(f"norm is 1 or 2, not {self.norm}")


PRODUCT = EmbeddingSettings(loss="softplus", regularization=1.0)
DEFAULTS = {
    "transe": EmbeddingSettings(),
    "transh": EmbeddingSettings(margin=4.0),
    "transr": EmbeddingSettings(margin=4.0, learning_rate=0.01),  # matrices leave the identity slowly
    "rescal": EmbeddingSettings(margin=1.0),
    "distmult": PRODUCT,
    "complex": PRODUCT,
}


def presets_of(variant: str) -> dict[str, Callable[[], EmbeddingSettings]]:
    """Return the settings that a model can start from, by name."""
    return {"fast": lambda: DEFAULTS[variant]}
