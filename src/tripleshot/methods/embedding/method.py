"""Embedding methods as the paper uses them: few-shot relations are relations like all others, with K triples each.

Training sees the background, the train tasks and the K examples of every valid and test task, never a query. A support
is recognised as that of a relation it was trained with; for any other, a relation is fitted to the examples.
"""

import math
from dataclasses import replace
from functools import partial
from threading import Lock
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from tripleshot.arrays import FloatArray, IntArray
from tripleshot.datasets.dataset import FewShotDataset
from tripleshot.datasets.held_back import train_without_held_back
from tripleshot.datasets.negatives import CorruptingSampler, TrainingTriples, collect_triples
from tripleshot.errors import InputError
from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.methods.caching import SupportLookup, score_in_batches, sort_examples
from tripleshot.methods.embedding.models import SCORINGS, EmbeddingModel, Relations
from tripleshot.methods.embedding.settings import DEFAULTS, EmbeddingSettings, presets_of
from tripleshot.methods.embedding.vectors import export_vectors
from tripleshot.methods.losses import corruption_loss
from tripleshot.methods.trainable import Losses, Stage, TrainableMethod, TrainedNames, TrainedWeights, Vectors

SCORING_BATCH = 16_384  # candidates
MAX_FITTED = 1000  # new relations that are kept
FITTING_RATE = 0.01  # of Adam
FITTING_NEGATIVES = 64  # per step and example


