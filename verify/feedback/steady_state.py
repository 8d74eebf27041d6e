"""What evidence is there for the steady state of Top-k under error feedback, besides the derivations?

The idealised coordinates are run or solved exactly, in integers and fractions; equal magnitudes go through the real
Top-k selector and, for all counts of a dimension, through a sort of this file; two solvers are asked about every rate
and every stationary law; noise is also simulated. Only the bounds are read from `theory/`. Ours.
"""

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy
import sympy
import torch
from hypothesis import strategies as st

from sparsync.kernels.selection import SELECTORS
from sparsync.theory.language.symbols import kappa
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.tools.edges import Edge, Remark
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.tools.properties import property_check
from sparsync.verify.tools.smt import Query, smt_check

LONGEST_CYCLE = 8
"""Largest number of increments to the threshold in an exact run of drifting coordinates."""
LONGEST_WALK = 6
"""Largest threshold, in increments, of an exactly solved random walk: 2·6 − 1 states."""
QUERIED_THRESHOLDS = ((1,), (2,), (3,), (5,), (1, 2), (2, 3), (1, 2, 4))
"""Thresholds, in increments, of the walks whose stationary laws they are asked about."""
SETTLED_STEP_COUNT = 3
"""Steps beyond d/k of a run of equal magnitudes, whose ratio must stay."""

WALK_THRESHOLDS = (3, 5, 8, 13)
"""Thresholds, in increments, of the simulated coordinates, in equal shares."""
WALK_COUNT = 20_000
"""Simulated coordinates."""
WALK_STEP_COUNT = 1000
"""Steps that are measured, after as many that are not: what the slowest coordinates remember of their start has then
shrunk to (cos π/26)^1000, below 0.001, and averages to a seventh of that."""
STANDARD_ERRORS = 5
"""Allowed deviation; a normal error exceeds it with chance 6e-7, and the draws are seeded."""


def drift_margin(cycles: Sequence[int]) -> Fraction:
    """Bound − ratio over one common period of coordinates that need `cycles` increments to the threshold, τ = 1.

    Args:
        cycles: N_i [d], each at least 1.
    """
    period = math.lcm(*cycles)
    residual = [Fraction(0)] * len(cycles)
    sent, total, send_count = Fraction(0), Fraction(0), 0
    for _ in range(period):
        corrected = [kept + Fraction(1, cycle) for kept, cycle in zip(residual, cycles, strict=True)]
        total += sum(value**2 for value in corrected)
        sent += sum(value**2 for value in corrected if value >= 1)
        send_count += sum(value >= 1 for value in corrected)
        residual = [value if value < 1 else Fraction(0) for value in corrected]
    density = Fraction(send_count, period * len(cycles))
    return STATEMENTS["steady_drift"].fraction(kappa=density) - (1 - sent / total)


def _far_apart() -> st.SearchStrategy[list[int]]:
    """One coordinate that is sent at every step, and one nearly never: the bound takes them as far apart as can be."""
    return st.sampled_from([100, 200]).map(lambda cycle: [1, cycle])


def equal_drift_margin(count: int, levels: int) -> Fraction:
    """−|ratio − stated ratio| of the real Top-k after d/k steps of a constant gradient of ones, from a zero residual.

    Args:
        count: k.
        levels: d/k.
    """
    dimension = count * levels
    residual = corrected = torch.zeros(dimension, dtype=torch.float64)
    for _ in range(levels):
        corrected = residual + 1
        payload = SELECTORS["top_k"](corrected, count)
        residual = payload.remainder(corrected)
    # Integers below 2⁵³ are exact in float64.
    kept, total = int(residual.square().sum()), int(corrected.square().sum())
    return -abs(STATEMENTS["steady_drift_equal"].fraction(k=count, d=dimension) - Fraction(kept, total))


def noise_margin(thresholds: Sequence[int]) -> Fraction:
    """−|ratio − stated ratio| of random walks that are sent on reaching ±thresholds increments, solved exactly."""
    rates, totals = zip(*(walk_moments(threshold) for threshold in thresholds), strict=True)
    density: Fraction = sum(rates, Fraction(0)) / len(thresholds)
    ratio: Fraction = 1 - sum(rates, Fraction(0)) / sum(totals, Fraction(0))
    return -abs(STATEMENTS["steady_noise"].fraction(kappa=density) - ratio)


