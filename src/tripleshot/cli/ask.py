"""`tripleshot ask`."""

import json as json_text
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from cyclopts.types import PositiveInt
from rich.markup import escape
from rich.table import Table

from tripleshot.answering.answers import Answer, Answers, write_answers
from tripleshot.answering.examples import Pair, read_examples, read_references
from tripleshot.answering.explanation import Explanation
from tripleshot.answering.loading import load
from tripleshot.answering.predictor import Predictor
from tripleshot.answering.ranking import Candidates
from tripleshot.cli.display import console, hint, progress_bar
from tripleshot.cli.messages import printable
from tripleshot.errors import InputError
from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.graph.readers import read_graph
from tripleshot.tables import check_suffix

Several = Annotated[list[str] | None, Parameter(negative=())]
Flag = Annotated[bool, Parameter(negative=())]
BAR = 10


def ask_command(
    run: Path,
    *,
    pairs: Annotated[list[str] | None, Parameter(name="--example", negative=())] = None,
    pairs_file: Annotated[Path | None, Parameter(name="--examples")] = None,
    head: Several = None,
    heads: Path | None = None,
    top: PositiveInt = 10,
    candidates: Several = None,
    with_known: Flag = False,
    explain: Flag = False,
    picture: Path | None = None,
    json: Flag = False,
    out: Path | None = None,
    add: Annotated[list[Path] | None, Parameter(negative=())] = None,
    data: str | None = None,
    device: str = "cpu",
) -> None:
    """Answer questions about a new relation from a few examples of it.

    On which sea does Baku lie?

    `tripleshot ask RUN --example "Barcelona | Mediterranean Sea" --example "Mumbai | Arabian Sea" --head Baku`

    Entities are given by name, by label or by id (`#12`); an unknown one suggests the nearest.

    Parameters
    ----------
    run
        A folder that `tripleshot train` has written.
    pairs
        One example of the relation, "HEAD | TAIL"; give several.
    pairs_file
        Or a file of examples: head, tab, tail on each line.
    head
        An entity to ask about; may be given several times.
    heads
        Or a file with one on each line.
    top
        How many answers to each question.
    candidates
        What could be an answer: `open`, entities of the same types as the examples' tails; `all` entities; or the name
        of a type, also several times.
    with_known
        Rank also what the examples already say about the head.
    explain
        Say what carried the best answer.
    picture
        Draw what carried the best answer: FILE-reasons.png for FILE.png, or FILE-neighbors.png and FILE-attention.png.
    json
        Print one JSON object.
    out
        Write the answers to this .parquet, .tsv or .csv file, however many heads there are.
    add
        Triples that the graph did not have, also about new entities, in any format that can be read; give several.
    data
        The run's dataset, if it is no longer where it was.
    device
        cpu, cuda, cuda:1, mps, ...
    """
    examples: list[Pair] = [*map(_split, pairs or []), *(read_examples(pairs_file) if pairs_file else [])]
    asked = [*(head or []), *(read_references(heads) if heads else [])]
    if not examples or not asked:
        raise InputError('say what to ask: --example "HEAD | TAIL" or --examples FILE, and --head NAME or --heads FILE')
    if out:
        check_suffix(out)
    predictor = load(run, data, device)
    for file in add or ():
        predictor = predictor.with_triples(read_graph(file).triples())
    asking = {"examples": examples, "k": top, "candidates": _candidates(candidates), "include_known": with_known}
    if out:
        with progress_bar("answering") as progress:
            write_answers(predictor.predict_batches(asked, **asking), out, lambda done: progress(done, len(asked)))
        hint(f"{len(asked):,} heads asked about; the answers are in {out}")
        return
    answers = predictor.predict(asked, **asking)
    explanations = _explain_best(predictor, answers, examples) if explain or picture else []
    if json:
        document = answers.to_dict()
        for result, explanation in zip(document["results"], explanations, strict=False):
            result |= {"text": str(explanation)} if explain and explanation else {}
        console.out(json_text.dumps(document, ensure_ascii=False))
    else:
        show_answers(answers, explanations if explain else [])
    if picture and explanations and explanations[0] is not None:
        _draw(explanations[0], picture)


def _explain_best(predictor: Predictor, answers: Answers, examples: list[Pair]) -> list[Explanation | None]:
    """Explain the best answer for each head; None where there is no answer."""
    return [
        predictor.explain(head, found[0].id, examples=examples) if found else None
        for head, found in zip(answers.asked, answers, strict=True)
    ]


def show_answers(answers: Answers, explanations: Sequence[Explanation | None] = ()) -> None:
    """Print a table for each entity that was asked about, and what carried its best answer."""
    for place, (head, found) in enumerate(zip(answers.asked, answers, strict=True)):
        console.print(_answers_table(answers.graph, head, found))
        if place < len(explanations) and explanations[place] is not None:
            console.print(printable(str(explanations[place])), markup=False)
    if all(one.confidence is None for found in answers for one in found):
        hint("no confidence: it takes two valid tasks, and a run that was trained to its end")


def _draw(explanation: Explanation, picture: Path) -> None:
    """Draw what carried an answer, each kind of picture into a file of its own."""
    for kind in explanation.plot_kinds:
        explanation.plot(picture.with_stem(f"{picture.stem}-{kind}"), kind)


def _split(example: str) -> Pair:
    """Take "HEAD | TAIL" apart; names may have a bar without spaces around it."""
    parts = example.split(" | ") if " | " in example else example.split("|")
    if len(parts) != 2 or not all(part.strip() for part in parts):
        raise InputError(f'--example: expected "HEAD | TAIL", found {example!r}')
    return parts[0].strip(), parts[1].strip()


def _candidates(given: list[str] | None) -> Candidates:
    if given is None or given == ["open"]:
        return "open"
    return "all" if given == ["all"] else tuple(given)


def _answers_table(graph: KnowledgeGraph, head: int, found: list[Answer]) -> Table:
    table = Table(title=escape(printable(graph.entities.label(head))), title_justify="left")
    table.add_column("", justify="right")
    table.add_column("answer")
    has_confidence = any(one.confidence is not None for one in found)
    if has_confidence:
        table.add_column("confidence")
    table.add_column("score", justify="right")
    for one in found:
        name = "" if one.name == one.label else f"  [dim]{escape(printable(one.name))}[/dim]"
        known = "  [green]known[/green]" if one.is_known else ""
        confidence = [_bar(one.confidence or 0.0)] if has_confidence else []
        table.add_row(str(one.rank), f"{escape(printable(one.label))}{name}{known}", *confidence, f"{one.score:.3f}")
    return table


def _bar(share: float) -> str:
    filled = round(share * BAR)
    return f"[cyan]{'█' * filled}[/cyan][dim]{'░' * (BAR - filled)}[/dim] {share:4.0%}"
