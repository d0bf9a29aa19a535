"""What a method that learns has beside `score`: a network, stages of training as data, and weights that it takes back.

Methods know no trainer and no folder. `training.fit` runs their stages; `training.runs` reads and writes what is kept.
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, Self, TypeVar

import numpy as np
import numpy.typing as npt

from tripleshot.arrays import FloatArray, IntArray
from tripleshot.datasets.dataset import FewShotDataset
from tripleshot.errors import InputError
from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.graph.vocabulary import Vocabulary
from tripleshot.methods.settings import OptimizerKind, Schedule, TrainingSettings

if TYPE_CHECKING:  # nobody waits for torch who asks a method without a network
    import torch
    from torch import Tensor, nn

WEIGHTS = "weights.safetensors"  # the best weights of a run
UNIVERSAL_NAME = "universal"
UNIVERSAL = Path(str(files("tripleshot") / "data" / "universal"))  # the run that comes with the package
PRETRAINED = "pretrained.safetensors"  # the weights between pre-training and episodes

Losses = dict[str, "Tensor"]
LossFunction = Callable[[int, np.random.Generator], Losses]
Framework = Literal["np", "pt"]
"""What weights are read as: arrays of numpy, or tensors of torch."""
StartKind = Literal["nothing", "vectors", "weights", "network", "pre-training"]
"""What the setting `pretrained` names: nothing; a run of an embedding method whose vectors are taken; a run of a method
of the same family whose weights are taken, which belong to its names; a run on whatever graph whose network is taken,
since it knows no names; or a run whose weights after pre-training are taken."""


@dataclass(frozen=True)
class Stage:
    """One phase of training, with optimizers of its own.

    Attributes:
        name: for the log.
        losses: given the step and the random generator, returns named losses; their sum is minimised.
        steps: how many.
        learning_rate: of the optimizer, at its height.
        schedule: how it goes down.
        warmup: steps over which it rises.
        validates: whether the valid tasks decide which weights are kept.
        validates_first: whether the weights that it starts from are among those to choose from.
        keep_as: the file in which the weights are kept when the stage is over; empty keeps none.
        optimizer: what updates the weights.
        finish: is called after the last step, before the weights are kept.
        frozen: weights that stay as they are.
    """

    name: str
    losses: LossFunction
    steps: int
    learning_rate: float
    schedule: Schedule = "stepwise"
    warmup: int = 200
    validates: bool = False
    validates_first: bool = False
    keep_as: str = ""
    optimizer: OptimizerKind = "adam"
    finish: Callable[[], None] | None = None
    frozen: "Sequence[nn.Parameter]" = ()


@dataclass(frozen=True, eq=False)
class TrainedNames:
    """The names that weights were trained on, in the order of their ids."""

    entities: Vocabulary
    relations: Vocabulary

    def fits(self, graph: KnowledgeGraph) -> bool:
        """Tell whether a graph has the same names with the same ids."""
        return self.begins(graph) and len(self.relations) == graph.num_relations

    def begins(self, graph: KnowledgeGraph) -> bool:
        """Tell whether a graph has the same names with the same ids, and perhaps more relations after them."""
        same_entities = self.entities.names.equals(graph.entities.names)
        return same_entities and self.relations.names.equals(graph.relations.names[: len(self.relations)])


@dataclass(frozen=True, eq=False)
class TrainedWeights:
    """Weights of a run, and the names that they belong to.

    Attributes:
        read: returns them by name, as the network's `state_dict` names them. Whoever takes arrays never waits for
            torch, and of tensors only what is looked at takes memory.
        names: None for a run that keeps none.
        source: where they come from, for messages.
        pretrained: what the run had learned before its last stage, if that is still there.
        settings: of the run, where they are known.
    """

    read: Callable[[Framework], Mapping[str, Any]]
    names: TrainedNames | None
    source: str
    pretrained: "TrainedWeights | None" = None
    settings: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, values: "Mapping[str, npt.NDArray | Tensor]", names: TrainedNames | None, source: str) -> Self:
        """Take weights that are in memory, as arrays or as tensors."""

        def read(framework: Framework) -> Mapping[str, Any]:
            if framework == "np":
                arrays = (
                    value if isinstance(value, np.ndarray) else value.numpy(force=True) for value in values.values()
                )
                return dict(zip(values, arrays, strict=True))
            import torch

            return {name: torch.as_tensor(value) for name, value in values.items()}

        return cls(read, names, source)

    @cached_property
    def tensors(self) -> "Mapping[str, Tensor]":
        """The weights as tensors, by name."""
        return self.read("pt")

    @cached_property
    def arrays(self) -> Mapping[str, npt.NDArray]:
        """The weights as arrays, by name."""
        return self.read("np")

    def split(self, prefix: str) -> "tuple[TrainedWeights, TrainedWeights]":
        """Return the weights of a part of the network, whose names begin so, without the prefix, and the others."""
        inside = {name.removeprefix(prefix): value for name, value in self.tensors.items() if name.startswith(prefix)}
        outside = {name: value for name, value in self.tensors.items() if not name.startswith(prefix)}
        of_part, of_others = (TrainedWeights.of(part, self.names, self.source) for part in (inside, outside))
        return of_part, of_others

    def num_rows(self, name: str) -> int:
        """Return how many rows some weights have: what a network was made for is not always in its settings."""
        if name not in self.tensors:
            raise InputError(f"{self.source}: has no weights called {name}: they are of another method")
        return len(self.tensors[name])

    def load_into(
        self, module: "nn.Module", rows: Mapping[str, IntArray] | None = None, only_own: bool = False
    ) -> None:
        """Put the weights into a network.

        Args:
            module: which they fit, or fit once `rows` are taken.
            rows: by the name of the weights, the rows to take.
            only_own: the weights may be more than the network has: an ablation starts from the whole network's.
        """
        import torch

        state = dict(self.tensors)
        try:
            for part, taken in (rows or {}).items():
                state[part] = state[part][torch.from_numpy(taken)]
            if only_own:
                state = {part: state[part] for part in module.state_dict() if part in state}
            module.load_state_dict(state)
        except (KeyError, IndexError, RuntimeError) as error:
            reason = str(error).splitlines()[-1].strip()
            raise InputError(f"{self.source}: belongs to another configuration: {reason}") from None


@dataclass(frozen=True, eq=False)
class Vectors:
    """One vector for each entity and relation of a graph, for a method to start from; zero for an unknown name.

    Attributes:
        entities: shape (num_entities, d).
        relations: shape (2 * num_relations, d), the background relations and then their inverses.
        source: where they come from, for messages.
    """

    entities: npt.NDArray[np.float32]
    relations: npt.NDArray[np.float32]
    source: str


SettingsType = TypeVar("SettingsType", bound=TrainingSettings)
ModuleType = TypeVar("ModuleType", bound="nn.Module")


class TrainableMethod(ABC, Generic[SettingsType, ModuleType]):
    """A method that learns in stages.

    Attributes:
        Settings: the class of its settings.
        presets: functions that return settings to start from, by name; `fast` is the usual one, `tiny` is for tests.
        starts_from: what its setting `pretrained` names.
        knows_names: whether its weights belong to the names of a graph; otherwise they serve any graph.
        settings: what it was made with.
        module: the network, made by `prepare`.
        graph: what it looks at, known from `prepare` on.
    """

    Settings: ClassVar[Any]
    presets: ClassVar[Mapping[str, Callable[[], Any]]]
    starts_from: ClassVar[StartKind] = "nothing"
    knows_names: ClassVar[bool] = True
    settings: SettingsType
    module: ModuleType
    graph: KnowledgeGraph

    def __init__(self, settings: SettingsType | None = None, device: str = "cpu") -> None:
        """Choose settings, the fast preset by default."""
        self.settings = settings or self.presets["fast"]()
        self._device_name = device
        if device != "cpu":
            find_device(device)

    @classmethod
    def with_settings(cls, settings: dict[str, Any], device: str = "cpu") -> Self:
        """Make the method from settings as a run keeps them."""
        return cls(cls.Settings(**settings), device)

    @cached_property
    def device(self) -> "torch.device":
        """Where it computes."""
        return find_device(self._device_name)

    @property
    def is_on_cpu(self) -> bool:
        """Whether it computes on the processor, for which a method may need no torch at all."""
        return self._device_name == "cpu" or self.device.type == "cpu"

    @abstractmethod
    def prepare(self, dataset: FewShotDataset, shots: int) -> None:
        """Look at the graph and make an untrained network for the names of a dataset."""

    def start_from(self, start: Vectors | TrainedWeights) -> None:
        """Take what another run has learned, as `starts_from` says, in place of the random start."""
        raise InputError(f"{type(self).__name__} starts from nothing but its seed")

    @classmethod
    def paper_init(cls, settings: SettingsType) -> str:
        """Return the embedding method whose vectors it starts from in its paper, by name; empty for a random start."""
        return ""

    @abstractmethod
    def stages(self) -> list[Stage]:
        """Return what training goes through, on the dataset that the method was prepared with."""

    @abstractmethod
    def score(self, support: IntArray, head: int, tails: IntArray) -> FloatArray:
        """Score tails for a head by the examples."""

    @abstractmethod
    def restore(self, dataset: FewShotDataset, weights: TrainedWeights) -> None:
        """Take the weights of a run; names that the run has never seen are those of the dataset that it was not on."""

    def state(self) -> "Mapping[str, npt.NDArray | Tensor]":
        """Return the weights as they are now, by name; `restore` takes them back."""
        return self.module.state_dict()

    def clear_cache(self) -> None:
        """Drop what was computed with weights that have changed since."""

    @property
    def clip(self) -> float:
        """Largest gradient norm; 0 does not clip."""
        return self.settings.clip

    def stage(self, name: str, losses: LossFunction, validates: bool, optimizer: OptimizerKind = "adam") -> Stage:
        """Return a stage with the steps, rate and schedule of the settings."""
        settings = self.settings
        plan = (settings.steps, settings.learning_rate, settings.schedule, settings.warmup)
        return Stage(name, losses, *plan, validates=validates, optimizer=optimizer)


def find_device(name: str) -> "torch.device":
    """Return a device that is there, ready for training: a name that torch knows may still be none of this machine."""
    import torch

    # Batches have a new shape at every step, and oneDNN keeps a kernel for each of the last 1,024 shapes: many
    # gigabytes. It reads this when it is first used.
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "32")
    try:
        torch.empty(0, device=name)
    except (RuntimeError, AssertionError) as error:
        raise InputError(f"device {name!r} cannot be used here: {str(error).splitlines()[0]}") from None
    return torch.device(name)
