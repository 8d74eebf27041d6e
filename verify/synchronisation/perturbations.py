"""What evidence is there for the statements on random delays and late commits, besides their derivations?

Expectations as sums over ages, and over every outcome of a few random ages; runs with residuals and delays in exact
fractions; and both parts of the distance for all real values at once. Ours.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise, product

import sympy
from hypothesis import strategies as st

from sparsync.theory.language.symbols import delta, eta, local_count, sigma_squared, tau
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.delay.late_runs import assumed_share
from sparsync.verify.tools.edges import Edge, Remark, Unneeded
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.tools.properties import Members, property_check
from sparsync.verify.tools.smt import Query, smt_check

LONGEST_TREE = 5
"""Steps of which every outcome of the ages is followed: 6! = 720 of them."""
TREE_SHARES = (Fraction(1), Fraction(1, 2), Fraction(1, 3), Fraction(4, 5))
"""The values of p for which they are."""
CURVATURE, STEP_SIZE = Fraction(2), Fraction(1, 3)
"""Of the quadratic on which they are."""
LONGEST_RUN = 40
"""Commits of a run whose residual is to come near its bound."""

SHARES = st.integers(1, 12).map(lambda twelfths: Fraction(twelfths, 12))
VALUES = st.integers(-4, 4).map(lambda quarters: Fraction(quarters, 4))
FACTORS = st.sampled_from([Fraction(0), Fraction(1, 8), Fraction(1, 2), Fraction(2, 3)])
"""Values of √(1 − δ)."""


def stated_move(share: Fraction, step_size: Fraction, move: Fraction, taken: Fraction) -> Fraction:
    """The next expected move by the statement."""
    stated = STATEMENTS["geometric_staleness"].exact(
        arrival_share=share, step_size=step_size, mean_move=move, gradient=taken
    )
    return Fraction(str(stated))


def gradient_cases() -> Members:
    """(p, step size, expected gradients in order)."""
    return st.tuples(SHARES, SHARES, st.lists(VALUES, min_size=2, max_size=8))


def move_margin(share: Fraction, step_size: Fraction, gradients: Sequence[Fraction]) -> Fraction:
    """Minus the largest difference of an expected move, summed over ages, from the statement's."""
    moves = [
        -step_size * sum((share * (1 - share) ** age * gradients[now - age] for age in range(now + 1)), Fraction(0))
        for now in range(len(gradients))
    ]
    return -max(
        abs(moves[now] - stated_move(share, step_size, moves[now - 1], gradients[now]))
        for now in range(1, len(gradients))
    )


def mean_iterates(share: Fraction) -> list[Fraction]:
    """E x_0, E x_1, … of descent on a quadratic from 1, by following every outcome of the ages.

    Age t + 1 stands for every age beyond t, where nothing moves.
    """
    means = [Fraction(0)] * (LONGEST_TREE + 1)
    for ages in product(*(range(now + 2) for now in range(LONGEST_TREE))):
        chance, iterates = Fraction(1), [Fraction(1)]
        for now, age in enumerate(ages):
            beyond = age == now + 1
            chance *= (1 - share) ** age * (1 if beyond else share)
            iterates.append(iterates[-1] - (0 if beyond else STEP_SIZE * CURVATURE * iterates[now - age]))
        for now, iterate in enumerate(iterates):
            means[now] += chance * iterate
    return means


def outcomes_check(_profile: Profile) -> Outcome:
    """`rational`: the expected moves over all outcomes of the ages obey the recursion."""
    wrong = [str(share) for share in TREE_SHARES if not _obeys(mean_iterates(share), share)]
    return Outcome(earned=not wrong, detail={"trees_count": len(TREE_SHARES), "wrong_shares": wrong})


def _obeys(means: Sequence[Fraction], share: Fraction) -> bool:
    moves = [after - before for before, after in pairwise(means)]
    return all(
        moves[now] == stated_move(share, STEP_SIZE, moves[now - 1], CURVATURE * means[now])
        for now in range(1, len(moves))
    )


def commit_runs() -> Members:
    """(√(1 − δ), commits of two coordinates with what is kept of each, gradients not yet compressed)."""
    pair = st.tuples(VALUES, VALUES)
    kept = st.tuples(VALUES, VALUES)
    commits = st.lists(st.tuples(st.lists(pair, min_size=1, max_size=3), kept), min_size=1, max_size=4)
    late = st.lists(pair, max_size=3)
    steady = st.tuples(FACTORS, st.integers(1, 3), st.integers(0, 3)).map(lambda case: steady_run(*case))
    return st.tuples(FACTORS, commits, late) | steady


