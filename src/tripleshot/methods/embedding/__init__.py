"""Embedding models: one vector or matrix for each relation."""
