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
from tripleshot.methods.fewshot.gradient_step import SCORING_BATCH, distance_loss, draw_wrong_tails, embed, pull
from tripleshot.methods.fewshot.neighborhoods import NeighborFinder, Neighborhoods
from tripleshot.methods.fewshot.settings import MetaSettings, make_task_sampler
from tripleshot.methods.fewshot.vectors import SymbolVectors, make_entity_vectors, restore_weights
from tripleshot.methods.settings import count, setting, share
from tripleshot.methods.trainable import Losses, Stage, TrainableMethod, TrainedWeights, Vectors

LSTM_LAYERS = 2


@dataclass(frozen=True)
class GANASettings(MetaSettings):
    """What GANA is and how it learns.

    The released code minimises the examples' loss, too, divides their gradient by the number of relations in a step,
    and gives every relation a hyperplane of its own, of no fixed length, that the gradient of R moves in training only;
    that of a new relation was never trained.
    """

    dropout: float = share(0.5, "dropout rate on neighbors and in the LSTM")
    lstm_width: int = count(600, "size of the LSTM's states, per direction")
    max_neighbors: int = count(50, "p, neighbors per entity at most, both directions")
    hyperplane_rate: float = setting(1.0, "as inner_rate, for the normal of a relation's hyperplane")


def paper() -> GANASettings:
    """Return the published settings for NELL-One; it starts from TransE, whose run `pretrained` has to name."""
    return GANASettings()


def fast() -> GANASettings:
    """Return settings for two CPU cores: a narrow LSTM, fewer relations per step, more queries of each."""
    return GANASettings(lstm_width=100, max_neighbors=20, batch_size=4096, relations_per_step=128, steps=20_000)


def tiny() -> GANASettings:
    """Return settings for a graph of some thirty entities and a few seconds."""
    sizes = {"width": 8, "lstm_width": 8, "max_neighbors": 4, "batch_size": 64, "relations_per_step": 16}
    return GANASettings(**sizes, steps=20, validate_every=10)


@dataclass(frozen=True, eq=False)
class Relations:
    """T relations in MTransH, where head and tail are projected onto the relation's hyperplane and then compared.

    Attributes:
        vectors: shape (T, d), R.
        normals: shape (T, d), p, the normals of the hyperplanes.
    """

    vectors: Tensor
    normals: Tensor

    def residuals(self, differences: Tensor) -> Tensor:
        """Return head + relation - tail on the hyperplanes, shape (T, n, d), from head - tail."""
        return project(differences, self.normals[:, None]) + self.vectors[:, None]


def project(vectors: Tensor, normals: Tensor) -> Tensor:
    """Project vectors onto hyperplanes: v - (v.p)p."""
    return vectors - (vectors * normals).sum(-1, keepdim=True) * normals


def gradients(relations: Relations, near: Tensor, far: Tensor, margin: float) -> Relations:
    """Return the gradient of the examples' mean loss in the vectors and in the normals of their relations.

    A residual's length has the gradient u in the vector and -((u.p)x + (x.p)u) in the normal, where u is the residual's
    direction and x is head - tail.

    Args:
        relations: T of them.
        near: shape (T, K, d), head - tail of the examples.
        far: shape (T, K, d), the same with a wrong tail.
        margin: by which the wrong tail should be farther away.
    """
    toward, away = pull(relations.residuals(near), relations.residuals(far), margin)
    normals = relations.normals[:, None]

    def turn(differences: Tensor, directions: Tensor) -> Tensor:
        along, across = ((part * normals).sum(-1, keepdim=True) for part in (directions, differences))
        return along * differences + across * directions

    return Relations((toward - away).mean(1), (turn(far, away) - turn(near, toward)).mean(1))


class GANA(nn.Module):
    """Symbols that examples are read with, entity vectors that tails are scored with, and the networks between."""

    def __init__(
        self, num_entities: int, num_relations: int, num_own: int, width: int, lstm_width: int, dropout: float
    ) -> None:
        """Start at random.

        Args:
            num_entities: of the graph.
            num_relations: of the graph, inverses not counted.
            num_own: relations that have a hyperplane of their own.
            width: d.
            lstm_width: size of the LSTM's states, per direction.
            dropout: rate on neighbors and in the LSTM.
        """
        super().__init__()
        self.symbols = SymbolVectors(num_entities, num_relations, width)
        self.entities = make_entity_vectors(num_entities, width)
        self.edge = nn.Linear(2 * width, width)
        self.attention = nn.Linear(width, 1, bias=False)
        self.gate = nn.Linear(width, 1)
        self.lstm = nn.LSTM(2 * width, lstm_width, LSTM_LAYERS, batch_first=True, dropout=dropout, bidirectional=True)
        self.relation = nn.Linear(LSTM_LAYERS * 2 * lstm_width, width)
        self.normal = nn.Parameter(functional.normalize(torch.randn(width), dim=0))
        self.own_normals = nn.Embedding(num_own, width) if num_own else None
        if self.own_normals is not None:
            nn.init.xavier_normal_(self.own_normals.weight)
        self.dropout = nn.Dropout(dropout)

    def forward(self, support: Tensor, neighborhoods: Neighborhoods) -> Tensor:
        """Return R of each relation, shape (T, d), from the ids of its examples, shape (T, K, 2), and all neighbors."""
        mixed = self.aggregate(self.symbols.entities(support.flatten()), neighborhoods)
        outputs, (_, cells) = self.lstm(mixed.view(*support.shape[:2], -1))
        final = cells.view(LSTM_LAYERS, 2, len(support), -1).permute(2, 0, 1, 3).flatten(2)  # (T, layers, 2 lstm_width)
        weights = (outputs @ final.transpose(1, 2)).softmax(1)  # (T, K, layers)
        return self.relation((weights.transpose(1, 2) @ outputs).flatten(1))

    def aggregate(self, entities: Tensor, neighborhoods: Neighborhoods) -> Tensor:
        """Mix entities, shape (n, d), with a weighted sum of their neighbors; one without neighbors stays as it is."""
        edges = self.symbols.relations(neighborhoods.relations), self.symbols.entities(neighborhoods.entities)
        states = functional.leaky_relu(self.edge(self.dropout(torch.cat(edges, dim=1))))
        weights = neighborhoods.softmax(self.attention(states).squeeze(1))
        neighbors = neighborhoods.sum(weights[:, None] * states)
        gate = self.gate(neighbors).sigmoid() * (neighborhoods.counts > 0)[:, None]
        return gate * neighbors + (1 - gate) * entities


