"""What evidence is there for the rate of gossip with compressed differences, besides its derivation?

Networks whose spectrum is rational take steps in exact fractions (`rational`, `property`); of random weights the worst
step is the largest eigenvalue of a pencil (`numeric`); and an eigenvector's share of V is asked of two solvers (`smt`).
With θ rational and s = θ(θ − r)/(1 − rθ), everything is. Ours.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import mpmath
import numpy
import sympy
from hypothesis import strategies as st
from numpy.typing import NDArray

from sparsync.theory.language.symbols import delta, epsilon, spectral_gap, tolerance, widest_gap
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.feedback.admission import rational_root, substituted
from sparsync.verify.tight_rates.networks import (
    NETWORKS,
    ONE,
    REVERSED,
    ZERO,
    Network,
    State,
    compression,
    slowest,
    step,
    total,
)
from sparsync.verify.tight_rates.queries import FACTORS, SHARPER, SPREADS, THETA, R, S, parameter_queries
from sparsync.verify.tight_rates.search import Turn, grid
from sparsync.verify.tools.edges import Edge, Remark, Unneeded
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.tools.properties import Members, property_check
from sparsync.verify.tools.smt import Query, smt_check

RATE, MIXING, STEPS = "gossip_rate", "gossip_mixing", "gossip_steps"
RUN_LENGTH = 4
"""Steps of each listed run."""
DIGITS = 50
"""Precision of the logarithms."""
RANDOM_SIZES = (2, 3, 5, 8)
"""Workers of the random weights."""
ROUNDING = 1e-9
"""Relative error of an eigenvalue: a thousand times that of products of eight by eight matrices with entries near 1, at
condition numbers of V of a thousand."""
OTHER_STRENGTHS = (0.9, 0.98, 1.02, 1.1)
"""Mixing strengths in units of γ* that must be worse."""


def stated_mixing(network: Network, s: Fraction, label: str = RATE) -> Fraction:
    """γ, of the rate's assumption or of the statement about the best one."""
    low, high = (sympy.Rational(gap.numerator, gap.denominator) for gap in network.gaps)
    formula = STATEMENTS[RATE].given("mixing") if label == RATE else STATEMENTS[label].bound
    value = formula.xreplace(
        {epsilon: sympy.Rational(s.numerator, s.denominator) ** 2, spectral_gap: low, widest_gap: high}
    )
    return Fraction(int(value.p), int(value.q))


def assumed_root(label: str, s: Fraction) -> Fraction:
    """The root of the share that a compressor may keep back, as a statement at ε = s² assumes it."""
    return rational_root(substituted(STATEMENTS[label].given("kept_back"), {"epsilon": s**2}))


def stated_rate(network: Network, s: Fraction) -> Fraction:
    """θ² as stated."""
    low, high = network.gaps
    return STATEMENTS[RATE].fraction(epsilon=s**2, spectral_gap=low, widest_gap=high)


def attaining_error(network: Network, theta: Fraction, *, fast: bool) -> Fraction:
    """By how much V leaves θ²V in the slowest run, over V, and how far Σx moves."""
    s, state, error = compression(network, theta), slowest(network, theta, fast=fast), ZERO
    strength, rate = stated_mixing(network, s), stated_rate(network, s)
    for _ in range(RUN_LENGTH):
        following = step(network, state, strength, [REVERSED] * len(state.models), assumed_root(RATE, s))
        moved = max(abs(a - b) for a, b in zip(total(state.models), total(following.models), strict=True))
        error += abs(following.value(s) / state.value(s) - rate) + moved
        state = following
    return error


def free_margin(network: Network, theta: Fraction, state: State, kept: Sequence[Turn]) -> Fraction:
    """θ²V − V⁺ over V; negative if Σx moves."""
    s = compression(network, theta)
    following = step(network, state, stated_mixing(network, s), kept, assumed_root(RATE, s))
    if total(following.models) != total(state.models):
        return -ONE
    before = state.value(s)
    return stated_rate(network, s) - following.value(s) / before if before else ZERO


def rate_margin(attains: bool, case: tuple[object, ...]) -> Fraction:
    """Of any step, or of the slowest run, neither side of which has room."""
    return -attaining_error(case[0], case[1], fast=bool(case[2])) if attains else free_margin(*case)  # type: ignore[arg-type]  # drawn by `rate_cases`


