"""What evidence is there for the seconds of collectives inside nodes and between? That of `collectives.py`. Ours."""

from sparsync.verify.cost.collectives import checks_of
from sparsync.verify.tools.outcome import Check, Grade

CHECKS: dict[str, dict[Grade, Check]] = {
    label: checks_of(label, in_nodes=True) for label in ("hierarchical_all_reduce", "hierarchical_gather")
}
"""Every check of these statements, by label and grade."""
