"""`tripleshot complete` and `tripleshot export`."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from cyclopts.types import PositiveInt
from rich.markup import escape
from rich.table import Table

from tripleshot.answering.asking import Asking
from tripleshot.answering.completing import MAX_HEADS, Rules
from tripleshot.answering.completion_partitions import Completing, complete_in_partitions
from tripleshot.answering.examples import read_references
from tripleshot.answering.export import ExportStyle, check_export, write_triples
from tripleshot.answering.export.cypher import NodeStyle
from tripleshot.answering.export.iri_names import BASE, IriNames
from tripleshot.answering.loading import Opening
from tripleshot.answering.partitions import PARTITION_SIZE
from tripleshot.answering.proposal_files import read_proposals
from tripleshot.answering.proposals import Proposals, keep_best
from tripleshot.answering.provenance import Provenance
from tripleshot.cli.display import confidence_bar, console, hint, progress_bar, waiting
from tripleshot.cli.questions import OPENING, Files, Flag, Several, choose_crew, chosen_candidates, read_pairs
from tripleshot.errors import InputError, TripleshotError
from tripleshot.workers.work import Crew

AS_IT_IS = Opening()
SHOWN = 20  # proposals on the terminal, unless somebody wants more


def complete_command(
    source: str,
    *,
    relation: Several = None,
    all_relations: Flag = False,
    pairs: Annotated[list[str] | None, Parameter(name="--example", negative=())] = None,
    pairs_file: Annotated[Path | None, Parameter(name="--examples")] = None,
    heads: Path | None = None,
    max_heads: PositiveInt = MAX_HEADS,
    missing_only: Flag = False,
    top: PositiveInt = 3,
    most: PositiveInt | None = None,
    min_confidence: float | None = None,
    candidates: Several = None,
    out: str | None = None,
    workers: PositiveInt | None = None,
    cluster: str | None = None,
    partition_size: PositiveInt = PARTITION_SIZE,
    base: str = BASE,
    node_label: str = "",
    node_key: str = "name",
    add: Files = None,
    remove: Files = None,
    opening: Annotated[Opening, Parameter(name="*")] = AS_IT_IS,
) -> None:
    """Propose triples that a graph does not have, with their confidence, without training.

    What borders what that the graph does not say? The triples of a relation are the examples:

    `tripleshot complete my-graph.tsv --relation borders --out proposals.parquet`

    A new relation, by examples of it, for every head that is like theirs, as RDF with provenance:

    `tripleshot complete my-graph.ttl --relation "lies on" --examples examples.tsv --out proposals.trig`

    All relations, into a folder; the same command goes on after an interruption, and `export` makes other files of it:

    `tripleshot complete my-graph.tsv --all-relations --out proposals/ --workers 4`

    Confidence says how likely a tail is right if the head has the relation at all, which nobody may know: look through
    the proposals before they become facts.

    Parameters
    ----------
    source
        What is completed: a file of triples (CSV, TSV, Turtle, N-Triples, Parquet, also compressed), a dataset's folder
        or its name in the catalog, of which every triple counts, or a folder that `tripleshot train` has written.
    relation
        A relation to complete; may be given several times. Up to ten of its triples are the examples; its triples are
        not looked at, and what they say is not proposed.
    all_relations
        Complete every relation of the graph that has three triples or more, but for those that say types.
    pairs
        One example of the relation, "HEAD | TAIL"; give several. The relation may then be new.
    pairs_file
        Or a file of examples: head, tab, tail on each line.
    heads
        A file of the heads to ask about, one on each line, or a .parquet file with a column of them. By default those
        that are like the heads of the examples: of their types or, without types, heads of the same relations.
    max_heads
        How many heads of a relation at most: first those that have no tail of it yet, and of these those with the most
        edges.
    missing_only
        Leave out heads that have a tail of the relation already.
    top
        How many proposals for a head at most.
    most
        How many proposals in all at most, the most confident first.
    min_confidence
        Of a proposal, between 0 and 1; 0.5 where a method knows its confidence.
    candidates
        What could be a tail: `open`, entities like the tails of the examples; `all` entities; or the name of a type,
        also several times.
    out
        Write the proposals to this file: a table (.parquet, .tsv, .csv, .jsonl), RDF with provenance (.ttl, .nt, .trig,
        .nq) or Cypher (.cypher). Or to a folder (`proposals/`), as one .parquet file for each partition of the heads,
        with a manifest of what is finished.
    workers
        Propose with so many processes at the same time, into a folder. Proposals are the same with any number.
    cluster
        Propose on a Ray cluster, into a folder that all its machines see: its address, `auto` for the one that this
        machine belongs to, `local` for one that is started here. Needs the extra `ray`.
    partition_size
        Heads in each file of the folder: what is lost, at most, when a worker dies.
    base
        What the IRIs of names begin with that are no IRIs themselves, in files of RDF.
    node_label
        The label of the nodes that entities are, in files of Cypher, if they have one in common; with an index it is
        faster.
    node_key
        The property of these nodes that has the name of the entity, or `elementId()`.
    add
        A file of triples that the graph does not have, also about new entities; may be given several times.
    remove
        A file of triples to leave out; may be given several times.
    opening
        How SOURCE is opened.
    """
    if bool(relation) == all_relations:
        raise InputError("say which relations to complete: --relation NAME, also several times, or --all-relations")
    rules = Rules(top, min_confidence, chosen_candidates(candidates), max_heads, missing_only)
    style = ExportStyle(IriNames(base), NodeStyle(node_label, node_key))
    added, removed = (tuple(map(str, files or ())) for files in (add, remove))
    asking = Asking(source, read_pairs(pairs, pairs_file), add=added, remove=removed, **vars(opening))
    given = tuple(read_references(heads)) if heads else None
    completing = Completing(asking, tuple(relation) if relation else None, given, rules)
    crew = choose_crew(out, workers, cluster)
    if out and crew:
        if most is not None:
            raise InputError("--most: the best of all are known in the end; take them with `tripleshot export`")
        _complete_folder(completing, out, crew, partition_size)
        return
    if out:
        check_export(Path(out))
    with waiting(OPENING):
        completion = completing.on(asking.open())
        total = completion.num_heads
    with progress_bar("completing") as progress:
        batches = completion.batches(lambda done: progress(done, total))
        kept = batches if most is None else keep_best(batches, most)
        if out:
            write_triples(kept, Path(out), completion.provenance, style)
        found = None if out else Proposals.of(kept, completion.provenance)
    _tell_heads(completion.provenance)
    if found is None:
        hint(f"the proposals are in {out}")
    else:
        show_proposals(found, most or SHOWN)


def export_command(
    source: Path,
    out: Path,
    *,
    min_confidence: float = 0.0,
    most: PositiveInt | None = None,
    base: str = BASE,
    node_label: str = "",
    node_key: str = "name",
) -> None:
    """Write proposals as another kind of file: a table, RDF with provenance, or Cypher.

    A folder of `complete` as RDF, the hundred most confident:

    `tripleshot export proposals/ proposals.trig --most 100`

    What a curator has accepted on the page, for Neo4j:

    `tripleshot export decisions.tsv accepted.cypher`

    Parameters
    ----------
    source
        A folder or a .parquet file of `complete`; or a .tsv or .csv file with the columns head, relation and tail.
        Where there is a column `decision`, what is not `accepted` is left out.
    out
        The file to write, by its ending: .parquet, .tsv, .csv, .jsonl, .ttl, .nt, .trig, .nq or .cypher.
    min_confidence
        Leave out what is less confident.
    most
        Write so many at most, the most confident first.
    base
        What the IRIs of names begin with that are no IRIs themselves, in files of RDF.
    node_label
        The label of the nodes that entities are, in files of Cypher, if they have one in common; with an index it is
        faster.
    node_key
        The property of these nodes that has the name of the entity, or `elementId()`.
    """
    check_export(out)
    style = ExportStyle(IriNames(base), NodeStyle(node_label, node_key))
    found = read_proposals(source)
    batches = found.batches(min_confidence)
    write_triples(batches if most is None else keep_best(batches, most), out, found.provenance, style)
    hint(f"written to {out}")


def _complete_folder(completing: Completing, out: str, crew: Crew, partition_size: int) -> None:
    """Propose into a folder, in which Ctrl-C leaves what is finished."""
    try:
        with progress_bar("completing") as progress:
            provenance = complete_in_partitions(completing, out, crew, partition_size=partition_size, progress=progress)
    except KeyboardInterrupt:
        raise TripleshotError(f"stopped; what is finished is in {out}, and the same command goes on") from None
    _tell_heads(provenance)
    hint(f"the proposals are in {out}")


def _tell_heads(provenance: Provenance) -> None:
    """Say how many heads were asked about, and where a limit left some out."""
    for origin in provenance.relations:
        asked, alike = origin.num_heads or 0, origin.num_alike or 0
        limit = f" of {alike:,} alike; --max-heads asks about more" if asked < alike else ""
        hint(f"{origin.name}: {len(origin.examples)} examples, {asked:,} heads asked about{limit}")


def show_proposals(proposals: Proposals, num_shown: int = SHOWN) -> None:
    """Print the first proposals as a table."""
    table = Table()
    for title in ("head", "relation", "tail", "confidence"):
        table.add_column(title)
    for row in proposals.table.slice(0, num_shown).to_pylist():
        words = [escape(row[f"{name}_label"]) for name in ("head", "relation", "tail")]
        table.add_row(*words, "" if row["confidence"] is None else confidence_bar(row["confidence"]))
    console.print(table)
    if len(proposals) > num_shown:
        hint(f"{len(proposals) - num_shown:,} more; --most shows the most confident, and --out writes all to a file")
