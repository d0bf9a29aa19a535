"""Comparisons, ablations, and the paper's tables and figures."""
