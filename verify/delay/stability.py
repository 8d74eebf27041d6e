"""What evidence is there for the largest stable step with a fixed delay, besides its derivation?

Stability limits against the exact Schur-Cohn test and certified roots on either side of them, and simulated. Ours.
"""

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import lru_cache, partial

from flint import arb, ctx
from hypothesis import strategies as st

from sparsync.theory.language.statement import Statement
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.delay.limit_cases import (
    CURVATURES,
    DELAYS,
    HALF_PERIODS_COUNT,
    LARGEST_CURVATURE,
    LARGEST_DELAY,
    MOMENTA,
    OFFSET,
    SIMULATED_MOMENTA,
    SIMULATED_OFFSET,
    offsets,
)
from sparsync.verify.delay.root_moduli import (
    delayed_matrix_polynomial,
    delayed_polynomial,
    is_stable,
    largest_modulus,
)
from sparsync.verify.tools.balls import PRECISION_BITS, exact_ball
from sparsync.verify.tools.edges import Edge, Remark
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.tools.properties import Members, property_check

TESTED_MOMENTUM_DELAYS = (0, 1, 2, 3, 4, 8, 16)
"""The delays at which a limit with momentum is tested."""
JOINT_DELAYS = (0, 1, 2, 4)
"""The delays at which all eigenvalues are tested at once."""
Case = tuple[int, Fraction]
"""A delay and a momentum."""


def limit(label: str, case: Case) -> Fraction:
    """The statement's limit at a delay and a momentum, exactly as `evaluate` rounds it."""
    return _limit_of(STATEMENTS[label], case)


@lru_cache(maxsize=1024)
def _limit_of(statement: Statement, case: Case) -> Fraction:
    """Kept, because every check asks at the same cases, on both sides of the limit."""
    delay, momentum = case
    with_momentum = statement.label == "delayed_momentum_limit"
    numbers = {"delay": delay, "momentum": momentum} if with_momentum else {"delay": delay}
    return Fraction(statement.evaluate(**numbers))


def cases(label: str) -> Iterator[Case]:
    """The cases in which a limit is tested."""
    if label == "delayed_descent_limit":
        yield from ((delay, Fraction(0)) for delay in DELAYS)
    else:
        yield from ((delay, momentum) for delay in TESTED_MOMENTUM_DELAYS for momentum in MOMENTA)


def polynomial_near(label: str, case: Case, offset: Fraction) -> list[Fraction]:
    """The characteristic polynomial at a relative distance from the limit."""
    delay, momentum = case
    return delayed_polynomial(step=limit(label, case) * (1 + offset), delay=delay, momentum=momentum)


def joint_polynomial(label: str, case: Case, offset: Fraction) -> list[Fraction]:
    """As above for several eigenvalues at once: η times the largest is at that distance from the limit."""
    delay, momentum = case
    step = limit(label, case) * (1 + offset) / LARGEST_CURVATURE
    return delayed_matrix_polynomial(CURVATURES, step=step, delay=delay, momentum=momentum)


def schur_cohn_check(_profile: Profile, *, label: str) -> Outcome:
    """`rational`: just below the limit all roots are inside the circle, just above not; in exact arithmetic.

    With several eigenvalues the largest decides, for the interval of stable steps reaches down to 0.
    """
    tested = [(polynomial_near, case) for case in cases(label)]
    tested += [(joint_polynomial, case) for case in cases(label) if case[0] in JOINT_DELAYS]
    wrong = [
        [str(number) for number in case]
        for polynomial, case in tested
        if not is_stable(polynomial(label, case, -OFFSET)) or is_stable(polynomial(label, case, OFFSET))
    ]
    detail = {"cases_count": len(tested), "relative_offset": str(OFFSET), "wrong_cases": wrong}
    return Outcome(earned=not wrong, detail=detail)


def root_balls_check(_profile: Profile, *, label: str) -> Outcome:
    """`ball`: certified enclosures put every root inside below the limit and some root outside above it.

    With momentum the boundary angle's equation is enclosed too: see `encloses_limit`.
    """
    with ctx.workprec(PRECISION_BITS):
        wrong = [
            [str(number) for number in case]
            for case in cases(label)
            if not largest_modulus(polynomial_near(label, case, -OFFSET)) < 1
            or not largest_modulus(polynomial_near(label, case, OFFSET)) > 1
            or not encloses_limit(limit(label, case), case)
        ]
    return Outcome(earned=not wrong, detail={"cases_count": len(list(cases(label))), "wrong_cases": wrong})


