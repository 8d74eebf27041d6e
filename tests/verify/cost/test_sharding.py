"""Sharding a second time: rings by hand, vertices by hand, and a ring that ends without what it needs."""

from __future__ import annotations

from fractions import Fraction

import pytest

from sparsync.verify.cost import sharding
from sparsync.verify.cost.sharding import (
    Choice,
    Network,
    all_gathered,
    crossover_margin,
    divided_margin,
    kept_choice,
    passed_parts,
    reduce_scattered,
    rounding_margin,
    saving_margin,
    throughput_margin,
    traffic_margin,
    vertices,
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
        patch.setattr(sharding, "reduce_scattered", lambda vectors: ([0] * len(vectors), 1))
        with pytest.raises(ValueError, match="3 devices end with"):
            passed_parts(3, "replicated")
    monkeypatch.setattr(sharding, "all_gathered", lambda _parts: ([[0]], 1))
    with pytest.raises(ValueError, match="3 devices end with"):
        passed_parts(3, "sharded")


def test_an_operator_by_hand() -> None:
    # A part of 5 values is 20 bytes and takes 11 s.
    assert kept_choice(NETWORK, 5, 16, "replicated") == Choice(Fraction(240), Fraction(44))
    assert kept_choice(NETWORK, 5, 16, "sharded") == Choice(Fraction(80), Fraction(66))


def test_vertices_by_hand() -> None:
    light, heavy = Fraction(0), Fraction(4)
    found = {tuple(map(tuple, shares)) for shares in vertices([[light, heavy]], Fraction(1))}
    assert found == {((1, 0),), ((Fraction(3, 4), Fraction(1, 4)),)}
    assert list(vertices([[heavy, heavy]], Fraction(1))) == []


def test_margins_see_what_is_off(monkeypatch: pytest.MonkeyPatch) -> None:
    assert traffic_margin(NETWORK, 2) == crossover_margin(NETWORK, 2, 4) == saving_margin(NETWORK, 2, 8) == 0
    assert divided_margin([(0, 4), (0, 6)], Fraction(5)) == 0
    assert rounding_margin(NETWORK, (2, 3), 8, Fraction(1, 2)) >= 0
    assert throughput_margin(NETWORK, (2,), 8, 3, Choice(Fraction(9), Fraction(1))) >= 0
    monkeypatch.setattr(sharding, "passed_parts", lambda devices, _kept: devices)
    assert traffic_margin(NETWORK, 2) == -Fraction(1, 2)
    assert crossover_margin(NETWORK, 2, 4) < 0
    assert saving_margin(NETWORK, 2, 8) < 0
    halves = [[Fraction(1, 2)] * 2] * 2
    monkeypatch.setattr(sharding, "vertices", lambda *_: [halves])
    assert divided_margin([(0, 4), (0, 6)], Fraction(5)) == -1
