"""What evidence is there for the statement of `theory/feedback/lyapunov_rate.py`, besides its derivation?

Two solvers prove the bound without a Lyapunov function: sums over the run of ‖e‖², ‖e‖‖∇f‖ and ‖∇f‖² are enough.
A search over the weights finds no better one, and runs of Top-k, at rest under noise, or saturated stay below it. Ours.
"""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import product
from typing import Any

import numpy
import sympy
from hypothesis import strategies as st

from sparsync.theory.feedback.lyapunov_rate import STEP_SHARE, WEIGHTED_RATE
from sparsync.theory.language.symbols import L, T, delta, eta, gap, residual_weight, sigma_squared
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.feedback.admission import bound_at
from sparsync.verify.feedback.rates import (
    RESTING_COUNT,
    LinearRun,
    Run,
    linear_runs,
    resting_runs,
    saturated_runs,
)
from sparsync.verify.feedback.runs.simulations import (
    resting_energies,
    share_of_bound,
    simulation_outcome,
    top_k_shares,
)
from sparsync.verify.tools.edges import Edge, Remark
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.tools.properties import property_check
from sparsync.verify.tools.smt import Query, smt_check

LABEL, OLDER = "nonconvex_rate_lyapunov", "nonconvex_rate_minkowski"
WEIGHT_SPACING = 1e-3
"""Between the logarithms of the weights that are tried."""
ROUNDING = 2.0**-48
"""Some ten roundings of 2⁻⁵³ in each of two bounds, before the division by 1 − h."""

Numbers = Mapping[str, float]


def lyapunov_queries() -> tuple[Query, ...]:
    """M, R and P are the means of ‖∇f‖², L‖e‖‖∇f‖ and L²‖e‖² over the run, A its start, N = hσ²; t = δ, h = ηL.

    The premises: the descent lemma, the energy kept back with e_0 = 0, and the inequality of Cauchy and Schwarz.
    """
    step, factor, start, noise, outer = sympy.symbols("h t A N y", positive=True)
    values = {eta: step / L, gap: start * step * T / L, sigma_squared: noise / step, delta: factor}
    bound = STATEMENTS[LABEL].bound.subs(values, simultaneous=True)
    roots = [power for power in bound.atoms(sympy.Pow) if power.exp == sympy.S.Half]
    if len(roots) != 1:
        raise ValueError(f"{LABEL}: expected one square root, got {roots}")
    h, t, a, n, y = (_plain(symbol) for symbol in (step, factor, start, noise, outer))
    m, r, p = sympy.symbols("M R P", real=True)
    radicand, positive = _sides(roots[0].base)
    numerator, denominator = _sides(bound.subs(roots[0], outer))
    domain = (t > 0, t <= 1, h > 0, 2 * h * (1 - t) < t, a >= 0, n >= 0, m >= 0, p >= 0)
    root = (y >= 0, sympy.Eq(y**2 * positive, radicand))
    means = (m <= a + n / 2 + r, t * p <= (1 - t) * (2 * h * r + h * n), r**2 <= p * m)
    return (
        Query(
            claim="M ≤ bound",
            premises=(*domain, *root, *means),
            conclusion=sympy.Le(m * denominator, numerator),
            false_twin=sympy.Le(2 * m * denominator, numerator),
        ),
    )


def _plain(expression: sympy.Expr) -> sympy.Expr:
    """The same in symbols without assumptions on signs, so that sympy drops no premise."""
    return expression.xreplace({symbol: sympy.Symbol(symbol.name, real=True) for symbol in expression.free_symbols})


def _sides(expression: sympy.Expr) -> tuple[sympy.Expr, sympy.Expr]:
    """Numerator and denominator, which is positive at h = 1/100, t = 1/2 and so in the domain, where it has no zero."""
    numerator, denominator = map(_plain, sympy.fraction(sympy.cancel(expression)))
    inside = {sympy.Symbol("h", real=True): sympy.Rational(1, 100), sympy.Symbol("t", real=True): sympy.S.Half}
    sign = sympy.sign(denominator.subs(inside))
    return sign * numerator, sign * denominator


def lyapunov_margin(run: Run) -> Fraction:
    """1 − min_t E|f'(x_t)|²/bound; the float read is within half a unit in the last place of the bound."""
    smallest = run.smallest_energy()
    bound = bound_at(LABEL, run.parameters(bounded="second moment"))
    # A bound attained exactly could be rounded below the energy: allow for that one rounding.
    return 1 - smallest / (bound * (1 + Fraction(1, 2**52))) if bound else 1 - smallest


