"""`tripleshot evaluate` and `tripleshot methods`."""

import warnings
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from cyclopts.types import PositiveInt
from rich.table import Table

from tripleshot.answering.predictor import Predictor
from tripleshot.cli.display import console, hint, metrics_table, progress_bar, summary_table
from tripleshot.datasets.catalog import load_dataset
from tripleshot.datasets.dataset import CandidateMode, FewShotDataset, Split
from tripleshot.errors import InputError, InputWarning
from tripleshot.evaluation.protocol import evaluate
from tripleshot.evaluation.ranking_work import ranking_processes
from tripleshot.evaluation.ranks import TIE_RULES, summarize
from tripleshot.evaluation.results import EvaluationSpec, describe, write_json
from tripleshot.experiments.variants import MARK, Variant
from tripleshot.methods import PYKEEN, find_method, find_methods, settings_of
from tripleshot.methods.protocol import Method
from tripleshot.tables import check_suffix
from tripleshot.training.log import describe_training
from tripleshot.training.runs import load_config, load_run


def evaluate_command(
    data: str,
    *,
    method: str | None = None,
    run: Path | None = None,
    variant: str = "",
    shots: PositiveInt | None = None,
    split: Split = "test",
    candidates: CandidateMode = "benchmark",
    draws: PositiveInt = 1,
    workers: PositiveInt | None = None,
    json: Path | None = None,
    ranks: Path | None = None,
) -> None:
    """Rank every query of a split by the field's protocol and print MRR and Hits@10/5/1.

    The first K triples of each relation are the examples, all others are queries; each true tail is ranked among the
    candidates that are not known to be true; equal scores count against it.

    Parameters
    ----------
    data
        A dataset of the catalog, a folder or a file of triples.
    method
        What ranks; `tripleshot methods` lists them.
    run
        Or a folder that `tripleshot train` has written.
    variant
        Settings in place of the run's, as `tripleshot compare` names them: `masked-score`, or `expected_share=0.3`,
        several with + between. What the weights were trained for cannot be changed.
    shots
        K, the number of examples per relation; 5, or what the run was trained for.
    split
        The tasks to ask about: choose on valid, report on test.
    candidates
        `benchmark` ranks among all entities typed like any answer, as published; `open` knows the examples only, as in
        real use, and counts an answer that is no candidate as never found.
    draws
        Ask with so many draws of the examples, and print each and their means. With few examples, which ones they are
        can move results more than most methods differ. The first draw has the examples as published.
    workers
        Rank with so many processes at the same time; the results are the same with any number.
    json
        Write the results, with all that is needed to get them again, to this file.
    ranks
        Write the rank of every query to this file: .parquet, .tsv or .csv.
    """
    if ranks:
        check_suffix(ranks)
        if draws > 1:
            raise InputError("--ranks writes the ranks of one draw of the examples: leave out --draws")
    asked = Evaluated(data, method, run, variant, shots, split, candidates)
    scorer, dataset, spec = asked.prepare()
    method, shots = spec.method, spec.shots
    evaluations = []
    for draw in range(draws):
        about = (dataset.redraw_examples(draw), shots, split)
        drawn = replace(asked, draw=draw)
        crew = ranking_processes(drawn, *about, candidates, num_workers=workers) if workers else None
        with progress_bar(f"{method}, {shots} shots" + (f", draw {draw + 1} of {draws}" if draws > 1 else "")) as bar:
            evaluations.append(evaluate(scorer, *about, candidates=candidates, progress=bar, crew=crew))
    evaluation = evaluations[0]
    title = f"{method} on {dataset.name} {split}, {shots} shots, {len(evaluation.ranks):,} queries"
    console.print(summary_table(title, evaluation.summary, dataset), markup=False)
    by_rule = {str(rule): summarize(evaluation.ranks, rule).micro for rule in TIE_RULES}
    console.print(metrics_table("micro by tie rule", by_rule, "equal scores"))
    by_draw = [one.summary.micro for one in evaluations]
    mean = {name: float(np.mean([one[name] for one in by_draw])) for name in by_draw[0]}
    if draws > 1:
        rows = {"as published": by_draw[0]} | {f"draw {place}": by_draw[place] for place in range(1, draws)}
        console.print(metrics_table("micro by draw of the examples", rows | {"mean": mean}, "examples"))
    hint(f"{sum(one.seconds for one in evaluations):.1f} s")
    if json:
        more = {"variant": variant} if variant else {}
        if draws > 1:
            more |= {"mean_of_draws": mean, "micro_by_draw": by_draw}
        write_json({**describe(evaluation, dataset, spec), **more}, json)
    if ranks:
        evaluation.write(ranks)


@dataclass(frozen=True)
class Evaluated:
    """What is evaluated, as the flags say it: worker processes open it, too."""

    data: str
    method: str | None
    run: Path | None
    variant: str
    shots: int | None
    split: Split
    candidates: CandidateMode
    draw: int = 0

    def open(self) -> tuple[Method, FewShotDataset]:
        """Return what ranks, and the dataset."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InputWarning)  # given by the process that the user has started
            method, dataset, _ = self.prepare()
        return method, dataset.redraw_examples(self.draw)

    def prepare(self) -> tuple[Method, FewShotDataset, EvaluationSpec]:
        """Return what ranks, the dataset, and all that is to be said about the evaluation."""
        if (self.run is None) == (self.method is None):
            raise InputError("say what to evaluate: --method NAME or --run FOLDER")
        if self.variant and self.run is None:
            raise InputError("--variant changes settings of a run: --run FOLDER")
        dataset = load_dataset(self.data)
        method, spec = self._prepare(dataset, self.method) if self.method else self._load(dataset, Path(self.run or ""))
        return method, dataset, spec

    def _load(self, dataset: FewShotDataset, run: Path) -> tuple[Method, EvaluationSpec]:
        """Return the method of a run, perhaps with some settings changed, and what is evaluated."""
        variant = self.variant
        changes = Variant.read(f"{load_config(run).method}{MARK}{variant}").changes() if variant else {}
        method, config = load_run(run, dataset, changes)
        training = {"command": config.command, "commit": config.commit, **describe_training(run)}
        about = (config.settings.get("seed", 0), config.settings, training)
        return method, EvaluationSpec(config.method, self.shots or config.shots, self.split, self.candidates, *about)

    def _prepare(self, dataset: FewShotDataset, name: str) -> tuple[Method, EvaluationSpec]:
        """Return a method that needs no training, and what is evaluated."""
        if find_method(name).learns:
            raise InputError(f"{name} has to learn first: tripleshot train DATA RUN --method {name}, then --run RUN")
        ready = Predictor(dataset, name, shots=self.shots)
        settings = settings_of(ready.method)
        return ready.method, EvaluationSpec(name, ready.shots, self.split, self.candidates, config=settings)


def methods_command() -> None:
    """List every method, its family and what it does."""
    table = Table("method", "family", "what it does")
    for name, entry in find_methods().items():
        table.add_row(name, entry.kind, entry.summary)
    table.add_row(f"{PYKEEN}MODEL", "pykeen", f"any model of PyKEEN, such as {PYKEEN}RotatE; needs the extra pykeen")
    console.print(table)
