import math
from collections.abc import Callable
from fractions import Fraction

import numpy
import pytest
import sympy

from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import L, mu
from sparsync.theory.statements import STATEMENTS
from sparsync.theory.tight_rates import descent_steps, feedback_steps, interpolation, worker_steps

FEEDBACK_RATES = ("ef_tight_rate", "ef21_tight_rate")
RATES = (*FEEDBACK_RATES, "compressed_descent_rate")
POINTS = [(0.01, 0.3), (0.1, 0.5), (0.5, 0.05), (0.9, 0.95)]


def broken(steps: tuple[Step, ...]) -> list[str]:
    return [step.claim for step in steps if not step.holds()]


def published_rate(*, convexity: float, smoothness: float, root: float) -> float:
    spread = (smoothness - convexity) / (smoothness + convexity)
    radical = (1 + root) ** 2 + 16 * root * smoothness * convexity / (smoothness - convexity) ** 2
    return root + (1 - root) / 2 * spread**2 * (1 - root + math.sqrt(radical))


@pytest.mark.parametrize("label", FEEDBACK_RATES)
def test_the_rate_at_a_rational_point_equals_the_hand_computed_one(label: str) -> None:
    assert STATEMENTS[label].exact(mu=2, smoothness=7, epsilon=Fraction(1, 16)) == sympy.Rational(9, 16)


def test_the_step_at_a_rational_point_equals_the_hand_computed_one() -> None:
    assert STATEMENTS["ef_tight_step"].exact(mu=2, smoothness=7, epsilon=Fraction(1, 16)) == sympy.Rational(2, 15)


def test_the_rate_of_compressed_descent_at_a_rational_point_equals_the_hand_computed_one() -> None:
    exact = STATEMENTS["compressed_descent_rate"].exact(mu=2, smoothness=7, epsilon=Fraction(1, 16))
    assert exact == sympy.Rational(29**2, 41**2)


@pytest.mark.parametrize("label", RATES)
@pytest.mark.parametrize(("convexity", "smoothness"), [(1, 3), (2, 9), (1, 1)])
def test_without_compression_error_every_rate_is_that_of_gradient_descent(
    label: str, convexity: int, smoothness: int
) -> None:
    descent = sympy.Rational(smoothness - convexity, smoothness + convexity) ** 2
    assert STATEMENTS[label].exact(mu=convexity, smoothness=smoothness, epsilon=0) == descent


@pytest.mark.parametrize("label", FEEDBACK_RATES)
def test_a_single_curvature_leaves_the_root_of_epsilon(label: str) -> None:
    assert STATEMENTS[label].exact(mu=5, smoothness=5, epsilon=Fraction(4, 9)) == sympy.Rational(2, 3)


def test_a_single_curvature_leaves_epsilon_to_compressed_descent() -> None:
    exact = STATEMENTS["compressed_descent_rate"].exact(mu=5, smoothness=5, epsilon=Fraction(4, 9))
    assert exact == sympy.Rational(4, 9)


@pytest.mark.parametrize("label", FEEDBACK_RATES)
@pytest.mark.parametrize(("convexity", "root"), POINTS)
def test_the_rate_equals_the_published_formula(label: str, convexity: float, root: float) -> None:
    value = STATEMENTS[label].evaluate(mu=convexity, smoothness=1.0, epsilon=root**2)
    # Some twenty rounded operations on numbers of size one.
    assert value == pytest.approx(published_rate(convexity=convexity, smoothness=1.0, root=root), abs=50 * 2.0**-52)


@pytest.mark.parametrize(("convexity", "root"), POINTS)
def test_error_feedback_shrinks_like_the_rate_on_the_least_curved_quadratic(convexity: float, root: float) -> None:
    numbers = {"mu": convexity, "smoothness": 1.0, "epsilon": root**2}
    eta = STATEMENTS["ef_tight_step"].evaluate(**numbers)
    step = numpy.array(
        [[1 - (1 + root) * eta * convexity, -(1 + root)], [-root * eta * convexity, -root]], dtype=numpy.float64
    )
    radius = max(abs(numpy.linalg.eigvals(step)))
    # The two eigenvalues are θ and −s/θ, well apart: their errors are of the size of the rounding.
    assert radius**2 == pytest.approx(STATEMENTS["ef_tight_rate"].evaluate(**numbers), abs=1e-13)


@pytest.mark.parametrize(("convexity", "root"), POINTS)
def test_compressed_descent_without_memory_has_the_smaller_rate(convexity: float, root: float) -> None:
    numbers = {"mu": convexity, "smoothness": 1.0, "epsilon": root**2}
    assert STATEMENTS["compressed_descent_rate"].evaluate(**numbers) < STATEMENTS["ef_tight_rate"].evaluate(**numbers)


def test_the_steps_to_a_tolerance_are_inverse_to_delta() -> None:
    coarse, fine = (
        STATEMENTS["ef_small_delta"].evaluate(mu=1, smoothness=9, delta=share, tolerance=1e-6)
        for share in (0.01, 0.001)
    )
    assert fine == pytest.approx(10 * coarse, rel=2.0**-50)
    assert coarse == pytest.approx(10 / 0.01 * 6 * float(sympy.log(10)), rel=2.0**-50)


