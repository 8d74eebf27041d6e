"""What a product costs by its prices is what the statements say; what was not counted is noticed."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pytest

from sparsync.experiments.bulk.cannon import Counts
from sparsync.experiments.bulk.memory import Shape
from sparsync.experiments.bulk.prices import Prices, predictions, require_words

SHAPE = Shape(rows=12, outer=3, grid=2)
PRICES = Prices(operation=0.5, word=2.5, barrier=3.5, fetched=0.5)


@dataclass(frozen=True)
class Made:
    """What one of four processors did."""

    counts: Counts
    read_words: int = 27 * 8
    written_words: int = 9 * 4


def test_prices_are_the_largest_of_all_and_count_in_operations() -> None:
    slowest = Prices.slowest([PRICES, Prices(1.0, 0.0, 9.0, 0.25)])
    assert slowest == Prices(1.0, 2.5, 9.0, 0.5)
    assert PRICES.in_operations() == {"word_cost": 5, "barrier_cost": 7, "fetch_cost": 1}


def test_predictions_by_hand() -> None:
    found = predictions(SHAPE, PRICES)
    # A hyperstep takes 32 + 8 · 5 + 2 · 7 operations, its tokens 8; what is written 36.
    assert math.isclose(found["streamed_seconds"], (27 * 86 + 8 + 36) / 2)
    assert math.isclose(found["unoverlapped_seconds"], (27 * (86 + 8) + 36) / 2)
    assert math.isclose(found["largest_hidden_fetch_cost"], 86 / 8)
    assert found["bound_by"] == "computing"


def test_a_slow_memory_binds() -> None:
    found = predictions(SHAPE, Prices(operation=0.5, word=2.5, barrier=3.5, fetched=10.0))
    assert math.isclose(found["streamed_seconds"], (27 * 160 + 86 + 36 * 20) / 2)
    assert math.isclose(found["unoverlapped_seconds"], (27 * (86 + 160) + 36 * 20) / 2)
    assert found["bound_by"] == "memory"


def test_counts_are_those_that_are_stated() -> None:
    done = Made(Counts(operations=2 * 12**3 // 4, sent_words=27 * 8))
    assert require_words(SHAPE, [done] * 4) == {"operation_count": 3456, "sent_count": 864, "external_count": 1008}


@pytest.mark.parametrize(
    "wrong",
    [
        Made(Counts(operations=0, sent_words=27 * 8)),
        Made(Counts(operations=864, sent_words=27 * 8 + 1)),
        Made(Counts(operations=864, sent_words=27 * 8), read_words=8),
    ],
)
def test_a_word_or_operation_too_few_or_too_many_is_noticed(wrong: Made) -> None:
    with pytest.raises(RuntimeError, match="the statements say"):
        require_words(SHAPE, [wrong] * 4)
