"""What evidence is there that a decaying memory never leaves some slopes, `theory/feedback/decay_floors.py`?

The states are run in fractions: nothing may move, and the slope there is compared with the bound. From no memory, runs
come to the first; Top-k, with a sort of this file, stays at the third from its first step on. Ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import sympy
from hypothesis import strategies as st

from sparsync.theory.language.symbols import delta, dissimilarity, k, residual_decay, slope_share, variance
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.feedback.runs.decayed_runs import ONE, ZERO
from sparsync.verify.tools.edges import Edge, Remark, Unneeded
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.tools.properties import property_check
from sparsync.verify.tools.smt import Query, smt_check

SCALING, NOISE, TOP_K = "decayed_floor", "decayed_noise_floor", "decayed_top_k_floor"
ROUND_COUNT = 30
"""Steps for which Top-k is run."""
SETTLING_COUNT, SETTLED = 600, 1e-9
"""Steps from no memory until the slope of a run is that of the bound, relative: ηL/δ is 1/4 and more, and residuals of
at most aβ = 1/4 are faster, so that less than (3/4)^600 of the start is left and 600 roundings of 2⁻⁵³."""


def _given(label: str, name: str, values: dict[sympy.Symbol, Any]) -> Fraction:
    number = sympy.nsimplify(STATEMENTS[label].given(name).subs(values))
    return Fraction(int(number.p), int(number.q))


def scaling_margin(root: Fraction, decay: Fraction, step: Fraction, slope: Fraction) -> Fraction:
    """−(what moves, and |f'² − bound|) of workers with the slopes ±σ and what they keep back at rest."""
    values = {delta: sympy.Rational(str(1 - root**2)), residual_decay: sympy.Rational(str(decay))}
    plus = _given(SCALING, "plus_share", values)
    if not 0 <= plus <= 1:
        return -ONE
    moved = mean = ZERO
    for share, sign in ((plus, ONE), (1 - plus, -ONE)):
        kept = sign * root
        residual = kept / (1 - decay * kept) * step * sign * slope
        corrected = decay * residual + step * sign * slope
        moved += share * (1 - kept) * corrected
        mean += share * sign * slope
        if kept * corrected != residual:
            return -ONE
    numbers = {"delta": 1 - root**2, "residual_decay": decay, "dissimilarity": slope**2 - mean**2}
    return -abs(moved) - abs(mean**2 - STATEMENTS[SCALING].fraction(**numbers))


def settling_runs(_profile: Profile) -> Outcome:
    """`numeric`: from no memory and x_0 = 3, workers with a = 1/2 on x²/2 ± b come to the slope stated."""
    errors = []
    for decay in (0.0, 0.25, 0.5):
        values = {delta: sympy.Rational(3, 4), residual_decay: sympy.nsimplify(decay)}
        plus = float(_given(SCALING, "plus_share", values))
        slope = 2 * plus - 1
        spread = 4 * plus * (1 - plus)
        # f_i' = x + b_i has the slopes ±1 where x is the mean slope at rest.
        x, plus_residual, minus_residual, step = 3.0, 0.0, 0.0, 0.25
        for _ in range(SETTLING_COUNT):
            first = decay * plus_residual + step * (x + 1 - slope)
            second = decay * minus_residual + step * (x - 1 - slope)
            plus_residual, minus_residual = first / 2, -second / 2
            x -= plus * (first - plus_residual) + (1 - plus) * (second - minus_residual)
        bound = STATEMENTS[SCALING].evaluate(delta=0.75, residual_decay=decay, dissimilarity=spread)
        errors.append(abs(x**2 / bound - 1))
    return Outcome(
        earned=max(errors) <= SETTLED, detail={"runs_count": len(errors), "largest_relative_error": max(errors)}
    )


def noise_margin(root: Fraction, decay: Fraction, step: Fraction, width: Fraction) -> Fraction:
    """−(the mean of what is sent, and |f'² − bound|) for u = ±w; the slope and the variance are those of the noise."""
    kept = _given(NOISE, "kept", {delta: sympy.Rational(str(1 - root**2)), sympy.Symbol("w", positive=True): width})
    plus = (1 + root) / 2
    corrected = ((plus, width), (1 - plus, -width))
    sent = sum((share * (u - kept) for share, u in corrected), ZERO)
    gradients = [(share, (u - decay * kept) / step) for share, u in corrected]
    slope = sum((share * g for share, g in gradients), ZERO)
    noise = sum((share * (g - slope) ** 2 for share, g in gradients), ZERO)
    stated = STATEMENTS[NOISE].fraction(delta=1 - root**2, residual_decay=decay, variance=noise)
    return -abs(sent) - abs(slope**2 - stated)


def top_k_run(
    count: int, decay: Fraction, step: Fraction, curvature: Fraction, start: Sequence[Fraction], slope: Fraction
) -> list[list[Fraction]]:
    """x_0, x_1, … of two workers with Top-k, f_{1,2} = L‖x‖²/2 ± A Σ_{j≤k} x_j; the first of equal ones is sent."""
    x, residuals = list(start), [[ZERO] * len(start), [ZERO] * len(start)]
    visited = [list(x)]
    for _ in range(ROUND_COUNT):
        moves = [ZERO] * len(x)
        for worker, sign in enumerate((1, -1)):
            pushed = [curvature * value + sign * slope * (place < count) for place, value in enumerate(x)]
            corrected = [decay * e + step * g for e, g in zip(residuals[worker], pushed, strict=True)]
            chosen = sorted(range(len(x)), key=lambda place, u=corrected: -abs(u[place]))[:count]  # type: ignore[misc]
            residuals[worker] = [ZERO if place in chosen else u for place, u in enumerate(corrected)]
            for place in chosen:
                moves[place] += corrected[place] / 2
        x = [value - move for value, move in zip(x, moves, strict=True)]
        visited.append(list(x))
    return visited


def top_k_margin(
    count: int, others: int, share: Fraction, decay: Fraction, step: Fraction, slope: Fraction
) -> Fraction:
    """−(how far x moves, and |‖∇f‖² − bound|) in a run from no memory; L = 1/2."""
    curvature, dimension = Fraction(1, 2), count + others
    spread = count * slope**2
    values = {
        slope_share: share,
        residual_decay: decay,
        dissimilarity: sympy.Rational(str(spread)),
        k: sympy.Integer(count),
    }
    small = _given(TOP_K, "slope", {symbol: sympy.sympify(value) for symbol, value in values.items()})
    start = [ZERO] * count + [small / curvature] * others
    visited = top_k_run(count, decay, step, curvature, start, slope)
    energy = sum(((curvature * value) ** 2 for value in visited[-1]), ZERO)
    stated = STATEMENTS[TOP_K].fraction(
        k=count, d=dimension, slope_share=share, residual_decay=decay, dissimilarity=spread
    )
    return -sum((abs(new - old) for new, old in zip(visited[-1], start, strict=True)), ZERO) - abs(energy - stated)


def scaling_queries() -> tuple[Query, ...]:
    """Every a, β, σ and share p for which what is sent cancels."""
    a, b, s, p = sympy.symbols("a beta s p", real=True)
    slope = (2 * p - 1) * s
    stated = STATEMENTS[SCALING].bound.subs(
        {delta: 1 - a**2, residual_decay: b, dissimilarity: s**2 - slope**2}, simultaneous=True
    )
    numerator, denominator = sympy.fraction(sympy.together(stated))
    balance = sympy.Eq(p * (1 - a) * (1 + b * a), (1 - p) * (1 + a) * (1 - b * a))
    return (_slope_query("f'² is the bound", slope, (numerator, denominator), (a > 0, a < 1, b >= 0, b <= 1, balance)),)


def noise_queries() -> tuple[Query, ...]:
    """Every a, β, w and η = 1: the chance of w for which nothing is sent on average."""
    a, b, w, p = sympy.symbols("a beta w p", real=True)
    mean = (2 * p - 1) * w
    stated = STATEMENTS[NOISE].bound.subs(
        {delta: 1 - a**2, residual_decay: b, variance: w**2 - mean**2}, simultaneous=True
    )
    sides = sympy.fraction(sympy.together(stated))
    domain = (a > 0, a < 1, b >= 0, b <= 1, w > 0, sympy.Eq(mean, a * w))
    return (_slope_query("f'² is the bound", mean - b * a * w, sides, domain),)


def top_k_queries() -> tuple[Query, ...]:
    """A level below A stays below: βu + s < A for u < A and s ≤ (1 − β)A; and the squares of the slopes."""
    u, s, b, large, share, sent, others = sympy.symbols("u s beta A lambda k others", real=True)
    stays = Query(
        "a small slope is never sent",
        (b >= 0, b <= 1, large > 0, s >= 0, s <= (1 - b) * large, u >= 0, u <= large),
        b * u + s <= large,
        2 * (b * u + s) <= large,
    )
    plain = {symbol: sympy.Symbol(symbol.name, real=True) for symbol in STATEMENTS[TOP_K].bound.free_symbols}
    bound = (
        STATEMENTS[TOP_K]
        .bound.xreplace(plain)
        .subs(
            {
                plain[slope_share]: share,
                plain[residual_decay]: b,
                plain[dissimilarity]: sent * large**2,
                plain[k]: sent,
                sympy.Symbol("d", real=True): sent + others,
            },
            simultaneous=True,
        )
    )
    numerator, denominator = sympy.fraction(sympy.cancel(bound))
    energy = others * s**2
    squares = Query(
        "‖∇f‖² is the bound",
        (sent >= 1, others >= 1, sympy.Eq(s, share * (1 - b) * large), share > 0, large > 0, b >= 0, b < 1),
        sympy.Eq(energy * denominator, numerator, evaluate=False),
        sympy.Eq(energy * denominator, 2 * numerator, evaluate=False),
    )
    return stays, squares


def _slope_query(
    claim: str, slope: sympy.Expr, sides: tuple[sympy.Expr, sympy.Expr], premises: tuple[Any, ...]
) -> Query:
    numerator, denominator = sides
    return Query(
        claim=claim,
        premises=premises,
        conclusion=sympy.Eq(slope**2 * denominator, numerator, evaluate=False),
        false_twin=sympy.Eq(slope**2 * denominator, 2 * numerator, evaluate=False),
    )


_SIZES = st.sampled_from([Fraction(1, 4), ONE, Fraction(3)])
_EIGHTHS = st.integers(0, 8).map(lambda numerator: Fraction(numerator, 8))
_ROOTS = st.integers(0, 15).map(lambda numerator: Fraction(numerator, 16))
_SMALL = st.integers(1, 15).map(lambda numerator: Fraction(numerator, 16))


def _scaling_cases() -> st.SearchStrategy[Any]:
    return st.tuples(_ROOTS, _EIGHTHS, _SIZES, _SIZES)


def _top_k_cases() -> st.SearchStrategy[Any]:
    # Slopes are rational where λ(1 − β)A is, whatever ζ² = kA².
    return st.tuples(st.integers(1, 3), st.integers(1, 3), _SMALL, _EIGHTHS, _SIZES, _SIZES)


CHECKS: dict[str, dict[Grade, Check]] = {
    SCALING: {
        "smt": smt_check(scaling_queries),
        "numeric": settling_runs,
        "property": property_check(_scaling_cases, scaling_margin),
    },
    NOISE: {
        "smt": smt_check(noise_queries),
        "property": property_check(_scaling_cases, noise_margin),
    },
    TOP_K: {
        "smt": smt_check(top_k_queries),
        "property": property_check(_top_k_cases, top_k_margin),
    },
}
"""Every check of these statements, by label and grade."""


def _left_energy() -> Fraction:
    """‖∇f‖² at the end of a run at λ = 33/32, β = 7/8: the small slope is sent in the end."""
    slope = Fraction(33, 32) / 8
    visited = top_k_run(1, Fraction(7, 8), ONE, Fraction(1, 2), [ZERO, 2 * slope], ONE)
    return sum(((value / 2) ** 2 for value in visited[-1]), ZERO)


def _grown_energy() -> Fraction:
    """The same at β = 17/16 and λ = 1/2: a memory that grows is sent in the end."""
    visited = top_k_run(1, Fraction(17, 16), ONE, Fraction(1, 2), [ZERO, -2 * Fraction(1, 32)], ONE)
    return sum(((value / 2) ** 2 for value in visited[-1]), ZERO)


EDGES: dict[str, tuple[Remark, ...]] = {
    SCALING: (
        Edge("delta <= 1", {"delta": Fraction(17, 16), "residual_decay": 0, "dissimilarity": 1}),
        Edge(
            "residual_decay <= 1",
            {"delta": 1 - Fraction(16, 17) ** 2, "residual_decay": Fraction(17, 16), "dissimilarity": 1},
        ),
    ),
    NOISE: (
        Edge("delta <= 1", {"delta": Fraction(17, 16), "residual_decay": 0, "variance": 1}),
        Unneeded("residual_decay <= 1", "the state is at rest for every β; a memory with β > 1 is not meant"),
    ),
    TOP_K: (
        Edge("k <= d", {"k": 2, "d": 1, "slope_share": Fraction(1, 2), "residual_decay": 0, "dissimilarity": 1}),
        Edge(
            "residual_decay <= 1",
            {"k": 1, "d": 2, "slope_share": Fraction(1, 2), "residual_decay": Fraction(17, 16), "dissimilarity": 1},
            _grown_energy,
        ),
        Edge(
            "slope_share < 1",
            {"k": 1, "d": 2, "slope_share": Fraction(33, 32), "residual_decay": Fraction(7, 8), "dissimilarity": 1},
            _left_energy,
        ),
    ),
}
"""Of every condition a point beyond it at which the statement is false, or why it is not needed."""
