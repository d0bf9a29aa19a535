"""Every command and code block of the README and the docs is run: no page says what does not work.

The blocks of a page are followed from top to bottom in a folder of its own, which has the files that a reader would
have (`write_files`). Python code runs as it stands, and `tripleshot` in this process. What a block prints is compared
with the block of `text` or `json` that follows it; in a block of `output`, decimals and shares may differ. A block with
a title is a file that the reader saves. A block of any other kind, or a program that is not known, is an error.

What would take long is made short:

- NELL-One is a small dataset in its layout. A page that fetches it downloads it from a server in this process.
- Trainings last less than a second (`--budget 0.1s`, `budget="0.1s"`) of a clock that is the same on every machine.
  They start from the preset `tiny`, with vectors of one width, so that one method can start from those of another.
- `compare` and `paper main` train two methods where the page asks for all; `paper ablation` has one number of examples;
  `paper search` measures one point.
- A SPARQL endpoint and a graph database are those of this process.
- `serve` takes a free port and runs until the page has been read; `curl` asks it.

What installs or starts processes is checked and not run: `make` by its targets, `pip` by the extras of the package,
`python` by the script, `torchrun`, `podman` and assistants by the arguments of the command that they start, `ray`,
`mcp` and what asks a cluster by their own.
"""

import logging
import os
import re
import shutil
import signal
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import reduce
from pathlib import Path
from threading import Thread

import numpy as np
import pytest
import uvicorn

from bolt_server import Answer, bolt_server
from clocks import SteadyClock
from compiled import load_native_code
from downloads import Page, Server, sha256
from graphs import make_graph
from pages import PAGES, ROOT, Reader, blocks_of, name_of
from sparql_server import sparql_server
from tripleshot.datasets.catalog import REMOTE, load_atlas
from tripleshot.datasets.dataset import FewShotDataset, Task
from tripleshot.datasets.download import RemoteDataset
from tripleshot.datasets.nell_format import write_nell_layout
from tripleshot.methods import find_method
from tripleshot.training.budget import read_budget

RELATIONS = (
    "in_country",
    "has_coast_on",
    "borders",
    "flows_through",
    "member_of",
    "in_numbering_zone",
    "currency_unit",
)
NUM_ATHLETES, NUM_PARTS = 20, 4  # of the small NELL-One
BUDGETS = ["0.1s", "0.2s", "0.3s"]
TICK = 0.002  # seconds that pass whenever a training looks at the clock


def small_nell_one() -> FewShotDataset:
    """Make a graph of athletes and body parts with eight few-shot relations; one has the paper's triple."""
    athletes = [f"concept:athlete:{name}" for name in ("peter_moylan", *map(str, range(1, NUM_ATHLETES)))]
    parts = [f"concept:bodypart:{name}" for name in ("shoulders", *map(str, range(1, NUM_PARTS)))]
    triples = [(athlete, "concept:hurts", parts[i % NUM_PARTS]) for i, athlete in enumerate(athletes)]
    triples += [(one, "concept:knows", athletes[(i * 7 + 3) % NUM_ATHLETES]) for i, one in enumerate(athletes)]
    triples += [(part, "concept:near", parts[(i + 1) % NUM_PARTS]) for i, part in enumerate(parts)]
    graph = make_graph(triples, {name: name.split(":")[1] for name in (*athletes, *parts)})

    def task(number: int) -> Task:
        tails = [parts[i * (number + 1) % NUM_PARTS] for i in range(NUM_ATHLETES)]
        pairs = np.stack([graph.entities.ids(athletes), graph.entities.ids(tails)], axis=1)
        return Task.of("concept:athleteinjuredhisbodypart" if number == 7 else f"concept:task{number}", pairs)

    tasks = [task(number) for number in range(8)]
    return FewShotDataset("nell-one", graph, tuple(tasks[:4]), tuple(tasks[4:6]), tuple(tasks[6:]))


