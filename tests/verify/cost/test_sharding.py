"""Sharding a second time: rings by hand, vertices by hand, and a ring that ends without what it needs."""

from __future__ import annotations

from fractions import Fraction

import pytest

from sparsync.verify.cost import sharding
from sparsync.verify.cost.sharding import (
    crossover_margin,
    divided_margin,
    rounding_margin,
    saving_margin,
    throughput_margin,
    traffic_margin,
    vertices,
)
from sparsync.verify.cost.simulated import shards
from sparsync.verify.cost.simulated.shards import Choice, Network

NETWORK = Network(3, Fraction(1), Fraction(1, 2), 4)


def test_vertices_by_hand() -> None:
    light, heavy = Fraction(0), Fraction(4)
    found = {tuple(map(tuple, shares)) for shares in vertices([[light, heavy]], Fraction(1))}
    assert found == {((1, 0),), ((Fraction(3, 4), Fraction(1, 4)),)}
    assert list(vertices([[heavy, heavy]], Fraction(1))) == []


def test_margins_see_what_is_off(monkeypatch: pytest.MonkeyPatch) -> None:
    assert traffic_margin(NETWORK, 2) == crossover_margin(NETWORK, 2, 4) == saving_margin(NETWORK, 2, 8) == 0
    assert divided_margin([(0, 4), (0, 6)], Fraction(5)) == 0
    assert rounding_margin(NETWORK, (2, 3), 8, Fraction(1, 2)) >= 0
    assert throughput_margin(3, [Choice(Fraction(8), Fraction(5))], 3, Choice(Fraction(9), Fraction(1))) == 0
    monkeypatch.setattr(shards, "passed_parts", lambda devices, _kept: devices)
    assert traffic_margin(NETWORK, 2) == -Fraction(1, 2)
    assert crossover_margin(NETWORK, 2, 4) < 0
    assert saving_margin(NETWORK, 2, 8) < 0
    halves = [[Fraction(1, 2)] * 2] * 2
    monkeypatch.setattr(sharding, "vertices", lambda *_: [halves])
    assert divided_margin([(0, 4), (0, 6)], Fraction(5)) == -1
