"""Does each bound on error feedback follow from the algebra of its proof? Two solvers are asked, with the bound stated.

A conclusion is made of the bound as it stands when the check runs; the premises are the one or two inequalities in
norms to which the proof reduces the statement, found by another way than in theory/. Here a = √(1 − δ), h = ηL,
A = (f(x_0) − f*)/(ηT), s = σ, and means over t are those of constants: squares are convex. Ours.
"""

from __future__ import annotations

from collections.abc import Mapping

import sympy
from sympy.core.relational import Relational

from sparsync.theory.language.symbols import (
    L,
    T,
    compression,
    delta,
    dissimilarity,
    eta,
    gap,
    gradient,
    n,
    residual_weight,
    sigma_squared,
    step_variation,
    variance,
    virtual_iterate,
)
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.tools.smt import Query

Sides = tuple[sympy.Expr, sympy.Expr]
"""Numerator and denominator; the denominator is positive where the statement is made."""
_ROOT, _STEP, _SIGMA = sympy.symbols("a h s", positive=True)
_START = sympy.Symbol("A", nonnegative=True)
_OUTER = sympy.Symbol("y", positive=True)
"""A square root that remains in a bound."""


def _plain(expression: sympy.Expr) -> sympy.Expr:
    """The same in symbols without assumptions on signs, so that sympy drops no premise."""
    return expression.xreplace({symbol: sympy.Symbol(symbol.name, real=True) for symbol in expression.free_symbols})


_a, _h, _s, _A, _y = map(_plain, (_ROOT, _STEP, _SIGMA, _START, _OUTER))
_c, _L, _n, _V, _v, _w = map(_plain, (compression, L, n, step_variation, variance, residual_weight))
_m, _p, _q, _r, _t, _z, _D, _T = sympy.symbols("m p q r t z D T_root", real=True)
_BETWEEN = (_a > 0, _a < 1)
_INSIDE = {_h: sympy.Rational(1, 100), _c: sympy.Integer(2)}
"""With these values, and a half for every other symbol, every statement is in its domain."""


def bound_sides(label: str, values: Mapping[sympy.Symbol, sympy.Expr]) -> Sides:
    """The stated bound with these values put in, as a quotient of polynomials; √ of a square is that of a positive."""
    substituted = STATEMENTS[label].bound.subs(values, simultaneous=True)
    return _quotient(substituted)


def _quotient(expression: sympy.Expr) -> Sides:
    numerator, denominator = map(_plain, sympy.fraction(sympy.cancel(expression)))
    inside = dict.fromkeys(denominator.free_symbols, sympy.Rational(1, 2)) | _INSIDE
    # Without zeros in the connected domain a denominator has the same sign everywhere.
    sign = sympy.sign(denominator.subs(inside))
    return sign * numerator, sign * denominator


def _at_most(claim: str, left: sympy.Expr, sides: Sides, *premises: Relational) -> Query:
    numerator, denominator = sides
    return Query(
        claim=claim,
        premises=premises,
        conclusion=sympy.Le(left * denominator, numerator),
        false_twin=sympy.Le(2 * left * denominator, numerator),
    )


def _equal(claim: str, left: sympy.Expr, sides: Sides, *premises: Relational) -> Query:
    numerator, denominator = sides
    return Query(
        claim=claim,
        premises=premises,
        conclusion=sympy.Eq(left * denominator, numerator, evaluate=False),
        false_twin=sympy.Eq(left * denominator, 2 * numerator, evaluate=False),
    )


def virtual_queries() -> tuple[Query, ...]:
    """One worker sends any c of e + ηg."""
    x, e, sent = sympy.symbols("x e c", real=True)
    sides = bound_sides("virtual_iterate", {virtual_iterate: x - e})
    push = _plain(eta) * _plain(gradient)
    return (_equal("x̃ moves by −ηg, whatever is sent", (x - sent) - (e + push - sent), sides),)


def residual_queries(label: str) -> tuple[Query, ...]:
    """‖e‖² ≤ bound is kept by e⁺ = a(e + ησ), the largest residual that the contraction allows."""
    sides = bound_sides(label, {delta: 1 - _ROOT**2, eta: _STEP / _SIGMA, sigma_squared: _SIGMA**2})
    return (_kept_query(_a, sides),)


def square_residual_queries() -> tuple[Query, ...]:
    """The same where a = 1 − 1/c."""
    sides = bound_sides("residual_square", {eta: _STEP / _SIGMA, sigma_squared: _SIGMA**2})
    return (_kept_query(_t, sides, _c >= 1, sympy.Eq(_t * _c, _c - 1)),)