class EmbeddingMethod(TrainableMethod[EmbeddingSettings, EmbeddingModel]):
    """One of the six models on one dataset."""

    Settings = EmbeddingSettings
    starts_from = "weights"
    variant: ClassVar[str]
    _validates = False

    def __init__(self, settings: EmbeddingSettings | None = None, device: str = "cpu") -> None:
        """Choose settings; vectors are made when the dataset is known."""
        super().__init__(settings or DEFAULTS[self.variant], device)
        self._fitted: dict[bytes, dict[str, Tensor]] = {}
        self._fitting = Lock()

    @classmethod
    def with_settings(cls, settings: dict[str, Any], device: str = "cpu") -> Self:
        """Make the method from settings as a run keeps them; those that are not given are this model's own."""
        return cls(replace(DEFAULTS[cls.variant], **settings), device)

    @classmethod
    def width_for(cls, size: int) -> int:
        """Return the width with which its vectors have so many numbers: complex ones have two per dimension."""
        return size // SCORINGS[cls.variant].parts

    def prepare(self, dataset: FewShotDataset, shots: int) -> None:
        """Make untrained vectors for a dataset's names and its tasks, those of valid and test included."""
        self.graph, self._validates = dataset.graph, bool(dataset.valid)
        held_back = self.settings.held_back
        seen = train_without_held_back(dataset, held_back) if held_back else dataset
        self.prepare_triples(collect_triples(seen, shots), dataset.graph.num_entities)

    def prepare_triples(self, triples: TrainingTriples, num_entities: int) -> None:
        """Make untrained vectors for triples that are given as they are."""
        self._triples, self._num_entities = triples, num_entities
        self._make_module(num_entities, triples.num_relations, triples.supports)

    @torch.no_grad()
    def start_from(self, start: Vectors | TrainedWeights) -> None:
        """Take the vectors of entities and relations that another method has learned from the same triples."""
        own, trained = self.module.state_dict(), start.tensors if isinstance(start, TrainedWeights) else {}
        for name in ("entities.weight", "relations.vectors"):
            if name not in own or name not in trained or trained[name].shape != own[name].shape:
                needed = f"{name} as wide and for as many relations as {self.variant} needs"
                raise InputError(f"{start.source}: has no {needed}")
        for name in ("entities.weight", "relations.vectors"):
            own[name].copy_(trained[name])

    def clear_cache(self) -> None:
        """Drop the relations that were fitted to new examples."""
        self._fitted.clear()

    def stages(self) -> list[Stage]:
        """Return how vectors are trained: true triples among wrong ones."""
        settings = self.settings
        sizes = (settings.batch_size, settings.num_negatives, settings.bernoulli, settings.filtered)
        sampler = CorruptingSampler(self._triples, self._num_entities, *sizes)
        losses = partial(self._losses, sampler)
        return [self.stage("embedding", losses, self._validates, settings.optimizer)]

    def _make_module(self, num_entities: int, num_relations: int, supports: npt.NDArray[np.int64]) -> None:
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
        self._index_supports(supports)

    def _index_supports(self, supports: npt.NDArray[np.int64]) -> None:
        self._lookup = SupportLookup(supports)
        self._fitted.clear()

    def _losses(self, sampler: CorruptingSampler, _step: int, rng: np.random.Generator) -> Losses:
        """Score true triples above wrong ones."""
        settings, batch = self.settings, sampler.draw(rng)
        vectors = self.module.entity_vectors(torch.from_numpy(batch.entities).to(self.device))
        rows = torch.from_numpy(batch.relations).to(self.device)
        relations = Relations(self.module.tables(), rows)
        shared = self._shared_vectors(rng)
        scores = self.module.score(vectors, relations, torch.from_numpy(batch.backwards).to(self.device), shared)
        losses: Losses = {settings.loss: corruption_loss(scores, settings.loss, settings.margin)}
        if settings.regularization:
            used = rows.unique()
            of_relations = (mean_square(table[used]) for table in relations.tables.values())
            squares = torch.stack([vectors.square().mean(), *of_relations])
            losses["regularization"] = settings.regularization * squares.sum()
        return losses

    def _shared_vectors(self, rng: np.random.Generator) -> Tensor | None:
        """Draw the wrong entities that all triples of a step share, if there are any."""
        if not self.settings.shared_negatives:
            return None
        drawn = rng.integers(self._num_entities, size=self.settings.shared_negatives)
        return self.module.entity_vectors(torch.from_numpy(drawn).to(self.device))

    def score(self, support: IntArray, head: int, tails: IntArray) -> FloatArray:
        """Score tails by the vectors of head, relation and tail, a bounded number at a time."""
        tables = self._tables_of(support)

        @torch.inference_mode()
        def score(some: IntArray) -> Tensor:
            asked = torch.from_numpy(np.concatenate([[head], some]).astype(np.int64)).to(self.device)
            vectors = self.module.entity_vectors(asked[None])
            return self.module.score(vectors, Relations(tables, asked.new_zeros(1)))[0]

        return score_in_batches(score, tails, SCORING_BATCH)

    def _tables_of(self, support: IntArray) -> dict[str, Tensor]:
        """Return the tables, of one row each, of the relation with these examples; one that is new is fitted once."""
        task = self._lookup.find(support)
        if task is not None:
            row = task - len(self._lookup)  # the tasks' relations stand at the end
            return {name: table.detach()[row][None] for name, table in self.module.tables().items()}
        key = self._lookup.key(support)
        with self._fitting:
            if key not in self._fitted:
                if len(self._fitted) >= MAX_FITTED:
                    self._fitted.clear()
                self._fitted[key] = fit_relation(self.module, sort_examples(support), self.settings)
            return self._fitted[key]

    def restore(self, dataset: FewShotDataset, weights: TrainedWeights) -> None:
        """Take the weights of a run, by name; an entity that it has never seen has a zero vector."""
        self.graph = graph = dataset.graph
        num_relations = weights.num_rows(f"relations.{SCORINGS[self.variant].tables[0]}")
        weights.num_rows("supports")
        self._make_module(
            graph.num_entities, num_relations, np.zeros(weights.tensors["supports"].shape, dtype=np.int64)
        )
        names = weights.names
        if names is None or names.fits(graph):
            weights.load_into(self.module)
            self._index_supports(self.module.supports.cpu().numpy())
        else:
            last = len(names.entities)  # zeros, for an entity that training has not seen
            rows = np.append(names.entities.align(dataset.graph.entities, last), last)
            weights.load_into(self.module, {"entities.weight": rows})
            self._index_supports(_renumbered(self.module.supports.cpu().numpy(), names, dataset))
        self.module.eval()


class VectorMethod(EmbeddingMethod):
    """One whose relations are vectors: few-shot methods can start from them."""

    @classmethod
    def export_vectors(cls, weights: TrainedWeights, graph: KnowledgeGraph) -> Vectors:
        """Return the vectors of a run by the names of a graph."""
        return export_vectors(SCORINGS[cls.variant], weights, graph)