class GANAMethod(TrainableMethod[GANASettings, GANA]):
    """GANA on one dataset."""

    Settings = GANASettings
    presets = {"fast": fast, "paper": paper, "tiny": tiny}  # noqa: RUF012 (never changed)
    starts_from = "vectors"

    @classmethod
    def paper_init(cls, settings: GANASettings) -> str:
        """The paper starts from TransE."""
        return "transe"

    def prepare(self, dataset: FewShotDataset, shots: int) -> None:
        """Make an untrained network; in the released code each relation of the training has a hyperplane of its own."""
        self._sampler = make_task_sampler(self.settings, dataset, shots)
        self._make(dataset, len(self._sampler.pool.names) if self.settings.match_released_code else 0)

    def _make(self, dataset: FewShotDataset, num_own: int) -> None:
        """Make an untrained network for the names of a dataset, with so many hyperplanes of relations' own."""
        self.dataset = dataset
        self.graph = graph = dataset.graph
        torch.manual_seed(self.settings.seed)
        sizes = (self.settings.width, self.settings.lstm_width, self.settings.dropout)
        self.module = GANA(graph.num_entities, graph.num_relations, num_own, *sizes).to(self.device)
        self.module.symbols.requires_grad_(not self.settings.pretrained)  # published: symbols stay as TransE made them
        self.finder = NeighborFinder(graph, self.settings.max_neighbors, self.device)
        self._relations: SupportCache[Relations] = SupportCache()

    def stages(self) -> list[Stage]:
        """Return the one stage: episodes of many relations."""

        def losses(_: int, rng: np.random.Generator) -> Losses:
            return self._losses(self._sampler.draw(rng), rng)

        return [self.stage("episodes", losses, bool(self.dataset.valid))]

    def clear_cache(self) -> None:
        """Drop what was made of the last examples."""
        self._relations.clear()

    @torch.no_grad()
    def start_from(self, start: Vectors | TrainedWeights) -> None:
        """Take the vectors of an embedding method."""
        self.module.symbols.copy_from(start)
        self.module.entities.weight.copy_(self.module.symbols.entities.weight)

    def _losses(self, batch: TaskBatch, rng: np.random.Generator) -> Losses:
        """Rank the queries' true tails above wrong ones, on the relations' hyperplanes after their step."""
        margin, module = self.settings.margin, self.module
        _, differences = embed(module.entities, batch)
        hidden = batch.hidden.take(np.repeat(np.arange(len(batch.support)), batch.support[0].size))
        neighborhoods = self.finder.find(batch.support.ravel(), rng, hidden)
        before = Relations(module(self._ids(batch.support), neighborhoods), self._normals(batch.tasks))
        moved = self._step(before, differences.support, differences.wrong_support, in_training=True)
        true = moved.residuals(differences.queries)
        wrong = moved.residuals(differences.wrong_queries.flatten(1, 2)).view_as(differences.wrong_queries)
        losses = {"query": distance_loss(true, wrong, margin)}
        if self.settings.match_released_code:
            near, far = (before.residuals(part) for part in (differences.support, differences.wrong_support))
            losses["support"] = distance_loss(near, far[:, :, None], margin)
        return losses

    def _normals(self, tasks: IntArray | None = None) -> Tensor:
        """Return the normals, shape (T, d), of relations of the training, or of one that is new."""
        module = self.module
        if not self.settings.match_released_code:
            return functional.normalize(module.normal, dim=0).expand(1 if tasks is None else len(tasks), -1)
        if tasks is None or module.own_normals is None:
            return module.normal[None]
        return module.own_normals(self._ids(tasks))

    def _step(self, relations: Relations, differences: Tensor, wrong: Tensor, in_training: bool) -> Relations:
        """Move relations by the gradient of their examples' loss, given as differences of shape (T, K, d)."""
        settings = self.settings
        with torch.no_grad():
            gradient = gradients(relations, differences, wrong, settings.margin)
        vectors = relations.vectors - settings.inner_rate * gradient.vectors
        if not settings.match_released_code:
            turned = relations.normals - settings.hyperplane_rate * gradient.normals
            return Relations(vectors, functional.normalize(turned, dim=-1))
        if not in_training:
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
        return self._step(before, (heads - tails)[None], (heads - wrong)[None], in_training=False)

    def _ids(self, ids: IntArray) -> Tensor:
        return torch.from_numpy(np.array(ids, dtype=np.int64)).to(self.device)

    def restore(self, dataset: FewShotDataset, weights: TrainedWeights) -> None:
        """Take the weights of a run; entities that the run has never seen stand at the origin."""
        self._make(dataset, weights.num_rows("own_normals.weight") if self.settings.match_released_code else 0)
        restore_weights(self.module, weights, dataset.graph)
        self.module.eval()
