"""What evidence is there for where error feedback ends with workers that differ, besides the derivations?

Runs in the plane from the minimiser and without memory, in which the compressors turn what they keep back (`property`);
the cycle that attains the bound, exactly (`rational`) and reached by a run (`simulated`); and what holds of long means,
asked of two solvers (`smt`). Lengths are √(u² + wv²), w the bound, so that the cycle has rational entries. Ours.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import sympy
from hypothesis import strategies as st

from sparsync.theory.language.symbols import L, delta, dissimilarity, eta, mu
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.feedback.admission import bound_at
from sparsync.verify.tools.edges import Edge, Remark, Unneeded
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.tools.properties import Members, property_check
from sparsync.verify.tools.smt import Query, smt_check

WORST, CONVEX = "ef_heterogeneous_worst", "ef_heterogeneous_convex"
ZERO, ONE = Fraction(0), Fraction(1)
ROOTS = (Fraction(1, 4), Fraction(1, 2), Fraction(9, 10))
"""a = √(1 − δ) of the listed cycles."""
STEP_SHARES = (Fraction(1, 100), Fraction(1, 2), Fraction(15, 16))
"""η of the listed cycles, over the largest step size 2(1 − a)/(L(1 + a))."""
SETTLED = 1e-12
"""A run has settled when ‖x‖² changes by less than this share of itself in a step."""
AGREEMENT = 1e-9
"""Share by which the end of a settled run may differ from the bound: what is left of it shrinks by a factor in each of
its steps that is below 1 − 1/100 in the runs listed, and so is at most 100 times the last change."""
LONGEST_RUN = 20_000
"""Steps after which a run that has not settled is an error."""

Pair = tuple[Fraction, Fraction]
Pull = Callable[[Pair], Pair]


@dataclass(frozen=True)
class Turned:
    """What a compressor keeps back: a shorter vector in another direction.

    Args:
        half_tangent: of half the angle.
        length: in [−1, 1], of the length a‖u‖ that may be kept.
    """

    half_tangent: Fraction
    length: Fraction

    def __call__(self, vector: Pair, root: Fraction) -> Pair:
        """Keep that much of a vector."""
        square = 1 + self.half_tangent**2
        cosine, sine = (1 - self.half_tangent**2) / square, 2 * self.half_tangent / square
        share = root * self.length
        return share * (cosine * vector[0] - sine * vector[1]), share * (sine * vector[0] + cosine * vector[1])


@dataclass(frozen=True)
class Bend:
    """∇f of a separable function: one slope on each side of 0 in each coordinate."""

    below: Pair
    above: Pair

    def __call__(self, x: Pair) -> Pair:
        """∇f(x)."""
        first, second = (
            (high if value > 0 else low) * value for value, low, high in zip(x, self.below, self.above, strict=True)
        )
        return first, second


def squares(
    pull: Pull, offsets: Sequence[Pair], root: Fraction, step: Fraction, kept: Sequence[Sequence[Turned]]
) -> list[Fraction]:
    """‖x_t − x*‖² for t = 1, …, T of a run from x* = 0 and no memory.

    Args:
        pull: ∇f.
        offsets: ∇f_i − ∇f of every worker.
        root: a.
        step: η.
        kept: in every round, what each worker's compressor keeps back.
    """
    x, memories = (ZERO, ZERO), [(ZERO, ZERO)] * len(offsets)
    found = []
    for turns in kept:
        slope = pull(x)
        corrected = [
            (e[0] + step * (slope[0] + a[0]), e[1] + step * (slope[1] + a[1]))
            for e, a in zip(memories, offsets, strict=True)
        ]
        memories = [turn(vector, root) for turn, vector in zip(turns, corrected, strict=True)]
        sent = [(u[0] - e[0], u[1] - e[1]) for u, e in zip(corrected, memories, strict=True)]
        x = x[0] - _mean(s[0] for s in sent), x[1] - _mean(s[1] for s in sent)
        found.append(x[0] ** 2 + x[1] ** 2)
    return found


def _mean(values: Iterable[Fraction]) -> Fraction:
    found = list(values)
    return sum(found, ZERO) / len(found)


def numbers(root: Fraction, step: Fraction, smoothness: Fraction, spread: Fraction) -> dict[str, Fraction]:
    """The parameters of the worst case."""
    return {"delta": 1 - root**2, "step_size": step, "smoothness": smoothness, "dissimilarity": spread}


def largest_step(root: Fraction, width: Fraction) -> Fraction:
    """2(1 − a)/((1 + a)·width)."""
    return 2 * (1 - root) / ((1 + root) * width)


def cycle_square(root: Fraction, step: Fraction, smoothness: Fraction, slope: Fraction) -> Fraction:
    """X², of the cycle's residuals: (1 − δ)(r + ηζ)² − r² = ((1 − h/2)² − (1 − δ)(1 + h/2)²)X²."""
    kept, half = root**2, step * smoothness / 2
    memory = kept * step * slope / (1 - kept)
    return (kept * (memory + step * slope) ** 2 - memory**2) / ((1 - half) ** 2 - kept * (1 + half) ** 2)