def encloses_limit(value: Fraction, case: Case) -> bool:
    """True iff the limit lies within the relative offset of the value, by the sign of the boundary equation.

    The phase of a = z^{τ−1}(1 − z)(z − β) vanishes at the limit and grows with the angle, as |a| does: so an angle
    whose phase is negative (positive) has a modulus below (above) the limit. Angles are found by halving; without
    delay the limit is met at π, and the upper one lies just beyond it.
    """
    delay, momentum = case
    lower, upper = Fraction(0), Fraction(22, 7) / (2 * delay + 1)
    while upper - lower > OFFSET * upper / 16:
        middle = (lower + upper) / 2
        lower, upper = (middle, upper) if _phase(middle, delay, momentum) < 0 else (lower, middle)
    tolerance = exact_ball(value * OFFSET)
    near = all(abs(_modulus(angle, momentum) - exact_ball(value)) < tolerance for angle in (lower, upper))
    return bool(_phase(lower, delay, momentum) < 0 and _phase(upper, delay, momentum) > 0 and near)


def _phase(angle: Fraction, delay: int, momentum: Fraction) -> arb:
    turned, factor = exact_ball(angle), exact_ball(momentum)
    argument = (factor * turned.sin() / (1 - factor * turned.cos())).atan()
    return (2 * delay + 1) * turned / 2 + argument - arb.pi() / 2


def _modulus(angle: Fraction, momentum: Fraction) -> arb:
    turned, factor = exact_ball(angle), exact_ball(momentum)
    chord = (2 - 2 * turned.cos()).sqrt()
    return chord * (1 - 2 * factor * turned.cos() + factor**2).sqrt()


def recursion_check(_profile: Profile, *, label: str) -> Outcome:
    """`simulated`: the recursion decays 1 % below the limit and grows 1 % above it."""
    simulated = [case for case in cases(label) if case[1] in SIMULATED_MOMENTA]
    decays = [growth(float(limit(label, case)) * (1 - SIMULATED_OFFSET), case) for case in simulated]
    grows = [growth(float(limit(label, case)) * (1 + SIMULATED_OFFSET), case) for case in simulated]
    return Outcome(
        earned=max(decays) < 1 < min(grows),
        detail={"runs_count": len(decays) + len(grows), "slowest_decay": max(decays), "slowest_growth": min(grows)},
    )


def growth(step: float, case: Case) -> float:
    """Largest |x| in the last period of a run over the largest in the first."""
    delay, momentum = case[0], float(case[1])
    # The boundary root's angle is at least π(1 − β)/(2τ + 1).
    half_period = math.ceil((2 * delay + 1) / (1 - momentum))
    iterates = [1.0] * (max(delay, 1) + 1)
    for _ in range(HALF_PERIODS_COUNT * half_period):
        last = iterates[-1]
        iterates.append(last + momentum * (last - iterates[-2]) - step * iterates[-1 - delay])
    period = 2 * half_period
    return max(map(abs, iterates[-period:])) / max(map(abs, iterates[:period]))


def offset_cases(momenta: Sequence[Fraction]) -> Members:
    """Delay, momentum and a relative offset of the step from the limit."""
    return st.tuples(st.integers(0, LARGEST_DELAY), st.sampled_from(momenta), offsets())


def side_margin(delay: int, momentum: Fraction, offset: Fraction, *, label: str) -> Fraction:
    """The size of the offset if the recursion is stable exactly where it is negative, else minus the size."""
    stable = is_stable(polynomial_near(label, (delay, momentum), offset))
    return abs(offset) if stable == (offset < 0) else -abs(offset)


def _limit_checks(label: str, momenta: Sequence[Fraction]) -> dict[Grade, Check]:
    return {
        "rational": partial(schur_cohn_check, label=label),
        "ball": partial(root_balls_check, label=label),
        "property": property_check(partial(offset_cases, momenta), partial(side_margin, label=label)),
        "simulated": partial(recursion_check, label=label),
    }


EDGES: dict[str, tuple[Remark, ...]] = {
    "delayed_momentum_limit": (Edge("momentum < 1", {"delay": 0, "momentum": 1}),),
}
"""Points just beyond the conditions of these statements."""

CHECKS: dict[str, dict[Grade, Check]] = {
    "delayed_descent_limit": _limit_checks("delayed_descent_limit", MOMENTA[:1]),
    "delayed_momentum_limit": _limit_checks("delayed_momentum_limit", MOMENTA),
}
"""Every check of these statements, by label and grade."""
