import pytest
import torch
from torch import nn

from tripleshot.methods.rscl.transformer import Block, Encoder, Packing, PooledDropout


def reference(encoder: Encoder, width: int, num_heads: int) -> nn.TransformerEncoder:
    """PyTorch's own encoder with the same weights; it needs a width that the heads divide."""
    layer = nn.TransformerEncoderLayer(width, num_heads, 4 * width, 0.0, "gelu", batch_first=True)
    plain = nn.TransformerEncoder(layer, len(encoder.blocks), enable_nested_tensor=False)
    for ours, theirs in zip(encoder.blocks, plain.layers, strict=True):
        assert isinstance(ours, Block)
        assert isinstance(theirs, nn.TransformerEncoderLayer)
        theirs.self_attn.in_proj_weight.data = torch.cat([ours.query.weight, ours.key_value.weight])
        theirs.self_attn.in_proj_bias.data = torch.cat([ours.query.bias, ours.key_value.bias])
        theirs.self_attn.out_proj.load_state_dict(ours.attention_output.state_dict())
        theirs.linear1.load_state_dict(ours.widen.state_dict())
        theirs.linear2.load_state_dict(ours.narrow.state_dict())
        theirs.norm1.load_state_dict(ours.attention_norm.state_dict())
        theirs.norm2.load_state_dict(ours.output_norm.state_dict())
    return plain


def padded_batch(width, lengths, length=9):
    torch.manual_seed(1)
    present = torch.arange(length) < torch.tensor(lengths)[:, None]
    return torch.randn(len(lengths), length, width), present


@pytest.mark.parametrize("num_layers", [1, 3])
def test_packed_blocks_agree_with_pytorchs_padded_encoder(num_layers):
    torch.manual_seed(0)
    encoder = Encoder(12, num_layers, 4, PooledDropout(0.0)).eval()
    inputs, present = padded_batch(12, [9, 1, 5, 3])
    expected = reference(encoder, 12, 4)(inputs, src_key_padding_mask=~present)
    found = encoder(inputs[present], Packing.of(present), torch.arange(int(present.sum())))
    torch.testing.assert_close(found, expected[present], atol=1e-5, rtol=1e-4)


def test_reading_some_tokens_gives_what_reading_all_gives_there():
    torch.manual_seed(0)
    encoder = Encoder(12, 2, 4, PooledDropout(0.0)).eval()
    inputs, present = padded_batch(12, [9, 2, 5, 3])
    packing = Packing.of(present)
    everything = encoder(inputs[present], packing, torch.arange(int(present.sum())))
    read = torch.tensor([0, 4, 9, 11, 12, 18])
    torch.testing.assert_close(encoder(inputs[present], packing, read), everything[read], atol=1e-5, rtol=1e-4)


def test_a_width_that_the_heads_do_not_divide_works():
    encoder = Encoder(50, 2, 4, PooledDropout(0.1))
    inputs, present = padded_batch(50, [4, 9])
    states = encoder(inputs[present], Packing.of(present), torch.arange(int(present.sum())))
    states.sum().backward()
    assert states.shape == (13, 50)
    assert all(parameter.grad is not None for parameter in encoder.parameters())


def test_a_sequence_does_not_see_another():
    encoder = Encoder(8, 2, 2, PooledDropout(0.0)).eval()
    inputs, present = padded_batch(8, [5, 7])
    together = encoder(inputs[present], Packing.of(present), torch.arange(12))
    alone = encoder(inputs[0, :5], Packing.of(present[:1]), torch.arange(5))
    torch.testing.assert_close(together[:5], alone, atol=1e-5, rtol=1e-4)


def test_attention_maps_are_distributions_over_what_is_there():
    encoder = Encoder(8, 2, 2, PooledDropout(0.0)).eval()
    inputs, present = padded_batch(8, [5, 7])
    maps = encoder.attentions(inputs[present], Packing.of(present))
    assert len(maps) == 2
    for attention in maps:
        torch.testing.assert_close(attention.sum(-1), torch.ones(2, 9))
        assert attention[0, :, 5:].sum() == 0


def test_pooled_dropout_drops_its_share_and_keeps_the_mean():
    dropout = PooledDropout(0.3).train()
    values = torch.ones(700_000)
    dropped = dropout(values)
    assert (dropped == 0).float().mean().item() == pytest.approx(0.3, abs=0.01)
    assert dropped.mean().item() == pytest.approx(1.0, abs=0.01)
    assert not torch.equal(dropped, dropout(values))
    torch.testing.assert_close(dropout.eval()(values), values)


def test_the_pool_follows_from_the_step_alone():
    first, second = PooledDropout(0.5).train(), PooledDropout(0.5).train()
    first.begin(0)
    first.begin(1200)
    second.begin(1300)
    torch.manual_seed(3)
    left = first(torch.ones(1000))
    torch.manual_seed(3)
    torch.testing.assert_close(left, second(torch.ones(1000)))
