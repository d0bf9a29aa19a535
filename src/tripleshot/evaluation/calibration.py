"""From scores to confidence: how likely is it that a proposed tail is right?

Scores of a method are comparable within one question only. A candidate's share of its question, the softmax of the
scores at a temperature, is comparable across questions. Its logarithm is what a logistic regression turns into the
probability that the candidate is right (Platt's method after temperature scaling):

    confidence = sigmoid(bias + slope * log softmax(scores / temperature)),  slope >= 0

Three numbers, because a dataset has few valid tasks to fit them on. It is fitted on valid tasks only, asked as a user
asks: the first K pairs are the examples, candidates are typed like their tails, and right is what is known to be true
and is not said by the examples. Every task counts the same, and so does every question of a task. The temperature is
the one of a few, on the scale of the scores, under which the regression fits best.

How far it can be trusted is measured on tasks that it was not fitted on: each task in turn is left out, and the
confidence of its best answers is compared with how often they are right.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tripleshot.arrays import FloatArray
from tripleshot.atomic import write_file
from tripleshot.datasets.dataset import FewShotDataset, candidates_like, exclude_known
from tripleshot.errors import InputError
from tripleshot.methods.protocol import Scorer

CALIBRATION = "calibration.json"
MAX_QUESTIONS = 300
MIN_QUESTIONS = 2  # of two tasks, as they are asked in turn: each is judged by the others
MAX_SCORES = 200_000  # of all questions together: a neural method takes about a minute
TEMPERATURES = 2.0 ** np.arange(-6, 3)  # in units of how far the best score is above the mean
STEP, MAX_LOG = 0.01, 50.0  # logarithms of shares are rounded to steps, and not distinguished below -50
RIDGE = 1e-3
MAX_STEPS = 100  # of Newton's method
NUM_BINS = 10


@dataclass(frozen=True)
class Curve:
    """What turns scores into confidence.

    Attributes:
        temperature: of the softmax over the candidates of a question; above zero.
        slope: what the logarithm of a share counts; not below zero.
        bias: the log-odds of a candidate that has the whole share.
    """

    temperature: float
    slope: float
    bias: float

    def confidence(self, scores: FloatArray) -> FloatArray:
        """Return the probability of each candidate to be right, given the scores of all candidates of a question."""
        return sigmoid(self.bias + self.slope * log_shares(scores, self.temperature))


@dataclass(frozen=True)
class Calibration:
    """A fitted curve, and how well it does on tasks that were left out of the fit.

    Attributes:
        curve: fitted on all valid tasks.
        num_tasks: how many there are, with `num_questions` questions in all.
        calibration_error: mean distance between the confidence of best answers and the share of them that is right,
            in ten bins of confidence.
        brier_score: mean square of the difference between the confidence of best answers and their truth, 0 or 1.
    """

    curve: Curve
    num_tasks: int
    num_questions: int
    calibration_error: float
    brier_score: float

    def confidence(self, scores: FloatArray) -> FloatArray:
        """Return the probability of each candidate to be right, given the scores of all candidates of a question."""
        return self.curve.confidence(scores)


@dataclass(frozen=True, eq=False)
class Question:
    """A question of a valid task with its answers.

    Attributes:
        task: the task's index.
        scores: shape (n,), of the candidates.
        is_right: shape (n,), whether the candidate is a true answer.
    """

    task: int
    scores: FloatArray
    is_right: npt.NDArray[np.bool_]


def calibrate(
    method: Scorer,
    dataset: FewShotDataset,
    shots: int,
    max_scores: int = MAX_SCORES,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
    is_over: Callable[[], bool] | None = None,
) -> Calibration | None:
    """Fit on the valid tasks; None where they are fewer than two, or no right answer is among the candidates.

    Args:
        method: fitted or trained.
        dataset: where the valid tasks are.
        shots: K.
        max_scores: candidates of all questions together; every task is asked at least once.
        seed: draws the heads that are asked about.
        progress: called with the number of questions done and their total.
        is_over: tells when there is no time for another question; two are asked in any case.
    """
    return fit_calibration(ask_valid(method, dataset, shots, max_scores, seed, progress, is_over))


def save_calibration(calibration: Calibration, folder: Path) -> None:
    """Write a calibration into a run."""
    write_file(folder / CALIBRATION, (json.dumps(asdict(calibration), indent=1, allow_nan=False) + "\n").encode())


def load_calibration(folder: Path) -> Calibration | None:
    """Read the calibration of a run; None if it has none."""
    path = folder / CALIBRATION
    if not path.exists():
        return None
    try:
        page = json.loads(path.read_text(encoding="utf-8"))
        calibration = Calibration(Curve(**page.pop("curve")), **page)
        numbers = [*asdict(calibration.curve).values(), calibration.calibration_error, calibration.brier_score]
        is_sound = bool(np.isfinite(numbers).all())
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise InputError(f"{path}: not readable: {error}") from None
    if not is_sound or calibration.curve.temperature <= 0 or calibration.curve.slope < 0:
        raise InputError(f"{path}: not a calibration")
    return calibration


def ask_valid(
    method: Scorer,
    dataset: FewShotDataset,
    shots: int,
    max_scores: int,
    seed: int,
    progress: Callable[[int, int], None] | None = None,
    is_over: Callable[[], bool] | None = None,
) -> list[Question]:
    """Ask a method about heads of the valid tasks, drawn by the seed and taken from the tasks in turn."""
    rng = np.random.default_rng(seed)
    drawn = [rng.permutation(np.unique(task.queries(shots)[:, 0])) for task in dataset.valid]
    pools = [candidates_like(dataset.graph, task.support(shots)[:, 1]) for task in dataset.valid]
    turns = sorted((turn, index) for index, heads in enumerate(drawn) for turn in range(len(heads)))
    sizes = np.cumsum([len(pools[index]) for _, index in turns], dtype=np.int64)
    count = min(MAX_QUESTIONS, max(int(np.searchsorted(sizes, max_scores, side="right")), len(drawn)), len(turns))
    questions = []
    for done, (turn, index) in enumerate(turns[:count], start=1):
        task, head = dataset.valid[index], int(drawn[index][turn])
        tails = exclude_known(task.support(shots), head, pools[index])
        if len(tails):
            scores = method.score(task.support(shots), head, tails)
            questions.append(Question(index, scores, np.isin(tails, task.known_tails(head))))
        if progress:
            progress(done, count)
        if is_over and done >= MIN_QUESTIONS and is_over():
            break
    return questions


def fit_calibration(questions: Sequence[Question]) -> Calibration | None:
    """Fit to questions and their answers, and measure on each task what the others teach."""
    tasks = sorted({question.task for question in questions})
    if len(tasks) < 2 or not any(question.is_right.any() for question in questions):
        return None
    confidence, is_right, weights = [], [], []
    for task in tasks:
        others = [question for question in questions if question.task != task]
        asked = [question for question in questions if question.task == task]
        curve = _fit(others)
        for question in asked:
            best = int(np.argmax(question.scores))
            confidence.append(curve.confidence(question.scores)[best])
            is_right.append(question.is_right[best])
            weights.append(1 / len(tasks) / len(asked))
    error, brier = reliability(np.array(confidence), np.array(is_right), np.array(weights))
    return Calibration(_fit(questions), len(tasks), len(questions), error, brier)


def reliability(confidence: FloatArray, is_right: npt.NDArray[np.bool_], weights: FloatArray) -> tuple[float, float]:
    """Return the expected calibration error and the Brier score of some answers; the weights sum to one."""
    bins = np.minimum((confidence * NUM_BINS).astype(np.int64), NUM_BINS - 1)
    gaps = np.bincount(bins, weights * (confidence - is_right), minlength=NUM_BINS)
    return float(np.abs(gaps).sum()), float((weights * (confidence - is_right) ** 2).sum())


def log_shares(scores: FloatArray, temperature: float) -> FloatArray:
    """Return the logarithm of the softmax over candidates."""
    if not len(scores):
        return np.empty(0)
    scores = scores.astype(np.float64)
    logits = (scores - scores.max()) / temperature
    return logits - np.log(np.exp(logits).sum())


def sigmoid(values: FloatArray) -> FloatArray:
    """Return 1 / (1 + exp(-x)) without overflow."""
    return np.exp(-np.logaddexp(0, -values))


def _fit(questions: Sequence[Question]) -> Curve:
    """Fit a curve at each temperature and return the one that fits best."""
    counts = np.bincount([question.task for question in questions])
    num_tasks = np.count_nonzero(counts)
    weights = np.concatenate([np.full(len(q.scores), 1 / num_tasks / counts[q.task]) for q in questions])
    is_right = np.concatenate([question.is_right for question in questions])
    lead = float(np.median([question.scores.max() - question.scores.mean() for question in questions])) or 1.0
    fits = []
    for temperature in (TEMPERATURES * lead).tolist():
        shares = np.concatenate([log_shares(question.scores, temperature) for question in questions])
        places = np.minimum(-shares / STEP, MAX_LOG / STEP).astype(np.int64)
        everything, right = (np.bincount(places, some).astype(np.float64) for some in (weights, weights * is_right))
        slope, bias = regress(-STEP * np.arange(len(right)), everything, right)
        logits = bias - slope * STEP * np.arange(len(right))
        loss = float((everything * np.logaddexp(0, logits) - right * logits).sum())
        fits.append((loss, temperature, slope, bias))
    return Curve(*min(fits)[1:])


def regress(feature: FloatArray, everything: FloatArray, right: FloatArray) -> tuple[float, float]:
    """Fit a logistic regression on one feature.

    Args:
        feature: shape (n,), distinct values.
        everything: shape (n,), the weight of all candidates that have this value.
        right: shape (n,), the weight of those that are right.

    Returns:
        the slope, not below zero, and the bias.
    """
    slope, bias = _newton(np.stack([feature, np.ones(len(feature))], axis=1), everything, right).tolist()
    if slope < 0:
        return 0.0, float(_newton(np.ones((len(feature), 1)), everything, right)[0])
    return slope, bias


def _newton(design: FloatArray, everything: FloatArray, right: FloatArray) -> FloatArray:
    """Return the parameters of a logistic regression with a little ridge: Newton's method, no step longer than one."""
    parameters, ridge = np.zeros(design.shape[1]), RIDGE * np.eye(design.shape[1])
    for _ in range(MAX_STEPS):
        predicted = sigmoid(design @ parameters)
        gradient = design.T @ (everything * predicted - right) + ridge @ parameters
        curvature = (design * (everything * predicted * (1 - predicted))[:, None]).T @ design + ridge
        step = np.linalg.solve(curvature, gradient)
        length = float(np.abs(step).max())
        parameters = parameters - step / max(1.0, length)
        if length < 1e-9:
            break
    return parameters
