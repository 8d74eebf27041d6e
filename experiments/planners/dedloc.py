"""Who computes and who averages in a collaboration of unequal peers, so that an update is due as soon as can be?

The objective is the larger of the seconds of computing a target batch and of averaging the last one's gradients, which
run side by side; the loads are in `collaborations/loads.py`. Who computes is searched exactly. Flows in which several
peers average the same part, among which there are faster ones where not all compute, are in `collaborations/flows.py`.

Source: the setting is that of Diskin et al. 2021 (DeDLOC), which was not read; what it maximises is recalled.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

from sparsync.experiments.planners.collaborations.computing import best_computing
from sparsync.experiments.planners.collaborations.links import whole_parts
from sparsync.experiments.planners.collaborations.loads import (
    Collaboration,
    compute_seconds,
    exchange_seconds,
    exchange_shares,
    links,
    update_seconds,
)
from sparsync.experiments.planners.plan import InfeasibleError, Plan

ROUNDING = 1e-12
"""Relative, of a sum of a few hundred doubles and of the level that is found by halving."""


def plan(question: Collaboration) -> Plan:
    """Peers that compute, shares that peers average, and whole parts near to them; the parts run side by side.

    Raises:
        InfeasibleError: nobody computes, or nobody averages.
    """
    peers = question.peers
    if not any(peer.examples_per_second for peer in peers):
        raise InfeasibleError(f"examples_per_second: none of {len(peers)} peers computes")
    if len(peers) > 1 and not any(peer.averages for peer in peers):
        raise InfeasibleError(f"averages: none of {len(peers)} peers can be sent to")
    computing = best_computing(question)
    shares = exchange_shares(question, computing)
    compute, exchange = compute_seconds(question, computing), exchange_seconds(question, computing, shares)
    parts = whole_parts(links(question, computing), question.parameter_count) if len(peers) > 1 else []
    return Plan(
        planner="dedloc",
        choice={"computing": sorted(computing), "shares": shares, "parts": parts or [question.parameter_count]},
        objective=max(compute, exchange),
        parts={"compute": compute, "exchange": exchange},
        binding=_binding(question, computing, shares, max(compute, exchange)),
        remarks=_remarks(question),
    )


def _binding(
    question: Collaboration, computing: AbstractSet[int], shares: Sequence[float], seconds: float
) -> tuple[str, ...]:
    """Computing, if it takes all the time; and links that take all of it, if just these compute."""
    found = ["examples_per_second"] if compute_seconds(question, computing) == seconds else []
    for place, (link, share) in enumerate(zip(links(question, computing), shares, strict=True)):
        for name, (fixed, slope) in (("upload", link.sends), ("download", link.receives)):
            if len(shares) > 1 and fixed + slope * share >= seconds * (1 - ROUNDING):
                found.append(f"{name} of peer {place}")
    return tuple(found)


def _remarks(question: Collaboration) -> tuple[str, ...]:
    everybody = frozenset(place for place, peer in enumerate(question.peers) if peer.examples_per_second)
    found = [f"if all who can compute do, an update takes {update_seconds(question, everybody):.4g} s"]
    if question.mean_share < 1:
        dense = replace(question, gradient_share=1.0, mean_share=1.0)
        found.append(f"with whole gradients an update takes {plan(dense).objective:.4g} s")
    return tuple(found)
