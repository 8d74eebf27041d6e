"""What evidence is there for buckets that are sent while others are made? A processor and a link, event by event.

Ours.
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from heapq import heappop, heappush
from itertools import pairwise, product

from hypothesis import strategies as st

from sparsync.theory.statements import STATEMENTS
from sparsync.verify.cost.farm_boundaries import first_best
from sparsync.verify.cost.farms import assumed, counted, times
from sparsync.verify.tools.edges import Edge, Remark, Unneeded
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.tools.properties import Members, property_check

Bucket = tuple[Fraction, Fraction]
"""Time to make it, and time to send it."""
GRADIENT_BYTES = Fraction(3)
"""Only the seconds that they take matter."""


def step_seconds(forward: Fraction, buckets: Sequence[Bucket]) -> Fraction:
    """A step: what ends next is made or has passed, and lets the processor or the link go on."""
    events = [(forward + buckets[0][0], "made", 0)]
    waiting: list[int] = []
    is_free, clock = True, forward
    while events:
        clock, what, place = heappop(events)
        if what == "made":
            heappush(waiting, place)
            if place + 1 < len(buckets):
                heappush(events, (clock + buckets[place + 1][0], "made", place + 1))
        else:
            is_free = True
        if is_free and waiting:
            first = heappop(waiting)
            heappush(events, (clock + buckets[first][1], "passed", first))
            is_free = False
    return clock


def equal_margin(forward: Fraction, making: Fraction, sending: Fraction, count: int) -> Fraction:
    """Minus the difference of a step with equal buckets from the statement."""
    stated = STATEMENTS["equal_buckets"].fraction(
        forward_time=forward, bucket_backward=making, bucket_sending=sending, bucket_count=count
    )
    return -abs(step_seconds(forward, [(making, sending)] * count) - stated)


def _totals(forward: Fraction, buckets: Sequence[Bucket]) -> dict[str, Fraction]:
    return {
        "forward_time": forward,
        "backward_total": sum((making for making, _ in buckets), Fraction(0)),
        "sending_total": sum((sending for _, sending in buckets), Fraction(0)),
        "first_backward": buckets[0][0],
        "last_sending": buckets[-1][1],
    }


def floor_margin(forward: Fraction, buckets: Sequence[Bucket]) -> Fraction:
    """By how much a step takes longer than it must."""
    return step_seconds(forward, buckets) - STATEMENTS["bucket_floor"].fraction(**_totals(forward, buckets))


def cap_margin(forward: Fraction, buckets: Sequence[Bucket]) -> Fraction:
    """By how much it takes less than it may."""
    mismatch = sum((abs(after[0] - before[1]) for before, after in pairwise(buckets)), Fraction(0))
    bound = STATEMENTS["bucket_cap"].fraction(mismatch_total=mismatch, **_totals(forward, buckets))
    return bound - step_seconds(forward, buckets)


def optimum_margin(backward: Fraction, latency: Fraction, sending: Fraction) -> Fraction:
    """Minus the distance of the stated best number of buckets from the best one.

    Args:
        backward: the whole backward pass.
        latency: of a bucket.
        sending: of the whole gradient, without latencies; with those of the best number not below `backward`.
    """
    stated = STATEMENTS["bucket_optimum"].fraction(**_sizes(backward, latency, sending))
    return -abs(first_best(partial(parted_seconds, backward, latency, sending), 1) - stated)


def parted_seconds(backward: Fraction, latency: Fraction, sending: Fraction, count: int) -> Fraction:
    """A step with so many equal buckets, which take what the statement assumes."""
    sizes = _sizes(backward, latency, sending)
    making = assumed("bucket_optimum", "making", **sizes, bucket_count=count)
    return step_seconds(
        Fraction(0), [(making, assumed("bucket_optimum", "sending", **sizes, bucket_count=count))] * count
    )


def _sizes(backward: Fraction, latency: Fraction, sending: Fraction) -> dict[str, Fraction]:
    return {
        "backward_total": backward,
        "message_latency": latency,
        "byte_seconds": sending / GRADIENT_BYTES,
        "gradient_bytes": GRADIENT_BYTES,
    }


LENGTHS = tuple(Fraction(length) for length in (1, 2, 5))


def equal_check(_profile: Profile) -> Outcome:
    """`rational`: one bucket and more, made or sent longer."""
    return counted([equal_margin(Fraction(3), *case) for case in product(LENGTHS, LENGTHS, (1, 2, 6))])


def floor_check(_profile: Profile) -> Outcome:
    """`rational`: up to three buckets of listed times; some attain the bound."""
    return counted([floor_margin(Fraction(1), buckets) for buckets in listed()])


def cap_check(_profile: Profile) -> Outcome:
    """`rational`: likewise."""
    return counted([cap_margin(Fraction(1), buckets) for buckets in listed()])


def optimum_check(_profile: Profile) -> Outcome:
    """`rational`: listed times, some for which two numbers are best, and some that are sent as soon as made."""
    cases = [(*case, case[0] + more) for *case, more in product((1, 6, 20, 31, 400), (1, 2), (0, 9))]
    # 31 of 36 seconds: sent without a latency, and six latencies.
    hardly = [(36, 1, 30), (31, 1, 25)]
    return counted([optimum_margin(*map(Fraction, case)) for case in (*cases, *hardly)])


def listed() -> list[list[Bucket]]:
    """Up to three buckets of listed times."""
    each = [(making, sending) for making in LENGTHS for sending in LENGTHS]
    return [list(buckets) for count in (1, 2, 3) for buckets in product(each, repeat=count)]


def equal_cases() -> Members:
    """Forward pass, making and sending a bucket, and how many."""
    return st.tuples(times(0).filter(bool), times(), times(), st.integers(1, 12))


def bucket_cases() -> Members:
    """Forward pass, and buckets."""
    return st.tuples(times(), st.lists(st.tuples(times(), times()), min_size=1, max_size=6))


def optimum_cases() -> Members:
    """A backward pass, a latency, and as long a sending or longer."""
    return st.tuples(times().map(lambda time: 3 * time), times(), times(0)).map(
        lambda case: (case[0], case[1], case[0] + case[2])
    )


_FIRST = Unneeded("first_backward <= backward_total", "no buckets are made sooner than the first of them")
_LAST = Unneeded("last_sending <= sending_total", "no buckets are sent sooner than the last of them")
_SOONER = (Fraction(17), Fraction(1, 68), Fraction(16))
"""Of a backward pass of 17 seconds and a latency of 1/68 sixty-eight buckets are sent in as long as made."""
EDGES: dict[str, tuple[Remark, ...]] = {
    "bucket_floor": (_FIRST, _LAST),
    "bucket_cap": (
        _FIRST,
        _LAST,
        Unneeded(
            "mismatch_total >= Abs(backward_total - first_backward + last_sending - sending_total)",
            "no buckets have so small a sum: |Σ x| ≤ Σ |x|",
        ),
        Unneeded(
            "mismatch_total <= backward_total - first_backward - last_sending + sending_total",
            "no buckets have so large a sum: |c − t| ≤ c + t",
        ),
    ),
    "bucket_optimum": (
        Edge(
            str(STATEMENTS["bucket_optimum"].domain[0]),
            _sizes(*_SOONER),
            lambda: first_best(partial(parted_seconds, *_SOONER), 1),
        ),
    ),
}
"""A point just beyond the condition of the optimum; beyond the others there are no buckets."""

CHECKS: dict[str, dict[Grade, Check]] = {
    "equal_buckets": {"rational": equal_check, "property": property_check(equal_cases, equal_margin)},
    "bucket_floor": {"rational": floor_check, "property": property_check(bucket_cases, floor_margin)},
    "bucket_cap": {"rational": cap_check, "property": property_check(bucket_cases, cap_margin)},
    "bucket_optimum": {"rational": optimum_check, "property": property_check(optimum_cases, optimum_margin)},
}
"""Every check of these statements, by label and grade."""
