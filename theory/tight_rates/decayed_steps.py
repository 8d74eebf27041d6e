"""Why does a memory that decays cost nothing where β < θ², θ the factor of compressed gradient descent?

The steps behind `decayed_tight_rate`: four interpolation inequalities and the compressor's, with multipliers ≥ 0, leave
of θ²V − V⁺ a quadratic form in x, e, g, e⁺ and g⁺. It vanishes on the states of two worst cases, μx²/2 with
C(v) = (1 − s)v and Lx²/2 with C(v) = (1 + s)v, so that three minors decide. Everything is rational in θ, s, β and μ,
since L = μ(1 − s)(1 + θ)/((1 + s)(1 − θ)). Ours; for β = 0 it is the proof of `compressed_descent_rate`.
"""

import sympy
from sympy.polys.matrices import DomainMatrix

from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import L, mu
from sparsync.theory.tight_rates.descent_steps import descent_factor
from sparsync.theory.tight_rates.interpolation import interpolation_steps

THETA, S, BETA = sympy.symbols("theta s beta", positive=True)
"""θ, s = √ε and β."""
SMOOTHNESS = mu * (1 - S) * (1 + THETA) / ((1 + S) * (1 - THETA))
"""L, by θ and μ."""
STEP = (1 - THETA) * (THETA - S * BETA) / (THETA * (1 - S) * mu)
"""η."""
POSITION_WEIGHT = BETA * mu * THETA * (1 - S) * (1 + THETA) / (2 * (THETA**2 - BETA) * (THETA - S))
"""p of V = f − f* + p‖x − x* − e‖² + r‖e‖²."""
_LOSS = 2 * S * (THETA**2 - BETA) * (1 - THETA) * (THETA - BETA * S)
RESIDUAL_WEIGHT = BETA * mu * THETA * (1 - S) * (THETA + S * THETA**2 - BETA * S - BETA * THETA) / _LOSS
"""r."""
COMPRESSOR_MULTIPLIER = mu * THETA**2 * (THETA**2 - BETA**2) * (1 - S) / _LOSS
"""ν, of ‖e⁺‖² − s²‖v‖² ≤ 0."""
VALUE_MULTIPLIER = BETA * THETA * (1 - THETA**2) / (THETA**2 - BETA)
"""κ, of the inequality from x to x*."""
CONDITION = S * BETA**2 - THETA**2 * BETA + (1 - S) * THETA**2
"""≥ 0 where the proof holds."""

_X, _E, _G, _KEPT, _G_NEXT, _F, _F_NEXT = sympy.symbols("x e g e_next g_next f f_next", real=True)
_STATE = (_X, _E, _G, _KEPT, _G_NEXT)
_CORRECTED = BETA * _E + STEP * _G
_X_NEXT = _X - _CORRECTED + _KEPT


def tight_steps(bound: sympy.Expr, factor: sympy.Expr) -> tuple[Step, ...]:
    """The steps of `decayed_tight_rate`."""
    return (
        interpolation_steps()[0],
        Step("θ = (q − 1)/(q + 1), q = L(1 + s)/(μ(1 − s)), gives this L", _smoothness),
        Step(
            "θ²V − V⁺ + θQ(0,1) + (1−θ)Q(*,1) + (θ(1−θ) + κ)Q(*,0) + κQ(0,*) + ν(‖e⁺‖² − s²‖v‖²) has no values of f",
            _values_cancel,
        ),
        Step("it vanishes with its slope on the state of μx²/2 and C(v) = (1 − s)v, x⁺ = θx", lambda: _vanishes(1)),
        Step("and on that of Lx²/2 and C(v) = (1 + s)v, x⁺ = −θx", lambda: _vanishes(-1)),
        Step(
            "their x and e are independent, so it is ≥ 0 iff it is for x = e = 0: in (g⁺, e⁺, g)",
            _independent,
            argued="that a form is what it is without the directions in which it vanishes with its slope",
        ),
        Step("there the leading minors are (1 + s)(1 − θ)/(4μ(θ − s)), (1 − s)/(8s) and", _first_minors),
        Step("β(1 + s)(1 − θ)(sβ² − θ²β + (1 − s)θ²)/(16μ(θ² − β)(θ − s)), all ≥ 0", _last_minor),
        Step(
            "θ > s, the multipliers and the weights of V are ≥ 0 for 0 < β < θ²", _signs, argued="Sylvester's criterion"
        ),
        Step("both states are those of a run: (x, e) ↦ ±θ(x, e), so V⁺ = θ²V on them", _runs),
        Step("the rate is θ²", lambda: factor**2 - bound, concludes=bound),
        Step("sβ² − θ²β + (1 − s)θ² is (1 − s)θ²(1 − θ²) > 0 at β = θ²", _near_the_rate),
        Step("and for s ≤ 1/2 it falls until there: its slope 2sβ − θ² is below 0", _for_large_delta),
    )


