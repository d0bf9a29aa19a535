import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional

from tripleshot.errors import TripleshotError
from tripleshot.methods.rscl import packed_attention
from tripleshot.methods.rscl.transformer import Encoder, Packing, PooledDropout

needs_compiler = pytest.mark.skipif(packed_attention.library() is None, reason="no C compiler")


@pytest.fixture
def without_compiler(tmp_path, monkeypatch):
    monkeypatch.setenv("TRIPLESHOT_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", "")
    packed_attention.library.cache_clear()
    yield
    packed_attention.library.cache_clear()


def starts_of(counts):
    return functional.pad(torch.tensor(counts).cumsum(0), (1, 0))


def make(num_heads, head_width, num_keys, num_queries, seed=0, spread=1.0):
    """Return random queries, keys and values of contexts, and where each context begins."""
    torch.manual_seed(seed)
    inner = num_heads * head_width
    queries = (spread * torch.randn(sum(num_queries), inner)).requires_grad_()
    keys_values = (spread * torch.randn(sum(num_keys), 2 * inner)).requires_grad_()
    return queries, keys_values, starts_of(num_keys), starts_of(num_queries), num_heads


def plainly(queries, keys_values, key_starts, query_starts, num_heads):
    """Context by context and head by head, as the definition says."""
    keys, values = keys_values.chunk(2, dim=1)
    rows = []
    for context in range(len(key_starts) - 1):
        asked, heard = (slice(starts[context], starts[context + 1]) for starts in (query_starts, key_starts))
        heads = []
        for query, key, value in zip(
            *(part.chunk(num_heads, dim=1) for part in (queries[asked], keys[heard], values[heard])), strict=True
        ):
            heads.append((query @ key.T / key.shape[1] ** 0.5).softmax(1) @ value)
        rows.append(torch.cat(heads, dim=1))
    return torch.cat(rows)


def with_gradients(attend, queries, keys_values, *others):
    attended = attend(queries, keys_values, *others)
    weights = torch.sin(torch.arange(attended.numel())).view_as(attended)
    return attended, *torch.autograd.grad(attended, (queries, keys_values), weights)


def assert_agrees(arguments):
    expected = with_gradients(plainly, *arguments)
    for found, wanted in zip(with_gradients(packed_attention.attend, *arguments), expected, strict=True):
        largest = float(torch.cat([torch.ones(1), wanted.detach().abs().flatten()]).max())
        torch.testing.assert_close(found, wanted, atol=2e-6 * largest, rtol=1e-4)


@needs_compiler
@given(
    num_heads=st.integers(1, 5),
    head_width=st.integers(1, 70),
    sizes=st.lists(st.tuples(st.integers(1, 70), st.integers(0, 70)), min_size=1, max_size=12),
    seed=st.integers(0, 1000),
)
def test_it_agrees_with_the_definition_and_so_do_its_gradients(num_heads, head_width, sizes, seed):
    num_keys, num_queries = zip(*sizes, strict=True)
    assert_agrees(make(num_heads, head_width, num_keys, num_queries, seed))


@needs_compiler
def test_it_agrees_with_the_definition_at_the_papers_sizes():
    assert_agrees(make(4, 25, [35, 3, 20, 35], [35, 3, 11, 0]))


@needs_compiler
def test_scores_far_apart_do_not_overflow():
    for values in with_gradients(packed_attention.attend, *make(2, 8, [35, 20], [35, 20], spread=40.0)):
        assert values.isfinite().all()


@needs_compiler
def test_any_number_of_threads_gives_the_same_to_the_bit():
    arguments = make(4, 25, [35, 3, 20, 33, 7], [35, 3, 11, 2, 7])
    before, found = torch.get_num_threads(), []
    try:
        for num_threads in (1, 2, 7):
            torch.set_num_threads(num_threads)
            found.append(with_gradients(packed_attention.attend, *arguments))
    finally:
        torch.set_num_threads(before)
    for others in found[1:]:
        assert all(torch.equal(one, other) for one, other in zip(found[0], others, strict=True))


def learned(encoder, tokens, packing, read):
    """Return states and the gradients of all weights."""
    states = encoder(tokens, packing, read)
    weights = list(encoder.parameters())
    return states, *torch.autograd.grad(states, weights, torch.ones_like(states))


@needs_compiler
@pytest.mark.parametrize("width", [12, 50])
def test_an_encoder_learns_the_same_with_it_as_with_torch(width, monkeypatch):
    torch.manual_seed(0)
    encoder = Encoder(width, 2, 4, PooledDropout(0.0)).train()
    present = torch.arange(9) < torch.tensor([9, 1, 5, 3])[:, None]
    arguments = (torch.randn(18, width), Packing.of(present), torch.tensor([0, 4, 9, 11, 17]))
    natively = learned(encoder, *arguments)
    monkeypatch.setenv("TRIPLESHOT_NATIVE", "0")
    for found, expected in zip(natively, learned(encoder, *arguments), strict=True):
        torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-4)


def test_other_numbers_than_floats_are_left_to_torch():
    assert not packed_attention.is_ready(torch.zeros(1, 4, dtype=torch.float64))


def test_without_a_compiler_torch_does_the_work(without_compiler):
    arguments = make(2, 4, [3], [3])
    assert not packed_attention.is_ready(arguments[0])
    with pytest.raises(TripleshotError, match="could not be compiled"):
        packed_attention.attend(*arguments)
