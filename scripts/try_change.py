"""Try a change of `evidence-net` on relations that it has not learned from, on every graph and with several seeds.

Two questions, both on the valid tasks of the graphs that `scripts/training_graphs.py` writes, never on test tasks:
how well does a network serve graphs that it has never seen (`universal`: a third of the graphs is left out at a time,
and the weights are fitted to each of them as when somebody asks), and how well does a network that is trained on a
graph serve its relations (`alone`)? Prints mean and spread over the seeds for each graph and the means over graphs, and
adds a line to a file. Run it before and after a change, and with other settings.

    python scripts/try_change.py GRAPHS tries.jsonl --label "hidden width 96" --settings hidden_width=96
"""

import json
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import numpy as np
from cyclopts import App, Parameter
from rich.console import Console
from rich.table import Table

from tripleshot import load_dataset
from tripleshot.datasets.dataset import FewShotDataset
from tripleshot.evaluation.protocol import evaluate, sample_queries
from tripleshot.evaluation.results import commit
from tripleshot.methods.evidence.evidence_net import EvidenceNet
from tripleshot.methods.evidence.settings import EvidenceNetSettings, universal
from tripleshot.methods.trainable import TrainedWeights
from tripleshot.training.fit import train_run
from tripleshot.training.mixture import train_mixture
from tripleshot.training.runs import load_trained_weights

SHOTS = (1, 5)
SAME_FACTS = ({"codex-s", "wikidata-few"},)  # graphs that hold facts of each other are left out together
NUM_FOLDS = 3

app = App(help=__doc__)


@app.default
def main(
    graphs: Path,
    out: Path,
    *,
    label: str,
    settings: Annotated[list[str] | None, Parameter(negative=())] = None,
    kinds: str = "universal,alone",
    only: str = "",
    seeds: int = 5,
    steps: int = 800,
    queries: int = 300,
    draws: int = 3,
) -> None:
    """Train, measure and tell.

    Parameters
    ----------
    graphs
        The folder that `scripts/training_graphs.py` writes.
    out
        The .jsonl file that a line is added to.
    label
        What is tried, in words.
    settings
        NAME=VALUE of settings that differ from those of the preset.
    kinds
        `universal`, `alone` or both.
    only
        Names of graphs to measure on, separated by commas; all of them by default.
    seeds
        How often everything is trained.
    steps
        Of every training; many fewer than for weights that are shipped tell changes apart as well.
    queries
        About so many of each graph, number of examples and draw of the examples.
    draws
        How often the examples are drawn; with one example, which one it is moves results more than most changes do.
    """
    started = time.monotonic()
    datasets = {path.name: load_dataset(path) for path in sorted(graphs.iterdir())}
    changed = {name: json.loads(value) for name, value in (one.split("=", 1) for one in settings or ())}
    measured = only.split(",") if only else [name for name, dataset in datasets.items() if dataset.test]
    found: dict[str, dict[str, dict[int, list[float]]]] = {}
    for kind in kinds.split(","):
        found[kind] = {name: {shots: [] for shots in SHOTS} for name in measured}
        for seed in range(seeds):
            preset = universal() if kind == "universal" else EvidenceNetSettings(max_shots=10)
            chosen = replace(preset, steps=steps, seed=seed, **changed)
            trained = train_without if kind == "universal" else train_alone
            for name, network in trained(datasets, measured, chosen):
                for shots in SHOTS:
                    by_draw = []
                    for draw in range(draws):
                        asked = sample_queries(datasets[name].redraw_examples(draw), shots, queries)
                        by_draw.append(evaluate(network, asked, shots, "valid").summary.macro["mrr"])
                    found[kind][name][shots].append(float(np.mean(by_draw)))
        tell(kind, found[kind])
    about = {"label": label, "settings": changed, "steps": steps, "queries": queries, "draws": draws}
    line = {**about, "commit": commit(), "seconds": round(time.monotonic() - started), "found": found}
    with out.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def train_without(
    datasets: dict[str, FewShotDataset], measured: list[str], settings: EvidenceNetSettings
) -> Iterator[tuple[str, EvidenceNet]]:
    """Give the network for each graph that was trained on graphs of other thirds, fitted to it."""
    for fold in range(NUM_FOLDS):
        asked = [name for place, name in enumerate(measured) if place % NUM_FOLDS == fold]
        left_out = set(asked).union(*(group for group in SAME_FACTS if group & set(asked)))
        others = [dataset for name, dataset in datasets.items() if name not in left_out]
        with tempfile.TemporaryDirectory() as folder:
            mixture, _ = train_mixture(others, Path(folder) / "run", settings, calibrates=False)
        weights = TrainedWeights.of(mixture.module.state_dict(), None, "the network")
        for name in asked:
            network = EvidenceNet(settings)
            network.restore(datasets[name], weights)
            network.fit_to_graph()
            yield name, network


def train_alone(
    datasets: dict[str, FewShotDataset], measured: list[str], settings: EvidenceNetSettings
) -> Iterator[tuple[str, EvidenceNet]]:
    """Give the network for each graph that was trained on its train tasks and background, and nothing else."""
    for name in measured:
        dataset = replace(datasets[name], valid=(), test=())
        with tempfile.TemporaryDirectory() as folder:
            train_run("evidence-net", dataset, 5, Path(folder) / "run", settings=asdict(settings))
            network = EvidenceNet(settings)
            network.restore(datasets[name], load_trained_weights(Path(folder) / "run"))
        yield name, network


def tell(kind: str, found: dict[str, dict[int, list[float]]]) -> None:
    """Print a table: for each graph the mean over seeds and the deviation among them, and the means over graphs."""
    table = Table("graph", *(f"{shots}-shot" for shots in SHOTS), title=kind)
    for name, by_shots in found.items():
        cells = (f"{np.mean(by_shots[shots]):.3f} ± {np.std(by_shots[shots]):.3f}" for shots in SHOTS)
        table.add_row(name, *cells)
    by_seed = [np.mean([by_shots[shots] for by_shots in found.values()], axis=0) for shots in SHOTS]
    table.add_row("all graphs", *(f"{values.mean():.3f} ± {values.std():.3f}" for values in by_seed))
    Console().print(table)


if __name__ == "__main__":
    app()
