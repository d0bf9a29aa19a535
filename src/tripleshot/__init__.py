"""Few-shot knowledge graph completion: a graph, a new relation, K examples; ranked answers with reasons."""
