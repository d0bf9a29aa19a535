"""`rscl+`: RSCL that also weighs evidence: contexts see what is like the examples, evidence what joins two entities."""

from typing import Any

from tripleshot.config import PLUS_PRESETS, RSCLSettings, plus
from tripleshot.methods.rscl import RSCLMethod


class RSCLPlusMethod:
    """Makes RSCL with evidence: it stands where a class of methods stands."""

    Settings = RSCLSettings
    presets = PLUS_PRESETS

    def __new__(cls, settings: RSCLSettings | None = None, device: str = "cpu") -> RSCLMethod:
        """Return RSCL with the settings of `rscl+`, unless others are given."""
        return RSCLMethod(settings or plus(), device)

    @classmethod
    def with_settings(cls, settings: dict[str, Any], device: str = "cpu") -> RSCLMethod:
        """Make the method from settings as a run keeps them."""
        return RSCLMethod(RSCLSettings(**settings), device)
