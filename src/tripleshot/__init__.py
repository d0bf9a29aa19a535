"""Few-shot knowledge graph completion: a graph, a new relation, K examples; ranked answers with reasons."""

from tripleshot.answer_files import write_answers
from tripleshot.answering import Answer, Answerer, answer
from tripleshot.catalog import fetch_dataset, load_dataset
from tripleshot.dataset import FewShotDataset, Task
from tripleshot.dataset_files import content_hash, save_dataset
from tripleshot.errors import InputError, InputWarning, TripleshotError
from tripleshot.evaluation import evaluate, summarize
from tripleshot.graph import EntityTypes, KnowledgeGraph
from tripleshot.making import SplittingRule, make_dataset
from tripleshot.method import Method, Reason
from tripleshot.methods import METHODS, make_method
from tripleshot.readers import read_graph

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
    "SplittingRule",
    "Task",
    "TripleshotError",
    "answer",
    "content_hash",
    "evaluate",
    "fetch_dataset",
    "load_dataset",
    "make_dataset",
    "make_method",
    "read_graph",
    "save_dataset",
    "summarize",
    "write_answers",
]
