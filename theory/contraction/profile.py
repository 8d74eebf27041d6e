"""How does the shape of a whole law of magnitudes bound the energy that Top-k leaves behind?

A profile π(t) is the magnitude exceeded by the share t of the coordinates; Top-k at density κ keeps t < κ and leaves
F(κ)/F(0), where F(s) = ∫_s^1 π². Theorem (ours, generalising the convexity argument of Shi, Chu, Cheung and See 2019):
if π^p/(1 − t) is non-increasing for some p > 0, then F(κ)/F(0) ≤ (1 − κ)^(1 + 2/p), with equality for π^p = 1 − t.
p = 2 is the published exponent 2, p = 1 ("bell-shaped") gives 3, and p → ∞ the classical 1.
"""

import sympy

from sparsync.theory.language.statement import written
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import d, f, i, k, kappa, p, profile, s, t, w

REMAINING = sympy.Symbol("y", positive=True)
"""1 − t, or 1 − s: the share of ranks that follow; written as one positive symbol, so that its powers are real."""


def exponent_theorem() -> tuple[Step, ...]:
    """The steps of the theorem for symbolic p and an arbitrary profile.

    F is locally absolutely continuous, so the sign of the derivative almost everywhere is enough: π may jump.
    """
    return (
        Step("π(t)² ≤ π(s)²((1 − t)/(1 − s))^(2/p) integrates to F(s) ≤ π(s)²(1 − s)/(1 + 2/p)", _envelope_area),
        Step("F'(s) = −π(s)²", lambda: sympy.diff(_tail_energy(), s) + profile(s) ** 2),
        Step("F(s)/(1 − s)^(1 + 2/p) has a derivative ≤ 0, by the two previous steps", _scaled_tail_decreases),
        Step(
            "hence F(κ)/F(0) ≤ (1 − κ)^(1 + 2/p)",
            _ratio_from_decrease,
            argued="that F is absolutely continuous: a slope ≤ 0 almost everywhere is enough where π jumps",
        ),
        Step("π^p = 1 − t attains it", lambda: _extremal_ratio() - (1 - kappa) ** (1 + 2 / p)),
    )


def exponent_bound(shape: sympy.Expr) -> sympy.Expr:
    """(1 − k/d)^(1 + 2/p) for the given shape exponent p, in k and d: the theorem's bound at κ = k/d."""
    return ((1 - kappa) ** (1 + 2 / p)).subs({p: shape, kappa: k / d}, simultaneous=True)


def cell_average_step(shape: sympy.Expr, weight: sympy.Expr, scale: sympy.Expr) -> Step:
    """d ∫ (1 − t)^(2/p) dt over the i-th of d equal cells equals weight/scale: the finite form of π^p = 1 − t."""

    def cell_average() -> sympy.Expr:
        integrand = (1 - t) ** (2 / shape)
        return sympy.integrate(integrand, (t, (i - 1) / d, i / d)) * d - weight / scale

    average = f"({written(weight)})/({written(scale)})"
    return Step(
        f"averaged over the cells ((i − 1)/d, i/d), {written((1 - t) ** (2 / shape))} is {average}", cell_average
    )


def cell_class_step() -> Step:
    """If r = π²/(1 − t)^(2/p) is non-increasing, the cell averages v_i of π² have v_i/w_i non-increasing.

    Between two cells r has the value r_e: before the edge r ≥ r_e, so v_i = r_e w_i + excess; after it r ≤ r_e, so
    v_{i+1} = r_e w_{i+1} − shortfall, where w_i averages (1 − t)^(2/p) over cell i.
    """

    def cross_difference() -> sympy.Basic:
        edge, excess, shortfall = sympy.symbols("r_e excess shortfall", nonnegative=True)
        own, following = edge * w[i] + excess, edge * w[i + 1] - shortfall
        difference = sympy.expand(own * w[i + 1] - following * w[i])
        return sympy.true if difference.is_nonnegative else sympy.false

    return Step(
        "cell averages of π² are in the class of the cell averages of (1 − t)^(2/p)",
        cross_difference,
        argued="that r ≥ r_e before an edge and r ≤ r_e after it move the averages of r times the weight as stated",
    )


