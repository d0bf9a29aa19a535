"""Proposals for any number of heads and relations, in partitions: a folder that a second run goes on with.

A partition has the proposals for some heads of one relation. `partitions` says how the folder is kept.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from tripleshot.answering.asking import Asking, predictor_fingerprint
from tripleshot.answering.completing import Completion, Plan, Rules
from tripleshot.answering.examples import Reference
from tripleshot.answering.manifest import Partition
from tripleshot.answering.partitions import (
    PARTITION_SIZE,
    PartitionTask,
    in_partitions,
    require_same,
    write_partitions,
)
from tripleshot.answering.predictor import Predictor
from tripleshot.answering.provenance import Provenance, name_of
from tripleshot.arrays import IntArray, hash_arrays
from tripleshot.files.checksums import hash_file
from tripleshot.files.locks import folder_lock
from tripleshot.tables import write_batches
from tripleshot.workers.work import Crew


@dataclass(frozen=True)
class Completing:
    """What is to be completed, as plain data: another process opens the same.

    Attributes:
        asking: the graph and the method, and examples if the relation is new.
        relations: that are completed; None is all of the graph.
        heads: that are asked about; None is those like the heads of the examples.
        rules: what is proposed.
    """

    asking: Asking
    relations: tuple[str, ...] | None = None
    heads: tuple[Reference, ...] | None = None
    rules: Rules = field(default_factory=Rules)

    def on(self, predictor: Predictor) -> Completion:
        """Return what is completed, on the graph that was opened."""
        return Completion(predictor, self.relations, self.rules, self.asking.examples or None, self.heads)


@dataclass(frozen=True, eq=False)
class CompletionTask(PartitionTask):
    """A partition to be proposed for: some heads of one relation."""

    relation: str


@dataclass(frozen=True)
class CompletingWork:
    """What every worker opens: the graph, where proposals go, and what they follow from.

    Attributes:
        completing: what is completed.
        folder: where partitions are written.
        fingerprint: of the graph and the method, as the first process has opened them.
    """

    completing: Completing
    folder: str
    fingerprint: dict[str, Any]

    def open(self) -> Callable[[CompletionTask], Partition]:
        """Open the graph, check that it is the same, and return what proposes for a partition."""
        predictor, folder = self.completing.asking.open_again(), Path(self.folder)
        require_same(predictor_fingerprint(predictor), self.fingerprint, self.completing.asking.source)

        @lru_cache(maxsize=1)
        def prepared(relation: str) -> tuple[Plan, IntArray]:
            question = predictor.question(self.completing.asking.examples or None, relation)
            found = Plan(question, np.empty(0, dtype=np.int64), 0, self.completing.rules)
            return found, found.pool()

        def propose(task: CompletionTask) -> Partition:
            path = folder / Partition.name_of(task.number)
            plan, pool = prepared(task.relation)
            write_batches(plan.propose(task.asked.tolist(), pool), path)
            return Partition(task.number, len(task.asked), hash_file(path))

        return propose


def complete_in_partitions(
    completing: Completing,
    folder: str | Path,
    crew: Crew,
    *,
    partition_size: int = PARTITION_SIZE,
    progress: Callable[[int, int], None] | None = None,
) -> Provenance:
    """Propose triples into a folder, or go on where an earlier run has stopped.

    Args:
        completing: what is completed.
        folder: of the proposals; it is made if it is not there.
        crew: does the work: processes of this machine, or those of a cluster.
        partition_size: heads in each file.
        progress: called with the number of heads that are done, and of all.

    Returns:
        Where the proposals come from.

    Raises:
        InputError: the folder has other proposals, another process writes it, or a relation or head is unknown.
    """
    folder = Path(folder).resolve()
    with folder_lock(folder):
        asking = completing.asking.from_anywhere()
        completing = replace(completing, asking=asking)
        predictor = asking.open()
        fingerprint = predictor_fingerprint(predictor)
        completion = completing.on(predictor)
        tasks, examples = [], []
        for plan in completion.plans():
            for some in in_partitions(np.asarray(plan.heads, dtype=np.int64), partition_size):
                tasks.append(CompletionTask(len(tasks), some, name_of(plan.question)))
            examples.append(hash_arrays(plan.question.support, plan.question.known))
        provenance = completion.provenance
        del predictor, completion  # the workers open their own
        question = {
            **fingerprint,
            "examples": hash_arrays(*examples),
            "options": {**asdict(completing.rules), "device": asking.device},
            "asked": hash_arrays(*(part for task in tasks for part in (task.relation, task.asked))),
            "num_asked": sum(len(task.asked) for task in tasks),
            "partition_size": partition_size,
            "provenance": provenance.to_dict(),
        }
        work = CompletingWork(completing, str(folder), fingerprint)
        write_partitions(folder, question, tasks, partial(crew, work), progress)
    return provenance