def _kept_query(root: sympy.Expr, sides: Sides, *premises: Relational) -> Query:
    """With ησ = h."""
    domain = premises or _BETWEEN
    numerator, denominator = sides
    below = sympy.Le(_r**2 * denominator, numerator)
    return _at_most("‖e‖² ≤ bound is kept", root**2 * (_r + _h) ** 2, sides, *domain, _r >= 0, _h >= 0, below)


def outside_queries() -> tuple[Query, ...]:
    """x̃ gains (η_t − η_{t+1})e_{t+1}; e is kept below the bound at V = 1; weights of sum V gain V² of that at most."""
    x, e, g, sent, step, following = sympy.symbols("x e g c step next_step", real=True)
    kept = e + g - sent
    moved, path = (x - step * sent) - following * kept, x - step * e - step * g
    identity = Query(
        claim="the memory of raw gradients gains (η_t − η_{t+1})e_{t+1}",
        premises=(),
        conclusion=sympy.Eq(moved, path + (step - following) * kept, evaluate=False),
        false_twin=sympy.Eq(moved, path + (following - step) * kept, evaluate=False),
    )
    values = {delta: 1 - _ROOT**2, sigma_squared: _STEP**2}
    unit = bound_sides("step_outside", values | {step_variation: sympy.Integer(1)})
    reached = _at_most(
        "‖Σ w_t e_{t+1}‖² ≤ bound", _D**2, bound_sides("step_outside", values),
        *_BETWEEN, _V >= 0, _h >= 0, _r >= 0, _r**2 * unit[1] <= unit[0], _D >= 0, _V * _r >= _D,
    )  # fmt: skip
    return identity, _kept_query(_a, unit), reached


_RATE_VALUES = {delta: 1 - _ROOT**2, eta: _STEP / L, gap: _START * _STEP * T / L, sigma_squared: _SIGMA**2}
_SECOND_MOMENT = (*_BETWEEN, _h > 0, _s >= 0, _A >= 0, _r >= 0, _m >= 0)
_RESIDUAL = _r * (1 - _a) <= _a * _h * _s
"""L‖e‖ is at most r, and r is at most what the recursion e⁺ = a(e + ησ) allows."""
_DESCENT = _m**2 - _r * _m <= _A + _h * _s**2 / 2
"""The descent lemma at x̃, summed: M = m² is the mean of E‖∇f‖², and ⟨∇f(x̃), ∇f(x)⟩ ≥ ‖∇f(x)‖² − r‖∇f(x)‖."""


def rate_queries() -> tuple[Query, ...]:
    """The rate with a bounded second moment."""
    sides = bound_sides("nonconvex_rate", _RATE_VALUES)
    return (_at_most("M ≤ bound", _m**2, sides, *_SECOND_MOMENT, _RESIDUAL, _DESCENT),)


def root_rate_queries() -> tuple[Query, ...]:
    """The same where the bound holds a square root, which becomes a variable with its square as a premise."""
    bound = STATEMENTS["nonconvex_rate_minkowski"].bound.subs(_RATE_VALUES, simultaneous=True)
    roots = [power for power in bound.atoms(sympy.Pow) if power.exp == sympy.Rational(1, 2)]
    if len(roots) != 1:
        raise ValueError(f"nonconvex_rate_minkowski: expected one square root, got {roots}")
    radicand, positive = _quotient(roots[0].base)
    sides = _quotient(bound.subs(roots[0], _OUTER))
    square = sympy.Eq(_y**2 * positive, radicand)
    return (_at_most("M ≤ bound", _m**2, sides, *_SECOND_MOMENT, _RESIDUAL, _DESCENT, _y >= 0, square),)


def lyapunov_queries() -> tuple[Query, ...]:
    """The Lyapunov function with weight 1/(2a), summed; p = L‖e‖ and q = ‖∇f(x)‖."""
    values = {delta: 1 - _ROOT**2, eta: _STEP / L, gap: _START * _STEP * T / L}
    kept = _a**2 * ((_p + _h * _q) ** 2 + _h**2 * _v) - _p**2
    change = 2 * _a * _h * (-(_q**2) + _p * _q + _h * (_q**2 + _v) / 2) + kept
    domain = (*_BETWEEN, _h > 0, _h * (1 + _a) < 2 * (1 - _a), _A >= 0, _v >= 0, _p >= 0, _q >= 0)
    sides = bound_sides("descent_without_bounded_gradients", values)
    return (_at_most("q² ≤ bound", _q**2, sides, *domain, -2 * _a * _h * _A <= change),)


