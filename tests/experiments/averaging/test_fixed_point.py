"""Sums in fixed point are as near as stated, and what could overflow is refused."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sparsync.experiments.averaging.fixed_point import FixedPoint
from sparsync.theory.statements import STATEMENTS


@given(values=st.lists(st.lists(st.floats(-1e5, 1e5, width=32), min_size=3, max_size=3), min_size=1, max_size=6))
def test_a_sum_in_fixed_point_is_as_near_as_stated(values: list[list[float]]) -> None:
    vectors, form = torch.tensor(values), FixedPoint(8)
    encoded = [form.encode(vector, len(vectors)) for vector in vectors]
    decoded = form.decode(torch.stack(encoded).sum(dim=0))
    # 6 float32 numbers below 10⁵ with 2⁻⁸ as the last place differ from their sum in float64 by nothing visible here.
    error = (decoded - vectors.double().sum(dim=0)).abs().max()
    assert float(error) <= STATEMENTS["fixed_point_error"].evaluate(n=len(vectors), fixed_scale=form.scale) + 1e-9


@pytest.mark.parametrize("value", [2.0**31, -(2.0**31), float("nan"), float("inf")])
def test_what_could_overflow_is_refused_with_its_size(value: float) -> None:
    form = FixedPoint(32)
    with pytest.raises(ValueError, match=r"among 1 clients"):
        form.encode(torch.tensor([0.0, value]), 1)
    largest = form.largest(4)
    total = 4 * int(form.encode(torch.tensor([largest], dtype=torch.float64), 4))
    assert total < 2**63
    assert 4 * (largest + 1) * form.scale >= 2**63 - 4 * form.scale
    with pytest.raises(ValueError, match="fraction_bits"):
        FixedPoint(53)
