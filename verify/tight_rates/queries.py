"""Which polynomial inequalities are the tight rates? The statements as queries, made from the bounds as they stand.

Scaling f and x makes L = 1 + r and μ = 1 − r; with r = (θ² − s)/(θ(1 − s)) every bound is rational in s and θ. A form
that is ≥ 0 for all scalars is ≥ 0 for vectors of any dimension. Where a claim fixes a vector at 1, the general case
follows by scaling, and by continuity where that vector is zero. Only the bounds are read from `theory/`. Ours.
"""

from itertools import product

import sympy

from sparsync.theory.language.symbols import L, delta, epsilon, mu, tolerance
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.tools.smt import Query

S, R, THETA = sympy.symbols("s r theta", real=True)
SPREAD = (THETA**2 - S) / (THETA * (1 - S))
"""r as θ determines it."""
FACTORS = (S >= 0, S < 1, THETA > 0, THETA < 1, THETA**2 >= S)
"""Every s and θ that a rate can have, but θ = 0 for s = r = 0, where one step ends at x*; `parameter_queries`."""
SPREADS = (S >= 0, S < 1, R >= 0, R < 1)
"""Every s and r."""
SHARPER = sympy.Rational(99, 100)
"""A rate smaller by this factor must have a counterexample."""
POSITION, MEMORY, CENTRED, KEPT = sympy.symbols("x e y w", real=True)
"""A vector, what is remembered of one, y of ηg = h(x + r y) with ‖y‖ ≤ ‖x‖, and w of C(v) = v + s w with ‖w‖ ≤ ‖v‖."""


def parameter_queries() -> tuple[Query, ...]:
    """The positive root θ of θ² = (1 − s)rθ + s is below one and at least √s: s and θ describe every s and r."""
    premises = (*SPREADS, THETA > 0, sympy.Eq(THETA**2, (1 - S) * R * THETA + S))
    return (
        Query("θ < 1", premises, THETA < 1, sympy.Lt(THETA, sympy.Rational(9, 10))),
        Query("θ² ≥ s", premises, THETA**2 >= S, sympy.Ge(THETA**2, S + sympy.Rational(1, 10))),
    )


def feedback_queries() -> tuple[Query, ...]:
    """`ef_tight_rate`: one worker with a sharp rate, and the mean and the deviations of any number of workers."""
    rate, step = stated("ef_tight_rate", SPREAD), stated("ef_tight_step", SPREAD)
    scaled = step * (POSITION + SPREAD * CENTRED)
    virtual = POSITION - S * MEMORY
    # What the compressor leaves, s w, is taken as large as it can be: it enters the value after the step by ‖w‖² only.
    before, after = virtual**2 + S * MEMORY**2, (virtual - scaled) ** 2 + S * (S * MEMORY + scaled) ** 2
    deviation = rate * MEMORY**2 - S * (MEMORY + step * SPREAD * CENTRED) ** 2
    return (
        *parameter_queries(),
        *_worker_queries(rate, before=before, after=after, deviation=deviation, sign=-1),
    )


def feedback_21_queries() -> tuple[Query, ...]:
    """`ef21_tight_rate`: the same for EF21, where x stands for d, g − d = s e and ηΔg = h(d + r y)."""
    rate, step = stated("ef21_tight_rate", SPREAD), stated("ef_tight_step", SPREAD)
    gradient = POSITION + S * MEMORY
    following = gradient - step * (POSITION + SPREAD * CENTRED)
    before, after = S * MEMORY**2 + gradient**2, S * (following - POSITION) ** 2 + following**2
    deviation = rate * S * MEMORY**2 - S * (S * MEMORY - step * SPREAD * CENTRED) ** 2
    return (
        *parameter_queries(),
        *_worker_queries(rate, before=before, after=after, deviation=deviation, sign=1),
    )


