"""How large may a step be when gradients are a fixed number of steps old? Delayed descent on a quadratic.

On curvature λ the recursion is x_{t+1} = x_t − a x_{t−τ}, a = ηλ, perhaps with momentum. It is stable while every root
of its characteristic polynomial lies inside the unit circle. The proofs follow the roots as a grows from 0: where they
meet the circle, which meeting is the first, and that no root returns. All proofs are ours.
"""

from collections.abc import Callable
from functools import lru_cache

import mpmath
import sympy
from mpmath.libmp import NoConvergence
from sympy.utilities.lambdify import implemented_function

from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import beta, stable_limit, tau

WORKING_DIGITS = 60
"""In which the boundary angle is solved for: 20 more than a bound is printed from."""
LEAST_FRICTION = sympy.Rational(1, 10**20)
"""The least 1 − γ: of the 40 digits of a bound half are lost there."""

ANGLE = sympy.Symbol("varphi", positive=True)
"""Angle φ of a root z = e^{iφ} on the upper unit circle, 0 < φ ≤ π; roots come in conjugate pairs."""
ROOT = sympy.Symbol("z", nonzero=True)
"""A root of the characteristic polynomial, or where it is evaluated."""
STEP = sympy.Symbol("a", real=True)
"""a = ηλ."""
TURN = sympy.Symbol("m", integer=True)
"""Number of full turns in a phase."""
LIMITS = "that solutions tend to the one of the limit"
"""What is argued where an equation is solved in a limit."""
COUNT = sympy.Symbol("q", integer=True, nonnegative=True)
"""A number of further turns."""
SIZE = sympy.Symbol("size", positive=True)
"""|a| where a is negative, or how far a point lies beyond 1."""


def solved_angle(delay: sympy.Float, momentum: sympy.Float, multiple: sympy.Float | int = 1) -> mpmath.mpf:
    """The φ in (0, π] where (τ + 1/2) φ + ψ(kφ) = π/2, ψ(θ) = atan(γ sin θ/(1 − γ cos θ)), to the working precision.

    Args:
        delay: τ, exact or of more digits.
        momentum: γ, likewise.
        multiple: k, at most 2τ + 1.

    Raises:
        NoConvergence: γ is so near 1 that the digits of 1 − γ are not known.
    """
    if 1 - momentum < LEAST_FRICTION:
        raise NoConvergence(f"the momentum is less than {float(LEAST_FRICTION)} below 1")
    with mpmath.workdps(WORKING_DIGITS):
        return _halved_to_angle(+mpmath.mpf(delay), +mpmath.mpf(momentum), +mpmath.mpf(multiple))


@lru_cache(maxsize=1024)
def _halved_to_angle(delay: mpmath.mpf, momentum: mpmath.mpf, multiple: mpmath.mpf) -> mpmath.mpf:
    """That angle, by halving; one number needs it several times.

    The left side increases in φ, is 0 at 0, and at π/(2τ + 1), where kφ ≤ π, is at least π/2.
    """
    lower, upper = mpmath.mpf(0), mpmath.pi / (2 * delay + 1)
    for _ in range(mpmath.mp.prec):
        middle = (lower + upper) / 2
        turned = multiple * middle
        argument = mpmath.atan2(momentum * mpmath.sin(turned), 1 - momentum * mpmath.cos(turned))
        if (2 * delay + 1) * middle / 2 + argument < mpmath.pi / 2:
            lower = middle
        else:
            upper = middle
    return upper


boundary_angle = implemented_function("varphi", solved_angle)
"""φ(τ, γ): the angle at which roots first reach the unit circle, see `delayed_momentum_limit`."""


