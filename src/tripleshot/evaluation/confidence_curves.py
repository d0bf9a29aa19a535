"""Curves that turn scores into probabilities, and the regression that fits them; `calibration` says why."""

from dataclasses import dataclass

import numpy as np

from tripleshot.arrays import FloatArray

RIDGE = 1e-3
MAX_STEPS = 100  # of Newton's method
MAX_LEAD = 5.0  # temperatures; who is further ahead is no surer


@dataclass(frozen=True)
class Curve:
    """What turns scores into confidence.

    Attributes:
        temperature: of the softmax over the candidates of a question; above zero.
        slope: what the logarithm of the best candidate's share counts; not below zero.
        bias: the log-odds of a candidate that has the whole share.
        behind: what it counts how far a candidate is behind the best one; not below zero. None is the slope.
        lead: what it counts for the best candidate how far it is ahead of the second; not below zero.
    """

    temperature: float
    slope: float
    bias: float
    behind: float | None = None
    lead: float = 0.0

    def log_odds(self, scores: FloatArray) -> FloatArray:
        """Return the log-odds of each candidate to be right, given the scores of all candidates of a question."""
        share, lead, distances = certainty(scores, self.temperature)
        behind = self.slope if self.behind is None else self.behind
        return self.bias + self.slope * share + self.lead * lead * (distances == 0) + behind * distances

    def confidence(self, scores: FloatArray) -> FloatArray:
        """Return the probability of each candidate to be right, given the scores of all candidates of a question."""
        return sigmoid(self.log_odds(scores))


@dataclass(frozen=True)
class NoneCurve:
    """What turns the log-odds of the best candidate into the probability that no candidate is right.

    Attributes:
        slope: what the log-odds count; not below zero.
        bias: the log-odds of no candidate being right, where the best one is as likely right as wrong.
    """

    slope: float
    bias: float

    def probability(self, log_odds: float) -> float:
        """Return the probability that no candidate is right."""
        return float(sigmoid(np.array(self.bias - self.slope * log_odds)))


def certainty(scores: FloatArray, temperature: float) -> tuple[float, float, FloatArray]:
    """Return how far the best candidate of a question stands out.

    Returns:
        share: the logarithm of its share in a softmax.
        lead: how far it is ahead of the second, at most `MAX_LEAD`; 0 without a second.
        distances: shape (n,), how far each is behind it, 0 or less.
    """
    if not len(scores):
        return 0.0, 0.0, np.empty(0)
    distances = (scores.astype(np.float64) - scores.max()) / temperature
    lead = -float(np.partition(distances, -2)[-2]) if len(scores) > 1 else 0.0
    return -float(np.log(np.exp(distances).sum())), min(lead, MAX_LEAD), distances


def sigmoid(values: FloatArray) -> FloatArray:
    """Return 1 / (1 + exp(-x)) without overflow."""
    return np.exp(-np.logaddexp(0, -values))


@dataclass(frozen=True, eq=False)
class Rows:
    """What a logistic regression is fitted to.

    Attributes:
        features: shape (n, number of features).
        weights: shape (n,), what each row counts; they sum to one.
        is_right: shape (n,), 1 for what is right.
        offsets: shape (n,), log-odds that are there already.
    """

    features: FloatArray
    weights: FloatArray
    is_right: FloatArray
    offsets: FloatArray | float = 0.0

    def loss(self, parameters: FloatArray) -> float:
        """Return the mean negative log probability of what is so, by slopes and a bias."""
        logits = self.features @ parameters[:-1] + parameters[-1] + self.offsets
        return float((self.weights * (np.logaddexp(0, logits) - self.is_right * logits)).sum())


def regress(rows: Rows, prior: FloatArray | None = None, ridge: float = RIDGE) -> FloatArray:
    """Fit a logistic regression: the slope of each feature, not below zero, and the bias.

    Args:
        rows: what it is fitted to.
        prior: shape (number of features + 1,), slopes and bias that hold where the rows say nothing; None is zero.
        ridge: how much that counts.
    """
    size = rows.features.shape[1] + 1
    expected, found, used = np.zeros(size) if prior is None else prior, np.zeros(size), [*range(size)]
    while True:
        design = np.column_stack([rows.features, np.ones(len(rows.weights))])[:, used]
        found[:] = 0
        found[used] = _newton(design, rows, expected[used], ridge)
        if len(used) == 1 or found[used[:-1]].min() >= 0:
            return found
        used.pop(int(np.argmin(found[used[:-1]])))


def slope_of(rows: Rows, ridge: float = RIDGE) -> float:
    """Return the slope of the only feature, not below zero, without a bias."""
    return max(0.0, float(_newton(rows.features, rows, np.zeros(1), ridge)[0]))


def _newton(design: FloatArray, rows: Rows, prior: FloatArray, ridge: float) -> FloatArray:
    """Return the parameters of a logistic regression with a little ridge: Newton's method, no step longer than one."""
    parameters, pull = prior.copy(), ridge * np.eye(design.shape[1])
    everything, right = rows.weights, rows.weights * rows.is_right
    for _ in range(MAX_STEPS):
        predicted = sigmoid(design @ parameters + rows.offsets)
        gradient = design.T @ (everything * predicted - right) + pull @ (parameters - prior)
        curvature = (design * (everything * predicted * (1 - predicted))[:, None]).T @ design + pull
        step = np.linalg.solve(curvature, gradient)
        length = float(np.abs(step).max())
        parameters = parameters - step / max(1.0, length)
        if length < 1e-9:
            break
    return parameters