def _worker_queries(
    rate: sympy.Expr, *, before: sympy.Expr, after: sympy.Expr, deviation: sympy.Expr, sign: int
) -> tuple[Query, ...]:
    """V_1 ≤ ρV_0 where ‖y‖ ≤ ‖x‖, equality, and a multiplier of that condition for the mean and the deviations.

    Args:
        rate: ρ.
        before: V_0.
        after: V_1.
        deviation: ρV_0 − V_1 of a deviation.
        sign: of e where f = μx²/2 attains the rate.
    """
    multiplier = (rate - S) / (1 + S)
    one = {POSITION: 1}
    known = multiplier * (1 - CENTRED**2)
    attaining = {POSITION: 1, CENTRED: -1, MEMORY: sign * (1 - THETA) / (THETA * (1 + S))}
    left = _numerator((rate * before - after).subs(attaining))
    return (
        Query(
            "one worker: V_1 ≤ ρV_0",
            (*FACTORS, CENTRED**2 <= 1),
            _nonnegative((rate * before - after).subs(one)),
            _nonnegative((SHARPER * rate * before - after).subs(one)),
        ),
        Query("f = μx²/2 has V_1 = ρV_0", FACTORS, sympy.Eq(left, 0), sympy.Eq(left, 1)),
        Query(
            "the mean: ρV_0 − V_1 ≥ (ρ − s)/(1 + s)·(x² − y²) for all x, e, y",
            FACTORS,
            _nonnegative((rate * before - after).subs(one) - known),
            _nonnegative((SHARPER * rate * before - after).subs(one) - known),
        ),
        Query(
            "a deviation: its part of ρV_0 − V_1 is ≥ −(ρ − s)/(1 + s)·y² for all e, y",
            FACTORS,
            _nonnegative(deviation + multiplier * CENTRED**2),
            _nonnegative(deviation + multiplier * CENTRED**2 - rate * MEMORY**2),
        ),
    )


def step_queries() -> tuple[Query, ...]:
    """`ef_tight_step`: a number that bounds the eigenvalues of both extreme quadratics at some η bounds them at η*.

    λ bounds the roots of z² − tz − s iff λ² ≥ ±tλ + s, where t = (1 − s) − (1 + s)ηa for the curvature a and
    C(v) = (1 + s)v.
    """
    step_size, bounding = sympy.symbols("eta lambda", real=True)
    best = stated("ef_tight_step", R)

    def room(step: sympy.Expr, curvature: sympy.Expr, sign: int) -> sympy.Expr:
        return bounding**2 - S - sign * ((1 - S) - (1 + S) * step * curvature) * bounding

    ends = tuple(product((1 - R, 1 + R), (1, -1)))
    premises = (*SPREADS, bounding > 0, step_size > 0, *(room(step_size, *end) >= 0 for end in ends))
    below = tuple(
        Query(
            f"eigenvalues for the curvature {curvature}, sign {sign}",
            premises,
            _nonnegative(room(best, curvature, sign)),
            _nonnegative(room(best, curvature, sign) - bounding),
        )
        for curvature, sign in ends
    )
    smallest = sympy.Eq(_numerator(room(best, 1 - R, 1)), 0)
    return (
        *below,
        Query(
            "no other step size has the smallest λ",
            (*premises, smallest),
            sympy.Eq(_numerator(step_size - best), 0),
            sympy.Eq(_numerator(step_size - 2 * best), 0),
        ),
    )


def descent_queries() -> tuple[Query, ...]:
    """`compressed_descent_rate`: multipliers prove it for all f, and the extreme quadratics attain it."""
    rate = stated("compressed_descent_rate", R)
    heights = sympy.symbols("phi_0 phi_1", real=True)
    slack = sympy.expand(_descent_slack(rate, *heights))
    left = _numerator(slack.coeff(heights[0])) ** 2 + _numerator(slack.coeff(heights[1])) ** 2
    form = slack.subs(dict.fromkeys(heights, 0))
    product_of_both = sympy.Symbol("ab", real=True)
    end = (1 - product_of_both / (1 + S * R)) ** 2
    region = (*SPREADS, product_of_both >= (1 - R) * (1 - S), product_of_both <= (1 + R) * (1 + S))
    return (
        Query(
            "ρf_0 − f_1 + θQ(0,1) + θ(1 − θ)Q(*,0) + (1 − θ)Q(*,1) + (θηs/2)(w² − g_0²) has no function value left",
            SPREADS,
            sympy.Eq(left, 0),
            sympy.Eq(left, 1),
        ),
        Query("and is ≥ 0", SPREADS, _nonnegative(form), _nonnegative(form - POSITION**2)),
        Query(
            "x_1² ≤ ρx_0² for f = ax²/2 and C(g) = b g",
            region,
            _nonnegative(rate - end),
            _nonnegative(SHARPER * rate - end),
        ),
    )