Pair = tuple[Fraction, Fraction]
"""A vector."""
Commits = Sequence[tuple[Sequence[Pair], Pair]]
"""The gradients of each commit, and what the compressor keeps of their sum, relative to the most it may."""


def steady_run(factor: Fraction, local: int, delay: int) -> tuple[Fraction, Commits, list[Pair]]:
    """The run that tends to the bound: one gradient for ever, of which the compressor keeps all that it may."""
    unit = (Fraction(1), Fraction(0))
    return factor, [([unit] * local, unit)] * LONGEST_RUN, [unit] * delay


def perturbation_margin(factor: Fraction, commits: Commits, late: Sequence[Pair]) -> Fraction:
    """The bound minus the square of residual and late gradients, for step size 1."""
    residual: tuple[Fraction, ...] = (Fraction(0), Fraction(0))
    for gradients, kept in commits:
        corrected = [own + sum((pair[axis] for pair in gradients), Fraction(0)) for axis, own in enumerate(residual)]
        # |kept_x| + |kept_y| ≥ ‖kept‖ and max(|u_x|, |u_y|) ≤ ‖u‖: no more is kept than the contraction allows.
        largest = factor * max(map(abs, corrected)) / max(Fraction(1), abs(kept[0]) + abs(kept[1]))
        residual = tuple(largest * part for part in kept)
    distance = [own + sum((pair[axis] for pair in late), Fraction(0)) for axis, own in enumerate(residual)]
    every = [pair for gradients, _ in commits for pair in gradients] + list(late)
    label = "additive_perturbation"
    bound = STATEMENTS[label].fraction(
        delta=1 - factor**2 / Fraction(str(STATEMENTS[label].given("kept_back") / (1 - delta))),
        local_count=max(len(gradients) for gradients, _ in commits),
        second_moment=max(first**2 + second**2 for first, second in every)
        / assumed_share(label, "second_moment", sigma_squared),
        delay=len(late),
        step_size=1,
    )
    return bound - sum(part**2 for part in distance)


def distance_queries() -> tuple[Query, ...]:
    """All norms: the residual's bound is kept by a step, and residual and late gradients stay within the bound."""
    kept, push, residual, late, delay, local = sympy.symbols("a push e late delay local", real=True)
    square, level = sympy.symbols("square level", real=True)
    numbers = {delta: 1 - kept**2, eta: push, sigma_squared: sympy.S.One, tau: delay, local_count: local}
    stated = STATEMENTS["additive_perturbation"].bound.xreplace(numbers)
    stated = stated.subs(sympy.sqrt(kept**2), kept)
    numerator, denominator = sympy.fraction(sympy.together(stated))
    common = (kept > 0, kept < 1, push > 0, local >= 1, delay >= 0, sympy.Eq(level * (1 - kept), kept * local * push))
    return (
        Query(
            claim="a step keeps the residual below its level",
            premises=(
                *common,
                residual >= 0,
                residual <= level,
                square >= 0,
                square <= kept * (residual + local * push),
            ),
            conclusion=sympy.Le(square, level),
            false_twin=sympy.Lt(square, level),
        ),
        Query(
            claim="residual and late gradients",
            premises=(*common, residual >= 0, residual <= level, late >= 0, late <= delay * push),
            conclusion=sympy.Le(sympy.expand((residual + late) ** 2 * denominator), sympy.expand(numerator)),
            false_twin=sympy.Le(8 * sympy.expand((residual + late) ** 2 * denominator), 7 * sympy.expand(numerator)),
        ),
    )


EDGES: dict[str, tuple[Remark, ...]] = {
    "geometric_staleness": (Unneeded("arrival_share <= 1", "no probability is larger"),),
    "additive_perturbation": (
        Edge(
            "delta <= 1",
            {"delay": 12, "delta": Fraction(17, 16), "local_count": 4, "second_moment": 1, "step_size": 2},
        ),
    ),
}
"""Points just beyond the conditions of these statements, and why some conditions are not needed."""

CHECKS: dict[str, dict[Grade, Check]] = {
    "geometric_staleness": {"rational": outcomes_check, "property": property_check(gradient_cases, move_margin)},
    "additive_perturbation": {
        "smt": smt_check(distance_queries),
        "property": property_check(commit_runs, perturbation_margin),
    },
}
"""Every check of these statements, by label and grade."""
