"""`tripleshot ask`."""

import json as json_text
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from cyclopts import Parameter
from cyclopts.types import PositiveInt
from rich.markup import escape
from rich.table import Table

from tripleshot.answering.explaining import as_text
from tripleshot.answering.export import check_suffix, write_answers
from tripleshot.answering.predictor import Answer, Answerer
from tripleshot.answering.ranking import Candidates
from tripleshot.arrays import IntArray
from tripleshot.cli.display import console, progress_bar
from tripleshot.datasets.dataset import exclude_known
from tripleshot.errors import InputError
from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.graph.readers import read_graph

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
    add: Path | None = None,
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
        Draw what carried the best answer: FILE-attention.png and FILE-neighbors.png for FILE.png.
    json
        Print one JSON object.
    out
        Write the answers to this .parquet, .tsv or .csv file, however many heads there are.
    add
        Triples that the graph did not have, also about new entities, in any format that can be read.
    data
        The run's dataset, if it is no longer where it was.
    device
        cpu, cuda, cuda:1, mps, ...
    """
    examples = [*map(_split, pairs or []), *(_read_lines(pairs_file, 2) if pairs_file else [])]
    asked = [*(head or []), *(line for (line,) in (_read_lines(heads, 1) if heads else []))]
    if not examples or not asked:
        raise InputError('say what to ask: --example "HEAD | TAIL" or --examples FILE, and --head NAME or --heads FILE')
    if out:
        check_suffix(out)
    answerer = Answerer.load(run, data, device)
    if add:
        answerer = answerer.with_triples(_named(read_graph(add)))
    support = answerer.support((first, last) for first, last in examples)
    questions = [answerer.index.resolve(name) for name in asked]
    asking = Asking(answerer, support, top, _candidates(candidates), with_known)
    if out:
        with progress_bar("answering") as progress:
            batches = answerer.answer_many(support, questions, top, asking.candidates, with_known)
            write_answers(batches, out, lambda done: progress(done, len(questions)))
        console.print(f"{len(questions):,} heads asked about; the answers are in {out}")
    elif json:
        console.out(json_text.dumps(asking.document(questions, explain), ensure_ascii=False))
    else:
        asking.show(questions, explain)
    if picture:
        asking.draw(questions[0], picture)


@dataclass(frozen=True, eq=False)
class Asking:
    """What is asked about every head.

    Attributes:
        answerer: who is asked.
        support: shape (K, 2), the examples.
        top: how many answers.
        candidates: what could be an answer.
        with_known: whether what the examples say about the head is ranked, too.
    """

    answerer: Answerer
    support: IntArray
    top: int
    candidates: Candidates
    with_known: bool

    def answers(self, head: int) -> list[Answer]:
        """Return the best answers."""
        return self.answerer.answer(self.support, head, self.top, self.candidates, self.with_known)

    def explain(self, head: int, tail: int) -> str:
        """Say what carried an answer."""
        return as_text(self.answerer.explain(self.support, head, tail), self.answerer.graph)

    def show(self, heads: list[int], explain: bool) -> None:
        """Print a table for each head."""
        for head in heads:
            found = self.answers(head)
            console.print(_answers_table(self.answerer.graph, head, found))
            if explain and found:
                console.print(self.explain(head, found[0].entity), markup=False)
        if self.answerer.calibration is None:
            console.print("no confidence: it takes two valid tasks, and a run that was trained to its end", style="dim")

    def document(self, heads: list[int], explain: bool) -> dict[str, Any]:
        """Return what the server answers to POST /answer; with a text for each head when asked to explain."""
        started = time.perf_counter()
        results = [self._result(head, explain) for head in heads]
        return {"results": results, "seconds": round(time.perf_counter() - started, 3)}

    def _result(self, head: int, explain: bool) -> dict[str, Any]:
        graph, found = self.answerer.graph, self.answers(head)
        pool = self.answerer.candidates(self.support, self.candidates)
        ranked = np.setdiff1d(pool, [head]) if self.with_known else exclude_known(self.support, head, pool)
        answers = [
            {
                "rank": one.rank,
                "entity": _entity(graph, one.entity),
                "score": one.score,
                "confidence": one.confidence,
                "is_known": one.is_known,
            }
            for one in found
        ]
        text = {"text": self.explain(head, found[0].entity)} if explain and found else {}
        return {"head": _entity(graph, head), "num_candidates": len(ranked), "answers": answers, **text}

    def draw(self, head: int, picture: Path) -> None:
        """Draw what carried the best answer: its neighbors and, where the method has any, its attention."""
        from tripleshot.answering.plots import draw_attention, draw_neighbors  # nobody else waits for matplotlib

        for best in self.answers(head)[:1]:
            explanation = self.answerer.explain(self.support, head, best.entity)
            draw_neighbors(explanation, self.answerer.graph, picture.with_stem(f"{picture.stem}-neighbors"))
            if explanation.attention is not None:
                draw_attention(explanation, self.answerer.graph, picture.with_stem(f"{picture.stem}-attention"))


def _split(example: str) -> tuple[str, ...]:
    """Take "HEAD | TAIL" apart; names may have a bar without spaces around it."""
    parts = example.split(" | ") if " | " in example else example.split("|")
    if len(parts) != 2 or not all(part.strip() for part in parts):
        raise InputError(f'--example: expected "HEAD | TAIL", found {example!r}')
    return parts[0].strip(), parts[1].strip()


def _read_lines(path: Path, columns: int) -> list[tuple[str, ...]]:
    """Read a file with so many names on each line, separated by tabs."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from None
    rows = []
    for number, line in enumerate(lines, start=1):
        cells = tuple(cell.strip() for cell in line.split("\t"))
        if not line.strip():
            continue
        if len(cells) != columns or not all(cells):
            expected = "one entity" if columns == 1 else "head, tab, tail"
            raise InputError(f"{path}:{number}: expected {expected}, found {line[:80]!r}")
        rows.append(cells)
    return rows


def _named(graph: KnowledgeGraph) -> list[tuple[str, str, str]]:
    entities, relations = graph.entities.names, graph.relations.names
    columns = (entities.take(graph.head_ids), relations.take(graph.relation_ids), entities.take(graph.tail_ids))
    return list(zip(*(column.to_pylist() for column in columns), strict=True))


def _candidates(given: list[str] | None) -> Candidates:
    if given is None or given == ["open"]:
        return "open"
    return "all" if given == ["all"] else tuple(given)


def _answers_table(graph: KnowledgeGraph, head: int, found: list[Answer]) -> Table:
    table = Table(title=escape(graph.entities.label(head)), title_justify="left")
    table.add_column("", justify="right")
    table.add_column("answer")
    has_confidence = any(one.confidence is not None for one in found)
    if has_confidence:
        table.add_column("confidence")
    table.add_column("score", justify="right")
    for one in found:
        name = "" if one.name == one.label else f"  [dim]{escape(one.name)}[/dim]"
        known = "  [green]known[/green]" if one.is_known else ""
        confidence = [_bar(one.confidence or 0.0)] if has_confidence else []
        table.add_row(str(one.rank), f"{escape(one.label)}{name}{known}", *confidence, f"{one.score:.3f}")
    return table


def _bar(share: float) -> str:
    filled = round(share * BAR)
    return f"[cyan]{'█' * filled}[/cyan][dim]{'░' * (BAR - filled)}[/dim] {share:4.0%}"


def _entity(graph: KnowledgeGraph, entity: int) -> dict[str, Any]:
    return {"id": entity, "name": graph.entities.name(entity), "label": graph.entities.label(entity)}
