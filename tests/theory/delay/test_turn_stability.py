"""The limit of workers that report in turn: known values, its equation, and a proof that notices a wrong formula."""

import math
from collections.abc import Callable
from fractions import Fraction

import mpmath
import numpy
import pytest
import sympy

from sparsync.theory.delay import turn_stability
from sparsync.theory.delay.stability import ANGLE, ROOT, STEP, memory_argument
from sparsync.theory.language.symbols import beta, n
from sparsync.theory.statements import STATEMENTS

LIMIT = STATEMENTS["reports_in_turn_limit"]
MOMENTA = [Fraction(0), Fraction(3, 10), Fraction(9, 10), Fraction(999, 1000)]


def largest_modulus(worker_count: int, momentum: Fraction, step: float) -> float:
    """Of the roots of (z − 1)(zⁿ − β) + (a/n)z."""
    turn = numpy.zeros(worker_count + 1)
    turn[0], turn[-1] = 1, -float(momentum)
    polynomial = numpy.polyadd(numpy.polymul([1, -1], turn), [step / worker_count, 0])
    return float(max(abs(numpy.roots(polynomial))))


@pytest.mark.parametrize("momentum", MOMENTA)
@pytest.mark.parametrize("worker_count", [1, 2, 3, 4, 8, 13])
def test_at_the_limit_a_root_crosses_the_circle(worker_count: int, momentum: Fraction) -> None:
    limit = LIMIT.evaluate(n=worker_count, momentum=momentum)
    below, above = (largest_modulus(worker_count, momentum, factor * limit) for factor in (0.999, 1.001))
    assert below < 1 < above


@pytest.mark.parametrize("momentum", MOMENTA)
@pytest.mark.parametrize("worker_count", [1, 2, 3, 16])
def test_the_angle_makes_the_phases_add_up_to_half_a_turn(worker_count: int, momentum: Fraction) -> None:
    number = sympy.Rational(momentum)
    with mpmath.workdps(40):
        angle = mpmath.mpf(sympy.N(turn_stability.turn_angle(worker_count, number), 40))
        distance = mpmath.expjpi(worker_count * angle / mpmath.pi) - mpmath.mpf(number.p) / number.q
        # At n = 1 the distance is −1 − β, whose argument is π or −π.
        assert mpmath.arg(distance) % (2 * mpmath.pi) == pytest.approx((mpmath.pi + angle) / 2, abs=1e-35)
        limit = 2 * worker_count * mpmath.sin(angle / 2) * abs(distance)
    assert LIMIT.evaluate(n=worker_count, momentum=momentum) == pytest.approx(float(limit), rel=1e-15)


@pytest.mark.parametrize("momentum", MOMENTA)
@pytest.mark.parametrize("worker_count", [1, 2, 3, 16])
def test_at_the_angle_two_cosines_agree(worker_count: int, momentum: Fraction) -> None:
    angle = sympy.N(turn_stability.turn_angle(worker_count, sympy.Rational(momentum)), 40)
    far, near = sympy.cos((worker_count - sympy.Rational(1, 2)) * angle), sympy.cos(angle / 2)
    assert abs(far - sympy.Rational(momentum) * near) < 1e-35


@pytest.mark.parametrize("momentum", MOMENTA)
def test_three_workers_have_an_angle_in_closed_form(momentum: Fraction) -> None:
    """cos(5x) = β cos(x) is a quadratic in cos²(x), x = φ/2."""
    half = math.acos((1 + math.sqrt(5 + 4 * momentum)) / 4) / 2
    expected = 6 * math.sin(half) * (math.sin(5 * half) + momentum * math.sin(half))
    assert LIMIT.evaluate(n=3, momentum=momentum) == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize("momentum", MOMENTA)
def test_one_worker_has_the_limit_of_the_heavy_ball(momentum: Fraction) -> None:
    assert LIMIT.evaluate(n=1, momentum=momentum) == pytest.approx(2 * (1 + float(momentum)), rel=1e-15)
    heavy = STATEMENTS["delayed_momentum_limit"].evaluate(delay=0, momentum=momentum)
    assert LIMIT.evaluate(n=1, momentum=momentum) == pytest.approx(heavy, rel=1e-15)


@pytest.mark.parametrize("momentum", MOMENTA)
def test_two_workers_have_the_limit_of_two_times_one_minus_the_square(momentum: Fraction) -> None:
    assert LIMIT.evaluate(n=2, momentum=momentum) == pytest.approx(float(2 * (1 - momentum**2)), rel=1e-15)


