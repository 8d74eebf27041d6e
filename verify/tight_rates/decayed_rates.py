"""What evidence is there for the rates of a decaying memory, `theory/tight_rates/decayed_rates.py`, but derivations?

The worst case of a step as a semidefinite programme, with the Lyapunov function, step size and rate that are stated
(`numeric`); steps on quadratics of the plane in fractions (`property`), which hold both worst cases; and for the lower
bounds the roots of two quadratics at any step size, with 50 digits and by two solvers. Ours.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import Any

import mpmath
import numpy
import sympy
from hypothesis import strategies as st

from sparsync.theory.language.symbols import L, epsilon, mu, residual_decay
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.feedback.admission import rational_root, substituted
from sparsync.verify.tight_rates.performance import (
    Form,
    Performance,
    _square,
    interpolation,
    primal,
)
from sparsync.verify.tight_rates.search import Pair, Turn, _add, _dot, _scale, grid, pairs, turns
from sparsync.verify.tools.edges import Edge, Remark, Unneeded
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.tools.properties import property_check
from sparsync.verify.tools.smt import Query, smt_check

TIGHT, FLOOR, LOWER = "decayed_tight_rate", "decayed_rate_floor", "decayed_rate_lower"
PROGRAMMES = ((0.2, 0.5, 0.3), (0.2, 0.5, 0.7), (0.05, 0.8, 0.2), (0.05, 0.8, 0.975), (0.5, 0.25, 0.25))
"""μ (L = 1), s and β of the programmes."""
DIGITS = 50
"""Of the roots."""
ALLOWED = mpmath.mpf(10) ** -40
"""Relative: roots of a quadratic with 50 digits, whose difference is above 10⁻⁴ in the cases drawn."""
_CHOSEN = ("step_size", "position_weight", "residual_weight")


def chosen(numbers: dict[str, Any]) -> dict[str, sympy.Expr]:
    """η, p and r as the statement's assumptions read, at these numbers."""
    values = {symbol: sympy.Rational(str(numbers[symbol.name])) for symbol in (L, mu, epsilon, residual_decay)}
    return {name: STATEMENTS[TIGHT].given(name).subs(values) for name in _CHOSEN}


def kept_root(s: Fraction) -> Fraction:
    """√(‖C(v) − v‖²/‖v‖²) at most, as the statement assumes it where √ε is s."""
    return rational_root(substituted(STATEMENTS[TIGHT].given("kept_back"), {"epsilon": s**2}))


def decayed_step(
    *, smallest: float, root_epsilon: float, decay: float, step_size: float, position: float, residual: float
) -> Performance:
    """L = 1, e⁺ = v − C(v) = s w, v = βe + ηg; V = f − f* + p‖x − e‖² + r‖e‖²; basis (x, e, w, π0, π1)."""
    x, e, w, slope, following = numpy.eye(5)
    g = smallest * x + (1 - smallest) * slope
    corrected = decay * e + step_size * g
    end = x - corrected + root_epsilon * w
    points = {"*": (0 * x, 0 * g), "0": (x, g), "1": (end, smallest * end + (1 - smallest) * following)}
    constraints = interpolation(points, mu=smallest, smoothness=1.0)
    constraints["compressor"] = Form(_square(w) - _square(corrected), numpy.zeros(2))

    def value(place: Any, kept: Any, which: int) -> Form:
        gram = position * _square(place - kept) + residual * _square(kept)
        return Form(gram, numpy.eye(2)[which])

    return Performance(before=value(x, e, 0), after=value(end, root_epsilon * w, 1), constraints=constraints)


def worst_rate(smallest: float, root_epsilon: float, decay: float) -> tuple[float, float]:
    """The programme's optimum with what is stated of V and η, and its tolerance."""
    numbers = {"mu": smallest, "smoothness": 1, "epsilon": root_epsilon**2, "residual_decay": decay}
    step, position, residual = (float(number) for number in chosen(numbers).values())
    solution = primal(
        decayed_step(
            smallest=smallest, root_epsilon=float(kept_root(Fraction(str(root_epsilon)))), decay=decay, step_size=step,
            position=position, residual=residual,
        )
    )  # fmt: skip
    return solution.rate, solution.tolerance


