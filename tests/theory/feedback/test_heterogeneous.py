"""Where error feedback ends with workers that differ: values by hand, limits, and what Top-1 does of it."""

from fractions import Fraction

import pytest

from sparsync.theory.statements import STATEMENTS

HALF = Fraction(1, 2)


def worst(**numbers: object) -> Fraction:
    return STATEMENTS["ef_heterogeneous_worst"].fraction(**{"smoothness": 1, "dissimilarity": 1, **numbers})


def test_the_worst_distance_has_a_value_computed_by_hand() -> None:
    # δ = 3/4, h = 1/2: (1/4)(1/4)/((3/4)((3/4)(17/16) − (5/4)(1/2))).
    assert worst(delta=Fraction(3, 4), step_size=HALF) == Fraction(1, 16) / (Fraction(3, 4) * Fraction(11, 64))


def test_nothing_is_lost_where_everything_is_sent() -> None:
    assert worst(delta=1, step_size=HALF) == 0


@pytest.mark.parametrize("delta", [Fraction(1, 10), HALF, Fraction(9, 10)])
def test_small_steps_end_at_a_distance_of_order_step_over_contraction(delta: Fraction) -> None:
    step = Fraction(1, 10**6)
    assert float(worst(delta=delta, step_size=step) / (step**2 * (1 - delta) / delta**2)) == pytest.approx(1, rel=1e-3)


def test_top_one_of_two_coordinates_is_at_an_eighth_of_the_worst() -> None:
    step = Fraction(1, 10**6)
    published = STATEMENTS["ef_heterogeneous_distance"].fraction(step_size=step, smoothness=1, heterogeneity=1)
    assert float(worst(delta=HALF, step_size=step) / published) == pytest.approx(8, rel=1e-5)


@pytest.mark.parametrize("condition", [1, 4, 100])
def test_functions_that_are_not_quadratic_have_the_factor_of_their_condition(condition: int) -> None:
    numbers = {"delta": HALF, "step_size": Fraction(1, 10**7), "dissimilarity": 1}
    general = STATEMENTS["ef_heterogeneous_convex"].evaluate(smoothness=condition, mu=1, **numbers)
    quadratic = STATEMENTS["ef_heterogeneous_worst"].evaluate(smoothness=condition, **numbers)
    assert general / quadratic == pytest.approx((condition + 1) ** 2 / (4 * condition), rel=1e-3)


@pytest.mark.parametrize(
    ("numbers", "named"), [({"delta": 1, "step_size": 2}, "< 2"), ({"delta": HALF, "step_size": HALF}, "violated")]
)
def test_steps_that_do_not_converge_are_refused(numbers: dict[str, Fraction], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        worst(**numbers)
