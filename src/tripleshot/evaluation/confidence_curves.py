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
        slope: what the logarithm of a share counts; not below zero.
        bias: the log-odds of a candidate that has the whole share.
    """

    temperature: float
    slope: float
    bias: float

    def log_odds(self, scores: FloatArray) -> FloatArray:
        """Return the log-odds of each candidate to be right, given the scores of all candidates of a question."""
        return self.bias + self.slope * log_shares(scores, self.temperature)

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


def regress(feature: FloatArray, everything: FloatArray, right: FloatArray) -> tuple[float, float]:
    """Fit a logistic regression on one feature.

    Args:
        feature: shape (n,).
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
