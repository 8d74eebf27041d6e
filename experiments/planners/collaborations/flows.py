"""How fast could vectors be averaged if several peers may average the same part? A linear program over all flows.

Let a_ki be the parameters per second whose gradients peer k sends to peer i, and g_ij those whose means i sends to j.
No mean is there before the gradients of all who compute: g_ij ≤ a_ki for k ∈ C. Links carry
Σ_{j≠i}(αa_ij + βg_ij) ≤ u_i and Σ_{j≠i}(αa_ji + βg_ji) ≤ d_i. Everybody receives r = min_i Σ_j g_ji of means, which is
to be large: an update takes the larger of B/Σ_{i∈C} s_i and P/r.

Plans in which each part is averaged by one peer are among them. Others have copies: who averages a part for itself need
not receive its mean. That gains nothing where all compute and whole gradients travel (statement `butterfly_time`); it
may where some only average, or where a gradient travels as less than the mean. Whole vectors reach the rate by sums of
parts in general position, of which any r numbers give the r numbers of a mean back.

Source: the setting is that of Diskin et al. 2021 (DeDLOC), which was not read; the program is recalled, and was derived
anew.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from sparsync.experiments.planners.collaborations.loads import Collaboration, compute_seconds


@dataclass(frozen=True)
class Flows:
    """What travels in the fastest exchange.

    Args:
        rate: r, parameters per second whose means everybody receives.
        gradients: a_ki, by sender and averager.
        means: g_ij, by averager and receiver.
    """

    rate: float
    gradients: tuple[tuple[float, ...], ...]
    means: tuple[tuple[float, ...], ...]


def fastest_flows(question: Collaboration, computing: AbstractSet[int]) -> Flows:
    """The flows of the largest rate, if these compute; by HiGHS, to about nine digits.

    Raises:
        ValueError: nobody computes, there is no such peer, or one alone has nobody to exchange with.
        RuntimeError: the program was not solved.
    """
    cvxpy: Any = import_module("cvxpy")
    peers, count = question.peers, len(question.peers)
    if not computing or count == 1 or not set(range(count)).issuperset(computing):
        raise ValueError(f"flows need two peers and one that computes, got {count} and {sorted(computing)}")
    gradients, means = cvxpy.Variable((count, count), nonneg=True), cvxpy.Variable((count, count), nonneg=True)
    rate = cvxpy.Variable()
    load: Any = question.gradient_share * gradients + question.mean_share * means
    constraints = [means.sum(axis=0) >= rate]
    for place, peer in enumerate(peers):
        # What a peer gives to itself does not travel.
        others = [other for other in range(count) if other != place]
        constraints += [load[place, others].sum() <= peer.upload, load[others, place].sum() <= peer.download]
        constraints += [means[place, :] <= gradients[one, place] for one in sorted(computing)]
        # The mean of one who computes alone is its gradient, and still others have it from those who average.
        constraints += [] if peer.averages else [gradients[others, place] == 0, means[place, others] == 0]
    # Without a bound, what needs no link would be as large as one likes where nothing limits it.
    constraints.append(gradients <= sum(peer.upload + peer.download for peer in peers))
    program = cvxpy.Problem(cvxpy.Maximize(rate), constraints)
    program.solve(solver=cvxpy.HIGHS)
    if program.status != cvxpy.OPTIMAL:
        raise RuntimeError(f"the flows of {count} peers: {program.status}")
    return Flows(float(program.value), _rows(gradients.value), _rows(means.value))


def flow_seconds(question: Collaboration, computing: AbstractSet[int]) -> float:
    """The larger of computing and of the fastest exchange, if these compute.

    Raises:
        ValueError: see `fastest_flows`; or nobody averages.
    """
    if not any(peer.averages for peer in question.peers):
        raise ValueError(f"nobody of {len(question.peers)} peers averages")
    rate = fastest_flows(question, computing).rate
    return max(compute_seconds(question, computing), question.parameter_count / rate)


def _rows(values: Any) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(float(value) for value in row) for row in values)
