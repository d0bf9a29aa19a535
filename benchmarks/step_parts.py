"""What a training step spends its time on: its operations as torch's profiler sees them, put together by kind.

Shares come from the profile of a few steps; what they are shares of is the processor time of steps that nobody watched.
"""

from collections.abc import Callable

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
