"""Two processes under torchrun, as a user would start them, and two that start faster."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch.nn import functional

LINES = [f"person:{i}\tr{r}\tcity:{(i * (r + 1)) % 9}" for r in range(5) for i in range(60)]
LINES += [f"city:{i}\tin\tcountry:{i % 3}" for i in range(9)]
SETTINGS = ("--width", "8", "--num-layers", "1", "--num-heads", "2", "--batch-size", "8", "--pretraining-steps", "3")
PAIR = """
import json, shutil, sys
from pathlib import Path
import numpy as np, torch
from pairs import run_pair
from safetensors.torch import save_file
from torch import nn
from tripleshot.cli import main
from tripleshot.evaluation.validation import Validation
from tripleshot.methods.trainable import Stage
from tripleshot.training.distributed import process_group, rank
from tripleshot.training.trainer import Trainer, TrainerOptions

folder, commands = Path(sys.argv[1]), json.loads(sys.argv[2])
torch.set_num_threads(1)

def validate(*limits):
    return Validation(np.array([0.5]), 1)

class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.rows = nn.Embedding(6, 3, sparse=True)
        self.layer = nn.Linear(3, 1)

def make_a_step():
    torch.manual_seed(0)
    module, rows = Small(), torch.tensor([0, 1, 2]) if rank() == 0 else torch.tensor([2, 3])
    def losses(step, rng):
        return {"fit": (module.layer(module.rows(rows)) - 1).square().mean()}
    stage = Stage("only", losses, 1, 0.1, "constant", 0, validates=True)
    trainer = Trainer(module, [stage], folder, 0, validate, lambda: None, TrainerOptions(clip=0.0))
    if rank() == 0:
        save_file({name: value.clone() for name, value in module.state_dict().items()}, folder / "before.safetensors")
    trainer.run()
    grads = {"rows": module.rows.weight.grad.to_dense(), "layer": module.layer.weight.grad}
    save_file(grads, folder / f"gradient-{rank()}.safetensors")
    save_file(dict(module.state_dict()), folder / f"after-{rank()}.safetensors")

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
    trainer = Trainer(module, [stage], folder, 0, validate, lambda: None, TrainerOptions(checkpoint_every=2))
    try:
        trainer.run(resume)
    except RuntimeError:
        pass
    return drawn, module.weight.tolist()

def work():
    with process_group("cpu"):
        make_a_step()
        whole = train(folder / "whole")
        train(folder / "stopped", dies_at=5)
        resumed = train(folder / "stopped", resume=True)
        (folder / f"draws-{rank()}.json").write_text(json.dumps([whole, resumed]))
        for words in commands:
            sys.argv = ["tripleshot", *words]
            try:
                main()
            except SystemExit as end:
                assert not end.code, words
            run = Path(words[2])
            if rank() == 0:
                print("end of a command", flush=True)
                shutil.copytree(run, run.with_name(f"{run.name} {'resumed' if '--resume' in words else 'begun'}"))

run_pair(work)
"""


def start(*words: object) -> str:
    paths = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, *map(str, words)], env=paths, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Train by the command under torchrun, and then do in two other processes, which start once, all else."""
    folder = tmp_path_factory.mktemp("pair")
    (folder / "graph.tsv").write_text("\n".join(LINES))
    (folder / "pair.py").write_text(PAIR)
    steps, budget = (("train", f"{folder}/graph.tsv", f"{folder}/{run}", "--threads=1") for run in ("steps", "budget"))
    settings = (*SETTINGS, "--method", "rscl")
    torchrun = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")
    printed = start(*torchrun, "-m", "tripleshot", *steps, *settings, "--steps=4")
    (folder / "steps.txt").write_text(printed)
    shutil.copytree(folder / "steps", folder / "steps begun")
    commands = [(*budget, *settings, "--budget=2s"), (*budget, "--resume"), (*steps, "--resume")]
    printed = start(folder / "pair.py", folder, json.dumps(commands))
    (folder / "budget.txt").write_text(printed)
    return folder


def finished_stages(folder: Path) -> list[str]:
    log = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    return [line["finished"] for line in log if "finished" in line]


def test_gradients_dense_and_sparse_are_the_mean_over_processes(folder: Path):
    before = {name: value.requires_grad_() for name, value in load_file(folder / "before.safetensors").items()}
    losses = []
    for rows in ([0, 1, 2], [2, 3]):
        hidden = functional.embedding(torch.tensor(rows), before["rows.weight"])
        losses.append((functional.linear(hidden, before["layer.weight"], before["layer.bias"]) - 1).square().mean())
    torch.stack(losses).mean().backward()
    for number in (0, 1):
        found = load_file(folder / f"gradient-{number}.safetensors")
        torch.testing.assert_close(found["rows"], before["rows.weight"].grad)
        torch.testing.assert_close(found["layer"], before["layer.weight"].grad)
    first, second = (load_file(folder / f"after-{number}.safetensors") for number in (0, 1))
    assert all(torch.equal(first[name], second[name]) for name in first)


@pytest.mark.parametrize("limit", ["steps", "budget"])
def test_rscl_trains_in_two_processes_and_resuming_what_is_finished_trains_no_more(folder: Path, limit: str):
    begun, resumed = folder / f"{limit} begun", folder / f"{limit} resumed"
    printed = (folder / f"{limit}.txt").read_text().partition("end of a command")[0]
    assert printed.count("trained;") == 1
    for run in (begun, resumed):
        assert finished_stages(run) == ["pre-training", "episodes"]
        assert (run / "weights.safetensors").exists()


def test_a_resumed_training_goes_on_with_the_draws_of_each_process(folder: Path):
    for number in (0, 1):
        (drawn, weight), (drawn_after, weight_after) = json.loads((folder / f"draws-{number}.json").read_text())
        assert drawn_after == drawn[4:]
        assert weight == weight_after
