"""The search finds the best place of a grid whose loss falls and then rises, and tries few others."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsync.experiments.studies.training.step_search import best_place, wanted


def searched(losses: Sequence[float], start: int) -> dict[int, float]:
    """All that the search tries."""
    tried: dict[int, float] = {}
    while asked := wanted(tried, start=start, place_count=len(losses)):
        assert not set(asked) & set(tried)
        tried |= {place: losses[place] for place in asked}
    return tried


@st.composite
def valleys(draw: st.DrawFn) -> tuple[list[float], int]:
    """Losses that fall strictly to one place and rise strictly behind it, where runs may diverge; and a start."""
    count = draw(st.integers(1, 15))
    least, diverging = draw(st.integers(0, count - 1)), draw(st.integers(1, 15))
    slopes = draw(st.tuples(st.floats(0.1, 10), st.floats(0.1, 10)))
    losses = [slopes[place > least] * abs(place - least) for place in range(count)]
    losses = [loss if place < least + diverging else math.inf for place, loss in enumerate(losses)]
    return losses, draw(st.integers(0, count - 1))


@given(valleys())
def test_the_bottom_of_a_valley_is_found(valley: tuple[list[float], int]) -> None:
    losses, start = valley
    assert best_place(searched(losses, start)) == min(range(len(losses)), key=losses.__getitem__)


@pytest.mark.parametrize(("least", "count"), [(5, 5), (6, 5), (7, 6), (4, 6), (3, 6), (1, 6), (0, 5), (11, 6)])
def test_few_places_are_tried(least: int, count: int) -> None:
    assert len(searched([abs(place - least) for place in range(12)], start=5)) == count


def test_if_all_diverge_the_smallest_step_size_is_tried_last() -> None:
    tried = searched([math.inf] * 12, start=5)
    assert best_place(tried) == 0
    assert list(tried) == [3, 5, 7, 1, 0]


@pytest.mark.parametrize("start", [-1, 12])
def test_a_start_outside_the_grid_is_refused(start: int) -> None:
    with pytest.raises(ValueError, match=str(start)):
        wanted({}, start=start, place_count=12)
