"""Curves that turn scores into probabilities, and the regression that fits them; `calibration` says why."""

from dataclasses import dataclass

import numpy as np

from tripleshot.arrays import FloatArray

RIDGE = 1e-3
MAX_STEPS = 100  # of Newton's method


@dataclass(frozen=True)
class Curve:
    """What turns scores into confidence.

    Attributes:
        temperature: of the softmax over the candidates of a question; above zero.
        slope: what the logarithm of the best candidate's share counts; not below zero.
        bias: the log-odds of a candidate that has the whole share.
        behind: what it counts how far a candidate is behind the best one; not below zero. None is the slope.
    """

    temperature: float
    slope: float
    bias: float
    behind: float | None = None

    def log_odds(self, scores: FloatArray) -> FloatArray:
        """Return the log-odds of each candidate to be right, given the scores of all candidates of a question."""
        share, distances = certainty(scores, self.temperature)
        behind = self.slope if self.behind is None else self.behind
        return self.bias + self.slope * share + behind * distances

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


def certainty(scores: FloatArray, temperature: float) -> tuple[float, FloatArray]:
    """Return the logarithm of the best candidate's share in a softmax, and how far each is behind it, 0 or less."""
    if not len(scores):
        return 0.0, np.empty(0)
    distances = (scores.astype(np.float64) - scores.max()) / temperature
    return -float(np.log(np.exp(distances).sum())), distances


def sigmoid(values: FloatArray) -> FloatArray:
    """Return 1 / (1 + exp(-x)) without overflow."""
    return np.exp(-np.logaddexp(0, -values))


def regress(features: FloatArray, weights: FloatArray, is_right: FloatArray) -> tuple[list[float], float]:
    """Fit a logistic regression.

    Args:
        features: shape (n, number of features).
        weights: shape (n,), what each row counts.
        is_right: shape (n,), 1 for what is right.

    Returns:
        the slope of each feature, not below zero, and the bias.
    """
    used = list(range(features.shape[1]))
    while True:
        design = np.column_stack([features[:, used], np.ones(len(features))])
        *slopes, bias = _newton(design, weights, weights * is_right).tolist()
        if not used or min(slopes) >= 0:
            found = dict(zip(used, slopes, strict=True))
            return [found.get(place, 0.0) for place in range(features.shape[1])], bias
        used.pop(int(np.argmin(slopes)))


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