_FIELD = sympy.QQ.frac_field(THETA, S, BETA, mu)


def _reduced(expression: sympy.Expr) -> sympy.Expr:
    """A rational function of θ, s, β and μ in lowest terms; it is built up there, which is faster than to expand it."""
    return _FIELD.to_sympy(_FIELD.from_sympy(expression))


def _smoothness() -> sympy.Expr:
    return sympy.cancel(descent_factor(S).subs(L, SMOOTHNESS) - THETA)


def _interpolated(
    first: tuple[sympy.Expr, sympy.Expr, sympy.Expr], second: tuple[sympy.Expr, sympy.Expr, sympy.Expr]
) -> sympy.Expr:
    """f_j − f_i + ⟨g_j, x_i − x_j⟩ + ‖g_i − g_j‖²/2L + ‖x_i − x_j − (g_i − g_j)/L‖² μ/(2(1 − μ/L)), which is ≤ 0."""
    move, change = first[0] - second[0], first[1] - second[1]
    curvature = mu / (2 * (1 - mu / SMOOTHNESS))
    square = change**2 / (2 * SMOOTHNESS) + curvature * (move - change / SMOOTHNESS) ** 2
    return second[2] - first[2] + second[1] * move + square


def _lyapunov(x: sympy.Expr, e: sympy.Expr, value: sympy.Expr) -> sympy.Expr:
    return value + POSITION_WEIGHT * (x - e) ** 2 + RESIDUAL_WEIGHT * e**2


def _slack() -> sympy.Expr:
    start, end = (_X, _G, _F), (_X_NEXT, _G_NEXT, _F_NEXT)
    minimiser = (sympy.Integer(0),) * 3
    return (
        THETA**2 * _lyapunov(_X, _E, _F)
        - _lyapunov(_X_NEXT, _KEPT, _F_NEXT)
        + THETA * _interpolated(start, end)
        + (1 - THETA) * _interpolated(minimiser, end)
        + (THETA * (1 - THETA) + VALUE_MULTIPLIER) * _interpolated(minimiser, start)
        + VALUE_MULTIPLIER * _interpolated(start, minimiser)
        + COMPRESSOR_MULTIPLIER * (_KEPT**2 - S**2 * _CORRECTED**2)
    )


def _values_cancel() -> sympy.Basic:
    return sympy.And(*(sympy.Eq(_reduced(sympy.diff(_slack(), value)), 0) for value in (_F, _F_NEXT)))


def _worst(sign: int) -> tuple[dict[sympy.Symbol, sympy.Expr], sympy.Expr]:
    """The state with x = 1 of the worst case with λ = ±s, and its curvature."""
    kept, factor = sign * S, sign * THETA
    curvature = mu if sign == 1 else SMOOTHNESS
    corrected = (1 - factor) / (1 - kept)
    values = (sympy.Integer(1), kept * corrected / factor, curvature, kept * corrected, curvature * factor)
    return dict(zip(_STATE, values, strict=True)), curvature


