"""Averaging of weights: single weights of a training move by its last batches, their average does not."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn

EVERY = 10  # steps, so that a large table of embeddings is not gone through at each
LATEST = 1 / 3  # of the steps so far: the average looks back no further, as the first weights are the worst


class WeightAverage:
    """The exponential moving average of what a network learns; at first it forgets faster."""

    def __init__(self, module: nn.Module, decay: float, frozen: Sequence[nn.Parameter] = ()) -> None:
        """Begin with the weights of now.

        Args:
            module: of its weights those are averaged that learn.
            decay: how much of the average is left after a step; 0 keeps no average.
            frozen: weights that are about to stay as they are.
        """
        self.decay = decay
        fixed = {id(weight) for weight in frozen}
        learning = ((name, weight) for name, weight in module.named_parameters() if weight.requires_grad)
        self._parameters = {name: weight for name, weight in learning if decay and id(weight) not in fixed}
        self._averages = {name: weight.detach().clone() for name, weight in self._parameters.items()}

    @property
    def values(self) -> Mapping[str, Tensor]:
        """The averages by the names of their weights, to be saved and filled."""
        return self._averages

    def update(self, step: int) -> None:
        """Take in the weights as they are after so many steps."""
        if not self._averages or step % EVERY:
            return
        share = max(1 - self.decay**EVERY, EVERY / (EVERY + step * LATEST))
        with torch.no_grad():
            for name, average in self._averages.items():
                average.lerp_(self._parameters[name], share)

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Let the network have the averages for its weights, until the block is over."""
        self._swap()
        try:
            yield
        finally:
            self._swap()

    def _swap(self) -> None:
        for name, weight in self._parameters.items():
            weight.data, self._averages[name] = self._averages[name], weight.data
