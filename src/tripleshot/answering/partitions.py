"""Answers for any number of entities, in partitions: a folder of Parquet files and a manifest.

A partition is a file with the answers for some of the entities, in the order of asking. Files appear whole or not at
all, and the manifest names those that are finished, with their checksums. A second run does what the first one left
undone. What the files hold does not depend on who has answered: one process, several, or a cluster.
"""

import platform
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from tripleshot.answering.asking import Asking, OpenedAsking
from tripleshot.answering.examples import Reference
from tripleshot.answering.manifest import Manifest, Partition
from tripleshot.arrays import hash_arrays
from tripleshot.errors import InputError
from tripleshot.files.checksums import hash_file
from tripleshot.files.locks import folder_lock
from tripleshot.methods.settings import check_bounds
from tripleshot.tables import write_batches
from tripleshot.workers.work import Crew

PARTITION_SIZE = 1_000  # entities: seconds of work, and no more is lost when a worker dies
DIFFERENCES = {
    "graph": "another graph",
    "weights": "other weights or settings of the method",
    "examples": "other examples",
    "options": "other options",
    "version": "another version of tripleshot",
    "asked": "other entities are asked about",
    "partition_size": "partitions of another size",
}


@dataclass(frozen=True, eq=False)
class PartitionTask:
    """A partition to be answered.

    Attributes:
        number: of the partition, from 0.
        asked: shape (n,), ids of its entities.
    """

    number: int
    asked: npt.NDArray[np.int64]

    def __str__(self) -> str:
        return f"partition {self.number}"


Task = TypeVar("Task", bound=PartitionTask)


@dataclass(frozen=True)
class AnsweringWork:
    """What every worker opens: the question, where answers go, and what they follow from.

    Attributes:
        asking: the question.
        folder: where partitions are written.
        fingerprint: of the question, as the first process has opened it.
    """

    asking: Asking
    folder: str
    fingerprint: dict[str, Any]

    def open(self) -> Callable[[PartitionTask], Partition]:
        """Open the graph, check that it is the same, and return what answers a partition."""
        opened, folder = OpenedAsking.again(self.asking), Path(self.folder)
        require_same(opened.fingerprint(), self.fingerprint, self.asking.source)

        def answer(task: PartitionTask) -> Partition:
            path = folder / Partition.name_of(task.number)
            write_batches(opened.batches(task.asked.tolist()), path)
            return Partition(task.number, len(task.asked), hash_file(path))

        return answer


def answer_in_partitions(
    asking: Asking,
    references: Iterable[Reference],
    folder: str | Path,
    crew: Crew,
    *,
    partition_size: int = PARTITION_SIZE,
    progress: Callable[[int, int], None] | None = None,
) -> int:
    """Answer for any number of entities into a folder, or go on where an earlier run has stopped.

    Args:
        asking: the question.
        references: the entities that are asked about, by name, label or id.
        folder: of the answers; it is made if it is not there.
        crew: does the work: processes of this machine, or those of a cluster.
        partition_size: entities in each file.
        progress: called with the number of entities that are answered, and of all.

    Returns:
        How many entities were asked about.

    Raises:
        InputError: the folder has answers to another question, another process writes it, or an entity is unknown.
    """
    folder = Path(folder).resolve()
    with folder_lock(folder):
        asking = asking.from_anywhere()
        opened = OpenedAsking.of(asking)
        asked = np.array(opened.find(references), dtype=np.int64)
        fingerprint = opened.fingerprint()
        del opened  # the workers open their own
        about = {"asked": hash_arrays(asked), "num_asked": len(asked), "partition_size": partition_size}
        work = AnsweringWork(asking, str(folder), fingerprint)
        tasks = [PartitionTask(number, some) for number, some in enumerate(in_partitions(asked, partition_size))]
        write_partitions(folder, {**fingerprint, **about}, tasks, partial(crew, work), progress)
    return len(asked)


def in_partitions(asked: npt.NDArray[np.int64], partition_size: int) -> Iterator[npt.NDArray[np.int64]]:
    """Give the entities of one partition after the other."""
    check_bounds("partition_size", partition_size, 1)
    for start in range(0, len(asked), partition_size):
        yield asked[start : start + partition_size]


def write_partitions(
    folder: Path,
    question: Mapping[str, Any],
    tasks: Sequence[Task],
    do: Callable[[list[Task]], Generator[Partition, None, None]],
    progress: Callable[[int, int], None] | None = None,
) -> None:
    """Do what is left of partitions in a folder that this process has locked, and keep its manifest.

    Args:
        folder: of the partitions.
        question: all that they follow from.
        tasks: all of them.
        do: does some, and gives what is finished.
        progress: called with the number of entities that are done, and of all.

    Raises:
        InputError: the folder has something else.
    """
    manifest = Manifest.open(folder, question, differences)
    missing = [task for task in tasks if task.number not in manifest.finished]
    total = sum(len(task.asked) for task in tasks)
    done = total - sum(len(task.asked) for task in missing)
    report = progress or (lambda *_: None)
    report(done, total)
    try:
        with closing(do(missing)) as finished:
            for partition in finished:
                manifest.add(partition)
                done += partition.num_asked
                report(done, total)
        manifest.write()
    finally:
        manifest.remove_abandoned()


def differences(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    """Name what is different in two questions; empty if nothing is."""
    return " and ".join(text for part, text in DIFFERENCES.items() if found.get(part) != wanted.get(part))


def require_same(found: Mapping[str, Any], wanted: Mapping[str, Any], source: str) -> None:
    """Raise an error that names what a worker has found to be different from what the first process has opened."""
    if different := differences(found, wanted):
        raise InputError(f"{source}: a worker on {platform.node()} finds {different} there")
