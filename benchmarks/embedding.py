"""One epoch of each embedding method at NELL-One's size: tripleshot's and PyKEEN's same model, side by side.

Both learn from the same triples (background, train tasks, examples) with the same batch size, width, number of wrong
triples, kind of sampling and kind of optimizer, in one process, one after the other, model by model. PyKEEN's is its
sLCWA training loop as it comes. Before it is timed, each takes some steps that do not count. `--steps` shortens both.
Memory is that of some steps of TransE at Wiki-One's number of entities, in a process of its own.

    python benchmarks/embedding.py --json results/benchmarks/embedding.json
"""

import argparse
import json
import logging
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from dataclasses import asdict, replace
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

from measuring import OURS, SHOTS, data_parser, describe_machine, load_data, no_validation
from tripleshot.datasets.negatives import TrainingTriples, collect_triples
from tripleshot.evaluation.results import write_json
from tripleshot.methods.embedding.method import RESCAL, ComplEx, DistMult, TransE, TransH, TransR
from tripleshot.methods.embedding.models import SCORINGS
from tripleshot.methods.embedding.settings import DEFAULTS, EmbeddingSettings
from tripleshot.training.optimization import make_optimizers
from tripleshot.training.trainer import Trainer, TrainerOptions

THEIRS = "pykeen"
MODELS = {model.variant: model for model in (TransE, TransH, TransR, RESCAL, DistMult, ComplEx)}
NAMES = dict(zip(SCORINGS, ("TransE", "TransH", "TransR", "RESCAL", "DistMult", "ComplEx"), strict=True))
WIKI_ENTITIES, WIKI_RELATIONS, WIKI_TRIPLES, WIKI_WIDTH = 4_838_244, 822, 5_859_240, 50
WARMING, MEMORY_STEPS = 5, 10


def time_ours(name: str, settings: EmbeddingSettings, triples: TrainingTriples, num_entities: int, steps: int) -> float:
    """Return the seconds that our trainer takes for so many steps."""
    method = MODELS[name](settings)
    method.prepare_triples(triples, num_entities)
    stage = method.stages()[0]
    with tempfile.TemporaryDirectory() as folder:
        seconds = []
        for count in (WARMING, steps):
            options = TrainerOptions(checkpoint_every=count + 1, clip=settings.clip)
            short = replace(stage, steps=count)
            trainer = Trainer(method.module, [short], Path(folder), 0, no_validation, lambda: None, options)
            seconds.append(trainer.run().seconds)
    return seconds[1]


def time_theirs(
    name: str, settings: EmbeddingSettings, triples: TrainingTriples, num_entities: int, steps: int
) -> float:
    """Return the seconds that PyKEEN's training loop takes for so many steps."""
    from pykeen.models import model_resolver  # type: ignore[missing-import]
    from pykeen.training import SLCWATrainingLoop  # type: ignore[missing-import]
    from pykeen.triples import CoreTriplesFactory  # type: ignore[missing-import]

    columns = np.stack([triples.heads, triples.relations, triples.tails], axis=1).astype(np.int64)
    shuffled = torch.from_numpy(np.random.default_rng(0).permutation(columns))

    def factory(count: int) -> CoreTriplesFactory:
        return CoreTriplesFactory(shuffled[: count * settings.batch_size], num_entities, triples.num_relations)

    sizes: dict[str, Any] = {"embedding_dim": settings.width}
    if name == "transr":
        sizes["relation_dim"] = settings.width
    whole = factory(steps)
    model = model_resolver.make(NAMES[name], triples_factory=whole, random_seed=0, **sizes)
    optimizer = {"adam": torch.optim.Adam, "adagrad": torch.optim.Adagrad}[settings.optimizer]

    def train(part: CoreTriplesFactory) -> float:
        loop = SLCWATrainingLoop(  # a new one each time: a loop counts its epochs, and takes none that it has had
            model=model,
            triples_factory=part,
            optimizer=optimizer(model.parameters(), lr=settings.learning_rate),
            negative_sampler="bernoulli" if settings.bernoulli else "basic",
            negative_sampler_kwargs={"num_negs_per_pos": settings.num_negatives},
        )
        started = time.perf_counter()
        loop.train(part, num_epochs=1, batch_size=settings.batch_size, use_tqdm=False, use_tqdm_batch=False)
        return time.perf_counter() - started

    train(factory(min(WARMING, steps)))
    return train(whole)


