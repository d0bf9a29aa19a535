"""RSCL: the hierarchical attention network and the hybrid attentive aggregator (paper, sections IV-B and IV-C)."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.graph.trigrams import NUM_CODES, NameTrigrams
from tripleshot.methods.rscl.contexts import ContextBatch, TokenBatch
from tripleshot.methods.rscl.tokens import NUM_SPECIAL, PAD, RELATION, Tokens
from tripleshot.methods.rscl.transformer import Encoder, Packing, PooledDropout


@dataclass(frozen=True, eq=False)
class Representation:
    """What the network makes of triples.

    Attributes:
        globally: G(h, r, t), shape (n, d).
        locally: L(h, r, t), shape (n, 2d).
    """

    globally: Tensor
    locally: Tensor

    def rows(self, first: int, last: int | None = None) -> "Representation":
        """Return some of the triples."""
        return Representation(self.globally[first:last], self.locally[first:last])

    def of_relations(self, count: int) -> "Representation":
        """Split triples that stand relation by relation: shapes (count, n / count, ...)."""
        return Representation(self.globally.unflatten(0, (count, -1)), self.locally.unflatten(0, (count, -1)))


@dataclass(frozen=True, eq=False)
class DirectLayout:
    """Where triples and their direct neighbors stand among packed states.

    Attributes:
        triples: shape (n, 3), head, relation and tail; of halves shape (n, 2), relation and entity.
        entities: shape (num_pairs,), entity of each direct pair; `relations` its relation.
        sides: shape (num_pairs,), 2i for the head of triple i, 2i + 1 for its tail.
        cells: shape (num_pairs,), the pair's place in a grid of all sides and p columns.
        num_sides: how many heads and tails there are.
        max_neighbors: p.
    """

    triples: Tensor
    entities: Tensor
    relations: Tensor
    sides: Tensor
    cells: Tensor
    num_sides: int
    max_neighbors: int

    @classmethod
    def of(cls, batch: ContextBatch) -> "DirectLayout":
        """Count through the packed states: each row is head pairs, head, relation, tail, tail pairs."""
        device = batch.tokens.device
        lengths = 2 * batch.direct_heads + 3 + 2 * batch.direct_tails
        starts = lengths.cumsum(0) - lengths
        heads = starts + 2 * batch.direct_heads
        counts = torch.stack([batch.direct_heads, batch.direct_tails], dim=1).view(-1)  # (2n,)
        sides = torch.repeat_interleave(torch.arange(len(counts), device=device), counts)
        index = torch.arange(len(sides), device=device) - (counts.cumsum(0) - counts)[sides]
        anchor = heads.repeat_interleave(2)[sides]
        is_tail = sides % 2 == 1
        entities = torch.where(is_tail, anchor + 4 + 2 * index, anchor - 2 - 2 * index)
        relations = torch.where(is_tail, anchor + 3 + 2 * index, anchor - 1 - 2 * index)
        triples = heads[:, None] + torch.arange(3, device=device)
        cells = sides * batch.max_neighbors + index
        return cls(triples, entities, relations, sides, cells, len(counts), batch.max_neighbors)

    @classmethod
    def of_halves(cls, num_direct: Tensor, max_neighbors: int) -> "DirectLayout":
        """Count through the packed states of halves: each row is relation, entity, pairs."""
        starts = (2 + 2 * num_direct).cumsum(0) - 2 - 2 * num_direct
        sides = torch.repeat_interleave(num_direct)
        index = torch.arange(len(sides), device=sides.device) - (num_direct.cumsum(0) - num_direct)[sides]
        relations = starts[sides] + 2 + 2 * index
        center = starts[:, None] + torch.arange(2, device=sides.device)
        cells = sides * max_neighbors + index
        return cls(center, relations + 1, relations, sides, cells, len(num_direct), max_neighbors)


class LocalNeighborEncoder(nn.Module):
    """Attention over direct neighbors' states: equations 6 to 11 of the paper."""

    def __init__(self, width: int, dropout: nn.Module) -> None:
        super().__init__()
        self.combine = nn.Linear(2 * width, 2 * width, bias=False)  # W1
        self.weigh = nn.Linear(2 * width, 1, bias=False)  # U1
        self.return_to_width = nn.Linear(2 * width, width, bias=False)  # W2
        self.relate = nn.Linear(width, width, bias=False)  # Wr
        self.norm = nn.LayerNorm(2 * width)
        self.dropout = dropout

    def forward(self, states: Tensor, layout: DirectLayout) -> Tensor:
        """Return local-aware representations.

        Args:
            states: shape (num_states, d), states of the triples and their direct neighbors, packed row by row.
            layout: says which states those are.

        Returns:
            shape (n, 2d).
        """
        head, relation, tail = states[layout.triples].unbind(1)
        ends = torch.stack([head, tail], dim=1).flatten(0, 1)
        sides = self.sides(states, layout, ends, self.relate(relation).repeat_interleave(2, dim=0))
        return self.norm(sides.unflatten(0, (-1, 2)).flatten(1))

    def sides(self, states: Tensor, layout: DirectLayout, ends: Tensor, related: Tensor) -> Tensor:
        """Return what each head and each tail is with its neighbors and the relation, shape (num_sides, d)."""
        pairs, _ = self.neighbors(states, layout)
        return ends + self.dropout(self.return_to_width(pairs)) + related

    def neighbors(self, states: Tensor, layout: DirectLayout) -> tuple[Tensor, Tensor]:
        """Aggregate direct neighbors.

        Returns:
            gathered: shape (sides, 2d), the weighted neighbors of each head and each tail, zero where there are none.
            weights: shape (sides, p), attention of each side's pairs from the nearest slot outwards.
        """
        pairs = torch.cat([states[layout.entities], states[layout.relations]], dim=1)  # (num_pairs, 2d)
        logits = functional.leaky_relu(pairs @ (self.weigh.weight @ self.combine.weight).squeeze(0))
        grid = logits.new_full((layout.num_sides * layout.max_neighbors,), -1e30)
        weights = grid.index_copy(0, layout.cells, logits).view(-1, layout.max_neighbors).softmax(1)
        weighted = pairs * weights.view(-1)[layout.cells, None]
        gathered = pairs.new_zeros(len(weights), pairs.shape[1]).index_add(0, layout.sides, weighted)
        return self.combine(gathered), weights  # W1 is linear: once for a weighted sum, not for each pair in it


