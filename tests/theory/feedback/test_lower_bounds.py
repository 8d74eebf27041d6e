"""Lower bounds: values by hand, and how far above them the upper bounds of ours are."""

import math
from fractions import Fraction

import pytest

from sparsync.theory.statements import STATEMENTS


def test_the_quadratic_chain_has_a_value_computed_by_hand() -> None:
    # q = 1/2: (1 − (1/2)(3/4))² = 25/64, less 1/64, over 63/64.
    stated = STATEMENTS["erased_distance"].fraction(smoothness=9, mu=1, d=3, T=2, delta=Fraction(1, 2))
    assert stated == Fraction(24, 63)


def test_without_a_message_nothing_is_known() -> None:
    # One round, and one link: 6/(5·11) of L times the gap, whatever δ is.
    assert STATEMENTS["erased_gradient"].fraction(smoothness=55, gap=1, chain_length=1, T=1, delta=1) == 6


def test_a_message_that_arrives_ends_the_shortest_chain() -> None:
    stated = STATEMENTS["erased_gradient"].fraction(smoothness=55, gap=1, chain_length=1, T=3, delta=Fraction(1, 3))
    assert stated == 6 * Fraction(4, 9)


def test_two_workers_see_what_one_misses() -> None:
    # φ² = 6 = σ₀²: each sees the entry with probability 1/2.
    stated = STATEMENTS["noisy_gradient"].fraction(smoothness=55, gap=1, chain_length=1, T=2, n=2, variance=6)
    assert stated == 6 * Fraction(1, 4)


@pytest.mark.parametrize(("rounds", "share"), [(100, 0.05), (1_000, 0.075)])
def test_the_best_chain_comes_nearer_to_a_tenth(rounds: int, share: float) -> None:
    delta = Fraction(1, 2)
    statement = STATEMENTS["erased_gradient"]
    best = max(
        statement.evaluate(smoothness=1, gap=1, chain_length=int(delta * rounds * factor), T=rounds, delta=delta)
        for factor in (Fraction(21, 20), Fraction(11, 10), Fraction(6, 5))
    )
    assert share < best * delta * rounds < 0.1


@pytest.mark.parametrize("delta", [0.5, 0.1, 0.01])
def test_error_feedback_is_within_a_factor_of_eighty_of_the_limit(delta: float) -> None:
    root = (1 - delta) ** 0.5
    numbers = {"delta": delta, "smoothness": 1, "gap": 1, "variance": 0}
    upper = STATEMENTS["descent_without_bounded_gradients"].evaluate(T=1, step_size=(1 - root) / (1 + root), **numbers)
    assert upper * delta <= 8


@pytest.mark.parametrize("condition", [1, 4, 100])
def test_error_feedback_needs_more_steps_than_any_method_by_the_stated_factor(condition: int) -> None:
    delta, tolerance, root = Fraction(1, 10**6), Fraction(1, 1000), condition**0.5
    numbers = {"smoothness": condition, "mu": 1, "delta": delta}
    upper = STATEMENTS["ef_small_delta"].evaluate(tolerance=tolerance, **numbers)
    # Of 200 links the last has no weight: each round multiplies the distance by the bound of one.
    lower = math.log(tolerance) / math.log(STATEMENTS["erased_distance"].evaluate(T=1, d=200, **numbers))
    assert upper / lower == pytest.approx(4 * root * (condition + 1) / (root + 1) ** 2, rel=1e-5)


@pytest.mark.parametrize(
    ("label", "numbers", "named"),
    [
        ("erased_distance", {"smoothness": 1, "mu": 2, "d": 1, "T": 1, "delta": 1}, "mu"),
        ("erased_gradient", {"smoothness": 1, "gap": 1, "chain_length": 3, "T": 2, "delta": 1}, "chain_length"),
        ("noisy_gradient", {"smoothness": 1, "gap": 0, "chain_length": 1, "T": 2, "n": 1, "variance": 0}, "gap"),
    ],
)
def test_numbers_outside_the_domain_are_refused(label: str, numbers: dict[str, float], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        STATEMENTS[label].evaluate(**numbers)
