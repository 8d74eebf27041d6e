"""What evidence is there for the wait at a planned barrier of any number of workers, besides its derivation?

The sweep over their times, on listed and on drawn durations. Ours.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations_with_replacement
from math import lcm, prod

from hypothesis import strategies as st

from sparsync.theory.statements import STATEMENTS
from sparsync.verify.synchronisation.elastic_barriers import swept_range
from sparsync.verify.tools.edges import Edge, Remark, Unneeded
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.tools.properties import Members, property_check

MEETING_PARTS = 10
"""Parts into which the durations between 1 and 2 are divided, and the shorter look-ahead at them."""


def meeting_range(durations: Sequence[Fraction], ahead: int) -> Fraction:
    """The smallest range of one multiple of each duration, by the sweep over all of them."""
    scale = lcm(*(duration.denominator for duration in durations))
    times = [[int(duration * scale) * k for k in range(1, ahead + 1)] for duration in durations]
    return Fraction(swept_range(times), scale)


def meeting_margin(durations: Sequence[Fraction], ahead: int) -> Fraction:
    """The power n − 1 of the bound on the wait, minus that of the wait: both are rational."""
    workers, slow = len(durations), max(durations)
    stated = STATEMENTS["zipline_waiting"].exact(
        n=workers,
        shortest_duration=min(durations),
        longest_duration=slow,
        look_ahead=ahead,
        duration_product=prod(durations) / slow,
    )
    return Fraction(str(stated ** (workers - 1))) - meeting_range(durations, ahead) ** (workers - 1)


def is_in_domain(durations: Sequence[Fraction], ahead: int) -> bool:
    """True iff the law for n workers is below the shortest duration, and the slowest ends one iteration in time."""
    workers, fast, slow = len(durations), min(durations), max(durations)
    slow_count = ahead * fast // slow
    return slow_count >= 1 and 2 ** (workers - 1) * prod(durations) / slow < workers * (1 + slow_count) * fast ** (
        workers - 1
    )


def meeting_cases() -> Members:
    """(durations, iterations ahead) of two to four workers, those that attain the bound among them."""
    duration = st.integers(12, 24).map(lambda twelfths: Fraction(twelfths, 12))
    drawn = st.tuples(st.lists(duration, min_size=2, max_size=4), st.integers(2, 24))
    attaining = st.integers(2, 24).map(lambda ahead: ([Fraction(1), 1 + Fraction(1, ahead)], ahead))
    return (drawn | attaining).filter(lambda case: is_in_domain(*case))


def meetings_check(_profile: Profile) -> Outcome:
    """`rational`: no durations on a grid break the law, for two and for three workers."""
    cases = [
        ([Fraction(1), *(1 + Fraction(part, MEETING_PARTS) for part in parts)], ahead)
        for others in (1, 2)
        for parts in combinations_with_replacement(range(MEETING_PARTS + 1), others)
        for ahead in (MEETING_PARTS, 4 * MEETING_PARTS)
    ]
    within = [case for case in cases if is_in_domain(*case)]
    wrong = [[list(map(str, durations)), ahead] for durations, ahead in within if meeting_margin(durations, ahead) < 0]
    return Outcome(earned=not wrong, detail={"meetings_count": len(within), "wrong_meetings": wrong[:3]})


EDGES: dict[str, tuple[Remark, ...]] = {
    "zipline_waiting": (
        Edge(
            "n >= 2", {"duration_product": 1, "longest_duration": 1, "look_ahead": 12, "n": 1, "shortest_duration": 1}
        ),
        Unneeded("shortest_duration <= longest_duration", "no iteration is shorter than the shortest"),
        Unneeded("duration_product >= shortest_duration**(n - 1)", "no n − 1 durations have a smaller product"),
        Unneeded(
            "duration_product <= longest_duration**(n - 2)*shortest_duration", "no durations have a larger product"
        ),
        Edge(
            "2**(n - 1)*duration_product < n*shortest_duration**(n - 1)"
            "*(floor(look_ahead*shortest_duration/longest_duration) + 1)",
            {"duration_product": 1, "longest_duration": 3, "look_ahead": 1, "n": 2, "shortest_duration": 1},
            left=lambda: meeting_range([Fraction(1), Fraction(3)], 1),
        ),
    ),
}
"""Points just beyond the conditions of these statements, and why some conditions are not needed."""

CHECKS: dict[str, dict[Grade, Check]] = {
    "zipline_waiting": {"rational": meetings_check, "property": property_check(meeting_cases, meeting_margin)}
}
"""Every check of these statements, by label and grade."""
