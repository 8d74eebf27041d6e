"""What evidence is there for the energy balance and the lag of error feedback, besides the derivations?

Real runs in whole numbers and fractions: of Top-k and of any selector that sends whole entries, on any gradients for
the balance; of Top-1 under noise, whose chain is solved, and of Top-k under noise, which is simulated, for the lag at
rest; until the residual recurs for persistent gradients. Only the bounds are read from `theory/`. Ours.
"""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import product

import numpy
from hypothesis import strategies as st

from sparsync.theory.statements import STATEMENTS
from sparsync.verify.tools.edges import Remark, Unneeded
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.tools.properties import property_check

Vector = tuple[Fraction, ...]
State = tuple[int, ...]
Select = Callable[[Sequence[Fraction] | State], frozenset[int]]
RUN_LENGTH = 12
"""Steps of an exact run of arbitrary gradients."""
NOISE_CASES = ((1, 1), (1, 2), (2, 3))
"""Sizes of the two coordinates' increments in the chains that are solved."""
NOISE_CHANCES = (Fraction(1, 2), Fraction(5, 8), Fraction(3, 4), Fraction(1))
CHAIN_COUNT, DIMENSION, SENT_COUNT = 400, 20, 2
"""Simulated runs of Top-2 in 20 dimensions."""
CHAIN_STEP_COUNT = 400
"""Steps that are measured, after as many that are not: 40 cycles of a coordinate that is sent at the mean rate."""
STANDARD_ERRORS = 5
"""Allowed deviation; a normal error exceeds it with chance 6e-7, and the draws are seeded."""
LONG_CYCLE = 200
"""Steps of a cycle so long that the half step between the two bounds is a 200th of them."""


def largest(corrected: Sequence[Fraction] | State, count: int) -> frozenset[int]:
    """The places of the largest magnitudes, of equal ones the first."""
    return frozenset(sorted(range(len(corrected)), key=lambda place: (-abs(corrected[place]), place))[:count])


def energy_margin(start: Sequence[Fraction], run: Sequence[tuple[Sequence[Fraction], frozenset[int]]]) -> Fraction:
    """−|energy sent − stated energy| of a run from any residual, each step with its gradient and what it sends."""
    residual, totals = list(start), {"total_created": Fraction(0), "total_aligned": Fraction(0)}
    sent = Fraction(0)
    for gradient, chosen in run:
        totals["total_created"] += _square(gradient)
        totals["total_aligned"] += sum((e * g for e, g in zip(residual, gradient, strict=True)), Fraction(0))
        corrected = [e + g for e, g in zip(residual, gradient, strict=True)]
        sent += _square([corrected[place] for place in chosen])
        residual = [Fraction(0) if place in chosen else value for place, value in enumerate(corrected)]
    stated = STATEMENTS["feedback_energy"].fraction(
        **totals, first_energy=_square(start), last_energy=_square(residual)
    )
    return -abs(sent - stated)


def top_k_runs(profile: Profile) -> Outcome:
    """`rational`: of Top-k for every k and d, on gradients that change at every step."""
    margins = []
    for d in profile.dimensions:
        gradients = [tuple(Fraction((7 * i + 5 * t) % 11 - 5, 1 + i) for i in range(d)) for t in range(RUN_LENGTH)]
        for count in range(1, d + 1):
            margins.append(energy_margin((Fraction(1, 3),) * d, _with_top_k(gradients, count)))
    return Outcome(earned=min(margins) >= 0, detail={"runs_count": len(margins)})


def _with_top_k(gradients: Sequence[Vector], count: int) -> list[tuple[Vector, frozenset[int]]]:
    """What Top-k sends, from the residual of `top_k_runs`."""
    residual, run = [Fraction(1, 3)] * len(gradients[0]), []
    for gradient in gradients:
        corrected = [e + g for e, g in zip(residual, gradient, strict=True)]
        chosen = largest(corrected, count)
        run.append((gradient, chosen))
        residual = [Fraction(0) if place in chosen else value for place, value in enumerate(corrected)]
    return run


