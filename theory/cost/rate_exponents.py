"""How does the tight rate of error feedback depend on the contraction? Its exponent −ln ρ is convex in δ, and 0 at 0.

ρ = θ² with θ² = (1 − s)rθ + s, s = √(1 − δ) and r = (L − μ)/(L + μ), see `theory/tight_rates`. Ours.
"""

import sympy

from sparsync.theory.delay.stability import decided
from sparsync.theory.language.symbols import L, mu

_THETA, _SPREAD = sympy.symbols("theta r", positive=True)
"""θ² is the rate; r = (L − μ)/(L + μ)."""


def gap_root() -> sympy.Expr:
    """s by θ and r."""
    return _THETA * (_THETA - _SPREAD) / (1 - _SPREAD * _THETA)


def root_of_rate() -> sympy.Expr:
    """θ solves θ² = (1 − s)rθ + s with this s."""
    root = gap_root()
    return sympy.cancel(_THETA**2 - (1 - root) * _SPREAD * _THETA - root)


def _between(expression: sympy.Expr) -> sympy.Expr:
    """At any 0 < r < θ < 1: r = w/(1 + w) and θ = (w + v)/(1 + w + v), w and v positive."""
    first, further = sympy.symbols("w v", positive=True)
    numbers = {_SPREAD: first / (1 + first), _THETA: (first + further) / (1 + first + further)}
    return sympy.factor(expression.subs(numbers, simultaneous=True))


def root_grows() -> sympy.Basic:
    """From 0 at θ = r to 1 at θ = 1."""
    root = gap_root()
    ends = (root.subs(_THETA, _SPREAD), sympy.cancel(root.subs(_THETA, 1)) - 1)
    return decided(ends == (0, 0) and _between(sympy.diff(root, _THETA)).is_positive)


def _slope() -> sympy.Expr:
    """d(−2 ln θ)/dδ by θ."""
    return 1 / (_THETA * gap_root() * sympy.diff(gap_root(), _THETA))


def slope_of_exponent() -> sympy.Expr:
    """By the chain rule, with δ = 1 − s²."""
    by_theta = sympy.diff(-2 * sympy.log(_THETA), _THETA) / sympy.diff(1 - gap_root() ** 2, _THETA)
    return sympy.cancel(by_theta - _slope())


def exponent_is_convex() -> sympy.Basic:
    """The slope's derivative by δ is positive for all 0 < r < θ < 1."""
    by_delta = sympy.diff(_slope(), _THETA) / sympy.diff(1 - gap_root() ** 2, _THETA)
    return decided(_between(by_delta).is_positive)


def largest_exponent() -> sympy.Expr:
    """−ln ρ where everything is sent."""
    return 2 * sympy.log((L + mu) / (L - mu))


def ends_of_exponent() -> sympy.Basic:
    """0 where nothing is sent, δ = 0, and the largest at δ = 1."""
    nothing, everything = gap_root().subs(_THETA, 1), gap_root().subs(_THETA, _SPREAD)
    exponent = -2 * sympy.log(_THETA)
    spread = (L - mu) / (L + mu)
    at_end = sympy.expand_log(exponent.subs(_THETA, spread) - largest_exponent(), force=True)
    return decided(
        sympy.simplify(1 - nothing**2) == 0
        and exponent.subs(_THETA, 1) == 0
        and everything == 0
        and sympy.simplify(at_end) == 0
    )