def write_files(folder: Path) -> None:
    """Write what a reader has: a graph with plain names, one with types in a relation, examples, heads, new triples."""
    atlas = load_atlas()
    graph, entities = atlas.graph, atlas.graph.entities
    on_sea, on_river, capitals = (atlas.task(name).pairs for name in ("on_sea", "on_river", "capital_city"))
    cities = {*on_sea[:, 0].tolist(), *on_river[:, 0].tolist(), *capitals[:, 1].tolist()}
    columns = (graph.head_ids, graph.relation_ids, graph.tail_ids)
    triples = [
        (head, name, tail)
        for head, relation, tail in zip(*(column.tolist() for column in columns), strict=True)
        if (name := graph.relations.name(relation)) in RELATIONS and (name != "in_country" or head in cities)
    ]
    ids = sorted({entity for head, _, tail in triples for entity in (head, tail)})
    plain = [f"{entities.label(head)}\t{relation}\t{entities.label(tail)}" for head, relation, tail in triples]
    named = [f"{entities.name(head)},{relation},{entities.name(tail)}" for head, relation, tail in triples]
    types = [f"{entities.name(entity)},instance_of,{entities.name(entity).partition('/')[0]}" for entity in ids]
    files = {
        "my-graph.tsv": dict.fromkeys(plain),
        "my-graph.csv": ["from,via,to", *named, *types],
        "labels.tsv": [f"{entities.name(entity)}\t{entities.label(entity)}" for entity in ids],
        "examples.tsv": ["Barcelona\tMediterranean Sea", "Mumbai\tArabian Sea", "Odesa\tBlack Sea"],
        "typed-examples.tsv": ["city/barcelona-es\tsea/mediterranean-sea", "city/mumbai-in\tsea/arabian-sea"],
        "heads.txt": ["Baku", "Varna"],
        "new-triples.tsv": ["city/new-town\tin_country\tcountry/italy"],
        "more-triples.tsv": ["city/new-town\ttwin_of\tcity/new-harbor"],
        "wrong-triples.tsv": ["city/baku-az\tin_country\tcountry/azerbaijan"],
    }
    for name, lines in files.items():
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "results").symlink_to(ROOT / "results")


@contextmanager
def published(folder: Path) -> Iterator[RemoteDataset]:
    """Publish a small NELL-One on a server in this process, and lay its archive into a folder."""
    source = folder / "source"
    source.mkdir()
    write_nell_layout(small_nell_one(), source)
    with tarfile.open(folder / "nell.tar.gz", "w:gz") as archive:
        archive.add(source, "nell")
    hashes = {name: sha256((source / name).read_bytes()) for name in REMOTE["nell-one"].files}
    with Server() as server:
        server.pages["/nell.tar.gz"] = Page((folder / "nell.tar.gz").read_bytes())
        Thread(target=server.serve_forever, args=(0.01,)).start()
        yield RemoteDataset("nell-one", (server.url("/nell.tar.gz"),), hashes)
        server.shutdown()


@contextmanager
def connected() -> Iterator[dict[str, str]]:
    """Run a SPARQL endpoint and a graph database, and give the address of each by the one that pages have for it."""
    triples = [("Baku", "on_sea", "Caspian"), ("Varna", "on_sea", "Black"), ("Odesa", "on_sea", "Black")]
    triples += [("Baku", "near", "Sumqayit"), ("Sumqayit", "near", "Baku")]
    turtle = "@prefix : <https://example.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
    turtle += "".join(f":{head} :{relation} :{tail} .\n" for head, relation, tail in triples)
    answers = {
        "MATCH (s)-[r]->(o)": Answer(
            ("s", "p", "o"), [("Ada", "KNOWS", "Bob"), ("Ada", "LIVES_IN", "London"), ("Bob", "LIVES_IN", "London")]
        ),
        "MATCH (n) RETURN": Answer(("name", "types", "label"), [("Ada", ["Person"], None)]),
        "MATCH (s:Person)-[r:KNOWS]->(o)": Answer(("s", "p", "o"), [("Ada", "KNOWS", "Bob")]),
    }
    with sparql_server(f'{turtle}:Baku rdfs:label "Baku" .') as endpoint, bolt_server(answers) as database:
        yield {"https://example.org/sparql": endpoint.url, "bolt://localhost:7687": database.url}


