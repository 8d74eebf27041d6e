"""What evidence is there for the passes in `theory/selectors/released_rotation.py`, besides their derivations?

The starts that end within P passes are an exact union of intervals, and the solvers are asked about every real start.
Rises and falls are found here by trying every number of moves; the worst start is computed and run. Ours.
"""

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import count, islice, pairwise

import sympy
from hypothesis import strategies as st

from sparsync.theory.language.symbols import fall_count, rise_count
from sparsync.theory.selectors.released_rotation import WINDOW_END, WINDOW_START
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.selectors.released_rule import (
    STEPS,
    Window,
    all_starts_end,
    ending_starts,
    multiples,
    passes_to,
    trap_queries,
)
from sparsync.verify.tools.edges import Edge, Remark
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.tools.properties import property_check
from sparsync.verify.tools.smt import Query, smt_check

QUERIED_RATIOS = (Fraction(3, 2), Fraction(4, 3), Fraction(32, 27), Fraction(9, 8))
"""Where the solvers are asked about every start."""
COVERED_PAIRS_COUNT = 9
"""Pairs of rise and fall whose starts are covered exactly: up to 84 passes, for windows of ratio 1.0137 and more."""
DRAWN_PAIRS_COUNT = 15
"""Pairs that a search draws: up to 569 passes, for windows of ratio 1.0021 and more."""
JUST_BELOW = 1 - Fraction(1, 10**9)
"""A ratio times this is below it, and above what matters next."""

Pair = tuple[int, int, int, int]
"""Moves and power of three of the rise, then of the fall: 3^a/2^q > 1 and 2^q/3^a > 1."""


def starts_of(label: str, ratio: Fraction) -> Window:
    """The starts that a statement speaks of, for the window [1, r)."""
    ends = {WINDOW_START: 1, WINDOW_END: sympy.Rational(ratio.numerator, ratio.denominator)}
    least, end = (STATEMENTS[label].given(name).xreplace(ends) for name in ("least_start", "end_of_starts"))
    return Fraction(int(least.p), int(least.q)), Fraction(int(end.p), int(end.q))


def are_largest(label: str, cases: Sequence[tuple[Fraction, int]]) -> bool:
    """Whether no start more, at either end, ends within the passes at every ratio."""
    covered = [(ratio, starts_of(label, ratio), ending_starts(ratio, passes)) for ratio, passes in cases]
    less = [any(lower < least < upper for lower, upper in found) for _ratio, (least, _end), found in covered]
    more = [any(lower <= end < upper for lower, upper in found) for _ratio, (_least, end), found in covered]
    return not all(less) and not all(more)


def passes_margin(ratio: Fraction, start: Fraction) -> Fraction:
    """bound − passes for a start and the window [1, r)."""
    bound = int(STATEMENTS["released_passes"].evaluate(window_ratio=ratio))
    taken = passes_to((Fraction(1), ratio), start, bound + 1)
    return Fraction(-1 if taken is None else bound - taken)


def covers_check(_profile: Profile) -> Outcome:
    """`rational`: at every ratio the stated passes cover all starts, one pass less does not; no range is larger."""
    ratios = _tried_ratios()
    stated = [int(STATEMENTS["released_passes"].evaluate(window_ratio=ratio)) for ratio in ratios]
    cases = list(zip(ratios, stated, strict=True))
    covered = [_is_sharp("released_passes", ratio, Fraction(passes)) for ratio, passes in cases]
    largest = are_largest("released_passes", cases)
    return Outcome(
        earned=bool(covered) and all(covered) and largest, detail={"ratios_count": len(ratios), "passes": stated}
    )


def passes_queries() -> tuple[Query, ...]:
    """Every real start that is spoken of meets the window [1, r], its ends included, within the stated passes."""
    return tuple(_meeting_query(ratio) for ratio in QUERIED_RATIOS)


def least_pair(ratio: Fraction) -> Pair:
    """The rise and the fall of fewest moves by a factor of at most the ratio."""
    rises = ((moves, power) for moves, power in _powers_above() if 3**power <= ratio * 2**moves)
    falls = ((moves, power - 1) for moves, power in _powers_above() if 2**moves <= ratio * 3 ** (power - 1))
    return *next(rises), *next(falls)


def adjoining_pairs() -> Iterator[Pair]:
    """The pairs of rise and fall in the order of falling ratios, from that of 3 passes on."""
    ratio = Fraction(2)
    while True:
        pair = least_pair(ratio * JUST_BELOW)
        yield pair
        ratio = ratios_of(pair)[0]


def ratios_of(pair: Pair) -> Window:
    """The ratios from the larger factor to the product of both, for which the pair is the least."""
    rise, fall = Fraction(3 ** pair[1], 2 ** pair[0]), Fraction(2 ** pair[2], 3 ** pair[3])
    return max(rise, fall), rise * fall


