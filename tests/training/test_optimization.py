import pytest
import torch
from torch import nn

from tripleshot.training.optimization import learning_rate, make_optimizers, zeros_when_used


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


@pytest.mark.parametrize("kind", ["adam", "adagrad"])
def test_weights_are_updated_as_by_the_optimizers_of_torch(kind):
    ours, plain = Small(), Small()
    plain.load_state_dict(ours.state_dict())
    optimizers = make_optimizers(ours, kind, 0.1)
    references: list[torch.optim.Optimizer] = [torch.optim.Adagrad(plain.parameters(), lr=0.1)]
    if kind == "adam":
        dense = torch.optim.Adam(plain.layer.parameters(), lr=0.1, fused=True)
        references = [dense, torch.optim.SparseAdam(plain.rows.parameters(), lr=0.1)]
    for rows in ([1, 3, 3], [0, 1, 1], [3, 4, 0]):
        for module, updates in ((ours, optimizers), (plain, references)):
            module.zero_grad()
            module.layer(module.rows(torch.tensor(rows))).square().sum().backward()
            for optimizer in updates:
                optimizer.step()
    for name, weights in plain.state_dict().items():
        assert torch.equal(ours.state_dict()[name], weights)
    for made, reference in zip(optimizers, references, strict=True):
        assert made.state_dict()["param_groups"] == reference.state_dict()["param_groups"]
        torch.testing.assert_close(made.state_dict()["state"], reference.state_dict()["state"], rtol=0, atol=0)


def test_zeros_can_be_written_to_and_have_the_shape_and_type_of_the_weights():
    for weights in (torch.ones(3, 2), torch.ones(4, dtype=torch.float64), torch.ones(0, 5), torch.tensor(1.0)):
        zeros = zeros_when_used(weights)
        assert torch.equal(zeros, torch.zeros_like(weights))
        assert torch.equal(zeros.add_(1), weights)


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
