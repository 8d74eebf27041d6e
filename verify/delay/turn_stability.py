"""What evidence is there for the largest stable step of workers that report in turn, besides its derivation?

The exact Schur-Cohn test and certified roots on either side of the limit, of the recursion and of a turn of all workers
together, steps that a search draws, and the workers themselves, each with its own model and velocity. Ours.
"""

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache

from flint import acb, arb, ctx
from hypothesis import strategies as st

from sparsync.theory.language.statement import Statement
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.delay.limit_cases import (
    CURVATURES,
    HALF_PERIODS_COUNT,
    LARGEST_CURVATURE,
    MOMENTA,
    OFFSET,
    SIMULATED_MOMENTA,
    SIMULATED_OFFSET,
    offsets,
)
from sparsync.verify.delay.root_moduli import is_stable, largest_modulus, turn_matrix_polynomial, turn_polynomial
from sparsync.verify.tools.balls import PRECISION_BITS, exact_ball
from sparsync.verify.tools.edges import Edge, Remark
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.tools.properties import Members, property_check

LABEL = "reports_in_turn_limit"
WORKER_COUNTS = (1, 2, 3, 4, 5, 8, 16)
"""The numbers of workers at which the limit is tested."""
JOINT_COUNTS = (1, 2, 3)
"""The numbers of workers at which a turn of all workers is tested, on all eigenvalues at once."""
LARGEST_COUNT = 10
"""Largest number of workers that a search draws."""

Case = tuple[int, Fraction]
"""A number of workers and a momentum."""


def cases() -> Iterator[Case]:
    """The cases in which the limit is tested."""
    yield from ((count, momentum) for count in WORKER_COUNTS for momentum in MOMENTA)


def limit(case: Case) -> Fraction:
    """The statement's limit, exactly as `evaluate` rounds it."""
    return _limit_of(STATEMENTS[LABEL], case)


@lru_cache(maxsize=1024)
def _limit_of(statement: Statement, case: Case) -> Fraction:
    """Kept, because every check asks at the same cases, on both sides of the limit."""
    return Fraction(statement.evaluate(n=case[0], momentum=case[1]))


def polynomial_near(case: Case, offset: Fraction) -> list[Fraction]:
    """The characteristic polynomial at a relative distance from the limit."""
    return turn_polynomial(step=limit(case) * (1 + offset), worker_count=case[0], momentum=case[1])


def joint_polynomial(case: Case, offset: Fraction) -> list[Fraction]:
    """That of a turn on several eigenvalues at once: η times the largest is at that distance from the limit."""
    step = limit(case) * (1 + offset) / LARGEST_CURVATURE
    return turn_matrix_polynomial(CURVATURES, step=step, worker_count=case[0], momentum=case[1])


def schur_cohn_check(_profile: Profile) -> Outcome:
    """`rational`: just below the limit all roots are inside the circle, just above not; in exact arithmetic.

    With several eigenvalues the largest decides, for the interval of stable steps reaches down to 0.
    """
    tested = [(polynomial_near, case) for case in cases()]
    tested += [(joint_polynomial, case) for case in cases() if case[0] in JOINT_COUNTS]
    wrong = [
        [str(number) for number in case]
        for polynomial, case in tested
        if not is_stable(polynomial(case, -OFFSET)) or is_stable(polynomial(case, OFFSET))
    ]
    detail = {"cases_count": len(tested), "relative_offset": str(OFFSET), "wrong_cases": wrong}
    return Outcome(earned=not wrong, detail=detail)


def root_balls_check(_profile: Profile) -> Outcome:
    """`ball`: certified enclosures put every root inside below the limit and some root outside above it.

    The step at which a root lies on the circle is enclosed too: see `encloses_limit`.
    """
    with ctx.workprec(PRECISION_BITS):
        wrong = [
            [str(number) for number in case]
            for case in cases()
            if not largest_modulus(polynomial_near(case, -OFFSET)) < 1
            or not largest_modulus(polynomial_near(case, OFFSET)) > 1
            or not encloses_limit(limit(case), case)
        ]
    return Outcome(earned=not wrong, detail={"cases_count": len(list(cases())), "wrong_cases": wrong})