def cycle_error(root: Fraction, step: Fraction, smoothness: Fraction, slope: Fraction) -> Fraction:
    """By how much the two workers' cycle does not close if X² is the bound, over the bound.

    Second coordinates are in units of X. The compressors keep (±r, −(1 − h/2)) of (±(r + ηζ), 1 + h/2).
    """
    square = bound_at(WORST, numbers(root, step, smoothness, slope**2))
    kept, product_ = root**2, step * smoothness
    memory, side = kept * step * slope / (1 - kept), 1 - product_ / 2
    corrected = [(sign * (memory + step * slope), side + product_) for sign in (1, -1)]
    left = [(sign * memory, -side) for sign in (1, -1)]
    excess = [
        e[0] ** 2 + square * e[1] ** 2 - kept * (u[0] ** 2 + square * u[1] ** 2)
        for u, e in zip(corrected, left, strict=True)
    ]
    following = 1 - _mean(u[1] - e[1] for u, e in zip(corrected, left, strict=True))
    moved = _mean(u[0] - e[0] for u, e in zip(corrected, left, strict=True))
    return (max(map(abs, excess)) + abs(moved)) / square + abs(following + 1)


def cycle_margin(root: Fraction, share: Fraction, smoothness: Fraction, slope: Fraction) -> Fraction:
    """0 if the cycle closes at the stated square, negative otherwise."""
    return -cycle_error(root, share * largest_step(root, smoothness), smoothness, slope)


def run_margin(
    root: Fraction, share: Fraction, curvatures: Pair, offsets: Sequence[Pair], kept: Sequence[Sequence[Turned]]
) -> Fraction:
    """1 − Σ‖x_t − x*‖²/(T·bound): Φ_0 = 0, so that the bound holds for each number of steps."""
    smoothness = max(curvatures)
    step = share * largest_step(root, smoothness)
    found = squares(Bend(curvatures, curvatures), offsets, root, step, kept)
    bound = bound_at(WORST, numbers(root, step, smoothness, _spread(offsets)))
    return 1 - sum(found[:-1], ZERO) / (len(found) * bound)


def worst_margin(kind: str, *case: object) -> Fraction:
    """The margin of a cycle or of a run."""
    margin: Callable[..., Fraction] = cycle_margin if kind == "cycle" else run_margin
    return margin(*case)


def convex_margin(
    root: Fraction, share: Fraction, pull: Bend, offsets: Sequence[Pair], kept: Sequence[Sequence[Turned]]
) -> float:
    """The same of a function that is not quadratic; a run without rounds stands for the cycle."""
    slopes = (*pull.below, *pull.above)
    smoothness, convexity = max(slopes), min(slopes)
    step = share * largest_step(root, smoothness + convexity)
    spread = _spread(offsets)
    bound = float(bound_at(CONVEX, {**numbers(root, step, smoothness, spread), "mu": convexity}))
    if not kept:
        return 1 - float(cycle_square(root, step, smoothness, offsets[0][0])) / bound
    return 1 - float(sum(squares(pull, offsets, root, step, kept)[:-1], ZERO)) / (len(kept) * bound)


def _spread(offsets: Sequence[Pair]) -> Fraction:
    return sum((a[0] ** 2 + a[1] ** 2 for a in offsets), ZERO) / len(offsets)


_ROOTS = st.integers(1, 15).map(lambda part: Fraction(part, 16))
_SHARES = st.integers(1, 15).map(lambda part: Fraction(part, 16))
_SIZES = st.sampled_from([Fraction(1, 3), Fraction(1), Fraction(4)])
_TURNS = st.builds(
    Turned,
    st.sampled_from([ZERO, Fraction(1, 2), ONE, Fraction(-1, 3)]),
    st.sampled_from([ONE, -ONE, Fraction(1, 2)]),
)
_PAIRS = st.tuples(st.integers(-2, 2).map(Fraction), st.integers(-2, 2).map(Fraction))


def _offsets(workers: int) -> Members:
    """Of sum zero, and not all zero."""

    def completed(drawn: list[Pair]) -> list[Pair]:
        first = (drawn[0][0] or ONE, drawn[0][1])
        others = [first, *drawn[1:]]
        return [*others, (-sum((a[0] for a in others), ZERO), -sum((a[1] for a in others), ZERO))]

    return st.lists(_PAIRS, min_size=workers - 1, max_size=workers - 1).map(completed)


