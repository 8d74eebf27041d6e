"""The learning systems by name: one line each."""

from __future__ import annotations

from sparsync.experiments.learning.kfac_training import KFAC
from sparsync.experiments.learning.party import System

SYSTEMS: dict[str, System] = {"kfac": KFAC}
"""By the name that `--system` takes."""
