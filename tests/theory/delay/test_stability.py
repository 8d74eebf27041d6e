"""The largest stable step under a fixed delay: known values, limits, domains, and broken formulas."""

import math
from collections.abc import Callable
from fractions import Fraction

import pytest
import sympy

from sparsync.theory.delay import stability
from sparsync.theory.language.symbols import beta, tau
from sparsync.theory.statements import STATEMENTS

GOLDEN = (math.sqrt(5) - 1) / 2
MOMENTA = [Fraction(0), Fraction(1, 10), Fraction(1, 2), Fraction(9, 10), Fraction(999, 1000)]


@pytest.mark.parametrize(
    ("steps_late", "expected"),
    [(0, 2.0), (1, 1.0), (2, GOLDEN), (3, 0.4450418679126287), (4, 0.3472963553338607)],
)
def test_limits_of_descent_equal_known_values(steps_late: int, expected: float) -> None:
    assert STATEMENTS["delayed_descent_limit"].evaluate(delay=steps_late) == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize(
    ("label", "parameters", "factor"),
    [("delayed_momentum_limit", {"delay": 1}, 1), ("reports_in_turn_limit", {"n": 2}, 4)],
)
def test_a_momentum_whose_distance_from_one_is_lost_is_refused(
    label: str, parameters: dict[str, int], factor: int
) -> None:
    """The limits are 1 - γ and 2(1 - γ²); of 40 digits half are left at the least distance."""
    limit, near = STATEMENTS[label], Fraction(11, 10**21)
    assert limit.evaluate(momentum=1 - near, **parameters) == pytest.approx(factor * float(near), rel=1e-15)
    with pytest.raises(ValueError, match="the momentum is less than 1e-20 below 1"):
        limit.evaluate(momentum=1 - near / 10, **parameters)


def test_the_limit_of_descent_falls_like_the_reciprocal_delay() -> None:
    limit = STATEMENTS["delayed_descent_limit"]
    values = [limit.evaluate(delay=steps_late) for steps_late in range(30)]
    assert values == sorted(values, reverse=True)
    assert 10**9 * limit.evaluate(delay=10**9) == pytest.approx(math.pi / 2, rel=1e-8)


@pytest.mark.parametrize("momentum", MOMENTA)
def test_without_delay_the_heavy_ball_limit_is_two_times_one_plus_beta(momentum: Fraction) -> None:
    value = STATEMENTS["delayed_momentum_limit"].evaluate(delay=0, momentum=momentum)
    assert value == pytest.approx(2 * (1 + float(momentum)), rel=1e-15)


@pytest.mark.parametrize("momentum", MOMENTA)
def test_at_delay_one_the_heavy_ball_limit_is_one_minus_beta(momentum: Fraction) -> None:
    value = STATEMENTS["delayed_momentum_limit"].evaluate(delay=1, momentum=momentum)
    assert value == pytest.approx(1 - float(momentum), rel=1e-13)


@pytest.mark.parametrize("momentum", MOMENTA[1:])
def test_at_delay_two_the_angle_solves_a_quadratic(momentum: Fraction) -> None:
    number = float(momentum)
    cosine = (1 + number + math.sqrt(number**2 - 2 * number + 5)) / 4
    angle = math.acos(cosine)
    expected = -math.cos(3 * angle) + (1 + number) * math.cos(2 * angle) - number * cosine
    value = STATEMENTS["delayed_momentum_limit"].evaluate(delay=2, momentum=momentum)
    assert value == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("steps_late", [0, 1, 2, 7, 10**6])
def test_without_momentum_both_limits_agree(steps_late: int) -> None:
    heavy = STATEMENTS["delayed_momentum_limit"].evaluate(delay=steps_late, momentum=0)
    assert heavy == pytest.approx(STATEMENTS["delayed_descent_limit"].evaluate(delay=steps_late), rel=1e-15)