@pytest.fixture(scope="session")
def desk(tmp_path_factory) -> Path:
    """The files that every reader has."""
    folder = tmp_path_factory.mktemp("desk")
    write_files(folder)
    return folder


@pytest.fixture(scope="session")
def indexes(tmp_path_factory) -> Path:
    """What is built for a graph, by its content: one page finds what another one, read by any process, has built."""
    own = tmp_path_factory.getbasetemp()
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "indexes-of-pages"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture
def reader(tmp_path, monkeypatch, desk, indexes) -> Iterator[Reader]:
    """Someone in a folder with the files that pages speak of; what they fetch comes from this process."""
    load_native_code()
    home, here = tmp_path / "home", tmp_path / "here"
    (home / "tripleshot").mkdir(parents=True)
    (home / "tripleshot" / "indexes").symlink_to(indexes)
    shutil.copytree(desk, here, symlinks=True)
    monkeypatch.chdir(here)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr("tripleshot.training.budget.time", SteadyClock(TICK))
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("TRIPLESHOT_HOME", str(home / "tripleshot"))
    logger = logging.getLogger("tripleshot")
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    level, signals = logger.level, {number: signal.getsignal(number) for number in numbers}
    monkeypatch.setenv("TRIPLESHOT_PASSWORD", "secret")
    with published(home) as remote, connected() as addresses:
        found = Reader(
            lambda words: [addresses.get(word, word) for word in shorten_command(words)],
            lambda code: reduce(lambda text, name: text.replace(name, addresses[name]), addresses, shorten_code(code)),
        )
        monkeypatch.setattr(uvicorn.Server, "run", lambda server, sockets: found.run_server(server, sockets))
        monkeypatch.setitem(REMOTE, "nell-one", remote)
        yield found
    found.stop()
    logger.setLevel(level)
    for number, handler in signals.items():
        signal.signal(number, handler)


def shorten_code(text: str) -> str:
    """Make trainings short."""
    return re.sub(r'budget="\w+"', f'budget="{BUDGETS[0]}", preset="tiny"', text)


def shorten_command(words: list[str]) -> list[str]:
    """Make a command short, as the top of this file says; what the page asks for has to be right, too."""
    command, about = words[0], " ".join(words[:2])
    if command == "serve":
        return [*words, "--port", "0"]
    if command not in ("train", "compare", "paper") or about in ("paper all", "paper datasets"):
        return words
    if command == "train":
        entry = find_method((values_of(words, "--method") or ["evidence-net"])[0])
        if not entry.learns:
            return words
        assert entry.preset((values_of(words, "--preset") or ["fast"])[0])
        if "width" in entry.setting_names():
            words = with_values(words, "--width", ["16"])
    budgets = values_of(words, "--budget")
    assert all(read_budget(budget) for budget in budgets)
    words = with_values(words, "--budget", BUDGETS[: max(len(budgets), 1)])
    words = with_values(words, "--preset", ["tiny"])
    if command == "compare" or about == "paper main":
        words = with_values(words, "--methods", values_of(words, "--methods") or ["evidence,transe"])
    if about == "paper ablation":
        words = with_values(words, "--shots", ["5"])
    return with_values(words, "--limit", ["1"]) if about == "paper search" else words


def values_of(words: list[str], flag: str) -> list[str]:
    """Return what stands behind a flag."""
    if flag not in words:
        return []
    rest = words[words.index(flag) + 1 :]
    end = next((place for place, word in enumerate(rest) if word.startswith("--")), len(rest))
    return rest[:end]


def with_values(words: list[str], flag: str, values: list[str]) -> list[str]:
    """Return a command with other values behind a flag, which stands last then."""
    if flag in words:
        start = words.index(flag)
        words = words[:start] + words[start + 1 + len(values_of(words, flag)) :]
    return [*words, flag, *values]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_block_of_a_page_runs_and_prints_what_the_page_shows(page, reader):
    home = Path.home()
    if "data fetch" not in page.read_text(encoding="utf-8"):
        shutil.copytree(home / "source", home / "tripleshot" / "nell-one")
    reader.follow(page)
    assert reader.num_followed == len(blocks_of(page))
