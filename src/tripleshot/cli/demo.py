"""`tripleshot demo`: the main job, on the embedded graph: answers at once, then the paper's model beside them."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from tripleshot.answering.predictor import Predictor
from tripleshot.cli.display import (
    confidence_bar,
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
from tripleshot.evaluation.protocol import count_queries, evaluate, sample_queries
from tripleshot.methods import find_methods
from tripleshot.methods.trainable import UNIVERSAL_NAME
from tripleshot.training.runs import CONFIG

SHOTS = 5
TRAINED = "rscl"
BUDGET = 100  # seconds, to train in
QUERIES = 600  # that the methods are compared on: RSCL would take too long for all of them
MIN_WIDTH = 100  # of a terminal, in letters, for two columns
ABOUT_UNIVERSAL = (
    "Atlas is among the graphs that the universal weights were trained on. Its test relations, which are asked about "
    "here, were not part of that training."
)
ABOUT_EDGES = "universal also looks up the triples of the train relations; the other methods see the background alone."


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


def demo(*, run: Path = Path("demo-run"), train: bool = True) -> None:
    """Show what tripleshot does on Atlas, a small graph of the world's places that comes with it.

    Answers two questions about relations that no method has seen, from five examples each, with confidence and reasons:
    at once, by the universal weights. Then trains RSCL, the paper's model, for less than two minutes, asks it the same,
    and compares it with every method that needs no training on a part of the test queries.

    Parameters
    ----------
    run
        The folder in which the run `rscl` is left; an earlier demo's is replaced.
    train
        Train RSCL and compare; without it, the demo ends after the answers that need no training.
    """
    if run.exists() and not (run / TRAINED / CONFIG).exists():
        raise InputError(f"{run}: exists and is not a demo's; choose another folder with --run")
    dataset = load_atlas()
    universal = Predictor(dataset, UNIVERSAL_NAME, shots=SHOTS)
    console.print("[bold]Answers without training[/bold], by the universal weights that come with tripleshot:")
    first = []
    for question in QUESTIONS:
        show_question(dataset, question)
        first.append(answers_panel(dataset, question, universal))
        console.print(first[-1])
    console.print(ABOUT_UNIVERSAL, style="dim")
    if not train:
        return
    console.print()
    show_statistics(dataset)
    shutil.rmtree(run, ignore_errors=True)
    trained = train_in_view(run / TRAINED)
    console.print("\n[bold]The same questions[/bold], answered by both:")
    for question, panel in zip(QUESTIONS, first, strict=True):
        show_question(dataset, question)
        console.print(side_by_side([panel, answers_panel(dataset, question, trained)]))
    console.print()
    ready = [name for name, entry in find_methods().items() if not entry.learns and name != UNIVERSAL_NAME]
    models = [*(Predictor(dataset, name, shots=SHOTS) for name in ready), trained, universal]
    compare_models(dataset, models)
    hint("\nnow ask Atlas something else, such as which money is used in Lima, or open its page:")
    hint('  tripleshot ask atlas --example "Barcelona | Euro" --example "Mumbai | Indian Rupee" --head Lima --explain')
    hint("  tripleshot serve atlas")
    hint(f"RSCL is in {run / TRAINED}: tripleshot ask {run / TRAINED} --help, or tripleshot serve {run / TRAINED}")


def show_question(dataset: FewShotDataset, question: Question) -> None:
    """Print five examples of a relation and a question about it."""
    entities, task = dataset.graph.entities, dataset.task(question.relation)
    named = ((entities.label(entities.id(name)) for name in pair) for pair in question.examples.items())
    console.print()
    console.print(Panel("\n".join(map("  →  ".join, named)), title=f"five examples of “{task.label}”", expand=False))
    console.print(task.question.format(head=entities.label(entities.id(question.asked))), style="bold")


def answers_panel(dataset: FewShotDataset, question: Question, model: Predictor) -> Panel:
    """Return the best answers of a model, which of them are true, and why the first is the first."""
    head, pairs = dataset.graph.entities.id(question.asked), list(question.examples.items())
    truth = dataset.task(question.relation).known_tails(head).tolist()
    answers = Table.grid(padding=(0, 2))
    found = model.predict(head, examples=pairs, k=3)[0]
    for one in found:
        sure = "" if one.confidence is None else confidence_bar(one.confidence)
        mark = "[green]✓ true[/green]" if one.id in truth else ""
        answers.add_row(f"{one.rank}.", Text(one.label, "bold"), sure, mark)
    reasons = str(model.explain(head, found[0].id, examples=pairs)).splitlines()
    return Panel(Group(answers, "", *map(_indented, reasons)), title=model.name, title_align="left")


def _indented(line: str) -> Padding:
    """Return a line whose indentation stays where it is wrapped."""
    text = line.lstrip()
    return Padding(Text(text, "dim"), (0, 0, 0, len(line) - len(text)))


def side_by_side(panels: Sequence[Panel]) -> RenderableType:
    """Lay panels out in columns of equal width, or one below the other where the terminal is narrow."""
    if console.width < MIN_WIDTH:
        return Group(*panels)
    columns = Table.grid(expand=True)
    for _ in panels:
        columns.add_column(ratio=1)
    columns.add_row(*panels)
    return columns


def show_statistics(dataset: FewShotDataset) -> None:
    """Print what the graph is made of."""
    statistics = describe_dataset(dataset, SHOTS)
    console.print(statistics_table(dataset, statistics))
    for line in long_tail_lines(statistics, SHOTS):
        console.print(line)


def train_in_view(folder: Path) -> Predictor:
    """Train the paper's model and show how it goes."""
    from tripleshot.answering.models import train  # the first answers do not wait for torch

    console.print(f"\n[bold]RSCL[/bold], the paper's model, has to learn Atlas first. It has {BUDGET} seconds.")
    console.print("That is little, and less on a busy computer: its answers show how it works, not how good it can be.")
    with training_display() as display:
        return train(TRAINED, ATLAS, shots=SHOTS, budget=BUDGET, preset="demo", folder=folder, callback=display)


def compare_models(dataset: FewShotDataset, models: Sequence[Predictor]) -> None:
    """Rank the same part of the test queries with every model and print one row each."""
    part = sample_queries(dataset, SHOTS, QUERIES, split="test")
    rows = {}
    for model in models:
        with progress_bar(model.name) as progress:
            rows[model.name] = evaluate(model, part, SHOTS, progress=progress).summary.micro
    drawn, there = (count_queries(one, SHOTS, "test") for one in (part, dataset))
    title = f"{SHOTS} examples each of {len(part.test)} relations that no method has seen"
    console.print(metrics_table(f"{title}, {drawn:,} of {there:,} queries", rows, "method"))
    for note in (ABOUT_UNIVERSAL, ABOUT_EDGES, f"rscl has had {BUDGET} seconds of training."):
        console.print(note, style="dim")
