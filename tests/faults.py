"""Fault campaigns: kills, full disks, places that cannot be written, damaged files and made-up inputs.

    python tests/faults.py --kills 1000 --damages 200 --inputs 100000 --minutes 20 --json faults.json

Prints what it tried and what was lost, and ends with 1 if anything was. What does not fit into its time is left out;
the figures say how much was tried. Damage is drawn from the seed; the moment of a kill is, too, but not what the
process was doing then. With --add the figures of another run, such as one with another seed, are added to those that
the file has.
"""

import argparse
import json
import os
import random
import sys
import tempfile
import time
from collections import Counter
from itertools import chain
from pathlib import Path
from typing import Any

MEMORY = Path("/dev/shm")  # a kill does not cut the power: nobody need wait for a disk


def main() -> int:
    """Run the campaigns and return the exit code."""
    # Not at the top: workers that a command starts import this file, too, and need none of it.
    import torch

    from campaigns.children import Tally
    from campaigns.damages import damage_files
    from campaigns.fuzzing import fuzz_readers
    from campaigns.interruptions import interrupt_commands, warm_up, write_where_nobody_can
    from compiled import load_native_code
    from tripleshot.evaluation.results import describe_environment, write_json

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, number, about in (
        ("kills", 1000, "processes to kill"),
        ("full-disks", 100, "disks to fill"),
        ("damages", 200, "files to damage"),
        ("inputs", 100_000, "inputs to make up"),
        ("seed", 0, "of everything random"),
    ):
        parser.add_argument(f"--{name}", type=int, default=number, help=about)
    parser.add_argument("--minutes", type=float, default=20.0, help="time for all campaigns together")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    parser.add_argument("--add", action="store_true", help="to the runs that the file of figures has")
    given = parser.parse_args()
    before = json.loads(given.json.read_text(encoding="utf-8"))["runs"] if given.add else []
    torch.set_num_threads(1)  # children are forked, and repeat to the bit
    started, rng = time.monotonic(), random.Random(given.seed)
    about = {**describe_environment(), "seed": given.seed}  # before commands run here, which set another command line

    def until(share: float) -> float:
        return started + 60 * given.minutes * share

    load_native_code()
    tallies: dict[str, Tally] = {}
    with tempfile.TemporaryDirectory(prefix="tripleshot-faults-", dir=MEMORY if MEMORY.is_dir() else None) as name:
        os.environ["TRIPLESHOT_HOME"] = str(Path(name) / "home")
        folders = [Path(name) / part for part in ("kills", "disks", "nowhere", "damages", "inputs")]
        for folder in folders:
            folder.mkdir()
        warm_up(folders[0])
        for part, tally in chain(
            interrupt_commands(folders[0], given.kills, rng, until(0.5), "kill"),
            interrupt_commands(folders[1], given.full_disks, rng, until(0.6), "full disk"),
            write_where_nobody_can(folders[2]),
            damage_files(folders[3], given.damages, rng, until(0.75)),
            fuzz_readers(folders[4], given.inputs, given.seed, until(1.0)),
        ):
            tallies[part] = tally
            tally.print(part)
            if given.json:  # as soon as it is known: what ends the campaign leaves the figures so far
                parts = {part: tally.as_document() for part, tally in tallies.items() if tally.tried or tally.lost}
                run = {**about, "seconds": round(time.monotonic() - started), "campaigns": parts}
                write_json(add_up([*before, run]), given.json)
    num_lost = sum(len(tally.lost) for tally in tallies.values())
    print(f"{sum(tally.tried for tally in tallies.values()):,} faults, {num_lost} lost")
    return 1 if num_lost else 0


def add_up(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what was tried and lost in all, for each kind of fault and in each part, and the runs themselves."""
    tried, parts = Counter[str](), dict[str, Counter[str]]()
    for run in runs:
        for part, found in run["campaigns"].items():
            tried[part.partition(":")[0]] += found["tried"]
            parts.setdefault(part, Counter()).update(tried=found["tried"], lost=found["lost"])
    num_lost = sum(found["lost"] for found in parts.values())
    return {
        "tried": dict(tried),
        "lost": num_lost,
        "parts": {part: dict(found) for part, found in parts.items()},
        "runs": runs,
    }


if __name__ == "__main__":
    sys.exit(main())
