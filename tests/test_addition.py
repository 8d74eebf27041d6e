"""Sums that decide events have the bits of plain addition, whatever the version of Python."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from sparsync.experiments.engine.addition import sum_in_order


def test_tenths_keep_their_roundings() -> None:
    """Compensated, they would add up to 1."""
    assert sum_in_order([0.1] * 10) == 0.9999999999999999 != math.fsum([0.1] * 10)


@given(values=st.lists(st.floats(-1e9, 1e9)))
def test_a_sum_is_that_of_all_but_the_last_and_the_last(values: list[float]) -> None:
    assert sum_in_order(iter(values)) == (sum_in_order(values[:-1]) + values[-1] if values else 0.0)
