"""EF21 with noise, with and without momentum: by hand, the floor, and what error feedback has instead."""

from fractions import Fraction

import pytest

from sparsync.theory.statements import STATEMENTS

RATE, FLOOR, MOMENTUM = (STATEMENTS[label] for label in ("ef21_rate", "ef21_floor", "ef21_momentum_rate"))
QUIET = {"smoothness": 1, "mean_smoothness": 1, "gap": 1, "estimate_energy": 3, "T": 10, "variance": 0}
HALF = Fraction(1, 2)


def test_the_rate_of_ef21_equals_a_value_computed_by_hand() -> None:
    # δ = r = 1/2, η = 1/4: k = 1/4 + (1/16)(1/2)(3/4)/(1/16) = 5/8, z = 3/16; 2·4/10 + 3/5 + (61/64)/((1/4)(3/16)/2).
    numbers = QUIET | {"delta": HALF, "free_share": HALF, "step_size": Fraction(1, 4), "variance": 1}
    assert RATE.fraction(**numbers) == Fraction(4, 5) + Fraction(3, 5) + Fraction(61, 64) * Fraction(128, 3)


def test_without_noise_the_step_is_that_of_ef21_as_published() -> None:
    # δ = 3/4, a = 1/2, r = a/(1 + a) = 1/3: k = η + η²(a/(1 − a))² = η + η².
    numbers = QUIET | {"delta": Fraction(3, 4), "free_share": Fraction(1, 3)}
    assert RATE.admits(**numbers, step_size=Fraction(618, 1000))
    assert not RATE.admits(**numbers, step_size=Fraction(619, 1000))
    assert RATE.fraction(**numbers, step_size=HALF) == Fraction(4, 10) + 3 * Fraction(1, 3) * Fraction(3, 2) / 10


@pytest.mark.parametrize("delta", [Fraction(1, 100), Fraction(3, 5), Fraction(9, 10)])
def test_the_rate_comes_to_the_floor_and_not_below_it(delta: Fraction) -> None:
    floor = FLOOR.fraction(delta=delta, variance=1)
    rates = [
        RATE.fraction(
            delta=delta, free_share=step * 1000, step_size=step, smoothness=1, mean_smoothness=1, gap=0,
            estimate_energy=0, T=1, variance=1,
        )
        for step in (Fraction(1, 10**k) for k in (7, 8, 9))
    ]  # fmt: skip
    assert floor < rates[2] < rates[1] < rates[0]
    assert rates[2] < floor * (1 + Fraction(1, 10**5) / (1 - delta))


def test_error_feedback_has_no_floor_where_ef21_has_one() -> None:
    small = {"step_size": Fraction(1, 10**9), "smoothness": 1, "gap": 0, "T": 1, "delta": HALF, "variance": 1}
    feedback = STATEMENTS["descent_of_workers"].fraction(**small, n=1, dissimilarity=1, residual_weight=1)
    assert feedback < Fraction(1, 10**8) < FLOOR.fraction(delta=HALF, variance=1) == 3


def test_the_bias_is_at_most_what_norms_alone_would_give() -> None:
    # With the noise against all that is kept back, ρ = a√((ρ + σ)² + σ²) would be the bound on the bias.
    for delta in (0.01, 0.5, 0.99):
        kept, bias = 1 - delta, 1.0
        for _ in range(5000):
            bias = (kept * ((bias + 1) ** 2 + 1)) ** 0.5
        assert FLOOR.evaluate(delta=delta, variance=1) <= bias**2 * (1 + 1e-9)


def test_momentum_removes_the_floor() -> None:
    numbers = {"delta": Fraction(3, 4), "smoothness": 1, "mean_smoothness": 1, "gap": 0, "estimate_energy": 0, "T": 1}
    rates = [
        MOMENTUM.fraction(**numbers, n=4, variance=1, averaging=weight, step_size=weight / 10)
        for weight in (Fraction(1, 10), Fraction(1, 1000), Fraction(1, 10**6))
    ]
    assert rates[0] > 90 * rates[1] > 90 * 900 * rates[2]
    # As α → 0 it is 2α/n, as if every worker sent everything.
    assert float(rates[2]) == pytest.approx(2e-6 / 4, rel=1e-5)


def test_the_rate_with_momentum_equals_a_value_computed_by_hand() -> None:
    # α = 1, δ = 3/4: c = 1, b = 0, k = η + 4η²; N = 4/n + 1 + 4.
    numbers = {"delta": Fraction(3, 4), "smoothness": 1, "mean_smoothness": 1, "averaging": 1, "n": 2}
    at_step = MOMENTUM.fraction(**numbers, gap=1, estimate_energy=1, T=10, variance=1, step_size=Fraction(1, 4))
    assert at_step == Fraction(8, 10) + Fraction(8, 10) + 7
    assert MOMENTUM.admits(**numbers, gap=1, estimate_energy=1, T=10, variance=1, step_size=Fraction(39, 100))
    assert not MOMENTUM.admits(**numbers, gap=1, estimate_energy=1, T=10, variance=1, step_size=Fraction(4, 10))
