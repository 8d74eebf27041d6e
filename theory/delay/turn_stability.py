"""How large may a step be when workers report in turn, each with a heavy ball of its own? On a quadratic.

Nobody waits, and n workers are equally fast: each reports after the n − 1 others have, with the weight 1/n. Gradients
are n − 1 reports old, as in `theory/delay/stability.py`, but a velocity goes on from the same worker's last one, which
is n reports old. The proof follows the roots as there. Ours.
"""

import mpmath
import sympy
from sympy.utilities.lambdify import implemented_function

from sparsync.theory.delay.stability import (
    ANGLE,
    COUNT,
    ROOT,
    SIZE,
    STEP,
    TURN,
    argument_is_principal,
    below_one,
    crossing,
    decided,
    delayed_descent_limit,
    half_angle_increases,
    leaving_speed,
    memory_argument,
    power_exceeds_one,
    solved_angle,
)
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import beta, eta, n, stable_limit, tau

ANGLE_SQUARE, TURN_SQUARE = sympy.symbols("angle_square turn_square", nonnegative=True)
"""sin²(φ/2) and sin²(θ/2)."""


def _turn_angle(worker_count: sympy.Float, momentum: sympy.Float) -> mpmath.mpf:
    return solved_angle(worker_count - 1, momentum, worker_count)


turn_angle = implemented_function("varphi", _turn_angle)
"""φ(n, γ): the angle at which roots first reach the unit circle, see `reports_in_turn_limit`."""