def delayed_descent_limit() -> Statement:
    """x_{t+1} = x_t − a x_{t−τ} is asymptotically stable iff 0 < a < 2 sin(π/(2(2τ + 1))), a = ηλ.

    τ = 0 gives the classical 2, τ = 1 gives 1. Every larger a, the limit itself, and every a ≤ 0 are unstable.

    Source: Levin and May 1976; proof ours.
    """
    bound = 2 * sympy.sin(sympy.pi / (2 * (2 * tau + 1)))
    return Statement(
        label="delayed_descent_limit",
        title="Largest stable step, gradients of a fixed delay",
        assumptions=(r"$x_{t+1}=x_t-\eta\lambda\,x_{t-\tau}$ with $\lambda>0$",),
        relation=sympy.Eq(stable_limit, bound),
        domain=(),
        source="Levin and May 1976; proof ours",
        derivation=(
            Step("z = e^{iφ} is a root where a = z^τ(1 − z) = 2 sin(φ/2) e^{i((2τ+1)φ − π)/2}", _chord_on_circle),
            Step("this is real and > 0 iff φ = (4m + 1)π/(2τ + 1), m an integer", _meeting_angles),
            Step("m < 0 makes φ negative; m > 0 makes it larger than m = 0 does", _first_turn_is_smallest),
            Step(
                "sin²(φ/2) = u²/(1 + u²) increases in u = tan(φ/2): the first meeting has m = 0", half_angle_increases
            ),
            Step("there a is the bound", lambda: _first_chord() - bound, concludes=bound),
            Step("at a = 0 every root but the simple root 1 is 0", _descent_starts_on_real_line),
            inside_step("dz/da = −1 at z = 1, a = 0: for small a > 0 all roots are inside", _descent_starts_inside),
            Step("2 Re(d log a/d log z) = 2τ + 1 > 0 on the circle: roots cross it outwards only", _descent_crosses),
            Step("a ≤ 0: z^{τ+1} − z^τ + a is a at 1 and |a|((1+|a|)^τ − 1) ≥ 0 at 1 + |a|", _descent_not_negative),
        ),
    )


def delayed_momentum_limit() -> Statement:
    """x_{t+1} = x_t + γ(x_t − x_{t−1}) − a x_{t−τ} is stable iff 0 < a < 2 sin(φ/2) √((1 − γ)² + 4γ sin²(φ/2)).

    φ = φ(τ, γ) is the only angle in (0, π] with (τ + 1/2)φ + atan(γ sin φ/(1 − γ cos φ)) = π/2. In closed form the
    limit is 2(1 + γ) for τ = 0 (Polyak 1964) and 1 − γ for τ = 1; γ = 0 gives `delayed_descent_limit`. As γ → 1 the
    limit of the effective step a/(1 − γ) is 1/τ for τ ≥ 1.

    Source: ours.
    """
    bound = _momentum_modulus(boundary_angle(tau, beta))
    return Statement(
        label="delayed_momentum_limit",
        title="Largest stable step, heavy ball, gradients of a fixed delay",
        assumptions=(
            r"$x_{t+1}=x_t+\gamma(x_t-x_{t-1})-\eta\lambda\,x_{t-\tau}$ with $\lambda>0$",
            r"$\varphi\in(0,\pi]$ is the solution of "
            r"$(\tau+\frac12)\varphi+\arctan\frac{\gamma\sin\varphi}{1-\gamma\cos\varphi}=\frac{\pi}{2}$",
        ),
        relation=sympy.Eq(stable_limit, bound),
        domain=(sympy.Lt(beta, 1),),
        source="ours; delay 0: Polyak 1964",
        derivation=(
            Step("z is a root where a = z^{τ−1}(1 − z)(z − γ) = z^τ(1 − z)·(1 − γ/z)", _momentum_factors),
            Step("z^τ(1 − z) = 2 sin(φ/2) e^{i((2τ+1)φ − π)/2} for z = e^{iφ}", _chord_on_circle),
            Step(
                "1 − γe^{−iφ} has the real part 1 − γ + 2γ sin²(φ/2) > 0, so the argument is ψ", argument_is_principal
            ),
            Step("hence |a| is the bound's formula at φ", _momentum_chord, concludes=bound),
            Step("the phase of a is 0 mod 2π iff (τ + 1/2)φ + ψ = π/2 + 2πm", _momentum_phase),
            Step("the left side has the derivative τ + (1 − γ²)/(2|1 − γz|²) > 0", _phase_increases),
            Step("it is 0 at φ = 0 and at least π/2 at φ = π: m = 0 is met once, and first", _phase_range),
            Step("sin²(φ/2) = u²/(1 + u²) increases in u = tan(φ/2)", half_angle_increases),
            Step("|a|² increases in sin²(φ/2), so the first meeting has the least a", _momentum_modulus_increases),
            Step("at a = 0 every root but the simple root 1 is 0 or γ", _momentum_starts_on_real_line),
            inside_step("dz/da = −1/(1 − γ) at z = 1, a = 0: for small a > 0 all are inside", _momentum_starts_inside),
            Step("Re(d log a/d log z) on the circle is that derivative: roots cross outwards only", _momentum_crosses),
            Step("a ≤ 0: there is a real root between 1 and 1 + |a|/(1 − γ)", _momentum_not_negative),
            Step("τ = 0: φ = π and a = 2(1 + γ)", _momentum_without_delay),
            Step("τ = 1: cos φ = (1 + γ)/2 and a = 1 − γ", _momentum_at_delay_one),
            Step("γ = 0: φ = π/(2τ + 1), the angle of descent", _momentum_vanishes),
            Step(
                "γ = 1 − u², φ = uy, u → 0: the equation becomes τy = 1/y, and a/u² tends to 1/τ",
                _momentum_near_one,
                argued=LIMITS,
            ),
        ),
    )


