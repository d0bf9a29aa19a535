"""Measure how well one network serves a graph that it has never seen: each graph is left out of training in turn.

For every graph, with one example and with five: the network trained on all other graphs, the network trained on that
graph alone, the network trained on everything, and the methods that count `evidence` and links; all of them see the
triples of train tasks as edges. How far confidence can be trusted is measured on the graph that was left out, asked as
a user asks. Trainings are resumed or reused; results are written as one line per graph, number of examples and method.
"""

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from cyclopts import App

from tripleshot import load_dataset
from tripleshot.datasets.dataset import FewShotDataset
from tripleshot.evaluation.calibration import CALIBRATION, ask_valid, load_calibration, reliability
from tripleshot.evaluation.protocol import evaluate
from tripleshot.evaluation.results import EvaluationSpec, describe, write_json_lines
from tripleshot.methods import create_method
from tripleshot.methods.evidence.evidence_net import EvidenceNet, EvidenceNetSettings, universal
from tripleshot.training.fit import train_run
from tripleshot.training.log import LOG
from tripleshot.training.mixture import CALIBRATED_SHOTS, train_mixture
from tripleshot.training.runs import load_config, load_trained_weights
from tripleshot.training.trainer import CHECKPOINT

SHOTS = (1, 5)
SAME_FACTS = ({"codex-s", "wikidata-few"},)  # graphs that hold facts of each other are left out together
NUM_BINS = 10
MAX_SCORES = 300_000

app = App(help=__doc__)


@app.default
def main(graphs: Path, runs: Path, out: Path, *, steps: int = 3000, target_steps: int = 3000, only: str = "") -> None:
    """Train and measure.

    Parameters
    ----------
    graphs
        The folder that `scripts/training_graphs.py` writes.
    runs
        A folder for the trainings.
    out
        The .jsonl file to write.
    steps
        Of a training on many graphs.
    target_steps
        Of a training on one graph.
    only
        Names of graphs, or `everything`, separated by commas: nothing is measured, only these trainings are done, so that
        several processes can share them.
    """
    datasets = {path.name: load_dataset(path) for path in sorted(graphs.iterdir())}
    many = replace(universal(), steps=steps, validate_every=steps // 10)
    chosen = only.split(",") if only else [*datasets, "everything"]
    for name in chosen:
        left_out = {name}.union(*(group for group in SAME_FACTS if name in group))
        others = [other for key, other in datasets.items() if key not in left_out]
        train_many(others, runs / (name if name == "everything" else f"without-{name}"), many)
        if name in datasets:
            train_one(datasets[name], runs / f"only-{name}", target_steps)
    rows: list[dict[str, Any]] = []
    for name, dataset in datasets.items() if not only else ():
        for method in ("linked", "evidence"):
            rows += measure_plain(dataset, method)
        for run in (f"without-{name}", f"only-{name}", "everything"):
            rows += measure_network(dataset, runs / run)
        write_json_lines(rows, out)
        print(name, {(row["label"], row["shots"]): round(row["micro"]["mrr"], 4) for row in rows[-10:]}, flush=True)
        print(name, [row["calibration"] for row in rows[-10:] if "calibration" in row], flush=True)


def train_many(datasets: Sequence[FewShotDataset], folder: Path, settings: EvidenceNetSettings) -> None:
    """Train on several datasets, unless that is done; what was interrupted goes on."""
    if not (folder / CALIBRATION).exists():
        train_mixture(datasets, folder, settings, resume=(folder / CHECKPOINT).exists())


def train_one(dataset: FewShotDataset, folder: Path, steps: int) -> None:
    """Train on one dataset, from scratch and as `tripleshot train` does, but with one to ten examples."""
    if not (folder / LOG).exists():
        settings = EvidenceNetSettings(max_shots=10, steps=steps, validate_every=steps // 10)
        train_run("evidence-net", dataset, 5, folder, settings=asdict(settings))


def measure_plain(dataset: FewShotDataset, name: str) -> list[dict[str, Any]]:
    """Rank the test queries with a method that does not learn."""
    method = create_method(name)
    method.prepare(dataset.with_train_edges, 1)
    specs = [EvaluationSpec(name, shots, "test", config={"train_edges": True}) for shots in SHOTS]
    return [describe_short(method, dataset, spec, name) for spec in specs]


def measure_network(dataset: FewShotDataset, run: Path) -> list[dict[str, Any]]:
    """Rank the test queries with the network of a run, and measure its confidence on all tasks of a graph."""
    config = load_config(run)
    method = EvidenceNet.with_settings(config.settings)
    method.restore(dataset, load_trained_weights(run))
    training = {"command": config.command, "commit": config.commit, "dataset": config.dataset}
    rows = []
    for shots in SHOTS:
        spec = EvaluationSpec("evidence-net", shots, "test", seed=0, config=config.settings, training=training)
        rows.append(describe_short(method, dataset, spec, run.name.split("-")[0]))
    if run.name.startswith("without"):
        rows[0]["calibration"] = measure_confidence(method, dataset, run)
    return rows


def measure_confidence(method: EvidenceNet, dataset: FewShotDataset, run: Path) -> dict[str, Any]:
    """Compare the confidence in best answers with how often they are right, on the valid and test tasks of a graph."""
    calibration = load_calibration(run)
    assert calibration is not None
    confidence, is_right, none, has_none, weights = [], [], [], [], []
    for shots in CALIBRATED_SHOTS:
        tasks = tuple(task for task in (*dataset.valid, *dataset.test) if len(task.pairs) > shots)
        questions = ask_valid(method, replace(dataset, valid=tasks), shots, MAX_SCORES, 0)
        counts = np.bincount([question.task for question in questions], minlength=len(tasks))
        for question in questions:
            best = int(np.argmax(question.scores))
            confidence.append(calibration.confidence(question.scores)[best])
            is_right.append(question.is_right[best])
            none.append(calibration.none_of(question.scores))
            has_none.append(not question.is_right.any())
            weights.append(1 / counts[question.task] / np.count_nonzero(counts) / len(CALIBRATED_SHOTS))
    parts = [np.array(values, float) for values in (confidence, is_right, none, has_none, weights)]
    said, right, said_none, is_none, weight = parts
    return {
        "questions": len(said),
        "calibration_error": reliability(said, right.astype(bool), weight)[0],
        "none_error": reliability(said_none, is_none.astype(bool), weight)[0],
        "bins": in_bins(said, right, weight),
        "none_bins": in_bins(said_none, is_none, weight),
        "curve": asdict(calibration)["curve"],
    }


def in_bins(said: Any, right: Any, weight: Any) -> list[list[float]]:  # noqa: ANN401
    """Return weight, mean confidence and share of right answers of each bin of confidence."""
    bins = np.minimum((said * NUM_BINS).astype(int), NUM_BINS - 1)
    sums = [np.bincount(bins, values, minlength=NUM_BINS) for values in (weight, weight * said, weight * right)]
    return [[round(float(value), 6) for value in row] for row in np.stack(sums, axis=1)]


def describe_short(method: Any, dataset: FewShotDataset, spec: EvaluationSpec, label: str) -> dict[str, Any]:  # noqa: ANN401
    """Return a result without other rules for ties and without the long tail."""
    result = describe(evaluate(method, dataset, spec.shots), dataset, spec)
    kept = {name: value for name, value in result.items() if name not in ("ties", "long_tail")}
    return {"label": label, **kept}


if __name__ == "__main__":
    app()