def noisy_lag_margin(sizes: tuple[int, int], chances: tuple[Fraction, Fraction]) -> Fraction:
    """−|Λ − stated Λ| of Top-1 of two coordinates, which go up by their size with their chance, or else down.

    Args:
        sizes: of the increments.
        chances: of going up, not both 1/2.
    """
    law = _top_one_law(sizes, chances)
    drift = [size * (2 * up - 1) for size, up in zip(sizes, chances, strict=True)]
    persistent = _square(drift)
    mean = [sum((share * state[place] for state, share in law.items()), Fraction(0)) for place in (0, 1)]
    sent = sum(
        (
            share * chance * max(value**2 for value in corrected)
            for state, share in law.items()
            for corrected, chance in _moves(state, sizes, chances)
        ),
        Fraction(0),
    )
    stated = STATEMENTS["energy_lag"].fraction(
        sent_energy=sent, created_energy=Fraction(sum(size**2 for size in sizes)), persistent_energy=persistent
    )
    return -abs(sum(m * e for m, e in zip(drift, mean, strict=True)) / persistent - stated)


def _moves(state: State, sizes: tuple[int, int], chances: tuple[Fraction, Fraction]) -> list[tuple[State, Fraction]]:
    """The corrected gradients that may follow a residual, with their chances."""
    found = []
    for signs in product((1, -1), repeat=2):
        chance = math.prod(
            (up if sign > 0 else 1 - up for sign, up in zip(signs, chances, strict=True)), start=Fraction(1)
        )
        if chance:
            found.append((tuple(e + sign * size for e, sign, size in zip(state, signs, sizes, strict=True)), chance))
    return found


def _top_one_law(sizes: tuple[int, int], chances: tuple[Fraction, Fraction]) -> dict[State, Fraction]:
    """A law of the residual that does not change, of the states reached from 0, by elimination of one after another."""
    start: State = (0, 0)
    arrows: dict[State, dict[State, Fraction]] = {}
    waiting: list[State] = [start]
    while waiting:
        state = waiting.pop()
        if state in arrows:
            continue
        arrows[state] = {}
        for corrected, chance in _moves(state, sizes, chances):
            (sent,) = largest(corrected, 1)
            after = tuple(0 if place == sent else value for place, value in enumerate(corrected))
            arrows[state][after] = arrows[state].get(after, Fraction(0)) + chance
            waiting.append(after)
    return _stationary(arrows)


def _stationary(arrows: dict[State, dict[State, Fraction]]) -> dict[State, Fraction]:
    """By Gaussian elimination of the balance equations, the last of which says that the shares sum to one."""
    states = list(arrows)
    rows = [[arrows[source].get(target, Fraction(0)) - (source == target) for source in states] for target in states]
    table = [[*row, Fraction(0)] for row in rows] + [[Fraction(1)] * (len(states) + 1)]
    for column in range(len(states)):
        chosen = next(row for row in range(column, len(table)) if table[row][column])
        table[column], table[chosen] = table[chosen], table[column]
        table[column] = [entry / table[column][column] for entry in table[column]]
        for row in range(len(table)):
            if row != column and table[row][column]:
                factor = table[row][column]
                table[row] = [entry - factor * lead for entry, lead in zip(table[row], table[column], strict=True)]
    return {state: table[place][-1] for place, state in enumerate(states)}


def solved_chains(_profile: Profile) -> Outcome:
    """`rational`: Top-1 under noise, of all sizes and chances of a grid."""
    chances = [(one, other) for one, other in product(NOISE_CHANCES, repeat=2) if {one, other} != {Fraction(1, 2)}]
    margins = [noisy_lag_margin(sizes, pair) for sizes, pair in product(NOISE_CASES, chances)]
    return Outcome(earned=min(margins) >= 0, detail={"chains_count": len(margins)})


