"""How well answers are ranked: the protocol, metrics, calibration, and results as files."""
