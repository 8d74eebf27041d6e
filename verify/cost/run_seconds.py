"""What evidence is there for the seconds to a tolerance by density, and for what a switch saves? They are added up.

Rates are roots of the recursion's polynomial, runs are followed step by step, least seconds are sought. Ours.
"""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import mpmath
import sympy
from hypothesis import strategies as st

from sparsync.theory.statements import STATEMENTS
from sparsync.verify.tools.edges import Edge, Remark, Unneeded
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.tools.properties import Members, property_check

DIGITS = 50
"""Of the numbers that are no fractions."""
ROUNDING = mpmath.mpf(10) ** -40
"""Relative: ten digits more than a few dozen operations of 50 digits lose."""
DENSITIES = (Fraction(1, 1000), Fraction(1, 10), Fraction(1, 2), Fraction(1))
"""In units of the largest density at which the contraction is linear."""
THOUSAND = tuple(Fraction(place, 1000) for place in range(1, 1001))
"""Densities."""
GAINS = (Fraction(1), Fraction(3), Fraction(13))
CONDITIONS = (Fraction(11, 10), Fraction(10), Fraction(1000))
TOLERANCE = Fraction(1, 10**6)
SIMULATED_TOLERANCE = 1e-12
"""So far that a step more or less counts for little."""


def assumed(label: str, name: str, **numbers: Any) -> Any:
    """What an assumption of the statement says at these numbers, fractions or those of mpmath."""
    return _rule(STATEMENTS[label].given(name))(**numbers)


@cache
def _rule(expression: sympy.Expr) -> Callable[..., Any]:
    symbols = sorted(expression.free_symbols, key=lambda symbol: str(symbol.name))
    # Of whole coefficients alone, so that fractions give a fraction.
    above, below = (sympy.lambdify(symbols, part, modules="mpmath") for part in sympy.fraction(expression.together()))
    return lambda **numbers: above(**numbers) / below(**numbers)


def exponent(delta: Fraction, condition: Fraction) -> mpmath.mpf:
    """−ln ρ of error feedback at its best step size: ρ is the square of the root of λ² − tλ − s, t = (1 − s)r."""
    with mpmath.workdps(DIGITS):
        root = mpmath.sqrt(_real(1 - delta))
        spread = _real((condition - 1) / (condition + 1))
        roots = mpmath.polyroots([1, -(1 - root) * spread, -root], maxsteps=200, extraprec=200)
        return -2 * mpmath.log(max(map(abs, roots)))


def linear_margin(share: Fraction, gain: Fraction, fixed: Fraction, dense: Fraction, condition: Fraction) -> float:
    """By how much, relatively, the seconds at δ = share exceed the bound; to 40 digits.

    Minus the difference at δ = 1, where the bound is attained.
    """
    label = "linear_gain_seconds"
    stated = STATEMENTS[label].exact(
        fixed_seconds=fixed,
        dense_seconds=dense,
        entry_gain=gain,
        mu=1,
        smoothness=condition,
        tolerance=TOLERANCE,
    )
    # δ is a multiple of κ.
    density = share / assumed(label, "contraction", entry_gain=gain, kappa=Fraction(1))
    each = assumed(label, "step_seconds", fixed_seconds=fixed, dense_seconds=dense, kappa=density)
    with mpmath.workdps(DIGITS):
        rate = mpmath.exp(-exponent(share, condition))
        steps = assumed(label, "step_count", tolerance=_real(TOLERANCE), lyapunov_factor=rate)
        over = steps * _real(each) / mpmath.mpf(str(sympy.N(stated, DIGITS))) - 1
        return float(ROUNDING + (over if share < 1 else -abs(over)))


def linear_check(_profile: Profile) -> Outcome:
    """`numeric`: listed densities up to the largest, gains, links and condition numbers, to 40 digits."""
    links = (Fraction(1, 100), Fraction(100))
    cases = product(DENSITIES, GAINS, (Fraction(1),), links, CONDITIONS)
    return _counted([linear_margin(*case) for case in cases])


def run_check(_profile: Profile) -> Outcome:
    """`simulated`: error feedback on μx²/2 with C(v) = (1 + s)v, step by step; no run is sooner than the bound."""
    margins = []
    label = "linear_gain_seconds"
    for share, gain, condition in product((0.01, 0.2, 1.0), (0.5, 1.0, 6.0), (3.0, 30.0)):
        density = share / assumed(label, "contraction", entry_gain=gain, kappa=1)
        if density > 1:
            continue
        bound = STATEMENTS[label].evaluate(
            fixed_seconds=1,
            dense_seconds=10,
            entry_gain=gain,
            mu=1,
            smoothness=condition,
            tolerance=SIMULATED_TOLERANCE,
        )
        each = assumed(label, "step_seconds", fixed_seconds=1, dense_seconds=10, kappa=density)
        margins.append(followed_steps(share, condition) * each / bound - 1)
    return _counted(margins)


