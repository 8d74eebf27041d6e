"""What evidence is there for the reports and the time until a growing group holds all, besides their derivations?

Every report of a few workers in the order of time, in exact fractions: equal workers, which attain the bound on the
time, listed durations, and drawn ones. Ours.
"""

import heapq
from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from math import lcm

from hypothesis import strategies as st

from sparsync.theory.language.symbols import longest_duration
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.delay.late_runs import assumed_share
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.tools.properties import Members, property_check

LARGEST_EQUAL = 8
"""Equal workers up to which the time is compared with the bound."""
LISTED_DURATIONS = (Fraction(1), Fraction(2, 5), Fraction(1, 7))
LISTED_WORKERS = (2, 3, 4)
LISTED_GROWTHS = (1, 2, 5)

Durations = Sequence[Sequence[Fraction]]
"""By worker; the steps of one take them in turn, again and again."""


def until_whole(durations: Durations, growth: int) -> tuple[Fraction, int]:
    """The time from which an update waits for all workers, and the reports that were added before.

    Of reports at the same time the first worker's comes first.
    """
    count = len(durations)
    steps = [0] * count
    due = [(own[0], worker) for worker, own in enumerate(durations)]
    heapq.heapify(due)
    waiting: list[int] = []
    now, added, version = Fraction(0), 0, 0
    while 1 + version // growth < count:
        now, worker = heapq.heappop(due)
        waiting.append(worker)
        if len(waiting) == 1 + version // growth:
            version, added = version + 1, added + len(waiting)
            for freed in waiting:
                steps[freed] += 1
                heapq.heappush(due, (now + durations[freed][steps[freed] % len(durations[freed])], freed))
            waiting = []
    return now, added


def reports_margin(durations: Durations, growth: int) -> Fraction:
    """Minus the difference of the reports from the statement's number."""
    stated = STATEMENTS["switch_reports"].fraction(n=len(durations), growth=growth)
    return -abs(until_whole(durations, growth)[1] - stated)


def time_margin(durations: Durations, growth: int) -> Fraction:
    """The bound on the time minus the time, or the time minus what must pass, if that is less."""
    values = [value for own in durations for value in own]
    longest = max(values) / assumed_share("switch_time", "longest", longest_duration)
    stated = STATEMENTS["switch_time"].fraction(n=len(durations), growth=growth, longest_duration=longest)
    time, _ = until_whole(durations, growth)
    return min(stated - time, time - min(values) * growth * (len(durations) - 1) / 2)


def equal_case(count: int) -> tuple[Durations, int]:
    """Equal workers, and a growth that every ⌊n/K⌋ divides."""
    return [[Fraction(1)]] * count, lcm(*(count // size for size in range(1, count + 1)))


def listed_cases() -> list[tuple[Durations, int]]:
    """Workers of all listed durations, the first with two that take turns."""
    return [
        ([[*own[:1], Fraction(1, 2)], *([value] for value in own[1:])], growth)
        for count in LISTED_WORKERS
        for own in product(LISTED_DURATIONS, repeat=count)
        for growth in LISTED_GROWTHS
    ]


def reports_check(_profile: Profile) -> Outcome:
    """`rational`: the number of reports is the statement's."""
    cases = [*listed_cases(), *(equal_case(count) for count in range(1, LARGEST_EQUAL + 1))]
    wrong = [growth for durations, growth in cases if reports_margin(durations, growth)]
    return Outcome(earned=not wrong, detail={"cases_count": len(cases), "wrong_growths": wrong[:3]})


def time_check(_profile: Profile) -> Outcome:
    """`rational`: no listed time is above the bound, and equal workers attain it."""
    margins = [time_margin(*case) for case in listed_cases()]
    equal = [equal_case(count) for count in range(1, LARGEST_EQUAL + 1)]
    attained = [
        until_whole(*case)[0] == STATEMENTS["switch_time"].fraction(n=len(case[0]), growth=case[1], longest_duration=1)
        for case in equal
    ]
    return Outcome(
        earned=min(margins) >= 0 and all(attained),
        detail={"cases_count": len(margins) + len(attained), "smallest_margin": str(min(margins))},
    )


def worker_cases() -> Members:
    """(durations, growth), equal workers among them."""
    value = st.integers(1, 12).map(lambda twelfths: Fraction(twelfths, 12))
    own = st.lists(value, min_size=1, max_size=3)
    drawn = st.tuples(st.lists(own, min_size=2, max_size=6), st.integers(1, 6))
    return drawn | st.integers(2, 6).map(equal_case)


CHECKS: dict[str, dict[Grade, Check]] = {
    "switch_reports": {"rational": reports_check, "property": property_check(worker_cases, reports_margin)},
    "switch_time": {"rational": time_check, "property": property_check(worker_cases, time_margin)},
}
"""Every check of these statements, by label and grade."""
