"""The learning systems by name: one line each."""

from __future__ import annotations

from sparsync.experiments.learning.federated import FEDERATED
from sparsync.experiments.learning.party import System

SYSTEMS: dict[str, System] = {
    "federated": FEDERATED,
}
"""By the name that `--system` takes."""