def _rounds(workers: int) -> Members:
    return st.lists(st.lists(_TURNS, min_size=workers, max_size=workers), min_size=1, max_size=5)


def worst_cases() -> Members:
    """Cycles, and runs of two or three workers."""
    runs = st.integers(2, 3).flatmap(
        lambda workers: st.tuples(
            st.just("run"), _ROOTS, _SHARES, st.tuples(_SIZES, _SIZES), _offsets(workers), _rounds(workers)
        )
    )
    return st.one_of(st.tuples(st.just("cycle"), _ROOTS, _SHARES, _SIZES, _SIZES), runs)


def convex_cases() -> Members:
    """Runs on bent functions; and the cycle of a quadratic, in the direction of L."""
    bends = st.builds(Bend, st.tuples(_SIZES, _SIZES), st.tuples(_SIZES, _SIZES))
    runs = st.integers(2, 3).flatmap(
        lambda workers: st.tuples(_ROOTS, _SHARES, bends, _offsets(workers), _rounds(workers))
    )
    bowls = st.sampled_from([Bend((slope, ONE), (slope, ONE)) for slope in (ONE, Fraction(1, 4))])
    cycle: Members = st.tuples(
        _ROOTS,
        st.sampled_from([Fraction(1, 64), Fraction(1, 8), Fraction(1, 2)]),
        bowls,
        st.just([(ONE, ZERO), (-ONE, ZERO)]),
        st.just([]),
    )
    return st.one_of(runs, cycle)


def cycles_check(_profile: Profile) -> Outcome:
    """`rational`: the cycle closes at the stated square, exactly."""
    errors = [
        cycle_error(root, share * largest_step(root, smoothness), smoothness, slope)
        for root, share, smoothness, slope in product(ROOTS, STEP_SHARES, (ONE, Fraction(7, 2)), (ONE, Fraction(1, 5)))
    ]
    return Outcome(earned=all(error == 0 for error in errors), detail={"cycles_count": len(errors)})


def settled_square(root: float, step: float, smoothness: float, slope: float) -> float:
    """‖x‖² of a run from no memory, in which two workers keep all they may in the two directions of the cycle in turn.

    Raises:
        RuntimeError: it has not settled.
    """
    kept, half = root**2, step * smoothness / 2
    memory = kept * step * slope / (1 - kept)
    side = math.sqrt((kept * (memory + step * slope) ** 2 - memory**2) / (1 - kept * ((1 + half) / (1 - half)) ** 2))
    size = math.hypot(memory, side)
    ahead, aside = memory / size, side / size
    # The workers mirror each other, so that one of them and the second coordinate of x are enough.
    x, e, sign, square = 0.0, (0.0, 0.0), 1.0, 0.0
    for _ in range(LONGEST_RUN):
        corrected = e[0] + step * slope, e[1] + step * smoothness * x
        length, sign = root * math.hypot(*corrected), -sign
        e = length * ahead, sign * length * aside
        x -= corrected[1] - e[1]
        if abs(x * x - square) <= SETTLED * square:
            return x * x
        square = x * x
    raise RuntimeError(f"not settled after {LONGEST_RUN} steps: a = {root}, η = {step}")


def settled_check(_profile: Profile) -> Outcome:
    """`simulated`: runs from no memory settle on the stated square."""
    errors = []
    for root, share in product((0.25, 0.5, 0.875), (0.125, 0.5, 0.75)):
        step = share * 2 * (1 - root) / (1 + root)
        bound = STATEMENTS[WORST].evaluate(delta=1 - root**2, step_size=step, smoothness=1, dissimilarity=1)
        errors.append(abs(settled_square(root, step, 1.0, 1.0) / bound - 1))
    return Outcome(earned=max(errors) <= AGREEMENT, detail={"runs_count": len(errors), "largest_error": max(errors)})


_a, _h, _P, _X, _r, _G, _m, _t, _B = sympy.symbols("a h P X r G m t B", real=True)


