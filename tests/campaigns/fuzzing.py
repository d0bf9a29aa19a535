"""Inputs made up by Hypothesis from valid ones, for every reader of files and every body of a request.

Files of the program itself are read without their checksums here, so that the damage reaches what is behind them.
"""

import asyncio
import gzip
import json
import shutil
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import fields
from functools import cache, partial
from pathlib import Path

import httpx
import pyarrow as pa
import pyarrow.parquet as pq
from fastapi import FastAPI
from hypothesis import HealthCheck, given, seed, settings
from torch import nn

from campaigns.children import Campaign, Tally, command, last_line, run_child, shares_of
from campaigns.commands import EXAMPLES
from campaigns.fetching import published
from campaigns.interruptions import prepare_graphs
from campaigns.sources import sources
from campaigns.targets import Target, file_target
from damage import EDITS, GRAPH_FILES, mutated
from downloads import tar, write, zipped
from tripleshot.answering.examples import read_examples, read_references
from tripleshot.answering.loading import load
from tripleshot.answering.manifest import MANIFEST as ANSWERS
from tripleshot.answering.manifest import Manifest, Partition
from tripleshot.answering.predictor import Predictor
from tripleshot.cli.options import read_settings
from tripleshot.datasets.catalog import CANDIDATES_FILE
from tripleshot.datasets.download.archives import unpack
from tripleshot.datasets.nell_format import candidates_by_release_rule, read_nell_layout
from tripleshot.datasets.storage import MANIFEST, load_saved_dataset
from tripleshot.errors import TripleshotError
from tripleshot.evaluation.calibration import load_calibration
from tripleshot.files.checksums import hash_file, read_document, seal_document
from tripleshot.graph.readers import read_graph
from tripleshot.graph.types import read_type_mapping
from tripleshot.methods.rscl.settings import tiny
from tripleshot.methods.trainable import UNIVERSAL
from tripleshot.server import Limits, create_app
from tripleshot.training.averaging import WeightAverage
from tripleshot.training.checkpoints import TrainingProgress, load_checkpoint, save_checkpoint
from tripleshot.training.log import describe_training, shorten_log
from tripleshot.training.optimization import make_optimizers
from tripleshot.training.random_states import RandomStreams, gather_random_states
from tripleshot.training.runs import load_config

SEAL = b'"sha256"'
AT_ONCE = 500  # inputs in one child
SLOW = 20  # a request costs about so many files


def fuzz_readers(folder: Path, num_inputs: int, first_seed: int, until: float) -> Campaign:
    """Give every reader damaged inputs, fewer where they take longer, and give what came of each."""
    files = folder / "files"
    files.mkdir()
    targets = [*_graph_files(files), *_run_files(folder), *_small_files(files), *_fetched_files(folder)]
    targets += [*sources(files), *_requests(folder)]
    unit = num_inputs / sum(1 / target.cost for target in targets)
    _warm_up()
    for target, _, ends in shares_of(targets, num_inputs, until):
        count = max(1, round(unit / target.cost))
        yield f"fuzz: {target.name}", _fuzz(target, folder, count, first_seed, ends)


def _warm_up() -> None:
    """Draw an input in this process: the tables that Hypothesis makes for it are then there for every child."""

    @settings(max_examples=1, database=None, suppress_health_check=list(HealthCheck))
    @given(edits=EDITS)
    def draw(edits: list[tuple[int, bytes, int]]) -> None:
        pass

    draw()


def _fuzz(target: Target, folder: Path, num_inputs: int, first_seed: int, until: float) -> Tally:
    """Run one fuzzer, so many inputs in a child: what damages a library's memory is then seen, too."""
    tally = Tally()
    for number, first in enumerate(range(0, num_inputs, AT_ONCE)):
        if time.monotonic() < until:
            _fuzz_some(target, folder, min(AT_ONCE, num_inputs - first), first_seed + number, until, tally)
    return tally


