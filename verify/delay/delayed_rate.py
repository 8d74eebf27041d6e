"""What evidence is there for the best rate of descent with a fixed delay, besides its derivation?

The rate is a double root of the characteristic polynomial at the best step, and no step that a search draws does
better. Ours.
"""

from collections.abc import Sequence
from fractions import Fraction

from flint import ctx
from hypothesis import strategies as st

from sparsync.theory.statements import STATEMENTS
from sparsync.verify.delay.limit_cases import DELAYS, LARGEST_DELAY
from sparsync.verify.delay.root_moduli import (
    delayed_polynomial,
    is_stable,
    largest_modulus,
    scaled,
)
from sparsync.verify.tools.balls import PRECISION_BITS, exact_ball
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.tools.properties import Members, property_check


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


CHECKS: dict[str, dict[Grade, Check]] = {
    "delayed_descent_rate": {"rational": double_root_check, "property": property_check(step_cases, rate_margin)}
}
"""Every check of these statements, by label and grade."""
