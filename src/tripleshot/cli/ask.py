"""`tripleshot ask`."""

import json as json_text
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter
from cyclopts.types import PositiveInt
from rich.markup import escape
from rich.table import Table

from tripleshot.answering.answers import Answer, Answers
from tripleshot.answering.asking import Asking, OpenedAsking
from tripleshot.answering.examples import Reference, read_references
from tripleshot.answering.explanation import Explanation, Side
from tripleshot.answering.export import ExportStyle, check_export
from tripleshot.answering.export.iri_names import BASE, IriNames
from tripleshot.answering.loading import Opening
from tripleshot.answering.partitions import PARTITION_SIZE, answer_in_partitions
from tripleshot.answering.predictor import Predictor
from tripleshot.answering.ranking import Ranked
from tripleshot.cli.display import confidence_bar, console, hint, progress_bar, waiting
from tripleshot.cli.questions import OPENING, Files, Flag, Several, choose_crew, chosen_candidates, read_pairs
from tripleshot.cli.terminal import printable
from tripleshot.errors import InputError, TripleshotError
from tripleshot.workers.work import Crew

AS_IT_IS = Opening()


def ask_command(
    source: str,
    *,
    pairs: Annotated[list[str] | None, Parameter(name="--example", negative=())] = None,
    pairs_file: Annotated[Path | None, Parameter(name="--examples")] = None,
    relation: str | None = None,
    head: Several = None,
    heads: Path | None = None,
    tail: Several = None,
    tails: Path | None = None,
    top: PositiveInt = 10,
    candidates: Several = None,
    with_known: Flag = False,
    explain: Flag = False,
    picture: Path | None = None,
    json: Flag = False,
    out: str | None = None,
    workers: PositiveInt | None = None,
    cluster: str | None = None,
    partition_size: PositiveInt = PARTITION_SIZE,
    base: str = BASE,
    add: Files = None,
    remove: Files = None,
    opening: Annotated[Opening, Parameter(name="*")] = AS_IT_IS,
) -> None:
    """Answer questions about a relation from a few examples of it, without training.

    On which sea does Baku lie? A graph in a file, and examples of a relation that it does not have:

    `tripleshot ask my-graph.tsv --example "Barcelona | Mediterranean Sea" --example "Mumbai | Arabian Sea" --head Baku`

    What could Italy border that the graph does not say? A relation of the graph, whose triples are the examples:

    `tripleshot ask my-graph.tsv --relation borders --head Italy`

    Which cities lie on the Black Sea? Heads in place of tails, with reasons:

    `tripleshot ask my-graph.tsv --example "Barcelona | Mediterranean Sea" --tail "Black Sea" --explain`

    Millions of heads, by four processes, into a folder of files; the same command goes on after an interruption:

    `tripleshot ask my-graph.tsv --examples examples.tsv --heads heads.parquet --out answers/ --workers 4`

    Entities are given by name, by label or by id (`#12`); an unknown one suggests the nearest.

    Parameters
    ----------
    source
        What is asked: a file of triples (CSV, TSV, Turtle, N-Triples, Parquet, also compressed), a dataset's folder or
        its name in the catalog, of which every triple counts, or a folder that `tripleshot train` has written.
    pairs
        One example of the relation, "HEAD | TAIL"; give several.
    pairs_file
        Or a file of examples: head, tab, tail on each line.
    relation
        What the relation is called. If the graph has it, up to ten of its triples are the examples unless you give
        others; its triples are not looked at, and what they say is left out of the answers.
    head
        An entity to ask about: which tails belong to it? May be given several times.
    heads
        Or a file with one on each line, or a .parquet file with a column of them.
    tail
        Or the other way round: which heads belong to it? May be given several times.
    tails
        Or a file with one on each line, or a .parquet file with a column of them.
    top
        How many answers to each question.
    candidates
        What could be an answer: `open`, entities like the answers of the examples; `all` entities; or the name of a
        type, also several times.
    with_known
        Rank also what is known already, from the examples or from the graph's triples of the relation.
    explain
        Say what carried the best answer.
    picture
        Draw what carried the best answer: FILE-reasons.png for FILE.png, or FILE-neighbors.png and FILE-attention.png.
    json
        Print one JSON object.
    out
        Write the answers to this file, however many questions there are: a table (.parquet, .tsv, .csv, .jsonl), or
        triples with their provenance (.ttl, .nt, .trig, .nq, .cypher). Or to a folder (`answers/`), as one .parquet
        file for each partition of the heads or tails, with a manifest of what is finished.
    workers
        Answer with so many processes at the same time, into a folder. Answers are the same with any number.
    cluster
        Answer on a Ray cluster, into a folder that all its machines see: its address, `auto` for the one that this
        machine belongs to, `local` for one that is started here. Needs the extra `ray`.
    partition_size
        Heads or tails in each file of the folder: what is lost, at most, when a worker dies.
    base
        What the IRIs of names begin with that are no IRIs themselves, in files of RDF.
    add
        A file of triples that the graph does not have, also about new entities; may be given several times.
    remove
        A file of triples to leave out; may be given several times.
    opening
        How SOURCE is opened.
    """
    examples = read_pairs(pairs, pairs_file)
    side, asked = _asked(_all_of(head, heads), _all_of(tail, tails))
    if examples is None and relation is None:
        raise InputError(
            'give examples of the relation, --example "HEAD | TAIL" or --examples FILE, or --relation with the name of '
            "one that the graph has"
        )
    crew = choose_crew(out, workers, cluster)
    if out and crew is None:
        check_export(Path(out))
    chosen = (side, top, chosen_candidates(candidates), with_known)
    added, removed = (tuple(map(str, files or ())) for files in (add, remove))
    asking = Asking(source, examples, relation, *chosen, add=added, remove=removed, **vars(opening))
    if out:
        _write(asking, asked, out, crew, partition_size, ExportStyle(IriNames(base)))
        hint(f"{len(asked):,} {side}{'s' * (len(asked) != 1)} asked about; the answers are in {out}")
        return
    with waiting(OPENING):
        predictor = asking.open()
    about: dict[str, Any] = {"examples": examples, "relation": relation}
    choices: dict[str, Any] = {"k": top, "candidates": asking.candidates, "include_known": with_known}
    asked_about: dict[str, Any] = {f"{side}s": asked}
    answers = predictor.predict(**asked_about, **about, **choices)
    explanations = _explain_best(predictor, answers, about) if explain or picture else []
    if json:
        document = answers.to_dict()
        for result, explanation in zip(document["results"], explanations, strict=False):
            result |= {"text": str(explanation)} if explain and explanation else {}
        console.out(printable(json_text.dumps(document, ensure_ascii=False)))
    else:
        show_answers(answers, explanations if explain else [])
    if picture and explanations and explanations[0] is not None:
        _draw(explanations[0], picture)


