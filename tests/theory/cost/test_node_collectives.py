"""Seconds inside nodes and between them: by hand, and where one of the two levels is empty."""

from __future__ import annotations

import pytest
import sympy

from sparsync.theory.cost import node_collectives
from sparsync.theory.statements import STATEMENTS

LINKS = {
    "message_seconds": 10,
    "byte_seconds": 2,
    "inner_message_seconds": 3,
    "inner_byte_seconds": 1,
    "merge_seconds": 1,
}
VALUES = {"d": 24, "value_bytes": 4, **LINKS}
ENTRIES = {"k": 6, "value_bytes": 4, "index_bytes": 3, **LINKS}


def test_two_nodes_of_three_by_hand() -> None:
    # A third of a vector is 32 bytes, a sixth 16; payloads are 42 bytes, nodes' sums 56, all sums 70.
    assert STATEMENTS["hierarchical_all_reduce"].fraction(node_workers=3, node_count=2, **VALUES) == (
        2 * (3 + 32 + 32) + (10 + 16 * 2 + 16) + (10 + 16 * 2) + 2 * (3 + 32)
    )
    assert STATEMENTS["hierarchical_gather"].fraction(
        node_workers=3, node_count=2, node_union_size=8, union_size=10, **ENTRIES
    ) == (2 * (3 + 42 + 42) + (10 + 56 * 2 + 56) + 2 * (3 + 70))


def test_nodes_of_one_worker_are_a_ring() -> None:
    flat = {name: value for name, value in VALUES.items() if not name.startswith("inner")}
    ring = STATEMENTS["ring_all_reduce"].fraction(n=5, **flat)
    assert STATEMENTS["hierarchical_all_reduce"].fraction(node_workers=1, node_count=5, **VALUES) == ring
    entries = {name: value for name, value in ENTRIES.items() if not name.startswith("inner")}
    gather = STATEMENTS["ring_all_gather"].fraction(n=5, **entries)
    unions = {"node_union_size": 6, "union_size": 20}
    assert STATEMENTS["hierarchical_gather"].fraction(node_workers=1, node_count=5, **unions, **ENTRIES) == gather


def test_one_node_is_a_ring_on_its_link() -> None:
    inner = {"message_seconds": 3, "byte_seconds": 1, "merge_seconds": 1}
    ring = STATEMENTS["ring_all_reduce"].fraction(n=4, d=24, value_bytes=4, **inner)
    assert STATEMENTS["hierarchical_all_reduce"].fraction(node_workers=4, node_count=1, **VALUES) == ring


@pytest.mark.parametrize(("node_union", "union"), [(5, 9), (19, 19), (8, 7), (8, 17)])
def test_unions_that_cannot_be_are_refused(node_union: int, union: int) -> None:
    sizes = {"node_union_size": node_union, "union_size": union}
    with pytest.raises(ValueError, match="is violated by"):
        STATEMENTS["hierarchical_gather"].fraction(node_workers=3, node_count=2, **sizes, **ENTRIES)


@pytest.mark.parametrize(
    ("label", "name", "replacement"),
    [
        ("hierarchical_all_reduce", "_added_parts", lambda: sympy.Integer(1)),
        ("hierarchical_gather", "rounds", lambda count, size, **_: count * size),
    ],
)
def test_a_broken_count_leaves_a_claim_unproved(
    label: str, name: str, replacement: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node_collectives, name, replacement)
    fresh = getattr(node_collectives, label)()
    assert fresh.unproved_claims() != ()
