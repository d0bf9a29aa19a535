"""The paper's tables and figures, from our own data and results."""
