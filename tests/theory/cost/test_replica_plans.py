"""When plans move from shards to replicas: by hand, at the ends, and with a broken step."""

from __future__ import annotations

from fractions import Fraction

import pytest
import sympy

from sparsync.theory.cost import replica_plans
from sparsync.theory.cost.replica_plans import STATEMENTS
from sparsync.theory.cost.sharding import STATEMENTS as SHARDING

ADAM = {"n": 8, "d": 1, "value_bytes": 2, "index_bytes": 4, "state_bytes": 16, "residual_bytes": 4}


def test_by_hand() -> None:
    # κ* = 1/8; of 30 bytes a parameter replicas leave 10, and shards 28.
    assert STATEMENTS["replica_plans"].fraction(memory_bytes=30, **ADAM) == Fraction(1, 8) * Fraction(10, 28)


def test_without_room_for_replicas_no_density_moves_a_plan() -> None:
    assert STATEMENTS["replica_plans"].fraction(memory_bytes=20, **ADAM) == 0
    assert STATEMENTS["replica_plans"].fraction(memory_bytes=3, **ADAM) == 0
    with pytest.raises(ValueError, match="memory_bytes"):
        STATEMENTS["replica_plans"].fraction(memory_bytes=2, **ADAM)


def test_with_much_memory_plans_move_where_an_operator_does() -> None:
    links = {"message_seconds": 0, "byte_seconds": 1}
    sizes = {name: ADAM[name] for name in ("n", "d", "value_bytes", "index_bytes")}
    operator = SHARDING["replica_crossover"].fraction(**sizes, **links)
    plans = STATEMENTS["replica_plans"].fraction(memory_bytes=10**9, **ADAM)
    assert 0 < operator - plans < Fraction(1, 10**7)


def test_no_density_is_above_1() -> None:
    short = {**ADAM, "n": 2, "index_bytes": Fraction(1, 8)}
    assert STATEMENTS["replica_plans"].fraction(memory_bytes=10**3, **short) == 1


@pytest.mark.parametrize(
    ("name", "replacement"),
    [
        ("_left", lambda share: sympy.Integer(1) - share),
        ("_exchanged", lambda share: 2 + share),
        ("_over_room", lambda moving: -moving),
    ],
)
def test_a_broken_step_leaves_a_claim_unproved(name: str, replacement: object, monkeypatch: pytest.MonkeyPatch) -> None:
    statement = STATEMENTS["replica_plans"]
    assert statement.unproved_claims() == ()
    monkeypatch.setattr(replica_plans, name, replacement)
    assert not all(step.holds() for step in statement.derivation)