def _write(
    asking: Asking, asked: list[Reference], out: str, crew: Crew | None, partition_size: int, style: ExportStyle
) -> None:
    """Write the answers to a file, or to a folder, in which Ctrl-C leaves what is finished."""
    if crew is None:
        with waiting(OPENING):
            opened = OpenedAsking.of(asking)
            ids = opened.find(asked)
        with progress_bar("answering") as progress:
            opened.write(ids, Path(out), lambda done: progress(done, len(ids)), style)
        return
    try:
        with progress_bar("answering") as progress:
            answer_in_partitions(asking, asked, out, crew, partition_size=partition_size, progress=progress)
    except KeyboardInterrupt:
        raise TripleshotError(f"stopped; what is finished is in {out}, and the same command goes on") from None


def _all_of(given: list[str] | None, file: Path | None) -> list[Reference]:
    return [*(given or []), *(read_references(file) if file else [])]


def _asked(heads: list[Reference], tails: list[Reference]) -> tuple[Side, list[Reference]]:
    """Return on which side of the relation the entities are that are asked about."""
    if bool(heads) == bool(tails):
        both = "ask about heads or about tails, not both" if heads else "say what to ask about"
        raise InputError(f"{both}: --head NAME or --heads FILE, or --tail NAME or --tails FILE for which heads")
    return ("head", heads) if heads else ("tail", tails)


def _explain_best(predictor: Predictor, answers: Answers, about: Mapping[str, Any]) -> list[Explanation | None]:
    """Explain the best answer to each question; None where there is no answer."""
    explanations: list[Explanation | None] = []
    for entity, found in zip(answers.asked, answers, strict=True):
        pair = (entity, found[0].id) if found else None
        if pair and answers.side == "tail":
            pair = pair[::-1]
        explanations.append(predictor.explain(*pair, **about, asked_side=answers.side) if pair else None)
    return explanations


def show_answers(answers: Answers, explanations: Sequence[Explanation | None] = ()) -> None:
    """Print a table for each entity that was asked about, and what carried its best answer."""
    for place, (entity, found) in enumerate(zip(answers.asked, answers, strict=True)):
        console.print(answers.title(entity), style="italic", markup=False, soft_wrap=True)
        console.print(_answers_table(found, answers.rankings[place]))
        if place < len(explanations) and explanations[place] is not None:
            console.print(str(explanations[place]), markup=False)


def _draw(explanation: Explanation, picture: Path) -> None:
    """Draw what carried an answer, each kind of picture into a file of its own."""
    for kind in explanation.plot_kinds:
        explanation.plot(picture.with_stem(f"{picture.stem}-{kind}"), kind)


def _answers_table(found: list[Answer], ranked: Ranked) -> Table:
    table = Table()
    table.add_column("", justify="right")
    table.add_column("answer")
    has_confidence = any(one.confidence is not None for one in found)
    if has_confidence:
        table.add_column("confidence")
    table.add_column("score", justify="right")
    for one in found:
        name = "" if one.name == one.label else f"  [dim]{escape(one.name)}[/dim]"
        known = "  [green]known[/green]" if one.is_known else ""
        confidence = [confidence_bar(one.confidence or 0.0)] if has_confidence else []
        table.add_row(str(one.rank), f"{escape(one.label)}{name}{known}", *confidence, f"{one.score:z.3f}")
    if ranked.none is not None:
        table.add_section()
        about = f"none of the {ranked.num_candidates:,} candidates" if ranked.num_candidates else "no candidates"
        table.add_row("", f"[dim]{about}[/dim]", confidence_bar(ranked.none), "")
    return table
