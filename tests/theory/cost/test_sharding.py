"""Sharding by hand, and with a broken count."""

from __future__ import annotations

from fractions import Fraction

import pytest
import sympy

from sparsync.theory.cost import sharding
from sparsync.theory.language.symbols import message_seconds, n
from sparsync.theory.statements import STATEMENTS

LINK = {"message_seconds": Fraction(1, 10), "byte_seconds": Fraction(1, 100)}
OPERATOR = {"n": 4, "d": 100, "value_bytes": 2, **LINK}


def test_laws_by_hand() -> None:
    assert STATEMENTS["sharding_traffic"].fraction(n=4) == Fraction(3, 2)
    # A part of 25 values is 50 bytes and takes 0.6 s; 3 messages a pass.
    assert STATEMENTS["rounded_relaxation"].fraction(**OPERATOR) == 3 * Fraction(6, 10)
    # 1.8 s are saved by 75 parameters more of 16 bytes each.
    assert STATEMENTS["replica_saving"].fraction(state_bytes=16, **OPERATOR) == Fraction(18, 10) / (75 * 16)
    # 3·6·κ s for 100κ entries of 6 bytes, and 3 messages, are 3 passes of 1.8 s.
    density = STATEMENTS["replica_crossover"].fraction(index_bytes=4, **OPERATOR)
    assert 3 * (Fraction(1, 10) + 100 * density * 6 * Fraction(1, 100)) == 3 * 3 * Fraction(6, 10)


def test_what_may_be_sent_of_a_replica_falls_with_the_number_of_devices() -> None:
    numbers = {**OPERATOR, "message_seconds": 0, "index_bytes": 4, "value_bytes": 4}
    densities = [STATEMENTS["replica_crossover"].fraction(**{**numbers, "n": devices}) for devices in (2, 8, 64)]
    assert densities == [Fraction(3, 4), Fraction(3, 16), Fraction(3, 128)]


def test_of_a_small_operator_on_a_slow_network_a_replica_may_send_all_entries() -> None:
    numbers = {**OPERATOR, "index_bytes": 4}
    assert STATEMENTS["replica_crossover"].fraction(**{**numbers, "d": 4}) == 1
    # 3 · 2/(2 · 3) + …: with short positions as well.
    assert STATEMENTS["replica_crossover"].fraction(**{**numbers, "n": 2, "index_bytes": 1}) == 1
    with pytest.raises(ValueError, match="n >= 2"):
        STATEMENTS["replica_crossover"].fraction(**{**numbers, "n": 1})


def test_a_small_operator_is_worth_more_memory_than_a_large_one() -> None:
    small, large = (
        STATEMENTS["replica_saving"].fraction(state_bytes=16, **{**OPERATOR, "d": size}) for size in (4, 4_000_000)
    )
    assert (
        small
        > large
        > STATEMENTS["replica_saving"].fraction(state_bytes=16, **{**OPERATOR, "message_seconds": 0})
        * (1 - Fraction(1, 1000))
    )


def test_throughput_by_hand() -> None:
    numbers = {"sample_bytes": 10, "least_exchange_seconds": 6, "least_state_bytes": 40, "memory_bytes": 70}
    # Three samples a device: 6 s of exchange and 3 of computing for 12 samples.
    assert STATEMENTS["sharded_throughput"].fraction(n=4, sample_seconds=1, **numbers) == Fraction(12, 9)
    with pytest.raises(ValueError, match="least_state_bytes"):
        STATEMENTS["sharded_throughput"].fraction(n=4, sample_seconds=1, **{**numbers, "memory_bytes": 40})


@pytest.mark.parametrize(
    ("label", "name", "replacement"),
    [
        ("sharding_traffic", "sharded_seconds", lambda: 2 * sharding._replicated()),
        ("sharding_traffic", "_pass", lambda: n * message_seconds),
        ("replica_crossover", "gathered_seconds", lambda density: n * density),
        ("replica_saving", "_replicated", lambda: sharding._pass()),
        ("divided_choices", "_moved", lambda *_: sympy.Integer(1)),
        ("divided_choices", "_most_left", lambda: sympy.Integer(3)),
        ("rounded_relaxation", "sharded_seconds", lambda: 4 * sharding._pass()),
        ("sharded_throughput", "_rate", lambda batch: n / batch),
    ],
)
def test_a_broken_count_leaves_a_claim_unproved(
    label: str, name: str, replacement: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert STATEMENTS[label].unproved_claims() == ()
    monkeypatch.setattr(sharding, name, replacement)
    assert not all(step.holds() for step in STATEMENTS[label].derivation)
