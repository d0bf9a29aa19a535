"""Embedding methods as the paper uses them: few-shot relations are relations like all others, with K triples each.

Training sees the background, the train tasks and the K examples of every valid and test task, never a query. A support
is recognised as that of a relation it was trained with; for any other, a relation is fitted to the examples at once.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from safetensors import safe_open
from torch import Tensor

from tripleshot.arrays import FloatArray, IntArray
from tripleshot.datasets.dataset import FewShotDataset
from tripleshot.datasets.negatives import CorruptingSampler, TrainingTriples, collect_triples
from tripleshot.errors import InputError
from tripleshot.methods.embedding.models import SCORINGS, EmbeddingModel, Relations
from tripleshot.methods.embedding.relation_fitting import fit_relation
from tripleshot.methods.embedding.settings import DEFAULTS, EmbeddingSettings
from tripleshot.methods.known_supports import KnownSupports, in_order
from tripleshot.methods.learner import Learner
from tripleshot.methods.losses import corruption_loss
from tripleshot.training.checkpoints import WEIGHTS, load_weights, weight_shapes
from tripleshot.training.runs import RunVocabulary, load_config, load_vocabulary, require_same_data
from tripleshot.training.trainer import Losses, Stage

SCORED_AT_ONCE = 16_384  # candidates; it bounds memory
MAX_FITTED = 1000  # relations fitted on the spot that are remembered


class EmbeddingFamily:
    """Makes methods of one model: it stands where a class of methods stands."""

    Settings = EmbeddingSettings

    def __init__(self, variant: str) -> None:
        """Choose a model: transe, transh, transr, rescal, distmult or complex."""
        self.variant = variant

    def __call__(self) -> "EmbeddingMethod":
        """Make the method with the settings that this model starts from."""
        return EmbeddingMethod(self.variant)

    def with_settings(self, settings: dict[str, Any], device: str = "cpu") -> "EmbeddingMethod":
        """Make the method from settings as a run keeps them; those that are not given are this model's own."""
        return EmbeddingMethod(self.variant, replace(DEFAULTS[self.variant], **settings), device)

    @property
    def presets(self) -> dict[str, Callable[[], EmbeddingSettings]]:
        """Where settings start from."""
        return {"fast": lambda: DEFAULTS[self.variant]}