def reports_in_turn_limit() -> Statement:
    """n workers in turn, each with a heavy ball, are stable iff 0 < a < 2n sin(φ/2) √((1 − γ)² + 4γ sin²(nφ/2)).

    a = ηλ, and φ = φ(n, γ) is the only angle in (0, π/n] with (n − 1/2)φ + atan(γ sin nφ/(1 − γ cos nφ)) = π/2, which
    says that e^{inφ} − γ has the argument (π + φ)/2, and comes to cos((n − 1/2)φ) = γ cos(φ/2); the root is its size.
    In closed form the limit is 2(1 + γ) for n = 1 (Polyak 1964), 2(1 − γ²) for n = 2, and √(1 − γ²) arccos γ as n → ∞;
    γ = 0 gives n times `delayed_descent_limit` at τ = n − 1. As γ → 1 the limit of the effective step a/(1 − γ) is
    2n/(n − 1) for n ≥ 2.

    Source: ours.
    """
    bound = _modulus(turn_angle(n, beta))
    return Statement(
        label="reports_in_turn_limit",
        title="Largest stable step, reports in turn",
        assumptions=(
            r"$v_t=\gamma v_{t-n}+\lambda x_{t-n+1}$ and $x_{t+1}=x_t-\frac{\eta}{n}v_t$ with $\lambda>0$",
            r"$\varphi\in(0,\frac{\pi}{n}]$ is the solution of "
            r"$(n-\frac12)\varphi+\arctan\frac{\gamma\sin n\varphi}{1-\gamma\cos n\varphi}=\frac{\pi}{2}$",
        ),
        relation=sympy.Eq(stable_limit, bound),
        domain=(sympy.Lt(beta, 1),),
        source="ours; one worker: Polyak 1964",
        derivation=(
            Step("x_t = z^t: (z − 1)(z^n − γ) + (a/n)z = 0, as v_t = (n/η)(x_t − x_{t+1})", _recursion_has_roots),
            Step("z is a root where a/n = (1/z − 1)(z^n − γ) = z^{n−1}(1 − z)·(1 − γ/z^n)", _step_factors),
            Step("z^{n−1}(1 − z) = 2 sin(φ/2) e^{i((2n−1)φ − π)/2} for z = e^{iφ}", _chord_on_circle),
            Step(
                "1 − γe^{−iθ} has the real part 1 − γ + 2γ sin²(θ/2) > 0: ψ(θ) is its argument", argument_is_principal
            ),
            Step("hence |a| is the bound's formula at φ", _modulus_on_circle, concludes=bound),
            Step("the phase of a is 0 mod 2π iff h(φ) = (n − 1/2)φ + ψ(nφ) is π/2 + 2πm", _meetings),
            Step("h' = (n − 1)/2 + n(1 − γ²)/(2|z^n − γ|²) > 0", _phase_increases),
            Step("h(0) = 0 and h(π/n) = π − π/(2n) ≥ π/2: m = 0 is met once up to π/n, and first", _phase_range),
            Step("Ψ(θ) = θ + ψ(θ) increases from 0 at 0 to π at π, and Ψ(θ + 2πm) = Ψ(θ) + 2πm", _argument_increases),
            Step("where h = π/2 + 2πm, Ψ(nφ − 2πm) = (π + φ)/2 ≤ π: θ = nφ − 2πm ≤ π grows with φ", _turns_taken_off),
            Step("sin²(φ/2) = u²/(1 + u²) increases in u = tan(φ/2), and so does sin²(θ/2)", half_angle_increases),
            Step(
                "|a|² increases in sin²(φ/2), and never falls in sin²(θ/2): m = 0 has the least a", _modulus_increases
            ),
            Step("at a = 0 the roots are the simple root 1 and those of z^n = γ < 1", _starts_on_small_circle),
            Step(
                "dz/da = −1/(n(1 − γ)) at z = 1, a = 0: for small a > 0 all are inside",
                _starts_inside,
                argued="that roots depend continuously on a",
            ),
            Step("Re(d log a/d log z) on the circle is h': roots cross outwards only", _roots_cross),
            Step("a ≤ 0: there is a real root between 1 and 1 + |a|/(n(1 − γ))", _not_negative),
            Step(
                "a/n = 2 sin(φ/2)(S − iC), S = sin((n − ½)φ) + γ sin(φ/2), C = cos((n − ½)φ) − γ cos(φ/2): C = 0 at φ",
                _real_where_cosines_agree,
            ),
            Step("n = 1: φ = π and a = 2(1 + γ)", _one_worker),
            Step("n = 2: cos φ = (1 + γ)/2 and a = 2(1 − γ²)", _two_workers),
            Step("γ = 0: φ = π/(2n − 1), and a is n times delayed_descent_limit at τ = n − 1", _without_momentum),
            Step(
                "φ = y/n, n → ∞: the equation becomes y + ψ(y) = π/2, so γ = cos y, and a → √(1 − γ²) arccos γ",
                _many_workers,
                argued="that solutions tend to the one of the limit",
            ),
            Step(
                "γ = 1 − u², φ = uy, u → 0, n ≥ 2: the equation becomes (n − 1)y = 2/(ny), a/u² tends to 2n/(n − 1)",
                _momentum_near_one,
                argued="that solutions tend to the one of the limit",
            ),
        ),
    )


def turn_polynomial() -> sympy.Expr:
    """(z − 1)(zⁿ − γ) + (a/n)z, characteristic of reports in turn."""
    return (ROOT - 1) * (ROOT**n - beta) + STEP / n * ROOT


def _turn_step() -> sympy.Expr:
    """The a that has the root z."""
    return sympy.factor(sympy.solve(turn_polynomial(), STEP)[0])


def _modulus(angle: sympy.Expr) -> sympy.Expr:
    """|a| where e^{iφ} is a root."""
    squares = {ANGLE_SQUARE: sympy.sin(angle / 2) ** 2, TURN_SQUARE: sympy.sin(n * angle / 2) ** 2}
    return 2 * n * sympy.sin(angle / 2) * sympy.sqrt(_square_distance().xreplace(squares))


def _square_distance() -> sympy.Expr:
    """|e^{iθ} − γ|² in sin²(θ/2)."""
    return (1 - beta) ** 2 + 4 * beta * TURN_SQUARE


def _phase() -> sympy.Expr:
    """h(φ) = (n − 1/2)φ + ψ(nφ)."""
    return (n - sympy.Rational(1, 2)) * ANGLE + memory_argument(n * ANGLE)


