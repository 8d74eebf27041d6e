"""For which laws the released rule fails: Gaussian windows, shifted means and uniform vectors."""

from __future__ import annotations

import math
from fractions import Fraction
from statistics import NormalDist

import pytest
import torch

from sparsync.kernels.reference import gaussian_k_released
from sparsync.theory.statements import STATEMENTS


def level(share: float) -> float:
    """z(κ), without sympy."""
    return -NormalDist().inv_cdf(share / 2)


def even_grid(dimension: int) -> torch.Tensor:
    return (2 * torch.arange(dimension, dtype=torch.float64) + 1) / dimension - 1


@pytest.mark.parametrize("kappa", [1e-6, 1e-4, 0.001, 0.01, 0.1, 0.5, 0.7])
def test_the_gaussian_window_is_the_ratio_of_two_quantiles_below_its_bound(kappa: float) -> None:
    ratio = STATEMENTS["released_window"].evaluate(kappa=kappa)
    assert ratio == pytest.approx(level(2 * kappa / 3) / level(4 * kappa / 3), rel=1e-13)
    assert ratio < STATEMENTS["released_window_narrow"].evaluate(kappa=kappa)


def test_the_gaussian_window_at_a_thousandth_is_six_per_cent_wide() -> None:
    assert STATEMENTS["released_window"].evaluate(kappa=0.001) == pytest.approx(1.06053, abs=1e-5)
    assert STATEMENTS["released_window_narrow"].evaluate(kappa=0.001) == pytest.approx(1.06520, abs=1e-5)


@pytest.mark.parametrize(("shift", "share"), [(0.0, 0.001), (-0.5, 0.0114954), (0.5, 0.00050891), (-4.0, 1.0)])
def test_first_shares_of_shifted_gaussians(shift: float, share: float) -> None:
    assert STATEMENTS["mean_shift_failure"].evaluate(kappa=0.001, mean_shift=shift) == pytest.approx(share, rel=1e-4)


@pytest.mark.parametrize(("shift", "in_range"), [(-0.074, False), (-0.073, True), (0.148, True), (0.149, False)])
def test_the_first_count_is_in_range_for_small_shifts_only(shift: float, in_range: bool) -> None:
    share = STATEMENTS["mean_shift_failure"].evaluate(kappa=0.001, mean_shift=shift)
    assert (2 / 3 <= share / 0.001 <= 4 / 3) is in_range


@pytest.mark.parametrize("fraction", [Fraction(99, 100), 1, Fraction(101, 100)])
def test_a_shift_below_minus_z_counts_everything(fraction: Fraction | int) -> None:
    share = STATEMENTS["mean_shift_failure"].evaluate(kappa=0.01, mean_shift=-float(fraction) * level(0.01))
    assert (share > 1 - 1e-12) is (fraction >= 1)


def test_the_released_rule_keeps_nothing_of_a_uniform_vector_or_nearly_half() -> None:
    dimension = 100_000
    assert gaussian_k_released(even_grid(dimension), 100).indices.numel() == 0
    assert STATEMENTS["released_uniform"].evaluate(kappa=0.001) == 0
    returned = gaussian_k_released(even_grid(dimension), 10).indices.numel()
    assert returned / dimension == pytest.approx(1 - level(1e-4) / (4 * math.sqrt(3)), abs=1e-4)


@pytest.mark.parametrize(("k", "share"), [(2000, 0.0), (2500, 0.029444), (5000, 0.151311), (8000, 0.241931)])
def test_a_uniform_vector_is_sent_not_at_all_or_up_to_three_times_too_much(k: int, share: float) -> None:
    dimension = 100_000
    assert STATEMENTS["released_uniform"].evaluate(kappa=Fraction(k, dimension)) == pytest.approx(share, abs=1e-6)
    assert gaussian_k_released(even_grid(dimension), k).indices.numel() / dimension == pytest.approx(share, abs=1e-4)


def test_both_ends_of_the_densities_may_be_written_as_floats() -> None:
    """As binary fractions 0.08 is above 2/25, and 0.001 above 1/1000."""
    for written, exact in ((0.001, Fraction(1, 1000)), (0.08, Fraction(2, 25))):
        value = STATEMENTS["released_uniform"].evaluate(kappa=exact)
        assert STATEMENTS["released_uniform"].evaluate(kappa=written) == value


@pytest.mark.parametrize(("kappa", "in_range"), [(0.0229, False), (0.0231, True), (0.0257, True), (0.0258, False)])
def test_the_share_of_a_uniform_vector_is_in_range_for_few_densities(kappa: float, in_range: bool) -> None:
    share = STATEMENTS["released_uniform"].evaluate(kappa=kappa)
    assert (2 / 3 <= share / kappa <= 4 / 3) is in_range


@pytest.mark.parametrize(
    ("label", "numbers", "message"),
    [
        ("released_window", {"kappa": 0.75}, "kappa = 0.75"),
        ("released_window_narrow", {"kappa": 0}, "got 0"),
        ("released_uniform", {"kappa": 0.109}, "kappa = "),
        ("released_uniform", {"kappa": 0.0005}, "kappa = "),
        ("released_uniform", {"kappa": 1.5}, "no number"),
        ("mean_shift_failure", {"kappa": 1.2, "mean_shift": 0}, "kappa = "),
    ],
)
def test_values_outside_the_domain_are_refused(label: str, numbers: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        STATEMENTS[label].evaluate(**numbers)
