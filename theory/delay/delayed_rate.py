"""How fast can descent contract when gradients are a fixed number of steps old? The best step, and no other.

For x_{t+1} = x_t − a x_{t−τ} the characteristic polynomial has a critical point that does not depend on a, and the
roots surround it: that bounds the rate from below, and the step that puts a double root there attains it. Ours.
"""

from functools import partial

import sympy

from sparsync.theory.delay.stability import ANGLE, COUNT, ROOT, SIZE, STEP, decided, descent_polynomial, descent_step
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import best_radius, tau


def delayed_descent_rate() -> Statement:
    """min_a max|z_i| = τ/(τ + 1), attained at a = τ^τ/(τ + 1)^{τ+1} alone: no step contracts faster under delay τ.

    Source: ours.
    """
    bound = tau / (tau + 1)
    return Statement(
        label="delayed_descent_rate",
        title="Best contraction per step, gradients of a fixed delay",
        assumptions=(r"$x_{t+1}=x_t-\eta\lambda\,x_{t-\tau}$ with $\lambda>0$ has the characteristic roots $z_i$",),
        relation=sympy.Eq(best_radius, bound),
        domain=(),
        source="ours",
        derivation=(
            Step(
                "for every a, the derivative of z^{τ+1} − z^τ + a vanishes at r = τ/(τ + 1)", partial(_critical, bound)
            ),
            Step(
                "there Σ 1/(r − z_i) = 0 unless r is a root, for it is the logarithmic derivative: a factor z − z_i "
                "more adds 1/(z − z_i)",
                _log_derivative,
            ),
            Step(
                "but Re 1/(r − z_i) > 0 for |z_i| ≤ r, z_i ≠ r: so max|z_i| ≥ r, and > r unless r is a root",
                _half_plane,
                argued="that a sum of numbers with positive real parts is not 0",
            ),
            Step("r is a root iff a = τ^τ/(τ + 1)^{τ+1}", partial(_root_at, bound), concludes=bound),
            Step("then z = rw gives τw^{τ+1} − (τ+1)w^τ + 1 = (w − 1)² Σ_{j≤τ} j w^{j−1}", partial(_scaled, bound)),
            Step("where (w − 1) Σ_{j≤τ} j w^{j−1} = τw^τ − Σ_{j<τ} w^j", _remaining_factor),
            Step(
                "|w| > 1 or |w| = 1 ≠ w: |τw^τ| exceeds |Σ_{j<τ} w^j|; w = 1: the sum is > 0",
                _no_root_outside,
                argued="that τ terms, none longer than w^τ and one of another length or direction, have a shorter sum",
            ),
            Step("τ = 0: the only root is 0 at a = 1", _rate_without_delay),
        ),
    )


def _critical(point: sympy.Expr) -> sympy.Expr:
    slope = sympy.diff(descent_polynomial(), ROOT)
    return sympy.simplify((slope / ROOT ** (tau - 1)).subs(ROOT, point))


def _log_derivative() -> sympy.Expr:
    root, product = sympy.Symbol("z_i"), sympy.Function("P")(ROOT)
    longer = product * (ROOT - root)
    return sympy.simplify(sympy.diff(longer, ROOT) / longer - sympy.diff(product, ROOT) / product - 1 / (ROOT - root))


def _half_plane() -> sympy.Basic:
    # |z| ≤ r and z ≠ r put z = r − shortfall + iy with a positive shortfall.
    shortfall, height = sympy.Symbol("shortfall", positive=True), sympy.Symbol("y", real=True)
    return decided(sympy.re(1 / (shortfall - sympy.I * height)).is_positive)


def _root_at(point: sympy.Expr) -> sympy.Expr:
    stated = (tau**tau / (tau + 1) ** (tau + 1)).subs(tau, COUNT + 1)
    return sympy.simplify(
        sympy.expand_power_base(descent_step().subs(ROOT, point).subs(tau, COUNT + 1), force=True) - stated
    )


def _scaled_factors(last: sympy.Expr) -> sympy.Expr:
    """Σ_{j≤τ} j w^{j−1} in closed form, times (w − 1)²."""
    return last * ROOT ** (last + 1) - (last + 1) * ROOT**last + 1


def _scaled(point: sympy.Expr) -> sympy.Basic:
    delay = COUNT + 1
    scale = sympy.Symbol("r", positive=True)
    polynomial = (scale * ROOT) ** (delay + 1) - (scale * ROOT) ** delay + scale**delay * (1 - scale)
    quotient = sympy.expand(sympy.simplify(sympy.expand_power_base(polynomial) / scale**delay))
    rescaled = quotient.subs(scale, point.subs(tau, delay)) * (delay + 1)
    closed = _scaled_factors(delay) / (ROOT - 1) ** 2
    grows = closed.subs(COUNT, COUNT + 1) - closed - (delay + 1) * ROOT**delay
    return decided(
        sympy.simplify(rescaled - _scaled_factors(delay)) == 0
        and sympy.simplify(closed.subs(COUNT, 0)) == 1
        and sympy.simplify(grows) == 0
    )


def _geometric(last: sympy.Expr) -> sympy.Expr:
    """Σ_{j<τ} w^j in closed form."""
    return (ROOT**last - 1) / (ROOT - 1)


def _remaining_factor() -> sympy.Basic:
    delay = COUNT + 1
    closed = _geometric(delay)
    differs = _scaled_factors(delay) / (ROOT - 1) - (delay * ROOT**delay - closed)
    grows = closed.subs(COUNT, COUNT + 1) - closed - ROOT**delay
    return decided(
        sympy.simplify(differs) == 0 and sympy.simplify(closed.subs(COUNT, 0)) == 1 and sympy.simplify(grows) == 0
    )


def _no_root_outside() -> sympy.Basic:
    # Outside the circle every |w|^j < |w|^τ. On it, Re(1 − w^{−1}) > 0, and the other terms Re(1 − w^{j−τ}) are ≥ 0.
    half = sympy.sin(ANGLE / 2)
    term_differs = sympy.simplify(sympy.re(1 - sympy.exp(-sympy.I * ANGLE)) - 2 * half**2)
    index = sympy.Symbol("j", integer=True, positive=True)
    at_one = sympy.summation(index, (index, 1, COUNT + 1))
    return decided(sympy.log(1 + SIZE).is_positive and term_differs == 0 and sympy.factor(at_one).is_positive)


def _rate_without_delay() -> sympy.Basic:
    return descent_polynomial().subs({tau: 0, STEP: 1}) - ROOT


STATEMENTS = by_label(__name__, delayed_descent_rate)
"""The statements of this file."""
