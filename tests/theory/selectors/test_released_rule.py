"""The released rule: what it reaches from a start, and what its statements refuse."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
import torch

from sparsync.kernels.reference import gaussian_k_released
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.selectors.released_rule import multiples, passes_to


def test_three_passes_reach_six_multiples_of_the_start() -> None:
    assert sorted(multiples(3)) == [Fraction(n, 4) for n in (1, 2, 3, 4, 6, 9)]
    assert STATEMENTS["released_reachable"].exact(pass_count=3) == 6
    assert STATEMENTS["released_reachable"].exact(pass_count=1) == 1


def test_starts_for_a_gaussian_at_a_thousandth_fill_a_sixth_of_their_range() -> None:
    ratio = STATEMENTS["released_window"].evaluate(kappa=0.001)
    length = STATEMENTS["released_starts"].evaluate(pass_count=3, window_ratio=ratio)
    assert length == pytest.approx(0.35262, abs=1e-5)
    assert length / math.log(9 * ratio) == pytest.approx(0.1563, abs=1e-4)
    assert STATEMENTS["released_starts"].evaluate(pass_count=3, window_ratio=1) == 0


def test_from_a_negative_start_no_window_is_met() -> None:
    assert passes_to((Fraction(1), Fraction(2)), Fraction(-1, 10), 1000) is None


@pytest.mark.parametrize("value", [1.0, -1.0])
def test_the_released_rule_sends_all_of_a_constant_vector(value: float) -> None:
    assert gaussian_k_released(torch.full((1000,), value, dtype=torch.float64), 10).indices.numel() == 1000


@pytest.mark.parametrize(
    ("label", "numbers", "message"),
    [
        ("released_reachable", {"pass_count": 0}, "got 0"),
        ("released_starts", {"pass_count": 3, "window_ratio": 0.9}, "window_ratio = "),
    ],
)
def test_values_outside_the_domain_are_refused(label: str, numbers: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        STATEMENTS[label].evaluate(**numbers)
