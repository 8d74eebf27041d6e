"""Why does gradient descent with a compressed gradient have the rate ((q − 1)/(q + 1))², q = L(1 + s)/(μ(1 − s))?

The steps behind `compressed_descent_rate`: three interpolation inequalities and the compressor's, each times a
multiplier ≥ 0, leave f_1 − ρ f_0 = −(two squares), for every 0 < μ ≤ L. The compressor sends g + s w, ‖w‖ ≤ ‖g‖, so
that s = 0 is no exception. Rate: Thomsen, Taylor and Dieuleveut 2025; the proof is ours.
"""

import sympy

from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import L, epsilon, mu
from sparsync.theory.tight_rates.interpolation import MINIMISER, Point, interpolation, interpolation_steps, numerator

ROOT = sympy.Symbol("s", nonnegative=True)
"""s = √ε."""
REMAINING = sympy.Symbol("1-s", positive=True)
"""1 − s."""
SPREAD = sympy.Symbol("L-mu", nonnegative=True)
"""L − μ."""


def descent_step(root_epsilon: sympy.Expr) -> sympy.Expr:
    """η = 2/((1 − s)μ + (1 + s)L)."""
    return 2 / ((1 - root_epsilon) * mu + (1 + root_epsilon) * L)


def descent_factor(root_epsilon: sympy.Expr) -> sympy.Expr:
    """θ = (q − 1)/(q + 1) = (L(1 + s) − μ(1 − s))/(L(1 + s) + μ(1 − s))."""
    larger, smaller = L * (1 + root_epsilon), mu * (1 - root_epsilon)
    return (larger - smaller) / (larger + smaller)


def descent_rate(root_epsilon: sympy.Expr) -> sympy.Expr:
    """ρ = θ²."""
    return descent_factor(root_epsilon) ** 2


def descent_steps(bound: sympy.Expr) -> tuple[Step, ...]:
    """The steps of `compressed_descent_rate`."""
    return (
        *interpolation_steps()[:1],
        Step("the rate is θ², θ = (q − 1)/(q + 1) for q = L(1 + s)/(μ(1 − s))", lambda: _condition_number_form(bound)),
        Step(
            "ρf_0 − f_1 + θQ(0,1) + θ(1−θ)Q(*,0) + (1−θ)Q(*,1) + (θηs/2)(‖w‖² − ‖g_0‖²) is a sum of two squares",
            _sum_of_squares,
        ),
        Step("0 ≤ θ < 1, and the factors of the squares and the multipliers are ≥ 0", _signs, concludes=bound),
        Step(
            "f = μx²/2 with C(g) = (1 − s)g attains it: x⁺ = θx", lambda: _residue(mu, 1 - ROOT, descent_factor(ROOT))
        ),
        Step("so does f = Lx²/2 with C(g) = (1 + s)g: x⁺ = −θx", lambda: _residue(L, 1 + ROOT, -descent_factor(ROOT))),
        Step("a smaller η leaves the first of the two larger, a larger η the second", _best_step),
        Step("p(θ) ≤ 0 for the polynomial p whose positive root is error feedback's θ", _below_error_feedback),
    )


def _condition_number_form(bound: sympy.Expr) -> sympy.Basic:
    condition = L * (1 + ROOT) / (mu * (1 - ROOT))
    published = (condition - 1) / (condition + 1)
    rate = bound.subs(sympy.sqrt(epsilon), ROOT)
    residues = (numerator(published - descent_factor(ROOT)), numerator(published**2 - rate))
    return sympy.And(*(sympy.Eq(residue, 0) for residue in residues))


def _sum_of_squares() -> sympy.Expr:
    x, slope, error, following_slope = sympy.symbols("x pi_0 w pi_1", real=True)
    height, following_height = sympy.symbols("phi_0 phi_1", real=True)
    theta, eta = descent_factor(ROOT), descent_step(ROOT)
    start = Point(x, slope, height)
    end = Point(x - eta * (start.gradient + ROOT * error), following_slope, following_height)
    ahead, from_minimiser, to_end, contraction, first_factor, second_factor = _factors()
    slack = (
        theta**2 * start.value
        - end.value
        + ahead * interpolation(start, end)
        + from_minimiser * interpolation(MINIMISER, start)
        + to_end * interpolation(MINIMISER, end)
        + contraction * (error**2 - start.gradient**2)
    )
    turn = (L * (1 - ROOT) - mu * (1 + ROOT)) * eta / 2
    change = following_slope + turn * slope + ROOT * eta * (error + mu * x)
    excess = error + mu * x - (L + mu) * slope
    return numerator(slack - first_factor * change**2 - second_factor * excess**2)


def _factors() -> tuple[sympy.Expr, ...]:
    """The multipliers of Q(0, 1), Q(*, 0), Q(*, 1) and of the contraction, then the factors of the two squares."""
    theta, eta = descent_factor(ROOT), descent_step(ROOT)
    return (
        theta,
        theta * (1 - theta),
        1 - theta,
        theta * ROOT * eta / 2,
        (L - mu) / 2,
        (L - mu) * ROOT * (1 - ROOT) * eta**2 / 4,
    )


def _signs() -> sympy.Basic:
    return sympy.And(*(sympy.sympify(_is_nonnegative(factor)) for factor in _factors()))


def _is_nonnegative(quantity: sympy.Expr) -> bool:
    """Decided by coefficients: with s = a/(a + b), 1 − s = b/(a + b), L = μ + (L − μ), every sign is visible."""
    weight = sympy.Symbol("a", nonnegative=True)
    share = {ROOT: weight / (weight + REMAINING), L: mu + SPREAD}
    above, below = sympy.fraction(sympy.cancel(sympy.together(quantity.subs(share, simultaneous=True))))
    generators = (weight, REMAINING, mu, SPREAD)
    coefficients = (*sympy.Poly(above, *generators).coeffs(), *sympy.Poly(below, *generators).coeffs())
    return all(c >= 0 for c in coefficients) or all(c <= 0 for c in coefficients)


def _image(curvature: sympy.Expr, response: sympy.Expr, step: sympy.Expr) -> sympy.Expr:
    """x⁺/x for f = a x²/2 and C(g) = b g; its square is the ratio of function values."""
    return 1 - step * response * curvature


def _residue(curvature: sympy.Expr, response: sympy.Expr, factor: sympy.Expr) -> sympy.Expr:
    return sympy.cancel(_image(curvature, response, descent_step(ROOT)) - factor)


def _best_step() -> sympy.Basic:
    step = sympy.Symbol("step_size", positive=True)
    slowest, fastest = _image(mu, 1 - ROOT, step), -_image(L, 1 + ROOT, step)
    falls, grows = -sympy.diff(slowest, step), sympy.diff(fastest, step)
    return sympy.sympify(bool(falls.subs(1 - ROOT, REMAINING).is_positive and grows.is_positive))


def _below_error_feedback() -> sympy.Basic:
    """p(θ) = θ² − (1 − s)rθ − s = −s(1 − s)(1 − r)²(1 + r)/(1 + sr)² with r = (L − μ)/(L + μ)."""
    theta, spread = descent_factor(ROOT), (L - mu) / (L + mu)
    value = theta**2 - (1 - ROOT) * spread * theta - ROOT
    closed = -ROOT * (1 - ROOT) * (1 - spread) ** 2 * (1 + spread) / (1 + ROOT * spread) ** 2
    return sympy.And(sympy.Eq(numerator(value - closed), 0), _is_nonnegative(-closed))
