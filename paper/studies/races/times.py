"""When does a race reach the target, and is that surely sooner than BSP? Seed by seed, from `races.json`.

A race is there when its smoothed accuracy first crosses the target, in a straight line between two measurements. The
target is not chosen: it is the largest multiple of five points that BSP reaches in every race of its own. Policies are
compared with BSP in the same cluster, sending the same way, by the ratio of the times of each seed.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean

from paper.comparisons import ratio
from paper.results import Result
from paper.rules import RULES
from sparsync.verify.tools.intervals import Estimate, paired_difference

CLUSTERS = {"equal": "equal", "one_slow": "one slow", "pareto": "Pareto", "churn": "churn"}
"""Clusters of the study by their names in tables and figures."""
SELECTORS = {"none": RULES["dense"].title, "top_k": RULES["top_k"].title}
"""What is sent, likewise."""
REFERENCE = "bsp"
SMOOTHED = 3
"""Measurements that are averaged: one measurement has the noise of the last few steps."""
TARGET_STEP = 0.05
"""Of whose multiples the target is one."""


def runs(study: Result, policy: str, cluster: str, selector: str) -> list[Result]:
    """The repetitions of one entrant, in the order of the seeds.

    Raises:
        ValueError: the study holds none.
    """
    wanted = (policy, cluster, selector)
    found = [row for row in study.records("races") if (row["policy"], row["cluster"], row["selector"]) == wanted]
    if not found:
        raise ValueError(f"{study.path}: no race of {policy!r} in cluster {cluster!r} with selector {selector!r}")
    return sorted(found, key=lambda row: int(row["seed"]))


def policies(study: Result) -> list[str]:
    """All policies, in the order of the study."""
    return list(dict.fromkeys(str(row["policy"]) for row in study.records("races")))


def alike(study: Result, cluster: str, selector: str) -> list[list[str]]:
    """The policies in groups whose races are the same, at every measurement of every seed: as where nobody waits."""
    groups: dict[tuple[tuple[float, ...], ...], list[str]] = {}
    for policy in policies(study):
        curves = tuple(tuple(row["accuracy"]) for row in runs(study, policy, cluster, selector))
        groups.setdefault(curves, []).append(policy)
    return list(groups.values())


def repetitions(study: Result) -> int:
    """How many races an entrant has; the fewest if they differ."""
    return min(Counter((row["policy"], row["cluster"], row["selector"]) for row in study.records("races")).values())


def smoothed(values: Sequence[float]) -> list[float]:
    """The mean of each measurement and its neighbours; the ends have fewer."""
    half = SMOOTHED // 2
    return [fmean(values[max(0, place - half) : place + half + 1]) for place in range(len(values))]


def target(study: Result) -> float:
    """The test accuracy whose time is compared: see above."""
    ends = [max(smoothed(row["accuracy"])[1:]) for row in study.records("races") if row["policy"] == REFERENCE]
    # A multiple may be reached but for the rounding of a double.
    return TARGET_STEP * math.floor(min(ends) / TARGET_STEP + 1e-9)


def crossing(row: Result, accuracy: float) -> float | None:
    """At which measurement, as a number between two of them, a race is there; never before the first after the start.

    None: at none.
    """
    curve = smoothed(row["accuracy"])
    if curve[1] >= accuracy:
        return 1.0
    for place, (before, after) in enumerate(pairwise(curve[1:]), start=1):
        if after >= accuracy:
            return place + (accuracy - before) / (after - before)
    return None


def at_target(study: Result, place: tuple[str, str, str], values: str) -> list[float] | None:
    """A value of each seed when its race is there; None if one of them is not.

    Args:
        study: `races.json`.
        place: policy, cluster and selector.
        values: `seconds`, or the name of a field of a race that has a value for each measurement.
    """
    accuracy, found = target(study), []
    for row in runs(study, *place):
        crossed = crossing(row, accuracy)
        if crossed is None:
            return None
        measured = study["seconds"] if values == "seconds" else row[values]
        whole = math.floor(crossed)
        after = measured[min(whole + 1, len(measured) - 1)]
        found.append(float(measured[whole] + (crossed - whole) * (after - measured[whole])))
    return found


def reached_count(study: Result, place: tuple[str, str, str]) -> int:
    """On how many seeds an entrant is there at all."""
    accuracy = target(study)
    return sum(crossing(row, accuracy) is not None for row in runs(study, *place))


def gain(study: Result, policy: str, cluster: str, selector: str, *, over: str = REFERENCE) -> Estimate | None:
    """The logarithm of BSP's time, or another's, over a policy's, sending alike; None if one misses it on a seed."""
    return _time_ratio(study, (over, cluster, selector), (policy, cluster, selector))


def sending_gain(study: Result, policy: str, cluster: str) -> Estimate | None:
    """The logarithm of a policy's dense time over that with Top-k; None if one is not there on all seeds."""
    dense, sparse = ((policy, cluster, selector) for selector in SELECTORS)
    return _time_ratio(study, dense, sparse)


def _time_ratio(study: Result, first: tuple[str, str, str], second: tuple[str, str, str]) -> Estimate | None:
    times = at_target(study, first, "seconds"), at_target(study, second, "seconds")
    return None if times[0] is None or times[1] is None else ratio(times[0], times[1])


def mean_accuracies(study: Result, policy: str, cluster: str, selector: str) -> list[float]:
    """The accuracy of each seed in the mean over its race, its start apart: what step sizes were searched for."""
    return [fmean(row["accuracy"][1:]) for row in runs(study, policy, cluster, selector)]


def lead(study: Result, policy: str, cluster: str, selector: str) -> Estimate:
    """By how many points a policy is above BSP, in the mean over a race."""
    own, reference = (mean_accuracies(study, name, cluster, selector) for name in (policy, REFERENCE))
    return paired_difference([100 * share for share in own], [100 * share for share in reference])


def end_accuracies(study: Result, policy: str, cluster: str, selector: str) -> list[float]:
    """The smoothed accuracy at the end, by seed."""
    return [smoothed(row["accuracy"])[-1] for row in runs(study, policy, cluster, selector)]


def waiting_shares(study: Result, policy: str, cluster: str, selector: str) -> list[float]:
    """The share of the workers' time spent waiting, by seed.

    Raises:
        ValueError: one of the races diverged.
    """
    shares = [row["waiting_share"] for row in runs(study, policy, cluster, selector)]
    if None in shares:
        raise ValueError(f"{study.path}: a race of {policy!r} in cluster {cluster!r} diverged")
    return [float(share) for share in shares]


def broken_bounds(study: Result) -> dict[str, int]:
    """In how many races each policy broke a bound that its source claims; those that broke none are left out."""
    broken = [str(row["policy"]) for row in study.records("races") if row["broken_bound"] is not None]
    return {policy: broken.count(policy) for policy in dict.fromkeys(broken)}


def edge_count(study: Result) -> tuple[int, int]:
    """For how many entrants the best step size lies at an edge of the grid, and how many there are."""
    tuning = study.records("tuning")
    return sum(bool(entrant["is_at_edge"]) for entrant in tuning), len(tuning)