def walk_moments(threshold: int) -> tuple[Fraction, Fraction]:
    """Sends per step, and the expected u² per step in units of τ², of one walk in its stationary state.

    The residual is a Markov chain on −N + 1, …, N − 1; its stationary law is solved for in fractions.
    """
    levels = range(-threshold + 1, threshold)
    law = dict(zip(levels, stationary_law(threshold), strict=True))
    moves = [(level + step, share / 2) for level, share in law.items() for step in (-1, 1)]
    rate = sum((share for value, share in moves if abs(value) == threshold), Fraction(0))
    energy = sum((share * value**2 for value, share in moves), Fraction(0))
    return rate, energy / threshold**2


def drift_queries() -> tuple[Query, ...]:
    """Any number of coordinates, by the means κ of their rates r and q of r²; rates are real numbers in [0, 1].

    A coordinate sends r per step and has energy (1 + r)(2 + r)/6, the mean of (jr)² for j = 1, …, 1/r.
    """
    rate, density, square = sympy.symbols("r kappa q", real=True)
    energy = (2 + 3 * density + square) / 6
    numerator, denominator = _bound_at("steady_drift", density)
    left = (energy - density) * denominator
    return (
        Query("r² ≤ r, so q ≤ κ", (rate >= 0, rate <= 1), rate**2 <= rate, 2 * rate**2 <= rate),
        Query(
            "q ≤ κ ≤ 1 gives the bound",
            (density > 0, density <= 1, square >= density**2, square <= density),
            left <= numerator * energy,
            2 * left <= numerator * energy,
        ),
    )


def equal_drift_runs(profile: Profile) -> Outcome:
    """`rational`: for every d and every k that divides it, d/k steps in integers leave the stated ratio and recur."""
    cases = [(count, d) for d in profile.dimensions for count in range(1, d + 1) if d % count == 0]
    agreed = [_has_stated_ratio(*case) for case in cases]
    return Outcome(earned=bool(agreed) and all(agreed), detail={"runs_count": len(agreed)})


