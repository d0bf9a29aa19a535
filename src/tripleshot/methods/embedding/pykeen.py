"""Any model of PyKEEN as a method, `pykeen:RotatE`: its scores, loss and constraints, our trainer and our protocol.

It learns from the triples that the embedding methods learn from. PyKEEN is an extra: `tripleshot[pykeen]`.
"""

import inspect
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from tripleshot.arrays import FloatArray, IntArray
from tripleshot.datasets.dataset import FewShotDataset
from tripleshot.datasets.negatives import CorruptedBatch, CorruptingSampler, TrainingTriples, collect_triples
from tripleshot.errors import InputError, did_you_mean
from tripleshot.methods.caching import SupportLookup, score_in_batches
from tripleshot.methods.settings import OptimizerKind, TrainingSettings, count, setting
from tripleshot.methods.trainable import Losses, Stage, TrainableMethod, TrainedWeights

SCORING_BATCH = 4096  # candidates
NUM_COMPARED = 64  # random tails that a new relation's examples are set against


@dataclass(frozen=True)
class PyKEENSettings(TrainingSettings):
    """How a model of PyKEEN learns; what is not here is as PyKEEN has it."""

    width: int = count(100, "d, size of the embeddings, for models that let one choose it")
    batch_size: int = count(1024, "B, true triples per step")
    num_negatives: int = count(16, "wrong triples per true one")
    bernoulli: bool = setting(True, "replace the head more often where a head has many tails; else half of the time")
    filtered: bool = setting(False, "draw wrong triples that are known to be true again")
    optimizer: OptimizerKind = setting("adam", "which one")


def tiny() -> PyKEENSettings:
    """Return settings for a graph of some thirty entities and a few seconds."""
    return PyKEENSettings(width=8, batch_size=32, num_negatives=4, steps=20, warmup=2, validate_every=10)


class PyKEENModule(nn.Module):
    """A model of PyKEEN, and the examples by which the relations of the tasks are found again."""

    supports: Tensor

    def __init__(self, model: Any, supports: Tensor) -> None:  # noqa: ANN401 (PyKEEN is an extra)
        super().__init__()
        self.model = model
        self.register_buffer("supports", supports)


