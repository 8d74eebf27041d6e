"""Collaborations otherwise: every set of peers that compute with times that are tried, and one integer program."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Collection, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any

from sparsync.experiments.planners.collaborations.loads import Collaboration, Peer
from sparsync.experiments.planners.plan import Plan
from tests.support.planning.oracle import Oracle

HALVINGS = 52
Bend = tuple[float, float, float]
"""Values that a peer sends or receives without a share, what a share of 1 adds, and its values per second."""


def drawn(numbers: random.Random, *, most_peers: int) -> Collaboration:
    peers = tuple(
        Peer(
            examples_per_second=numbers.choice([0.0, 1.0, 2.5, 4.0, 9.0]),
            upload=numbers.choice([0.5, 1.0, 3.0, 7.0, 20.0]),
            download=numbers.choice([0.5, 2.0, 5.0, 20.0]),
            averages=numbers.random() < 0.8,
        )
        for _ in range(numbers.randint(1, most_peers))
    )
    gradient = numbers.choice([1.0, 1.0, 0.3, 0.1])
    mean = gradient * numbers.uniform(1, len(peers)) if gradient < 1 else 1.0
    return Collaboration(peers, numbers.choice([4.0, 16.0, 64.0]), numbers.randint(3, 12), gradient, mean)


def share_loads(question: Collaboration, computing: Collection[int], place: int, share: float) -> tuple[float, float]:
    """Values that one peer sends and receives, message by message."""
    sent = received = 0.0
    for other in range(len(question.peers)):
        if other != place:
            sent += question.mean_share * share
            received += question.gradient_share * share * (other in computing)
    sent += question.gradient_share * (1 - share) * (place in computing)
    received += question.mean_share * (1 - share)
    return sent * question.parameter_count, received * question.parameter_count


def shares_within(bends: Sequence[Bend], most: float, seconds: float) -> tuple[float, float] | None:
    """The smallest and largest share within a time, or None if there is none."""
    least = 0.0
    for fixed, slope, speed in bends:
        allowed = seconds * speed - fixed
        if slope > 0:
            most = min(most, allowed / slope)
        elif slope < 0:
            least = max(least, allowed / slope)
        elif allowed < 0:
            return None
    return (least, most) if least <= most else None


def exchange_of(question: Collaboration, computing: Collection[int]) -> float:
    """The least time within which peers have shares of 1 in all, by halving."""
    if len(question.peers) == 1:
        return 0.0
    bends: list[list[Bend]] = []
    for place, peer in enumerate(question.peers):
        nothing, everything = (share_loads(question, computing, place, share) for share in (0.0, 1.0))
        speeds = (peer.upload, peer.download)
        bends.append([(less, more - less, own) for less, more, own in zip(nothing, everything, speeds, strict=True)])
    most = [float(peer.averages) for peer in question.peers]

    def is_enough(seconds: float) -> bool:
        ranges = [shares_within(*own, seconds) for own in zip(bends, most, strict=True)]
        found = [own for own in ranges if own is not None]
        return len(found) == len(ranges) and sum(own[0] for own in found) <= 1 <= sum(own[1] for own in found)

    slowest = min(min(peer.upload, peer.download) for peer in question.peers)
    below, above = 0.0, 3 * len(question.peers) * question.mean_share * question.parameter_count / slowest
    for _ in range(HALVINGS):
        middle = (below + above) / 2
        below, above = (below, middle) if is_enough(middle) else (middle, above)
    return above


def least_of_all(question: Collaboration) -> float | None:
    able = [place for place, peer in enumerate(question.peers) if peer.examples_per_second]
    if not able or (len(question.peers) > 1 and not any(peer.averages for peer in question.peers)):
        return None
    return min(
        max(
            question.target_batch / sum(question.peers[place].examples_per_second for place in computing),
            exchange_of(question, computing),
        )
        for count in range(1, len(able) + 1)
        for computing in itertools.combinations(able, count)
    )


def by_program(question: Collaboration) -> float | None:
    """The largest number of updates per second; what each who computes sends to each is a variable of its own."""
    cvxpy: Any = import_module("cvxpy")

    peers, count = question.peers, len(question.peers)
    computes, parts = cvxpy.Variable(count, boolean=True), cvxpy.Variable(count, nonneg=True)
    raw, rate = cvxpy.Variable((count, count), nonneg=True), cvxpy.Variable()
    able = [peer.examples_per_second for peer in peers]
    constraints = [rate * question.target_batch <= computes @ able, computes.sum() >= 1]
    constraints += [computes[place] == 0 for place, speed in enumerate(able) if not speed]
    if count > 1:
        constraints.append(parts.sum() == rate * question.parameter_count)
        # Nobody averages more per second than what it sends, or what all links can carry.
        most = sum(peer.upload + peer.download for peer in peers) / question.gradient_share
        for place, peer in enumerate(peers):
            others = [other for other in range(count) if other != place]
            constraints += [raw[place, other] >= parts[other] - most * (1 - computes[place]) for other in others]
            sent = question.gradient_share * raw[place, others].sum()
            received = question.gradient_share * raw[others, place].sum()
            means = question.mean_share * parts[others].sum()
            constraints += [sent + (count - 1) * question.mean_share * parts[place] <= peer.upload]
            constraints += [received + means <= peer.download]
            constraints += [] if peer.averages else [parts[place] == 0]
    program = cvxpy.Problem(cvxpy.Maximize(rate), constraints)
    program.solve(solver=cvxpy.HIGHS)
    if program.status == cvxpy.INFEASIBLE or (program.status == cvxpy.OPTIMAL and program.value < 1e-9):
        return None
    assert program.status == cvxpy.OPTIMAL, program.status
    return 1 / float(program.value)


def objective_of(question: Collaboration, plan: Plan) -> float:
    computing, shares, parts = (plan.choice[name] for name in ("computing", "shares", "parts"))
    assert isinstance(computing, list)
    assert isinstance(shares, list)
    assert isinstance(parts, list)
    assert math.isclose(sum(shares), 1, rel_tol=1e-12)
    assert sum(parts) == question.parameter_count
    has_part = [bool(share or part) for share, part in zip(shares, parts, strict=True)]
    assert len(shares) == 1 or all(
        peer.averages for peer, averages in zip(question.peers, has_part, strict=True) if averages
    )
    assert min(shares) >= 0
    assert min(parts) >= 0
    ends = [question.target_batch / sum(question.peers[place].examples_per_second for place in computing)]
    for place, (share, peer) in enumerate(zip(shares, question.peers, strict=True)):
        if len(shares) > 1:
            sent, received = share_loads(question, computing, place, share)
            ends += [sent / peer.upload, received / peer.download]
    return max(ends)


def more(question: Collaboration, numbers: random.Random) -> Collaboration:
    """A peer has a faster link, computes faster, or can be sent to; or what travels is less."""
    place = numbers.randrange(len(question.peers))
    peer = question.peers[place]
    better = [
        replace(peer, upload=1.5 * peer.upload),
        replace(peer, download=1.5 * peer.download),
        replace(peer, examples_per_second=peer.examples_per_second + 1),
        replace(peer, averages=True),
    ]
    peers = list(question.peers)
    peers[place] = numbers.choice(better)
    if numbers.random() < 0.2:
        return replace(question, gradient_share=question.gradient_share / 2, mean_share=question.mean_share / 2)
    return replace(question, peers=tuple(peers))


ORACLE = Oracle(
    small=lambda numbers: drawn(numbers, most_peers=4),
    brute=least_of_all,
    medium=lambda numbers: drawn(numbers, most_peers=5),
    program=by_program,
    objective_of=objective_of,
    more=more,
)
"""What the planner `dedloc` is held to."""
