"""Two processes under torchrun, as a user would start them."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch.nn import functional

PAIR = """
import sys
from pathlib import Path
import numpy as np, torch
from safetensors.torch import save_file
from torch import nn
from tripleshot.evaluation.validation import Validation
from tripleshot.training.distributed import process_group, rank
from tripleshot.methods.trainable import Stage
from tripleshot.training.trainer import Trainer, TrainerOptions

folder = Path(sys.argv[1])
torch.set_num_threads(1)

class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.rows = nn.Embedding(6, 3, sparse=True)
        self.layer = nn.Linear(3, 1)

torch.manual_seed(0)
module = Small()
with process_group("cpu"):
    rows = torch.tensor([0, 1, 2]) if rank() == 0 else torch.tensor([2, 3])
    def losses(step, rng):
        return {"fit": (module.layer(module.rows(rows)) - 1).square().mean()}
    def validate(*limits):
        return Validation(np.array([0.5]), 1)
    stage = Stage("only", losses, 1, 0.1, "constant", 0, validates=True)
    trainer = Trainer(module, [stage], folder, 0, validate, lambda: None, TrainerOptions(clip=0.0))
    if rank() == 0:
        save_file({name: value.clone() for name, value in module.state_dict().items()}, folder / "before.safetensors")
    trainer.run()
    grads = {"rows": module.rows.weight.grad.to_dense(), "layer": module.layer.weight.grad}
    save_file(grads, folder / f"gradient-{rank()}.safetensors")
    save_file(dict(module.state_dict()), folder / f"after-{rank()}.safetensors")
"""


DRAWS = """
import sys
from pathlib import Path
import numpy as np
import torch
from torch import nn
from tripleshot.evaluation.validation import Validation
from tripleshot.methods.trainable import Stage
from tripleshot.training.distributed import process_group, rank
from tripleshot.training.trainer import Trainer, TrainerOptions

torch.set_num_threads(1)

def train(folder, dies_at=None, resume=False):
    folder.mkdir(exist_ok=True)
    torch.manual_seed(0)
    module, drawn = nn.Linear(3, 1), []
    def losses(step, rng):
        if step == dies_at:
            raise RuntimeError
        drawn.append((rng.random(), float(torch.rand(()))))
        return {"fit": (module(torch.tensor([*drawn[-1], 1.0])) - 1).square().mean()}
    stage = Stage("only", losses, 6, 0.1, "constant", 0)
    options = TrainerOptions(checkpoint_every=2)
    trainer = Trainer(module, [stage], folder, 0, lambda *limits: Validation(np.ones(1), 1), lambda: None, options)
    try:
        trainer.run(resume)
    except RuntimeError:
        pass
    return drawn, module.weight.detach()

folder = Path(sys.argv[1])
with process_group("cpu"):
    drawn, weight = train(folder / "whole")
    train(folder / "stopped", dies_at=5)
    drawn_after, weight_after = train(folder / "stopped", resume=True)
    assert drawn_after == drawn[4:], (rank(), drawn_after, drawn)
    assert torch.equal(weight, weight_after)
"""


def torchrun(*words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def finished_stages(folder: Path) -> list[str]:
    log = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    return [line["finished"] for line in log if "finished" in line]


def test_gradients_dense_and_sparse_are_the_mean_over_processes(tmp_path: Path):
    (tmp_path / "pair.py").write_text(PAIR)
    done = torchrun(tmp_path / "pair.py", tmp_path)
    assert done.returncode == 0, done.stderr
    before = {name: value.requires_grad_() for name, value in load_file(tmp_path / "before.safetensors").items()}
    losses = []
    for rows in ([0, 1, 2], [2, 3]):
        hidden = functional.embedding(torch.tensor(rows), before["rows.weight"])
        losses.append((functional.linear(hidden, before["layer.weight"], before["layer.bias"]) - 1).square().mean())
    torch.stack(losses).mean().backward()
    for number in (0, 1):
        found = load_file(tmp_path / f"gradient-{number}.safetensors")
        torch.testing.assert_close(found["rows"], before["rows.weight"].grad)
        torch.testing.assert_close(found["layer"], before["layer.weight"].grad)
    first, second = (load_file(tmp_path / f"after-{number}.safetensors") for number in (0, 1))
    assert all(torch.equal(first[name], second[name]) for name in first)


@pytest.mark.parametrize("limit", ["--steps=4", "--budget=2s"])
def test_rscl_trains_in_two_processes_and_resuming_what_is_finished_trains_no_more(tmp_path: Path, limit: str):
    lines = [f"person:{i}\tr{r}\tcity:{(i * (r + 1)) % 9}" for r in range(5) for i in range(60)]
    lines += [f"city:{i}\tin\tcountry:{i % 3}" for i in range(9)]
    (tmp_path / "graph.tsv").write_text("\n".join(lines))
    settings = ("--width", 8, "--num-layers", 1, "--num-heads", 2, "--batch-size", 8, "--pretraining-steps", 3)
    words = ("-m", "tripleshot", "train", tmp_path / "graph.tsv", tmp_path / "run", "--threads", 1)
    settings = (*settings, "--method", "rscl")
    done = torchrun(*words, *settings, limit)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("trained;") == 1
    assert finished_stages(tmp_path / "run") == ["pre-training", "episodes"]
    assert (tmp_path / "run" / "weights.safetensors").exists()
    assert torchrun(*words, "--resume").returncode == 0
    assert finished_stages(tmp_path / "run") == ["pre-training", "episodes"]
    assert (tmp_path / "run" / "weights.safetensors").exists()


def test_a_resumed_training_goes_on_with_the_draws_of_each_process(tmp_path: Path):
    (tmp_path / "draws.py").write_text(DRAWS)
    done = torchrun(tmp_path / "draws.py", tmp_path)
    assert done.returncode == 0, done.stderr
