"""What evidence is there that error feedback circles the minimiser of workers that differ, besides the derivation?

Both workers are run in fractions with a Top-1 of this file: from no memory (`property`), and on the cycle itself, which
has the stated distance at every step (`rational`); two solvers are asked about every parameter (`smt`). With
∇f_1(x*) = (α, α), ζ² = 2α². Only the bound is read from `theory/`. Ours.
"""

from collections.abc import Iterator
from fractions import Fraction
from itertools import islice, pairwise, product

import sympy
from hypothesis import strategies as st

from sparsync.theory.language.symbols import eta, heterogeneity
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.feedback.admission import bound_at, substituted
from sparsync.verify.tight_rates.search import grid
from sparsync.verify.tools.edges import Remark, Unneeded
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.tools.properties import property_check
from sparsync.verify.tools.smt import Query, smt_check

LABEL = "ef_heterogeneous_distance"
CURVATURES = (Fraction(1, 3), Fraction(1), Fraction(7, 2))
"""L of the cycles."""
PRODUCTS = (Fraction(1, 100), Fraction(1, 4), Fraction(1, 2), Fraction(99, 100))
"""ηL of the cycles."""
SLOPES = (Fraction(1, 5), Fraction(3))
"""α of the cycles."""
CYCLE_STEP_COUNT = 6
"""Steps of each cycle: three rounds."""
RUN_STEP_COUNT = 40
"""Steps of a run. For c = ηL/2 in [1/5, 1/2) the deviation of y from ηα/2 obeys z² + (1 − c)z + c, of modulus √c: it
shrinks by 2⁻²⁰ at least, times at most ten, since the sine of the roots' angle is at least 0.44."""
RUN_TOLERANCE = Fraction(1, 2**14)
"""Relative error of the squared distance after a run: twice that deviation is below 2⁻¹⁵."""

Pair = tuple[Fraction, Fraction]


def iterates(step_size: Fraction, curvature: Fraction, slope: Fraction, *, start: Pair, memory: Pair) -> Iterator[Pair]:
    """x_1 − x*, x_2 − x*, … of error feedback with Top-1.

    Args:
        step_size: η.
        curvature: L.
        slope: α.
        start: x_0 − x*.
        memory: e of worker 1; worker 2 has −e with the coordinates swapped.
    """
    position, memories = start, [memory, (-memory[1], -memory[0])]
    while True:
        sent = []
        for worker, sign in enumerate((1, -1)):
            held = memories[worker]
            corrected = tuple(
                e + step_size * (curvature * x + sign * slope) for e, x in zip(held, position, strict=True)
            )
            largest = max(range(2), key=lambda index: abs(corrected[index]))
            sent.append([value if index == largest else Fraction(0) for index, value in enumerate(corrected)])
            memories[worker] = (corrected[0] - sent[worker][0], corrected[1] - sent[worker][1])
        position = (position[0] - (sent[0][0] + sent[1][0]) / 2, position[1] - (sent[0][1] + sent[1][1]) / 2)
        yield position


def stated_distance(step_size: Fraction, curvature: Fraction, slope: Fraction) -> Fraction:
    """The bound at the ζ² that the statement assumes of ‖a‖² = 2α²."""
    return bound_at(LABEL, {"smoothness": curvature, "step_size": step_size, "heterogeneity": 2 * slope**2})


def distance_margin(doubled: Fraction, curvature: Fraction, slope: Fraction, share: Fraction) -> Fraction:
    """Tolerance − |‖x_T − x*‖²/bound − 1| of a run from no memory.

    Args:
        doubled: ηL in [2/5, 1).
        curvature: L.
        slope: α.
        share: y_0 in units of the largest that is assumed, in (0, 1].
    """
    step_size = doubled / curvature
    largest = STATEMENTS[LABEL].given("start")
    place = share * substituted(largest, {"step_size": step_size, "heterogeneity": 2 * slope**2})
    run = iterates(step_size, curvature, slope, start=(place, -place), memory=(Fraction(0), Fraction(0)))
    end = next(islice(run, RUN_STEP_COUNT - 1, None))
    distance = end[0] ** 2 + end[1] ** 2
    return RUN_TOLERANCE - abs(distance / stated_distance(step_size, curvature, slope) - 1)