def _descent_slack(rate: sympy.Expr, height: sympy.Symbol, following_height: sympy.Symbol) -> sympy.Expr:
    """The sum of the first claim, in x, w, π_0, π_1 and the two φ, where f = φ + μx²/2 and g = μx + (L − μ)π."""
    slope, following_slope = sympy.symbols("pi_0 pi_1", real=True)
    theta, eta = (R + S) / (1 + R * S), 1 / (1 + R * S)
    gradient = (1 - R) * POSITION + 2 * R * slope
    start, end = (POSITION, slope, height), (POSITION - eta * (gradient + S * KEPT), following_slope, following_height)
    minimiser = (sympy.S.Zero,) * 3

    def value(point: tuple[sympy.Expr, ...]) -> sympy.Expr:
        return point[2] + (1 - R) * point[0] ** 2 / 2

    def pair(first: tuple[sympy.Expr, ...], second: tuple[sympy.Expr, ...]) -> sympy.Expr:
        (x, pi, phi), (other_x, other_pi, other_phi) = first, second
        return other_phi - phi + 2 * R * (other_pi * (x - other_x) + (pi - other_pi) ** 2 / 2)

    return (
        rate * value(start)
        - value(end)
        + theta * pair(start, end)
        + theta * (1 - theta) * pair(minimiser, start)
        + (1 - theta) * pair(minimiser, end)
        + theta * eta * S / 2 * (KEPT**2 - gradient**2)
    )


def small_delta_queries() -> tuple[Query, ...]:
    """`ef_small_delta`: K(1 − ρ) ≥ 1, where the bound is K·ln(1/tol); ln(1/ρ) ≥ 1 − ρ does the rest."""
    per_logarithm = STATEMENTS["ef_small_delta"].bound.subs({tolerance: sympy.exp(-1)})
    scaled = per_logarithm.xreplace({L: 1 + R, mu: 1 - R, delta: 1 - S**2}) * (1 - THETA**2)
    premises = (*SPREADS, THETA > 0, sympy.Eq(THETA**2, (1 - S) * R * THETA + S))
    return (
        Query("K(1 − ρ) ≥ 1", premises, _nonnegative(scaled - 1), _nonnegative(scaled - 2)),
        *parameter_queries(),
    )


def stated(label: str, spread: sympy.Expr) -> sympy.Expr:
    """The bound of a statement at L = 1 + spread, μ = 1 − spread and ε = s², as a rational function."""
    positive = {symbol: sympy.Symbol(str(symbol), positive=True) for symbol in (S, R, THETA)}
    width = spread.xreplace(positive)
    value = STATEMENTS[label].bound.xreplace({L: 1 + width, mu: 1 - width, epsilon: positive[S] ** 2})
    roots = {root: sympy.sqrt(sympy.factor(root.base)) for root in value.atoms(sympy.Pow) if root.exp == sympy.S.Half}
    return sympy.cancel(value.xreplace(roots)).xreplace({symbol: real for real, symbol in positive.items()})


def _nonnegative(quantity: sympy.Expr) -> sympy.Basic:
    return _numerator(quantity) >= 0


def _numerator(quantity: sympy.Expr) -> sympy.Expr:
    """The numerator over a denominator that is positive for 0 ≤ s < 1, 0 ≤ r < 1 and θ > 0.

    Raises:
        ValueError: the denominator is not such a product.
    """
    above, below = sympy.fraction(sympy.cancel(sympy.together(quantity)))
    share, room = sympy.symbols("a b", positive=True)
    visible = sympy.factor(below.subs({S: 1 / (1 + share), R: 1 / (1 + room), THETA: sympy.Symbol("t", positive=True)}))
    if not (visible.is_positive or visible.is_negative):
        raise ValueError(f"the sign of the denominator {below} is not visible")
    return sympy.expand(above if visible.is_positive else -above)
