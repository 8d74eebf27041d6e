"""Which peers should compute? All that are worth what they send: searched exactly, for each time that is to be beaten.

Who computes sends its gradient, and has less left to average for others; so with every peer that computes an exchange
takes no less time, and computing takes less. Within a time T, let peer i have room for a share of h_i if it does not
compute, and of h_i − l_i if it does. A set that beats T has Σ s_i ≥ B/T and loses Σ l_i ≤ Σ h_i − 1 of the room: a
knapsack. Sets are gone through in the order of l_i/s_i, and left out where not even parts of peers would do. Ours.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from sparsync.experiments.engine.addition import sum_in_order
from sparsync.experiments.planners.collaborations.links import Link
from sparsync.experiments.planners.collaborations.loads import Collaboration, compute_seconds, link, update_seconds

BETTER = 1 - 4e-13
"""A time counts as beaten by this part of it or more."""
_SLACK = 1e-13
"""Relative, of sums of a few hundred doubles."""

Candidate = tuple[float, float, int]
"""What its computing costs of the room, its examples per second, and its place."""


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

    From the best of the fastest peers on, a set that beats the time found is looked for until there is none.
    """
    least, best = min(
        ((update_seconds(question, computing), computing) for computing in by_compute(question)),
        key=lambda found: found[0],
    )
    everybody = frozenset(place for place, peer in enumerate(question.peers) if peer.examples_per_second)
    for count in range(1, len(everybody) + 1):
        # What cannot be beaten by so few peers cannot where less time is left.
        while least > compute_seconds(question, everybody):
            better = _beating(question, count, least * BETTER)
            if better is None:
                break
            best, least = better, update_seconds(question, better)
    return best


def _beating(question: Collaboration, count: int, seconds: float) -> frozenset[int] | None:
    """So many peers or fewer whose update takes no longer than this, or None if there are none.

    Rooms are those where just so many compute; of fewer they are larger, and were tried before.
    """
    needed = question.target_batch / seconds * (1 - _SLACK)
    idle, busy = (
        [_room(link(question, peer, computes=own, computing_count=count), seconds) for peer in question.peers]
        for own in (False, True)
    )
    room, forced, candidates = _SLACK - 1, list[Candidate](), list[Candidate]()
    for place, (peer, left, kept) in enumerate(zip(question.peers, idle, busy, strict=True)):
        if left is None and (kept is None or not peer.examples_per_second):
            return None
        if left is None and kept is not None:
            room += kept
            forced.append((0.0, peer.examples_per_second, place))
        elif left is not None:
            room += left
            if kept is not None and peer.examples_per_second:
                candidates.append((left - kept, peer.examples_per_second, place))
    candidates.sort(key=lambda own: (own[0] / own[1], own[2]))

    def is_beating(chosen: Sequence[Candidate]) -> bool:
        speed = sum_in_order(own for _, own, _ in chosen)
        # The rooms that are lost are not all that a link may have too little of.
        return speed >= needed and update_seconds(question, _places(chosen)) <= seconds

    def search(chosen: list[Candidate], rest: Sequence[Candidate]) -> frozenset[int] | None:
        """Of those who are chosen already, and some of the rest."""
        while rest and _can_do(chosen, rest, count, needed, room):
            (first, *rest) = rest
            found = _places([*chosen, first]) if is_beating([*chosen, first]) else search([*chosen, first], rest)
            if found is not None:
                return found
        return None

    return _places(forced) if is_beating(forced) else search(forced, candidates)


def _places(chosen: Sequence[Candidate]) -> frozenset[int]:
    return frozenset(place for _, _, place in chosen)


def _room(own: Link, seconds: float) -> float | None:
    """The largest share within a time, or None if there is none."""
    quickest = own.quickest_share()
    return own.last_within(seconds, quickest, upwards=True) if own.seconds(quickest) <= seconds else None


def _can_do(chosen: Sequence[Candidate], rest: Sequence[Candidate], count: int, needed: float, room: float) -> bool:
    """Whether the chosen ones, with parts of others, could do: enough examples, by no more peers and in the room."""
    loss, speed = sum_in_order(own for own, _, _ in chosen), sum_in_order(own for _, own, _ in chosen)
    more = count - len(chosen)
    if more < 0 or speed + sum_in_order(heapq.nlargest(more, (own for _, own, _ in rest))) < needed:
        return False
    for own_loss, own_speed, _ in rest:
        if own_loss > 0 and speed >= needed:
            break
        part = min(1.0, (needed - speed) / own_speed) if own_loss > 0 else 1.0
        loss, speed = loss + part * own_loss, speed + part * own_speed
    return loss <= room