def programmes(_profile: Profile) -> Outcome:
    """`numeric`: the worst case of the stated Lyapunov function at the stated step size is the rate."""
    errors = []
    for smallest, root, decay in PROGRAMMES:
        rate, allowed = worst_rate(smallest, root, decay)
        numbers = {"mu": smallest, "smoothness": 1, "epsilon": root**2, "residual_decay": decay}
        errors.append((abs(rate - STATEMENTS[TIGHT].evaluate(**numbers)), allowed))
    return Outcome(
        earned=all(error <= allowed for error, allowed in errors),
        detail={
            "programmes_count": len(errors),
            "largest_solver_error": max(error for error, _ in errors),
            "largest_error_over_tolerance": max(error / allowed for error, allowed in errors),
        },
    )


def step_margin(
    s: Fraction, theta: Fraction, share: Fraction, curvatures: Pair, x: Pair, e: Pair, turn: Turn, attains: int
) -> Fraction:
    """θ²V − V⁺ over V of one step on (a_1x_1² + a_2x_2²)/2, L = 1; minus its size where the case attains the rate.

    Args:
        s: √ε.
        theta: θ, between s and 1.
        share: β over θ².
        curvatures: in [0, 1], of the way from μ to L.
        x: the position, unless the case attains.
        e: the residual, likewise.
        turn: e⁺ = s times this of v.
        attains: 1 and −1 for the two worst cases, else 0.
    """
    smallest = (1 + s) * (1 - theta) / ((1 - s) * (1 + theta))
    numbers: dict[str, Fraction | int] = {"mu": smallest, "smoothness": 1, "epsilon": s**2}
    numbers["residual_decay"] = share * theta**2
    if not STATEMENTS[TIGHT].admits(**numbers):
        return Fraction(1)
    step, position, residual = (Fraction(str(number)) for number in chosen(numbers).values())
    bends = [smallest + part * (1 - smallest) for part in curvatures]
    if attains:
        bends = [smallest if attains == 1 else Fraction(1)] * 2
        factor, kept = attains * theta, attains * kept_root(s)
        x, e = (Fraction(1), Fraction(0)), (kept * (1 - factor) / ((1 - kept) * factor), Fraction(0))
        turn = Turn(Fraction(0), reflected=False, length=Fraction(attains))

    def value(place: Pair, memory: Pair) -> Fraction:
        height = sum((bend * part**2 / 2 for bend, part in zip(bends, place, strict=True)), Fraction(0))
        virtual = _add(place, _scale(-1, memory))
        return height + position * _dot(virtual, virtual) + residual * _dot(memory, memory)

    pull = (bends[0] * x[0], bends[1] * x[1])
    corrected = _add(_scale(numbers["residual_decay"], e), _scale(step, pull))
    after = _scale(kept_root(s), turn(corrected))
    end = _add(_add(x, _scale(-1, corrected)), after)
    margin = STATEMENTS[TIGHT].fraction(**numbers) - value(end, after) / value(x, e)
    return -abs(margin) if attains else margin


def root_margin(s: Fraction, smallest: Fraction, decay: Fraction, push: Fraction, *, label: str) -> float:
    """max |z|²/bound − 1 over C(v) = (1 ± s)v on x²/2 and μx²/2, at the balanced step size times `push`."""
    numbers = {"mu": smallest, "smoothness": 1, "epsilon": s**2, "residual_decay": decay}
    with mpmath.workdps(DIGITS):
        bound = mpmath.mpf(sympy.N(STATEMENTS[label].exact(**numbers), DIGITS))
        step = _balanced(s, smallest, decay, label=label) * _mpf(push)
        largest = max(
            _largest_root(1 + kept * _mpf(decay) - (1 - kept) * step * _mpf(curvature), kept * _mpf(decay))
            for kept in (_mpf(s), -_mpf(s))
            for curvature in (smallest, Fraction(1))
        )
        excess = largest**2 / bound - 1
        return 0.0 if abs(excess) <= ALLOWED else float(excess)


