"""Relation-specific context learning, the paper's model."""
