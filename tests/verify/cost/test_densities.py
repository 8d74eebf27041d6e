"""Exchanges of layers a second time: by hand, and with what breaks the rule."""

from __future__ import annotations

import pytest

from sparsync.verify.cost import densities
from sparsync.verify.cost.densities import Exchange, greedy_margin, one_by_one, price_margin

TWO = Exchange(squares=((5, 2), (4, 3)), backward=(2, 1), message=1, entry=1, spare=1)
"""Ready at 2 and 3; without entries the second arrives at 4: by 5, one entry fits in either."""


def test_an_exchange_by_hand() -> None:
    assert TWO.end((0, 0)) == 4
    assert TWO.end((2, 0)) == 2 + 1 + 2 + 1
    assert TWO.deadline == 5
    assert TWO.capacities() == [1, 1]
    assert sorted(TWO.all_counts()) == [(0, 0), (0, 1), (1, 0)]
    assert one_by_one(TWO) == ([1, 0], [5, 5])


def test_thresholds_grow_in_the_order_of_sending_where_the_last_message_is_short_of_room() -> None:
    late = Exchange(squares=((3, 1), (6, 5, 4)), backward=(0, 4), message=0, entry=1, spare=1)
    assert late.capacities() == [5, 1]
    assert one_by_one(late) == ([2, 1], [0, 6])
    assert greedy_margin(late) == price_margin(late, (0, 0)) == 0


@pytest.mark.parametrize(
    ("name", "replacement"),
    [
        ("capacities", lambda exchange: [1] * len(exchange.squares)),
        ("end", lambda _exchange, _counts: 0),
    ],
)
def test_margins_see_an_exchange_that_is_counted_wrongly(
    name: str, replacement: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert min(map(greedy_margin, densities.listed())) == 0
    monkeypatch.setattr(Exchange, name, replacement)
    assert min(map(greedy_margin, densities.listed())) < 0


def test_margins_see_a_layer_that_is_raised_out_of_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(densities, "one_by_one", lambda exchange: ([0] * len(exchange.squares),) * 2)
    assert min(map(greedy_margin, densities.listed())) < 0
    assert min(price_margin(exchange, (0, 0, 0)[: len(exchange.squares)]) for exchange in densities.listed()) < 0