def followed_steps(delta: float, condition: float) -> int:
    """Steps until ‖x − e‖² + ‖e‖²/s, of one coordinate and one worker, has shrunk to the tolerance in its worst run."""
    root = math.sqrt(1 - delta)
    step_size = 2 / (condition + 1) * (1 - root) / (1 + root)
    # It begins where it arrives after some steps: in the direction that shrinks most slowly.
    iterate, residual, start, count = 1.0, 0.0, math.inf, 0
    for _ in range(200):
        iterate, residual = _descended(iterate, residual, step_size, root)
        largest = max(abs(iterate), abs(residual), 1e-300)
        iterate, residual = iterate / largest, residual / largest
    start = _energy(iterate, residual, root)
    while _energy(iterate, residual, root) > SIMULATED_TOLERANCE * start:
        iterate, residual = _descended(iterate, residual, step_size, root)
        count += 1
    return count


def _descended(iterate: float, residual: float, step_size: float, root: float) -> tuple[float, float]:
    corrected = residual + step_size * iterate
    sent = (1 + root) * corrected
    return iterate - sent, corrected - sent


def _energy(iterate: float, residual: float, root: float) -> float:
    return (iterate - residual) ** 2 + (residual**2 / root if root else 0.0)


def best_margin(
    gain_root: Fraction, fixed_root: Fraction, dense_root: Fraction, others: Sequence[Fraction]
) -> Fraction:
    """Minus the difference of the least seconds from the bound, at densities of a list and the one in the proof.

    Args:
        gain_root: √(c − 1).
        fixed_root: √a.
        dense_root: √b, at least √a/√(c − 1).
        others: densities.
    """
    fixed, dense, gain = fixed_root**2, dense_root**2, 1 + gain_root**2
    steps = Fraction(7)
    stated = STATEMENTS["best_density"].fraction(
        fixed_seconds=fixed, dense_seconds=dense, entry_gain=gain, whole_steps=steps
    )
    best = fixed_root / (gain_root * dense_root)
    least: Fraction = min(_seconds(kappa, fixed, dense, gain, steps) for kappa in (best, *others))
    return -abs(least - stated)


def _seconds(kappa: Any, fixed: Any, dense: Any, gain: Any, steps: Any, *, label: str = "best_density") -> Any:
    """To the tolerance at a density, as the statement assumes it."""
    delta = assumed(label, "contraction", entry_gain=gain, kappa=kappa)
    each = assumed(label, "step_seconds", fixed_seconds=fixed, dense_seconds=dense, kappa=kappa)
    return assumed(label, "step_count", whole_steps=steps, delta=delta) * each


def least_seconds(fixed: Fraction, dense: Fraction, gain: Fraction, steps: Fraction) -> Fraction:
    """The least at a thousand densities up to 1."""
    least: Fraction = min(_seconds(kappa, fixed, dense, gain, steps) for kappa in THOUSAND)
    return least


def best_check(_profile: Profile) -> Outcome:
    """`rational`: listed squares, against a thousand densities."""
    roots = [Fraction(1, 2), Fraction(1), Fraction(3)]
    cases = [case for case in product(roots, roots, roots) if case[1] <= case[0] * case[2]]
    return _counted([best_margin(*case, THOUSAND) for case in cases])


def overtaking_margin(workers: int, more: Fraction) -> float:
    """Minus how far best density and ring are apart at the crossover, to 40 digits; −1 where the order is another.

    Args:
        workers: n.
        more: c − n.
    """
    gain = workers + more
    stated = STATEMENTS["sparse_overtakes_ring"].exact(n=workers, entry_gain=gain)
    with mpmath.workdps(DIGITS):
        crossover = mpmath.mpf(str(sympy.N(stated, DIGITS)))
        slower, equal, sooner = (_over_ring(crossover * factor, workers, gain) for factor in (mpmath.mpf("0.9"), 1, 2))
        if not slower > 0 > sooner:
            return -1.0
        return float(ROUNDING - abs(equal))


def _over_ring(ratio: mpmath.mpf, workers: int, gain: Fraction) -> mpmath.mpf:
    """How much longer the best density takes than the ring, in units of the ring's seconds; found by halving."""
    label, one, real_gain = "sparse_overtakes_ring", mpmath.mpf(1), _real(gain)
    lower, upper = mpmath.mpf(10) ** -12, mpmath.mpf(1)
    for _ in range(4 * DIGITS):
        # The slope has the sign of κ − κ*, a product of two straight lines over κ.
        middle = (lower + upper) / 2
        rises = ratio * (real_gain - 1) * middle**2 > 1
        lower, upper = (lower, middle) if rises else (middle, upper)
    ring = assumed(label, "ring_seconds", whole_steps=one, fixed_seconds=one, dense_seconds=ratio, n=workers)
    return (_seconds(upper, one, ratio, real_gain, one, label=label) - ring) / ring


def overtaking_check(_profile: Profile) -> Outcome:
    """`numeric`: listed numbers of workers and gains above them, to 40 digits."""
    return _counted(
        [overtaking_margin(*case) for case in product((2, 3, 8), (Fraction(1, 2), Fraction(4), Fraction(30)))]
    )