def worker_queries() -> tuple[Query, ...]:
    """The same for n workers and any weight; r = L times the deviation of the residuals, z = ζ, t = δ."""
    values = {
        delta: _t,
        eta: _STEP / L,
        gap: _START * _STEP * T / L,
        dissimilarity: _z**2,
    }
    kept = (1 - _t) * ((_p + _h * _q) ** 2 + (_r + _h * _z) ** 2 + _h**2 * _v) - _p**2 - _r**2
    change = _h * _n * (-(_q**2) + _p * _q + _h * _q**2 / 2) + _h**2 * _v / 2 + _n * _w * kept
    share = _h * (2 * _w * (2 - _t) + 4 * _w**2 * (1 - _t) + 1)
    domain = (_t > 0, _t <= 1, _h > 0, _w > 0, _n >= 1, share < 4 * _w * _t)
    signs = (_A >= 0, _v >= 0, _p >= 0, _q >= 0, _r >= 0, _z >= 0)
    sides = bound_sides("descent_of_workers", values)
    return (_at_most("q² ≤ bound", _q**2, sides, *domain, *signs, -_n * _h * _A <= change),)


def power_law_queries(label: str, exponent: int, lower: sympy.Expr, upper: sympy.Expr) -> tuple[Query, ...]:
    """1/t² is the bound for c^p t = c^p − (c − 1)^p, and the bound is between two polynomials in c.

    Args:
        label: of the power law.
        exponent: p.
        lower: polynomial in the symbol c = d/k.
        upper: the same.
    """
    sides = bound_sides(label, {})
    numerator, denominator = sides
    sent = sympy.Eq(_c**exponent * _t, sympy.expand(_c**exponent - (_c - 1) ** exponent))
    least, most = _plain(lower), _plain(upper)
    return (
        _equal("1/δ² = bound", sympy.Integer(1), (numerator * _t**2, denominator), _c >= 1, _t > 0, sent),
        _at_most(f"{lower} ≤ bound", least, sides, _c >= 1),
        Query(
            claim=f"bound ≤ {upper}",
            premises=(_c >= 1,),
            conclusion=sympy.Ge(sympy.expand(most * denominator), numerator),
            false_twin=sympy.Ge(sympy.expand(least * denominator), numerator),
        ),
    )


def crossover_queries() -> tuple[Query, ...]:
    """4(1 − δ)L²/(δ²T) ≤ L/√T from T* on and not before; t = δ."""
    numerator, denominator = bound_sides("crossover", {delta: _t})
    terms = (4 * (1 - _t) * _L, _T * _t**2)
    domain = (_t > 0, _t <= 1, _L > 0, _T > 0)
    return _threshold_queries(_T**2 * denominator, numerator, terms, domain)


def variance_crossover_queries() -> tuple[Query, ...]:
    """The rate of error feedback is at most 2(1 + a) times that of SGD from T* = L²/h² on, for every start and noise.

    p is the start (f(x_0) − f*)/(ηT) and q the noise ηLσ₀²/2. Before T*, the start is left out.
    """
    numerator, denominator = bound_sides("crossover_variance", {delta: 1 - _ROOT**2})
    terms = tuple(
        side.expand()
        for side in (
            (_p + _q * (1 + _a)) * (2 - _h) * (1 - _a),
            2 * (1 + _a) * (_p + _q) * (2 * (1 - _a) - _h * (1 + _a)),
        )
    )
    domain = (*_BETWEEN, _L > 0, _h > 0, _h * (1 + _a) < 2 * (1 - _a), _p >= 0, _q > 0)
    return _threshold_queries(_L**2 * denominator, _h**2 * numerator, terms, domain, (sympy.Eq(_p, 0),))


def _threshold_queries(
    updates: sympy.Expr,
    crossing: sympy.Expr,
    terms: tuple[sympy.Expr, ...],
    domain: tuple[Relational, ...],
    before: tuple[Relational, ...] = (),
) -> tuple[Query, ...]:
    """terms[0] ≤ terms[1] where updates ≥ crossing; terms[0] > terms[1] where updates < crossing."""
    cost, limit = terms
    return (
        Query(
            claim="at most from T* on",
            premises=(*domain, updates >= crossing),
            conclusion=cost <= limit,
            false_twin=2 * cost <= limit,
        ),
        Query(
            claim="more before T*",
            premises=(*domain, *before, updates < crossing),
            conclusion=cost > limit,
            false_twin=cost > 2 * limit,
        ),
    )
