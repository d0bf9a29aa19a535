"""What it takes to get the same figures again: the command, the source, the machine."""

import os
import platform
from importlib.metadata import version
from typing import Any

import torch

from tripleshot.evaluation.results import command, commit


def circumstances() -> dict[str, Any]:
    """Return what is running here and now."""
    return {
        "command": command(),
        "commit": commit(),
        "version": version("tripleshot"),
        "machine": {
            "processor": platform.processor() or platform.machine(),
            "cores": os.cpu_count(),
            "threads": torch.get_num_threads(),
            "python": platform.python_version(),
            "torch": version("torch"),
        },
    }
