"""The knowledge graph: how it is read, held in memory, indexed and searched."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tripleshot.graph.knowledge_graph import KnowledgeGraph
    from tripleshot.graph.readers import read_graph
    from tripleshot.graph.types import EntityTypes

__all__ = ["EntityTypes", "KnowledgeGraph", "read_graph"]

MODULES = {
    "EntityTypes": "tripleshot.graph.types",
    "KnowledgeGraph": "tripleshot.graph.knowledge_graph",
    "read_graph": "tripleshot.graph.readers",
}


def __getattr__(name: str) -> object:
    """Import the module of a public name when it is first asked for: Arrow takes longer than all the rest."""
    if name not in MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(MODULES[name]), name)