def convexity_step() -> Step:
    """A convex non-increasing q with q(1) = 0 has q/(1 − t) non-increasing, for q = π² or q = π."""

    def quotient_decreases() -> sympy.Basic:
        convex = sympy.Function("q")
        slack = sympy.Symbol("slack", nonnegative=True)
        derivative = sympy.diff(convex(t) / (1 - t), t)
        # The tangent at t lies below q(1) = 0: q(t) + q'(t)(1 − t) = −slack.
        tangent = sympy.solve(
            sympy.Eq(convex(t) + sympy.diff(convex(t), t) * (1 - t), -slack), sympy.diff(convex(t), t)
        )
        quotient = sympy.simplify(derivative.subs(sympy.diff(convex(t), t), tangent[0]) * (1 - t) ** 2)
        return _is_nonpositive(quotient)

    return Step(
        "q convex, q(1) = 0: q(t) + q'(t)(1 − t) ≤ 0, so (q/(1 − t))' ≤ 0",
        quotient_decreases,
        argued="that a convex function lies above its tangents, and has them almost everywhere",
    )


def bell_shape_steps() -> tuple[Step, ...]:
    """A magnitude density f that is non-increasing on [0, a) gives a convex profile that vanishes at t = 1."""
    return (
        Step("t = ∫_π^∞ f gives 1 = −f(π) π', so π' = −1/f(π)", _slope_of_inverse),
        Step(
            "π'' = −f'(π)/f(π)³, so π'' ≥ 0 where f' ≤ 0: the profile is convex",
            _curvature_of_inverse,
            argued="for a density that is not differentiable everywhere",
        ),
    )


def uniform_law_step() -> Step:
    """The uniform law on [−a, a] has π = a(1 − t), hence the ratio (1 − κ)³: p = 1 is sharp."""

    def difference() -> sympy.Expr:
        end = sympy.Symbol("a", positive=True)
        energy = sympy.integrate((end * (1 - t)) ** 2, (t, s, 1))
        return sympy.cancel(energy.subs(s, kappa) / energy.subs(s, 0)) - (1 - kappa) ** 3

    return Step("u uniform on [−a, a]: π = a(1 − t) and F(κ)/F(0) = (1 − κ)³", difference)


def _tail_energy() -> sympy.Expr:
    return sympy.Integral(profile(t) ** 2, (t, s, 1))


def _envelope_area() -> sympy.Expr:
    following = sympy.Symbol("x", positive=True)
    area = sympy.integrate((following / REMAINING) ** (2 / p), (following, 0, REMAINING))
    return area - REMAINING / (1 + 2 / p)


def _scaled_tail_decreases() -> sympy.Basic:
    exponent = 1 + 2 / p
    derivative = sympy.diff(_tail_energy() * (1 - s) ** -exponent, s)
    slack = sympy.Symbol("slack", nonnegative=True)
    bounded = derivative.subs(_tail_energy(), profile(s) ** 2 * (1 - s) / exponent - slack)
    return _is_nonpositive(sympy.simplify(bounded.subs(s, 1 - REMAINING) * REMAINING**exponent))


def _ratio_from_decrease() -> sympy.Basic:
    whole, slack = sympy.symbols("F_0 slack", nonnegative=True)
    scale = REMAINING ** (1 + 2 / p)
    cut = sympy.Symbol("F_kappa")
    # The scaled tail at κ is at most the scaled tail at 0, where the scale is 1.
    solution = sympy.solve(sympy.Eq(cut / scale, whole / scale.subs(REMAINING, 1) - slack), cut)[0]
    return _is_nonpositive(sympy.expand(solution - scale * whole))


def _extremal_ratio() -> sympy.Expr:
    end, following = sympy.symbols("x y", positive=True)
    energy = sympy.integrate(following ** (2 / p), (following, 0, end))
    return sympy.simplify(energy.subs(end, 1 - kappa) / energy.subs(end, 1))


def _slope_of_inverse() -> sympy.Expr:
    end = sympy.Symbol("a", positive=True)
    x = sympy.Symbol("x", nonnegative=True)
    share = sympy.Integral(f(x), (x, profile(t), end))
    slope = sympy.solve(sympy.Eq(sympy.diff(share, t), 1), sympy.diff(profile(t), t))[0]
    return slope + 1 / f(profile(t))


def _curvature_of_inverse() -> sympy.Basic:
    slope = -1 / f(profile(t))
    curvature = sympy.diff(slope, t).subs(sympy.diff(profile(t), t), slope)
    density, fall = sympy.Symbol("density", positive=True), sympy.Symbol("fall", nonnegative=True)
    change = sympy.diff(curvature * f(profile(t)) ** 3, sympy.diff(f(profile(t)), profile(t)))
    signed = curvature.subs(sympy.diff(f(profile(t)), profile(t)), -fall).subs(f(profile(t)), density)
    return sympy.And(sympy.Eq(sympy.simplify(change), -1), _is_nonpositive(-signed))


def _is_nonpositive(expression: sympy.Expr) -> sympy.Basic:
    return sympy.true if expression.is_nonpositive else sympy.false
