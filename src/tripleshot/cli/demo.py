"""`tripleshot demo`: the main job, on the embedded graph."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from rich.panel import Panel

from tripleshot.answering.models import train
from tripleshot.answering.predictor import Predictor
from tripleshot.cli.display import (
    console,
    hint,
    long_tail_lines,
    metrics_table,
    progress_bar,
    statistics_table,
    training_display,
)
from tripleshot.datasets.catalog import ATLAS, load_atlas
from tripleshot.datasets.dataset import FewShotDataset
from tripleshot.datasets.statistics import describe_dataset
from tripleshot.errors import InputError
from tripleshot.evaluation.protocol import evaluate
from tripleshot.methods import find_methods
from tripleshot.training.runs import CONFIG

SHOTS = 5
TRAINED = ("rscl", "evidence-net")


@dataclass(frozen=True)
class Question:
    """A question about a relation that no method has seen.

    Attributes:
        relation: the test task that it belongs to.
        examples: heads to tails, by name.
        asked: the head asked about.
    """

    relation: str
    examples: dict[str, str]
    asked: str


QUESTIONS = (
    Question(
        "on_sea",
        {
            "city/barcelona-es": "sea/mediterranean-sea",
            "city/mumbai-in": "sea/arabian-sea",
            "city/odesa-ua": "sea/black-sea",
            "city/cairns-au": "sea/coral-sea",
            "city/jeddah-sa": "sea/red-sea",
        },
        "city/baku-az",
    ),
    Question(
        "calling_code",
        {
            "country/france": "callingcode/33",
            "country/japan": "callingcode/81",
            "country/brazil": "callingcode/55",
            "country/kenya": "callingcode/254",
            "country/india": "callingcode/91",
        },
        "country/spain",
    ),
)


def demo(*, run: Path = Path("demo-run")) -> None:
    """Show what tripleshot does on Atlas, a small graph of the world's places that comes with it.

    Prints the graph's statistics, trains RSCL for about two minutes and evidence-net for less than one, ranks every
    method on relations that none has seen, and answers questions about new relations from five examples, with reasons.

    Parameters
    ----------
    run
        The folder in which two runs are left, `evidence-net` and `rscl`; an earlier demo's is replaced.
    """
    if run.exists() and not (run / "rscl" / CONFIG).exists():
        raise InputError(f"{run}: exists and is not a demo's; choose another folder with --run")
    dataset = load_atlas()
    statistics = describe_dataset(dataset, SHOTS)
    console.print(statistics_table(dataset, statistics))
    for line in long_tail_lines(statistics, SHOTS):
        console.print(line)
    console.print()
    shutil.rmtree(run, ignore_errors=True)
    models = {name: Predictor(dataset, name) for name, entry in find_methods().items() if not entry.learns}
    for name in TRAINED:
        with training_display() as display:
            models[name] = train(name, ATLAS, shots=SHOTS, preset="demo", folder=run / name, callback=display)
    compare_models(dataset, models)
    for question in QUESTIONS:
        console.print()
        show_question(dataset, question, models)
    hint(f"\nnow ask: tripleshot ask {run}/evidence-net --help, or tripleshot serve {run}/evidence-net")


def compare_models(dataset: FewShotDataset, models: dict[str, Predictor]) -> None:
    """Rank all test queries with every method and print one row each."""
    rows = {}
    for name, model in models.items():
        with progress_bar(name) as progress:
            rows[name] = evaluate(model, dataset, SHOTS, progress=progress).summary.micro
    title = f"{SHOTS} examples each of {len(dataset.test)} relations that no method has seen"
    console.print(metrics_table(title, rows, "method"))


def show_question(dataset: FewShotDataset, question: Question, models: dict[str, Predictor]) -> None:
    """Print five examples of a relation, a question, and the best answers of two methods, with reasons if they can."""
    entities, task = dataset.graph.entities, dataset.task(question.relation)
    pairs = list(question.examples.items())
    named = ((entities.label(entities.id(name)) for name in pair) for pair in pairs)
    console.print(Panel("\n".join(map("  →  ".join, named)), title=f"five examples of “{task.label}”", expand=False))
    head = entities.id(question.asked)
    console.print(f"[bold]{task.question.format(head=entities.label(head))}[/bold]")
    truth = task.known_tails(head).tolist()
    for name in TRAINED:
        console.print(name, style="cyan")
        for found in models[name].predict(head, examples=pairs, k=3)[0]:
            mark = "  [green]✓ true[/green]" if found.id in truth else ""
            console.print(f"  {found.rank}. [bold]{found.label}[/bold]{mark}")
            for reason in models[name].explain(head, found.id, examples=pairs).reasons[:1]:
                console.print(f"     {reason.text}", style="dim")
