"""What evidence is there for the statements on a fixed delay, besides their derivations?

Stability limits against the exact Schur-Cohn test and certified roots on either side of them, the best rate against
every step that a search draws, and the virtual iterate against exact runs with arbitrary arrivals and compressors.
Reports in turn are in `verify/turn_checks.py`, bounded staleness is in `verify/staleness_checks.py`. Ours.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache, partial

from flint import arb, ctx
from hypothesis import strategies as st

from sparsync.theory.statement import Statement
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.balls import PRECISION_BITS, exact_ball
from sparsync.verify.limit_cases import (
    CURVATURES,
    HALF_PERIODS_COUNT,
    LARGEST_CURVATURE,
    MOMENTA,
    OFFSET,
    SIMULATED_MOMENTA,
    SIMULATED_OFFSET,
    offsets,
)
from sparsync.verify.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.properties import Members, property_check
from sparsync.verify.root_moduli import (
    delayed_matrix_polynomial,
    delayed_polynomial,
    is_stable,
    largest_modulus,
    scaled,
)
from sparsync.verify.staleness_checks import CHECKS as STALENESS_CHECKS
from sparsync.verify.turn_checks import CHECKS as TURN_CHECKS

DELAYS = range(21)
"""The delays at which a limit is tested."""
TESTED_MOMENTUM_DELAYS = (0, 1, 2, 3, 4, 8, 16)
"""The delays at which a limit with momentum is tested."""
JOINT_DELAYS = (0, 1, 2, 4)
"""The delays at which all eigenvalues are tested at once."""
LARGEST_DELAY = 10
"""Largest delay that a search draws."""

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


def best_step(delay: int) -> Fraction:
    """τ^τ/(τ + 1)^{τ+1}."""
    return Fraction(delay**delay, (delay + 1) ** (delay + 1))


def best_rate(delay: int) -> Fraction:
    """The statement's rate, exactly."""
    return STATEMENTS["delayed_descent_rate"].fraction(delay=delay)


def double_root_check(_profile: Profile) -> Outcome:
    """`rational`: at the best step the rate is a double root, and dividing it out leaves roots strictly inside."""
    wrong = [delay for delay in DELAYS if not _is_best(delay)]
    return Outcome(earned=not wrong, detail={"delays_count": len(DELAYS), "wrong_delays": wrong})


def _is_best(delay: int) -> bool:
    polynomial = delayed_polynomial(step=best_step(delay), delay=delay)
    if delay == 0:
        return best_rate(delay) == 0 and polynomial == [0, 0, 1]
    once, first = _divide(scaled(polynomial, best_rate(delay)))
    twice, second = _divide(once)
    return first == second == 0 and is_stable(twice)


def _divide(polynomial: Sequence[Fraction]) -> tuple[list[Fraction], Fraction]:
    """Quotient and remainder on division by w − 1: the partial sums from the leading coefficient down."""
    sums: list[Fraction] = []
    for coefficient in reversed(polynomial):
        sums.append(coefficient + (sums[-1] if sums else 0))
    return list(reversed(sums[:-1])), sums[-1]


def step_cases() -> Members:
    """Delays, and steps relative to the best."""
    relative = st.fractions(min_value=0, max_value=4, max_denominator=50)
    return st.tuples(st.integers(0, LARGEST_DELAY), relative | st.just(Fraction(1)))


def rate_margin(delay: int, relative: Fraction) -> float:
    """Largest modulus minus the best rate; at the best step, where it must be zero, minus its size.

    It is the upper end of a ball, so a negative margin is certain.
    """
    with ctx.workprec(PRECISION_BITS):
        modulus = largest_modulus(delayed_polynomial(step=relative * best_step(delay), delay=delay))
        excess = modulus - exact_ball(best_rate(delay))
        return float((-abs(excess) if relative == 1 else excess).upper())


def arrivals() -> Members:
    """(step size, events): at each step a gradient, which of those under way arrive, and what is sent of the rest."""
    fraction = st.fractions(min_value=-3, max_value=3, max_denominator=8)
    event = st.tuples(fraction, st.lists(st.integers(0, 5), max_size=3), fraction)
    return st.tuples(
        st.fractions(min_value=Fraction(1, 10), max_value=1, max_denominator=10),
        st.lists(event, min_size=1, max_size=6),
    )


Event = tuple[Fraction, list[int], Fraction]
"""A gradient, positions in the queue of those that arrive, and the amount that the compressor sends."""
Virtual = Callable[..., Fraction]
"""Iterate, residual, step size, queue to the virtual iterate."""


def virtual(iterate: Fraction, residual: Fraction, step_size: Fraction, queue: Sequence[Fraction]) -> Fraction:
    """The virtual iterate of the statement."""
    return iterate - residual - step_size * sum(queue, Fraction(0))


def identity_margin(step_size: Fraction, events: Sequence[Event], *, definition: Virtual = virtual) -> Fraction:
    """Minus the largest error of the one-step identity in a run, which is exact: 0 or a counterexample."""
    iterate, residual, queue = Fraction(1), Fraction(0), list[Fraction]()
    errors = [Fraction(0)]
    for taken, positions, sent in events:
        stated = STATEMENTS["delayed_virtual_iterate"].exact(
            virtual_iterate=definition(iterate, residual, step_size, queue), step_size=step_size, gradient=taken
        )
        queue.append(taken)
        arrived = [queue.pop(position) for position in positions if position < len(queue)]
        residual += step_size * sum(arrived, Fraction(0)) - sent
        iterate -= sent
        errors.append(abs(definition(iterate, residual, step_size, queue) - Fraction(str(stated))))
    return -max(errors)


def _limit_checks(label: str, momenta: Sequence[Fraction]) -> dict[Grade, Check]:
    return {
        "rational": partial(schur_cohn_check, label=label),
        "ball": partial(root_balls_check, label=label),
        "property": property_check(partial(offset_cases, momenta), partial(side_margin, label=label)),
        "simulated": partial(recursion_check, label=label),
    }


CHECKS: dict[str, dict[Grade, Check]] = {
    "delayed_descent_limit": _limit_checks("delayed_descent_limit", MOMENTA[:1]),
    "delayed_momentum_limit": _limit_checks("delayed_momentum_limit", MOMENTA),
    "delayed_descent_rate": {
        "rational": double_root_check,
        "property": property_check(step_cases, rate_margin),
    },
    "delayed_virtual_iterate": {"property": property_check(arrivals, identity_margin)},
    **TURN_CHECKS,
    **STALENESS_CHECKS,
}
"""Every check of this family, by label and grade."""
