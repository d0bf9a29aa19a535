"""Measure how well one network serves a graph that it has never seen: each graph is left out of training in turn.

For every graph, with one example and with five: the network trained on all other graphs and that trained on
everything, as they are and fitted to the graph, the network trained on that graph alone, and the methods
that count `evidence` and links; all of them see the triples of train tasks as edges. Where published figures go
without these edges, both ways are measured. Results are means over several draws of the examples, the first of which
are those as published. How far confidence can be trusted is measured on the graph that was left
out, asked as a user asks. Trainings are resumed or reused; results are written as one line per graph, number of
examples and method.
"""

import shutil
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from cyclopts import App, Parameter

from tripleshot import load_dataset
from tripleshot.datasets.dataset import FewShotDataset
from tripleshot.evaluation.calibration import CALIBRATION, load_calibration, reliability, weigh
from tripleshot.evaluation.graph_calibration import ask_own_relations, calibrate_on_graph
from tripleshot.evaluation.protocol import evaluate, sample_queries
from tripleshot.evaluation.results import EvaluationSpec, describe, write_json_lines
from tripleshot.methods import create_method
from tripleshot.methods.evidence.evidence_net import EvidenceNet
from tripleshot.methods.evidence.settings import EvidenceNetSettings, universal
from tripleshot.training.fit import train_run
from tripleshot.training.log import LOG, steps_of
from tripleshot.training.mixture import ask_tasks, train_mixture
from tripleshot.training.runs import load_config, load_trained_weights
from tripleshot.training.trainer import CHECKPOINT

SHOTS = (1, 5)
SAME_FACTS = ({"codex-s", "wikidata-few"},)  # graphs that hold facts of each other are left out together
NUM_BINS = 10
VALID_DRAWS = 3
VALID_QUERIES = 400  # about so many of each graph, number of examples and draw
MAX_SCORES = 300_000

app = App(help=__doc__)


