"""Train a method for a minute or two with other settings, and ask about relations that it has not learned from.

Settings are chosen on the valid tasks and on the train tasks that `tripleshot data hold-out` has set aside, which are
the test tasks of the folder that it writes: NELL-One's five valid relations alone mislead. No test task of NELL-One is
asked. The learning rate goes through its whole schedule in the time that is given. Prints the mean reciprocal ranks and
adds a line to a file.

    tripleshot data hold-out nell-one nell-part-1 --part 1 --parts 4
    python scripts/try_settings.py nell-part-1 tries.jsonl --method distmult --settings loss=softmax --seconds 70
"""

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from cyclopts import App
from rich.console import Console

from tripleshot import load_dataset
from tripleshot.datasets.dataset import FewShotDataset, Split, Task
from tripleshot.errors import InputError
from tripleshot.evaluation.results import commit, read_json_lines, write_json_lines
from tripleshot.experiments.variants import JOINT, Variant
from tripleshot.methods import find_method
from tripleshot.methods.settings import TrainingSettings
from tripleshot.methods.trainable import TrainableMethod
from tripleshot.training.optimization import learning_rate, make_optimizers
from tripleshot.training.runs import load_start

SPLITS: dict[Split, int] = {"valid": 60, "test": 40}  # queries of each relation at most
app = App(help=__doc__)


@app.default
def main(
    data: Path, out: Path, *, method: str, settings: tuple[str, ...] = (), seconds: int = 90, shots: int = 5
) -> None:
    """Train, measure and tell.

    Parameters
    ----------
    data
        A folder of `tripleshot data hold-out`.
    out
        The .jsonl file that a line is added to.
    method
        What to train.
    settings
        NAME=VALUE of settings that differ from those of the preset `fast`.
    seconds
        How long to train.
    shots
        K, the number of examples.
    """
    torch.set_num_threads(1)
    dataset = load_dataset(data)
    if "part" not in dataset.name:
        raise InputError(f"{data}: is not what `tripleshot data hold-out` writes; its test tasks would be asked")
    entry = find_method(method)
    chosen = replace(entry.preset("fast"), **Variant(method, JOINT.join(settings)).changes())
    trained = entry.method_class()(chosen)
    trained.prepare(dataset, shots)
    if start := getattr(chosen, "pretrained", ""):
        trained.start_from(load_start(trained.starts_from, start, dataset))
    steps = train(trained, chosen, seconds)
    trained.module.eval()
    trained.clear_cache()
    found = {split: measure(trained, dataset, dataset.tasks(split), shots, most) for split, most in SPLITS.items()}
    changed = dict(one.split("=", 1) for one in settings)
    line = {"method": method, "settings": changed, "seconds": seconds, "steps": steps, "commit": commit(), **found}
    write_json_lines([*(read_json_lines(out) if out.exists() else []), line], out)
    Console().print({name: value for name, value in line.items() if name != "commit"})


def train(method: TrainableMethod[Any, Any], settings: TrainingSettings, seconds: int) -> int:
    """Go through the only stage in so many seconds, and return the number of steps."""
    (stage,) = method.stages()
    optimizers = make_optimizers(method.module, stage.optimizer, stage.learning_rate)
    rng, clip = np.random.default_rng(settings.seed), getattr(method, "clip", settings.clip)
    method.module.train()
    began, step = time.perf_counter(), 0
    while (spent := time.perf_counter() - began) < seconds:
        rate = learning_rate(stage.schedule, stage.learning_rate, spent, seconds, 0)
        for optimizer in optimizers:
            optimizer.zero_grad()
            for group in optimizer.param_groups:
                group["lr"] = rate * min(1.0, (step + 1) / max(stage.warmup, 1))
        torch.stack(list(stage.losses(step, rng).values())).sum().backward()
        if clip:
            dense = [one for one in method.module.parameters() if one.grad is not None and not one.grad.is_sparse]
            torch.nn.utils.clip_grad_norm_(dense, clip)
        for optimizer in optimizers:
            optimizer.step()
        step += 1
    return step


def measure(
    method: TrainableMethod[Any, Any], dataset: FewShotDataset, tasks: Sequence[Task], shots: int, most: int
) -> dict[str, Any]:
    """Return the MRR over queries as there are many of each relation, and that of each relation."""
    found, sizes = {}, []
    for task in tasks:
        support, queries, pool = task.support(shots), task.queries(shots), dataset.candidates(task)
        asked = queries[np.random.default_rng(1).permutation(len(queries))[:most]]
        reciprocal = []
        for head, tail in asked.tolist():
            wrong = np.setdiff1d(pool, np.append(task.known_tails(head), tail))
            scores = np.asarray(method.score(support, head, np.append(wrong, tail)))
            reciprocal.append(1 / (1 + int((scores[:-1] >= scores[-1]).sum())))
        found[task.name] = round(float(np.mean(reciprocal)), 4)
        sizes.append(len(queries))
    return {"mrr": round(float(np.average(list(found.values()), weights=sizes)), 4), "relations": found}


if __name__ == "__main__":
    app()