def _phase_speed(square_distance: sympy.Expr) -> sympy.Expr:
    """h'."""
    return n * _argument_speed(square_distance) - sympy.Rational(1, 2)


def _argument_speed(square_distance: sympy.Expr) -> sympy.Expr:
    """Ψ' = (1 + (1 − γ²)/|e^{iθ} − γ|²)/2."""
    return (1 + (1 - beta**2) / square_distance) / 2


def _full_argument(turned: sympy.Expr) -> sympy.Expr:
    """Ψ(θ) = θ + ψ(θ), the argument of e^{iθ} − γ."""
    return turned + memory_argument(turned)


def _recursion_has_roots() -> sympy.Expr:
    now, curvature = sympy.Symbol("t", integer=True), sympy.Symbol("lambda", positive=True)

    def velocity(time: sympy.Expr) -> sympy.Expr:
        return n / eta * (ROOT**time - ROOT ** (time + 1))

    recursion = velocity(now) - beta * velocity(now - n) - curvature * ROOT ** (now - n + 1)
    polynomial = turn_polynomial().subs(STEP, eta * curvature)
    return sympy.simplify(sympy.expand(recursion * eta / n * ROOT ** (n - now) + polynomial))


def _step_factors() -> sympy.Basic:
    products = (
        (1 / ROOT - 1) * (ROOT**n - beta),
        ROOT ** (n - 1) * (1 - ROOT) * (1 - beta / ROOT**n),
    )
    return decided(all(sympy.simplify(sympy.expand(_turn_step() / n - product)) == 0 for product in products))


def _chord_on_circle() -> sympy.Expr:
    chord = (ROOT ** (n - 1) * (1 - ROOT)).subs(ROOT, sympy.exp(sympy.I * ANGLE))
    polar = 2 * sympy.sin(ANGLE / 2) * sympy.exp(sympy.I * ((2 * n - 1) * ANGLE - sympy.pi) / 2)
    return sympy.simplify(sympy.expand(chord) - sympy.expand(polar.rewrite(sympy.exp)))


def _modulus_on_circle() -> sympy.Expr:
    step = _turn_step()
    square = (step * step.subs(ROOT, 1 / ROOT)).subs(ROOT, sympy.exp(sympy.I * ANGLE))
    stated = sympy.expand((_modulus(ANGLE) ** 2).rewrite(sympy.exp))
    return sympy.simplify(sympy.expand(sympy.simplify(square)) - stated)


def _meetings() -> sympy.Expr:
    chord_phase = ((2 * n - 1) * ANGLE - sympy.pi) / 2
    argument = sympy.Symbol("psi", real=True)
    met = sympy.solve(sympy.Eq(chord_phase + argument, 2 * sympy.pi * TURN), argument)[0]
    return sympy.expand(_phase() - memory_argument(n * ANGLE) + met - (sympy.pi / 2 + 2 * sympy.pi * TURN))


def _phase_increases() -> sympy.Basic:
    square_distance = 1 - 2 * beta * sympy.cos(n * ANGLE) + beta**2
    half = {TURN_SQUARE: sympy.sin(n * ANGLE / 2) ** 2}
    stated = (n - 1) / sympy.S(2) + n * (1 - beta**2) / (2 * _square_distance())
    growing = below_one(stated - (n - 1) / sympy.S(2))
    return decided(
        sympy.simplify(square_distance - _square_distance().xreplace(half)) == 0
        and sympy.simplify(sympy.diff(_phase(), ANGLE) - _phase_speed(square_distance)) == 0
        and sympy.simplify(_phase_speed(_square_distance()) - stated) == 0
        and growing.is_positive
        and (n - 1).is_nonnegative
    )


