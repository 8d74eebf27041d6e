"""What evidence is there for the probability of a large regret, besides its derivation?

Descent on a line along every outcome of random lags, with probabilities as exact fractions: binomial tails, and laws
that depend on what has happened. Ours.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import comb

import sympy
from hypothesis import strategies as st

from sparsync.theory.language.symbols import lipschitz, misread_mean, radius
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.delay.late_runs import assumed_share
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.tools.properties import Members, property_check

LABEL = "regret_tail"
LONGEST_RUN = 9
"""Updates up to which binomial tails are computed."""
NEARLY_SURE = 1 - Fraction(1, 10**6)
SHARES = (*(Fraction(twelfths, 12) for twelfths in range(1, 12)), Fraction(99, 100), NEARLY_SURE)
"""m/b of these tails."""
DIGITS = 40
"""In which the bound is taken, and lowered by some units of the last."""

Law = Sequence[tuple[int, Fraction]]
"""The lags of one view and their probabilities."""


def lowered_bound(updates: int, excess: Fraction, step: Fraction, cap: int) -> Fraction:
    """A rational number just below the statement's, for ℓ = 1."""
    stated = STATEMENTS[LABEL].exact(T=updates, regret_excess=excess, step_size=step, lipschitz=1, misread_cap=cap)
    return Fraction(str(sympy.N(stated, DIGITS))) * (1 - Fraction(10) ** (2 - DIGITS))


def regret(lags: Sequence[int], step: Fraction) -> Fraction:
    """Of descent on ℓx from ηT, against 0, whose views lack so many updates, those before the start too.

    ℓ is what is assumed to bound gradients, where 1 is stated.
    """
    start, slope = step * len(lags), assumed_share(LABEL, "longest_gradient", lipschitz)
    views = (start - step * slope * (number - lag) for number, lag in enumerate(lags))
    return slope * sum(views, Fraction(0))


def expected_bound(updates: int, step: Fraction, mean: Fraction) -> Fraction:
    """F²/(ηT) + η(1/2 + m), where the start is as far away as F permits."""
    square = (step * updates) ** 2 / 2 / Fraction(str(STATEMENTS[LABEL].given("half_square") / radius**2))
    return square / (step * updates) + step * (Fraction(1, 2) + mean)


def stated_mean(mean: Fraction) -> Fraction:
    """m of views whose lags have this mean at most."""
    return mean / assumed_share(LABEL, "mean", misread_mean)


def tail(law: Sequence[Law], updates: int, step: Fraction, level: Fraction) -> Fraction:
    """The probability that regret/T is at least so much; the law of a view is chosen by all lags before it.

    Args:
        law: read cyclically, by the number of updates and the sum of the lags before.
        updates: T.
        step: η.
        level: of the average regret.
    """

    def of(lags: tuple[int, ...]) -> Fraction:
        if len(lags) == updates:
            return Fraction(int(regret(lags, step) >= level * updates))
        own = law[(len(lags) + sum(lags)) % len(law)]
        return sum((chance * of((*lags, lag)) for lag, chance in own if chance), Fraction(0))

    return of(())


def binomials_check(_profile: Profile) -> Outcome:
    """`rational`: lags of 0 and b, independent, at every level that they reach."""
    cases = [
        (updates, share, count)
        for updates in range(1, LONGEST_RUN + 1)
        for share in SHARES
        for count in range(updates + 1)
        if count > share * updates
    ]
    ratios = [float(_binomial_tail(*case) / _binomial_bound(*case)) for case in cases]
    earned = all(_binomial_tail(*case) <= _binomial_bound(*case) for case in cases)
    return Outcome(earned=earned, detail={"tails_count": len(cases), "largest_ratio": max(ratios)})


def _binomial_tail(updates: int, share: Fraction, count: int) -> Fraction:
    terms = (comb(updates, late) * share**late * (1 - share) ** (updates - late) for late in range(count, updates + 1))
    return sum(terms, Fraction(0))


def _binomial_bound(updates: int, share: Fraction, count: int) -> Fraction:
    # The regret is that of `count` lags of b = 3 with η = 1/2.
    step, cap = Fraction(1, 2), 3
    lags = [cap] * count + [0] * (updates - count)
    mean = stated_mean(share * cap)
    excess = regret(lags, step) / updates - expected_bound(updates, step, mean)
    # A bound that the expected regret reaches says nothing.
    return lowered_bound(updates, excess, step, cap) if excess > 0 else Fraction(1)


def tail_cases() -> Members:
    """(laws, T, η, m, b, level between the expected bound and the largest regret), nearly sure lags among them."""

    def of_cap(cap: int) -> Members:
        mean = st.sampled_from([Fraction(cap * part, 8) for part in range(1, 8)] + [Fraction(99 * cap, 100)])

        def of_mean(expected: Fraction) -> Members:
            law = st.integers(1, cap).map(lambda lag: two_point(lag, expected))
            laws = st.lists(law, min_size=1, max_size=3) | st.just([two_point(cap, expected)])
            height = st.integers(1, 8).map(lambda part: Fraction(part, 8))
            step = st.sampled_from([Fraction(1), Fraction(1, 3)])
            return st.tuples(laws, st.integers(1, 5), step, st.just(expected), st.just(cap), height)

        return mean.flatmap(of_mean)

    sure = ([two_point(1, NEARLY_SURE)], 1, Fraction(1), NEARLY_SURE, 1, Fraction(1))
    return st.integers(1, 4).flatmap(of_cap) | st.just(sure)


def two_point(lag: int, mean: Fraction) -> list[tuple[int, Fraction]]:
    """A lag or none, of at most this mean."""
    chance = min(Fraction(1), mean / lag)
    return [(lag, chance), (0, 1 - chance)]


def tail_margin(
    laws: Sequence[Law], updates: int, step: Fraction, mean: Fraction, cap: int, height: Fraction
) -> Fraction:
    """Just less than the bound, minus the probability."""
    assumed = stated_mean(mean)
    level = expected_bound(updates, step, mean) + height * step * (cap - mean)
    excess = level - expected_bound(updates, step, assumed)
    return lowered_bound(updates, excess, step, cap) - tail(laws, updates, step, level)


SLACK = {
    LABEL: {"largest": "b is of no account where lags are nearly sure, and else the bound is 1.07 times a tail or more"}
}
"""Assumed numbers that may be a little other, and why."""

CHECKS: dict[str, dict[Grade, Check]] = {
    "regret_tail": {"rational": binomials_check, "property": property_check(tail_cases, tail_margin)},
}
"""Every check of this statement, by grade."""