def worst_queries() -> tuple[Query, ...]:
    """Long means: (1 − h/2)X ≤ P, and P² + r² ≤ a²((P + hX)² + (r + 1)²) in units of ηζ, bound X²."""
    root, product_ = sympy.symbols("a h", positive=True)
    values = {delta: 1 - root**2, eta: product_, L: 1, dissimilarity: 1 / product_**2}
    above, below = sympy.fraction(sympy.cancel(STATEMENTS[WORST].bound.subs(values)))
    inside = {root: sympy.Rational(1, 2), product_: sympy.Rational(1, 10)}
    sign = sympy.sign(below.subs(inside))
    above, below = (sympy.expand(sign * side).xreplace({root: _a, product_: _h}) for side in (above, below))
    domain = (_a > 0, _a < 1, _h > 0, _h * (1 + _a) < 2 * (1 - _a), _P >= 0, _X >= 0, _r >= 0)
    means = (_X * (2 - _h) <= 2 * _P, _P**2 + _r**2 <= _a**2 * ((_P + _h * _X) ** 2 + (_r + 1) ** 2))
    return (
        Query(
            "X² ≤ bound",
            (*domain, *means),
            sympy.Le(sympy.expand(_X**2 * below), above),
            sympy.Le(sympy.expand(100 * _X**2 * below), 99 * above),
        ),
    )


def convex_queries() -> tuple[Query, ...]:
    """Long means with L + μ = 1 and m = μL at listed δ and η: G² + mX² ≤ GP + ηG²/2, and the same of the residuals."""
    return tuple(
        _convex_query(root, share, smoothness)
        for root, share, smoothness in product(
            (sympy.Rational(1, 4), sympy.Rational(4, 5)),
            (sympy.Rational(1, 8), sympy.Rational(3, 4)),
            (sympy.Rational(1, 2), sympy.Rational(9, 10)),
        )
    )


def _convex_query(root: sympy.Rational, share: sympy.Rational, smoothness: sympy.Rational) -> Query:
    step = share * 2 * (1 - root) / (1 + root)
    values = {delta: 1 - root**2, eta: step, L: smoothness, mu: 1 - smoothness, dissimilarity: 1 / step**2}
    # Bounds are irrational; the rational put in their place is larger by less than a millionth.
    bound = sympy.Rational(math.ceil(sympy.N(STATEMENTS[CONVEX].bound.subs(values), 30) * 10**6), 10**6)
    means = (
        _G**2 + smoothness * (1 - smoothness) * _X**2 <= _G * _P + step * _G**2 / 2,
        _P**2 + _r**2 <= root**2 * ((_P + step * _G) ** 2 + (_r + 1) ** 2),
    )
    return Query(
        f"X² ≤ bound for a = {root}, η = {step}, L = {smoothness}",
        (_P >= 0, _X >= 0, _r >= 0, _G >= 0, *means),
        sympy.Le(_X**2, bound),
        sympy.Le(100 * _X**2, 99 * bound),
    )


CHECKS: dict[str, dict[Grade, Check]] = {
    WORST: {
        "smt": smt_check(worst_queries),
        "rational": cycles_check,
        "property": property_check(worst_cases, worst_margin),
        "simulated": settled_check,
    },
    CONVEX: {
        "smt": smt_check(convex_queries),
        "property": property_check(convex_cases, convex_margin),
    },
}
"""Every check of these statements, by label and grade."""


def diverging_square(step: Fraction) -> Fraction:
    """Mean of the first squares of gradient descent on x²/2 from 1, whose products with |1 − η| grow."""
    return sum(((1 - step) ** (2 * time) for time in range(10)), ZERO) / 10


_BEYOND = Fraction(17, 16)
_SMALL = {"step_size": Fraction(1, 64), "smoothness": 1, "dissimilarity": 1}
EDGES: dict[str, tuple[Remark, ...]] = {
    WORST: (
        Edge("delta <= 1", {"delta": _BEYOND, **_SMALL}),
        Edge(
            "smoothness*step_size < 2",
            {"delta": 1, "step_size": Fraction(21, 10), "smoothness": 1, "dissimilarity": 1},
            lambda: diverging_square(Fraction(21, 10)),
        ),
        Edge(
            str(STATEMENTS[WORST].domain[2]),
            {"delta": Fraction(1, 2), "step_size": Fraction(7, 20), "smoothness": 1, "dissimilarity": 1},
        ),
    ),
    CONVEX: (
        Unneeded("mu <= smoothness", "no function is more strongly convex than it is smooth"),
        Edge("delta <= 1", {"delta": _BEYOND, **_SMALL, "mu": 1}),
        Edge(
            str(STATEMENTS[CONVEX].domain[2]),
            {"delta": 1, "step_size": Fraction(21, 20), "smoothness": 1, "mu": 1, "dissimilarity": 1},
        ),
        Edge(
            str(STATEMENTS[CONVEX].domain[3]),
            {"delta": Fraction(1, 2), "step_size": Fraction(7, 40), "smoothness": 1, "mu": 1, "dissimilarity": 1},
        ),
    ),
}
"""What lies beyond the conditions."""
