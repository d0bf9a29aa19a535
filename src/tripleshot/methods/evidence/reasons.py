"""Evidence in words: what a network that weighs features saw in a pair, and what each kind added to the score."""

import numpy as np
import torch

from tripleshot import arrays
from tripleshot.graph.connections import find_connections
from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.methods.evidence.baselines import link_reasons, path_reasons, support_reasons
from tripleshot.methods.evidence.evidence_head import EvidenceHead
from tripleshot.methods.evidence.features import EvidenceFeatures, Examples
from tripleshot.methods.evidence.path_rules import MAX_MIDDLE_DEGREE
from tripleshot.methods.protocol import Reason

MAX_NAMED = 3  # paths, or common neighbors


def find_reasons(
    network: EvidenceHead, evidence: EvidenceFeatures, examples: Examples, head: int, tail: int
) -> list[Reason]:
    """Name what speaks for and against a tail; the weights add up to the network's score.

    Reasons of one kind share what that kind adds. What is missing, such as a link, is a reason as well.
    """
    graph = evidence.graph
    first, last = graph.entities.label(head), graph.entities.label(tail)
    paths = sorted(path_reasons(graph, examples.rules, head, tail), key=lambda path: -path.weight)[:MAX_NAMED]
    found = {
        "link": link_reasons(graph, head, tail, 1.0) or [Reason("link", f"no edge joins {first} and {last}", 1.0)],
        "path": paths or [Reason("path", "no path that examples share", 1.0)],
        "common": _common_reasons(graph, head, tail) or [Reason("common", "no neighbor in common", 1.0)],
        "walk": [_walk_reason(graph, head, tail)],
        "support": support_reasons(graph, examples.support, tail) or [Reason("support", "no example has it", 1.0)],
        "likeness": [Reason("likeness", f"how much {last} is like the examples' tails", 1.0)],
        "text": [Reason("text", f"how much {last} is called like the examples' tails, or like {first}", 1.0)],
        "start": [Reason("start", "where every answer to this question starts", 1.0)],
    }
    weights = _weights(network, evidence, examples, head, tail)
    return [
        Reason(reason.kind, reason.text, weight / len(found[kind]))
        for kind, weight in weights.items()
        for reason in found[kind]
    ]


@torch.inference_mode()
def _weights(
    network: EvidenceHead, evidence: EvidenceFeatures, examples: Examples, head: int, tail: int
) -> dict[str, float]:
    """Return what each kind of evidence adds to the score, and under "start" what is there without any.

    Kinds are taken away one after the other, in their order and in the opposite one, and the mean of both
    counts: what two kinds say together is theirs by halves.
    """
    found = torch.from_numpy(evidence.of(examples, np.array([head]), np.array([tail])))[0]
    features = found.to(network.mean.device)
    sizes = [len(names) for names in evidence.kinds.groups.values()]
    ends = np.cumsum(sizes)
    kinds = np.zeros((len(sizes), len(features)), dtype=bool)
    for row, (size, end) in enumerate(zip(sizes, ends, strict=True)):
        kinds[row, end - size : end] = True
    forth = np.concatenate([np.zeros_like(kinds[:1]), np.logical_or.accumulate(kinds)])
    back = np.concatenate([np.zeros_like(kinds[:1]), np.logical_or.accumulate(kinds[::-1])])
    scores = [
        network(features.expand(len(without), -1), torch.from_numpy(without).to(features.device)).double().cpu()
        for without in (forth, back)
    ]
    lost = (-scores[0].diff() - scores[1].diff().flip(0)) / 2
    return {**dict(zip(evidence.kinds.groups, lost.tolist(), strict=True)), "start": float(scores[0][-1])}


def _walk_reason(graph: KnowledgeGraph, head: int, tail: int) -> Reason:
    """Name the weightiest walk of three steps: the one past entities with the fewest edges."""
    adjacency, degrees = graph.adjacency, graph.degrees
    first = np.setdiff1d(adjacency.edges(head)[1], [head, tail])
    first = first[degrees[first] <= MAX_MIDDLE_DEGREE]
    positions, owners = arrays.expand(adjacency.offsets, first)
    last = adjacency.entities[positions]
    there = np.isin(last, np.setdiff1d(adjacency.edges(tail)[1], [head]))
    if not there.any():
        return Reason("walk", "no three steps lead to it", 1.0)
    first, last = first[owners[there]], last[there]
    best = np.argmin(degrees[first] * degrees[last])
    names = [graph.entities.label(int(walked[best])) for walked in (first, last)]
    return Reason("walk", f"three steps lead to it, by way of {names[0]} and {names[1]}", 1.0)


def _common_reasons(graph: KnowledgeGraph, head: int, tail: int) -> list[Reason]:
    middles = [found.entities[1] for found in find_connections(graph, head, tail) if len(found.entities) > 2]
    named = [graph.entities.label(middle) for middle in list(dict.fromkeys(middles))[:MAX_NAMED]]
    return [Reason("common", f"both are next to {name}", 1.0) for name in named]
