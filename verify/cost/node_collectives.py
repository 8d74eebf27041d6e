"""What evidence is there for the seconds of collectives inside nodes and between? That of `collectives.py`. Ours."""

from sparsync.verify.cost.collectives import checks_of
from sparsync.verify.tools.edges import Remark, Unneeded
from sparsync.verify.tools.outcome import Check, Grade

CHECKS: dict[str, dict[Grade, Check]] = {
    label: checks_of(label, in_nodes=True) for label in ("hierarchical_all_reduce", "hierarchical_gather")
}
"""Every check of these statements, by label and grade."""

EDGES: dict[str, tuple[Remark, ...]] = {
    "hierarchical_all_reduce": (),
    "hierarchical_gather": (
        Unneeded("k <= node_union_size", "the k coordinates of one worker are among its node's"),
        Unneeded(
            "node_union_size <= k*node_workers", "m workers of k entries select mk coordinates together, or fewer"
        ),
        Unneeded("node_union_size <= union_size", "a node's coordinates are among those of all"),
        Unneeded("union_size <= node_count*node_union_size", "g nodes of u coordinates have gu together, or fewer"),
    ),
}
"""What is beyond each condition."""
