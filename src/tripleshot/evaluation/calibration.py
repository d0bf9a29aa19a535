"""From scores to confidence: how likely is it that a proposed tail is right?

Scores of a method are comparable within one question only. What can be compared across questions is how large a share
of a softmax over the candidates, at a temperature, the best one has, how far it is ahead of the second, and how far
another is behind it. A logistic regression turns them into the probability that a candidate is right (Platt's method
after temperature scaling):

    confidence(best) = sigmoid(bias + slope * log share(best) + lead * (score(best) - score(second)) / temperature)
    confidence(other) = sigmoid(bias + slope * log share(best) + behind * (score(other) - score(best)) / temperature)

with slopes that are not below zero: five numbers, because a dataset has few valid tasks to fit them on. They are
fitted on valid tasks only, asked as a user asks: the first K pairs are the examples, candidates are typed like their
tails, and right is what is known to be true and is not said by the examples. Every task counts the same, and so does
every question of a task. The best answers come first: all but `behind` is fitted to them alone, and then `behind` to
those that follow. The temperature is the one of a few, on the scale of the scores, under which the best fit best.

Whether any candidate is right at all is another question. The less sure the best one is, the likelier none is; a
second regression turns the log-odds z of the best candidate into that probability:

    none = sigmoid(bias - slope * z),  slope >= 0

How far it can be trusted is measured on tasks that it was not fitted on: each task in turn is left out, and the
confidence of its best answers is compared with how often they are right.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tripleshot.arrays import FloatArray, IntArray
from tripleshot.datasets.dataset import FewShotDataset, candidates_like, exclude_known
from tripleshot.errors import InputError
from tripleshot.evaluation.confidence_curves import RIDGE, Curve, NoneCurve, Rows, certainty, regress, slope_of
from tripleshot.files.atomic import write_file
from tripleshot.files.checksums import read_document, seal_document
from tripleshot.methods.protocol import Scorer

CALIBRATION = "calibration.json"
MAX_QUESTIONS = 300
MIN_QUESTIONS = 2  # of two tasks, as they are asked in turn: each is judged by the others
MAX_SCORES = 200_000  # of all questions together: a neural method takes about a minute
TEMPERATURES = 2.0 ** np.arange(-6, 3)  # in units of how far the best score is above the mean
NUM_BEST = 10  # candidates of a question that are looked at: nobody reads on
NUM_BINS = 10
MAX_FOLDS = 20  # more tasks are left out several at a time


@dataclass(frozen=True)
class Calibration:
    """A fitted curve, and how well it does on tasks that were left out of the fit.

    Attributes:
        curve: fitted on all valid tasks.
        none: likewise; None where it was not fitted.
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
    none: NoneCurve | None = None

    def none_of(self, scores: FloatArray) -> float | None:
        """Return the probability that none of the candidates of a question is right; None where it is unknown."""
        if self.none is None:
            return None
        return self.none.probability(float(self.curve.log_odds(scores).max())) if len(scores) else 1.0

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

    @cached_property
    def best(self) -> IntArray:
        """Return the places of the best candidates, best first, which every fit asks for."""
        return np.argsort(-self.scores, kind="stable")[:NUM_BEST]

    def judge_best(self, curve: Curve) -> tuple[float, bool]:
        """Return how sure a curve is of the best candidate, and whether it is right."""
        best = int(np.argmax(self.scores))
        return float(curve.confidence(self.scores)[best]), bool(self.is_right[best])


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
    sealed = seal_document(asdict(calibration))
    write_file(folder / CALIBRATION, (json.dumps(sealed, indent=1, allow_nan=False) + "\n").encode())


