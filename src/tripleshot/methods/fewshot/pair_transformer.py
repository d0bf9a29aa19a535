"""FAAN's encoder of pairs: head, relation and tail as three tokens of a transformer."""

import torch
from torch import Tensor, nn
from torch.nn import functional


class PairBlock(nn.Module):
    """A transformer block with its norms after the residual connections and a feed-forward layer twice as wide."""

    def __init__(self, width: int, num_heads: int, dropout: float, faithful: bool) -> None:
        """Make a block of some width; `faithful` splits it into heads as the public code does."""
        super().__init__()
        self.num_heads, self.faithful = num_heads, faithful
        self.query = nn.Linear(width, width)
        self.key_value = nn.Linear(width, 2 * width)
        self.attention_output = nn.Linear(width, width)
        self.attention_norm = nn.LayerNorm(width)
        self.widen = nn.Linear(width, 2 * width)
        self.narrow = nn.Linear(2 * width, width)
        self.output_norm = nn.LayerNorm(width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, states: Tensor, read: slice = slice(None)) -> Tensor:
        """Return new states, of the tokens at `read` alone: (n, 3, width) to (n, tokens, width)."""
        asking = states[:, read]
        keys, values = self.key_value(states).chunk(2, dim=-1)
        if self.faithful:
            mixed = self.attend(self.query(states), keys, values)[:, read]
        else:
            mixed = self.attend(self.query(asking), keys, values)
        states = self.attention_norm(asking + self.dropout(self.attention_output(mixed)))
        forwarded = self.narrow(functional.gelu(self.widen(states), approximate="tanh"))
        return self.output_norm(states + self.dropout(forwarded))

    def attend(self, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        """Attend in each head: three of shape (n, tokens, width) to the shape of the queries.

        The public code cuts (n, 3, H d) into (n, H, 3, d) without moving the heads before the tokens: a head then
        attends over three neighboring pieces of whatever token and head. Its scale is (d // H) ** -0.5.
        """
        head_width = values.shape[-1] // self.num_heads
        if self.faithful:
            heads = (part.reshape(len(part), self.num_heads, -1, head_width) for part in (queries, keys, values))
            scale = max(head_width // self.num_heads, 1) ** -0.5
        else:
            heads = (part.unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for part in (queries, keys, values))
            scale = head_width**-0.5
        rate = self.dropout.p if self.training else 0.0
        attended = functional.scaled_dot_product_attention(*heads, dropout_p=rate, scale=scale)
        return attended.reshape(queries.shape) if self.faithful else attended.transpose(1, 2).flatten(2)


class PairTransformer(nn.Module):
    """(h', R, t') through transformer blocks; the pair is what becomes of R, one learnt vector for every relation."""

    def __init__(self, width: int, num_layers: int, num_heads: int, dropout: float, faithful: bool = False) -> None:
        """Make it; each head sees the whole vectors: they are repeated for each."""
        super().__init__()
        self.num_heads = num_heads
        self.relation = nn.Parameter(torch.rand(width))
        self.register_buffer("positions", sinusoids(3, width), persistent=False)
        blocks = (PairBlock(width * num_heads, num_heads, dropout, faithful) for _ in range(num_layers))
        self.blocks = nn.ModuleList(blocks)

    def forward(self, heads: Tensor, tails: Tensor) -> Tensor:
        """Encode pairs: two of (n, d) to (n, H d)."""
        tokens = torch.stack([heads, self.relation.expand_as(heads), tails], dim=1) + self.get_buffer("positions")
        states = tokens.repeat(1, 1, self.num_heads)
        *first, last = self.blocks
        for block in first:
            states = block(states)
        return last(states, slice(1, 2)).squeeze(1)


def sinusoids(length: int, width: int) -> Tensor:
    """Return fixed positions, shape (length, width): sines of falling frequencies and, between them, cosines."""
    angles = torch.arange(length)[:, None] / 10_000 ** (torch.arange(width) // 2 * 2 / width)
    return torch.where(torch.arange(width) % 2 == 0, angles.sin(), angles.cos())
