"""Turns openly licensed reference packages into Atlas, the graph of places that ships with tripleshot."""
