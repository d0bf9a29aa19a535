"""Train RSCL at the paper's NELL-One configuration: tripleshot's step and a plain one, side by side.

Both take turns in one process, from the same weights, on the same episodes: 5 examples, 256 queries, 256 wrong answers,
masked tokens of examples and queries. An example of "examples/s" is a query or a wrong answer. Peak memory is measured
in a process for each. The machine's own rate is the best of several matrix products in the same run; the work of our
step is counted from its tokens, padding left out, backward as twice forward. Steps are compared by the processor time
they take, which other work on the machine changes less than the clock; so one thread is the rule. At last both are
watched for a few steps, to tell what they spend it on (`step_parts`).

    python benchmarks/training.py --threads 1 --json results/benchmarks/training.json
"""

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from measuring import (
    OURS,
    PLAIN,
    SHOTS,
    data_parser,
    describe_run,
    forward_flops,
    gemm_rate,
    load_data,
    no_validation,
    states_flops,
    untrained_method,
)
from plain_rscl import PlainMethod
from step_parts import PARTS, product_rates, profiled_shares
from tripleshot.datasets.dataset import FewShotDataset
from tripleshot.datasets.episodes import EpisodeSampler
from tripleshot.evaluation.results import write_json
from tripleshot.methods.rscl.contexts import ContextBatch
from tripleshot.methods.rscl.method import RSCLMethod
from tripleshot.methods.rscl.pretraining import mask
from tripleshot.methods.rscl.settings import RSCLSettings, paper
from tripleshot.methods.rscl.tokens import NUM_SPECIAL
from tripleshot.training.checkpoints import TrainingProgress
from tripleshot.training.trainer import Trainer, TrainerOptions
from tripleshot.training.updates import TrainingUpdate

WATCHED = 3  # steps of each side under the profiler
NUM_TOKENS = 17_000  # about as many as a step has, for the rates of its matrix products


@dataclass(frozen=True)
class TimedStep:
    """A training step: how long it took by the clock and of the processor, and its losses."""

    seconds: float
    cpu_seconds: float
    losses: dict[str, float]


def train_ours(
    dataset: FewShotDataset, settings: RSCLSettings, shots: int, num_steps: int, between: Callable[[int], None]
) -> list[TimedStep]:
    """Take steps as `fit` does, each on the episode of its number; `between` is told how many are done."""
    method = untrained_method(dataset, settings, shots)
    stage = method.stages()[-1]
    of_its_number = replace(
        stage,
        losses=lambda step, _: stage.losses(step, np.random.default_rng(step)),
        steps=num_steps,
        validates=False,
    )
    taken: list[TimedStep] = []
    with tempfile.TemporaryDirectory() as folder:
        options = TrainerOptions(checkpoint_every=num_steps + 1, clip=settings.clip)
        timer = StepTimer(taken, between)
        trainer = Trainer(
            method.module, [of_its_number], Path(folder), settings.seed, no_validation, lambda: None, options, timer
        )
        timer.progress = trainer.progress
        trainer.run()
    return taken


def train_by_torch(dataset: FewShotDataset, settings: RSCLSettings, shots: int, num_steps: int) -> list[TimedStep]:
    """Take steps as on a machine without a compiler, the first one left out."""
    before = os.environ.get("TRIPLESHOT_NATIVE")
    os.environ["TRIPLESHOT_NATIVE"] = "0"
    try:
        return train_ours(dataset, settings, shots, num_steps + 1, lambda done: None)[1:]
    finally:
        del os.environ["TRIPLESHOT_NATIVE"]
        if before is not None:
            os.environ["TRIPLESHOT_NATIVE"] = before


class StepTimer:
    """Notes how long the trainer took for each step, and does something else in between."""

    def __init__(self, taken: list[TimedStep], between: Callable[[int], None]) -> None:
        self.taken, self.between = taken, between
        self.progress = TrainingProgress()
        self.began = time.process_time()

    def __call__(self, update: TrainingUpdate) -> None:
        """Note the step's share of the time spent training."""
        seconds = self.progress.seconds - sum(done.seconds for done in self.taken)
        self.taken.append(TimedStep(seconds, time.process_time() - self.began, update.losses))
        self.between(update.step)
        self.began = time.process_time()


