"""Graphs as names again, to compare with what was written."""


def named(graph):
    """Return a graph's triples as names, in order."""
    names, relations = graph.entities.names.to_pylist(), graph.relations.names.to_pylist()
    rows = zip(graph.head_ids, graph.relation_ids, graph.tail_ids, strict=True)
    return [(names[head], relations[relation], names[tail]) for head, relation, tail in rows]