def _balanced(s: Fraction, smallest: Fraction, decay: Fraction, *, label: str) -> mpmath.mpf:
    """Where a root of the one is θ and of the other −θ: found from the published forms of θ, not from the bound."""
    spread, root, kept = _mpf((1 - smallest) / (1 + smallest)), _mpf(s), _mpf(s * decay)
    theta = (spread + root) / (1 + root * spread)
    if label == LOWER:
        linear = (1 - kept) * spread
        theta = (linear + mpmath.sqrt(linear**2 + 4 * kept)) / 2
    return (1 + theta) * (theta - kept) / (theta * (1 + root))


def _largest_root(linear: mpmath.mpf, constant: mpmath.mpf) -> mpmath.mpf:
    """The largest modulus of a root of z² − linear z + constant."""
    outer = mpmath.sqrt(mpmath.mpc(linear**2 - 4 * constant))
    return max(abs((linear + outer) / 2), abs((linear - outer) / 2))


def _mpf(value: Fraction | int) -> mpmath.mpf:
    return mpmath.mpf(value.numerator) / value.denominator


def root_queries(label: str) -> tuple[Query, ...]:
    """For every step size h: the one polynomial is ≤ 0 at θ, or the other at −θ; and θ² is the bound; L = 1."""
    s, m, b, h, t = sympy.symbols("s mu beta h theta", real=True)
    other = label == LOWER
    kept = -s if other else s
    slow = t**2 - (1 + kept * b - (1 - kept) * h * m) * t + kept * b
    fast = t**2 + (1 - s * b - (1 + s) * h) * t - s * b
    equation = (
        (1 + m) * (t**2 - s * b) - (1 - s * b) * (1 - m) * t
        if other
        else t * (1 + s + m * (1 - s)) - (1 + s - m * (1 - s))
    )
    domain = (s >= 0, s < 1, m > 0, m <= 1, b >= 0, b <= 1, h > 0, t > 0, t <= 1, sympy.Eq(equation, 0))
    return (
        Query("a root as large as θ", (*domain, slow > 0), fast <= 0, fast <= -1),
        _square_query(label, s, m, b),
    )


def _square_query(label: str, s: sympy.Symbol, m: sympy.Symbol, b: sympy.Symbol) -> Query:
    """θ(1 + s + μ(1 − s)) = 1 + s − μ(1 − s), squared; or (θ² − sβ)² = (1 − sβ)²r²θ²: the bound is that θ²."""
    root, outer = sympy.Symbol("s", positive=True), sympy.Symbol("y", positive=True)
    values = {L: sympy.Integer(1), epsilon: root**2}
    bound = STATEMENTS[label].bound.subs(values, simultaneous=True)
    found = [power for power in bound.atoms(sympy.Pow) if power.exp == sympy.Rational(1, 2)]
    square = sympy.Integer(0)
    if found:
        above, below = sympy.fraction(sympy.together(found[0].base))
        bound, square = bound.subs(found[0], outer), outer**2 * below - above
    upper, lower = sympy.fraction(sympy.cancel(bound))
    written = {root: s, mu: m, residual_decay: b}
    kept = s * b
    if label == FLOOR:
        difference = upper * (1 + s + m * (1 - s)) ** 2 - lower * (1 + s - m * (1 - s)) ** 2
    else:
        difference = (upper - kept * lower) ** 2 * (1 + m) ** 2 - ((1 - kept) * (1 - m)) ** 2 * upper * lower
    difference, square = (sympy.expand(part.subs(written)) for part in (difference, square))
    # What is left of it modulo the square of the root; zero iff it vanishes for this root.
    left = sympy.expand(sympy.prem(difference, square, outer)) if found else difference
    return Query("θ² is the bound", (), sympy.Eq(left, 0), sympy.Eq(left, 1))


_SHARES = grid(0, 16, 16)


