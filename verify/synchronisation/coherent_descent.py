"""What evidence is there for the rate of coherent stale descent, besides its derivation?

One and two updates for all real values at once, from the inequality of a single step; and runs whose coherence is
measured, those that come near the bound among them. Ours.
"""

from collections.abc import Callable, Sequence
from math import sqrt

import sympy

from sparsync.theory.language.symbols import L, T, coherence, gap, j, tau, variance
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.delay.late_runs import assumed_share
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.tools.smt import Query, smt_check

SMALL_RUNS = (((0,), 0), ((0, 1), 0), ((0, 0), 1))
"""(which gradient each update uses, largest delay) of the runs that are decided for all values."""
STRAIGHT_RUNS = ((1, 0), (2, 1), (40, 0), (160, 3))
"""(updates, delay) down a slope of 1 that ends in a parabola."""
DELAYED_RUNS = ((20, 1, 0.2), (60, 2, 0.1), (100, 4, 0.05))
"""(updates, delay, coherence) on a parabola; the coherence is that from which the steps are made."""
ROUNDING = 1e-12
"""More than some hundred operations on numbers of order 1 are off by."""


def small_queries() -> tuple[Query, ...]:
    """One and two updates for L = 1: every function value, gradient and noise that one step's inequality permits."""
    return tuple(_small_query(used, delay) for used, delay in SMALL_RUNS)


def _small_query(used: Sequence[int], delay: int) -> Query:
    share, start, noise, least, half_root = sympy.symbols("nu start noise least w", real=True)
    energies = sympy.symbols(f"G_:{len(used)}", real=True)
    statement = STATEMENTS["coherence_rate"]
    smooth, agrees, noisy = (
        sympy.Rational(assumed_share("coherence_rate", name, symbol))
        for name, symbol in (("smoothness", L), ("coherence", coherence), ("variance", variance))
    )
    value, premises = start, [share > 0, share <= 1, noise >= 0, half_root > 0, sympy.Eq(2 * half_root**2, 1)]
    for number, source in enumerate(used):
        premises += [energies[number] >= 0, sympy.Le(least, energies[number])]
        given = {coherence: share, tau: sympy.Integer(delay), L: sympy.S.One, j: sympy.Integer(number + 1)}
        step = statement.given("step_size").xreplace(given).xreplace({sympy.sqrt(2): 2 * half_root})
        value += -step * agrees * share * energies[number]
        value += smooth * step**2 * (energies[source] + noisy * noise) / 2
    premises.append(sympy.Ge(sympy.expand(value), 0))
    numbers = {L: sympy.S.One, gap: start, coherence: share, variance: noise}
    numbers |= {tau: sympy.Integer(delay), T: sympy.Integer(len(used))}
    stated = statement.bound.xreplace(numbers).rewrite(sympy.Sum).doit().xreplace({sympy.sqrt(2): 2 * half_root})
    above, below = sympy.fraction(sympy.together(stated))
    sign = 1 if below.subs({share: 1, half_root: sympy.Rational(7, 10)}) > 0 else -1
    left, right = sympy.expand(sign * least * below), sympy.expand(sign * above)
    return Query(
        claim=f"gradients {list(used)}, delay {delay}",
        premises=tuple(premises),
        conclusion=sympy.Le(left, right),
        false_twin=sympy.Le(left, sympy.expand(right / 2)),
    )


def steps(updates: int, delay: int, share: float) -> list[float]:
    """The statement's steps for L = 1."""
    numbers = {coherence: sympy.Rational(share), tau: sympy.Integer(delay), L: sympy.S.One}
    first = float(STATEMENTS["coherence_rate"].given("step_size").xreplace(numbers).subs(j, 1))
    return [first / sqrt(number) for number in range(1, updates + 1)]


def descend(slope: Callable[[float], float], start: float, lengths: Sequence[float], delay: int) -> list[float]:
    """The iterates of descent whose gradients are as old as they may be."""
    iterates = [start]
    for now, length in enumerate(lengths):
        iterates.append(iterates[-1] - length * slope(iterates[max(now - delay, 0)]))
    return iterates


def share_of(slopes: Sequence[float], start_value: float, delay: int, share: float) -> float:
    """The least squared slope over the bound for L = 1.

    Raises:
        ValueError: some slope is less coherent with the one used than stated.
    """
    for now, slope in enumerate(slopes):
        if slope * slopes[max(now - delay, 0)] < share * slope**2 * (1 - ROUNDING):
            raise ValueError(f"update {now}: the slope {slope} is less coherent than {share}")
    bound = STATEMENTS["coherence_rate"].evaluate(
        T=len(slopes), delay=delay, smoothness=1, coherence=share, variance=0, gap=start_value
    )
    return min(slope**2 for slope in slopes) / bound


def straight_share(updates: int, delay: int) -> float:
    """Down a slope of 1, where all gradients agree, to the last x_t; then a parabola of curvature 1 to its vertex."""
    distance = sum(steps(updates, delay, 1.0)[:-1])
    return share_of([1.0] * updates, distance + 0.5, delay, 1.0)


def delayed_share(updates: int, delay: int, share: float) -> float:
    """On f = x²/2 from 1."""
    iterates = descend(lambda x: x, 1.0, steps(updates, delay, share), delay)
    return share_of(iterates[:-1], 0.5, delay, share)


def runs_check(_profile: Profile) -> Outcome:
    """`numeric`: no run is above the bound; a single update on a parabola attains it."""
    shares = [*(straight_share(*run) for run in STRAIGHT_RUNS), *(delayed_share(*run) for run in DELAYED_RUNS)]
    return Outcome(earned=max(shares) <= 1 + ROUNDING, detail={"shares_of_the_bound": shares})


SLACK = {"coherence_rate": {"delay": "delays are whole numbers: 17/16 of one below 16 is no other"}}
"""Assumed numbers that may be a little other, and why."""

CHECKS: dict[str, dict[Grade, Check]] = {
    "coherence_rate": {"smt": smt_check(small_queries), "numeric": runs_check},
}
"""Every check of this statement, by grade."""
