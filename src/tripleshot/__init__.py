"""Few-shot knowledge graph completion: a graph, a new relation, K examples; ranked answers with reasons.

>>> import tripleshot as ts
>>> graph = ts.read_graph([("Baku", "capital of", "Azerbaijan"), ("Riga", "capital of", "Latvia")])
>>> print(ts.Predictor(graph).predict("Baku", examples=[("Riga", "Latvia")], k=1)["Baku"][0].label)
Azerbaijan
"""

import logging
from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from tripleshot.errors import InputError, InputWarning, TripleshotError

if TYPE_CHECKING:
    from tripleshot.answering.answers import Answers
    from tripleshot.answering.explanation import Explanation
    from tripleshot.answering.loading import load
    from tripleshot.answering.models import train
    from tripleshot.answering.predictor import Predictor
    from tripleshot.datasets.catalog import load_dataset
    from tripleshot.datasets.dataset import FewShotDataset, Task
    from tripleshot.datasets.splitting import make_dataset
    from tripleshot.evaluation.protocol import Evaluation, evaluate
    from tripleshot.experiments.comparison import compare
    from tripleshot.experiments.comparison_table import Comparison
    from tripleshot.graph.knowledge_graph import KnowledgeGraph
    from tripleshot.graph.readers import read_graph
    from tripleshot.methods import list_methods
    from tripleshot.methods.protocol import Method

__version__ = version("tripleshot")

logging.getLogger(__name__).addHandler(logging.NullHandler())  # what is said is shown by who installs a handler

__all__ = [
    "Answers",
    "Comparison",
    "Evaluation",
    "Explanation",
    "FewShotDataset",
    "InputError",
    "InputWarning",
    "KnowledgeGraph",
    "Method",
    "Predictor",
    "Task",
    "TripleshotError",
    "__version__",
    "compare",
    "evaluate",
    "list_methods",
    "load",
    "load_dataset",
    "make_dataset",
    "read_graph",
    "train",
]

_PLACES = {
    "Answers": "answering.answers",
    "Comparison": "experiments.comparison_table",
    "Evaluation": "evaluation.protocol",
    "Explanation": "answering.explanation",
    "FewShotDataset": "datasets.dataset",
    "KnowledgeGraph": "graph.knowledge_graph",
    "Method": "methods.protocol",
    "Predictor": "answering.predictor",
    "Task": "datasets.dataset",
    "compare": "experiments.comparison",
    "evaluate": "evaluation.protocol",
    "list_methods": "methods",
    "load": "answering.loading",
    "load_dataset": "datasets.catalog",
    "make_dataset": "datasets.splitting",
    "read_graph": "graph.readers",
    "train": "answering.models",
}
"""Where each public name is defined; it is imported when it is first used, so that nobody waits for what they do not
use."""


def __getattr__(name: str) -> Any:  # noqa: ANN401 (whatever has that name)
    if name not in _PLACES:
        raise AttributeError(f"module 'tripleshot' has no attribute {name!r}")
    found = getattr(import_module(f"tripleshot.{_PLACES[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
