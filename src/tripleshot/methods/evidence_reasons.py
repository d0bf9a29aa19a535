"""Evidence in words: what a network that weighs features saw in a pair, and what each kind added to the score."""

import numpy as np
import torch
from torch import Tensor

from tripleshot.connections import find_connections
from tripleshot.evidence_head import EvidenceHead
from tripleshot.graph import KnowledgeGraph
from tripleshot.method import Reason
from tripleshot.methods.evidence import degree_reason, link_reasons, path_text, support_reasons
from tripleshot.methods.evidence_features import GROUPS, Examples
from tripleshot.methods.paths import walk

MAX_NAMED = 3  # paths, or common neighbors


def find_reasons(
    head_network: EvidenceHead, features: Tensor, graph: KnowledgeGraph, examples: Examples, head: int, tail: int
) -> list[Reason]:
    """Name what speaks for and against a tail, the weightiest first.

    The weight of a kind of evidence is how far the score falls if its features were as usual; reasons of one kind share
    it. What is not there, such as a link, is no reason, though its absence may count.
    """
    weights = _weights(head_network, features)
    shares = {
        "link": link_reasons(graph, head, tail, 1.0),
        "path": _path_reasons(graph, examples, head, tail),
        "common": _common_reasons(graph, head, tail),
        "support": support_reasons(graph, examples.support, tail),
        "likeness": [Reason("likeness", f"{graph.entities.label(tail)} is much like the examples' tails", 1.0)],
        "degree": [degree_reason(graph, tail)],
    }
    reasons = [
        Reason(reason.kind, reason.text, weights[kind] / len(found))
        for kind, found in shares.items()
        for reason in found
    ]
    return sorted(reasons, key=lambda reason: -reason.weight)


@torch.inference_mode()
def _weights(head_network: EvidenceHead, features: Tensor) -> dict[str, float]:
    """Return how far the score falls without each kind of evidence."""
    sizes = [len(names) for names in GROUPS.values()]
    without = torch.zeros(len(sizes), len(features), dtype=torch.bool, device=features.device)
    for row, (size, end) in enumerate(zip(sizes, np.cumsum(sizes).tolist(), strict=True)):
        without[row, end - size : end] = True
    lost = head_network(features) - head_network(features.expand(len(sizes), -1), without)
    return dict(zip(GROUPS, lost.tolist(), strict=True))


def _path_reasons(graph: KnowledgeGraph, examples: Examples, head: int, tail: int) -> list[Reason]:
    rules = examples.rules
    walks = walk(graph, head, rules.path_types)
    places = np.searchsorted(rules.path_types, walks.path_types[walks.ends == tail])
    places = places[np.argsort(-rules.confidence[places], kind="stable")][:MAX_NAMED]
    return [Reason("path", path_text(graph, int(rules.path_types[place])), 1.0) for place in places]


def _common_reasons(graph: KnowledgeGraph, head: int, tail: int) -> list[Reason]:
    middles = [found.entities[1] for found in find_connections(graph, head, tail) if len(found.entities) > 2]
    named = [graph.entities.label(middle) for middle in list(dict.fromkeys(middles))[:MAX_NAMED]]
    return [Reason("common", f"both are next to {name}", 1.0) for name in named]