def best_weight_excess(numbers: Numbers) -> float:
    """|smallest bound of the weights tried/bound − 1| over its tolerance.

    The weight next to the best one is a factor of at most e^τ away, τ half the spacing, which costs
    (ηL/(4ωδ))(e^τ − 1)²/(1 − h) of the bound, and ηL/(4ωδ) ≤ h < 1.
    """
    values = {symbol: numbers[symbol.name] for symbol in (delta, T, gap, eta, L, sigma_squared)}
    weights = numpy.exp(numpy.arange(-10.0, 10.0, WEIGHT_SPACING))
    shares, rates = (
        sympy.lambdify(residual_weight, term.subs(values), "numpy")(weights) for term in (STEP_SHARE, WEIGHTED_RATE)
    )
    allowed = shares < 1
    best = int(numpy.argmin(numpy.where(allowed, rates, numpy.inf)))
    missed = (numpy.expm1(WEIGHT_SPACING / 2) ** 2 + ROUNDING) / (1 - shares[best])
    return float(abs(rates[best] / STATEMENTS[LABEL].evaluate(**numbers) - 1) / missed)


def _weight_cases() -> Iterator[dict[str, float]]:
    """Weak to strong compression, small steps to nearly the largest, without a start and with a large one."""
    for root, share, start in product((0.125, 0.5, 0.875, 0.984375), (0.015625, 0.25, 0.9375), (0.0, 1.0, 30.0)):
        step = share * 2 * (1 - root) / (1 + root)
        yield {
            "delta": 1 - root**2,
            "step_size": step,
            "smoothness": 1,
            "second_moment": 1,
            "T": 100,
            "gap": 100 * step * step * start,
        }


def best_weight_check(_profile: Profile) -> Outcome:
    """`numeric`: the bound is that of the best weight, and below the older bound wherever that is below σ²."""
    cases = list(_weight_cases())
    excesses = [best_weight_excess(numbers) for numbers in cases]
    older = [STATEMENTS[OLDER].evaluate(**numbers) for numbers in cases]
    shares = [
        STATEMENTS[LABEL].evaluate(**numbers) / other for numbers, other in zip(cases, older, strict=True) if other <= 1
    ]
    return Outcome(
        earned=max(excesses) <= 1 and max(shares) <= 1,
        detail={
            "cases_count": len(cases),
            "largest_excess_over_tolerance": max(excesses),
            "compared_count": len(shares),
            "smallest_share_of_older_bound": min(shares),
            "largest_share_of_older_bound": max(shares),
        },
    )


def resting_share() -> float:
    """Share of the bound in a run with C(u) = (1 + a)u, a = 1/64, that noise of variance one keeps from descending.

    The second moment that it needs is known from the exact moments of the same run.
    """
    run = LinearRun(
        root=Fraction(1, 64),
        step=Fraction(1, 2),
        smoothness=Fraction(1),
        start=Fraction(5, 8),
        actions=[(Fraction(-1), Fraction(1))] * RESTING_COUNT,
    )
    energies = resting_energies(
        root=float(run.root), step=float(run.step), start=float(run.start),
        worker_count=1, update_count=RESTING_COUNT, repeat_count=160_000,
    )  # fmt: skip
    return share_of_bound(LABEL, energies, run.parameters(bounded="second moment"))


def simulation_check(_profile: Profile) -> Outcome:
    """`simulated`: min_t of the mean ‖∇f(x_t)‖², raised by its standard errors, is below the bound in every run."""
    return simulation_outcome(top_k_shares(LABEL, worker_count=1), resting_share())


def runs() -> st.SearchStrategy[Any]:
    """Of the linear kind, at rest under noise, and saturated."""
    return st.one_of(linear_runs(), resting_runs(), saturated_runs())


_NUMBERS: dict[str, Fraction | int] = {"T": 6, "gap": 1, "second_moment": 2, "smoothness": 1}

EDGES: dict[str, tuple[Remark, ...]] = {
    LABEL: (
        Edge("delta <= 1", {**_NUMBERS, "delta": Fraction(33, 32), "step_size": Fraction(33, 32)}),
        Edge(
            "2*smoothness*step_size*(1 - delta) < delta",
            {**_NUMBERS, "delta": Fraction(1, 2), "step_size": Fraction(33, 64)},
        ),
    ),
}
"""Points just beyond the conditions of these statements, and why some are not needed."""

CHECKS: dict[str, dict[Grade, Check]] = {
    LABEL: {
        "smt": smt_check(lyapunov_queries),
        "numeric": best_weight_check,
        "property": property_check(runs, lyapunov_margin),
        "simulated": simulation_check,
    },
}
"""Every check of this statement, by grade."""
