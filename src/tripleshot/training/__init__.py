"""The trainer, its budget, and runs on disk."""