@app.default
def main(
    graphs: Path,
    runs: Path,
    out: Path,
    *,
    steps: int = 3000,
    target_steps: int = 3000,
    seeds: int = 2,
    draws: int = 5,
    measured: Annotated[list[Path] | None, Parameter(negative=())] = None,
    both_ways: Annotated[list[str] | None, Parameter(negative=())] = None,
    left_out: str = "",
    only: str = "",
    candidates: int = 6,
) -> None:
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
    seeds
        How often each training is done.
    draws
        How often the examples of each relation are drawn; the first draw has those as published.
    measured
        Datasets to rank the test queries of in place of those of the same name in GRAPHS, which hold more tasks out.
    both_ways
        Names of graphs on which methods are measured with and without the train tasks as edges.
    left_out
        Names of graphs, separated by commas, to leave out in turn; all that have test tasks by default.
    only
        Names of graphs, or `everything`, separated by commas: only these trainings are done and nothing is measured, so
        that several processes can share them.
    candidates
        How many trainings on everything the one that is measured, and shipped, is chosen from, by valid tasks.
    """
    datasets = {path.name: load_dataset(path) for path in sorted(graphs.iterdir())}
    with_tests = [name for name, dataset in datasets.items() if dataset.test]  # made-up graphs have no test tasks
    left_out_in_turn = left_out.split(",") if left_out else with_tests
    chosen = only.split(",") if only else [*left_out_in_turn, "everything"]
    for seed in range(seeds):
        folder, many = runs / f"seed-{seed}", replace(universal(), steps=steps, seed=seed)
        for name in chosen:
            if name == "everything":
                if not seed:
                    train_best(datasets, folder / name, many, candidates)
                continue
            related = {name}.union(*(group for group in SAME_FACTS if name in group))
            others = [other for key, other in datasets.items() if key not in related]
            train_many(others, folder / f"without-{name}", many, not seed)
            train_one(datasets[name], folder / f"only-{name}", target_steps, seed)
            if name in (both_ways or ()):
                train_one(datasets[name], folder / f"only-{name}-no-edges", target_steps, seed, train_edges=False)
    published = {dataset.name: dataset for dataset in map(load_dataset, measured or ())}
    folders = [runs / f"seed-{seed}" for seed in range(seeds)]
    rows: list[dict[str, Any]] = []
    for name in left_out_in_turn if not only else ():
        held_out, first = datasets[name], len(rows)
        dataset = published.get(name, held_out)
        drawn = [dataset.redraw_examples(draw) for draw in range(draws)]
        for method in ("linked", "evidence"):
            rows += measure_plain(drawn, method)
        rows += measure_networks(drawn, folders, f"only-{name}")
        for run, trained in ((f"without-{name}", folders), ("everything", folders[:1])):
            rows += measure_networks(drawn, trained, run)
            rows += measure_networks(drawn, trained, run, is_fitted=True)
        rows[first]["calibration"] = measure_confidence(held_out, folders[0] / f"without-{name}")
        if name in (both_ways or ()):
            for method in ("linked", "evidence"):
                rows += measure_plain(drawn, method, train_edges=False)
            rows += measure_networks(drawn, folders, f"only-{name}-no-edges")
            rows += measure_networks(drawn, folders, f"without-{name}", train_edges=False, is_fitted=True)
        write_json_lines(rows, out)
        found = {
            (row["label"], row["train_edges"], row["shots"]): round(row["micro"]["mrr"], 4) for row in rows[first:]
        }
        print(name, found, rows[first]["calibration"]["calibration_error"], flush=True)


def train_many(
    datasets: Sequence[FewShotDataset], folder: Path, settings: EvidenceNetSettings, calibrates: bool
) -> None:
    """Train on several datasets, unless that is done; what was interrupted goes on."""
    is_trained = (folder / LOG).exists() and bool(steps_of(folder))
    if not (is_trained and (not calibrates or (folder / CALIBRATION).exists())):
        train_mixture(datasets, folder, settings, resume=(folder / CHECKPOINT).exists(), calibrates=calibrates)


def train_best(datasets: dict[str, FewShotDataset], folder: Path, settings: EvidenceNetSettings, num: int) -> None:
    """Train on all datasets with several seeds, keep the weights that are best on the valid tasks, calibrate them."""
    if (folder / CALIBRATION).exists():
        return
    found: dict[Path, float] = {}
    for seed in range(num):
        run = folder.with_name(f"{folder.name}-{seed}")
        train_many(list(datasets.values()), run, replace(settings, seed=seed), calibrates=False)
        found[run] = measure_on_valid(datasets, run)
    if not folder.exists():
        shutil.copytree(max(found, key=found.__getitem__), folder)
    train_many(list(datasets.values()), folder, settings, calibrates=True)


def measure_on_valid(datasets: dict[str, FewShotDataset], run: Path) -> float:
    """Return the mean MRR of weights that are fitted to each graph: over graphs, numbers of examples and draws."""
    settings = load_config(run).settings
    found: dict[str, list[float]] = {}
    for name, dataset in datasets.items():
        if not dataset.test:
            continue
        method = restore(settings, dataset, run, is_fitted=True)
        drawn = [dataset.redraw_examples(draw) for draw in range(VALID_DRAWS)]
        found[name] = [
            float(np.mean([macro_mrr(method, sample_queries(one, shots, VALID_QUERIES), shots) for one in drawn]))
            for shots in SHOTS
        ]
    means = np.mean(list(found.values()), axis=0)
    rounded = {name: [round(value, 4) for value in by_shots] for name, by_shots in found.items()}
    print(run.name, "valid", round(float(means.mean()), 4), means.round(4).tolist(), rounded, flush=True)
    return float(means.mean())


def macro_mrr(method: EvidenceNet, dataset: FewShotDataset, shots: int) -> float:
    """Return the MRR on the valid tasks, the mean over relations."""
    return evaluate(method, dataset, shots, "valid").summary.macro["mrr"]


def train_one(dataset: FewShotDataset, folder: Path, steps: int, seed: int, train_edges: bool = True) -> None:
    """Train on one dataset, from scratch and as `tripleshot train` does, but with one to ten examples."""
    if not (folder / LOG).exists():
        about = {
            "max_shots": 10,
            "steps": steps,
            "validate_every": steps // 10,
            "train_edges": train_edges,
            "seed": seed,
        }
        train_run("evidence-net", dataset, 5, folder, settings=asdict(EvidenceNetSettings(**about)))


def measure_plain(drawn: Sequence[FewShotDataset], name: str, train_edges: bool = True) -> list[dict[str, Any]]:
    """Rank the test queries with a method that does not learn, by the examples of every draw."""
    method = create_method(name, {"train_edges": train_edges})
    method.prepare(drawn[0], 1)
    specs = [EvaluationSpec(name, shots, "test", config={"train_edges": train_edges}) for shots in SHOTS]
    return [describe_draws(method, drawn, spec, name) for spec in specs]


def measure_networks(
    drawn: Sequence[FewShotDataset],
    folders: Sequence[Path],
    run: str,
    train_edges: bool | None = None,
    is_fitted: bool = False,
) -> list[dict[str, Any]]:
    """Rank the test queries with the networks of a run in every folder, as they are or fitted to the graph."""
    by_seed = [measure_network(drawn, folder / run, train_edges, is_fitted) for folder in folders]
    return [mean_of(rows, "mrr_by_seed") for rows in zip(*by_seed, strict=True)]


def measure_network(
    drawn: Sequence[FewShotDataset], run: Path, train_edges: bool | None, is_fitted: bool
) -> list[dict[str, Any]]:
    """Rank the test queries with one network."""
    config = load_config(run)
    settings = config.settings if train_edges is None else {**config.settings, "train_edges": train_edges}
    method = restore(settings, drawn[0], run, is_fitted)
    training = {"command": config.command, "commit": config.commit, "dataset": config.dataset}
    specs = [EvaluationSpec("evidence-net", shots, "test", config=settings, training=training) for shots in SHOTS]
    label = run.name.split("-")[0] + ("-fitted" if is_fitted else "")
    return [describe_draws(method, drawn, spec, label) for spec in specs]


def mean_of(rows: Sequence[dict[str, Any]], kept_as: str) -> dict[str, Any]:
    """Return several results as one: the means of all metrics, and the MRR of each by the name that it is kept as."""
    relations = {name: mean_metrics([row["relations"][name] for row in rows], 4) for name in rows[0]["relations"]}
    means = {name: mean_metrics([row[name] for row in rows]) for name in ("micro", "macro")}
    if "mrr_by_draw" in rows[0]:
        means["mrr_by_draw"] = np.mean([row["mrr_by_draw"] for row in rows], axis=0).round(4).tolist()
    seconds = round(sum(row["seconds"] for row in rows), 3)
    by_name = {kept_as: [round(row["micro"]["mrr"], 4) for row in rows]}
    return {**rows[0], **means, "relations": relations, "seconds": seconds, **by_name}


def mean_metrics(metrics: Sequence[dict[str, float]], digits: int = 6) -> dict[str, float]:
    """Return the mean of every metric; the number of queries is the same in all."""
    return {
        name: value if name == "queries" else round(float(np.mean([one[name] for one in metrics])), digits)
        for name, value in metrics[0].items()
    }


def restore(settings: dict[str, Any], dataset: FewShotDataset, run: Path, is_fitted: bool) -> EvidenceNet:
    """Return the network of a run on a graph, as it is or fitted to it."""
    method = EvidenceNet.with_settings(settings)
    method.restore(dataset, load_trained_weights(run))
    if is_fitted:
        method.fit_to_graph()
    return method


def measure_confidence(dataset: FewShotDataset, run: Path) -> dict[str, Any]:
    """Compare the confidence in best answers with how often they are right, on the valid and test tasks of a graph."""
    method = restore(load_config(run).settings, dataset, run, is_fitted=True)
    universal = load_calibration(run)
    assert universal is not None
    calibration = calibrate_on_graph(universal, ask_own_relations(method))
    questions = ask_tasks(method, dataset, (*dataset.valid, *dataset.test), MAX_SCORES)
    judged = (question.judge_best(calibration.curve) for question in questions)
    said, right = map(np.array, zip(*judged, strict=True))
    said_none = np.array([calibration.none_of(question.scores) for question in questions])
    is_none = np.array([not question.is_right.any() for question in questions])
    weight = weigh(questions)
    return {
        "questions": len(questions),
        "calibration_error": reliability(said, right, weight)[0],
        "none_error": reliability(said_none, is_none, weight)[0],
        "bins": in_bins(said, right, weight),
        "none_bins": in_bins(said_none, is_none, weight),
        "curve": asdict(calibration)["curve"],
    }


def in_bins(said: Any, right: Any, weight: Any) -> list[list[float]]:  # noqa: ANN401
    """Return of each bin of confidence its weight, and how much of it is confidence and how much is right."""
    bins = np.minimum((said * NUM_BINS).astype(int), NUM_BINS - 1)
    sums = [np.bincount(bins, values, minlength=NUM_BINS) for values in (weight, weight * said, weight * right)]
    return [[round(float(value), 6) for value in row] for row in np.stack(sums, axis=1)]


def describe_draws(method: Any, drawn: Sequence[FewShotDataset], spec: EvaluationSpec, label: str) -> dict[str, Any]:  # noqa: ANN401
    """Return the mean result over draws of the examples, and the MRR of each draw."""
    return mean_of([describe_short(method, dataset, spec, label) for dataset in drawn], "mrr_by_draw")


def describe_short(method: Any, dataset: FewShotDataset, spec: EvaluationSpec, label: str) -> dict[str, Any]:  # noqa: ANN401
    """Return a result without other rules for ties and without the long tail, and relations with four digits."""
    result = describe(evaluate(method, dataset, spec.shots), dataset, spec)
    kept = {name: value for name, value in result.items() if name not in ("ties", "long_tail")}
    kept["relations"] = {
        name: {key: round(value, 4) for key, value in one.items()} for name, one in kept["relations"].items()
    }
    return {"label": label, "train_edges": spec.config["train_edges"] if spec.config else True, **kept}


if __name__ == "__main__":
    app()
