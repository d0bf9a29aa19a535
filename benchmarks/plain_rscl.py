"""RSCL as one would first write it: what the training and the scoring benchmark compare with.

The same contexts, network, losses and weights as `tripleshot.methods.rscl.network`; but dicts of lists and loops,
padded batches, `nn.TransformerEncoder`, `nn.Dropout`, a softmax over every entity, dense Adam, and nothing merged,
cached or shared. Episodes and masks are drawn by tripleshot's own code, which is to the plain side's advantage.
"""

import random
from collections import defaultdict

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from tripleshot.arrays import FloatArray, IntArray
from tripleshot.datasets.episodes import Episode
from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.methods.losses import ranking_loss
from tripleshot.methods.rscl.contexts import ContextBatch
from tripleshot.methods.rscl.network import RSCL, Representation
from tripleshot.methods.rscl.pretraining import mask
from tripleshot.methods.rscl.settings import MaskingShares, RSCLSettings
from tripleshot.methods.rscl.tokens import NUM_SPECIAL, PAD, RELATION, Tokens

Pair = tuple[int, int]  # relation and entity of an edge that leaves the entity in question


class PlainSampler:
    """Draws contexts one at a time from a dict of lists; it hides no edges, as training on few-shot relations needs."""

    def __init__(self, graph: KnowledgeGraph, tokens: Tokens, max_neighbors: int = 8, max_distant: int = 5) -> None:
        """Collect the edges of every entity, triple by triple."""
        self.tokens, self.max_neighbors, self.max_distant = tokens, max_neighbors, max_distant
        self.num_relations = graph.num_relations
        self.edges: dict[int, list[Pair]] = defaultdict(list)
        columns = (graph.head_ids.tolist(), graph.relation_ids.tolist(), graph.tail_ids.tolist())
        for head, relation, tail in zip(*columns, strict=True):
            self.edges[head].append((relation, tail))
            self.edges[tail].append((relation + graph.num_relations, head))

    def batch(self, pairs: IntArray, rng: random.Random | None = None) -> ContextBatch:
        """Return the contexts of pairs, shape (n, 2): neighbors at random, or the first ones without `rng`."""
        rows = [self.context(head, tail, rng) for head, tail in pairs.tolist()]
        tokens, positions, direct_heads, direct_tails = (torch.tensor(column) for column in zip(*rows, strict=True))
        return ContextBatch(
            tokens=tokens,
            positions=positions,
            direct_heads=direct_heads,
            direct_tails=direct_tails,
            max_neighbors=self.max_neighbors,
        )

    def context(
        self, head: int, tail: int, rng: random.Random | None
    ) -> tuple[list[int], list[int], int, int]:  # tokens, positions, direct pairs of the head, direct pairs of the tail
        """Return the context of one pair as lists of 4p + 3."""
        p, tokens = self.max_neighbors, self.tokens
        left, left_positions, right, right_positions = [], [], [], []
        of_head, of_tail = self.neighbors(head, rng), self.neighbors(tail, rng)
        for hop in (1, 2):
            for relation, entity in of_head[hop - 1]:
                inverse = (relation + self.num_relations) % (2 * self.num_relations)
                left += [inverse + NUM_SPECIAL, entity + tokens.first_entity]
                left_positions += [2 * p - 2 * hop + 1, 2 * p - 2 * hop]
            for relation, entity in of_tail[hop - 1]:
                right += [relation + NUM_SPECIAL, entity + tokens.first_entity]
                right_positions += [2 * p + 2 * hop + 1, 2 * p + 2 * hop + 2]
        for side in (left, right):
            side += [PAD] * (2 * p - len(side))
        for side in (left_positions, right_positions):
            side += [0] * (2 * p - len(side))
        triple = [head + tokens.first_entity, RELATION, tail + tokens.first_entity]
        return (
            left[::-1] + triple + right,
            [*left_positions[::-1], 2 * p, 2 * p + 1, 2 * p + 2, *right_positions],
            len(of_head[0]),
            len(of_tail[0]),
        )

    def neighbors(self, entity: int, rng: random.Random | None) -> tuple[list[Pair], list[Pair]]:
        """Return the direct and the distant pairs of an entity."""
        direct = self._draw(entity, self.max_neighbors, rng)
        room = min(self.max_distant, self.max_neighbors - len(direct))
        if not room:
            return direct, []
        middles = dict.fromkeys(middle for _, middle in direct if middle != entity)
        around = [self._draw(middle, self.max_distant + 1, rng) for middle in middles]
        distant = []
        for turn in range(self.max_distant + 1):
            distant += [edges[turn] for edges in around if turn < len(edges) and edges[turn][1] != entity]
        if rng is not None:
            rng.shuffle(distant)
        return direct, distant[:room]

    def _draw(self, entity: int, count: int, rng: random.Random | None) -> list[Pair]:
        edges = self.edges.get(entity, [])
        return edges[:count] if rng is None or len(edges) <= count else rng.sample(edges, count)


