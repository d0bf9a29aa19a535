"""Native code, compiled or found where all tests keep it, before a test has a home of its own."""

from tripleshot.methods.evidence.native import structures
from tripleshot.methods.rscl import native, packed_attention


def load_native_code() -> None:
    """Load all of it; this process then asks no home for it."""
    for module in (structures, native, packed_attention):
        module.library()