@pytest.mark.parametrize("worker_count", [1, 2, 5, 16, 10**6])
def test_without_momentum_the_limit_is_that_of_a_delay_of_all_others(worker_count: int) -> None:
    delayed = STATEMENTS["delayed_descent_limit"].evaluate(delay=worker_count - 1)
    assert LIMIT.evaluate(n=worker_count, momentum=0) == pytest.approx(worker_count * delayed, rel=1e-15)


@pytest.mark.parametrize("momentum", MOMENTA)
def test_many_workers_have_a_closed_form(momentum: Fraction) -> None:
    many = math.acos(momentum) * math.sqrt(1 - momentum**2)
    assert LIMIT.evaluate(n=10**9, momentum=momentum) == pytest.approx(many, rel=1e-8)


@pytest.mark.parametrize("worker_count", [2, 3, 16, 1000])
def test_as_momentum_nears_one_the_effective_limit_stays_above_two(worker_count: int) -> None:
    short_of_one = Fraction(1, 2**50)
    effective = LIMIT.evaluate(n=worker_count, momentum=1 - short_of_one) / float(short_of_one)
    assert effective == pytest.approx(2 * worker_count / (worker_count - 1), rel=1e-12)


@pytest.mark.parametrize("momentum", MOMENTA)
def test_no_further_worker_raises_the_limit(momentum: Fraction) -> None:
    limits = [LIMIT.evaluate(n=count, momentum=momentum) for count in range(1, 20)]
    assert limits == sorted(limits, reverse=True)


@pytest.mark.parametrize(("momentum", "expected"), [(0, 1.7801674716505151), (Fraction(9, 10), 0.25914952847399600)])
def test_four_workers_lose_more_with_momentum(momentum: Fraction, expected: float) -> None:
    assert LIMIT.evaluate(n=4, momentum=momentum) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize(
    "numbers",
    [
        {"n": 0, "momentum": 0},
        {"n": 2, "momentum": 1},
        {"n": 2, "momentum": -0.1},
        {"n": 2.0, "momentum": 0},
        {"n": 2, "momentum": math.nan},
    ],
)
def test_numbers_outside_the_domain_are_refused(numbers: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="reports_in_turn_limit"):
        LIMIT.evaluate(**numbers)


@pytest.mark.parametrize(
    ("name", "replacement", "numbers"),
    [
        ("turn_polynomial", lambda: (ROOT - 1) * (ROOT**n - beta) + STEP / n, [1, 2, 15, 17, 19]),
        ("turn_polynomial", lambda: (ROOT - 1) * (ROOT**n + beta) + STEP / n * ROOT, [1, 2, 13, 14, 17, 19]),
        ("turn_polynomial", lambda: (ROOT - 1) * (ROOT**n - beta) + STEP * ROOT, [1, 2, 14, 16, 17, 19]),
        ("_turn_step", lambda: ROOT**n * (1 - ROOT) * (1 - beta / ROOT), [2, 14, 17, 19]),
        (
            "_modulus",
            lambda angle: 2 * n * sympy.sin(angle / 2) * sympy.sqrt(1 - 2 * beta + beta**2),
            [5, 12, 18, 21, 22],
        ),
        ("_square_distance", lambda: (1 + beta) ** 2 + 4 * beta * turn_stability.TURN_SQUARE, [5, 7, 18, 21, 22]),
        ("_phase", lambda: n * ANGLE + memory_argument(n * ANGLE), [6, 8, 10, 18, 20]),
        ("_phase", lambda: (n - sympy.Rational(1, 2)) * ANGLE + memory_argument(ANGLE), [6, 8, 10, 21]),
        ("_phase_speed", lambda distance: n * (1 - beta**2) / (2 * distance), [15]),
        ("_argument_speed", lambda distance: (1 + (1 - beta) / distance) / 2, [7, 15]),
        ("_full_argument", lambda turned: turned - memory_argument(turned), [9, 10]),
        ("_argument_at_meeting", lambda: sympy.pi / 2 - ANGLE, [10]),
        ("memory_argument", lambda angle: sympy.atan(beta * sympy.sin(angle)), [21, 22]),
        ("leaving_speed", lambda _step: sympy.Integer(1), [14]),
        ("crossing", lambda _step: -sympy.Integer(1), [15]),
        ("power_exceeds_one", lambda: False, [16]),
    ],
)
def test_steps_notice_a_broken_formula(
    name: str, replacement: Callable[..., object], numbers: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Steps that take long are left out where another formula shows the same of them."""
    monkeypatch.setattr(turn_stability, name, replacement)
    assert [number for number in numbers if LIMIT.derivation[number - 1].holds()] == []
