"""`tripleshot demo`: the main job, on the embedded graph."""

import numpy as np
from rich.panel import Panel

from tripleshot.answering import answer
from tripleshot.catalog import load_atlas
from tripleshot.cli.tables import console, long_tail_lines, metrics_table, progress_bar, statistics_table
from tripleshot.dataset import FewShotDataset
from tripleshot.evaluation import evaluate, summarize
from tripleshot.methods import METHODS, make_method
from tripleshot.statistics import describe_dataset

SHOTS = 5
RELATION = "on_sea"
EXAMPLES = {
    "city/barcelona-es": "sea/mediterranean-sea",
    "city/mumbai-in": "sea/arabian-sea",
    "city/odesa-ua": "sea/black-sea",
    "city/cairns-au": "sea/coral-sea",
    "city/jeddah-sa": "sea/red-sea",
}
ASKED = "city/baku-az"


def demo() -> None:
    """Show what tripleshot does on Atlas, a small graph of the world's places that comes with it.

    Prints the graph's statistics, ranks every method on relations that none has seen, and answers a question about a
    new relation from five examples, with reasons.
    """
    dataset = load_atlas()
    statistics = describe_dataset(dataset, SHOTS)
    console.print(statistics_table(dataset, statistics))
    for line in long_tail_lines(statistics, SHOTS):
        console.print(line)
    console.print()
    compare_methods(dataset)
    console.print()
    show_question(dataset)


def compare_methods(dataset: FewShotDataset) -> None:
    """Rank all test queries with every method and print one row each."""
    rows = {}
    for name in METHODS:
        method = make_method(name)
        with progress_bar(name) as progress:
            method.fit(dataset, SHOTS)
            rows[name] = summarize(evaluate(method, dataset, SHOTS, progress=progress).ranks).micro
    title = f"{SHOTS} examples each of {len(dataset.test)} relations that no method has seen"
    console.print(metrics_table(title, rows, "method"))


def show_question(dataset: FewShotDataset) -> None:
    """Print five examples of a relation, a question, and the ranked answers with the reasons for each."""
    entities, task = dataset.graph.entities, dataset.task(RELATION)
    support = np.stack([entities.ids(EXAMPLES), entities.ids(EXAMPLES.values())], axis=1)
    head = entities.id(ASKED)
    method = make_method("evidence")
    method.fit(dataset, SHOTS)
    examples = "\n".join(f"{entities.label(first)}  →  {entities.label(last)}" for first, last in support.tolist())
    console.print(Panel(examples, title=f"five examples of “{task.label}”", expand=False))
    console.print(f"[bold]{task.question.format(head=entities.label(head))}[/bold]")
    truth = task.known_tails(head).tolist()
    for found in answer(method, dataset.graph, support, head, top=3):
        mark = "  [green]✓ true[/green]" if found.entity in truth else ""
        console.print(f"{found.rank}. [bold]{found.label}[/bold]{mark}")
        for reason in found.reasons[:2]:
            console.print(f"   {reason.text}", style="dim")