def inside_step(claim: str, compute: Callable[[], sympy.Basic]) -> Step:
    """Where roots go at first, which are inside if their speed is negative."""
    return Step(claim, compute, argued="that roots depend continuously on a")


def descent_polynomial() -> sympy.Expr:
    """z^{τ+1} − z^τ + a, characteristic of descent under delay τ."""
    return ROOT ** (tau + 1) - ROOT**tau + STEP


def descent_step() -> sympy.Expr:
    """The a that has the root z."""
    return sympy.solve(descent_polynomial(), STEP)[0]


def _chord_on_circle() -> sympy.Expr:
    on_circle = descent_step().subs(ROOT, sympy.exp(sympy.I * ANGLE))
    polar = 2 * sympy.sin(ANGLE / 2) * sympy.exp(sympy.I * ((2 * tau + 1) * ANGLE - sympy.pi) / 2)
    return sympy.simplify(sympy.expand(on_circle) - sympy.expand(polar.rewrite(sympy.exp)))


def _meeting_angle(turn: sympy.Expr) -> sympy.Expr:
    """The φ where the phase ((2τ + 1)φ − π)/2 is that many full turns."""
    phase = ((2 * tau + 1) * ANGLE - sympy.pi) / 2
    return sympy.solve(sympy.Eq(phase, 2 * sympy.pi * TURN), ANGLE)[0].subs(TURN, turn)


def _meeting_angles() -> sympy.Basic:
    # A positive number times e^{iπh} is positive iff h is an even integer: an odd one changes its sign.
    half_turns = [sympy.simplify(sympy.exp(sympy.I * sympy.pi * (2 * TURN + odd))) for odd in (0, 1)]
    angle_differs = sympy.simplify(_meeting_angle(TURN) - (4 * TURN + 1) * sympy.pi / (2 * tau + 1))
    return decided(angle_differs == 0 and half_turns == [1, -1])


def _first_turn_is_smallest() -> sympy.Basic:
    earlier = sympy.expand(sympy.simplify(_meeting_angle(-1 - COUNT) * (2 * tau + 1)))
    later = sympy.simplify(_meeting_angle(COUNT + 1) - _meeting_angle(sympy.Integer(0)))
    return decided(earlier.is_negative and later.is_positive)


def _first_chord() -> sympy.Expr:
    return 2 * sympy.sin(_meeting_angle(sympy.Integer(0)) / 2)


def half_angle_increases() -> sympy.Basic:
    """True iff sin²(φ/2), in u = tan(φ/2), is u²/(1 + u²) and increases."""
    tangent = sympy.Symbol("u", positive=True)
    square = tangent**2 / (1 + tangent**2)
    differs = sympy.simplify(sympy.sin(sympy.atan(tangent)) ** 2 - square)
    return decided(differs == 0 and sympy.factor(sympy.diff(square, tangent)).is_positive)


def _descent_starts_on_real_line() -> sympy.Expr:
    return sympy.simplify(descent_polynomial().subs(STEP, 0) - ROOT**tau * (ROOT - 1))


def _descent_starts_inside() -> sympy.Expr:
    return leaving_speed(descent_step()) + 1


def leaving_speed(step: sympy.Expr) -> sympy.Expr:
    """dz/da at the root z = 1 of a = 0."""
    return sympy.simplify(1 / sympy.diff(step, ROOT).subs(ROOT, 1))


def crossing(step: sympy.Expr) -> sympy.Expr:
    """2 Re(d log a/d log z) on the unit circle, where the conjugate of z is 1/z.

    A root crosses outwards where d log|z|/d log a > 0, and Re(1/w) has the sign of Re(w).
    """
    derivative = sympy.simplify(ROOT * sympy.diff(step, ROOT) / step)
    return sympy.simplify(derivative + derivative.subs(ROOT, 1 / ROOT))


def _descent_crosses() -> sympy.Basic:
    twice = crossing(descent_step())
    return decided(sympy.simplify(twice - (2 * tau + 1)) == 0 and twice.is_positive)


