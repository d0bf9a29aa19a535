"""Comparisons under equal conditions, variants of methods, and the paper's tables and figures."""
