"""What evidence is there that delay and residual together change nothing in the virtual iterate, besides derivations?

Exact runs with arbitrary arrivals and compressors. Ours.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction

from hypothesis import strategies as st

from sparsync.theory.statements import STATEMENTS
from sparsync.verify.tools.outcome import Check, Grade
from sparsync.verify.tools.properties import Members, property_check


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


CHECKS: dict[str, dict[Grade, Check]] = {
    "delayed_virtual_iterate": {"property": property_check(arrivals, identity_margin)}
}
"""Every check of these statements, by label and grade."""
