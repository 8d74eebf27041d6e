"""What evidence is there for the time of shared batches, for what devices waste, and for greedy divisions?

Parts that are best, and any others, take what they take, whole examples are given one by one, idle steps are counted
device by device, and all divisions of a few devices are gone through; in exact fractions. Ours.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import product

from hypothesis import strategies as st

from sparsync.theory.statements import STATEMENTS
from sparsync.verify.tools.edges import Edge, Remark
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.tools.properties import Members, property_check

Worker = tuple[Fraction, Fraction, Fraction]
"""Fixed time, time of an example, and examples that take no longer than one."""
Device = tuple[int, Fraction, int]
"""How many there are, steps per unit of time of one, and places for logical workers on one."""
LISTED_WORKERS: tuple[Worker, ...] = tuple(
    product((Fraction(0), Fraction(3, 2)), (Fraction(1), Fraction(2, 3)), (Fraction(1), Fraction(3)))
)
SLOW_AND_FAST = (Fraction(0), Fraction(8), Fraction(0)), (Fraction(0), Fraction(1, 9), Fraction(0))
"""Two of whom the first takes longest for the one example that it begins with."""
LISTED_DEVICES: tuple[Device, ...] = tuple(product((1, 3), (Fraction(1), Fraction(5, 2)), (0, 1, 4)))
LISTED_FALLS = ((3, 1, 0, 0), (2, 2, 2, 2), (5, 0, 0, 0), (1, 1, 1, 0))
"""Gains from the first, second, … device, which never increase."""


def seconds(worker: Worker, batch: Fraction | int) -> Fraction:
    """c + m·max(b, x)."""
    fixed, slope, flat = worker
    return fixed + slope * max(Fraction(batch), Fraction(flat))


def least_parts_time(workers: Sequence[Worker], total: int) -> Fraction:
    """When parts of examples are done: all have what fits into the longest flat piece, and share the rest by speed."""
    longest = max(seconds(worker, 0) for worker in workers)
    rest = total - sum(((longest - fixed) / slope for fixed, slope, _ in workers), Fraction(0))
    return longest + max(rest, Fraction(0)) / sum((1 / slope for _, slope, _ in workers), Fraction(0))


def greedy_time(workers: Sequence[Worker], total: int) -> Fraction:
    """When all are done if each has one example, and each other goes to the first who would finish it first."""
    batches = [1] * len(workers)
    for _ in range(total - len(workers)):
        ends = [seconds(worker, batch + 1) for worker, batch in zip(workers, batches, strict=True)]
        batches[ends.index(min(ends))] += 1
    return max(seconds(worker, batch) for worker, batch in zip(workers, batches, strict=True))


def numbers_of(workers: Sequence[Worker], total: int) -> dict[str, Fraction | int]:
    """F, R, A and B."""
    return {
        "flat_time": max(fixed + slope * flat for fixed, slope, flat in workers),
        "total_rate": sum((1 / slope for _, slope, _ in workers), Fraction(0)),
        "fixed_examples": sum((fixed / slope for fixed, slope, _ in workers), Fraction(0)),
        "total_batch": total,
    }


def parts_seconds(workers: Sequence[Worker], weights: Sequence[Fraction | int], total: int) -> Fraction:
    """When all are done, of parts in the proportion of the weights."""
    parts = [Fraction(weight) * total / sum(weights) for weight in weights]
    return max(seconds(worker, part) for worker, part in zip(workers, parts, strict=True))


def flat_margin(workers: Sequence[Worker], total: int, weights: Sequence[int]) -> Fraction:
    """Minus the distance of the time of the best parts from the statement's, or what any others take longer, if less.

    The best are in the proportion of what each worker finishes until the least time.
    """
    time = least_parts_time(workers, total)
    rooms = [(time - fixed) / slope for fixed, slope, _ in workers]
    stated = STATEMENTS["flat_split_time"].fraction(**numbers_of(workers, total))
    return min(-abs(parts_seconds(workers, rooms, total) - stated), parts_seconds(workers, weights, total) - stated)


def flat_greedy_margin(workers: Sequence[Worker], total: int) -> Fraction:
    """The bound minus the greedy time, or that minus the time of parts, if that is less.

    Flat pieces that are shorter than is assumed are as long as is assumed.
    """
    least = Fraction(str(STATEMENTS["flat_greedy_time"].given("flat_piece")))
    those = [(fixed, slope, max(flat, least)) for fixed, slope, flat in workers]
    stated = STATEMENTS["flat_greedy_time"].fraction(n=len(those), **numbers_of(those, total))
    greedy = greedy_time(those, total)
    return min(stated - greedy, greedy - least_parts_time(those, total))


def wasted(devices: Sequence[Device], logical_count: int) -> tuple[Fraction, Fraction]:
    """A step's time, and steps that devices could have done meanwhile, counted one by one, per unit of time.

    Logical workers fill the places of one device after the other.
    """
    time = max(places / speed for _, speed, places in devices)
    left, idle = logical_count, Fraction(0)
    for count, speed, places in devices:
        for _ in range(count):
            hosted = min(left, places)
            left -= hosted
            idle += speed * time - hosted
    return time, idle / time


def placement_margin(devices: Sequence[Device], logical_count: int) -> Fraction:
    """Minus the difference of what is wasted from the statement's."""
    time, idle = wasted(devices, logical_count)
    capability = sum((count * speed for count, speed, _ in devices), Fraction(0))
    stated = STATEMENTS["placement_waste"].fraction(
        overload=time, total_capability=capability, logical_count=logical_count
    )
    return -abs(idle - stated)