def _vanishes(sign: int) -> sympy.Basic:
    state, _ = _worst(sign)
    slopes = (sympy.diff(_slack(), variable).subs(state, simultaneous=True) for variable in _STATE)
    return sympy.And(*(sympy.Eq(_reduced(slope), 0) for slope in slopes))


def _independent() -> sympy.Basic:
    """e at x = 1 differs: s(1 − θ)/((1 − s)θ) and s(1 + θ)/((1 + s)θ), by 2s(θ − s)/(θ(1 − s²))."""
    (first, _), (second, _) = _worst(1), _worst(-1)
    difference = second[_E] - first[_E]
    return sympy.Eq(_reduced(difference - 2 * S * (THETA - S) / (THETA * (1 - S**2))), 0)


def _minor(size: int) -> sympy.Expr:
    order = (_G_NEXT, _KEPT, _G)[:size]
    form = _slack().subs({_X: 0, _E: 0})
    rows = [[_FIELD.from_sympy(sympy.diff(form, one, other) / 2) for other in order] for one in order]
    return _FIELD.to_sympy(DomainMatrix(rows, (size, size), _FIELD).det())


def _first_minors() -> sympy.Basic:
    stated = ((1 + S) * (1 - THETA) / (4 * mu * (THETA - S)), (1 - S) / (8 * S))
    return sympy.And(*(sympy.Eq(_reduced(_minor(size) - stated[size - 1]), 0) for size in (1, 2)))


def _last_minor() -> sympy.Expr:
    stated = BETA * (1 + S) * (1 - THETA) * CONDITION / (16 * mu * (THETA**2 - BETA) * (THETA - S))
    return _reduced(_minor(3) - stated)


def _signs() -> sympy.Basic:
    """θ − s = (1 − s)(1 + s)(L − μ)/(L(1 + s) + μ(1 − s)), and what is ≥ 0 by β < θ² < θ < 1 and s < 1."""
    difference = sympy.cancel(descent_factor(S) - S - (1 - S) * (1 + S) * (L - mu) / (L * (1 + S) + mu * (1 - S)))
    room, left, far = sympy.symbols("room left far", positive=True)
    # β = θ² − room, θ = 1 − left, s = θ − far: then s < θ and sβ < θ.
    bracket = THETA + S * THETA**2 - BETA * S - BETA * THETA
    split = sympy.expand(bracket - (S * (THETA**2 - BETA) + THETA * (1 - BETA)))
    positive = (BETA * room, (S * room + THETA * left), THETA * left, far)
    return sympy.And(
        sympy.Eq(difference, 0), sympy.Eq(split, 0), sympy.sympify(all(part.is_positive is True for part in positive))
    )


def _runs() -> sympy.Basic:
    """(x, e) becomes ±θ(x, e): x − v + e⁺, and λv, with v = βe + ηg."""
    equations = []
    for sign in (1, -1):
        state, _ = _worst(sign)
        kept, factor = sign * S, sign * THETA
        corrected = BETA * state[_E] + STEP * state[_G]
        equations += [state[_KEPT] - kept * corrected, state[_KEPT] - factor * state[_E]]
        equations += [state[_X] - corrected + state[_KEPT] - factor]
    return sympy.And(*(sympy.Eq(_reduced(equation), 0) for equation in equations))


def _near_the_rate() -> sympy.Expr:
    return sympy.expand(CONDITION.subs(BETA, THETA**2) - (1 - S) * THETA**2 * (1 - THETA**2))


def _for_large_delta() -> sympy.Basic:
    """With β = θ² − room and s = 1/2 − rest: 2sβ − θ² = −room − 2·rest·β."""
    room, rest = sympy.symbols("room rest", nonnegative=True)
    slope = sympy.diff(CONDITION, BETA)
    written = slope.subs(S, sympy.Rational(1, 2) - rest)
    return sympy.Eq(sympy.expand(written.subs(THETA**2, BETA + room) + room + 2 * rest * BETA), 0)