def simulated_lag(_profile: Profile) -> Outcome:
    """`simulated`: Top-k of unequal drifts, each under noise of its own size; independent runs give the error."""
    generator = numpy.random.default_rng(0)
    drift = numpy.linspace(0.2, 2.0, DIMENSION)
    residual = numpy.zeros((CHAIN_COUNT, DIMENSION))
    mean, sent, created = numpy.zeros((3, CHAIN_COUNT))
    rows = numpy.arange(CHAIN_COUNT)[:, None]
    for step in range(2 * CHAIN_STEP_COUNT):
        gradient = drift * (1 + generator.standard_normal((CHAIN_COUNT, DIMENSION)))
        corrected = residual + gradient
        chosen = numpy.argpartition(-numpy.abs(corrected), SENT_COUNT, axis=1)[:, :SENT_COUNT]
        if step >= CHAIN_STEP_COUNT:
            mean += residual @ drift
            created += (gradient**2).sum(axis=1)
            sent += (corrected[rows, chosen] ** 2).sum(axis=1)
        residual = corrected
        residual[rows, chosen] = 0.0
    persistent = float((drift**2).sum())
    lags = mean / CHAIN_STEP_COUNT / persistent
    stated = STATEMENTS["energy_lag"].evaluate(
        sent_energy=float(sent.mean()) / CHAIN_STEP_COUNT,
        created_energy=float(created.mean()) / CHAIN_STEP_COUNT,
        persistent_energy=persistent,
    )
    # Run by run the two differ by what noise and both ends leave, which has the mean 0.
    differences = lags - (sent - created) / CHAIN_STEP_COUNT / (2 * persistent)
    allowed = STANDARD_ERRORS * float(differences.std()) / math.sqrt(CHAIN_COUNT)
    detail = {"stated_lag": stated, "measured_lag": float(lags.mean()), "allowed_error": allowed}
    return Outcome(earned=abs(float(lags.mean()) - stated) <= allowed, detail=detail)


def least_margin(drift: Sequence[int], count: int) -> Fraction:
    """Λ − bound of Top-k on a constant gradient of whole numbers, over a period of its residual."""
    sums, residual, seen = [Fraction(0)], (0,) * len(drift), {}
    while residual not in seen:
        seen[residual] = len(sums) - 1
        sums.append(sums[-1] + sum(m * e for m, e in zip(drift, residual, strict=True)))
        corrected = tuple(e + m for e, m in zip(residual, drift, strict=True))
        chosen = largest(corrected, count)
        residual = tuple(0 if place in chosen else value for place, value in enumerate(corrected))
    first, end = seen[residual], len(sums) - 1
    lag = (sums[end] - sums[first]) / (end - first) / sum(m**2 for m in drift)
    return lag - _stated("persistent_lag_least", drift, Fraction(count, len(drift)))


def threshold_margin(drift: Sequence[Fraction], threshold: Fraction) -> Fraction:
    """Bound − Λ of entries that are sent at a threshold, each run over a cycle of its own."""
    late, rate = Fraction(0), Fraction(0)
    for size in drift:
        residual, sums, steps = Fraction(0), Fraction(0), 0
        while steps == 0 or residual:
            sums, steps = sums + residual, steps + 1
            residual = residual + size if abs(residual + size) < threshold else Fraction(0)
        late += size * sums / steps
        rate += Fraction(1, steps)
    lag = late / _square(drift)
    return _stated("persistent_lag_threshold", drift, rate / len(drift)) - lag


def _stated(label: str, drift: Sequence[Fraction] | Sequence[int], density: Fraction) -> Fraction:
    flatness = sum((abs(Fraction(m)) for m in drift), Fraction(0)) ** 2 / (len(drift) * sum(m**2 for m in drift))
    return STATEMENTS[label].fraction(flatness=flatness, kappa=density)