def stated_passes(pair: Pair, ratio: Fraction) -> Fraction:
    """The bound of `released_worst_passes`."""
    names = ("rise_count", "rise_power", "fall_count", "fall_power")
    return STATEMENTS["released_worst_passes"].fraction(**dict(zip(names, pair, strict=True)), window_ratio=ratio)


def worst_start(pair: Pair, ratio: Fraction) -> Fraction:
    """A start in [1/2, 3r/2) whose first passes leave [1, r) in the gap that only the last one fills.

    The gap is UW wide and begins at the threshold that is counted after q₋ − 1 moves; it is placed so as to end at r.
    """
    begin = ratio / ratios_of(pair)[1]
    start = begin * Fraction(2, 3) ** (pair[2] - 1)
    while start < Fraction(1, 2):
        start *= 3
    return start


def worst_covers(_profile: Profile) -> Outcome:
    """`rational`: at both ends of a pair's ratios the stated passes cover all starts, and one pass less does not."""
    pairs = list(islice(adjoining_pairs(), COVERED_PAIRS_COUNT))
    cases = [(pair, ratio) for pair in pairs for ratio in _ends(pair)]
    counted = [(ratio, math.floor(stated_passes(pair, ratio))) for pair, ratio in cases]
    adjoin = all(ratios_of(pair)[0] == ratios_of(following)[1] for pair, following in pairwise(pairs))
    covered = [_is_sharp("released_worst_passes", ratio, stated_passes(pair, ratio)) for pair, ratio in cases]
    return Outcome(
        earned=bool(covered) and all(covered) and adjoin and are_largest("released_worst_passes", counted),
        detail={"ratios_count": len(covered), "passes": [str(stated_passes(*case)) for case in cases]},
    )


def worst_margin(pair: Pair, ratio: Fraction, start: Fraction) -> Fraction:
    """bound − passes for a start and the window [1, r); less, where the worst start misses the bound."""
    bound = stated_passes(pair, ratio)
    limit = math.ceil(bound) + 1
    taken = passes_to((Fraction(1), ratio), start, limit)
    most = passes_to((Fraction(1), ratio), worst_start(pair, ratio), limit)
    return Fraction(-1) if taken is None or most is None else min(bound - taken, -abs(bound - most))


def worst_queries() -> tuple[Query, ...]:
    """The partners of the thresholds, and how long the arcs to them are together: ln 2 and ln 3 may be any numbers."""
    rise, fall, number = sympy.symbols("q_rise q_fall j", real=True)
    powers, logarithms = sympy.symbols("a_rise a_fall", real=True), sympy.symbols("ln_2 ln_3", real=True)
    bound = STATEMENTS["released_worst_passes"].bound.subs({rise_count: rise, fall_count: fall}, simultaneous=True)
    arcs = (powers[0] * logarithms[1] - rise * logarithms[0], fall * logarithms[0] - powers[1] * logarithms[1])
    counts = (number >= 0, rise >= 1, fall >= 1)
    around = fall * arcs[0] + rise * arcs[1]
    return (
        Query(
            claim="of the stated passes, j < q₋ is followed q₊ later",
            premises=(*counts, number < fall),
            conclusion=number + rise < bound,
            false_twin=number + rise + 1 < bound,
        ),
        Query(
            claim="of the stated passes, j ≥ q₋ is one of q₊ and has an earlier one",
            premises=(*counts, number >= fall, number < bound),
            conclusion=number - fall < rise,
            false_twin=number - fall + 1 < rise,
        ),
        Query(
            claim="the arcs from all thresholds are once around",
            premises=(sympy.Eq(powers[0] * fall - powers[1] * rise, 1),),
            conclusion=sympy.Eq(around, logarithms[1]),
            false_twin=sympy.Eq(around, logarithms[0]),
        ),
    )


def _tried_ratios() -> list[Fraction]:
    """Ratios at which the stated number of passes changes, just below each, between them, and wide ones."""
    steps = [Fraction(3, 2), Fraction(4, 3), Fraction(32, 27), Fraction(9, 8), Fraction(2187, 2048), Fraction(256, 243)]
    below = [step - Fraction(1, 10**6) for step in steps[:-1]]
    between = [(larger + smaller) / 2 for larger, smaller in pairwise(steps)]
    return [Fraction(5), Fraction(2), *steps, *below, *between]


def _meeting_query(ratio: Fraction) -> Query:
    start = sympy.Symbol("y", real=True)
    stated = math.floor(STATEMENTS["released_passes"].fraction(window_ratio=ratio))

    def outside(multiple: Fraction) -> sympy.Expr:
        counted = sympy.Rational(multiple.numerator, multiple.denominator) * start
        return (counted - 1) * (counted - sympy.Rational(ratio.numerator, ratio.denominator))

    missed = (sympy.Gt(outside(multiple), 0) for multiple in multiples(stated) if multiple != 1)
    least, end = starts_of("released_passes", ratio)
    near = (least.denominator * start >= least.numerator, end.denominator * start < end.numerator)
    return Query(
        claim=f"a start met at no later of {stated} passes is in the window, r = {ratio}",
        premises=(*near, *missed),
        conclusion=sympy.Le(outside(Fraction(1)), 0),
        false_twin=sympy.Gt(outside(Fraction(1)), 0),
    )