def mixing_margin(network: Network, theta: Fraction, factor: Fraction) -> Fraction:
    """By how much the larger |t| at γ = factor·γ* exceeds that at γ*, which must balance t(ρ) and −t(β)."""
    s, (low, high) = compression(network, theta), network.gaps
    best, root = stated_mixing(network, s, MIXING), assumed_root(MIXING, s)

    def traces(strength: Fraction) -> tuple[Fraction, Fraction]:
        first, second = ((1 - root) - (1 + root) * strength * gap for gap in (low, high))
        return first, second

    balanced, other = traces(best), traces(factor * best)
    room = max(map(abs, other)) - max(map(abs, balanced))
    return min(room, -abs(balanced[0] + balanced[1]))


def steps_margin(share: Fraction, contraction: Fraction, exponent: int) -> float:
    """1 − T/bound for ρ = share·β, β = 3/2: T = ln tol/ln θ² with θ² as stated by `gossip_rate`."""
    high = Fraction(3, 2)
    numbers = {"spectral_gap": share * high, "widest_gap": high}
    goal = Fraction(1, 10**exponent)
    bound = STATEMENTS[STEPS].exact(delta=contraction, tolerance=goal, **numbers)
    with mpmath.workdps(DIGITS):
        kept = substituted(STATEMENTS[STEPS].given("kept_back"), {"delta": contraction})
        s = mpmath.sqrt(mpmath.mpf(kept.numerator) / kept.denominator)
        spread = (1 - mpmath.mpf(share.numerator) / share.denominator) / (
            1 + mpmath.mpf(share.numerator) / share.denominator
        )
        theta = ((1 - s) * spread + mpmath.sqrt((1 - s) ** 2 * spread**2 + 4 * s)) / 2
        needed = -exponent * mpmath.log(10) / (2 * mpmath.log(theta))
        return float(1 - needed / mpmath.mpf(sympy.N(bound, DIGITS)))


def _thetas(network: Network) -> Members:
    """θ between r and 1, exclusive."""
    return st.integers(1, 15).map(lambda part: network.spread + (1 - network.spread) * Fraction(part, 16))


_TURNS = st.builds(
    Turn,
    half_tangent=st.sampled_from([ZERO, Fraction(1, 2), ONE]),
    reflected=st.booleans(),
    length=st.sampled_from([ONE, -ONE, Fraction(1, 2)]),
)
_PAIRS = st.tuples(st.integers(-3, 3).map(Fraction), st.integers(-3, 3).map(Fraction))


def rate_cases() -> Members:
    """Any step on a listed network, or its slowest run."""

    def cases_of(network: Network) -> Members:
        count = len(network.slow)
        pairs = st.lists(_PAIRS, min_size=count, max_size=count).map(tuple)
        states = st.builds(State, pairs, pairs)
        kept = st.lists(_TURNS, min_size=count, max_size=count)
        free = st.tuples(st.just(network), _thetas(network), states, kept)
        slow = st.tuples(st.just(network), _thetas(network), st.booleans())
        return st.one_of(st.tuples(st.just(False), free), st.tuples(st.just(True), slow))

    return st.sampled_from(NETWORKS).flatmap(cases_of)


def mixing_cases() -> Members:
    """Cases of `mixing_margin`."""
    factors = st.sampled_from([ZERO, Fraction(1, 2), Fraction(63, 64), ONE, Fraction(65, 64), Fraction(2)])
    return st.sampled_from(NETWORKS).flatmap(lambda network: st.tuples(st.just(network), _thetas(network), factors))


def steps_cases() -> Members:
    """Cases of `steps_margin`; a large contraction is where no more is needed than stated."""
    return st.tuples(grid(1, 990, 1000), grid(1, 999, 1000), st.integers(1, 12))


def runs_check(_profile: Profile) -> Outcome:
    """`rational`: on every network the slowest runs shrink by θ² in every step, and Σx stays."""
    errors = [
        attaining_error(network, network.spread + (1 - network.spread) * part, fast=fast)
        for network in NETWORKS
        for part in (Fraction(1, 8), Fraction(1, 2), Fraction(15, 16))
        for fast in (False, True)
    ]
    return Outcome(earned=all(error == 0 for error in errors), detail={"runs_count": len(errors)})


def random_gaps(count: int, generator: numpy.random.Generator) -> NDArray[numpy.float64]:
    """I − W of random symmetric weights, scaled so that W has no negative eigenvalue."""
    weights = numpy.triu(generator.random((count, count)), 1)
    laplacian = numpy.diag((weights + weights.T).sum(axis=1)) - weights - weights.T
    return laplacian / float(numpy.linalg.eigvalsh(laplacian)[-1])


