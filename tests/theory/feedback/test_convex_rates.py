"""Error feedback on convex functions: by hand, SGD as a special case, and what compression costs."""

from fractions import Fraction

import pytest

from sparsync.theory.statements import STATEMENTS

CONVEX, STRONG, LAST = (
    STATEMENTS[label] for label in ("convex_feedback_rate", "strongly_convex_feedback_rate", "feedback_at_tight_rate")
)
HALF = Fraction(1, 2)
WORKERS = {"smoothness": 1, "start_distance": 1, "n": 1, "variance": 1, "dissimilarity": 0}


def test_the_rate_of_the_average_equals_values_computed_by_hand() -> None:
    # a = 1/2, ω = 1/a = 2: h = 3η; 1/(2ηT) + (η/2)(1 + 1/2), over 2 − h beyond η = 1/3.
    numbers = WORKERS | {"delta": Fraction(3, 4), "residual_weight": 2, "T": 10}
    assert CONVEX.fraction(**numbers, step_size=Fraction(1, 4)) == Fraction(2, 10) + Fraction(3, 16)
    assert CONVEX.fraction(**numbers, step_size=HALF) == (Fraction(1, 10) + Fraction(3, 8)) / HALF


@pytest.mark.parametrize("root", [Fraction(1, 100), HALF, Fraction(99, 100)])
def test_noise_costs_at_most_twice_what_it_costs_without_compression(root: Fraction) -> None:
    numbers = WORKERS | {"delta": 1 - root**2, "residual_weight": 1 / root, "start_distance": 0, "T": 1}
    step = (1 - root) / (1 + root)
    assert CONVEX.fraction(**numbers, step_size=step) == step * (1 + root) / 2 < step


def test_with_small_steps_n_workers_are_n_times_as_fast_whatever_they_send() -> None:
    count, step = 10**12, Fraction(4, 10**6)
    compressed = CONVEX.fraction(
        delta=HALF, residual_weight=Fraction(2, 1000), step_size=step, T=count, n=16, smoothness=1, start_distance=1,
        variance=1, dissimilarity=1,
    )  # fmt: skip
    # √(n/T) = 4e-6, and (1 + 1)/(2√(nT)) = 2.5e-7.
    assert Fraction(1, 4 * 10**6) < compressed < Fraction(1, 4 * 10**6) * Fraction(11, 10)


def test_the_weighted_rate_is_linear_in_the_start_and_keeps_the_noise() -> None:
    numbers = WORKERS | {"delta": HALF, "residual_weight": 1, "mu": Fraction(1, 10), "step_size": Fraction(1, 20)}
    quiet = numbers | {"variance": 0}
    few, many = (STRONG.fraction(**quiet, T=count) for count in (1000, 2000))
    assert many < few * (1 - Fraction(1, 400)) ** 999
    noise = STRONG.fraction(**numbers, T=2000) - many
    # N = 1 + 1/2, and η N/(2(1 − μ/L)) = (1/20)(3/2)/(2·9/10) = 1/24.
    assert noise == Fraction(1, 24)


def test_the_weighted_rate_tends_to_that_of_the_average_without_strong_convexity() -> None:
    numbers = WORKERS | {"delta": HALF, "residual_weight": 1, "step_size": Fraction(1, 20), "T": 50}
    strong = STRONG.fraction(**numbers, mu=Fraction(1, 10**9))
    assert float(strong / CONVEX.fraction(**numbers)) == pytest.approx(1, rel=1e-7)


def test_the_last_iterate_equals_a_value_computed_by_hand() -> None:
    # ε = 0, μ = 1, L = 3: η = 1/2, θ² = 1/4; after two steps 1/16 + (1/4)(1 + 1/4).
    assert LAST.fraction(epsilon=0, mu=1, smoothness=3, start_distance=1, T=2, variance=1) == Fraction(6, 16)


def test_the_last_iterate_without_noise_has_the_tight_rate() -> None:
    numbers = {"epsilon": 0.25, "mu": 1, "smoothness": 4}
    factor = STATEMENTS["ef_tight_rate"].evaluate(**numbers)
    assert LAST.evaluate(**numbers, start_distance=2, T=5, variance=0) == pytest.approx(2 * factor**5, rel=1e-13)
