"""Transformer blocks over packed tokens: no padding is computed, and the last block only where its output is read.

Post-norm blocks as in BERT (paper, section IV-B: "L stacked transformer blocks"). A width that the heads do not divide
works: each head has the width rounded up, and an output projection brings it back.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from tripleshot.methods.rscl import native, packed_attention

POOL_SIZE = 1 << 18
POOL_STEPS = 500


class PooledDropout(nn.Module):
    """Dropout whose masks are cut out of a pool of random draws, each at a random place.

    Drawing fresh numbers is the slowest elementwise operation on a CPU; a slice of a pool that stays in the cache
    costs a multiplication. The pool follows from the step alone, so that a resumed run continues with the same one.
    """

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate
        self._pool = torch.empty(0)
        self._drawn_for = (-1, rate)

    def begin(self, step: int, rate: float | None = None) -> None:
        """Draw a new pool every few hundred steps, and when the rate becomes another; None leaves it as it is."""
        self.rate = self.rate if rate is None else rate
        if self.rate and (step // POOL_STEPS, self.rate) != self._drawn_for:
            keep = 1 - self.rate
            generator = torch.Generator().manual_seed(step // POOL_STEPS)
            self._pool = torch.empty(2 * POOL_SIZE).bernoulli_(keep, generator=generator).div_(keep)
            self._drawn_for = (step // POOL_STEPS, self.rate)

    def forward(self, values: Tensor) -> Tensor:
        """Zero a share of the values and scale the others, in training only."""
        if not self.training or self.rate == 0:
            return values
        if not len(self._pool):
            self.begin(0)
        self._pool = self._pool.to(values.device)
        pieces = values.reshape(-1).split(POOL_SIZE)
        starts = torch.randint(POOL_SIZE, (len(pieces),)).tolist()
        mask = [self._pool[start : start + len(piece)] for start, piece in zip(starts, pieces, strict=True)]
        return values * (mask[0] if len(mask) == 1 else torch.cat(mask)).view_as(values)


@dataclass(frozen=True, eq=False)
class Packing:
    """Where the tokens of a padded batch stand once padding is left out.

    Attributes:
        shape: batch size and padded length.
        rows: shape (num_tokens,), sorted, positions of the tokens in the flattened padded batch.
        mask: shape (batch, 1, 1, length), true where there is a token.
    """

    shape: tuple[int, int]
    rows: Tensor
    mask: Tensor

    @classmethod
    def of(cls, present: Tensor) -> "Packing":
        """Pack by a mask of shape (batch, length) that is true where there is a token."""
        rows = present.reshape(-1).nonzero().squeeze(1)
        return cls((present.shape[0], present.shape[1]), rows, present[:, None, None, :])

    def starts(self) -> Tensor:
        """Return where each sequence begins among the packed tokens, and their number: shape (batch + 1,)."""
        return functional.pad(self.mask[:, 0, 0].sum(1).cumsum(0), (1, 0))


class Block(nn.Module):
    """Multi-head self-attention and a feed-forward layer, each with a residual connection and a norm after it."""

    def __init__(self, width: int, num_heads: int, dropout: nn.Module) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.head_width = -(-width // num_heads)
        inner = num_heads * self.head_width
        self.query = nn.Linear(width, inner)
        self.key_value = nn.Linear(width, 2 * inner)
        self.attention_output = nn.Linear(inner, width)
        self.attention_norm = nn.LayerNorm(width)
        self.widen = nn.Linear(width, 4 * width)
        self.narrow = nn.Linear(4 * width, width)
        self.output_norm = nn.LayerNorm(width)
        self.dropout = dropout

    def forward(self, tokens: Tensor, packing: Packing, read: Tensor | None = None) -> Tensor:
        """Return new states of the packed tokens, or only of those at `read` (positions among the packed tokens)."""
        querying = tokens if read is None else tokens[read]
        mixed = (self._mix_natively if packed_attention.is_ready(tokens) else self._mix)(
            tokens, querying, packing, read
        )
        states = self.attention_norm(querying + self.dropout(self.attention_output(mixed)))
        forwarded = self.narrow(functional.gelu(self.widen(states)))
        return self.output_norm(states + self.dropout(forwarded))

    def _mix_natively(self, tokens: Tensor, querying: Tensor, packing: Packing, read: Tensor | None) -> Tensor:
        starts = packing.starts()
        query_starts = starts if read is None else torch.searchsorted(read, starts)
        return packed_attention.attend(
            self.query(querying), self.key_value(tokens), starts, query_starts, self.num_heads
        )

    def _mix(self, tokens: Tensor, querying: Tensor, packing: Packing, read: Tensor | None) -> Tensor:
        """Return what each querying token makes of the values of its own sequence: shape (len(querying), inner)."""
        rows = packing.rows if read is None else packing.rows[read]
        queries, places = _lay_out(self.query(querying), rows, packing, keep_slots=read is None)
        keys, values = _lay_out(self.key_value(tokens), packing.rows, packing, keep_slots=True)[0].chunk(2, dim=-1)
        attended = functional.scaled_dot_product_attention(
            self._split(queries), self._split(keys), self._split(values), attn_mask=packing.mask
        )
        return attended.transpose(1, 2).flatten(0, 1).flatten(1)[places]

    def layers(self) -> tuple[native.Affine, ...]:
        """Return the layers with weights, in the order in which they are used."""
        feed_forward = (self.widen, self.narrow, self.output_norm)
        return (self.query, self.key_value, self.attention_output, self.attention_norm, *feed_forward)

    def attention(self, tokens: Tensor, packing: Packing) -> Tensor:
        """Return the attention of each token to each other, averaged over heads: shape (batch, length, length)."""
        queries, _ = _lay_out(self.query(tokens), packing.rows, packing, keep_slots=True)
        keys, _ = _lay_out(self.key_value(tokens), packing.rows, packing, keep_slots=True)[0].chunk(2, dim=-1)
        logits = self._split(queries) @ self._split(keys).transpose(-1, -2) / self.head_width**0.5
        return logits.masked_fill(~packing.mask, float("-inf")).softmax(-1).mean(1)

    def _split(self, states: Tensor) -> Tensor:
        """Give each head its own slice: (batch, length, inner) to (batch, heads, length, head width)."""
        return states.unflatten(-1, (self.num_heads, self.head_width)).transpose(1, 2)


def _lay_out(states: Tensor, rows: Tensor, packing: Packing, keep_slots: bool) -> tuple[Tensor, Tensor]:
    """Put packed states into a padded batch, in their own slots or moved together at the start of each sequence.

    Returns:
        padded: shape (batch, slots, width), zeros elsewhere.
        places: shape (len(states),), where each state stands in the flattened padded batch.
    """
    batch, length = packing.shape
    if keep_slots:
        places, slots = rows, length
    else:
        owners = rows // length
        counts = torch.bincount(owners, minlength=batch)
        starts = counts.cumsum(0) - counts
        slots = int(counts.max())
        places = owners * slots + torch.arange(len(rows), device=rows.device) - starts[owners]
    padded = states.new_zeros(batch * slots, states.shape[-1]).index_copy(0, places, states)
    return padded.unflatten(0, (batch, slots)), places


class Encoder(nn.Module):
    """A stack of blocks."""

    def __init__(self, width: int, num_layers: int, num_heads: int, dropout: nn.Module) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Block(width, num_heads, dropout) for _ in range(num_layers))

    def forward(self, tokens: Tensor, packing: Packing, read: Tensor) -> Tensor:
        """Return the final states at `read`, sorted positions among the packed tokens: shape (len(read), width)."""
        if not self.training and not torch.is_grad_enabled() and native.is_ready(tokens):
            return self._forward_natively(tokens, packing, read)
        *first, last = self.blocks
        for block in first:
            tokens = block(tokens, packing)
        return last(tokens, packing, read)

    def _forward_natively(self, tokens: Tensor, packing: Packing, read: Tensor) -> Tensor:
        blocks = [block for block in self.blocks if isinstance(block, Block)]
        layers = [block.layers() for block in blocks]
        return native.encode(tokens, packing.starts(), read, layers, blocks[0].num_heads, blocks[0].output_norm.eps)

    def attentions(self, tokens: Tensor, packing: Packing) -> list[Tensor]:
        """Return each block's attention map, averaged over heads: shapes (batch, length, length)."""
        maps = []
        for block in self.blocks:
            maps.append(block.attention(tokens, packing))  # pyrefly: ignore
            tokens = block(tokens, packing)
        return maps