class TextEncoder(nn.Module):
    """Names as vectors: each trigram has one, and a name is their mean. The paper leaves text to future work.

    Tokens without a name, such as [MASK], are zero. An entity that was never trained on is read by its name.
    """

    offsets: Tensor
    codes: Tensor

    def __init__(self, graph: KnowledgeGraph, tokens: Tokens, width: int) -> None:
        """Start at random; names are not kept with the weights but read from the graph."""
        super().__init__()
        relations, entities = NameTrigrams.of(graph.relations), NameTrigrams.of(graph.entities)
        of_relations = np.diff(relations.offsets)
        nameless = np.zeros(tokens.num_tasks, dtype=np.int64)
        lengths = [np.zeros(1 + NUM_SPECIAL, dtype=np.int64), of_relations, of_relations, nameless]
        offsets = np.cumsum(np.concatenate([*lengths, np.diff(entities.offsets)]))
        codes = np.concatenate([relations.codes, relations.codes, entities.codes])
        self.register_buffer("offsets", torch.from_numpy(offsets), persistent=False)
        self.register_buffer("codes", torch.from_numpy(codes.astype(np.int32)), persistent=False)
        self.trigrams = nn.Embedding(NUM_CODES, width, sparse=True)
        nn.init.normal_(self.trigrams.weight, std=width**-0.5)

    def forward(self, tokens: Tensor) -> Tensor:
        """Return the vectors of tokens, shape (n, width); each name is read once."""
        asked, back = tokens.unique(return_inverse=True)
        starts = self.offsets[asked]
        lengths = self.offsets[asked + 1] - starts
        begins = lengths.cumsum(0) - lengths
        owners = torch.repeat_interleave(lengths)
        positions = torch.arange(len(owners), device=tokens.device) - begins[owners] + starts[owners]
        weight = self.trigrams.weight
        vectors = functional.embedding_bag(self.codes[positions].long(), weight, begins, mode="mean", sparse=True)
        return vectors[back]