def _has_stated_ratio(count: int, dimension: int) -> bool:
    ratios = _ratios(count, dimension, step_count=dimension // count + SETTLED_STEP_COUNT)
    settled = set(ratios[-SETTLED_STEP_COUNT - 1 :])
    return settled == {STATEMENTS["steady_drift_equal"].fraction(k=count, d=dimension)}


def _ratios(count: int, dimension: int, *, step_count: int) -> list[Fraction]:
    """The ratio at every step, of a constant gradient of ones."""
    levels = [0] * dimension
    ratios = []
    for _ in range(step_count):
        corrected = sorted((level + 1 for level in levels), reverse=True)
        levels = [0] * count + corrected[count:]
        ratios.append(Fraction(sum(v**2 for v in levels), sum(v**2 for v in corrected)))
    return ratios


def noise_queries() -> tuple[Query, ...]:
    """Walks of thresholds N, and pairs of them: every law that the chain leaves as it is gives the stated ratio."""
    return tuple(_noise_query(thresholds) for thresholds in QUERIED_THRESHOLDS)


def _noise_query(thresholds: tuple[int, ...]) -> Query:
    walks = [_stationary_walk(position, threshold) for position, threshold in enumerate(thresholds)]
    balance = tuple(condition for conditions, _, _ in walks for condition in conditions)
    sent, energy = (sympy.Add(*(walk[part] for walk in walks)) for part in (1, 2))
    numerator, denominator = _bound_at("steady_noise", sent / len(thresholds))
    return Query(
        claim=f"thresholds {thresholds}",
        premises=balance,
        conclusion=sympy.Eq((energy - sent) * denominator, numerator * energy),
        false_twin=sympy.Eq((energy - sent) * denominator, numerator * energy + 1),
    )


def _stationary_walk(position: int, threshold: int) -> tuple[list[sympy.Basic], sympy.Expr, sympy.Expr]:
    """The balance equations of one walk, its sends per step, and its energy per step in units of τ²."""
    shares = {level: sympy.Symbol(f"p_{position}_{level}", real=True) for level in range(-threshold + 1, threshold)}
    moves = [(level + step, share / 2) for level, share in shares.items() for step in (-1, 1)]
    arriving = dict.fromkeys(shares, sympy.S.Zero)
    for target, share in moves:
        arriving[target if target in arriving else 0] += share
    balance = [sympy.Eq(share, arriving[level], evaluate=False) for level, share in shares.items()]
    whole = sympy.Eq(sympy.Add(*shares.values()), 1, evaluate=False)
    sent = sympy.Add(*(share for target, share in moves if abs(target) == threshold))
    energy = sympy.Add(*(share * target**2 for target, share in moves)) / threshold**2
    return [*balance, whole], sent, energy


def _bound_at(label: str, density: sympy.Expr) -> tuple[sympy.Expr, sympy.Expr]:
    """Numerator and denominator of the bound, which is positive where κ is: 1 + aκ up to a positive factor."""
    numerator, denominator = sympy.fraction(sympy.together(STATEMENTS[label].bound))
    return numerator.xreplace({kappa: density}), denominator.xreplace({kappa: density})


def noise_simulation(_profile: Profile) -> Outcome:
    """`simulated`: coordinates of four scales; the energy sent against the stated share of all energy."""
    generator = numpy.random.default_rng(0)
    thresholds = numpy.resize(numpy.array(WALK_THRESHOLDS), WALK_COUNT)
    level = numpy.zeros(WALK_COUNT, dtype=numpy.int64)
    sent, total = numpy.zeros(WALK_COUNT), numpy.zeros(WALK_COUNT)
    for step in range(2 * WALK_STEP_COUNT):
        level += 2 * generator.integers(0, 2, WALK_COUNT) - 1
        crossed = numpy.abs(level) == thresholds
        if step >= WALK_STEP_COUNT:
            energy = (level / thresholds) ** 2
            total += energy
            sent += numpy.where(crossed, energy, 0.0)
        level[crossed] = 0
    density = sum(Fraction(1, threshold**2) for threshold in WALK_THRESHOLDS) / len(WALK_THRESHOLDS)
    stated = 1 - STATEMENTS["steady_noise"].evaluate(kappa=density)
    # Summed over the coordinates its mean is zero if the statement holds, and coordinates are independent; that their
    # means differ between the four scales only makes this standard error too large.
    difference = (sent - stated * total) / total.mean()
    allowed = STANDARD_ERRORS * float(difference.std()) / math.sqrt(WALK_COUNT)
    detail = {
        "stated_capture": stated,
        "measured_capture": float(sent.sum() / total.sum()),
        "allowed_error": allowed,
        "walks_count": WALK_COUNT,
    }
    return Outcome(earned=abs(float(difference.mean())) <= allowed, detail=detail)


def stationary_law(threshold: int, up: Fraction = Fraction(1, 2)) -> list[Fraction]:
    """The stationary law of the residual by level, from −N + 1 to N − 1, by Gaussian elimination.

    Args:
        threshold: N.
        up: chance of a step upwards; the other steps go down.
    """
    size = 2 * threshold - 1
    origin = threshold - 1
    rows = [[Fraction(-int(row == column)) for column in range(size)] + [Fraction(0)] for row in range(size)]
    for column in range(size):
        for target, chance in ((column - 1, 1 - up), (column + 1, up)):
            rows[target if 0 <= target < size else origin][column] += chance
    # The balance equations sum to zero, so one of them gives way to "the shares sum to one".
    rows[0] = [Fraction(1)] * (size + 1)
    for pivot in range(size):
        chosen = next(row for row in range(pivot, size) if rows[row][pivot])
        rows[pivot], rows[chosen] = rows[chosen], rows[pivot]
        rows[pivot] = [entry / rows[pivot][pivot] for entry in rows[pivot]]
        for row in range(size):
            if row != pivot and rows[row][pivot]:
                factor = rows[row][pivot]
                rows[row] = [entry - factor * lead for entry, lead in zip(rows[row], rows[pivot], strict=True)]
    return [row[-1] for row in rows]


EDGES: dict[str, tuple[Remark, ...]] = {
    "steady_drift": (Edge("kappa <= 1", {"kappa": Fraction(33, 32)}),),
    "steady_drift_equal": (Edge("Eq(Mod(d, k), 0)", {"k": 2, "d": 3}, left=lambda: _ratios(2, 3, step_count=9)[-1]),),
    "steady_noise": (Edge("kappa <= 1", {"kappa": Fraction(33, 32)}),),
}
"""Points just beyond the conditions of these statements, and why some are not needed."""

CHECKS: dict[str, dict[Grade, Check]] = {
    "steady_drift": {
        "smt": smt_check(drift_queries),
        "property": property_check(
            lambda: st.tuples(st.one_of(st.lists(st.integers(1, LONGEST_CYCLE), min_size=1, max_size=5), _far_apart())),
            drift_margin,
        ),
    },
    "steady_drift_equal": {
        "rational": equal_drift_runs,
        "property": property_check(
            lambda: st.tuples(st.integers(1, 5), st.integers(1, 20)),
            equal_drift_margin,
            rank=lambda count, levels: -count * levels,
        ),
    },
    "steady_noise": {
        "smt": smt_check(noise_queries),
        "property": property_check(
            lambda: st.tuples(st.lists(st.integers(1, LONGEST_WALK), min_size=1, max_size=4)),
            noise_margin,
            rank=lambda thresholds: -sum(thresholds),
        ),
        "simulated": noise_simulation,
    },
}
"""Every check of these statements, by label and grade."""