def power_exceeds_one() -> bool:
    """(1 + x)^τ ≥ 1 for x > 0, by its logarithm."""
    return bool((tau * sympy.log(1 + SIZE)).is_nonnegative)


def _descent_not_negative() -> sympy.Basic:
    negative = descent_polynomial().subs(STEP, -SIZE)
    excess = sympy.Symbol("excess", nonnegative=True)
    beyond = sympy.factor(negative.subs(ROOT, 1 + SIZE)).subs((1 + SIZE) ** tau, 1 + excess)
    return decided(negative.subs(ROOT, 1).is_negative and power_exceeds_one() and beyond.is_nonnegative)


def _momentum_step() -> sympy.Expr:
    """The a that has the root z: z^{τ+1} = z^τ + γ(z^τ − z^{τ−1}) − a."""
    equation = ROOT ** (tau + 1) - ROOT**tau - beta * (ROOT**tau - ROOT ** (tau - 1)) + STEP
    return sympy.factor(sympy.solve(equation, STEP)[0])


def _momentum_factors() -> sympy.Basic:
    step = _momentum_step()
    products = (ROOT ** (tau - 1) * (1 - ROOT) * (ROOT - beta), ROOT**tau * (1 - ROOT) * (1 - beta / ROOT))
    return decided(all(sympy.simplify(sympy.expand(step - product)) == 0 for product in products))


def _momentum_modulus(angle: sympy.Expr) -> sympy.Expr:
    half = sympy.sin(angle / 2)
    return 2 * half * sympy.sqrt((1 - beta) ** 2 + 4 * beta * half**2)


def memory_argument(angle: sympy.Expr) -> sympy.Expr:
    """ψ, the argument of 1 − γe^{−iφ}."""
    return sympy.atan(beta * sympy.sin(angle) / (1 - beta * sympy.cos(angle)))


def below_one(expression: sympy.Expr) -> sympy.Expr:
    """The expression with γ = b/(1 + b), b ≥ 0, which is every γ in [0, 1)."""
    odds = sympy.Symbol("b", nonnegative=True)
    return sympy.factor(expression.subs(beta, odds / (1 + odds)))


def argument_is_principal() -> sympy.Basic:
    """True iff `memory_argument` is that of a number whose real part is positive."""
    real, imaginary = 1 - beta * sympy.cos(ANGLE), beta * sympy.sin(ANGLE)
    square = sympy.Symbol("half_angle_square", nonnegative=True)
    factor_differs = sympy.expand(1 - beta * sympy.exp(-sympy.I * ANGLE) - (real + sympy.I * imaginary), complex=True)
    real_differs = sympy.simplify(real - (1 - beta + 2 * beta * sympy.sin(ANGLE / 2) ** 2))
    tangent_differs = sympy.tan(memory_argument(ANGLE)) - imaginary / real
    return decided(
        sympy.simplify(factor_differs) == 0
        and real_differs == 0
        and sympy.simplify(tangent_differs) == 0
        and below_one(1 - beta + 2 * beta * square).is_positive
    )


def _momentum_chord() -> sympy.Expr:
    step = _momentum_step()
    square = (step * step.subs(ROOT, 1 / ROOT)).subs(ROOT, sympy.exp(sympy.I * ANGLE))
    stated = sympy.expand((_momentum_modulus(ANGLE) ** 2).rewrite(sympy.exp))
    return sympy.simplify(sympy.expand(sympy.simplify(square)) - stated)


def _momentum_phase() -> sympy.Basic:
    chord_phase = ((2 * tau + 1) * ANGLE - sympy.pi) / 2
    argument = sympy.Symbol("psi", real=True)
    condition = sympy.solve(sympy.Eq(chord_phase + argument, 2 * sympy.pi * TURN), argument)[0]
    turned = (tau + sympy.Rational(1, 2)) * ANGLE + condition
    return sympy.expand(turned - (sympy.pi / 2 + 2 * sympy.pi * TURN))


def _turned() -> sympy.Expr:
    """(τ + 1/2)φ + ψ(φ)."""
    return (tau + sympy.Rational(1, 2)) * ANGLE + memory_argument(ANGLE)


def _turning_speed(square_distance: sympy.Expr) -> sympy.Expr:
    return tau + (1 - beta**2) / (2 * square_distance)