def recurring_runs(profile: Profile) -> Outcome:
    """`rational`: of Top-k until the residual recurs, for every k and d; of equal entries and of unequal ones."""
    margins = []
    for d in (d for d in profile.dimensions if d <= 12):
        for count in range(1, d + 1):
            margins += [least_margin(drift, count) for drift in ((1,) * d, tuple(1 + place % 3 for place in range(d)))]
    return Outcome(earned=min(margins) >= 0, detail={"runs_count": len(margins), "smallest_margin": str(min(margins))})


def threshold_runs(profile: Profile) -> Outcome:
    """`rational`: entries of all sizes that are 1/N or lie between two of these, and long cycles."""
    sizes = [Fraction(2, part) for part in range(1, 2 * max(profile.dimensions) + 1)]
    cases = [*product(sizes, repeat=2), (Fraction(1, LONG_CYCLE),), (Fraction(7), *[Fraction(1, LONG_CYCLE)] * 9)]
    margins = [threshold_margin(case, Fraction(1)) for case in cases]
    return Outcome(earned=min(margins) >= 0, detail={"runs_count": len(margins), "smallest_margin": str(min(margins))})


def _square(vector: Sequence[Fraction]) -> Fraction:
    return sum((value**2 for value in vector), Fraction(0))


_FRACTIONS = st.fractions(-3, 3, max_denominator=6)


def _runs() -> st.SearchStrategy[tuple[list[Fraction], list[tuple[list[Fraction], frozenset[int]]]]]:
    """Any selector: what a step sends is drawn."""

    def of(d: int) -> st.SearchStrategy[tuple[list[Fraction], list[tuple[list[Fraction], frozenset[int]]]]]:
        vectors = st.lists(_FRACTIONS, min_size=d, max_size=d)
        step = st.tuples(vectors, st.frozensets(st.integers(0, d - 1)))
        return st.tuples(vectors, st.lists(step, min_size=1, max_size=6))

    return st.integers(1, 4).flatmap(of)


def _chains() -> st.SearchStrategy[tuple[tuple[int, int], tuple[Fraction, Fraction]]]:
    chances = st.fractions(Fraction(9, 16), 1, max_denominator=16)
    return st.tuples(st.sampled_from(NOISE_CASES), st.tuples(chances, chances))


def _drifts() -> st.SearchStrategy[tuple[list[int], int]]:
    """Constant gradients with a count: all entries alike, or any."""
    alike = st.integers(2, 5).map(lambda d: [1] * d)
    drawn = st.lists(st.integers(1, 6), min_size=1, max_size=5)
    return st.one_of(alike, drawn).flatmap(lambda drift: st.tuples(st.just(drift), st.integers(1, len(drift))))


def _thresholds() -> st.SearchStrategy[tuple[list[Fraction], Fraction]]:
    sizes = st.lists(st.fractions(Fraction(1, 9), 3, max_denominator=9), min_size=1, max_size=5)
    long = st.just([Fraction(1, LONG_CYCLE)])
    return st.tuples(st.one_of(sizes, long), st.sampled_from([Fraction(1), Fraction(1), Fraction(3, 2)]))


_MEANS = (
    Unneeded("kappa <= 1", "no share of the entries is larger"),
    Unneeded("flatness <= 1", "no vector has a larger one, by Cauchy and Schwarz"),
)
EDGES: dict[str, tuple[Remark, ...]] = {"persistent_lag_least": _MEANS, "persistent_lag_threshold": _MEANS}
"""Why the conditions of these statements are not needed."""

CHECKS: dict[str, dict[Grade, Check]] = {
    "feedback_energy": {"rational": top_k_runs, "property": property_check(_runs, energy_margin)},
    "energy_lag": {
        "rational": solved_chains,
        "property": property_check(_chains, noisy_lag_margin),
        "simulated": simulated_lag,
    },
    "persistent_lag_least": {"rational": recurring_runs, "property": property_check(_drifts, least_margin)},
    "persistent_lag_threshold": {
        "rational": threshold_runs,
        "property": property_check(_thresholds, threshold_margin),
    },
}
"""Every check of these statements, by label and grade."""