def _fuzz_some(target: Target, folder: Path, num_inputs: int, drawn_from: int, until: float, tally: Tally) -> None:
    found, output = folder / "fuzzed.json", folder / "output"
    found.unlink(missing_ok=True)

    def work() -> None:
        counts = {"own error": 0, "read": 0}

        @seed(drawn_from)
        @settings(max_examples=num_inputs, deadline=None, database=None, suppress_health_check=list(HealthCheck))
        @given(edits=EDITS)
        def check(edits: list[tuple[int, bytes, int]]) -> None:
            if time.monotonic() > until:
                raise KeyboardInterrupt  # all that Hypothesis lets through at once
            try:
                target.read(mutated(target.valid, edits))
                counts["read"] += 1
            except TripleshotError:
                counts["own error"] += 1

        warnings.simplefilter("ignore")
        target.read(target.valid)
        try:
            with suppress(KeyboardInterrupt):
                check()
        finally:
            found.write_text(json.dumps(counts))

    code = run_child(work, output)
    for outcome, count in json.loads(found.read_text() if found.exists() else "{}").items():
        tally.tried += count
        tally.outcomes[outcome] += count
    if code:
        about = f"{target.name}: exit code {code}, inputs drawn from {drawn_from}: {last_line(output)}"
        tally.add("foreign exception", about)


def _graph_files(folder: Path) -> list[Target]:
    return [file_target(folder / name, content, read_graph) for name, content in GRAPH_FILES.items()]


def _run_files(folder: Path) -> list[Target]:
    """Return the files of a run with its dataset, without checksums."""
    graph, _ = prepare_graphs(folder)
    run, output = folder / "run", folder / "output"
    words = ("train", graph, run, "--method", "transe", "--preset", "tiny", "--threads", 1, "--with-graph")
    assert run_child(command(*words), output) == 0, last_line(output)
    for page in (run / "config.json", run / "data" / MANIFEST):
        document = read_document(page)
        document.pop("files", None)
        page.write_text(json.dumps(document))
    for tensors in run.glob("*.safetensors"):
        tensors.write_bytes(tensors.read_bytes().replace(SEAL, b'"former"'))
    module, checkpoint = nn.Linear(3, 2), folder / "checkpoint.safetensors"
    states = gather_random_states(RandomStreams(0))
    optimizers = make_optimizers(module, "adam", 0.1)
    save_checkpoint(checkpoint, module, WeightAverage(module, 0.9), optimizers, states, TrainingProgress())

    def restore(path: Path) -> None:
        load_checkpoint(path, module, lambda stage: make_optimizers(module, "adam", 0.1), RandomStreams(0))

    def read_whole_log(path: Path) -> None:
        describe_training(path.parent)
        shorten_log(path, 3)

    def restored(path: Path, read: Callable[[Path], object]) -> Target:
        valid = path.read_bytes()

        def read_then_restore(path: Path) -> None:
            try:
                read(path)
            finally:
                path.write_bytes(valid)

        return file_target(path, valid, read_then_restore, f"{path.parent.name}/{path.name}", cost=4)

    calibration = (UNIVERSAL / "calibration.json").read_bytes()

    def load_this_run(path: Path) -> object:
        return load(run)

    return [
        file_target(checkpoint, checkpoint.read_bytes().replace(SEAL, b'"former"'), restore),
        restored(run / "config.json", lambda path: load_config(run)),
        *(restored(run / name, load_this_run) for name in ("weights.safetensors", "vocabulary.arrow")),
        file_target(folder / "calibration.json", calibration, lambda path: load_calibration(path.parent)),
        restored(run / "log.jsonl", read_whole_log),
        *(restored(path, lambda path: load_saved_dataset(path.parent)) for path in sorted((run / "data").iterdir())),
    ]


