import os
import sys
from pathlib import Path

os.environ.pop("COLUMNS", None)  # workers of pytest-xdist inherit it, and a console that is made with it keeps to it

import numpy as np
import pytest
import torch
from hypothesis import settings

from graphs import make_graph
from tripleshot.cli import main
from tripleshot.datasets.dataset import FewShotDataset, Task
from tripleshot.datasets.nell_format import read_nell_layout
from tripleshot.methods.rscl.contexts import ContextExtractor
from tripleshot.methods.rscl.method import RSCLMethod
from tripleshot.methods.rscl.settings import RSCLSettings
from tripleshot.methods.rscl.tokens import Tokens

os.fsync = lambda fd: None  # no test cuts the power, and hundreds of writes would wait for the disk
torch.set_num_threads(1)  # small tensors, and runs that are repeatable to the bit
# No deadline: the first call takes longer, since it imports what others need, too.
settings.register_profile("random", max_examples=20, deadline=None)
settings.register_profile("repeatable", max_examples=20, deadline=None, derandomize=True)
settings.register_profile("thorough", max_examples=400, deadline=None)  # `make test-thorough`
settings.load_profile("repeatable" if os.environ.get("CI") else "random")


@pytest.fixture
def run(monkeypatch, capsys):
    """Run a command as the shell would; give its exit code, what it printed and what it complained about."""

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["tripleshot", *map(str, words)])
        monkeypatch.setenv("COLUMNS", "200")
        try:
            main()
            code = 0
        except SystemExit as stop:
            code = stop.code or 0
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


@pytest.fixture(scope="session")
def nell_folder() -> Path:
    """The real NELL-One directory; it is no part of the project."""
    beside = Path(__file__).parents[2] / "shared" / "data" / "nell-one"
    folder = Path(os.environ.get("TRIPLESHOT_NELL_ONE", beside))
    if not (folder / "path_graph").is_file():
        pytest.skip("NELL-One is not on this machine; set TRIPLESHOT_NELL_ONE")
    return folder


@pytest.fixture(scope="session")
def nell_one(nell_folder: Path) -> FewShotDataset:
    return read_nell_layout(nell_folder)


@pytest.fixture(scope="session")
def tiny() -> FewShotDataset:
    """Twenty people in four cities of two countries, with three few-shot relations that the background can answer."""
    people = [f"person:{number}" for number in range(20)]
    cities = [f"city:{number}" for number in range(4)]
    countries = ["country:0", "country:1"]
    triples = [(person, "lives in", cities[i % 4]) for i, person in enumerate(people)]
    triples += [(city, "part of", countries[i % 2]) for i, city in enumerate(cities)]
    triples += [(person, "knows", people[(i * 7 + 3) % 20]) for i, person in enumerate(people)]
    triples += [(city, "twin of", cities[(i + 1) % 4]) for i, city in enumerate(cities)]
    graph = make_graph(triples, {name: name.partition(":")[0] for name in [*people, *cities, *countries]})
    ids = {name: graph.entities.id(name) for name in [*people, *cities, *countries]}

    def task(name: str, tail_of) -> Task:
        return Task.of(name, np.array([[ids[person], ids[tail_of(i)]] for i, person in enumerate(people)]))

    return FewShotDataset(
        "tiny",
        graph,
        train=(task("citizen of", lambda i: countries[i % 2]), task("votes in", lambda i: cities[i % 4])),
        valid=(task("born in", lambda i: cities[(i + 1) % 4]),),
        test=(task("works in", lambda i: cities[i % 4]), task("pays tax in", lambda i: countries[i % 2])),
    )


@pytest.fixture
def quick_rscl(monkeypatch) -> str:
    """The name of a preset of RSCL whose training lasts a moment."""
    settings = RSCLSettings(
        width=16,
        num_layers=1,
        num_heads=2,
        max_neighbors=4,
        max_distant=2,
        batch_size=16,
        pretraining_steps=20,
        pretraining_batch_size=16,
        num_sampled=8,
        steps=40,
        warmup=2,
        validate_every=20,
        patience=0,
        checkpoint_every=10_000,
    )
    monkeypatch.setitem(RSCLMethod.presets, "quick", lambda: settings)
    return "quick"


@pytest.fixture
def extractor(tiny: FewShotDataset) -> ContextExtractor:
    tokens = Tokens(tiny.graph.num_relations, 0, tiny.graph.num_entities)
    return ContextExtractor(tiny.graph, tokens, max_neighbors=4, max_distant=2)
