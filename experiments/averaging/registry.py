"""The collectives by name: one line each; which arguments they take is in `Place`."""

from __future__ import annotations

from collections.abc import Callable

from sparsync.experiments.averaging.automatic import automatic
from sparsync.experiments.averaging.balanced import balanced
from sparsync.experiments.averaging.dense import dense, dense_bfloat16
from sparsync.experiments.averaging.envelope import Body, in_envelope
from sparsync.experiments.averaging.hierarchical import hierarchical
from sparsync.experiments.averaging.messages import Place, Procedure
from sparsync.experiments.averaging.sparse import sparse

COLLECTIVES: dict[str, Callable[[Place], Body]] = {
    "sparse": sparse,
    "dense": dense,
    "dense_bfloat16": dense_bfloat16,
    "balanced": balanced,
    "hierarchical": hierarchical,
    "auto": automatic,
}
"""By name, what makes a worker's side of a collective from its place."""


WHOLE = ("dense", "dense_bfloat16")
"""Those that send whole vectors, of which headers have no checksum of entries."""


def procedure(name: str, place: Place) -> Procedure:
    """A worker's side of a collective, headers included."""
    return in_envelope(name, COLLECTIVES[name](place), place, sends_entries=name not in WHOLE)


def require_collective(name: str, node_size: int) -> None:
    """Refuse what no collective can be made of.

    Raises:
        ValueError: there is no such collective, or a node of no workers.
    """
    if name not in COLLECTIVES:
        raise ValueError(f"unknown collective {name!r}; known: {', '.join(COLLECTIVES)}")
    if node_size < 1:
        raise ValueError(f"node_size must be at least 1, got {node_size}")