def _small_files(folder: Path) -> list[Target]:
    toml = "\n".join(f"{field.name} = {json.dumps(getattr(tiny(), field.name))}" for field in fields(tiny()))
    return [
        file_target(folder / "settings.toml", toml.encode(), lambda path: read_settings(path, tiny())),
        file_target(folder / "examples.tsv", b"head\ttail\na\tb\nc\td\n", read_examples),
        file_target(folder / "heads.txt", b"a\nb\n\nc\n", read_references),
        file_target(folder / "types.json", b'{"a": "city", "b": ["river", "sea"]}', read_type_mapping),
        file_target(folder / "types.tsv", b"a\tcity\nb\triver\n", read_type_mapping),
        file_target(folder / "page.json", json.dumps(seal_document({"a": [1.5, None]})).encode(), read_document),
        *_files_of_many_answers(folder),
    ]


def _files_of_many_answers(folder: Path) -> list[Target]:
    """Return heads in a Parquet file, and the manifest of a folder of answers."""
    answers, heads, question = folder / "answers", folder / "many.parquet", {"graph": "one"}
    pq.write_table(pa.table({"head": ["a", "b", "c"], "number": [1, 2, 3]}), heads)

    def open_manifest(path: Path) -> object:
        return Manifest.open(path.parent, question, lambda found, wanted: "" if found == wanted else "another graph")

    manifest = open_manifest(answers / ANSWERS)
    assert isinstance(manifest, Manifest)
    (answers / Partition.name_of(0)).write_bytes(b"answers")
    manifest.add(Partition(0, 3, hash_file(answers / Partition.name_of(0))))
    return [
        file_target(heads, heads.read_bytes(), read_references),
        file_target(answers / ANSWERS, (answers / ANSWERS).read_bytes(), open_manifest),
    ]


def _fetched_files(folder: Path) -> list[Target]:
    """Return the files of a folder in the layout of NELL-One, and archives of such folders."""
    layout, unpacked = folder / "layout", folder / "unpacked"
    files = dict(published(folder / "graph.tsv").files)
    write(layout, files)
    files[CANDIDATES_FILE] = json.dumps(candidates_by_release_rule(layout)).encode()
    write(layout, files)

    def read_layout(path: Path) -> None:
        try:
            read_nell_layout(layout)
        finally:
            path.write_bytes(files[path.name])

    def unpack_anew(path: Path) -> None:
        shutil.rmtree(unpacked, ignore_errors=True)
        unpack(path, unpacked)

    small = {"path_graph": b"a\tr\tb\n"}
    archives = {"tar": tar(small), "tar.gz": gzip.compress(tar(small)), "zip": zipped(small)}
    return [
        *(
            file_target(layout / name, content, read_layout, f"layout/{name}", cost=4)
            for name, content in files.items()
        ),
        *(file_target(folder / f"archive.{kind}", content, unpack_anew) for kind, content in archives.items()),
    ]


def _requests(folder: Path) -> list[Target]:
    """Return the bodies of requests: whatever they are, the answer is none of the server's own faults."""
    pairs = [text.split(" | ") for text in EXAMPLES[1::2]]
    examples = [{"head": head, "tail": tail} for head, tail in pairs]
    bodies = {
        "/answer": {"examples": examples, "heads": ["person:9"], "top": 3},
        "/explain": {"examples": examples, "head": "person:9", "tail": "city:3", "asked": "head"},
        "/complete": {"relation": "r3", "heads": ["person:9", "person:8"], "skip": 0, "limit": 2, "top": 2},
    }

    @cache
    def app() -> FastAPI:
        return create_app(Predictor(str(folder / "graph.tsv"), "evidence"), Limits(), None)

    async def post(path: str, content: bytes) -> int:
        transport = httpx.ASGITransport(app(), raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            headers = {"content-type": "application/json"}
            return (await client.post(path, content=content, headers=headers)).status_code

    def ask(path: str, content: bytes) -> None:
        status = asyncio.run(post(path, content))
        if status >= 400:
            assert status < 500, status
            raise TripleshotError(str(status))

    return [
        Target(f"POST {path}", json.dumps(body).encode(), partial(ask, path), SLOW) for path, body in bodies.items()
    ]