class PyKEENMethod(TrainableMethod[PyKEENSettings, PyKEENModule]):
    """A model of PyKEEN on one dataset."""

    Settings = PyKEENSettings
    presets = {"fast": PyKEENSettings, "tiny": tiny}  # noqa: RUF012 (never changed)
    variant: ClassVar[str]

    def prepare(self, dataset: FewShotDataset, shots: int) -> None:
        """Make an untrained model for a dataset's names and its tasks, those of valid and test included."""
        self.graph, self._validates = dataset.graph, bool(dataset.valid)
        self._triples = collect_triples(dataset, shots)
        self._make(self._triples, dataset.graph.num_entities)

    def stages(self) -> list[Stage]:
        """Return how the model is trained: true triples among wrong ones."""
        settings = self.settings
        sizes = (settings.batch_size, settings.num_negatives, settings.bernoulli, settings.filtered)
        sampler = CorruptingSampler(self._triples, self.num_entities, *sizes)

        def losses(_: int, rng: np.random.Generator) -> Losses:
            return self._losses(sampler.draw(rng))

        return [self.stage("embedding", losses, self._validates, settings.optimizer)]

    def _make(self, triples: TrainingTriples, num_entities: int) -> None:
        from pykeen.models import model_resolver  # type: ignore[missing-import]
        from pykeen.triples import CoreTriplesFactory  # type: ignore[missing-import]

        columns = np.stack([triples.heads, triples.relations, triples.tails], axis=1).astype(np.int64)
        factory = CoreTriplesFactory(torch.from_numpy(columns), num_entities, triples.num_relations)
        sizes = inspect.signature(model_resolver.lookup(self.variant)).parameters
        width: dict[str, Any] = {"embedding_dim": self.settings.width} if "embedding_dim" in sizes else {}
        try:
            torch.manual_seed(self.settings.seed)
            seed = self.settings.seed
            model = model_resolver.make(self.variant, triples_factory=factory, random_seed=seed, **width)
        except (TypeError, ValueError) as error:
            raise InputError(f"PyKEEN cannot make {self.variant} of these triples alone: {error}") from None
        self.module = PyKEENModule(model, torch.from_numpy(triples.supports)).to(self.device)
        self.first_task = triples.num_relations - len(triples.supports)
        self.num_entities = num_entities
        self._lookup = SupportLookup(triples.supports)
        self._alike: dict[bytes, int] = {}

    def clear_cache(self) -> None:
        """Bring the weights back to where the model wants them, as PyKEEN does after every update."""
        self.module.model.post_parameter_update()
        self._alike.clear()

    def _losses(self, batch: CorruptedBatch) -> Losses:
        model = self.module.model
        model.post_parameter_update()
        triples = torch.from_numpy(_as_triples(batch)).to(self.device)  # (b, 1 + n, 3)
        positive = model.score_hrt(triples[:, 0])
        negative = model.score_hrt(triples[:, 1:].flatten(0, 1)).view(len(triples), -1)
        loss = model.loss.process_slcwa_scores(positive, negative, num_entities=self.num_entities)
        return {"loss": loss + model.collect_regularization_term()}

    def score(self, support: IntArray, head: int, tails: IntArray) -> FloatArray:
        """Score tails, and no other entities, a bounded number at a time."""
        self.module.eval()
        relation = self._relation_of(support)
        asked = torch.tensor([[head, relation]], device=self.device)

        @torch.inference_mode()
        def score(some: IntArray) -> Tensor:
            return self.module.model.score_t(asked, tails=torch.from_numpy(some.astype(np.int64)).to(self.device))[0]

        return score_in_batches(score, tails, SCORING_BATCH)

    def _relation_of(self, support: IntArray) -> int:
        """Return the relation that was trained with these examples, else the one that suits them best."""
        task = self._lookup.find(support)
        if task is not None:
            return self.first_task + task
        key = self._lookup.key(support)
        if key not in self._alike:
            self._alike[key] = self._most_alike(support)
        return self._alike[key]

    @torch.inference_mode()
    def _most_alike(self, support: IntArray) -> int:
        """Return the relation that tells the examples' tails best from random ones."""
        rng = np.random.default_rng(self.settings.seed)
        drawn = rng.integers(self.num_entities, size=(len(support), NUM_COMPARED))
        tails = torch.from_numpy(np.concatenate([support[:, 1:], drawn], axis=1)).to(self.device)
        heads = torch.from_numpy(support[:, 0].astype(np.int64)).to(self.device)
        shares = []
        for relation in range(self.first_task + len(self._lookup)):
            asked = torch.stack([heads, torch.full_like(heads, relation)], dim=1)
            scores = self.module.model.score_t(asked, tails=tails)
            shares.append(float((scores[:, :1] > scores[:, 1:]).double().mean()))
        return int(np.argmax(shares))

    def restore(self, dataset: FewShotDataset, weights: TrainedWeights) -> None:
        """Take the weights of a run on a graph of the same names."""
        if weights.names is not None and not weights.names.fits(dataset.graph):
            source = weights.source
            raise InputError(f"{source}: a PyKEEN model knows no names but those it was trained with; train it again")
        weights.num_rows("supports")
        self.prepare(dataset, weights.tensors["supports"].shape[1])
        weights.load_into(self.module)
        self.clear_cache()
        self.module.eval()


def pykeen_method(variant: str) -> type[PyKEENMethod]:
    """Return the method of one model, by the name that PyKEEN gives it."""
    if find_spec("pykeen") is None:
        raise InputError(f"pykeen:{variant} needs PyKEEN: pip install 'tripleshot[pykeen]'")
    from pykeen.models import model_resolver  # type: ignore[missing-import]

    if variant.lower() not in {name.lower() for name in model_resolver.options}:
        similar = did_you_mean(variant.lower(), sorted(model_resolver.options))
        raise InputError(f"PyKEEN has no model {variant!r}{similar}")
    return type(f"PyKEEN{variant}", (PyKEENMethod,), {"variant": variant})


def _as_triples(batch: CorruptedBatch) -> IntArray:
    """Return heads, relations and tails, shape (b, 1 + n, 3), the true triple first."""
    others = batch.entities[:, 1:]
    given = np.broadcast_to(batch.entities[:, :1], others.shape)
    turned = batch.backwards[:, None]
    relations = np.broadcast_to(batch.relations[:, None], others.shape)
    return np.stack([np.where(turned, others, given), relations, np.where(turned, given, others)], axis=2)
