"""`tripleshot demo`: the main job, on the embedded graph."""

import numpy as np
from rich.panel import Panel

from tripleshot.answering import answer
from tripleshot.catalog import load_atlas
from tripleshot.cli.tables import console, long_tail_lines, metrics_table, progress_bar, statistics_table
from tripleshot.dataset import FewShotDataset, Task
from tripleshot.evaluation import evaluate, summarize
from tripleshot.methods import METHODS, make_method
from tripleshot.statistics import describe_dataset

SHOTS = 5


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
    show_question(dataset, dataset.test[0])


def compare_methods(dataset: FewShotDataset) -> None:
    """Rank all test queries with every method and print one row each."""
    rows = {}
    for name in METHODS:
        method = make_method(name)
        with progress_bar(name) as progress:
            method.fit(dataset, SHOTS)
            rows[name] = summarize(evaluate(method, dataset, SHOTS, progress=progress).ranks).micro
    relations = ", ".join(task.label for task in dataset.test)
    console.print(metrics_table(f"{SHOTS} shots, test relations: {relations}", rows, "method"))


def show_question(dataset: FewShotDataset, task: Task) -> None:
    """Print five examples of a relation, a question, and the ranked answers with the reasons for each."""
    support, head = task.support(SHOTS), int(task.queries(SHOTS)[0, 0])
    label = dataset.graph.entities.label
    method = make_method("evidence")
    method.fit(dataset, SHOTS)
    examples = "\n".join(f"{label(first)}  →  {label(last)}" for first, last in support.tolist())
    console.print(Panel(examples, title=f"five examples of “{task.label}”", expand=False))
    console.print(f"[bold]{task.question.format(head=label(head))}[/bold]")
    truth = set(np.asarray(task.known_tails(head)).tolist())
    for found in answer(method, dataset.graph, support, head, top=5):
        mark = " [green]✓[/green]" if found.entity in truth else ""
        console.print(f"{found.rank}. [bold]{found.label}[/bold]{mark}  [dim]score {found.score:.3f}[/dim]")
        for reason in found.reasons[:3]:
            console.print(f"   {reason.text}", style="dim")