def encloses_limit(value: Fraction, case: Case) -> bool:
    """True iff the a with the root e^{iφ} is real and positive between two angles where it is near the value.

    Its imaginary part changes its sign there once, between 0 and a little beyond π/(2n − 1): so halving finds it.
    """
    lower, upper = Fraction(0), Fraction(22, 7) / (2 * case[0] - 1)
    while upper - lower > OFFSET * upper / 64:
        middle = (lower + upper) / 2
        lower, upper = (middle, upper) if _circle_step(middle, case).imag < 0 else (lower, middle)
    below, above = (_circle_step(angle, case) for angle in (lower, upper))
    tolerance = exact_ball(value * OFFSET)
    near = all(abs(step - exact_ball(value)) < tolerance for step in (below, above))
    return bool(below.imag < 0 and above.imag > 0 and near)


def _circle_step(angle: Fraction, case: Case) -> acb:
    """The a = n(1/z − 1)(zⁿ − β) that has the root z = e^{iφ}."""
    count, momentum = case
    root = acb(arb(0), exact_ball(angle)).exp()
    return count * (1 / root - 1) * (root**count - exact_ball(momentum))


def workers_check(_profile: Profile) -> Outcome:
    """`simulated`: the model of workers in turn decays 1 % below the limit and grows 1 % above it."""
    simulated = [case for case in cases() if case[1] in SIMULATED_MOMENTA]
    decays = [growth(float(limit(case)) * (1 - SIMULATED_OFFSET), case) for case in simulated]
    grows = [growth(float(limit(case)) * (1 + SIMULATED_OFFSET), case) for case in simulated]
    return Outcome(
        earned=max(decays) < 1 < min(grows),
        detail={"runs_count": len(decays) + len(grows), "slowest_decay": max(decays), "slowest_growth": min(grows)},
    )


def growth(step: float, case: Case) -> float:
    """Largest |x| in the last period of a run over the largest in the first."""
    count, momentum = case[0], float(case[1])
    # ψ(θ) ≤ θβ/(1 − β) makes the angle of the boundary root at least π(1 − β)/(2n − 1 + β).
    half_period = math.ceil(2 * count / (1 - momentum))
    models, read, velocity = [1.0], [1.0] * count, [0.0] * count
    for report in range(HALF_PERIODS_COUNT * half_period):
        worker = report % count
        velocity[worker] = momentum * velocity[worker] + read[worker]
        read[worker] = models[-1] - step / count * velocity[worker]
        models.append(read[worker])
    period = 2 * half_period
    return max(map(abs, models[-period:])) / max(map(abs, models[:period]))


def offset_cases() -> Members:
    """Number of workers, momentum, and a relative offset of the step from the limit."""
    momenta = st.fractions(min_value=0, max_value=Fraction(99, 100), max_denominator=100)
    return st.tuples(st.integers(1, LARGEST_COUNT), momenta, offsets())


def side_margin(worker_count: int, momentum: Fraction, offset: Fraction) -> Fraction:
    """The size of the offset if the recursion is stable exactly where it is negative, else minus the size."""
    stable = is_stable(polynomial_near((worker_count, momentum), offset))
    return abs(offset) if stable == (offset < 0) else -abs(offset)


EDGES: dict[str, tuple[Remark, ...]] = {LABEL: (Edge("momentum < 1", {"momentum": 1, "n": 3}),)}
"""Points just beyond the conditions of this statement."""

CHECKS: dict[str, dict[Grade, Check]] = {
    LABEL: {
        "rational": schur_cohn_check,
        "ball": root_balls_check,
        "property": property_check(offset_cases, side_margin),
        "simulated": workers_check,
    }
}
"""Every check of the statement on reports in turn, by grade."""