@pytest.mark.parametrize(
    ("steps_late", "expected"), [(1, 1.0), (2, 0.829), (4, 0.763), (8, 0.756), (16, 0.787), (1024, 0.991)]
)
def test_momentum_of_nine_tenths_costs_part_of_the_effective_step(steps_late: int, expected: float) -> None:
    plain = STATEMENTS["delayed_descent_limit"].evaluate(delay=steps_late)
    effective = STATEMENTS["delayed_momentum_limit"].evaluate(delay=steps_late, momentum=Fraction(9, 10)) * 10
    assert effective / plain == pytest.approx(expected, abs=5e-4)


@pytest.mark.parametrize("steps_late", [1, 2, 16])
def test_as_momentum_nears_one_the_effective_limit_is_the_reciprocal_delay(steps_late: int) -> None:
    short_of_one = Fraction(1, 10**9)
    limit = STATEMENTS["delayed_momentum_limit"].evaluate(delay=steps_late, momentum=1 - short_of_one)
    assert limit / float(short_of_one) == pytest.approx(1 / steps_late, rel=1e-6)


def test_a_huge_delay_with_momentum_leaves_the_limit_of_descent_shortened_by_the_memory() -> None:
    # φ is small, so ψ ≈ βφ/(1 − β) and the limit is ≈ (1 − β)φ: the memory adds β/(1 − β) to the delay of 10⁶ + 1/2.
    limit = STATEMENTS["delayed_momentum_limit"].evaluate(delay=10**6, momentum=Fraction(1, 2))
    assert limit == pytest.approx(math.pi / 2 / (10**6 + 1.5) / 2, rel=1e-10)


def test_an_extreme_momentum_and_delay_lose_no_digits() -> None:
    # (τ + 1/2)φ + ψ = π/2 with ψ near π/2 gives φ² = (1 − β)/τ, and the limit φ √((1 − β)² + φ²).
    short_of_one = 2.0**-50
    limit = STATEMENTS["delayed_momentum_limit"].evaluate(delay=10**9, momentum=1 - short_of_one)
    assert limit == pytest.approx(short_of_one / 10**9, rel=1e-8)


@pytest.mark.parametrize(
    ("label", "numbers"),
    [
        ("delayed_descent_limit", {"delay": -1}),
        ("delayed_descent_limit", {"delay": 1.5}),
        ("delayed_momentum_limit", {"delay": 1, "momentum": 1}),
        ("delayed_momentum_limit", {"delay": 1, "momentum": -0.1}),
    ],
)
def test_numbers_outside_the_domain_are_refused(label: str, numbers: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=label):
        STATEMENTS[label].evaluate(**numbers)


@pytest.mark.parametrize(
    ("name", "replacement", "make"),
    [
        ("descent_polynomial", lambda: stability.ROOT ** (tau + 2) - stability.ROOT**tau + stability.STEP, "descent"),
        ("descent_polynomial", lambda: stability.ROOT ** (tau + 1) + stability.ROOT**tau + stability.STEP, "descent"),
        ("_meeting_angle", lambda turn: (4 * turn + 3) * sympy.pi / (2 * tau + 1), "descent"),
        ("_first_chord", lambda: 2 * sympy.sin(sympy.pi / (2 * tau + 1)), "descent"),
        ("leaving_speed", lambda _step: sympy.Integer(1), "descent"),
        ("leaving_speed", lambda _step: sympy.Integer(1), "momentum"),
        ("crossing", lambda _step: -sympy.Integer(1), "descent"),
        ("power_exceeds_one", lambda: False, "descent"),
        ("_momentum_modulus", lambda angle: 2 * sympy.sin(angle / 2) * sympy.sqrt(1 + beta**2), "momentum"),
        ("memory_argument", lambda angle: sympy.atan(beta * sympy.sin(angle)), "momentum"),
        ("_turned", lambda: tau * stability.ANGLE, "momentum"),
        ("_turning_speed", lambda distance: tau + (1 - beta) / (2 * distance), "momentum"),
        ("_momentum_step", lambda: stability.ROOT**tau * (1 - stability.ROOT) * (stability.ROOT - beta), "momentum"),
    ],
)
def test_a_broken_formula_leaves_a_claim_about_stability_unproved(
    name: str, replacement: Callable[..., object], make: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    statement = STATEMENTS[f"delayed_{make}_limit"]
    monkeypatch.setattr(stability, name, replacement)
    assert not all(step.holds() for step in statement.derivation)
