import math
from functools import partial

import pytest
import torch
from torch import nn
from torch.nn import functional

from tripleshot.methods.fewshot.pair_transformer import PairBlock, PairTransformer, sinusoids

GELU = partial(functional.gelu, approximate="tanh")


def published_block(block, width, num_heads):
    """A block of torch's own with the same weights."""
    theirs = nn.TransformerEncoderLayer(width, num_heads, 2 * width, 0.0, GELU, batch_first=True)
    with torch.no_grad():
        theirs.self_attn.in_proj_weight.copy_(torch.cat([block.query.weight, block.key_value.weight]))
        theirs.self_attn.in_proj_bias.copy_(torch.cat([block.query.bias, block.key_value.bias]))
        for ours, other in [
            (block.attention_output, theirs.self_attn.out_proj),
            (block.attention_norm, theirs.norm1),
            (block.widen, theirs.linear1),
            (block.narrow, theirs.linear2),
            (block.output_norm, theirs.norm2),
        ]:
            other.load_state_dict(ours.state_dict())
    return theirs


def test_pairs_are_encoded_like_by_blocks_of_torch():
    torch.manual_seed(0)
    encoder = PairTransformer(width=4, num_layers=2, num_heads=3, dropout=0.0)
    heads, tails = torch.randn(5, 4), torch.randn(5, 4)
    tokens = torch.stack([heads, encoder.relation.expand(5, 4), tails], dim=1) + sinusoids(3, 4)
    states = torch.cat([tokens] * 3, dim=2)  # each head sees all of it
    for block in encoder.blocks:
        states = published_block(block, 12, 3)(states)
    torch.testing.assert_close(encoder(heads, tails), states[:, 1])


def test_positions_are_sines_and_cosines():
    expected = [[0, 1, 0, 1], [math.sin(1), math.cos(1), math.sin(0.01), math.cos(0.01)]]
    assert sinusoids(2, 4).flatten().tolist() == pytest.approx([value for row in expected for value in row])


def test_the_public_split_mixes_tokens_and_heads():
    """Three tokens of two heads are six pieces; each head takes the next three, whatever they are."""
    torch.manual_seed(0)
    block = PairBlock(4, num_heads=2, dropout=0.0, faithful=True)
    queries, keys, values = torch.randn(3, 1, 3, 4)
    pieces = [part.reshape(6, 2) for part in (queries[0], keys[0], values[0])]
    mixed = []
    for chosen in (slice(0, 3), slice(3, 6)):
        asked, found, taken = (part[chosen] for part in pieces)
        mixed.append((asked @ found.T * (2 // 2) ** -0.5).softmax(1) @ taken)
    torch.testing.assert_close(block.attend(queries, keys, values)[0], torch.cat(mixed).reshape(3, 4))
