import pytest
import torch
from torch import nn

from tripleshot.training.optimization import learning_rate, make_optimizers


class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.rows = nn.Embedding(5, 3, sparse=True)
        self.layer = nn.Linear(3, 1)


@pytest.mark.parametrize(("kind", "expected"), [("adam", ["Adam", "SparseAdam"]), ("adagrad", ["Adagrad"])])
def test_only_the_rows_in_use_are_touched(kind, expected):
    module = Small()
    rows, layer = (part.weight.detach().clone() for part in (module.rows, module.layer))
    optimizers = make_optimizers(module, kind, 0.1)
    assert [type(optimizer).__name__ for optimizer in optimizers] == expected
    module.layer(module.rows(torch.tensor([1, 3, 3]))).sum().backward()
    for optimizer in optimizers:
        optimizer.step()
    assert torch.ne(module.rows.weight, rows).any(1).tolist() == [False, True, False, True, False]
    assert not torch.equal(module.layer.weight, layer)


def test_dense_weights_alone_need_no_sparse_optimizer():
    assert len(make_optimizers(nn.Linear(2, 1), "adam", 0.1)) == 1


@pytest.mark.parametrize(
    ("schedule", "step", "expected"),
    [
        ("stepwise", 0, 1.0),
        ("stepwise", 9_999, 1.0),
        ("stepwise", 10_000, 0.25),
        ("stepwise", 20_000, 0.0625),
        ("stepwise", 90_000, 0.025),
        ("once", 9_999, 1.0),
        ("once", 90_000, 0.25),
        ("linear", 50_000, 0.5),
        ("linear", 99_999, 0.025),
        ("constant", 99_999, 1.0),
    ],
)
def test_the_rate_goes_down_as_named(schedule, step, expected):
    assert learning_rate(schedule, 1.0, step, 100_000, warmup=0) == pytest.approx(expected)


def test_every_schedule_rises_first():
    rates = [learning_rate("constant", 1.0, step, 100, warmup=10) for step in range(12)]
    assert rates == pytest.approx([*(i / 10 for i in range(1, 11)), 1.0, 1.0])
