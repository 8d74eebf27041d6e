"""Asynchronous parallel: every report is applied when it arrives, and nobody waits for others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sparsync.experiments.engine.policy import Policy, Wake
from sparsync.verify.monitors.guarantee import Guarantee


@dataclass(eq=False)
class Asp(Policy):
    """A worker goes on, from the newest model, as soon as its own report is in it; weights are 1/n.

    Source: Niu, Recht, Ré, Wright 2011; Dean et al. 2012.
    """

    gate_opens_on: ClassVar[Wake] = "own_message"

    def guarantee(self) -> Guarantee:
        """No bound on anybody's lead."""
        return Guarantee(deferral=0)