def step_cases() -> st.SearchStrategy[Any]:
    """s and θ in sixteenths, β up to θ², any plane quadratic, state and turn; or a worst case."""
    ratios = st.tuples(st.integers(1, 15), st.integers(1, 15), st.integers(1, 15)).map(
        lambda drawn: (
            Fraction(drawn[0], 16),
            Fraction(drawn[0], 16) + (1 - Fraction(drawn[0], 16)) * Fraction(drawn[1], 16),
            Fraction(drawn[2], 16),
        )
    )
    either = st.one_of(turns(reflected=True), turns(reflected=False))
    attains = st.sampled_from([0, 0, 1, -1])
    drawn = st.tuples(ratios, st.tuples(_SHARES, _SHARES), pairs(), pairs(), either, attains)
    return drawn.map(lambda parts: (*parts[0], *parts[1:]))


def root_cases() -> st.SearchStrategy[Any]:
    """s, μ and β in sixteenths, and a step size up to four times the balanced one, or that one."""
    push = st.one_of(st.just(Fraction(1)), grid(1, 64, 16))
    return st.tuples(grid(0, 15, 16), grid(1, 15, 16), grid(0, 16, 16), push)


CHECKS: dict[str, dict[Grade, Check]] = {
    TIGHT: {
        "numeric": programmes,
        "property": property_check(step_cases, step_margin),
    },
    **{
        label: {
            "smt": smt_check(partial(root_queries, label)),
            "property": property_check(root_cases, partial(root_margin, label=label)),
        }
        for label in (FLOOR, LOWER)
    },
}
"""Every check of these statements, by label and grade."""


_POINT = {"mu": Fraction(1, 20), "smoothness": 1, "epsilon": Fraction(16, 25), "residual_decay": Fraction(13, 50)}
_BELOW_RATE, _PROVED = (str(condition) for condition in STATEMENTS[TIGHT].domain[3:])


def _slower() -> float:
    """The programme's optimum at s = 4/5, μ = 1/20, β = 13/50, less what its solver may be wrong by."""
    rate, allowed = worst_rate(0.05, 0.8, 0.26)
    return rate - allowed


def _free_ratio() -> Fraction:
    """V⁺/V of a step on x²/2 with C(v) = 3v/2, from x = 1, e = −1; β = 13/16 > θ² = 49/64, so that p and V are < 0."""
    numbers: dict[str, Fraction | int] = {"mu": Fraction(1, 5), "smoothness": 1, "epsilon": Fraction(1, 4)}
    numbers["residual_decay"] = Fraction(13, 16)
    step, position, residual = (Fraction(str(number)) for number in chosen(numbers).values())
    x, e = Fraction(1), Fraction(-1)

    def value(place: Fraction, memory: Fraction) -> Fraction:
        return place**2 / 2 + position * (place - memory) ** 2 + residual * memory**2

    corrected = numbers["residual_decay"] * e + step * x
    return value(x - corrected - corrected / 2, -corrected / 2) / value(x, e)


SLACK: dict[str, dict[str, str]] = {
    label: {"kept_back": "with 17/16 of it more compressors are admitted, and the worst of them is no faster"}
    for label in (FLOOR, LOWER)
}
"""Assumed numbers that may be a little other."""
EDGES: dict[str, tuple[Remark, ...]] = {
    TIGHT: (
        Unneeded("mu < smoothness", "at μ = L the weights p and r have no value; beyond it there is no function"),
        Unneeded("0 < epsilon", "at ε = 0 the weight r has no value; nothing is kept back, and the rate is true"),
        Unneeded("epsilon < 1", "at ε = 1 the step size and the weights have no value: nothing need be sent"),
        Edge(
            _BELOW_RATE,
            {"mu": Fraction(1, 5), "smoothness": 1, "epsilon": Fraction(1, 4), "residual_decay": Fraction(13, 16)},
            _free_ratio,
        ),
        Edge(_PROVED, _POINT, _slower),
    ),
    **{
        label: (
            Unneeded("mu <= smoothness", "beyond it there is no function"),
            Unneeded("epsilon < 1", "a larger ε admits more compressors, so the rate is no smaller than at ε → 1: 1"),
            Unneeded("residual_decay <= 1", "a memory that grows is not meant"),
        )
        for label in (FLOOR, LOWER)
    },
}
"""Of every condition a point beyond it at which the statement is false, or why it is not needed."""