@pytest.mark.parametrize("label", [*RATES, "ef_tight_step"])
@pytest.mark.parametrize(
    "numbers",
    [
        {"mu": 2, "smoothness": 1, "epsilon": 0.5},
        {"mu": 0, "smoothness": 1, "epsilon": 0.5},
        {"mu": 1, "smoothness": 2, "epsilon": 1},
        {"mu": 1, "smoothness": 2, "epsilon": -0.1},
    ],
)
def test_numbers_outside_the_domain_are_refused(label: str, numbers: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=label):
        STATEMENTS[label].evaluate(**numbers)


@pytest.mark.parametrize("wrong", [{"delta": 1.5}, {"delta": 0}, {"tolerance": 2}, {"tolerance": 0}])
def test_a_tolerance_or_delta_outside_the_domain_is_refused(wrong: dict[str, float]) -> None:
    numbers = {"mu": 1, "smoothness": 2, "delta": 0.5, "tolerance": 0.5} | wrong
    with pytest.raises(ValueError, match="ef_small_delta"):
        STATEMENTS["ef_small_delta"].evaluate(**numbers)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("NORMALISED_STEP", 1 - feedback_steps.S),
        ("REDUCED_SPREAD", feedback_steps.THETA),
        ("feedback_factor", lambda root: (1 - root) * (L - mu) / (L + mu) + root),
        ("feedback_step", lambda root: 2 / (L + mu) * (1 - root)),
    ],
)
@pytest.mark.parametrize("label", FEEDBACK_RATES)
def test_a_wrong_factor_step_or_spread_breaks_the_derivation(
    label: str, name: str, wrong: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    derivation = STATEMENTS[label].derivation
    monkeypatch.setattr(feedback_steps, name, wrong)
    # One step is enough, and which others fail is of no matter.
    assert not all(step.holds() for step in derivation)


@pytest.mark.parametrize(
    ("build", "label", "claim"),
    [
        (feedback_steps.error_feedback_steps, "ef_tight_rate", "the rate is (1 − s)rθ + s"),
        (feedback_steps.error_feedback_21_steps, "ef21_tight_rate", "the rate is (1 − s)rθ + s"),
        (feedback_steps.step_size_steps, "ef_tight_step", "at η*, t = (1 − s)r"),
        (descent_steps.descent_steps, "compressed_descent_rate", "the rate is θ²"),
        (feedback_steps.small_delta_steps, "ef_small_delta", "T ≥ ln(1/tol)"),
    ],
)
def test_each_derivation_proves_its_own_bound_only(
    build: Callable[[sympy.Expr], tuple[Step, ...]], label: str, claim: str
) -> None:
    claims = broken(build(2 * STATEMENTS[label].bound))
    assert len(claims) == 1
    assert claims[0].startswith(claim)


@pytest.mark.parametrize(
    ("name", "count"),
    [("_one_square", 1), ("_one_square_21", 1), ("_deviation_squares", 1), ("_deviation_squares_21", 1)],
)
def test_the_squares_hold_for_one_spread_only(name: str, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    identity = getattr(feedback_steps, name)
    assert identity() == 0
    monkeypatch.setattr(feedback_steps, "REDUCED_SPREAD", count + feedback_steps.REDUCED_SPREAD)
    assert identity() != 0


@pytest.mark.parametrize("name", ["NORMALISED_STEP", "REDUCED_SPREAD"])
@pytest.mark.parametrize("identity", ["_error_feedback", "_error_feedback_21"])
def test_the_identity_of_several_workers_holds_for_one_step_and_spread_only(
    identity: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert getattr(worker_steps, identity)(2) == 0
    monkeypatch.setattr(worker_steps, name, 2 * getattr(worker_steps, name))
    assert getattr(worker_steps, identity)(2) != 0


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("descent_factor", lambda root: (L - mu) / (L + mu) + root),
        ("descent_step", lambda root: 2 / (L + mu) * (1 - root)),
    ],
)
def test_a_wrong_factor_or_step_breaks_compressed_descent(
    name: str, wrong: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert descent_steps._sum_of_squares() == 0
    monkeypatch.setattr(descent_steps, name, wrong)
    assert descent_steps._sum_of_squares() != 0


def test_a_wrong_constant_breaks_the_steps_to_a_tolerance(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feedback_steps, "REDUCED_SPREAD", 2 * feedback_steps.REDUCED_SPREAD)
    assert "1 − θ² = (1 − s)(1 − r)·θ(1 + θ)/(θ + s)" in broken(feedback_steps.small_delta_steps(mu))


def test_the_interpolation_inequality_of_another_class_is_not_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    assert broken(interpolation.interpolation_steps()) == []
    monkeypatch.setattr(interpolation, "L", 2 * L)
    monkeypatch.setattr(interpolation, "mu", mu + L)
    assert broken(interpolation.interpolation_steps()) == []
    monkeypatch.setattr(interpolation.Point, "gradient", property(lambda point: mu * point.position))
    assert len(broken(interpolation.interpolation_steps())) == 2
