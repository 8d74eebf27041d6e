"""The learning systems by name: one line each."""

from __future__ import annotations

from sparsync.experiments.learning import federated, kfac_training, self_paced_system, split
from sparsync.experiments.parties.party import System

SYSTEMS: dict[str, System] = {
    "kfac": kfac_training.SYSTEM,
    "split": split.SYSTEM,
    "federated": federated.SYSTEM,
    "spl": self_paced_system.SYSTEM,
}
"""By the name that `--system` takes."""
