"""The commands that a campaign interrupts: what stands before, what they write, how to tell that nothing is lost."""

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pyarrow.parquet as pq

from campaigns.children import command, last_line, run_child
from campaigns.fetching import ARCHIVE, FOLDER, describe_fetched, published
from tripleshot.answering.manifest import MANIFEST, Partition
from tripleshot.datasets.storage import load_saved_dataset
from tripleshot.evaluation.results import RESULT, RUNS
from tripleshot.files.checksums import hash_file
from tripleshot.training.log import LOG, read_log
from tripleshot.training.runs import CONFIG

METHODS = ("evidence-net", "metar", "transe", "rscl")  # one of each family
KEPT = ("weights.safetensors", "pretrained.safetensors", "vocabulary.arrow", "calibration.json")
EXAMPLES = ("--example", "person:0 | city:0", "--example", "person:1 | city:2", "--example", "person:2 | city:4")


@dataclass(frozen=True)
class Command:
    """A command that may be interrupted at any moment.

    Attributes:
        name: for the figures.
        prepare: makes an empty folder look as it does before.
        begin: returns what to run in the folder, or to run again after an interruption.
        describe: returns what the finished folder holds, for a comparison with one that was never interrupted.
        is_intact: tells whether what stood there before, or the whole new, is there right after an interruption.
        has_own_cache: whether it changes its process so that what it keeps goes into the folder, too.
    """

    name: str
    prepare: Callable[[Path], None]
    begin: Callable[[Path], Callable[[], None]]
    describe: Callable[[Path], object]
    is_intact: Callable[[Path], bool] = lambda folder: True
    has_own_cache: bool = False

    def finish(self, folder: Path, output: Path) -> str:
        """Run the command to its end; return what is wrong, if anything."""
        code = run_child(self.begin(folder), output)
        return "" if code == 0 else f"{self.name}: does not go on, exit code {code}: {last_line(output)}"


def write_graph(path: Path, num_people: int = 60) -> None:
    """Write a graph of people, cities and countries with relations large enough to be tasks."""
    lines = [f"person:{i}\tr{r}\tcity:{(i * (r + 1)) % 9}" for r in range(12) for i in range(num_people)]
    lines += [f"city:{i}\tin\tcountry:{i % 3}" for i in range(9)]
    path.write_text("\n".join(lines) + "\n")


def commands_on(graph: Path, other: Path) -> list[Command]:
    """Return every command, on a graph and, where something is there already, on another one before."""
    trainings = [_training(method, graph) for method in METHODS]
    asking = (_asking(graph, other), _asking_many(graph))
    fetching = [_fetching("data fetch", graph, ARCHIVE), _fetching("data fetch, single files", graph, FOLDER)]
    return [*trainings, _making(graph, other), *fetching, _comparing(graph), *asking, _indexing(graph)]


def _training(method: str, graph: Path) -> Command:
    def begin(folder: Path) -> Callable[[], None]:
        resume = ["--resume"] if (folder / "run" / CONFIG).exists() else []
        words = ("train", graph, folder / "run", "--method", method, "--preset", "tiny", "--checkpoint-every", 3)
        return command(*words, "--threads", 1, *resume)

    def describe(folder: Path) -> object:
        run = folder / "run"
        left = sorted(path.name for path in (*folder.glob(".*"), *run.glob(".*")))
        rows = [(row["stage"], row["step"], row.get("valid_mrr")) for row in read_log(run / LOG)]
        kept = {name: (run / name).read_bytes() for name in KEPT if (run / name).exists()}
        return left, rows, kept

    return Command(f"train {method}", lambda folder: None, begin, describe)


