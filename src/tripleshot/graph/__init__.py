"""The knowledge graph: how it is read, held in memory, indexed and searched."""
