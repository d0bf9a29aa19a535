"""What a training step spends its time on: its operations as torch's profiler sees them, put together by kind.

Shares come from the profile of a few steps; what they are shares of is the processor time of steps that nobody watched.
Attention of the plain side, which has dropout inside, is made of batched products, softmax and dropout; torch counts
each of them on its own.
"""

import time
from collections.abc import Callable

import torch
from torch.profiler import ProfilerActivity, profile

PRODUCTS, ATTENTION, GELU, NORMS = "matrix products", "attention", "GELU", "layer norms"
MOVING, DROPOUT, LOSSES, UPDATE = (
    "moving tokens",
    "dropout, sums and other elementwise work",
    "softmax and losses",
    "Adam",
)
REST = "Python, contexts and the rest"
PARTS = (PRODUCTS, ATTENTION, GELU, NORMS, DROPOUT, MOVING, LOSSES, UPDATE, REST)
KINDS = (  # an operation is of the first kind whose words it has
    (UPDATE, ("adam", "_foreach", "linalg_vector_norm", "coalesce", "zero_grad")),
    (ATTENTION, ("scaled_dot_product", "packedattention")),
    (GELU, ("gelu",)),
    (NORMS, ("native_layer_norm",)),
    (LOSSES, ("softmax", "logsumexp", "exp", "log", "nll_loss", "cross_entropy", "masked_fill")),
    (PRODUCTS, ("::mm", "::addmm", "::bmm", "::baddbmm", "::matmul", "::linear", "::addmv", "::mv")),
    (MOVING, ("index", "copy", "cat", "gather", "scatter", "embedding", "clone", "repeat", "nonzero", "fill", "zero")),
    (DROPOUT, ("dropout", "bernoulli", "::mul", "::add", "::sum", "::div", "::sub", "::where", "::neg", "::rsub")),
)


def kind_of(operation: str) -> str:
    """Return the part of a step that an operation belongs to."""
    name = operation.lower()
    return next((kind for kind, words in KINDS if any(word in name for word in words)), REST)


def profiled_shares(run: Callable[[], float]) -> dict[str, float]:
    """Return the share of each part; `run` takes steps and returns how many seconds they took."""
    with profile(activities=[ProfilerActivity.CPU]) as watched:
        seconds = run()
    shares = dict.fromkeys(PARTS, 0.0)
    for event in watched.key_averages():
        shares[kind_of(event.key)] += event.self_cpu_time_total / 1e6 / seconds
    shares[REST] += 1 - sum(shares.values())
    return shares


def product_rates(width: int, num_tokens: int, repeats: int = 8) -> dict[str, float]:
    """Return the FLOP/s of the step's own matrix products, forward and for both gradients, by shape of the layer."""
    rates = {}
    for read, written in ((width, width), (width, 2 * width), (width, 4 * width), (4 * width, width)):
        tokens, gradient = torch.randn(num_tokens, read), torch.randn(num_tokens, written)
        weight, bias = torch.randn(written, read), torch.randn(written)
        products = {
            "forward": lambda t=tokens, w=weight, b=bias: torch.addmm(b, t, w.T),
            "gradient of the input": lambda g=gradient, w=weight: g @ w,
            "gradient of the weight": lambda g=gradient, t=tokens: g.T @ t,
        }
        for name, run in products.items():
            best = min(processor_seconds(run) for _ in range(repeats))
            rates[f"{read} to {written}, {name}"] = 2 * num_tokens * read * written / best
    return rates


def processor_seconds(run: Callable[[], object]) -> float:
    """Return the processor time of one call."""
    began = time.process_time()
    run()
    return time.process_time() - began