def _making(graph: Path, other: Path) -> Command:
    def make(source: Path, folder: Path) -> Callable[[], None]:
        return command("data", "make", source, folder / "made", "--types-from-names", "--overwrite")

    def prepare(folder: Path) -> None:
        assert run_child(make(other, folder), folder / "output") == 0

    def is_intact(folder: Path) -> bool:
        return load_saved_dataset(folder / "made").graph.num_triples > 0

    return Command("data make", prepare, lambda folder: make(graph, folder), _dataset_hash, is_intact)


def _dataset_hash(folder: Path) -> str:
    return load_saved_dataset(folder / "made").content_hash


def _fetching(name: str, graph: Path, source: str) -> Command:
    remote = published(graph)
    begin = partial(remote.fetching, source=source)
    return Command(name, remote.write_former, begin, describe_fetched, remote.is_former_or_new, has_own_cache=True)


def _comparing(graph: Path) -> Command:
    def begin(folder: Path) -> Callable[[], None]:
        words = ("compare", graph, "--out", folder / "compared", "--methods", "degree,evidence,transe", "--shots", 3)
        return command(*words, "--budget", "0.2s", "--preset", "tiny", "--threads", 1, "--queries", 20)

    def describe(folder: Path) -> object:
        results = sorted((folder / "compared" / RUNS).glob(f"*/{RESULT}"))
        learned = [path.parent.name for path in results if path.parent.name.startswith("transe")]
        read = [json.loads(path.read_text()) for path in results if path.parent.name not in learned]
        return learned, [(page["method"], page["micro"], page["queries"]) for page in read]

    return Command("compare", lambda folder: None, begin, describe)


def _asking(graph: Path, other: Path) -> Command:
    def ask(source: Path, folder: Path) -> Callable[[], None]:
        heads = [word for number in range(20) for word in ("--head", f"person:{number + 20}")]
        return command("ask", source, *EXAMPLES, *heads, "--out", folder / "answers.parquet")

    def prepare(folder: Path) -> None:
        assert run_child(ask(other, folder), folder / "output") == 0

    def describe(folder: Path) -> object:
        return pq.read_table(folder / "answers.parquet").to_pylist()

    return Command("ask", prepare, lambda folder: ask(graph, folder), describe, lambda folder: bool(describe(folder)))


def _asking_many(graph: Path) -> Command:
    def begin(folder: Path) -> Callable[[], None]:
        heads = [word for number in range(40) for word in ("--head", f"person:{number + 5}")]
        words = ("ask", graph, *EXAMPLES, *heads, "--method", "evidence", "--partition-size", 8)
        return command(*words, "--out", f"{folder}/answers/", "--workers", 2)

    def describe(folder: Path) -> object:
        return {path.name: path.read_bytes() for path in (folder / "answers").iterdir()}

    def is_intact(folder: Path) -> bool:
        manifest = folder / "answers" / MANIFEST
        lines = manifest.read_text().split("\n")[1:-1] if manifest.exists() else []
        found = [Partition(**json.loads(line)) for line in lines]
        return all(hash_file(folder / "answers" / Partition.name_of(one.number)) == one.sha256 for one in found)

    return Command("ask --workers", lambda folder: None, begin, describe, is_intact)


def _indexing(graph: Path) -> Command:
    def begin(folder: Path) -> Callable[[], None]:
        def build() -> None:
            from tripleshot.datasets import opening
            from tripleshot.graph import index_files

            os.environ["TRIPLESHOT_HOME"] = str(folder / "home")
            index_files.MIN_ROWS = 0  # pyrefly: ignore
            opening.MIN_ROWS = 0  # pyrefly: ignore
            command("ask", graph, *EXAMPLES, "--head", "person:20", "--out", folder / "answers.parquet")()

        return build

    def describe(folder: Path) -> object:
        shutil.rmtree(folder / "home" / "native", ignore_errors=True)
        indexes = sorted(path.name for path in (folder / "home" / "indexes").glob("*/*"))
        return indexes, pq.read_table(folder / "answers.parquet").to_pylist()

    return Command("index", lambda folder: None, begin, describe, has_own_cache=True)
