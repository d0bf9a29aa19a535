"""SIGKILL at random moments and full disks: what was there stays, or the whole new is there, and it can go on."""

import os
import random
import shutil
import time
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path

from campaigns.children import FOREIGN, Campaign, Tally, last_line, run_child, shares_of
from campaigns.commands import Command, commands_on, write_graph

MOST_IN_A_ROW = 4  # interruptions of one folder before it is finished
READ_ONLY = Path("/proc/tripleshot")  # a place where nobody can write, not even root


def prepare_graphs(folder: Path) -> tuple[Path, Path]:
    """Write the graph of a campaign, and another one that stands for what was there before."""
    graph, other = folder / "graph.tsv", folder / "other.tsv"
    write_graph(graph)
    write_graph(other, 55)
    return graph, other


def warm_up(folder: Path) -> None:
    """Run the commands once in this process: what they import is then there for every child."""
    with Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
        for one in commands_on(*prepare_graphs(folder)):
            if not one.has_own_cache:
                _fresh(one, folder / "work")
                with suppress(SystemExit):
                    one.begin(folder / "work")()


def interrupt_commands(folder: Path, num_faults: int, rng: random.Random, until: float, fault: str) -> Campaign:
    """Interrupt every command about equally often, by "kill" or by "full disk", and give what came of each."""
    commands = commands_on(*prepare_graphs(folder))
    for one, share, ends in shares_of(commands, num_faults, until):
        yield f"{fault}: {one.name}", _interrupt(one, folder / "work", share, rng, ends, fault)


def _interrupt(one: Command, work: Path, num_faults: int, rng: random.Random, until: float, fault: str) -> Tally:
    tally, output = Tally(), work.with_name("output")
    if not num_faults or time.monotonic() >= until:
        return tally
    _fresh(one, work)
    started = time.monotonic()
    if loss := one.finish(work, output):
        tally.add("reference", loss)
        return tally
    usual, expected = time.monotonic() - started, one.describe(work)
    largest = max((path.stat().st_size for path in work.rglob("*") if path.is_file()), default=1)
    while tally.tried < num_faults and time.monotonic() < until:
        _fresh(one, work)
        for number in range(min(rng.randint(1, MOST_IN_A_ROW), num_faults - tally.tried)):
            begun = time.monotonic()
            if fault == "kill":
                code = run_child(one.begin(work), output, kill_after=rng.random() * usual)
            else:
                code = run_child(one.begin(work), output, max_bytes=rng.randrange(largest))
            loss = f"{one.name}: {last_line(output)}" if code in (FOREIGN, -6, -11) else _look(one, work)
            if fault == "kill" and code == 0:  # it was done before: no fault, and nothing is left to interrupt
                usual = usual if number else time.monotonic() - begun
                tally.outcomes["ended before"] += 1
                tally.lost += [loss] if loss else []
                break
            tally.add({0: "ended", 1: "own error"}.get(code, "killed" if code == -9 else "foreign exception"), loss)
        if not (loss := one.finish(work, output)) and one.describe(work) != expected:
            loss = f"{one.name}: another result than without interruptions"
        if loss:
            tally.lost.append(loss)
    return tally


def _fresh(one: Command, work: Path) -> None:
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    one.prepare(work)


def _look(one: Command, work: Path) -> str:
    try:
        return "" if one.is_intact(work) else f"{one.name}: what was there is gone"
    except Exception as error:
        return f"{one.name}: what was there is broken: {error!r}"


def write_where_nobody_can(folder: Path) -> Campaign:
    """Run every command into a folder that cannot be written: an error of ours each time."""
    output = folder / "output"
    for one in commands_on(*prepare_graphs(folder)):
        if one.name != "index":  # it does without what it cannot keep
            tally, code = Tally(), run_child(one.begin(READ_ONLY), output)
            tally.add("own error" if code == 1 else "other", "" if code == 1 else f"{one.name}: {last_line(output)}")
            yield f"no place: {one.name}", tally