def saving_margin(barrier: Fraction, free: Fraction, restart: Fraction, updates: int, later: int) -> Fraction:
    """Minus the difference of the seconds saved from the statement's, in both orders, update by update."""
    stated = STATEMENTS["switch_saving"].fraction(
        synchronous_seconds=barrier, asynchronous_seconds=free, later_updates=later, restart_seconds=restart
    )
    whole = sum((barrier for _ in range(updates)), Fraction(0))
    off = Fraction(0)
    for free_updates in (range(updates - later, updates), range(later)):
        seconds = sum((free if update in free_updates else barrier for update in range(updates)), restart)
        off += abs(whole - seconds - stated)
    return -off


def saving_check(_profile: Profile) -> Outcome:
    """`rational`: listed seconds, runs and switches."""
    seconds = (Fraction(1, 3), Fraction(2), Fraction(5))
    return _counted(
        [saving_margin(*case) for case in product(seconds, seconds, (Fraction(0), Fraction(7)), (4, 9), (0, 1, 4))]
    )


def _real(number: Fraction) -> mpmath.mpf:
    return mpmath.mpf(number.numerator) / number.denominator


def _counted(margins: Sequence[Fraction | float]) -> Outcome:
    """Earned where none is below 0."""
    return Outcome(
        earned=bool(margins) and min(margins) >= 0,
        detail={"cases_count": len(margins), "smallest_margin": str(min(margins))},
    )


POSITIVE = st.fractions(Fraction(1, 20), 20, max_denominator=20)
SHARES = st.sampled_from([*DENSITIES, *DENSITIES[-1:] * 2]) | st.fractions(Fraction(1, 1000), 1, max_denominator=1000)
"""Of the largest density, and that one itself often."""


def linear_cases() -> Members:
    """δ, gain, seconds, and condition number; where the gain is less than 1, δ is no more."""
    return st.tuples(
        SHARES,
        st.fractions(1, 20, max_denominator=9) | st.just(Fraction(1, 2)),
        POSITIVE,
        POSITIVE,
        st.fractions(2, 99, max_denominator=9),
    ).map(lambda case: (min(case[0], case[1]), *case[1:]))


def best_cases() -> Members:
    """Roots of c − 1, a and b with a ≤ (c − 1)b, and other densities."""
    densities = st.lists(st.fractions(Fraction(1, 1000), 1, max_denominator=1000), max_size=5)
    share = st.fractions(Fraction(1, 20), 1, max_denominator=20)
    return st.tuples(POSITIVE, share, POSITIVE, densities).map(
        lambda case: (case[0], case[0] * case[2] * case[1], case[2], case[3])
    )


def overtaking_cases() -> Members:
    """Workers, and how far the gain is above them."""
    return st.tuples(st.integers(2, 64), st.fractions(Fraction(1, 9), 50, max_denominator=9))


def saving_cases() -> Members:
    """Seconds of both modes and of the switch, updates, and those that wait for nobody."""
    lengths = st.integers(1, 30).flatmap(lambda updates: st.tuples(st.just(updates), st.integers(0, updates)))
    return st.tuples(POSITIVE, POSITIVE, POSITIVE | st.just(Fraction(0)), lengths).map(
        lambda case: (*case[:3], *case[3])
    )


_FULL = {"fixed_seconds": Fraction(17, 16), "dense_seconds": Fraction(1), "entry_gain": Fraction(2)}
"""Where the best density would be above 1."""
EDGES: dict[str, tuple[Remark, ...]] = {
    "linear_gain_seconds": (
        Edge(
            "mu < smoothness",
            {
                "mu": Fraction(33, 32),
                "smoothness": 1,
                "entry_gain": 2,
                "tolerance": Fraction(1, 2),
                "fixed_seconds": 1,
                "dense_seconds": 1,
            },
        ),
        Unneeded("tolerance < 1", "a run that need not shrink anything takes no time, and the bound is negative"),
    ),
    "best_density": (
        Edge(
            "fixed_seconds <= dense_seconds*(entry_gain - 1)",
            {**_FULL, "whole_steps": 1},
            lambda: least_seconds(
                _FULL["fixed_seconds"], _FULL["dense_seconds"], _FULL["entry_gain"], steps=Fraction(1)
            ),
        ),
    ),
    "sparse_overtakes_ring": (Edge("entry_gain > n", {"entry_gain": 2, "n": 2}),),
}
"""Points just beyond the conditions."""

CHECKS: dict[str, dict[Grade, Check]] = {
    "linear_gain_seconds": {
        "numeric": linear_check,
        "property": property_check(linear_cases, linear_margin),
        "simulated": run_check,
    },
    "best_density": {"rational": best_check, "property": property_check(best_cases, best_margin)},
    "sparse_overtakes_ring": {
        "numeric": overtaking_check,
        "property": property_check(overtaking_cases, overtaking_margin),
    },
    "switch_saving": {"rational": saving_check, "property": property_check(saving_cases, saving_margin)},
}
"""Every check of these statements, by label and grade."""