def _lift_queries() -> tuple[Query, ...]:
    lower, upper, threshold, inside = sympy.symbols("a b y w", real=True)
    near = (lower > 0, inside >= lower, inside < upper, 2 * threshold >= lower, 2 * threshold < 3 * upper)
    narrow = (*near, 2 * upper < 3 * lower)
    return (
        Query("y is less than 3w", narrow, sympy.Lt(threshold, 3 * inside), sympy.Lt(threshold, 2 * inside)),
        Query("y is more than w/3", narrow, sympy.Gt(3 * threshold, inside), sympy.Gt(2 * threshold, inside)),
    )


def _powers_above() -> Iterator[tuple[int, int]]:
    """Every number of moves q, with the smallest a that has 3^a > 2^q."""
    power = 1
    for moves in count(1):
        while 3**power <= 2**moves:
            power += 1
        yield moves, power


def _ends(pair: Pair) -> Window:
    least, product = ratios_of(pair)
    return least, product * JUST_BELOW


def _is_sharp(label: str, ratio: Fraction, passes: Fraction) -> bool:
    """Whether so many passes are enough from every start, and no fewer."""
    starts = starts_of(label, ratio)
    enough = all_starts_end(ratio, math.floor(passes), starts)
    return enough and not all_starts_end(ratio, math.ceil(passes) - 1, starts)


def _placed(label: str, ratio: Fraction, place: Fraction) -> Fraction:
    """A start at a place between 0 and 1 in the range of starts."""
    least, end = starts_of(label, ratio)
    return least + place * (end - least)


def _passes_members() -> st.SearchStrategy[tuple[Fraction, Fraction]]:
    ratios = st.integers(0, STEPS).map(lambda step: Fraction(256, 243) + Fraction(step, STEPS))
    places = st.integers(0, STEPS**2 - 1).map(lambda step: Fraction(step, STEPS**2))
    return st.tuples(ratios, places).map(lambda drawn: (drawn[0], _placed("released_passes", *drawn)))


def _worst_members() -> st.SearchStrategy[tuple[Pair, Fraction, Fraction]]:
    """A pair, one of its ratios, and a start."""
    places = st.integers(0, STEPS - 1).map(lambda step: Fraction(step, STEPS))
    pairs = st.sampled_from(tuple(islice(adjoining_pairs(), DRAWN_PAIRS_COUNT)))

    def placed(pair: Pair, ratio_place: Fraction, start_place: Fraction) -> tuple[Pair, Fraction, Fraction]:
        least, product = ratios_of(pair)
        ratio = least + ratio_place * (product - least)
        return pair, ratio, _placed("released_worst_passes", ratio, start_place)

    return st.builds(placed, pairs, places, places)


CHECKS: dict[str, dict[Grade, Check]] = {
    "released_passes": {
        "smt": smt_check(passes_queries, *trap_queries(), *_lift_queries()),
        "rational": covers_check,
        "property": property_check(_passes_members, passes_margin),
    },
    "released_worst_passes": {
        "smt": smt_check(worst_queries, *trap_queries(), *_lift_queries()),
        "rational": worst_covers,
        "property": property_check(_worst_members, worst_margin),
    },
}
"""The checks of this file, by label and grade."""


def passes_needed(ratio: Fraction) -> int:
    """How many passes cover all starts of `released_worst_passes`, by trying."""
    starts = starts_of("released_worst_passes", ratio)
    return next(passes for passes in count(1) if all_starts_end(ratio, passes, starts))


def _worst(condition: str, pair: Pair, ratio: Fraction) -> Edge:
    """A pair that is not the least for a ratio."""
    names = ("rise_count", "rise_power", "fall_count", "fall_power")
    numbers = {**dict(zip(names, pair, strict=True)), "window_ratio": ratio}
    return Edge(condition, numbers, left=lambda: passes_needed(ratio))


NARROW = Fraction(256, 243) * JUST_BELOW
EDGES: dict[str, tuple[Remark, ...]] = {
    "released_passes": (Edge("window_ratio >= 256/243", {"window_ratio": NARROW}, left=lambda: passes_needed(NARROW)),),
    "released_worst_passes": (
        _worst("Eq(fall_count*rise_power - fall_power*rise_count, 1)", (6, 4, 2, 1), Fraction(7, 5)),
        _worst("window_ratio >= 3**rise_power/2**rise_count", (3, 2, 8, 5), Fraction(10, 9)),
        _worst("window_ratio >= 2**fall_count/3**fall_power", (3, 2, 5, 3), Fraction(7, 6)),
        _worst(
            "window_ratio < 2**fall_count*3**rise_power/(2**rise_count*3**fall_power)", (3, 2, 5, 3), Fraction(4, 3)
        ),
    ),
}
"""What is said of the conditions, by label."""