def greedy_sum(falls: Sequence[Sequence[int]], device_count: int) -> int:
    """What jobs gain if each device goes where it gains most, to the first of equals."""
    held, gained = [0] * len(falls), 0
    for _ in range(device_count):
        gains = [own[count] for own, count in zip(falls, held, strict=True)]
        gained += max(gains)
        held[gains.index(max(gains))] += 1
    return gained


def best_sum(falls: Sequence[Sequence[int]], device_count: int) -> int:
    """The most over all divisions."""
    divisions = product(range(device_count + 1), repeat=len(falls))
    return max(
        sum(sum(own[:count]) for own, count in zip(falls, division, strict=True))
        for division in divisions
        if sum(division) == device_count
    )


def gains_margin(falls: Sequence[Sequence[int]], device_count: int) -> Fraction:
    """Minus the difference of the greedy sum from the statement's."""
    stated = STATEMENTS["marginal_gains"].fraction(best_gain=best_sum(falls, device_count))
    return -abs(greedy_sum(falls, device_count) - stated)


def _counted(margins: Sequence[Fraction]) -> Outcome:
    """Earned where none is below 0."""
    return Outcome(
        earned=bool(margins) and min(margins) >= 0,
        detail={"cases_count": len(margins), "smallest_margin": str(min(margins))},
    )


def flat_check(_profile: Profile) -> Outcome:
    """`rational`: all pairs of listed workers, from batches within flat pieces to many times that."""
    return _counted(
        [
            flat_margin(pair, total, weights)
            for pair in product(LISTED_WORKERS, repeat=2)
            for total in (1, 2, 5, 9, 40)
            for weights in ((1, 1), (3, 2))
        ]
    )


def flat_greedy_check(_profile: Profile) -> Outcome:
    """`rational`: pairs of listed workers, two whose flat pieces are the shortest, and equal ones that attain it."""
    pairs = product(LISTED_WORKERS, repeat=2)
    equal = [
        -abs(flat_greedy_margin([(Fraction(0), Fraction(1, 3), Fraction(1))] * count, rounds * count + 1))
        for count, rounds in product(range(1, 5), range(1, 4))
    ]
    listed = [(pair, total) for pair in (*pairs, SLOW_AND_FAST) for total in (2, 3, 7, 12)]
    return _counted([*equal, *(flat_greedy_margin(*case) for case in listed)])


def placement_check(_profile: Profile) -> Outcome:
    """`rational`: all pairs of listed types, with every number of logical workers that has places."""
    return _counted(
        [
            placement_margin(pair, count)
            for pair in product(LISTED_DEVICES, repeat=2)
            for count in range(1, sum(devices * places for devices, _, places in pair) + 1)
        ]
    )


def gains_check(_profile: Profile) -> Outcome:
    """`rational`: three jobs with listed gains, and up to four devices."""
    return _counted([gains_margin(falls, count) for falls in product(LISTED_FALLS, repeat=3) for count in range(1, 5)])


QUARTERS = st.integers(0, 12).map(lambda quarters: Fraction(quarters, 4))
SLOPES = st.integers(1, 9).map(lambda thirds: Fraction(thirds, 3))


def worker_cases() -> Members:
    """(workers, examples, at least one each)."""
    flat = st.integers(1, 5).map(Fraction)
    workers = st.lists(st.tuples(QUARTERS, SLOPES, flat), min_size=1, max_size=5)
    return workers.flatmap(lambda found: st.tuples(st.just(found), st.integers(len(found), 40)))


def parts_cases() -> Members:
    """The same, with the weights of any parts."""
    return worker_cases().flatmap(
        lambda case: st.tuples(
            st.just(case[0]),
            st.just(case[1]),
            st.lists(st.integers(1, 9), min_size=len(case[0]), max_size=len(case[0])),
        )
    )


def greedy_cases() -> Members:
    """The same, and a slow worker with a fast one, both with the shortest flat pieces."""
    return worker_cases() | st.tuples(st.just(SLOW_AND_FAST), st.integers(2, 9))


def placement_cases() -> Members:
    """(devices, logical workers that they have places for)."""
    device = st.tuples(st.integers(1, 4), SLOPES, st.integers(0, 5))
    devices = st.lists(device, min_size=1, max_size=4).filter(lambda found: any(places for _, _, places in found))
    return devices.flatmap(
        lambda found: st.tuples(st.just(found), st.integers(1, sum(count * places for count, _, places in found)))
    )


def gain_cases() -> Members:
    """(gains of each job from its first, second, … device, devices)."""
    falls = st.lists(st.integers(0, 9), min_size=4, max_size=4).map(lambda gains: sorted(gains, reverse=True))
    return st.tuples(st.lists(falls, min_size=1, max_size=4), st.integers(1, 4))


EDGES: dict[str, tuple[Remark, ...]] = {
    # Fewer places than logical workers: less than nothing would be wasted.
    "placement_waste": (
        Edge(
            "overload*total_capability >= logical_count",
            {"overload": Fraction(31, 16), "total_capability": 4, "logical_count": 8},
        ),
    ),
}
"""Points just beyond the conditions of these statements."""

CHECKS: dict[str, dict[Grade, Check]] = {
    "flat_split_time": {"rational": flat_check, "property": property_check(parts_cases, flat_margin)},
    "flat_greedy_time": {"rational": flat_greedy_check, "property": property_check(greedy_cases, flat_greedy_margin)},
    "placement_waste": {"rational": placement_check, "property": property_check(placement_cases, placement_margin)},
    "marginal_gains": {"rational": gains_check, "property": property_check(gain_cases, gains_margin)},
}
"""Every check of these statements, by label and grade."""
