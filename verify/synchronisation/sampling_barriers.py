"""What evidence is there for the statements on barriers that sample workers, besides their derivations?

Samples listed, workers drawn one after another, and laws of lags summed term by term, all in exact fractions; a few
draws and lags for all real values at once. Ours.
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from itertools import combinations

import sympy
from hypothesis import strategies as st

from sparsync.theory.language.symbols import lag_decay, lag_threshold, lag_weight, laggard_count, n, sample_count
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.tools.edges import Edge, Remark, Unneeded
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.tools.properties import Members, property_check
from sparsync.verify.tools.smt import Query, smt_check

LARGEST_LISTED = 8
"""Workers up to which every sample is listed."""
LARGEST_DRAWN = 30
"""Workers up to which a search draws."""
LONGEST_TAIL = 60
"""How far beyond the threshold a law of lags reaches at most."""
DRAWS = (1, 2, 3)
"""Sizes of the samples about which the solvers are asked."""
QUERIED_LAWS = ((1, 1), (1, 2), (2, 1))
"""(threshold, lags beyond it) of the laws about which the solvers are asked."""


def share_without_laggard(workers: int, lagging: int, looked_at: int) -> Fraction:
    """Share of the samples of the other workers that hold none of the first few."""
    samples = [set(sample) for sample in combinations(range(workers - 1), looked_at)]
    return Fraction(sum(sample.isdisjoint(range(lagging)) for sample in samples), len(samples))


def listed_check(_profile: Profile) -> Outcome:
    """`rational`: the share of all samples without a laggard is the statement's."""
    sizes = [
        (workers, lagging, looked_at)
        for workers in range(2, LARGEST_LISTED + 1)
        for lagging in range(workers)
        for looked_at in range(workers)
    ]
    wrong = [
        list(size) for size in sizes if share_without_laggard(*size) != stated_chance("psp_pass_probability", *size)
    ]
    return Outcome(earned=not wrong, detail={"sizes_count": len(sizes), "wrong_sizes": wrong[:3]})


def stated_chance(label: str, workers: int, lagging: int, looked_at: int) -> Fraction:
    """The statement's probability, or its bound."""
    return STATEMENTS[label].fraction(n=workers, laggard_count=lagging, sample_count=looked_at)


def drawn_chance(workers: int, lagging: int, looked_at: int) -> Fraction:
    """Probability that no laggard is drawn, one worker after another."""
    chance, good, left = Fraction(1), workers - 1 - lagging, workers - 1
    for _ in range(looked_at):
        chance *= Fraction(max(good, 0), left)
        good, left = good - 1, left - 1
    return chance


def sample_cases() -> Members:
    """(workers, laggards, size of the sample)."""

    def of_size(workers: int) -> Members:
        others = st.integers(0, workers - 1)
        return st.tuples(st.just(workers), others, others)

    return st.integers(2, LARGEST_DRAWN).flatmap(of_size)


def chance_margin(workers: int, lagging: int, looked_at: int) -> Fraction:
    """Minus the difference of the probability from the statement's."""
    case = (workers, lagging, looked_at)
    return -abs(drawn_chance(*case) - stated_chance("psp_pass_probability", *case))


def bound_margin(workers: int, lagging: int, looked_at: int) -> Fraction:
    """The bound on the probability minus the probability."""
    case = (workers, lagging, looked_at)
    return stated_chance("psp_pass_bound", *case) - drawn_chance(*case)


def draw_queries() -> tuple[Query, ...]:
    """Samples of a few: all real numbers of workers and laggards for which the factors make sense."""
    return tuple(map(_draw_query, DRAWS))


def _draw_query(looked_at: int) -> Query:
    others, lagging = sympy.symbols("others lagging", real=True)
    stated = STATEMENTS["psp_pass_bound"].bound.subs(sample_count, looked_at)
    numerator, denominator = sympy.fraction(sympy.together(stated.xreplace({n: others + 1, laggard_count: lagging})))
    good = sympy.Mul(*(others - lagging - drawn for drawn in range(looked_at)))
    drawable = sympy.Mul(*(others - drawn for drawn in range(looked_at)))
    return Query(
        claim=f"{looked_at} drawn",
        premises=(lagging >= 0, lagging <= others - looked_at + 1, others >= looked_at),
        conclusion=sympy.Le(good * denominator, numerator * drawable),
        false_twin=sympy.Le(8 * good * denominator, 7 * numerator * drawable),
    )