class RSCL(nn.Module):
    """Relation-specific context learning: contexts to representations to scores."""

    def __init__(
        self,
        num_tokens: int,
        max_neighbors: int = 8,
        width: int = 100,
        num_layers: int = 4,
        num_heads: int = 4,
        dropout: float = 0.3,
        global_share: float = 0.4,
        use_global: bool = True,
        use_local: bool = True,
        scale_attention: bool = True,
        text: TextEncoder | None = None,
        num_roles: int = 0,
    ) -> None:
        """Make the network.

        Args:
            num_tokens: size of the vocabulary of elements.
            max_neighbors: p, pairs on each side of a context.
            width: d, size of the element embeddings.
            num_layers: L, transformer blocks.
            num_heads: attention heads of each block.
            dropout: rate in both encoders.
            global_share: lambda, weight of the global score against the local one.
            use_global: false for the ablation "w/o global encoder": the local encoder then reads raw embeddings.
            use_local: false for the ablation "w/o local encoder": only the global score counts.
            scale_attention: divide by the root of the width in the aggregator's attention, as FAAN does.
            text: reads names; what it makes of them is added to the elements' own vectors. Not in the paper.
            num_roles: what a neighbor can be to the opposite entity, where contexts say so; not in the paper.
        """
        super().__init__()
        self.global_share = (global_share if use_local else 1.0) if use_global else 0.0
        self.scale_attention = scale_attention
        self.dropout = PooledDropout(dropout)
        self.elements = nn.Embedding(num_tokens, width, sparse=True)
        self.positions = nn.Embedding(2 * max_neighbors + 7, width)
        self.embedding_norm = nn.LayerNorm(width)
        self.encoder = Encoder(width, num_layers, num_heads, self.dropout) if use_global else None
        self.local_encoder = LocalNeighborEncoder(width, self.dropout) if use_local else None
        self.text = text
        self.roles = nn.Embedding(num_roles, width) if num_roles else None
        self.pretrained: RSCL | None = None
        nn.init.normal_(self.elements.weight, std=width**-0.5)
        nn.init.normal_(self.positions.weight, std=width**-0.5)
        if self.roles is not None:
            nn.init.zeros_(self.roles.weight)

    def keep_pretrained(self, network: "RSCL") -> None:
        """Keep a network of the same encoder beside this one, for what is known before episodes; it does not learn."""
        self.pretrained = network.requires_grad_(False)

    def remember(self) -> None:
        """Take the weights of now as the pre-trained ones, where those are kept."""
        if self.pretrained is not None:
            own = self.state_dict()
            self.pretrained.load_state_dict({name: own[name] for name in self.pretrained.state_dict()})

    def embed(self, batch: TokenBatch, packing: Packing) -> Tensor:
        """Return the packed input embeddings: element plus position (equation 4), normed as in BERT."""
        tokens = batch.tokens.view(-1)[packing.rows]
        elements = self.elements(tokens)
        if self.text is not None:
            elements = elements + self.text(tokens)
        if self.roles is not None and batch.roles is not None:
            elements = elements + self.roles(batch.roles.view(-1)[packing.rows])
        if batch.relation is not None:
            own = batch.relation[packing.rows // batch.tokens.shape[1]]
            elements = torch.where((tokens == RELATION)[:, None], own, elements)
        return self.dropout(self.embedding_norm(elements + self.positions(batch.positions.view(-1)[packing.rows])))

    def states(self, batch: TokenBatch, read: Tensor) -> Tensor:
        """Return final hidden states, packed, of the slots where `read`, as large as the tokens, is true."""
        packing = Packing.of(batch.tokens != PAD)
        wanted = read.reshape(-1)[packing.rows].nonzero().squeeze(1)
        embedded = self.embed(batch, packing)
        return embedded[wanted] if self.encoder is None else self.encoder(embedded, packing, wanted)

    def direct_states(self, batch: ContextBatch) -> tuple[Tensor, DirectLayout]:
        """Return the states of head, relation, tail and direct neighbors, packed, and where they stand."""
        return self.states(batch, batch.is_direct()), DirectLayout.of(batch)

    def forward(self, batch: ContextBatch) -> Representation:
        """Encode triples by their contexts."""
        if self.local_encoder is None:
            triples = self.states(batch, batch.is_triple()).unflatten(0, (-1, 3))
            return Representation(triples.mean(1), triples.new_zeros(len(triples), 0))
        states, layout = self.direct_states(batch)
        locally = self.local_encoder(states, layout)
        return Representation(states[layout.triples].mean(1), locally)  # equation 5

    def score(self, queries: Representation, support: Representation) -> Tensor:
        """Compare queries with the support at both levels and interpolate (equations 12 to 18).

        Representations of several relations at once have one more dimension, the relations, before the triples.

        Returns:
            shape (n,), or (relations, n).
        """
        share = self.global_share
        score = queries.globally.new_zeros(queries.globally.shape[:-1])
        if share > 0:
            score = score + share * self._similarity(queries.globally, support.globally)
        if share < 1:
            score = score + (1 - share) * self._similarity(queries.locally, support.locally)
        return score

    def support_weights(self, queries: Tensor, support: Tensor) -> Tensor:
        """Return how much each query attends to each example: shape (..., n, K)."""
        scale = queries.shape[-1] ** -0.5 if self.scale_attention else 1.0
        return (queries @ support.mT * scale).softmax(-1)

    def _similarity(self, queries: Tensor, support: Tensor) -> Tensor:
        return ((self.support_weights(queries, support) @ support) * queries).sum(-1)
