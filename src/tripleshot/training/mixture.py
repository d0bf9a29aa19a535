"""One network for every graph: `evidence-net` trained on several datasets together.

The last weights are kept: which of several is the best on the valid tasks of some graphs says little about another
graph. The valid tasks of all graphs, asked with few and with many examples, are there to calibrate on, with weights
fitted to each graph as they are when somebody asks.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from hashlib import sha256
from pathlib import Path

from tripleshot.datasets.dataset import FewShotDataset, Task
from tripleshot.errors import InputError
from tripleshot.evaluation.calibration import Calibration, Question, ask_valid, fit_calibration, save_calibration
from tripleshot.evaluation.results import command, commit
from tripleshot.methods.evidence.evidence_net import EvidenceNet
from tripleshot.methods.evidence.graph_mixture import THINNED, GraphMixture
from tripleshot.methods.evidence.settings import EvidenceNetSettings
from tripleshot.methods.protocol import Scorer
from tripleshot.methods.trainable import TrainedWeights
from tripleshot.training.budget import Stopwatch
from tripleshot.training.fit import VALID_SEED, only_writer, restored_after_failure, run_stages
from tripleshot.training.runs import CONFIG, RunConfig, load_config, load_start, save_config
from tripleshot.training.updates import TrainingCallback

CALIBRATED_SHOTS = (1, 2, 3, 5, 10)
CALIBRATION_SCORES = 100_000  # of one dataset and number of examples


def train_mixture(
    datasets: Sequence[FewShotDataset],
    folder: Path,
    settings: EvidenceNetSettings,
    shots: int = 5,
    *,
    thinned: Sequence[float] = THINNED,
    device: str = "cpu",
    resume: bool = False,
    budget: float = 0.0,
    calibrates: bool = True,
    callback: TrainingCallback | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[GraphMixture, Calibration | None]:
    """Train into a folder: settings, weights, log, checkpoint, calibration, but no graph and no names.

    Args:
        datasets: train tasks and background relations to learn from, valid tasks to calibrate on; test tasks are
            never looked at.
        folder: to write.
        settings: of the network and its training.
        shots: K that the run is said to be for; 1 to `settings.max_shots` are trained.
        thinned: shares of the edges that copies of each graph keep, which are learned from, too.
        device: where to compute.
        resume: go on with the run in the folder.
        budget: seconds in place of a number of steps; 0 goes by steps.
        calibrates: learn how sure to be, too; who only ranks does without.
        callback: is told about every step.
        progress: called with how much of the calibration is done, and how much there is.
    """
    names = [dataset.name for dataset in datasets]
    if repeated := [name for place, name in enumerate(names) if name in names[:place]]:
        raise InputError(f"dataset {repeated[0]!r} is given twice")
    content = sha256("".join(dataset.content_hash for dataset in datasets).encode()).hexdigest()
    watch = Stopwatch(budget, calibrates=calibrates)
    with only_writer(folder):
        if resume:
            found = load_config(folder)
            if found.data_hash != content:
                raise InputError(f"{folder}: was trained on {found.dataset}, or on other versions of these datasets")
            settings = EvidenceNetSettings(**found.settings)
        elif (folder / CONFIG).exists():
            raise InputError(f"{folder}: a run is there already; choose another folder, or resume it")
        mixture = GraphMixture(settings, datasets, shots, thinned, device)
        if settings.pretrained:
            mixture.start_from(load_start("network", settings.pretrained, datasets[0]))
        stages = mixture.stages()
        with restored_after_failure(folder, resume):
            if not resume:
                about = (asdict(settings), shots, "", " + ".join(names), content, command(), commit(), budget)
                save_config(RunConfig("evidence-net", *about), folder)
            run_stages(mixture, stages, None, folder, resume, callback, watch)
        calibration = fit_calibration(_ask(mixture, progress)) if calibrates else None
        if calibration is not None:
            save_calibration(calibration, folder)
        return mixture, calibration


def _ask(mixture: GraphMixture, progress: Callable[[int, int], None] | None = None) -> list[Question]:
    """Fit the network to each graph in turn, as it is when somebody asks, and ask about the valid tasks."""
    questions: list[Question] = []
    weights, num_tasks = TrainedWeights.of(mixture.module.state_dict(), None, "the network"), 0
    for done, whole in enumerate(mixture.wholes):
        network = EvidenceNet(whole.settings)
        network.restore(whole.dataset, weights)
        network.fit_to_graph()
        asked = ask_tasks(network, whole.dataset, whole.dataset.valid, CALIBRATION_SCORES)
        questions += [replace(question, task=question.task + num_tasks) for question in asked]
        num_tasks += len(whole.dataset.valid) * len(CALIBRATED_SHOTS)
        if progress:
            progress(done + 1, len(mixture.wholes))
    return questions


def ask_tasks(method: Scorer, dataset: FewShotDataset, tasks: Sequence[Task], max_scores: int) -> list[Question]:
    """Ask about tasks with few and with many examples; with another number of examples a task is another task."""
    questions: list[Question] = []
    for place, shots in enumerate(CALIBRATED_SHOTS):
        enough = tuple(task for task in tasks if len(task.pairs) > shots)
        found = ask_valid(method, replace(dataset, valid=enough), shots, max_scores, VALID_SEED)
        questions += [replace(question, task=question.task + place * len(tasks)) for question in found]
    return questions
