"""What do peers send and receive, and how long does an update take, if some compute and each averages a share?

Peers accumulate gradients to a target batch, while the vectors of the last batch are averaged: an update takes the
larger of B/Σ_{i∈C} s_i, C those who compute, and of the exchange. Peer i averages the share w_i of P parameters. With α
and β the parts of P that a gradient and the mean have as they travel (both 1 if nothing is left out), and m = |C|,

    it sends     α(1 − w_i) if it computes, and (n − 1)βw_i of means to all others;
    it receives  β(1 − w_i) of means, and αw_i from each other peer that computes.

Each part is averaged by one peer, and goes to all.

Source: the setting is that of Diskin et al. 2021 (DeDLOC), which was not read; the loads are ours.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from sparsync.experiments.engine.addition import sum_in_order
from sparsync.experiments.engine.counts import require_count
from sparsync.experiments.planners.collaborations.links import Link, level_shares


@dataclass(frozen=True)
class Peer:
    """One of a collaboration.

    Args:
        examples_per_second: on which it computes gradients; 0 where it has nothing to compute with.
        upload: parameters' worth of values that it sends per second.
        download: the same that it receives.
        averages: whether others can send to it; otherwise it is a client, and averages nothing.
    """

    examples_per_second: float
    upload: float
    download: float
    averages: bool = True

    def __post_init__(self) -> None:
        if not 0 <= self.examples_per_second < math.inf:
            raise ValueError(f"examples_per_second must be finite and at least 0, got {self.examples_per_second}")
        for name, value in (("upload", self.upload), ("download", self.download)):
            if not 0 < value < math.inf:
                raise ValueError(f"{name} must be positive and finite, got {value}")


@dataclass(frozen=True)
class Collaboration:
    """What is asked.

    Args:
        peers: who there is.
        target_batch: B, examples of an update.
        parameter_count: P.
        gradient_share: α, the part of P values that one gradient has as it travels.
        mean_share: β ≥ α, the same of the mean.
    """

    peers: tuple[Peer, ...]
    target_batch: float
    parameter_count: int
    gradient_share: float = 1.0
    mean_share: float = 1.0

    def __post_init__(self) -> None:
        require_count("parameter_count", self.parameter_count, least=1)
        if not self.peers:
            raise ValueError(f"a target of {self.target_batch} examples needs a peer, got none")
        if not 0 < self.target_batch < math.inf:
            raise ValueError(f"target_batch must be positive and finite, got {self.target_batch}")
        if not 0 < self.gradient_share <= self.mean_share < math.inf:
            raise ValueError(f"0 < gradient_share ≤ mean_share, got {self.gradient_share} and {self.mean_share}")


def sparse_shares(density: float, peer_count: int, *, entry_values: float = 2.0) -> tuple[float, float]:
    """α = min(1, eκ) and β = min(1, nα): gradients with nothing in common; a mean travels whole where that is less.

    Args:
        density: κ in (0, 1].
        peer_count: n.
        entry_values: e ≥ 1, values that cost as much as one entry with its index.

    Raises:
        ValueError: the density, the number of peers or the cost is out of its range.
    """
    require_count("peer_count", peer_count, least=1)
    if not 0 < density <= 1 or not 1 <= entry_values < math.inf:
        raise ValueError(f"0 < density ≤ 1 ≤ entry_values, got {density} and {entry_values}")
    gradient = min(1.0, entry_values * density)
    return gradient, min(1.0, peer_count * gradient)


def link(question: Collaboration, peer: Peer, *, computes: bool, computing_count: int) -> Link:
    """What a peer's exchange takes by its share, where it computes or does not, and so many do in all.

    Raises:
        ValueError: more seconds than a double holds.
    """
    own, others = float(computes), len(question.peers) - 1
    gradient, mean = question.gradient_share, question.mean_share
    up, down = question.parameter_count / peer.upload, question.parameter_count / peer.download
    if not max(up, down) * max(others * mean, computing_count * gradient) < math.inf:
        raise ValueError(
            f"{question.parameter_count} parameters take longer than a double holds over a link of "
            f"{peer.upload} up and {peer.download} down"
        )
    sends = (up * own * gradient, up * (others * mean - own * gradient))
    receives = (down * mean, down * ((computing_count - own) * gradient - mean))
    return Link(sends, receives, peer.averages)


def links(question: Collaboration, computing: AbstractSet[int]) -> list[Link]:
    """Of all peers, where these compute."""
    return [
        link(question, peer, computes=place in computing, computing_count=len(computing))
        for place, peer in enumerate(question.peers)
    ]


def compute_seconds(question: Collaboration, computing: AbstractSet[int]) -> float:
    """B/Σ s_i.

    Raises:
        ValueError: there is no such peer, none of them computes, or it takes more seconds than a double holds.
    """
    if unknown := sorted(place for place in computing if not 0 <= place < len(question.peers)):
        raise ValueError(f"there are {len(question.peers)} peers, none at {unknown}")
    speed = sum_in_order(question.peers[place].examples_per_second for place in sorted(computing))
    seconds = question.target_batch / speed if speed else math.inf
    if seconds == math.inf:
        raise ValueError(
            f"peers {sorted(computing)}, of {speed} examples per second, never have {question.target_batch}"
        )
    return seconds


def exchange_shares(question: Collaboration, computing: AbstractSet[int]) -> list[float]:
    """Shares of the least largest time; one peer alone has all."""
    return [1.0] if len(question.peers) == 1 else level_shares(links(question, computing))


def exchange_seconds(question: Collaboration, computing: AbstractSet[int], shares: Sequence[float]) -> float:
    """Of the slowest peer; 0 for one alone."""
    if len(question.peers) == 1:
        return 0.0
    return max(link.seconds(share) for link, share in zip(links(question, computing), shares, strict=True))


def update_seconds(question: Collaboration, computing: AbstractSet[int]) -> float:
    """The larger of computing and of the exchange, if just these compute."""
    exchange = exchange_seconds(question, computing, exchange_shares(question, computing))
    return max(compute_seconds(question, computing), exchange)
