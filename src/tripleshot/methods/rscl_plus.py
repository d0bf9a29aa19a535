"""`rscl+`: RSCL that also weighs evidence: contexts see what is like the examples, evidence what joins two entities."""

from dataclasses import replace
from typing import Any

import numpy as np

from tripleshot.config import PLUS_PRESETS, plus
from tripleshot.csr import IntArray
from tripleshot.errors import InputError
from tripleshot.method import Reason
from tripleshot.methods.evidence_reasons import find_reasons
from tripleshot.methods.rscl import RSCLMethod, RSCLSettings


class RSCLPlusMethod(RSCLMethod):
    """RSCL with evidence; the weights of its reasons add up to the score."""

    presets = PLUS_PRESETS

    def __init__(self, settings: RSCLSettings | None = None, device: str = "cpu") -> None:
        """Choose settings, the fast preset by default; the network is made when the dataset is known."""
        super().__init__(settings or plus(), device)
        if not self.settings.evidence:
            raise InputError("rscl+ without evidence is rscl: train that instead")

    @classmethod
    def with_settings(cls, settings: dict[str, Any], device: str = "cpu") -> "RSCLPlusMethod":
        """Make the method from settings as a run keeps them; those that are not given are its own."""
        return cls(replace(plus(), **settings), device)

    def explain(self, support: IntArray, head: int, tail: int) -> list[Reason]:
        """Name what speaks for and against a tail, the weightiest first."""
        assert self.module.evidence is not None
        assert self.features is not None
        evidence = self.module.evidence
        found = find_reasons(evidence, self.features, self.examples_of(support), head, tail)
        if self.settings.reads_contexts:
            score = float(self.reader.score(support, head, np.array([tail]))[0])
            weight = float(evidence.trust.detach().exp()) * score
            found.append(Reason("context", "what is around both is like what is around the examples", weight))
        return sorted(found, key=lambda reason: -reason.weight)
