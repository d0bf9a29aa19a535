from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tripleshot.methods.rscl import native
from tripleshot.methods.rscl.transformer import Encoder, Packing, PooledDropout

needs_compiler = pytest.mark.skipif(native.library() is None, reason="no C compiler")


@pytest.fixture
def fresh(tmp_path, monkeypatch):
    """A folder in which nothing was compiled yet."""
    monkeypatch.setenv("TRIPLESHOT_HOME", str(tmp_path))
    monkeypatch.delenv("TRIPLESHOT_NATIVE", raising=False)
    native.library.cache_clear()
    yield tmp_path / "native"
    native.library.cache_clear()


def make(width=100, num_layers=2, num_heads=4, lengths=(35, 3, 20), seed=0):
    """Return an encoder whose every parameter is random, tokens and how they are packed."""
    torch.manual_seed(seed)
    encoder = Encoder(width, num_layers, num_heads, PooledDropout(0.1)).eval()
    for parameter in encoder.parameters():
        torch.nn.init.normal_(parameter, std=0.7 if parameter.ndim == 1 else 2 * width**-0.5)
    present = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
    return encoder, torch.randn(int(present.sum()), width), Packing.of(present)


def everything(packing):
    return torch.arange(len(packing.rows))


@torch.no_grad()
def by_torch(encoder, tokens, packing, read):
    *first, last = encoder.blocks
    for block in first:
        tokens = block(tokens, packing)
    return last(tokens, packing, read)


@torch.no_grad()
def natively(encoder, tokens, packing, read):
    blocks = list(encoder.blocks)
    layers = [block.layers() for block in blocks]
    return native.encode(tokens, packing.starts(), read, layers, blocks[0].num_heads, blocks[0].output_norm.eps)


def assert_close(found, expected):
    torch.testing.assert_close(found, expected, atol=1e-4 * max(1.0, float(expected.abs().max())), rtol=0)


@needs_compiler
@given(
    width=st.integers(1, 130),
    num_layers=st.integers(1, 3),
    num_heads=st.integers(1, 8),
    lengths=st.lists(st.integers(1, 70), min_size=1, max_size=25),
    share=st.floats(0, 1),
    seed=st.integers(0, 1000),
)
def test_it_agrees_with_torch(width, num_layers, num_heads, lengths, share, seed):
    encoder, tokens, packing = make(width, num_layers, num_heads, lengths, seed)
    read = (torch.rand(len(tokens)) < share).nonzero().squeeze(1)
    if len(read) == 0:
        read = torch.tensor([len(tokens) - 1])
    assert_close(natively(encoder, tokens, packing, read), by_torch(encoder, tokens, packing, read))


@needs_compiler
@pytest.mark.parametrize("lengths", [[3] * 300, [35] * 40, [1], [700, 5, 400]], ids=["bare", "full", "one", "long"])
@pytest.mark.parametrize(("width", "num_layers"), [(100, 4), (50, 2)], ids=["nell-one", "wiki-one"])
def test_it_agrees_with_torch_at_the_papers_sizes(width, num_layers, lengths):
    encoder, tokens, packing = make(width, num_layers, 4, lengths)
    read = everything(packing)
    assert_close(natively(encoder, tokens, packing, read), by_torch(encoder, tokens, packing, read))


@needs_compiler
def test_large_activations_do_not_overflow():
    encoder, tokens, packing = make()
    with torch.no_grad():
        for block in encoder.blocks:
            block.get_parameter("query.weight").mul_(100)
            block.get_parameter("widen.weight").mul_(100)
    found = natively(encoder, tokens, packing, everything(packing))
    assert found.isfinite().all()
    # attention is nearly a choice of one token there: rounding decides between close ones, so only a loose bound holds
    assert (found - by_torch(encoder, tokens, packing, everything(packing))).abs().median() < 1e-3


@needs_compiler
def test_a_context_has_the_same_states_to_the_bit_in_any_company():
    encoder, tokens, packing = make(lengths=(35, 20, 30, 3))
    together = natively(encoder, tokens, packing, everything(packing))
    alone = Packing.of(torch.ones(1, 30, dtype=torch.bool))
    assert torch.equal(natively(encoder, tokens[55:85], alone, torch.arange(30)), together[55:85])


@needs_compiler
def test_no_token_read_gives_no_state():
    encoder, tokens, packing = make()
    assert natively(encoder, tokens, packing, torch.empty(0, dtype=torch.long)).shape == (0, 100)


@needs_compiler
def test_the_encoder_uses_it_where_nothing_is_learned(fresh, monkeypatch):
    encoder, tokens, packing = make()
    calls = []
    encode = native.encode
    monkeypatch.setattr(native, "encode", lambda *arguments: calls.append(1) or encode(*arguments))
    read = everything(packing)
    learning = encoder(tokens, packing, read)
    assert not calls
    with torch.inference_mode():
        assert_close(encoder(tokens, packing, read), learning.detach())
        assert len(calls) == 1
        encoder.train()(tokens, packing, read)
        encoder.double().eval()(tokens.double(), packing, read)
    assert len(calls) == 1


@needs_compiler
def test_changed_weights_are_seen():
    encoder, tokens, packing = make()
    before = natively(encoder, tokens, packing, everything(packing))
    encoder.get_parameter("blocks.0.widen.weight").data.mul_(1.5)  # behind the back of torch's version counters
    after = natively(encoder, tokens, packing, everything(packing))
    assert not torch.allclose(before, after, atol=1e-2)
    assert_close(after, by_torch(encoder, tokens, packing, everything(packing)))


@needs_compiler
def test_threads_give_the_same():
    encoder, tokens, packing = make(lengths=(35, 3, 20) * 10)
    read = everything(packing)
    expected = natively(encoder, tokens, packing, read)
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: natively(encoder, tokens, packing, read), range(12)):
            assert torch.equal(found, expected)


def test_the_environment_can_refuse_it(monkeypatch):
    monkeypatch.setenv("TRIPLESHOT_NATIVE", "0")
    assert not native.is_ready(torch.zeros(1, 4))


def test_without_a_compiler_torch_does_the_work(fresh, monkeypatch):
    encoder, tokens, packing = make()
    monkeypatch.setenv("PATH", "")
    assert not native.is_ready(tokens)
    with torch.inference_mode():
        assert encoder(tokens, packing, everything(packing)).shape == tokens.shape


def test_a_compiler_that_fails_is_no_error(fresh, monkeypatch, tmp_path):
    broken = tmp_path / "bin" / "cc"
    broken.parent.mkdir()
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", str(broken.parent))
    assert native.library() is None


@needs_compiler
def test_a_folder_that_cannot_be_written_is_no_error(fresh, monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("TRIPLESHOT_HOME", str(tmp_path / "file"))
    assert native.library() is not None  # compiled for this process alone


@needs_compiler
def test_it_is_compiled_once_and_a_broken_file_is_made_anew(fresh):
    native.library()
    (kept,) = fresh.iterdir()
    content, made = kept.read_bytes(), kept.stat().st_mtime_ns
    native.library.cache_clear()
    native.library()
    assert kept.stat().st_mtime_ns == made
    kept.unlink()  # the old file stays as it is for whoever has loaded it
    kept.write_bytes(content[: len(content) // 2])
    native.library.cache_clear()
    encoder, tokens, packing = make()
    read = everything(packing)
    assert_close(natively(encoder, tokens, packing, read), by_torch(encoder, tokens, packing, read))
    assert [path.read_bytes() for path in fresh.iterdir()] == [content]
