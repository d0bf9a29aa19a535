"""The protocol, metrics, calibration and results."""