def distance_cases() -> st.SearchStrategy[tuple[Fraction, Fraction, Fraction, Fraction]]:
    """Cases of `distance_margin`."""
    doubled = grid(13, 31, 32)
    positive = grid(1, 32, 4)
    return st.tuples(doubled, positive, positive, grid(1, 16, 16))


def cycles(_profile: Profile) -> Outcome:
    """`rational`: on the cycle every iterate has the stated distance, exactly, and two of them have the mean x*."""
    cases = list(product(PRODUCTS, CURVATURES, SLOPES))
    kept = [_is_cycle(doubled / curvature, curvature, slope) for doubled, curvature, slope in cases]
    return Outcome(earned=bool(kept) and all(kept), detail={"cycles_count": len(kept)})


def _is_cycle(step_size: Fraction, curvature: Fraction, slope: Fraction) -> bool:
    place = step_size * slope / 2
    memory = (step_size * (slope - curvature * place), Fraction(0))
    run = iterates(step_size, curvature, slope, start=(place, -place), memory=memory)
    visited = [(place, -place), *islice(run, CYCLE_STEP_COUNT)]
    stated = stated_distance(step_size, curvature, slope)
    opposite = all(one[0] == -other[0] and one[1] == -other[1] for one, other in pairwise(visited))
    return opposite and all(x**2 + y**2 == stated for x, y in visited)


def cycle_queries() -> tuple[Query, ...]:
    """Every η, L, α with ηL < 1: the fixed place has the stated distance, and the other coordinate is never sent."""
    step, curvature, slope, place, earlier = sympy.symbols("eta L alpha y earlier", real=True)
    positive = (step > 0, curvature > 0, slope > 0, step * curvature < 1)
    # Two gradients of coordinate 1 are sent, at −y₋ and at y, and one of coordinate 2, at −y, is held back.
    sent = step * (2 * slope + curvature * (place - earlier))
    held = step * (slope - curvature * place)
    bound = STATEMENTS[LABEL].bound.xreplace({eta: step, heterogeneity: 2 * slope**2})
    inside = (place >= 0, earlier >= 0, place <= step * slope, earlier <= step * slope)
    following = sent / 2 - place
    return (
        Query(
            "y⁺ = y = y₋ has the stated distance",
            (*positive, sympy.Eq(earlier, place), sympy.Eq(following, place)),
            sympy.Eq(2 * place**2, bound),
            sympy.Eq(place**2, bound),
        ),
        Query("what is held back is smaller", (*positive, *inside), held**2 < sent**2, 2 * held**2 < sent**2),
        Query("y⁺ ≥ 0", (*positive, *inside), following >= 0, following > 0),
        Query("y⁺ ≤ ηα", (*positive, *inside), following <= step * slope, following < step * slope),
    )


SLACK: dict[str, dict[str, str]] = {
    LABEL: {"start": "from a start one sixteenth farther off, the runs end on the same circle"}
}
"""Which assumed numbers may be a little other."""

EDGES: dict[str, tuple[Remark, ...]] = {
    LABEL: (
        Unneeded(
            "smoothness*step_size < 1",
            "the proof needs it to keep y below ηα; below ηL = 2 no run is known that ends otherwise",
        ),
    ),
}
"""Why the condition of this statement is not needed."""

CHECKS: dict[str, dict[Grade, Check]] = {
    LABEL: {
        "smt": smt_check(cycle_queries),
        "rational": cycles,
        "property": property_check(distance_cases, distance_margin),
    },
}
"""Every check of this statement, by grade."""
