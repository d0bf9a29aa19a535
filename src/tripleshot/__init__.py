"""Few-shot knowledge graph completion: a graph, a new relation, K examples; ranked answers with reasons."""

from tripleshot.answering.export import write_answers
from tripleshot.answering.predictor import Answer, Answerer, answer
from tripleshot.datasets.catalog import load_dataset
from tripleshot.datasets.dataset import FewShotDataset, Task
from tripleshot.datasets.splitting import make_dataset
from tripleshot.errors import InputError, InputWarning, TripleshotError
from tripleshot.evaluation.protocol import evaluate, summarize
from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.graph.readers import read_graph
from tripleshot.graph.types import EntityTypes
from tripleshot.methods import METHODS, create_method
from tripleshot.methods.protocol import Method, Reason

__all__ = [
    "METHODS",
    "Answer",
    "Answerer",
    "EntityTypes",
    "FewShotDataset",
    "InputError",
    "InputWarning",
    "KnowledgeGraph",
    "Method",
    "Reason",
    "Task",
    "TripleshotError",
    "answer",
    "create_method",
    "evaluate",
    "load_dataset",
    "make_dataset",
    "read_graph",
    "summarize",
    "write_answers",
]