class PlainLocalEncoder(nn.Module):
    """Attention over direct neighbors, every slot of every context computed: equations 6 to 11 of the paper."""

    def __init__(self, width: int, dropout: float) -> None:
        super().__init__()
        self.combine = nn.Linear(2 * width, 2 * width, bias=False)  # W1
        self.weigh = nn.Linear(2 * width, 1, bias=False)  # U1
        self.return_to_width = nn.Linear(2 * width, width, bias=False)  # W2
        self.relate = nn.Linear(width, width, bias=False)  # Wr
        self.norm = nn.LayerNorm(2 * width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, states: Tensor, batch: ContextBatch) -> Tensor:
        """Return local-aware representations, shape (n, 2d), from all states, shape (n, 4p + 3, d)."""
        p = batch.max_neighbors
        head, relation, tail = states[:, 2 * p : 2 * p + 3].unbind(1)
        before = torch.cat([states[:, 0 : 2 * p : 2], states[:, 1 : 2 * p : 2]], dim=2).flip(1)  # (n, p, 2d)
        after = torch.cat([states[:, 2 * p + 4 :: 2], states[:, 2 * p + 3 :: 2]], dim=2)
        related = self.relate(relation)
        at_head = head + self.gather(before, batch.direct_heads) + related
        at_tail = tail + self.gather(after, batch.direct_tails) + related
        return self.norm(torch.cat([at_head, at_tail], dim=1))

    def gather(self, pairs: Tensor, num_direct: Tensor) -> Tensor:
        """Aggregate the first pairs of each context, shape (n, p, 2d): shape (n, d)."""
        absent = torch.arange(pairs.shape[1]) >= num_direct[:, None]
        combined = self.combine(pairs)
        logits = functional.leaky_relu(self.weigh(combined).squeeze(2)).masked_fill(absent, -1e30)
        weights = logits.softmax(1).masked_fill(absent, 0.0)
        return self.dropout(self.return_to_width((weights[:, :, None] * combined).sum(1)))


class PlainRSCL(nn.Module):
    """The network over padded batches."""

    def __init__(self, num_tokens: int, settings: RSCLSettings) -> None:
        super().__init__()
        width = settings.width
        self.global_share, self.scale_attention = settings.global_share, settings.scale_attention
        self.elements = nn.Embedding(num_tokens, width)
        self.positions = nn.Embedding(2 * settings.max_neighbors + 7, width)
        self.embedding_norm = nn.LayerNorm(width)
        self.dropout = nn.Dropout(settings.dropout)
        layer = nn.TransformerEncoderLayer(
            width, settings.num_heads, 4 * width, settings.dropout, activation="gelu", batch_first=True
        )
        # Nested tensors take padding at the end only; contexts have it at both ends.
        self.encoder = nn.TransformerEncoder(layer, settings.num_layers, enable_nested_tensor=False)
        self.local_encoder = PlainLocalEncoder(width, settings.dropout)

    def take_weights(self, ours: RSCL) -> None:
        """Copy the weights of tripleshot's network, whose heads must divide its width."""
        weights = dict(ours.state_dict())
        renamed = {"attention_output": "self_attn.out_proj", "attention_norm": "norm1", "output_norm": "norm2"}
        renamed |= {"widen": "linear1", "narrow": "linear2"}
        for number in range(len(self.encoder.layers)):
            block, layer = f"encoder.blocks.{number}", f"encoder.layers.{number}"
            for kind in ("weight", "bias"):
                parts = [weights.pop(f"{block}.{part}.{kind}") for part in ("query", "key_value")]
                weights[f"{layer}.self_attn.in_proj_{kind}"] = torch.cat(parts)
                for name, new_name in renamed.items():
                    weights[f"{layer}.{new_name}.{kind}"] = weights.pop(f"{block}.{name}.{kind}")
        self.load_state_dict(weights)

    def states(self, batch: ContextBatch) -> Tensor:
        """Return the final hidden states of all slots: shape (n, 4p + 3, d)."""
        embedded = self.embedding_norm(self.elements(batch.tokens) + self.positions(batch.positions))
        return self.encoder(self.dropout(embedded), src_key_padding_mask=batch.tokens == PAD)

    def forward(self, batch: ContextBatch) -> Representation:
        """Encode triples by their contexts."""
        states, center = self.states(batch), 2 * batch.max_neighbors
        return Representation(states[:, center : center + 3].mean(1), self.local_encoder(states, batch))

    def score(self, queries: Representation, support: Representation) -> Tensor:
        """Compare queries with the support (equations 12 to 18): shape (n,)."""
        globally = self._similarity(queries.globally, support.globally)
        locally = self._similarity(queries.locally, support.locally)
        return self.global_share * globally + (1 - self.global_share) * locally

    def _similarity(self, queries: Tensor, support: Tensor) -> Tensor:
        scale = queries.shape[1] ** -0.5 if self.scale_attention else 1.0
        weights = (queries @ support.T * scale).softmax(1)
        return ((weights @ support) * queries).sum(1)


