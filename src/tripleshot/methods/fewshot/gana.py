"""GANA (Niu et al., 2021): a gated and attentive neighbor aggregator, and MTransH, a hyperplane for each relation.

Examples are read as [h'; t'], each entity mixed with its neighbors through a gate; an LSTM over the examples gives R.
Heads and tails are projected onto the relation's hyperplane and scored as in MetaR, whose step it takes on R and on p.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from tripleshot.arrays import FloatArray, IntArray
from tripleshot.datasets.dataset import FewShotDataset
from tripleshot.datasets.episodes import TaskBatch
from tripleshot.methods.caching import SupportCache, score_in_batches
from tripleshot.methods.episode_settings import MetaSettings, batches_of
from tripleshot.methods.fewshot.gradient_step import SCORING_BATCH, distance_loss, draw_wrong_tails, embed
from tripleshot.methods.fewshot.hyperplanes import Relations, gradients
from tripleshot.methods.fewshot.neighborhoods import NeighborFinder, Neighborhoods
from tripleshot.methods.fewshot.vectors import SymbolVectors, restore_weights
from tripleshot.methods.trainable import Losses, Stage, TrainableMethod, TrainedWeights, Vectors

LSTM_LAYERS = 2


@dataclass(frozen=True)
class GANASettings(MetaSettings):
    """Everything that decides what GANA is and how it learns.

    Attributes:
        lstm_width: size of the LSTM's states, each direction.
        dropout: rate on neighbors and in the LSTM.
        max_neighbors: p, neighbors of an entity at most, both directions.
        hyperplane_rate: as inner_rate, for the normal of a relation's hyperplane.
        faithful: train as the public code does: the examples' loss is minimised, too, their gradient is divided by the
            number of relations in a step, and every relation has a hyperplane of its own, of no fixed length, that is
            moved by the gradient of R in training only; that of a new relation was never trained.
    """

    lstm_width: int = 600
    max_neighbors: int = 50
    hyperplane_rate: float = 1.0
    faithful: bool = False


def paper() -> GANASettings:
    """Return the published settings for NELL-One; it starts from TransE, whose run `pretrained` has to name."""
    return GANASettings()


def fast() -> GANASettings:
    """Return settings for two CPU cores: a narrow LSTM, fewer relations a step, more queries of each."""
    return GANASettings(lstm_width=100, max_neighbors=20, batch_size=4096, relations_per_step=128, steps=20_000)


PRESETS = {"fast": fast, "paper": paper}


class GANA(nn.Module):
    """Symbols that examples are read with, entity vectors that tails are scored with, and the networks between."""

    def __init__(self, num_entities: int, num_relations: int, num_own: int, settings: GANASettings) -> None:
        """Start at random, entities about one long; the last is one that training has not seen, and stays zero.

        Args:
            num_entities: of the graph.
            num_relations: of the graph, inverses not counted.
            num_own: relations that have a hyperplane of their own.
            settings: widths and dropout.
        """
        super().__init__()
        width, hidden = settings.width, settings.lstm_width
        self.symbols = SymbolVectors(num_entities, num_relations, width)
        self.entities = nn.Embedding(num_entities + 1, width, sparse=True)
        nn.init.normal_(self.entities.weight, std=width**-0.5)
        nn.init.zeros_(self.entities.weight[-1])
        self.edge = nn.Linear(2 * width, width)
        self.attention = nn.Linear(width, 1, bias=False)
        self.gate = nn.Linear(width, 1)
        self.lstm = nn.LSTM(
            2 * width, hidden, LSTM_LAYERS, batch_first=True, dropout=settings.dropout, bidirectional=True
        )
        self.relation = nn.Linear(LSTM_LAYERS * 2 * hidden, width)
        self.normal = nn.Parameter(functional.normalize(torch.randn(width), dim=0))
        self.own_normals = nn.Embedding(num_own, width) if num_own else None
        if self.own_normals is not None:
            nn.init.xavier_normal_(self.own_normals.weight)
        self.dropout = nn.Dropout(settings.dropout)

    def forward(self, support: Tensor, neighborhoods: Neighborhoods) -> Tensor:
        """Return R of each relation, shape (T, d), from the ids of its examples, shape (T, K, 2), and all neighbors."""
        mixed = self.aggregate(self.symbols.entities(support.flatten()), neighborhoods)
        outputs, (_, cells) = self.lstm(mixed.view(*support.shape[:2], -1))
        final = cells.view(LSTM_LAYERS, 2, len(support), -1).permute(2, 0, 1, 3).flatten(2)  # (T, layers, 2 hidden)
        weights = (outputs @ final.transpose(1, 2)).softmax(1)  # (T, K, layers)
        return self.relation((weights.transpose(1, 2) @ outputs).flatten(1))

    def aggregate(self, entities: Tensor, neighborhoods: Neighborhoods) -> Tensor:
        """Mix entities, shape (n, d), with what their neighbors say; one without neighbors stays as it is."""
        edges = self.symbols.relations(neighborhoods.relations), self.symbols.entities(neighborhoods.entities)
        states = functional.leaky_relu(self.edge(self.dropout(torch.cat(edges, dim=1))))
        weights = neighborhoods.softmax(self.attention(states).squeeze(1))
        heard = neighborhoods.sum(weights[:, None] * states)
        share = self.gate(heard).sigmoid() * (neighborhoods.counts > 0)[:, None]
        return share * heard + (1 - share) * entities


class GANAMethod(TrainableMethod[GANASettings, GANA]):
    """GANA on one dataset."""

    Settings = GANASettings
    presets = PRESETS
    starts_from = "vectors"

    def prepare(self, dataset: FewShotDataset, shots: int) -> None:
        """Make an untrained network, with a hyperplane for each relation of the training if the public code does."""
        self._sampler = batches_of(self.settings, dataset, shots)
        self._make(dataset, len(self._sampler.pool.names) if self.settings.faithful else 0)

    def _make(self, dataset: FewShotDataset, num_own: int) -> None:
        """Make an untrained network for the vocabulary of a dataset, with so many hyperplanes of relations' own."""
        self.dataset = dataset
        self.graph = graph = dataset.graph
        torch.manual_seed(self.settings.seed)
        self.module = GANA(graph.num_entities, graph.num_relations, num_own, self.settings).to(self.device)
        self.module.symbols.requires_grad_(not self.settings.pretrained)  # published: symbols stay as TransE made them
        self.finder = NeighborFinder(graph, self.settings.max_neighbors, self.device)
        self._relations: SupportCache[Relations] = SupportCache()

    def stages(self) -> list[Stage]:
        """Return the one stage: episodes of many relations."""

        def losses(_: int, rng: np.random.Generator) -> Losses:
            return self._losses(self._sampler.draw(rng), rng)

        return [self.stage("episodes", losses, bool(self.dataset.valid))]

    def clear_cache(self) -> None:
        """Drop the relation that was asked about last."""
        self._relations.clear()

    @torch.no_grad()
    def start_from(self, start: Vectors | TrainedWeights) -> None:
        """Take the vectors of an embedding method."""
        self.module.symbols.take(start)
        self.module.entities.weight.copy_(self.module.symbols.entities.weight)

    def _losses(self, batch: TaskBatch, rng: np.random.Generator) -> Losses:
        """Rank the queries' true tails above wrong ones, on the relations' hyperplanes after their step."""
        margin, module = self.settings.margin, self.module
        _, differences = embed(module.entities, batch)
        hidden = batch.hidden.take(np.repeat(np.arange(len(batch.support)), batch.support[0].size))
        neighborhoods = self.finder.find(batch.support.ravel(), rng, hidden)
        before = Relations(module(self._ids(batch.support), neighborhoods), self._normals(batch.tasks))
        moved = self._step(before, differences.support, differences.wrong_support, is_asked=False)
        true = moved.residuals(differences.queries)
        wrong = moved.residuals(differences.wrong_queries.flatten(1, 2)).view_as(differences.wrong_queries)
        losses = {"query": distance_loss(true, wrong, margin)}
        if self.settings.faithful:
            near, far = (before.residuals(part) for part in (differences.support, differences.wrong_support))
            losses["support"] = distance_loss(near, far[:, :, None], margin)
        return losses

    def _normals(self, tasks: IntArray | None = None) -> Tensor:
        """Return the normals, shape (T, d), of relations of the training, or of one that is new."""
        module = self.module
        if not self.settings.faithful:
            return functional.normalize(module.normal, dim=0).expand(1 if tasks is None else len(tasks), -1)
        if tasks is None or module.own_normals is None:
            return module.normal[None]
        return module.own_normals(self._ids(tasks))

    def _step(self, relations: Relations, differences: Tensor, wrong: Tensor, is_asked: bool) -> Relations:
        """Move relations by the gradient of their examples' loss, given as differences of shape (T, K, d)."""
        settings = self.settings
        with torch.no_grad():
            gradient = gradients(relations, differences, wrong, settings.margin)
        vectors = relations.vectors - settings.inner_rate * gradient.vectors
        if not settings.faithful:
            turned = relations.normals - settings.hyperplane_rate * gradient.normals
            return Relations(vectors, functional.normalize(turned, dim=-1))
        if is_asked:
            return Relations(vectors, relations.normals)
        step = settings.inner_rate * gradient.vectors / len(vectors)
        return Relations(relations.vectors - step, relations.normals - step)

    @torch.inference_mode()
    def score(self, support: IntArray, head: int, tails: IntArray) -> FloatArray:
        """Score tails by how near they lie to head + R' on the hyperplane; the examples are looked at only once."""
        self.module.eval()
        relations = self._relations.get(support, lambda: self._adapt(support))
        start = self.module.entities(self._ids(np.array([head])))

        def score(some: IntArray) -> Tensor:
            differences = start - self.module.entities(self._ids(some))
            return -relations.residuals(differences[None])[0].norm(dim=-1)

        return score_in_batches(score, tails, SCORING_BATCH)

    def _adapt(self, support: IntArray) -> Relations:
        """Return a relation that is known by its examples alone, after its step."""
        vectors = self.module(self._ids(support)[None], self.finder.find(np.asarray(support).ravel()))
        embedded = self.module.entities(self._ids(support))
        wrong = self.module.entities(self._ids(draw_wrong_tails(self.dataset.graph, support)))
        heads, tails = embedded.unbind(1)
        before = Relations(vectors, self._normals())
        return self._step(before, (heads - tails)[None], (heads - wrong)[None], is_asked=True)

    def _ids(self, ids: IntArray) -> Tensor:
        return torch.from_numpy(np.array(ids, dtype=np.int64)).to(self.device)

    def restore(self, dataset: FewShotDataset, weights: TrainedWeights) -> None:
        """Take the weights of a run; entities that the run has never seen stand at the origin."""
        self._make(dataset, weights.num_rows("own_normals.weight") if self.settings.faithful else 0)
        restore_weights(self.module, weights, dataset.graph)
        self.module.eval()
