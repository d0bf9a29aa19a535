"""`tripleshot data`: look at datasets, make them, check them, fetch them."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, Parameter
from cyclopts.types import NonNegativeInt, PositiveInt

from tripleshot.cli.display import console, degree_table, download_progress, hint, long_tail_lines, statistics_table
from tripleshot.datasets.catalog import fetch_dataset, load_dataset
from tripleshot.datasets.checks import check_dataset
from tripleshot.datasets.nell_format import write_nell_layout
from tripleshot.datasets.splitting import make_dataset
from tripleshot.datasets.statistics import describe_dataset
from tripleshot.errors import InputError, TripleshotError
from tripleshot.evaluation.results import write_json
from tripleshot.files.atomic import new_folder
from tripleshot.graph.index_files import drop_least_used, indexes_dir, list_indexes
from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.graph.readers import read_graph
from tripleshot.graph.types import (
    read_type_mapping,
    resolve_relation,
    types_from_mapping,
    types_from_names,
    types_from_relation,
)

app = App(name="data", help="Look at datasets, make them from your own graph, check them, fetch them.")
app.command(
    "tripleshot.cli.importing:import_command", name="import", help="Bring a graph from where it lives into one file."
)


@app.command
def stats(data: str, *, shots: PositiveInt = 5, figure: Path | None = None, json: Path | None = None) -> None:
    """Print the paper's dataset table for DATA, its degree distribution and its long tail.

    Parameters
    ----------
    data
        A dataset of the catalog, a folder or a file of triples.
    shots
        Number of examples per task; the queries counted are those it leaves.
    figure
        Also draw the paper's first figure, entities over direct neighbors, to this PNG, PDF or SVG file.
    json
        Also write the numbers to this file.
    """
    dataset = load_dataset(data)
    statistics = describe_dataset(dataset, shots)
    console.print(statistics_table(dataset, statistics), markup=False)
    console.print(degree_table(dataset, statistics), markup=False)
    for line in long_tail_lines(statistics, shots):
        console.print(line)
    for note in dataset.notes:
        console.print(note, style="yellow", markup=False)
    console.print(f"content hash {dataset.content_hash}", style="dim")
    if json:
        write_json({"dataset": dataset.name, "data_hash": dataset.content_hash, **asdict(statistics)}, json)
    if figure:
        from tripleshot.experiments.figures import draw_neighbor_histogram  # nobody else waits for matplotlib

        draw_neighbor_histogram(dataset, figure)
        hint(f"figure written to {figure}")


@app.command
def make(
    triples: Path,
    out: Path,
    *,
    name: str | None = None,
    types_from_names: Annotated[bool, Parameter(negative=())] = False,
    type_relation: str | None = None,
    types: Path | None = None,
    labels: Path | None = None,
    min_triples: NonNegativeInt = 50,
    max_triples: PositiveInt = 500,
    num_valid: NonNegativeInt | None = None,
    num_test: NonNegativeInt | None = None,
    seed: NonNegativeInt = 0,
    overlap_threshold: float = 0.8,
    layout: Literal["tripleshot", "nell-one"] = "tripleshot",
    delimiter: str | None = None,
    header: bool | None = None,
    columns: Annotated[Sequence[str] | None, Parameter(consume_multiple=True)] = None,
    literals: Literal["skip", "keep"] = "skip",
    overwrite: Annotated[bool, Parameter(negative=())] = False,
) -> None:
    """Make few-shot tasks from a graph: TSV, CSV, Parquet, N-Triples or Turtle, also compressed.

    Relations within the bounds become tasks, the others the background. Relations that copy or invert a task are
    kept out of the background, and named. Say where entity types come from, and candidates are the entities of
    fitting types; say nothing, and they are the observed tails.

    Parameters
    ----------
    triples
        The graph, one triple a line: head, relation, tail.
    out
        The folder to write; it can be given wherever DATA is asked for.
    name
        How the dataset is called; the folder's name by default.
    types_from_names
        Types stand in the names: city:paris, city/paris or concept:city:paris.
    type_relation
        Types are the tails of this relation: rdf:type, P31, ...
    types
        Types are in this file: a JSON object, or lines of name, tab, type.
    labels
        Human labels of entities and relations: a JSON object, or lines of name, tab, label.
    min_triples
        A few-shot relation has more triples than this.
    max_triples
        A few-shot relation has fewer triples than this.
    num_valid
        Tasks to choose models on; 5 of 67 by default, and at least two of eight or more.
    num_test
        Tasks to report on; 11 of 67 by default.
    seed
        Decides the split, and which triples of a task come first as its support.
    overlap_threshold
        Relations that share this part of the pairs of both count as copies or inverses.
    layout
        `nell-one` writes path_graph, rel2candidates.json and so on, for the code of other papers.
    delimiter
        What separates columns; found by itself otherwise.
    header
        Whether the first line names the columns; found by itself otherwise.
    columns
        Names of the head, relation and tail columns.
    literals
        What to do with RDF literals such as dates and numbers.
    overwrite
        Replace OUT if it exists.
    """
    graph = read_graph(triples, header=header, delimiter=delimiter, columns=columns, literals=literals)
    if labels:
        texts = {name: texts[0] for name, texts in read_type_mapping(labels).items() if texts}
        graph = graph.with_labels(texts, texts)
    graph = _with_types(graph, types_from_names, type_relation, types)
    keep = [] if type_relation is None else [graph.relations.name(resolve_relation(graph, type_relation))]
    dataset = make_dataset(
        graph,
        name=name or out.resolve().name,
        min_triples=min_triples,
        max_triples=max_triples,
        num_valid=num_valid,
        num_test=num_test,
        seed=seed,
        overlap_threshold=overlap_threshold,
        keep=keep,
    )
    if layout == "tripleshot":
        dataset.save(out, overwrite)
    else:
        with new_folder(out, overwrite) as folder:
            write_nell_layout(dataset, folder)
    console.print(statistics_table(dataset, describe_dataset(dataset)), markup=False)
    for note in dataset.notes:
        console.print(note, style="yellow", markup=False)
    hint(f"written to {out}; try: tripleshot evaluate {out} --method evidence --shots 5")


def _with_types(graph: KnowledgeGraph, in_names: bool, relation: str | None, mapping: Path | None) -> KnowledgeGraph:
    if sum((in_names, relation is not None, mapping is not None)) > 1:
        raise InputError("give one source of types: --types-from-names, --type-relation or --types")
    if in_names:
        return graph.with_types(types_from_names(graph))
    if relation is not None:
        return graph.with_types(types_from_relation(graph, relation))
    return graph if mapping is None else graph.with_types(types_from_mapping(graph, read_type_mapping(mapping)))


@app.command(name="hold-out")
def hold_out(
    data: str, out: Path, *, part: int, parts: int = 3, overwrite: Annotated[bool, Parameter(negative=())] = False
) -> None:
    """Make a dataset that is tested on train tasks of DATA, to choose between methods without a look at test.

    With --part 1, 2 and 3 in three folders every train task is held out once. The valid tasks stay as they are; the
    test tasks are left out.

    Parameters
    ----------
    data
        A dataset of the catalog, a folder or a file of triples.
    out
        The folder to write; it can be given wherever DATA is asked for.
    part
        Which part of the train tasks to hold out, from 1 on.
    parts
        How many parts there are.
    overwrite
        Replace OUT if it exists.
    """
    dataset = load_dataset(data).hold_out_fold(part, parts)
    dataset.save(out, overwrite)
    tasks = f"{len(dataset.train)} train, {len(dataset.valid)} valid and {len(dataset.test)} test tasks"
    hint(f"{tasks} written to {out}; try: tripleshot compare {out} --out {out}-compared")


@app.command
def check(data: str, *, shots: PositiveInt = 5) -> None:
    """Look for what makes results wrong: leaks, answers that are no candidates, tasks too small, missing types.

    Exits with 1 when a problem is found.

    Parameters
    ----------
    data
        A dataset of the catalog, a folder or a file of triples.
    shots
        Number of examples per task that you want to use.
    """
    dataset = load_dataset(data)
    findings = check_dataset(dataset, shots)
    for finding in findings:
        mark = "[red]problem[/red]" if finding.is_problem else "[yellow]notice [/yellow]"
        console.print(mark, end=" ")
        console.print(finding.text, markup=False)
    problems = sum(finding.is_problem for finding in findings)
    if problems:
        raise TripleshotError(f"{dataset.name}: {problems} problem{'s' * (problems > 1)} found")
    console.print(f"{dataset!r}: no problem found", markup=False)


@app.command
def fetch(
    name: str,
    *,
    source: Annotated[str | None, Parameter(name="--from")] = None,
    rebuild_candidates: Annotated[bool, Parameter(negative=())] = False,
) -> None:
    """Bring a published dataset to this machine: resumed when interrupted, verified, put in place in one step.

    The original links of NELL-One and Wiki-One often answer 403. If you have the files, or know a mirror, pass it
    with --from.

    Parameters
    ----------
    name
        nell-one or wiki-one.
    source
        A folder, an archive (.tar.gz, .zip, ...) or a URL of either to take it from.
    rebuild_candidates
        Make rel2candidates.json anew by the release's rule (NELL-One).
    """
    with download_progress() as progress:
        folder = fetch_dataset(name, source, rebuild_candidates, progress)
    hint(f"{name} is in {folder}; try: tripleshot data stats {name}")


@app.command
def indexes(*, clear: Annotated[bool, Parameter(negative=())] = False) -> None:
    """List what is kept in the cache so that graphs are opened at once, or remove it.

    Weights fitted to a graph, and indexes of graphs with 20,000 triples and more, are made when they are first needed.
    Together they take at most 32 GiB; those used least recently are dropped. TRIPLESHOT_HOME says where they are,
    TRIPLESHOT_INDEXES=0 does without.

    Parameters
    ----------
    clear
        Remove all of them; they are built again when they are needed.
    """
    found = list_indexes()
    for index in found:
        used = datetime.fromtimestamp(index.last_used).isoformat(" ", "minutes")
        console.print(
            f"{index.num_bytes / 2**20:10,.1f} MiB  {used}  {index.path.parent.name[:12]}…  {index.path.name}"
        )
    total = f"{sum(index.num_bytes for index in found) / 2**30:.1f} GiB in {indexes_dir()}"
    if clear:
        drop_least_used(max_bytes=0)
    hint(f"removed {total}" if clear else total)
