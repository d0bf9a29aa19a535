"""A method of each family in two processes: what one learns from the same batches, one validation, exact resume."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from tripleshot.datasets.catalog import load_dataset
from tripleshot.errors import InputError
from tripleshot.training.fit import train_run
from tripleshot.training.log import read_log

SHARED = {"steps": 6, "validate_every": 3, "checkpoint_every": 2, "valid_queries": 40}
OWN: dict[str, dict[str, Any]] = {
    "evidence-net": {"batch_size": 16, "num_negatives": 8, "relations_per_step": 2, "pretrained": ""},
    "rscl": {"width": 8, "num_layers": 1, "num_heads": 2, "batch_size": 4, "num_negatives": 4, "pretraining_steps": 3},
    "transe": {"width": 8, "batch_size": 32, "num_negatives": 4},
    "distmult": {"width": 8, "batch_size": 32, "num_negatives": 4, "optimizer": "adagrad", "batches_per_step": 2},
}
SETTINGS = {method: {**own, **SHARED} for method, own in OWN.items()}
PAIR = """
import json, os, signal, sys
from pathlib import Path
import numpy as np, torch
from pairs import run_pair
from tripleshot.datasets.catalog import load_dataset
from tripleshot.evaluation.validation import Validator
from tripleshot.training.distributed import process_group, rank, team
from tripleshot.training.fit import train_run
from tripleshot.training.trainer import StoppedError

torch.set_num_threads(1)
folder, settings = Path(sys.argv[1]), json.loads(sys.argv[2])
data = load_dataset(folder / "graph.tsv")

def stop(update):
    if update.step == 5 and update.stage != "pre-training":
        os.kill(os.getpid(), signal.SIGINT)

def work():
    with process_group("cpu"):
        for method, own in settings.items():
            whole = train_run(method, data, 3, folder / f"{method}-whole", settings=own)
            if own.get("batches_per_step", 1) == 1:
                try:
                    train_run(method, data, 3, folder / f"{method}-stopped", settings=own, callback=stop)
                    raise AssertionError
                except StoppedError:
                    train_run(method, data, 3, folder / f"{method}-stopped", resume=True)
            alone, together = (Validator(whole, data, 3, 0, *other) for other in ((), (team(),)))
            expected = alone.validate().reciprocal_ranks
            np.testing.assert_array_equal(together.validate().reciprocal_ranks, expected)
            np.testing.assert_array_equal(together.validate(0, lambda: rank() != 0).reciprocal_ranks, expected)
            assert together.validate(0, lambda: rank() == 0).num_heads == 2

run_pair(work)
"""


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> Path:
    """Train every method in two processes, once to the end and once stopped and resumed."""
    folder = tmp_path_factory.mktemp("trained")
    lines = [f"person:{i}\tr{r}\tcity:{(i * (r + 1)) % 9}" for r in range(5) for i in range(60)]
    lines += [f"city:{i}\tin\tcountry:{i % 3}" for i in range(9)]
    (folder / "graph.tsv").write_text("\n".join(lines))
    (folder / "pair.py").write_text(PAIR)
    command = [sys.executable, str(folder / "pair.py"), str(folder), json.dumps(SETTINGS)]
    paths = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, env=paths, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return folder


def log_of(run: Path) -> list[dict[str, Any]]:
    return [{name: value for name, value in row.items() if name != "seconds"} for row in read_log(run / "log.jsonl")]


@pytest.mark.parametrize("method", SETTINGS)
def test_two_processes_learn_what_one_learns_from_the_batches_of_both(trained: Path, method: str):
    own, data = SETTINGS[method], load_dataset(trained / "graph.tsv")
    together = {**own, "batches_per_step": 2 * own.get("batches_per_step", 1)}
    runs = trained / f"{method}-alone", trained / f"{method}-whole"
    train_run(method, data, 3, runs[0], settings=together)
    expected, found = (load_file(run / "checkpoint.safetensors") for run in runs)
    assert expected.keys() == found.keys()
    for name, value in expected.items():
        # A softmax does not change with the bias of its keys: its gradient is rounding alone, which Adam makes a step.
        tolerance = 1e-2 if name.endswith("key_value.bias") else 1e-5
        np.testing.assert_allclose(found[name], value, rtol=1e-4, atol=tolerance, err_msg=name)
    np.testing.assert_array_equal(found["random"], expected["random"])  # the very same draws
    for one, other in zip(*map(log_of, runs), strict=True):
        assert other.keys() == one.keys()
        assert other.get("losses", {}) == pytest.approx(one.get("losses", {}), rel=1e-4)
        assert other.get("valid_mrr", 0.0) == pytest.approx(one.get("valid_mrr", 0.0), rel=1e-3)


@pytest.mark.parametrize("method", ["evidence-net", "rscl", "transe"])
def test_a_training_in_two_processes_that_was_stopped_ends_with_the_same_bits(trained: Path, method: str):
    whole, stopped = (trained / f"{method}-{kind}" for kind in ("whole", "stopped"))
    assert (stopped / "weights.safetensors").read_bytes() == (whole / "weights.safetensors").read_bytes()
    tensors, others = (load_file(run / "checkpoint.safetensors") for run in (whole, stopped))
    assert all(np.array_equal(value, others[name]) for name, value in tensors.items())
    assert log_of(stopped) == log_of(whole)


def test_another_number_of_processes_is_refused(trained: Path):
    run = Path(shutil.copytree(trained / "transe-whole", trained / "other"))
    with pytest.raises(InputError, match="a training in 2 processes, and goes on in as many, not in one process"):
        train_run("transe", load_dataset(trained / "graph.tsv"), 3, run, resume=True)