class PlainMethod:
    """Trains and scores the plain way, with tripleshot's network as the starting point."""

    def __init__(self, ours: RSCL, graph: KnowledgeGraph, settings: RSCLSettings, batch_size: int = 256) -> None:
        """Take over weights and settings.

        Args:
            ours: the network whose weights are copied.
            graph: the background.
            settings: of both.
            batch_size: candidates scored at once.
        """
        self.settings, self.batch_size = settings, batch_size
        num_tasks = len(ours.elements.weight) - NUM_SPECIAL - 2 * graph.num_relations - graph.num_entities
        self.tokens = Tokens(graph.num_relations, num_tasks, graph.num_entities)
        self.sampler = PlainSampler(graph, self.tokens, settings.max_neighbors, settings.max_distant)
        self.model = PlainRSCL(len(self.tokens), settings)
        self.model.take_weights(ours)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=settings.learning_rate)

    def step(self, episode: Episode, rng: random.Random) -> dict[str, float]:
        """Take one training step on an episode and return its losses."""
        self.model.train()
        support = self.sampler.batch(episode.support, rng)
        positives = self.sampler.batch(episode.queries, rng)
        heads = np.repeat(episode.queries[:, 0], self.settings.num_negatives)
        negatives = self.sampler.batch(np.stack([heads, episode.negatives.ravel()], axis=1), rng)
        losses = self.losses(support, positives, negatives)
        self.optimizer.zero_grad()
        torch.stack(list(losses.values())).sum().backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), self.settings.clip)
        self.optimizer.step()
        return {name: loss.item() for name, loss in losses.items()}

    def losses(self, support: ContextBatch, positives: ContextBatch, negatives: ContextBatch) -> dict[str, Tensor]:
        """Rank positives above negatives, and predict masked tokens of support and positives."""
        encoded_support = self.model(support)
        positive = self.model.score(self.model(positives), encoded_support)
        negative = self.model.score(self.model(negatives), encoded_support)
        ranking = ranking_loss(positive[:, None], negative.view(len(positive), -1), self.settings.margin)
        return {"ranking": ranking, "masking": self.settings.masking_weight * self.masking_loss(support, positives)}

    def masking_loss(self, support: ContextBatch, positives: ContextBatch) -> Tensor:
        """Return the cross entropy of hidden tokens, entities among all entities, relations among all relations."""
        both = (support, positives)
        batch = ContextBatch(
            tokens=torch.cat([batch.tokens for batch in both]),
            positions=torch.cat([batch.positions for batch in both]),
            direct_heads=torch.cat([batch.direct_heads for batch in both]),
            direct_tails=torch.cat([batch.direct_tails for batch in both]),
            max_neighbors=support.max_neighbors,
        )
        masked = mask(batch, self.tokens, batch.relation_tokens(), MaskingShares(relation=0.0, end=0.0))
        states = self.model.states(masked.batch)[masked.chosen]
        is_entity = masked.targets >= self.tokens.first_entity
        loss = states.sum() * 0
        for chosen, first, last in (
            (is_entity, self.tokens.first_entity, len(self.tokens)),
            (~is_entity, NUM_SPECIAL, self.tokens.first_entity),
        ):
            if chosen.any():
                logits = states[chosen] @ self.model.elements.weight[first:last].T
                loss = loss + functional.cross_entropy(logits, masked.targets[chosen] - first)
        return loss

    @torch.no_grad()
    def score(self, support: IntArray, head: int, tails: IntArray) -> FloatArray:
        """Score tails, shape (n,), a batch of contexts at a time, each together with the support."""
        self.model.eval()
        scores = []
        for start in range(0, len(tails), self.batch_size):
            some = tails[start : start + self.batch_size]
            candidates = self.sampler.batch(np.stack([np.full(len(some), head), some], axis=1))
            encoded_support = self.model(self.sampler.batch(support))
            scores.append(self.model.score(self.model(candidates), encoded_support).numpy())
        return np.concatenate(scores)