def measure_memory(num_entities: int, num_triples: int, width: int) -> dict[str, float]:
    """Take some steps of TransE on random triples, and return this process's peak memory."""
    rng = np.random.default_rng(0)
    heads, tails = rng.integers(num_entities, size=(2, num_triples), dtype=np.int32)
    relations = np.sort(rng.integers(WIKI_RELATIONS, size=num_triples, dtype=np.int32))
    method = TransE(replace(DEFAULTS["transe"], width=width))
    method.prepare_triples(
        TrainingTriples(heads, relations, tails, WIKI_RELATIONS, np.zeros((0, 1, 2), np.int64)), num_entities
    )
    stage = method.stages()[0]
    optimizers = make_optimizers(method.module, stage.optimizer, stage.learning_rate)
    for step in range(MEMORY_STEPS):
        for optimizer in optimizers:
            optimizer.zero_grad()
        torch.stack(list(stage.losses(step, rng).values())).sum().backward()
        for optimizer in optimizers:
            optimizer.step()
    table = method.module.entities.weight
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"entities": num_entities, "width": width, "table_mib": table.nbytes / 2**20, "peak_mib": peak}


def memory_of(arguments: list[str]) -> dict[str, float]:
    """Measure memory in a new process, started while this one is small: peaks are inherited."""
    command = [sys.executable, __file__, *arguments, "--only-memory"]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()[-1])


def show(figures: dict[str, dict[str, float]], memory: dict[str, float]) -> None:
    """Print one row per model."""
    table = Table("model", f"{OURS}, s", f"{THEIRS}, s", "ratio", title="An epoch of each embedding method")
    for column in table.columns[1:]:
        column.justify = "right"
    for name, figure in figures.items():
        table.add_row(NAMES[name], f"{figure[OURS]:.2f}", f"{figure[THEIRS]:.2f}", f"{figure['ratio']:.1f}")
    console = Console()
    console.print(table)
    console.print(
        f"{memory['entities']:,.0f} entities of width {memory['width']:.0f}: a table of "
        f"{memory['table_mib']:,.0f} MiB, peak memory {memory['peak_mib']:,.0f} MiB"
    )


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = data_parser(__doc__)
    parser.add_argument("--models", nargs="+", choices=[*SCORINGS], default=[*SCORINGS])
    parser.add_argument("--steps", type=int, default=0, help="steps of each side; a whole epoch by default")
    parser.add_argument("--batch-size", type=int, default=EmbeddingSettings.batch_size)
    parser.add_argument("--num-negatives", type=int, default=EmbeddingSettings.num_negatives)
    parser.add_argument("--width", type=int, default=EmbeddingSettings.width)
    parser.add_argument("--optimizer", choices=["adam", "adagrad"], default=EmbeddingSettings.optimizer)
    parser.add_argument("--memory-entities", type=int, default=WIKI_ENTITIES)
    parser.add_argument("--memory-triples", type=int, default=WIKI_TRIPLES)
    parser.add_argument("--only-memory", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> None:
    """Measure memory, then time, then print and store the figures."""
    arguments = parse()
    if arguments.only_memory:
        print(json.dumps(measure_memory(arguments.memory_entities, arguments.memory_triples, WIKI_WIDTH)))
        return
    if find_spec(THEIRS) is None:
        raise SystemExit("the comparison needs PyKEEN: pip install 'tripleshot[pykeen]'")
    warnings.filterwarnings("ignore", module=THEIRS)
    logging.getLogger(THEIRS).setLevel(logging.ERROR)
    memory = memory_of(sys.argv[1:])
    dataset = load_data(arguments)
    triples, num_entities = collect_triples(dataset, SHOTS), dataset.graph.num_entities
    steps = arguments.steps or -(-len(triples.heads) // arguments.batch_size)
    same = {name: getattr(arguments, name) for name in ("batch_size", "num_negatives", "width", "optimizer")}
    figures: dict[str, dict[str, float]] = {}
    for name in arguments.models:
        given = (name, replace(DEFAULTS[name], **same), triples, num_entities, steps)
        theirs, ours = time_theirs(*given), time_ours(*given)
        figures[name] = {OURS: ours, THEIRS: theirs, "ratio": theirs / ours, "triples_per_second": steps / ours}
        figures[name]["triples_per_second"] *= arguments.batch_size
    show(figures, memory)
    if arguments.json:
        document = describe_machine() | {
            "pykeen": version(THEIRS),
            "dataset": dataset.name,
            "data_hash": dataset.content_hash,
            "sizes": {"entities": num_entities, "relations": triples.num_relations, "triples": len(triples.heads)},
            "configuration": {"steps": steps, "shots": SHOTS, **same},
            "settings": {name: asdict(DEFAULTS[name]) for name in arguments.models},
            "figures": figures,
            "memory": memory,
        }
        write_json(document, arguments.json)


if __name__ == "__main__":
    main()