def worst_step(gaps: NDArray[numpy.float64], *, s: float, strength: float) -> float:
    """The largest V⁺/V over states and compressors: what C keeps back counts by its energy s²‖u‖² only."""
    count = len(gaps)
    identity, mean = numpy.eye(count), numpy.ones((count, count)) / count
    following = numpy.hstack([identity - mean - strength * gaps, strength * gaps])
    lacking = numpy.hstack([-strength * gaps, identity + strength * gaps])
    after = following.T @ following + s * lacking.T @ lacking
    # Coordinates in which V is the sum of squares; the mean of x has no part in it.
    basis = numpy.linalg.eigh(identity - mean)[1][:, 1:]
    zero = numpy.zeros((count, count))
    scale = numpy.vstack([numpy.hstack([basis, zero]), numpy.hstack([0 * basis, math.sqrt(s) * identity])])
    return float(numpy.linalg.eigvalsh(scale.T @ after @ scale)[-1])


def pencil_check(_profile: Profile) -> Outcome:
    """`numeric`: of random weights the worst step is θ² at the stated γ, and worse at others."""
    generator = numpy.random.default_rng(31)
    errors, excesses = [], []
    for count in RANDOM_SIZES:
        gaps = random_gaps(count, generator)
        low, high = (float(value) for value in numpy.linalg.eigvalsh(gaps)[[1, -1]])
        for s in (0.125, 0.5, 0.875):
            numbers = {"epsilon": s**2, "spectral_gap": low, "widest_gap": high}
            values = {epsilon: s**2, spectral_gap: low, widest_gap: high}
            rate, strength = STATEMENTS[RATE].evaluate(**numbers), float(STATEMENTS[RATE].given("mixing").subs(values))
            errors.append(abs(worst_step(gaps, s=s, strength=strength) / rate - 1))
            excesses += [worst_step(gaps, s=s, strength=factor * strength) / rate - 1 for factor in OTHER_STRENGTHS]
    return Outcome(
        earned=max(errors) <= ROUNDING and min(excesses) > ROUNDING,
        detail={"weights_count": len(errors), "largest_error": max(errors), "smallest_excess": min(excesses)},
    )


def _stated(expression: sympy.Expr, spread: sympy.Expr) -> sympy.Expr:
    """At ρ = 1 − spread, β = 1 + spread and ε = s², as a rational function; square roots are of squares."""
    positive = {symbol: sympy.Symbol(str(symbol), positive=True) for symbol in (S, R, THETA)}
    width = spread.xreplace(positive)
    value = expression.xreplace({widest_gap: 1 + width, spectral_gap: 1 - width, epsilon: positive[S] ** 2})
    roots = {root: sympy.sqrt(sympy.factor(root.base)) for root in value.atoms(sympy.Pow) if root.exp == sympy.S.Half}
    return sympy.cancel(value.xreplace(roots)).xreplace({symbol: real for real, symbol in positive.items()})


def _numerator(quantity: sympy.Expr) -> sympy.Expr:
    """The numerator over a denominator that is positive inside; its sign is read off at a point."""
    above, below = sympy.fraction(sympy.cancel(sympy.together(quantity)))
    sign = sympy.sign(below.subs({S: sympy.Rational(1, 4), R: sympy.Rational(1, 3), THETA: sympy.Rational(3, 4)}))
    return sympy.expand(sign * above)


def rate_queries() -> tuple[Query, ...]:
    """An eigenvalue λ = 1 + rc, |c| ≤ 1, with y − e = 1, by homogeneity; and equality at c = −1."""
    place, error = sympy.symbols("c q", real=True)
    spread = (THETA**2 - S) / (THETA * (1 - S))
    rate, strength = _stated(STATEMENTS[RATE].bound, spread), _stated(STATEMENTS[RATE].given("mixing"), spread)
    scaled, far = strength * (1 + spread * place), 1 + S * error
    room = rate * (far**2 + S * error**2) - (far - scaled) ** 2 - S * (S * error - scaled) ** 2
    sharper = SHARPER * rate * (far**2 + S * error**2) - (far - scaled) ** 2 - S * (S * error - scaled) ** 2
    least = room.subs({place: -1, error: (1 - THETA) / (THETA * (1 + S))})
    return (
        *parameter_queries(),
        Query(
            "V⁺ ≤ θ²V for every eigenvalue",
            (*FACTORS, place >= -1, place <= 1),
            sympy.Ge(_numerator(room), 0),
            sympy.Ge(_numerator(sharper), 0),
        ),
        Query("V⁺ = θ²V at λ = ρ", FACTORS, sympy.Eq(_numerator(least), 0), sympy.Eq(_numerator(least), 1)),
    )


