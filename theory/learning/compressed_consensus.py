"""What does a selection of the exchanged variables do to consensus ADMM? How far L may rise, and a damping that cures.

Each batch sends a selection C of what all lack of its proposal u_i = w_i + α_i/ρ, so that they know
h_i ← h_i + C(u_i − h_i), with the error e_i = u_i − h_i. Only z is inexact, and ∇f_i(w_i) = −α_i still holds after
every step. The estimates are those of EF21 (Richtárik, Sokolov and Fatkhullin 2021); statements and proofs are ours.
"""

import sympy

from sparsync.theory.delay.stability import decided
from sparsync.theory.language.given import Given
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import (
    batch_curvature,
    consensus_change,
    damping,
    delta,
    error_energy,
    largest_damping,
    n,
    penalty,
)
from sparsync.theory.learning.consensus import CONSISTENT, CURVED, LEAST_SQUARES

DAMPED = (
    r"$z\leftarrow z+\gamma(\theta(\bar{u}-\bar{e})-z)$, $\bar{e}$ the mean of $e_i=u_i-h_i$, "
    r"$\theta=\rho n/(2+\rho n)$"
)

_CURVATURE = 2 + penalty * n
_SHARE = penalty * n / _CURVATURE
_FAR, _ERROR, _ROOT = sympy.symbols("far error q", real=True)
_MORE = sympy.Symbol("more", nonnegative=True)


def admm_compressed_step() -> Statement:
    """A step of z lets L rise by at most γ/(2 − γ)·ρ²n²/(2(2 + ρn))·‖ē‖², which some z attains.

    γ = 1 is ADMM. So what was not sent bounds how far L rises in all, and where h_i = u_i it does not rise.

    Source: ours.
    """
    bound = damping / (2 - damping) * penalty**2 * n**2 / (2 * _CURVATURE) * error_energy
    return Statement(
        label="admm_compressed_step",
        title="What unsent entries let the Lagrangian rise",
        assumptions=(LEAST_SQUARES, DAMPED),
        relation=sympy.Le(consensus_change, bound, evaluate=False),
        domain=(damping < 2,),
        source="ours",
        derivation=(
            Step("L(z) − min L is (2 + ρn)/2·‖z − θū‖²: with d = z − θū, d⁺ = (1 − γ)d − γθē", _distance),
            Step(
                "‖(1 − γ)d − γθē‖² − ‖d‖² is γ/(2 − γ)·θ²‖ē‖² less a square, which vanishes for one d",
                _completed_square,
            ),
            Step(
                "times (2 + ρn)/2, with θ = ρn/(2 + ρn)",
                lambda: sympy.simplify(_CURVATURE / 2 * damping / (2 - damping) * _SHARE**2 * error_energy - bound),
                concludes=bound,
            ),
        ),
    )