def _phase_range() -> sympy.Basic:
    end = sympy.expand(_phase().subs(ANGLE, sympy.pi / n))
    earlier = sympy.pi / 2 + 2 * sympy.pi * (-1 - COUNT)
    return decided(
        _phase().subs(ANGLE, 0) == 0
        and sympy.simplify(end - (sympy.pi - sympy.pi / (2 * n))) == 0
        and sympy.factor(end - sympy.pi / 2).is_nonnegative
        and sympy.expand(earlier).is_negative
    )


def _argument_increases() -> sympy.Basic:
    half = {TURN_SQUARE: sympy.sin(ANGLE / 2) ** 2}
    speed_differs = sympy.diff(_full_argument(ANGLE), ANGLE) - _argument_speed(_square_distance()).xreplace(half)
    turned = _full_argument(ANGLE + 2 * sympy.pi * TURN) - _full_argument(ANGLE) - 2 * sympy.pi * TURN
    return decided(
        sympy.simplify(speed_differs) == 0
        and below_one(_argument_speed(_square_distance())).is_positive
        and [_full_argument(end) for end in (sympy.S.Zero, sympy.pi)] == [0, sympy.pi]
        and sympy.expand(turned) == 0
    )


def _turns_taken_off() -> sympy.Basic:
    turns = 2 * sympy.pi * TURN
    remaining = (_full_argument(n * ANGLE) - turns).subs(memory_argument(n * ANGLE), _argument_at_meeting())
    stated = (sympy.pi + ANGLE) / 2
    same_argument = sympy.expand(_full_argument(n * ANGLE - turns) - (_full_argument(n * ANGLE) - turns)) == 0
    return decided(
        same_argument
        and sympy.expand(remaining - stated) == 0
        and stated.subs(ANGLE, sympy.pi) == sympy.pi
        and sympy.diff(stated, ANGLE).is_positive
    )


def _argument_at_meeting() -> sympy.Expr:
    """ψ(nφ) where h(φ) = π/2 + 2πm."""
    return sympy.pi / 2 + 2 * sympy.pi * TURN - (_phase() - memory_argument(n * ANGLE))


def _modulus_increases() -> sympy.Basic:
    square = 4 * n**2 * ANGLE_SQUARE * _square_distance()
    half = {ANGLE_SQUARE: sympy.sin(ANGLE / 2) ** 2, TURN_SQUARE: sympy.sin(n * ANGLE / 2) ** 2}
    return decided(
        sympy.expand(_modulus(ANGLE) ** 2 - square.xreplace(half)) == 0
        and below_one(sympy.diff(square, ANGLE_SQUARE)).is_positive
        and below_one(sympy.diff(square, TURN_SQUARE)).is_nonnegative
    )


def _starts_on_small_circle() -> sympy.Basic:
    at_zero = turn_polynomial().subs(STEP, 0)
    others = sympy.cancel(at_zero / (ROOT - 1))
    # Where it is 1 − γ > 0 at z = 1, that root is simple and γ < 1.
    return decided(sympy.expand(others - (ROOT**n - beta)) == 0 and below_one(others.subs(ROOT, 1)).is_positive)


def _starts_inside() -> sympy.Basic:
    speed = leaving_speed(_turn_step())
    return decided(sympy.simplify(speed + 1 / (n * (1 - beta))) == 0 and below_one(-speed).is_positive)


def _roots_cross() -> sympy.Expr:
    square_distance = (ROOT**n - beta) * (ROOT**-n - beta)
    return sympy.simplify(crossing(_turn_step()) - 2 * _phase_speed(square_distance))


def _not_negative() -> sympy.Basic:
    # z^n = z(1 + excess) for z ≥ 1, by `power_exceeds_one` at τ = n − 1.
    excess = sympy.Symbol("excess", nonnegative=True)
    negative = turn_polynomial().subs(STEP, -SIZE)
    reach = SIZE / (n * (1 - beta))
    beyond = below_one(negative.subs(ROOT**n, ROOT * (1 + excess)).subs(ROOT, 1 + reach))
    return decided(
        negative.subs(ROOT, 1).is_negative and power_exceeds_one() and (n - 1).is_nonnegative and beyond.is_nonnegative
    )


