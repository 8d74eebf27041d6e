"""What evidence is there for the time of updates that wait for examples, besides its derivation?

Every report of a few workers in the order of time, in exact fractions: listed rates, batches and targets, and drawn
ones; those that come as near as one likes to the bound among them. Ours.
"""

import heapq
from collections.abc import Sequence
from fractions import Fraction
from itertools import product

from hypothesis import strategies as st

from sparsync.theory.language.symbols import largest_batch, target_batch
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.delay.late_runs import assumed_share
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.tools.properties import Members, property_check

RATES = (Fraction(1), Fraction(2), Fraction(3, 7))
BATCHES = (Fraction(1), Fraction(3))
TARGETS = (Fraction(1, 2), Fraction(4), Fraction(9, 2))
UPDATES = 5
MOST_LISTED = 3
"""Workers up to which all rates and batches are listed."""

Worker = tuple[Fraction, Fraction]
"""Examples of a report, and examples per unit of time."""


def update_times(workers: Sequence[Worker], target: Fraction, updates: int) -> list[Fraction]:
    """When the updates are made; of reports at the same time the first worker's comes first."""
    due = [(batch / rate, number) for number, (batch, rate) in enumerate(workers)]
    heapq.heapify(due)
    times: list[Fraction] = []
    seen = Fraction(0)
    while len(times) < updates:
        now, number = due[0]
        batch, rate = workers[number]
        heapq.heapreplace(due, (now + batch / rate, number))
        seen += batch
        if seen >= target:
            times.append(now)
            seen = Fraction(0)
    return times


def time_margin(workers: Sequence[Worker], target: Fraction, updates: int) -> Fraction:
    """The least of the bounds on the times of the updates minus these, and of the times minus TB/R."""
    rate = sum((own for _, own in workers), Fraction(0))
    margins = []
    label = "accumulation_time"
    due = target * assumed_share(label, "due", target_batch)
    largest = max(batch for batch, _ in workers) / assumed_share(label, "largest_report", largest_batch)
    for number, time in enumerate(update_times(workers, due, updates), start=1):
        bound = STATEMENTS[label].fraction(
            n=len(workers),
            T=number,
            target_batch=target,
            largest_batch=largest,
            total_rate=rate,
        )
        margins += [bound - time, time - number * target / rate]
    return min(margins)


def close_case(count: int, rounds: int, excess: Fraction) -> tuple[list[Worker], Fraction, int]:
    """Equal workers whose first update has its last report a round later than if they had reported one by one."""
    return [(Fraction(1), Fraction(1))] * count, count * (rounds - 1) + excess, 1


def listed_check(_profile: Profile) -> Outcome:
    """`rational`: no update of listed workers is later than stated, or sooner than TB/R."""
    cases = [
        (list(workers), target, UPDATES)
        for count in range(1, MOST_LISTED + 1)
        for workers in product(product(BATCHES, RATES), repeat=count)
        for target in TARGETS
    ]
    cases += [close_case(count, 6, Fraction(1, 100)) for count in range(1, 9)]
    margins = [time_margin(*case) for case in cases]
    return Outcome(earned=min(margins) >= 0, detail={"cases_count": len(cases), "smallest_margin": str(min(margins))})


def worker_cases() -> Members:
    """(workers, target, updates), those that come near the bound among them."""
    quarters = st.integers(1, 20).map(lambda count: Fraction(count, 4))
    workers = st.lists(st.tuples(quarters, quarters), min_size=1, max_size=5)
    drawn = st.tuples(workers, st.integers(1, 60).map(lambda count: Fraction(count, 3)), st.integers(1, 6))
    close = st.tuples(st.integers(1, 6), st.integers(1, 8)).map(lambda case: close_case(*case, Fraction(1, 1000)))
    return drawn | close


CHECKS: dict[str, dict[Grade, Check]] = {
    "accumulation_time": {"rational": listed_check, "property": property_check(worker_cases, time_margin)},
}
"""Every check of this statement, by grade."""
