"""Rings of parts by hand, and a ring that ends without what it needs."""

from __future__ import annotations

from fractions import Fraction

import pytest

from sparsync.verify.cost.simulated import shards
from sparsync.verify.cost.simulated.shards import (
    Choice,
    Network,
    all_gathered,
    kept_choice,
    operator_plans,
    passed_parts,
    reduce_scattered,
)

NETWORK = Network(3, Fraction(1), Fraction(1, 2), 4)


def test_rings_by_hand() -> None:
    assert reduce_scattered([[1, 2], [10, 20]]) == ([11, 22], 1)
    assert all_gathered([5, 6, 7]) == ([[5, 6, 7]] * 3, 2)
    assert reduce_scattered([[4]]) == ([4], 0)


@pytest.mark.parametrize("devices", range(1, 7))
def test_a_replica_takes_two_passes_and_a_shard_three(devices: int) -> None:
    assert passed_parts(devices, "replicated") == 2 * (devices - 1)
    assert passed_parts(devices, "sharded") == 3 * (devices - 1)


def test_a_ring_that_ends_without_the_sum_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(shards, "reduce_scattered", lambda vectors: ([0] * len(vectors), 1))
        with pytest.raises(ValueError, match="3 devices end with"):
            passed_parts(3, "replicated")
    monkeypatch.setattr(shards, "all_gathered", lambda _parts: ([[0]], 1))
    with pytest.raises(ValueError, match="3 devices end with"):
        passed_parts(3, "sharded")


def test_an_operator_by_hand() -> None:
    # A part of 5 values is 20 bytes and takes 11 s.
    assert kept_choice(NETWORK, 5, 16, "replicated") == Choice(Fraction(240), Fraction(44))
    assert kept_choice(NETWORK, 5, 16, "sharded") == Choice(Fraction(80), Fraction(66))
    assert operator_plans(NETWORK, (5, 5), 16)[1] == Choice(Fraction(320), Fraction(110))