def lag_cases() -> Members:
    """(weights of the lags up to the threshold, decay beyond it, lags beyond it)."""
    share = st.integers(0, 8).map(lambda eighths: Fraction(eighths, 8))
    spread = st.lists(share, min_size=1, max_size=6).map(lambda weights: [value / len(weights) for value in weights])
    concentrated = st.tuples(st.integers(0, 5), share).map(lambda case: [Fraction(0)] * case[0] + [case[1]])
    decay = st.integers(1, 14).map(lambda sixteenths: Fraction(sixteenths, 16))
    length = st.integers(1, LONGEST_TAIL) | st.just(LONGEST_TAIL)
    return st.tuples(spread | concentrated, decay, length)


def lag_margin(weights: Sequence[Fraction], decay: Fraction, length: int, *, label: str, power: int) -> Fraction:
    """The bound on the moment minus the moment of the law."""
    threshold = len(weights) - 1
    law = [*weights, *(decay**beyond for beyond in range(1, length + 1))]
    moment = sum((lag**power * weight for lag, weight in enumerate(law)), Fraction(0)) / sum(law)
    bound = STATEMENTS[label].fraction(lag_threshold=threshold, lag_decay=decay, lag_weight=sum(weights, Fraction(0)))
    return bound - moment


def lag_queries(label: str, power: int) -> tuple[Query, ...]:
    """Laws of a few lags: all weights and all decays."""
    return tuple(_lag_query(label, power, *size) for size in QUERIED_LAWS)


def _lag_query(label: str, power: int, threshold: int, length: int) -> Query:
    decay = sympy.Symbol("decay", real=True)
    weights = sympy.symbols(f"weight_:{threshold + 1}", real=True)
    law = [*weights, *(decay**beyond for beyond in range(1, length + 1))]
    moment = sympy.Add(*(lag**power * weight for lag, weight in enumerate(law)))
    numbers = {lag_threshold: sympy.Integer(threshold), lag_decay: decay, lag_weight: sympy.Add(*weights)}
    numerator, denominator = sympy.fraction(sympy.together(STATEMENTS[label].bound.xreplace(numbers)))
    total = sympy.Add(*law)
    return Query(
        claim=f"lags up to {threshold}, {length} beyond",
        premises=(*(weight >= 0 for weight in weights), sympy.Add(*weights) <= 1, decay > 0, decay < 1),
        conclusion=sympy.Le(sympy.expand(moment * denominator), sympy.expand(numerator * total)),
        false_twin=sympy.Le(8 * sympy.expand(moment * denominator), 7 * sympy.expand(numerator * total)),
    )


def _lag_checks(label: str, power: int) -> dict[Grade, Check]:
    return {
        "smt": smt_check(partial(lag_queries, label, power)),
        "property": property_check(lag_cases, partial(lag_margin, label=label, power=power)),
    }


EDGES: dict[str, tuple[Remark, ...]] = {
    "psp_pass_probability": (
        Edge("laggard_count <= n - 1", {"laggard_count": 6, "n": 6, "sample_count": 5}),
        Edge("sample_count <= n - 1", {"laggard_count": 2, "n": 6, "sample_count": 6}),
    ),
    "psp_pass_bound": (
        Unneeded("n >= 2", "one worker has nobody to look at, and 0/0 of them lag"),
        Edge("laggard_count <= n - 1", {"laggard_count": 6, "n": 6, "sample_count": 5}),
        Unneeded("sample_count <= n - 1", "no sample without replacement is larger than all others together"),
    ),
    "psp_lag_mean": (
        Edge("lag_decay < 1", {"lag_decay": Fraction(65, 64), "lag_threshold": 12, "lag_weight": Fraction(1, 2)}),
    ),
    "psp_lag_second_moment": (
        Edge("lag_decay < 1", {"lag_decay": 1, "lag_threshold": 3, "lag_weight": Fraction(1, 64)}),
    ),
}
"""Points just beyond the conditions of these statements, and why some conditions are not needed."""

CHECKS: dict[str, dict[Grade, Check]] = {
    "psp_pass_probability": {"rational": listed_check, "property": property_check(sample_cases, chance_margin)},
    "psp_pass_bound": {"smt": smt_check(draw_queries), "property": property_check(sample_cases, bound_margin)},
    "psp_lag_mean": _lag_checks("psp_lag_mean", 1),
    "psp_lag_second_moment": _lag_checks("psp_lag_second_moment", 2),
}
"""Every check of these statements, by label and grade."""