class PlainTraining:
    """The plain step, which starts with the same weights and takes the same episodes."""

    def __init__(self, dataset: FewShotDataset, settings: RSCLSettings, shots: int) -> None:
        self.plain = PlainMethod(untrained_method(dataset, settings).module, dataset.graph, settings)
        self.episodes = sampler_of(dataset, settings, shots)

    def step(self, number: int) -> TimedStep:
        """Take the step of this number."""
        started, began = time.perf_counter(), time.process_time()
        losses = self.plain.step(self.episodes.draw(np.random.default_rng(number)), random.Random(number))
        return TimedStep(time.perf_counter() - started, time.process_time() - began, losses)


def sampler_of(dataset: FewShotDataset, settings: RSCLSettings, shots: int) -> EpisodeSampler:
    """Return a sampler that draws what `fit` draws."""
    return EpisodeSampler(dataset, shots, settings.batch_size, settings.num_negatives, settings.regime)


def take_turns(
    dataset: FewShotDataset, settings: RSCLSettings, shots: int, num_ours: int, num_plain: int
) -> dict[str, list[TimedStep]]:
    """Return the steps of each side: some of ours, then a plain one, again and again; the first ones do not count."""
    plain = PlainTraining(dataset, settings, shots)
    plain.step(0)
    plain_steps: list[TimedStep] = []

    def between(done: int) -> None:
        while len(plain_steps) < (done - 1) * num_plain // num_ours:
            plain_steps.append(plain.step(len(plain_steps) + 1))

    _, *ours = train_ours(dataset, settings, shots, num_ours + 1, between)
    return {PLAIN: plain_steps, OURS: ours}


def step_shares(dataset: FewShotDataset, settings: RSCLSettings, shots: int) -> dict[str, dict[str, float]]:
    """Return what the steps of each side spend their time on, as shares; the first steps are not watched."""
    plain = PlainTraining(dataset, settings, shots)
    plain.step(0)
    train_ours(dataset, settings, shots, 1, lambda done: None)
    return {
        PLAIN: profiled_shares(lambda: sum(plain.step(number).seconds for number in range(1, 1 + WATCHED))),
        OURS: profiled_shares(
            lambda: sum(step.seconds for step in train_ours(dataset, settings, shots, WATCHED, lambda done: None))
        ),
    }


def measure_peak(name: str, dataset: FewShotDataset, settings: RSCLSettings, shots: int) -> float:
    """Return this process's peak memory in MiB after two steps."""
    if name == OURS:
        train_ours(dataset, settings, shots, 2, lambda done: None)
    else:
        plain = PlainTraining(dataset, settings, shots)
        for number in range(2):
            plain.step(number)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def step_flops(method: RSCLMethod, episodes: EpisodeSampler, number: int) -> float:
    """Count the work of one of our training steps; masks are drawn anew."""
    settings, shots = method.settings, episodes.shots
    rng = np.random.default_rng(number)
    episode = episodes.draw(rng)
    repeated = np.repeat(episode.queries[:, 0], settings.num_negatives)
    heads = np.concatenate([episode.support[:, 0], episode.queries[:, 0], repeated])
    tails = np.concatenate([episode.support[:, 1], episode.queries[:, 1], episode.negatives.ravel()])
    batch = ContextBatch.of(method.extractor.extract(heads, tails, rng=rng), method.extractor)
    true = batch.first(shots + len(episode.queries))
    masked = mask(true, method.tokens, true.relation_tokens(), settings.masking_shares)
    num_entities = int((masked.targets >= method.tokens.first_entity).sum())
    num_relations = len(masked.targets) - num_entities
    num_compared = settings.num_sampled or method.tokens.num_entities
    forward = forward_flops(settings, batch) + states_flops(settings, masked.batch, masked.chosen)
    forward += 4 * (len(heads) - shots) * shots * 3 * settings.width  # queries and examples, at both levels
    forward += 2 * settings.width * num_entities * num_compared
    forward += 2 * settings.width * num_relations * (method.tokens.first_entity - NUM_SPECIAL)
    return 3 * forward


def peak_of(name: str, arguments: list[str]) -> float:
    """Return the peak memory of two steps in a new process, started while this one is small: peaks are inherited."""
    command = [sys.executable, __file__, *arguments, "--peak-of", name]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()[-1])