def mixing_queries() -> tuple[Query, ...]:
    """λ² ≥ ±t(ρ)λ + s and ±t(β)λ + s for some γ is so at γ*, and for the least λ at no other γ."""
    strength, bounding = sympy.symbols("gamma lambda", real=True)
    best = _stated(STATEMENTS[MIXING].bound, R)

    def room(value: sympy.Expr, gap: sympy.Expr, sign: int) -> sympy.Expr:
        return bounding**2 - S - sign * ((1 - S) - (1 + S) * value * gap) * bounding

    ends = [(1 - R, 1), (1 + R, -1)]
    premises = (*SPREADS, bounding > 0, strength > 0, *(room(strength, *end) >= 0 for end in ends))
    below = tuple(
        Query(
            f"the eigenvalue {gap}",
            premises,
            sympy.Ge(_numerator(room(best, gap, sign)), 0),
            sympy.Ge(_numerator(room(best, gap, sign) - bounding), 0),
        )
        for gap, sign in ends
    )
    smallest = sympy.Eq(_numerator(room(best, 1 - R, 1)), 0)
    return (
        *below,
        Query(
            "no other γ has the smallest λ",
            (*premises, smallest),
            sympy.Eq(_numerator(strength - best), 0),
            sympy.Eq(_numerator(strength - 2 * best), 0),
        ),
    )


def steps_queries() -> tuple[Query, ...]:
    """K(1 − θ²) ≥ 1, where the bound is K·ln(1/tol); ln(1/θ²) ≥ 1 − θ² does the rest."""
    per_logarithm = STATEMENTS[STEPS].bound.subs({tolerance: sympy.exp(-1)})
    scaled = per_logarithm.xreplace({widest_gap: 1 + R, spectral_gap: 1 - R, delta: 1 - S**2}) * (1 - THETA**2)
    premises = (*SPREADS, THETA > 0, sympy.Eq(THETA**2, (1 - S) * R * THETA + S))
    return (
        Query("K(1 − θ²) ≥ 1", premises, sympy.Ge(_numerator(scaled - 1), 0), sympy.Ge(_numerator(scaled - 2), 0)),
        *parameter_queries(),
    )


CHECKS: dict[str, dict[Grade, Check]] = {
    RATE: {
        "smt": smt_check(rate_queries),
        "rational": runs_check,
        "numeric": pencil_check,
        "property": property_check(rate_cases, rate_margin),
    },
    MIXING: {
        "smt": smt_check(mixing_queries),
        "property": property_check(mixing_cases, mixing_margin),
    },
    STEPS: {
        "smt": smt_check(steps_queries),
        "property": property_check(steps_cases, steps_margin),
    },
}
"""Every check of these statements, by label and grade."""


def common_error_factor(s: Fraction) -> Fraction:
    """V⁺/V where all workers have one model and lack one vector, and C keeps back s times it."""
    network, kept = NETWORKS[0], Turn(half_tangent=ZERO, reflected=False, length=ONE)
    before = State(((ZERO, ZERO),) * 2, ((ONE, ZERO),) * 2)
    return step(network, before, ONE, [kept] * 2, s).value(s) / before.value(s)


_NO_SPECTRUM = Unneeded("spectral_gap <= widest_gap", "no matrix has its smallest eigenvalue above its largest")
_BEYOND, _LARGER = Fraction(33, 32), Fraction(65, 64)
EDGES: dict[str, tuple[Remark, ...]] = {
    RATE: (
        _NO_SPECTRUM,
        Edge(
            "epsilon < 1",
            {"epsilon": _LARGER**2, "spectral_gap": 1, "widest_gap": 1},
            lambda: common_error_factor(_LARGER),
        ),
    ),
    MIXING: (_NO_SPECTRUM, Edge("epsilon < 1", {"epsilon": _BEYOND, "spectral_gap": 1, "widest_gap": 1})),
    STEPS: (
        _NO_SPECTRUM,
        Unneeded("delta <= 1", "what a compressor keeps back has no negative energy"),
        Edge("tolerance <= 1", {"delta": 1, "spectral_gap": 1, "widest_gap": 1, "tolerance": _BEYOND}),
    ),
}
"""What lies beyond the conditions."""