class EmbeddingMethod(Learner[EmbeddingSettings, EmbeddingModel]):
    """One of the six models on one dataset."""

    def __init__(self, variant: str, settings: EmbeddingSettings | None = None, device: str = "cpu") -> None:
        """Choose a model and its settings; vectors are made when the dataset is known."""
        super().__init__(settings or DEFAULTS[variant], device)
        self.variant = variant
        self._fitted: dict[bytes, dict[str, Tensor]] = {}
        self._fitting = Lock()

    def begin(self, dataset: FewShotDataset, shots: int, folder: Path | None) -> list[Stage]:
        """Make untrained vectors, and return how they are trained, on the examples of valid and test tasks, too."""
        stage = self.prepare(collect_triples(dataset, shots), dataset.graph.num_entities, bool(dataset.valid))
        if self.settings.pretrained:
            self._start_from(Path(self.settings.pretrained), dataset)
        return [stage]

    @torch.no_grad()
    def _start_from(self, folder: Path, dataset: FewShotDataset) -> None:
        """Take the vectors of entities and relations that another method has learnt from the same triples."""
        require_same_data(load_config(folder), dataset)
        own, trained = self.module.state_dict(), weight_shapes(folder)
        for name in ("entities.weight", "relations.vectors"):
            if name not in own or trained.get(name) != own[name].shape:
                raise InputError(f"{folder}: has no {name} as wide and for as many relations as {self.variant} needs")
        with safe_open(folder / WEIGHTS, framework="pt") as file:
            for name in ("entities.weight", "relations.vectors"):
                own[name].copy_(file.get_tensor(name))

    def forget(self) -> None:
        """Drop the relations that were fitted on the spot."""
        self._fitted.clear()

    def prepare(self, triples: TrainingTriples, num_entities: int, validates: bool = False) -> Stage:
        """Make untrained vectors, and return how they are trained."""
        settings = self.settings
        self._make(num_entities, triples.num_relations, triples.supports)
        sampler = CorruptingSampler(
            triples, num_entities, settings.batch_size, settings.num_negatives, settings.bernoulli, settings.filtered
        )
        return self.stage(
            "embedding", lambda step, chance: self._losses(sampler, chance), validates, settings.optimizer
        )

    def _make(self, num_entities: int, num_relations: int, supports: npt.NDArray[np.int64]) -> None:
        settings = self.settings
        torch.manual_seed(settings.seed)
        self.module = EmbeddingModel(
            SCORINGS[self.variant],
            num_entities,
            num_relations,
            settings.width,
            settings.norm,
            torch.from_numpy(supports),
        ).to(self.device)
        self._know(supports)

    def _know(self, supports: npt.NDArray[np.int64]) -> None:
        self._known = KnownSupports(supports)
        self._fitted.clear()

    def _losses(self, sampler: CorruptingSampler, chance: np.random.Generator) -> Losses:
        """Score true triples above wrong ones."""
        settings, batch = self.settings, sampler.draw(chance)
        vectors = self.module.entity_vectors(torch.from_numpy(batch.entities).to(self.device))
        rows = torch.from_numpy(batch.relations).to(self.device)
        relations = Relations(self.module.tables(), rows)
        scores = self.module.score(vectors, relations, torch.from_numpy(batch.backwards).to(self.device))
        losses: Losses = {settings.loss: corruption_loss(scores, settings.loss, settings.margin)}
        if settings.regularization:
            used = rows.unique()
            parts = [vectors, *(table[used] for table in relations.tables.values())]
            squares = torch.stack([part.square().mean() for part in parts])
            losses["regularization"] = settings.regularization * squares.sum()
        return losses

    def score(self, support: IntArray, head: int, tails: IntArray) -> FloatArray:
        """Score tails by the vectors of head, relation and tail, a bounded number at a time."""
        tables = self._tables_of(support)
        parts = [tails[start : start + SCORED_AT_ONCE] for start in range(0, len(tails), SCORED_AT_ONCE)]
        scores = [np.empty(0, dtype=np.float32)]
        with torch.inference_mode():
            for part in parts:
                asked = torch.from_numpy(np.concatenate([[head], part]).astype(np.int64)).to(self.device)
                relations = Relations(tables, asked.new_zeros(1))
                vectors = self.module.entity_vectors(asked[None])
                scores.append(self.module.score(vectors, relations)[0].cpu().numpy())
        return np.concatenate(scores)

    def _tables_of(self, support: IntArray) -> dict[str, Tensor]:
        """Return what is kept of the relation that the examples speak of; one that is new is fitted once."""
        task = self._known.find(support)
        if task is not None:
            row = task - len(self._known)  # the tasks' relations stand at the end
            return {name: table.detach()[row][None] for name, table in self.module.tables().items()}
        key = self._known.key(support)
        with self._fitting:
            if key not in self._fitted:
                if len(self._fitted) >= MAX_FITTED:
                    self._fitted.clear()
                self._fitted[key] = fit_relation(self.module, in_order(support), self.settings)
            return self._fitted[key]

    def restore(self, dataset: FewShotDataset, folder: Path) -> None:
        """Take the weights of a run, by name; an entity that it has never seen has a zero vector."""
        shapes, graph = weight_shapes(folder), dataset.graph
        first = f"relations.{SCORINGS[self.variant].tables[0]}"
        num_relations = shapes.get(first, (0,))[0]
        self._make(graph.num_entities, num_relations, np.zeros(shapes.get("supports", (0, 0, 2)), dtype=np.int64))
        trained = load_vocabulary(folder)
        fits = trained is None or trained.fits(graph)
        load_weights(self.module, folder, None if fits else {"entities.weight": _trained_rows(trained, dataset)})
        supports = self.module.supports.cpu().numpy()
        self._know(supports if fits else _renumbered(supports, trained, dataset))
        self.module.eval()


def _trained_rows(trained: RunVocabulary, dataset: FewShotDataset) -> npt.NDArray[np.int64]:
    """Return which row of the trained table each entity takes: the last one for an unknown name."""
    found = trained.entities.find(dataset.graph.entities.names).astype(np.int64)
    last = len(trained.entities)
    return np.append(np.where(found < 0, last, found), last)


def _renumbered(
    supports: npt.NDArray[np.int64], trained: RunVocabulary, dataset: FewShotDataset
) -> npt.NDArray[np.int64]:
    """Return the examples by the ids of another graph, -1 for an entity that it does not have."""
    ids = dataset.graph.entities.find(trained.entities.names).astype(np.int64)
    return np.where(supports < 0, -1, ids[supports])