def admm_compressed_damping() -> Statement:
    """L + b Σ‖e_i‖² falls for γ ≤ min(1, 2s/(1 + s)), s = (1 − q)²/(θq²), where C keeps q² = 1 − δ of the energy back.

    With b = ργθ/(2(2 − γ)(1 − q)). No weight b does it for a larger γ by this argument; a run may do it nevertheless.
    Exact Top-k has δ = k/p. For a smaller γ the errors are summable, as L is bounded below: what is not sent vanishes.
    The iteration stands still where that of ADMM does, for C(u − h) = 0 means u = h.

    Source: ours.
    """
    root = sympy.sqrt(1 - delta)
    bound = sympy.Min(1, 2 * (1 - root) ** 2 / ((1 - root) ** 2 + _SHARE * (1 - delta)))
    return Statement(
        label="admm_compressed_damping",
        title="A damping for which selections keep the descent",
        assumptions=(
            LEAST_SQUARES,
            CURVED,
            CONSISTENT,
            DAMPED,
            Given("penalty", r"\rho", "≥", batch_curvature),
            Given("kept_back", r"\lVert u-C(u)\rVert^{2}/\lVert u\rVert^{2}", "≤", 1 - delta),
            Given(
                "largest_step",
                r"\gamma",
                "≤",
                sympy.Integer(1),
                words=r"of all {} with a $b\geq0$ for which the four steps of the proof give descent",
            ),
        ),
        relation=sympy.Eq(largest_damping, bound, evaluate=False),
        domain=(sympy.Lt(delta, 1),),
        source="ours",
        derivation=(
            Step("‖e + Δu‖² ≤ ‖e‖²/q + ‖Δu‖²/(1 − q), so E⁺ ≤ qE + q²/(1 − q)·Σ‖Δu_i‖²", _young),
            Step("Δu = (1 − h/ρ)Δw, so ‖Δu‖² is 2/ρ times the fall (ρ − h)(ρ + 2h)/(2ρ)·(Δw)², or less", _driven),
            Step("‖ē‖² ≤ E/n, so z lets L rise by γ/(2 − γ)·(ρθ/2)·E at most", _injected),
            Step(
                "b with b(1 − q) ≥ γ/(2 − γ)·ρθ/2 and b ≤ ρ(1 − q)/(2q²) is there iff γ/(2 − γ) ≤ s",
                lambda: sympy.simplify(_largest_damping() - _at_root(bound)),
                concludes=bound,
            ),
        ),
    )


def _distance() -> sympy.Expr:
    best, z = sympy.symbols("best z", real=True)
    following = z + damping * (best - _SHARE * _ERROR - z)
    return sympy.expand(following - best - ((1 - damping) * (z - best) - damping * _SHARE * _ERROR))


def _completed_square() -> sympy.Expr:
    change = ((1 - damping) * _FAR - damping * _ERROR) ** 2 - _FAR**2
    square = damping * (2 - damping) * (_FAR + (1 - damping) / (2 - damping) * _ERROR) ** 2
    return sympy.simplify(change + square - damping / (2 - damping) * _ERROR**2)


def _young() -> sympy.Basic:
    # q = 1/(1 + more): ‖e‖²/q + ‖d‖²/(1 − q) − ‖e + d‖² is a square over q(1 − q).
    root, move = 1 / (1 + _MORE), sympy.Symbol("move", real=True)
    left = _ERROR**2 / root + move**2 / (1 - root) - (_ERROR + move) ** 2
    square = ((1 - root) * _ERROR - root * move) ** 2 / (root * (1 - root))
    return decided(sympy.simplify(left - square) == 0)


def _driven() -> sympy.Basic:
    # ρ = h + more.
    curvature = sympy.Symbol("curvature", nonnegative=True)
    rho = curvature + _MORE
    fall = (rho - curvature) * (rho + 2 * curvature) / (2 * rho)
    room = sympy.factor(sympy.simplify(2 / rho * fall - (1 - curvature / rho) ** 2))
    return decided(sympy.simplify(room - 3 * curvature * _MORE / rho**2) == 0)


def _injected() -> sympy.Expr:
    return sympy.simplify(_CURVATURE / 2 * _SHARE**2 / n - penalty * _SHARE / 2)


def _largest_damping() -> sympy.Expr:
    """The largest γ ≤ 1 for which the least b that the errors need is no more than the models allow."""
    weight, gamma = sympy.symbols("weight gamma", positive=True)
    (least,) = sympy.solve(sympy.Eq(weight * (1 - _ROOT), gamma / (2 - gamma) * penalty * _SHARE / 2), weight)
    most = penalty * (1 - _ROOT) / (2 * _ROOT**2)
    (found,) = sympy.solve(sympy.Eq(least, most), gamma)
    return sympy.Min(1, sympy.simplify(found))


def _at_root(bound: sympy.Expr) -> sympy.Expr:
    """With q for √(1 − δ), 0 < q < 1."""
    root = sympy.Symbol("root", positive=True)
    return bound.subs(delta, 1 - root**2).subs(root, _ROOT)


STATEMENTS = by_label(__name__, admm_compressed_step, admm_compressed_damping)
"""The statements of this file."""
