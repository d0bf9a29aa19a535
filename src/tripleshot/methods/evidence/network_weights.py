"""What the network that weighs evidence has learned, as arrays: scores and reasons that nobody waits for torch for.

`scoring.FeatureScorer` is the same network as it is trained; both agree (see the tests).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Self

import numpy as np
import numpy.typing as npt

from tripleshot.errors import InputError

Array = npt.NDArray[np.float32]
Layers = tuple[Array, Array, Array]
"""The first layer, its bias and the second layer: shapes (width, number of features), (width,) and (width,)."""

MIN_DEVIATION = 1e-3  # of a feature that says something
OF_TRUST = ("trusted", "trusting")
FAR = 6.0  # deviations, beyond which the tail of the normal distribution is below 1e-9
NUM_POINTS = 8193  # in which it is known; a straight line between two of them is off by 2e-8 at most


@dataclass(frozen=True, eq=False)
class NetworkWeights:
    """The weights of a network of one hidden layer, which sees features by how unusual they are.

    Attributes:
        mean: shape (num_features,), what features usually are.
        deviation: shape (num_features,), by how much they usually differ from that.
        hidden: shape (width, num_features), the first layer.
        bias: shape (width,), of the first layer.
        trusted: shape (width, num_features), what the first layer has more of a feature that can be trusted.
        trusting: shape (width, num_features), what its bias has more if a feature can be trusted.
        out: shape (width,), the second layer.
        left_out: shape (num_features,), true for features that are never looked at (ablation).
    """

    mean: Array
    deviation: Array
    hidden: Array
    bias: Array
    trusted: Array
    trusting: Array
    out: Array
    left_out: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, state: Mapping[str, Array], left_out: npt.NDArray[np.bool_], source: str) -> Self:
        """Take weights by the names that `FeatureScorer` gives them; `source` is for messages.

        The hidden layer is as wide as its bias is long. A run of an earlier version may know nothing of trust.
        """
        size, width = len(left_out), np.size(state.get("hidden.bias", ()))
        state = {"trusted": np.zeros((width, size), np.float32), "trusting": np.zeros((width, size), np.float32)} | {
            **state
        }
        shapes = {
            "mean": (size,),
            "deviation": (size,),
            "hidden.weight": (width, size),
            "hidden.bias": (width,),
            "trusted": (width, size),
            "trusting": (width, size),
            "out.weight": (1, width),
        }
        for name in sorted(shapes.keys() | state.keys()):
            found, needed = (str(shape) if shape else "nothing" for shape in (_shape(state, name), shapes.get(name)))
            if found != needed:
                raise InputError(f"{source}: belongs to another configuration: {name} is {found}, not {needed}")
        mean, deviation, hidden, bias, trusted, trusting, out = (state[name] for name in shapes)
        return cls(mean, deviation, hidden, bias, trusted, trusting, out[0], left_out)

    @property
    def follows_trust(self) -> bool:
        """Whether it weighs evidence by how far that can be trusted."""
        return bool(self.trusted.any() or self.trusting.any())

    def for_relation(self, trust: Array) -> Self:
        """Return the network as it weighs evidence for one relation, given how far each feature can be trusted."""
        trust, nothing = np.where(self.left_out, np.float32(0), trust), np.zeros_like(self.hidden)
        hidden, bias = self.hidden + self.trusted * trust, self.bias + self.trusting @ trust
        return replace(self, hidden=hidden, bias=bias, trusted=nothing, trusting=nothing)

    def first_layer(self) -> tuple[Array, Array]:
        """Return the first layer as it applies to features that are not standardized: weights and bias."""
        weights = self.hidden * np.where(self.left_out, np.float32(0), 1 / self.deviation)
        bias = self.bias - weights @ self.mean
        return weights, bias.astype(np.float32)

    def standardized(self, features: Array) -> Self:
        """Return a network with the same scores that sees features by how unusual they are among the given ones.

        Args:
            features: shape (n, num_features); one that hardly differs there keeps its deviation.
        """
        deviation = features.std(axis=0)
        return self.in_units(features.mean(axis=0), np.where(deviation < MIN_DEVIATION, self.deviation, deviation))

    def in_units(self, mean: Array, deviation: Array) -> Self:
        """Return a network with the same scores that sees features by how far they are from another mean."""
        shift, scale = (mean - self.mean) / self.deviation, deviation / self.deviation
        seen = np.where(self.left_out, np.float32(0), shift)
        return replace(
            self,
            mean=mean,
            deviation=deviation,
            hidden=self.hidden * scale,
            bias=self.bias + self.hidden @ seen,
            trusted=self.trusted * scale,
            trusting=self.trusting + self.trusted * seen,
        )

    def untrained(self, width: int, rng: np.random.Generator) -> Self:
        """Return a network with the same units that has learned nothing, as `FeatureScorer` starts."""
        size = len(self.mean)
        shapes = ((width, size), size), ((width,), size), ((width,), width)
        hidden, bias, out = (rng.uniform(-1, 1, shape).astype(np.float32) / math.sqrt(fan) for shape, fan in shapes)
        nothing = np.zeros_like(hidden)
        return replace(self, hidden=hidden, bias=bias, trusted=nothing, trusting=nothing, out=out)

    def without(self, missed: npt.NDArray[np.bool_]) -> Self:
        """Return the network as it is if some features, shape (num_features,), are not looked at either."""
        return replace(self, left_out=self.left_out | missed)

    def joined(self, other: Self, share: float) -> Self:
        """Return one network whose scores mix those of two that see features in the same units.

        Args:
            other: joins this one.
            share: what its scores count for, between 0 and 1.
        """
        layers = {
            name: np.concatenate([getattr(self, name), getattr(other, name)])
            for name in ("hidden", "bias", "trusted", "trusting")
        }
        mixed = np.concatenate([(1 - share) * self.out, share * other.out]).astype(np.float32)
        return replace(self, **layers, out=mixed)

    @property
    def values(self) -> Array:
        """What is fitted to a graph, as one row of numbers: both layers, but not how they follow trust."""
        return np.concatenate([layer.ravel() for layer in (self.hidden, self.bias, self.out)])

    def with_values(self, values: npt.NDArray[np.floating]) -> Self:
        """Return the same network with other `values`."""
        hidden, bias, out = np.split(values.astype(np.float32), np.cumsum([self.hidden.size, self.bias.size]))
        return replace(self, hidden=hidden.reshape(self.hidden.shape), bias=bias, out=out)

    def gradient(self, by_layers: Layers) -> Array:
        """Return the gradient by `values`, given that by the layers as they apply to features as they are."""
        by_weights, by_bias, by_out = by_layers
        scale = np.where(self.left_out, np.float32(0), 1 / self.deviation)
        by_hidden = (by_weights - np.outer(by_bias, self.mean)) * scale
        return np.concatenate([by_hidden.ravel(), by_bias, by_out])

    @property
    def columns(self) -> dict[str, Array]:
        """All that is learned, each kind as one row of numbers, to be kept on disk."""
        learned = (field.name for field in fields(self) if field.name != "left_out")
        return {name: getattr(self, name).ravel() for name in learned}

    def with_columns(self, columns: Mapping[str, Array]) -> Self:
        """Return the network of other `columns`, which may be wider."""
        by_feature = ("hidden", "trusted", "trusting")
        matrices = {name: columns[name].reshape(-1, len(self.mean)) for name in by_feature}
        return replace(self, **{**columns, **matrices})

    def state(self) -> dict[str, Array]:
        """Return the weights by the names that `FeatureScorer` gives them."""
        return {
            "mean": self.mean,
            "deviation": self.deviation,
            "hidden.weight": self.hidden,
            "hidden.bias": self.bias,
            "trusted": self.trusted,
            "trusting": self.trusting,
            "out.weight": self.out[None],
        }

    def score(self, features: Array) -> Array:
        """Score pairs by their features, shape (n, num_features): shape (n,)."""
        weights, bias = self.first_layer()
        return gelu(features @ weights.T + bias) @ self.out

    def contributions(self, features: Array, groups: npt.NDArray[np.bool_]) -> tuple[list[float], float]:
        """Split the score of one pair among groups of features.

        Groups are taken away one after the other, in their order and in the opposite one, and the mean of both counts:
        a Shapley value over two orders, so that what two groups say together is divided equally.

        Args:
            features: shape (num_features,).
            groups: shape (number of groups, num_features), true for the features of a group.

        Returns:
            added: what each group adds to the score.
            rest: the score without any of them; with what is added it is the whole score.
        """
        nothing = np.zeros_like(groups[:1])
        orders = (np.concatenate([nothing, np.logical_or.accumulate(order)]) for order in (groups, groups[::-1]))
        scores = [self.score(np.where(without, self.mean, features)).astype(np.float64) for without in orders]
        added = (-np.diff(scores[0]) - np.diff(scores[1])[::-1]) / 2
        return added.tolist(), float(scores[0][-1])


def gelu(values: Array) -> Array:
    """Return x * Phi(x) of each number x, where Phi is the normal distribution."""
    sizes = np.abs(values)
    return np.maximum(values, 0) - sizes * _beyond(sizes)


def normal_distribution(values: Array) -> Array:
    """Return Phi(x) of each number x: how likely a normal variable is to be below it."""
    beyond = _beyond(np.abs(values))
    return np.where(values < 0, beyond, 1 - beyond)


def _beyond(sizes: Array) -> Array:
    return np.interp(sizes, *_normal_tail(), right=0.0).astype(np.float32)


@cache
def _normal_tail() -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return numbers from 0 to `FAR`, and how likely a normal variable is to exceed each."""
    points = np.linspace(0, FAR, NUM_POINTS)
    return points, np.array([math.erfc(point / math.sqrt(2)) / 2 for point in points.tolist()])


def _shape(state: Mapping[str, Array], name: str) -> tuple[int, ...] | None:
    return state[name].shape if name in state else None
