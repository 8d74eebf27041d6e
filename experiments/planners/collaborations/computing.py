"""Which peers should compute? All that are worth what they send: searched exactly, for each time that is to be beaten.

Who computes sends its gradient, and has less left to average for others; so with every peer that computes an exchange
takes no less time, and computing takes less. Within a time T, let peer i have room for a share of h_i if it does not
compute, and of h_i − l_i if it does. A set that beats T has Σ s_i ≥ B/T and loses Σ l_i ≤ Σ h_i − 1 of the room: a
knapsack. Sets are gone through in the order of l_i/s_i, and left out where not even parts of peers would do. Ours.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from sparsync.experiments.engine.addition import sum_in_order
from sparsync.experiments.planners.collaborations.links import Link
from sparsync.experiments.planners.collaborations.loads import (
    Collaboration,
    compute_seconds,
    link,
    links,
    update_seconds,
)

BETTER = 1 - 4e-13
"""A time counts as beaten by this part of it or more."""
NEAR = 1 - 1e-3
"""Times are halved until so much of them is left, so that there are few steps."""
_SLACK = 1e-13
"""Relative, of sums of a few hundred doubles."""


@dataclass(frozen=True)
class Candidate:
    """Who may compute.

    Args:
        loss: of the room for shares.
        speed: examples per second.
        growth: of the least share.
        place: which peer it is.
    """

    loss: float
    speed: float
    growth: float
    place: int

    def is_no_better_than(self, other: Candidate) -> bool:
        """Whether a set that does with this one would do with the other one for it."""
        return self.loss >= other.loss and self.speed <= other.speed and self.growth >= other.growth


def by_compute(question: Collaboration) -> list[frozenset[int]]:
    """The sets that hold the fastest peers, one more each.

    The best of all need not be among them: a fast peer may have a slow uplink, and what it would send then costs more
    than it computes.
    """
    speeds = [peer.examples_per_second for peer in question.peers]
    order = sorted((place for place, speed in enumerate(speeds) if speed), key=lambda place: (-speeds[place], place))
    return [frozenset(order[:count]) for count in range(1, len(order) + 1)]


def best_computing(question: Collaboration) -> frozenset[int]:
    """Those who compute in the fastest of all plans.

    From the best of the fastest peers on, everybody among them, a set that beats the time found is looked for until
    there is none.
    """
    fastest = by_compute(question)
    # One more computes: that takes less, and an exchange more. Where they cross one of two is best.
    more = bisect_left(fastest, True, key=lambda own: update_seconds(question, own) > compute_seconds(question, own))
    tried = [(update_seconds(question, own), own) for own in fastest[max(0, more - 1) : more + 1]]
    least, best = min(tried, key=lambda found: found[0])
    everybody = frozenset(place for place, peer in enumerate(question.peers) if peer.examples_per_second)
    nobody_beats = compute_seconds(question, everybody)
    for count in range(1, len(everybody)):
        # What cannot be beaten by so few peers cannot where less time is left; first anything better is looked for.
        floor, aim = nobody_beats, least * BETTER
        while least > nobody_beats:
            better = _beating(question, count, aim)
            if better is not None:
                best, least = better, update_seconds(question, better)
            elif aim == least * BETTER:
                break
            else:
                floor = aim
            aim = (floor + least) / 2 if least * NEAR > floor else least * BETTER
    return best


def _beating(question: Collaboration, count: int, seconds: float) -> frozenset[int] | None:
    """So many peers or fewer whose update takes no longer than this, or None if there are none.

    Rooms are those where just so many compute; of fewer they are larger, and were tried before.
    """
    needed = question.target_batch / seconds * (1 - _SLACK)
    idle, busy = (
        [_shares(link(question, peer, computes=own, computing_count=count), seconds) for peer in question.peers]
        for own in (False, True)
    )
    room, forced, candidates = _SLACK - 1, list[Candidate](), list[Candidate]()
    for place, (peer, left, kept) in enumerate(zip(question.peers, idle, busy, strict=True)):
        can_compute = kept is not None and peer.examples_per_second > 0
        if left is None and not can_compute:
            return None
        room += (left or kept or (0.0, 0.0))[1]
        if kept is not None and can_compute:
            (least, most), (kept_least, kept_most) = left or kept, kept
            own = Candidate(most - kept_most, peer.examples_per_second, kept_least - least, place)
            (forced if left is None else candidates).append(own)
    candidates.sort(key=lambda own: (own.loss / own.speed, own.place))

    def is_beating(chosen: Sequence[Candidate]) -> bool:
        speed = sum_in_order(own.speed for own in chosen)
        # The rooms that are lost are not all that a link may have too little of.
        return speed >= needed and _can_exchange(question, _places(chosen), seconds)

    def search(chosen: list[Candidate], rest: Sequence[Candidate]) -> frozenset[int] | None:
        """Of those who are chosen already, and some of the rest."""
        while rest and _can_do(chosen, rest, count, needed, room):
            (first, *rest) = rest
            found = _places([*chosen, first]) if is_beating([*chosen, first]) else search([*chosen, first], rest)
            if found is not None:
                return found
            rest = [other for other in rest if not other.is_no_better_than(first)]
        return None

    return _places(forced) if is_beating(forced) else search(forced, candidates)


def _places(chosen: Sequence[Candidate]) -> frozenset[int]:
    return frozenset(own.place for own in chosen)


def _shares(own: Link, seconds: float) -> tuple[float, float] | None:
    """The smallest and the largest share within a time, or None if there is none."""
    quickest = own.quickest_share()
    if own.seconds(quickest) > seconds:
        return None
    return own.last_within(seconds, quickest, upwards=False), own.last_within(seconds, quickest, upwards=True)


def _can_exchange(question: Collaboration, computing: AbstractSet[int], seconds: float) -> bool:
    """Whether there are shares of 1 in all within a time, if these compute."""
    found = [_shares(own, seconds) for own in links(question, computing)]
    ranges = [own for own in found if own is not None]
    least, most = (sum_in_order(own[end] for own in ranges) for end in (0, 1))
    return len(ranges) == len(found) and least <= 1 + _SLACK and most >= 1 - _SLACK


def _can_do(chosen: Sequence[Candidate], rest: Sequence[Candidate], count: int, needed: float, room: float) -> bool:
    """Whether the chosen ones, with parts of others, could do: enough examples, by no more peers and in the room."""
    loss, speed = sum_in_order(own.loss for own in chosen), sum_in_order(own.speed for own in chosen)
    more = count - len(chosen)
    if more < 0 or speed + sum_in_order(heapq.nlargest(more, (own.speed for own in rest))) < needed:
        return False
    for own in rest:
        if own.loss > 0 and speed >= needed:
            break
        part = min(1.0, (needed - speed) / own.speed) if own.loss > 0 else 1.0
        loss, speed = loss + part * own.loss, speed + part * own.speed
    return loss <= room