def load_calibration(folder: Path) -> Calibration | None:
    """Read the calibration of a run; None if it has none."""
    path = folder / CALIBRATION
    if not path.exists():
        return None
    page = read_document(path)
    try:
        curve, none = Curve(**page.pop("curve")), page.pop("none", None)
        calibration = Calibration(curve, **page, none=None if none is None else NoneCurve(**none))
        numbers = [value for value in (*asdict(curve).values(), *(none or {}).values()) if value is not None]
        numbers += [calibration.calibration_error, calibration.brier_score]
        is_sound = bool(np.isfinite(numbers).all())
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise InputError(f"{path}: not readable: {error}") from None
    if not is_sound or calibration.curve.temperature <= 0 or min(curve.slope, curve.lead, curve.behind or 0) < 0:
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
    judged, weights = [], []
    for fold in range(min(len(tasks), MAX_FOLDS)):
        left_out = set(tasks[fold::MAX_FOLDS])
        others = [question for question in questions if question.task not in left_out]
        asked = [question for question in questions if question.task in left_out]
        curve = fit_curve(others, weigh(others))
        for question, weight in zip(asked, weigh(asked), strict=True):
            judged.append(question.judge_best(curve))
            weights.append(weight * len(left_out) / len(tasks))
    confidence, is_right = map(np.array, zip(*judged, strict=True))
    error, brier = reliability(confidence, is_right, np.array(weights))
    shares = weigh(questions)
    curve = fit_curve(questions, shares)
    return Calibration(curve, len(tasks), len(questions), error, brier, fit_none(curve, questions, shares))


def reliability(confidence: FloatArray, is_right: npt.NDArray[np.bool_], weights: FloatArray) -> tuple[float, float]:
    """Return the expected calibration error and the Brier score of some answers; the weights sum to one."""
    bins = np.minimum((confidence * NUM_BINS).astype(np.int64), NUM_BINS - 1)
    gaps = np.bincount(bins, weights * (confidence - is_right), minlength=NUM_BINS)
    return float(np.abs(gaps).sum()), float((weights * (confidence - is_right) ** 2).sum())


def fit_curve(
    questions: Sequence[Question],
    weights: FloatArray,
    prior: Curve | None = None,
    ridge: float = RIDGE,
) -> Curve:
    """Fit a curve at each temperature and return the one that fits the best answers best.

    Args:
        questions: with their answers.
        weights: what each counts; they sum to one.
        prior: what holds where the questions say nothing, at its temperature.
        ridge: how much that counts.
    """
    if prior is not None:
        return _fit_at(prior.temperature, questions, weights, prior, ridge)[1]
    ahead = float(np.median([question.scores.max() - question.scores.mean() for question in questions])) or 1.0
    fits = [_fit_at(value, questions, weights, None, ridge) for value in (TEMPERATURES * ahead).tolist()]
    return min(fits, key=lambda fit: fit[0])[1]


def _fit_at(
    temperature: float, questions: Sequence[Question], weights: FloatArray, prior: Curve | None, ridge: float
) -> tuple[float, Curve]:
    """Fit at one temperature: first to the best answers, then, with that, to those that follow."""
    places = [question.best for question in questions]
    found = [certainty(question.scores, temperature) for question in questions]
    is_right = [question.is_right[best].astype(np.float64) for question, best in zip(questions, places, strict=True)]
    features = np.array([[share, lead] for share, lead, _ in found])
    best = Rows(features, weights, np.array([right[0] for right in is_right]))
    fitted = regress(best, None if prior is None else np.array([prior.slope, prior.lead, prior.bias]), ridge)
    slope, lead, bias = fitted.tolist()
    counts = [len(right) - 1 for right in is_right]
    behind = prior.behind if prior is not None else None
    if prior is None and any(counts):
        following = np.concatenate([one[2][place[1:]] for one, place in zip(found, places, strict=True)])
        offsets = np.repeat(slope * features[:, 0] + bias, counts)
        rest = np.concatenate([right[1:] for right in is_right])
        shares = np.repeat(weights / np.maximum(counts, 1), counts)
        behind = slope_of(Rows(following[:, None], shares / shares.sum(), rest, offsets))
    return best.loss(fitted), Curve(temperature, slope, bias, behind, lead)


def weigh(questions: Sequence[Question]) -> FloatArray:
    """Return what each question counts: every task the same, and every question of a task."""
    counts = np.bincount([question.task for question in questions])
    return np.array([1 / np.count_nonzero(counts) / counts[question.task] for question in questions])


def fit_none(
    curve: Curve,
    questions: Sequence[Question],
    weights: FloatArray,
    prior: NoneCurve | None = None,
    ridge: float = RIDGE,
) -> NoneCurve:
    """Fit to which questions have no right candidate; the other arguments are those of `fit_curve`."""
    best = np.array([[-curve.log_odds(question.scores).max()] for question in questions])
    has_none = np.array([float(not question.is_right.any()) for question in questions])
    expected = None if prior is None else np.array([prior.slope, prior.bias])
    slope, bias = regress(Rows(best, weights, has_none), expected, ridge).tolist()
    return NoneCurve(slope, bias)