def show(figures: dict[str, dict[str, Any]], ratio: float, machine_rate: float) -> None:
    """Print one row per step and their ratio."""
    columns = ("step", "s of processor", "best", "s by clock", "examples/s", "peak MiB", "GFLOP", "of GEMM rate")
    table = Table(
        *columns, title=f"A training step of RSCL; the machine's GEMM rate is {machine_rate / 1e9:,.0f} GFLOP/s"
    )
    for column in table.columns[1:]:
        column.justify = "right"
    for name, figure in figures.items():
        table.add_row(
            name,
            f"{figure['cpu_seconds']:.3f}",
            f"{figure['best_cpu_seconds']:.3f}",
            f"{figure['seconds']:.3f}",
            f"{figure['examples_per_second']:,.0f}",
            f"{figure['peak_mib']:,.0f}",
            f"{figure['flops'] / 1e9:.1f}" if "flops" in figure else "",
            f"{figure['gemm_share']:.0%}" if "gemm_share" in figure else "",
        )
    keys = ("best_cpu_seconds", "seconds", "peak_mib")
    best, clock, peak = (figures[PLAIN][key] / figures[OURS][key] for key in keys)
    table.add_row("ratio", f"{ratio:.2f}", f"{best:.2f}", f"{clock:.2f}", "", f"{peak:.2f}", "", "")
    Console().print(table)


def show_parts(parts: dict[str, dict[str, float]]) -> None:
    """Print what the steps spend their time on."""
    table = Table("ms of a step", *parts)
    for part in PARTS:
        table.add_row(part, *(f"{milliseconds[part]:,.0f}" for milliseconds in parts.values()))
    Console().print(table)


def figures_of(steps: list[TimedStep], settings: RSCLSettings) -> dict[str, float]:
    """Return what is told about the steps of one side."""
    clock, processor = ([getattr(step, name) for step in steps] for name in ("seconds", "cpu_seconds"))
    return {
        "seconds": median(clock),
        "cpu_seconds": median(processor),
        "best_cpu_seconds": min(processor),
        "steps": len(steps),
        "examples_per_second": settings.batch_size * (1 + settings.num_negatives) / median(processor),
    }


def main() -> None:
    """Measure memory, then time, then print and store the figures."""
    parser = data_parser(__doc__)
    parser.add_argument("--steps", type=int, default=20, help="measured steps of ours")
    parser.add_argument("--plain-steps", type=int, default=5, help="measured plain steps")
    parser.add_argument("--batch-size", type=int, default=paper().batch_size, help="queries of an episode")
    parser.add_argument("--peak-of", choices=[OURS, PLAIN], help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if min(arguments.steps, arguments.plain_steps) < 1:
        parser.error("each side needs a step to measure")
    plain_masking = {"masked_relation_share": 0.0, "masked_end_share": 0.0}  # what the plain side does
    settings = RSCLSettings(batch_size=arguments.batch_size, **plain_masking)
    if arguments.peak_of:
        print(json.dumps(measure_peak(arguments.peak_of, load_data(arguments), settings, SHOTS)))
        return
    peaks = {name: peak_of(name, sys.argv[1:]) for name in (PLAIN, OURS)}
    dataset = load_data(arguments)
    rates = [gemm_rate(clock=time.process_time)]
    taken = take_turns(dataset, settings, SHOTS, arguments.steps, arguments.plain_steps)
    rates.append(gemm_rate(clock=time.process_time))
    figures = {name: figures_of(taken[name], settings) | {"peak_mib": peaks[name]} for name in (PLAIN, OURS)}
    method, episodes = untrained_method(dataset, settings), sampler_of(dataset, settings, SHOTS)
    counted = [step_flops(method, episodes, number + 1) for number in range(arguments.steps)]
    figures[OURS]["flops"] = float(np.mean(counted))
    figures[OURS]["gemm_share"] = figures[OURS]["flops"] / figures[OURS]["cpu_seconds"] / max(rates)
    ratio = figures[PLAIN]["cpu_seconds"] / figures[OURS]["cpu_seconds"]
    show(figures, ratio, max(rates))
    parts = {
        name: {part: 1000 * share * figures[name]["cpu_seconds"] for part, share in shares.items()}
        for name, shares in step_shares(dataset, settings, SHOTS).items()
    }
    show_parts(parts)
    by_torch = figures_of(train_by_torch(dataset, settings, SHOTS, arguments.plain_steps), settings)
    if arguments.json:
        document = {
            "figures": figures,
            "attention_by_torch": by_torch,
            "parts_ms": parts,
            "ratio": ratio,
            "gemm_flops_per_second": max(rates),
            "product_flops_per_second": product_rates(settings.width, NUM_TOKENS),
        }
        write_json(describe_run(dataset, settings) | document, arguments.json)


if __name__ == "__main__":
    main()