def _real_where_cosines_agree() -> sympy.Expr:
    far, near = (n - sympy.Rational(1, 2)) * ANGLE, ANGLE / 2
    sines, cosines = sympy.sin(far) + beta * sympy.sin(near), sympy.cos(far) - beta * sympy.cos(near)
    stated = 2 * sympy.sin(near) * (sines - sympy.I * cosines)
    on_circle = (_turn_step() / n).subs(ROOT, sympy.exp(sympy.I * ANGLE))
    return sympy.simplify(sympy.expand(sympy.expand(on_circle) - sympy.expand(stated.rewrite(sympy.exp))))


def _one_worker() -> sympy.Basic:
    modulus = sympy.sqrt(sympy.factor((_modulus(sympy.pi) ** 2).subs(n, 1)))
    met = _phase().subs(n, 1).subs(ANGLE, sympy.pi)
    return decided(sympy.simplify(modulus - 2 * (1 + beta)) == 0 and met == sympy.pi / 2)


def _two_workers() -> sympy.Basic:
    cosine = (1 + beta) / 2
    sine = sympy.sqrt(1 - cosine**2)
    step = _turn_step().subs(n, 2).subs(ROOT, cosine + sympy.I * sine)
    # A positive cosine keeps φ below π/2 = π/n, where only m = 0 is met.
    return decided(sympy.simplify(sympy.expand(step) - 2 * (1 - beta**2)) == 0 and cosine.is_positive)


def _without_momentum() -> sympy.Basic:
    angle = sympy.solve(sympy.Eq(_phase().subs(beta, 0), sympy.pi / 2), ANGLE)[0]
    descent = n * delayed_descent_limit().bound.subs(tau, n - 1)
    return decided(
        sympy.simplify(angle - sympy.pi / (2 * n - 1)) == 0
        and sympy.simplify(_modulus(angle).subs(beta, 0) - descent) == 0
    )


def _many_workers() -> sympy.Basic:
    turned = sympy.Symbol("y", positive=True)
    near = {ANGLE: turned / n}
    equation = sympy.limit(_phase().subs(near), n, sympy.oo).subs(beta, sympy.cos(turned))
    modulus_square = sympy.limit((_modulus(ANGLE) ** 2).subs(near), n, sympy.oo).subs(beta, sympy.cos(turned))
    # A function of y that is constant, and π/2 at y = π/4.
    return decided(
        sympy.simplify(sympy.diff(equation, turned)) == 0
        and sympy.simplify(equation.subs(turned, sympy.pi / 4)) == sympy.pi / 2
        and sympy.simplify(modulus_square - (turned * sympy.sin(turned)) ** 2) == 0
    )


def _momentum_near_one() -> sympy.Basic:
    gap_root, slope = sympy.symbols("u y", positive=True)
    near = {beta: 1 - gap_root**2, ANGLE: gap_root * slope}
    # ψ is π/2 minus the angle whose tangent is 1/tan ψ, which is as small as its tangent.
    cotangent = (1 / sympy.tan(memory_argument(n * ANGLE))).subs(near)
    scaled = (n - sympy.Rational(1, 2)) * slope - sympy.limit(cotangent / gap_root, gap_root, 0)
    several = COUNT + 2
    stated = (n - 1) * slope - 2 / (n * slope)
    solved = sympy.solve(sympy.expand(scaled * slope).subs(n, several), slope)
    effective = sympy.limit((_modulus(ANGLE) ** 2).subs(near) / gap_root**4, gap_root, 0)
    stated_square = (2 * several / (several - 1)) ** 2
    return decided(
        len(solved) == 1
        and sympy.simplify(2 * scaled - stated) == 0
        and sympy.simplify(effective.subs(n, several).subs(slope, solved[0]) - stated_square) == 0
    )


STATEMENTS = by_label(__name__, reports_in_turn_limit)
"""The statements of this file."""