def _phase_increases() -> sympy.Basic:
    square_distance = 1 - 2 * beta * sympy.cos(ANGLE) + beta**2
    speed_differs = sympy.simplify(sympy.diff(_turned(), ANGLE) - _turning_speed(square_distance))
    square = sympy.Symbol("half_angle_square", nonnegative=True)
    distance_differs = sympy.simplify(
        square_distance - ((1 - beta) ** 2 + 4 * beta * sympy.sin(ANGLE / 2) ** 2),
    )
    speed = below_one(_turning_speed((1 - beta) ** 2 + 4 * beta * square) - tau)
    return decided(speed_differs == 0 and distance_differs == 0 and speed.is_positive)


def _phase_range() -> sympy.Basic:
    start, end = _turned().subs(ANGLE, 0), _turned().subs(ANGLE, sympy.pi)
    return decided(start == 0 and sympy.expand(end - sympy.pi / 2).is_nonnegative)


def _momentum_modulus_increases() -> sympy.Basic:
    square = sympy.Symbol("half_angle_square", positive=True)
    modulus_square = _momentum_modulus(2 * sympy.asin(sympy.sqrt(square))) ** 2
    return decided(below_one(sympy.diff(modulus_square, square)).is_positive)


def _momentum_starts_on_real_line() -> sympy.Expr:
    return sympy.simplify(_momentum_step() / ROOT ** (tau - 1) + (ROOT - 1) * (ROOT - beta))


def _momentum_starts_inside() -> sympy.Basic:
    speed = leaving_speed(_momentum_step())
    return decided(sympy.simplify(speed + 1 / (1 - beta)) == 0 and below_one(-speed).is_positive)


def _momentum_crosses() -> sympy.Expr:
    square_distance = (1 - beta * ROOT) * (1 - beta / ROOT)
    return sympy.simplify(crossing(_momentum_step()) - 2 * _turning_speed(square_distance))


def _momentum_not_negative() -> sympy.Basic:
    # Over z^τ ≥ 1, the polynomial is (z − 1)(z − γ)/z − |a|/z^τ ≥ (z − 1)(z − γ)/z − |a|.
    scaled = sympy.simplify(-_momentum_step() / ROOT**tau)
    reach = SIZE / (1 - beta)
    beyond = below_one(sympy.simplify(scaled.subs(ROOT, 1 + reach) - SIZE))
    return decided(scaled.subs(ROOT, 1) == 0 and power_exceeds_one() and beyond.is_nonnegative)


def _momentum_without_delay() -> sympy.Basic:
    modulus = sympy.sqrt(sympy.factor(_momentum_modulus(sympy.pi) ** 2))
    turned = _turned().subs({tau: 0, ANGLE: sympy.pi})
    return decided(sympy.simplify(modulus - 2 * (1 + beta)) == 0 and turned == sympy.pi / 2)


def _momentum_at_delay_one() -> sympy.Basic:
    cosine = (1 + beta) / 2
    sine = sympy.sqrt(1 - cosine**2)
    step = _momentum_step().subs(tau, 1).subs(ROOT, cosine + sympy.I * sine)
    # At τ = 1 the phase stays below 3π/2 < π/2 + 2π, so this positive real a is that of m = 0.
    end = _turned().subs({tau: 1, ANGLE: sympy.pi})
    return decided(sympy.expand(step - (1 - beta)) == 0 and end < sympy.pi / 2 + 2 * sympy.pi)


def _momentum_vanishes() -> sympy.Expr:
    return sympy.solve(sympy.Eq(_turned().subs(beta, 0), sympy.pi / 2), ANGLE)[0] - _meeting_angle(sympy.Integer(0))


def _momentum_near_one() -> sympy.Basic:
    gap_root, slope = sympy.symbols("u y", positive=True)
    near = {beta: 1 - gap_root**2, ANGLE: gap_root * slope}
    # ψ is π/2 minus the angle whose tangent is 1/tan ψ, which is as small as its tangent.
    cotangent = (1 / sympy.tan(memory_argument(ANGLE))).subs(near)
    scaled = (tau + sympy.Rational(1, 2)) * slope - sympy.limit(cotangent / gap_root, gap_root, 0)
    delay = COUNT + 1
    solved = sympy.solve(sympy.expand(scaled * slope).subs(tau, delay), slope)
    effective = sympy.limit(_momentum_modulus(ANGLE).subs(near) / gap_root**2, gap_root, 0)
    return decided(len(solved) == 1 and sympy.simplify(effective.subs(slope, solved[0]) - 1 / delay) == 0)


def decided(condition: bool | None) -> sympy.Basic:
    """The outcome of a step that several conditions decide; an undecided one fails."""
    return sympy.true if condition else sympy.false


STATEMENTS = by_label(__name__, delayed_descent_limit, delayed_momentum_limit)
"""The statements of this file."""