class TransE(VectorMethod):
    """A relation is a translation (Bordes et al., 2013)."""

    variant = "transe"
    presets = presets_of(variant)


class TransH(VectorMethod):
    """TransE on a hyperplane of each relation (Wang et al., 2014)."""

    variant = "transh"
    presets = presets_of(variant)


class TransR(VectorMethod):
    """TransE in a space of each relation (Lin et al., 2015)."""

    variant = "transr"
    presets = presets_of(variant)

    @classmethod
    def paper_init(cls, settings: EmbeddingSettings) -> str:
        """The paper starts from TransE."""
        return "transe"


class RESCAL(EmbeddingMethod):
    """A relation is a matrix (Nickel et al., 2011)."""

    variant = "rescal"
    presets = presets_of(variant)


class DistMult(VectorMethod):
    """A relation weighs each dimension (Yang et al., 2015)."""

    variant = "distmult"
    presets = presets_of(variant)


class ComplEx(VectorMethod):
    """DistMult with complex numbers (Trouillon et al., 2016)."""

    variant = "complex"
    presets = presets_of(variant)


def fit_relation(model: EmbeddingModel, support: IntArray, settings: EmbeddingSettings) -> dict[str, Tensor]:
    """Return a relation's tables, of one row each, that suit some examples; the same ones for the same examples.

    It begins with a closed form: the mean translation, or the direction in which the examples' product score grows
    fastest, as long as trained relations are. Some steps of Adam then train it against random wrong tails.

    Args:
        model: trained; it stays as it is.
        support: shape (K, 2).
        settings: loss, margin, seed and number of steps.
    """
    with torch.inference_mode(False), torch.enable_grad():
        pairs = torch.from_numpy(np.ascontiguousarray(support, dtype=np.int64)).to(model.supports.device)
        rows = pairs.new_zeros(len(pairs))
        tables = {name: table.requires_grad_() for name, table in _estimate(model, pairs, rows).items()}
        optimizer = torch.optim.Adam(tables.values(), lr=FITTING_RATE)
        rng = np.random.default_rng(settings.seed)
        for _ in range(settings.fitting_steps):
            drawn = rng.integers(model.entities.num_embeddings - 1, size=(len(pairs), FITTING_NEGATIVES))
            wrong = torch.from_numpy(drawn).to(pairs.device)
            vectors = model.entity_vectors(torch.cat([pairs, wrong], 1)).detach()
            loss = corruption_loss(model.score(vectors, Relations(tables, rows)), settings.loss, settings.margin)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return {name: table.detach() for name, table in tables.items()}


@torch.no_grad()
def _estimate(model: EmbeddingModel, pairs: Tensor, rows: Tensor) -> dict[str, Tensor]:
    """Return the closed form for the first table; the others start from the mean of the trained relations."""
    scoring, trained = model.scoring, model.tables()
    tables = {name: table.mean(0, keepdim=True) for name, table in trained.items()}
    placed = scoring.place(model.entity_vectors(pairs), Relations(tables, rows))
    estimated = scoring.estimate(placed[:, 0], placed[:, 1])
    first = scoring.tables[0]
    if not scoring.is_unit:
        usual = torch.linalg.vector_norm(trained[first].flatten(1), dim=1).mean()
        estimated *= usual / torch.linalg.vector_norm(estimated).clamp(min=1e-12)
    return {**tables, first: estimated[None]}


def _renumbered(
    supports: npt.NDArray[np.int64], trained: TrainedNames, dataset: FewShotDataset
) -> npt.NDArray[np.int64]:
    """Return the examples by the ids of another graph, -1 for an entity that it does not have."""
    ids = dataset.graph.entities.align(trained.entities, -1)
    return np.where(supports < 0, -1, ids[supports])


def mean_square(relations: Tensor) -> Tensor:
    """Return the mean square of vectors, shape (n, d); of matrices, shape (n, d, d), that of their rows as a whole.

    A mean over the numbers of a matrix would hold back each of them d times less than those of a vector.
    """
    return relations.square().mean() * math.prod(relations.shape[2:])
