"""How many logical workers does each device host, so that a step of all of them is over as early as can be?

A job keeps E logical workers wherever it runs. A device of type i takes 1/C_i seconds for a step of one of them, one
after the other; so a step of the job takes f = max_i A_i/C_i where A_i is the most that a device of type i hosts: the
overload, which is the objective. A device may be left without any. In f seconds the devices could do f·Σ N_i C_i steps,
and E are needed; the rest is waste, Σ N_i C_i − E/f steps per second, whatever the placement (`placement_waste`).

Source: the setting is that of Li et al. 2022 (EasyScale), which was not read; overload and waste are those of its
public simulator, as described to us. The rule is that of `batch_planner.py`. Which job gets a device is planned in
`parts/easyscale_jobs.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from sparsync.experiments.engine.addition import sum_in_order
from sparsync.experiments.engine.counts import require_count
from sparsync.experiments.planners.batch_planner import examples_within, level_split
from sparsync.experiments.planners.plan import InfeasibleError, Plan


@dataclass(frozen=True)
class DeviceType:
    """Devices that are alike.

    Args:
        device_count: N, how many there are.
        capability: C, steps of one logical worker per second, with nobody else on the device.
        cap: the most logical workers that its memory holds; None is no limit.
    """

    device_count: int
    capability: float
    cap: int | None = None

    def __post_init__(self) -> None:
        require_count("device_count", self.device_count, least=0)
        if not 0 < self.capability < math.inf:
            raise ValueError(f"capability must be positive and finite, got {self.capability}")
        if self.cap is not None:
            require_count("cap", self.cap, least=0)

    def most(self, logical_count: int) -> int:
        """How many of so many logical workers one of these devices can host."""
        return logical_count if self.cap is None else min(self.cap, logical_count)


@dataclass(frozen=True)
class Job:
    """What is asked: where the logical workers of a job live.

    Args:
        logical_count: E, how many there are.
        types: of the devices that it has.
    """

    logical_count: int
    types: tuple[DeviceType, ...]

    def __post_init__(self) -> None:
        require_count("logical_count", self.logical_count, least=1)


def plan(question: Job) -> Plan:
    """The placement of the least overload; seconds of a step of all logical workers.

    Raises:
        InfeasibleError: the devices cannot host all.
    """
    count = question.logical_count
    held = sum(own.device_count * own.most(count) for own in question.types)
    if held < count:
        raise InfeasibleError(f"caps: all devices together host {held} of {count} logical workers")
    hosted = _hosted(question)
    capabilities = [own.capability for own in question.types]
    most = [max(own, default=0) for own in hosted]
    overload = max(one / own for one, own in zip(most, capabilities, strict=True))
    within = [_within(own, overload, count) for own in question.types]
    spare = sum(own.device_count * places for own, places in zip(question.types, within, strict=True)) - count
    return Plan(
        planner="easyscale",
        choice={
            "hosted": hosted,
            "most_hosted": most,
            "throughput": count / overload,
            "waste": waste(question, most, overload),
        },
        objective=overload,
        parts={"step": overload},
        binding=tuple(
            f"cap of type {place}: {own.cap} logical workers on a device"
            for place, own in enumerate(question.types)
            if own.cap and within[place] == own.cap and spare < own.device_count
        ),
        remarks=_remarks(question, overload, spare),
    )


def waste(job: Job, most_hosted: Sequence[int], overload: float) -> float:
    """Σ N_i(C_i − A_i/f) + (Σ N_i A_i − E)/f steps per second: what devices wait for each other, and empty places.

    Args:
        job: with its devices.
        most_hosted: A_i, the places for logical workers on a device of each type.
        overload: f.
    """
    waits = [
        own.device_count * (own.capability - places / overload)
        for own, places in zip(job.types, most_hosted, strict=True)
    ]
    empty = sum(own.device_count * places for own, places in zip(job.types, most_hosted, strict=True))
    return sum_in_order(waits) + (empty - job.logical_count) / overload


def _hosted(job: Job) -> list[list[int]]:
    """By type and device.

    The planner of batches gives everybody one example or more: here the first of them stands for none.
    """
    owners = [own for own in job.types for _ in range(own.device_count)]
    caps = [own.most(job.logical_count) + 1 for own in owners]
    split = level_split([_shifted(own.capability) for own in owners], job.logical_count + len(owners), caps)
    ends = [sum(own.device_count for own in job.types[:place]) for place in range(len(job.types) + 1)]
    return [[examples - 1 for examples in split[first:last]] for first, last in pairwise(ends)]


def _shifted(capability: float) -> Callable[[int], float]:
    return lambda examples: (examples - 1) / capability


def _within(own: DeviceType, overload: float, count: int) -> int:
    """How many logical workers do a step on one of these devices within a time."""
    return examples_within(_shifted(own.capability), overload, own.most(count) + 1) - 1


def _remarks(job: Job, overload: float, spare: int) -> tuple[str, ...]:
    total = sum_in_order(own.device_count * own.capability for own in job.types)
    found = [f"parts of logical workers would take {job.logical_count / total:.4g} s if no cap bound"]
    if spare:
        found.append(f"up to {job.logical_count + spare} logical workers would take no longer")
    for place, own in enumerate(job.types):
        types = list(job.types)
        types[place] = replace(own, device_count=own.device_count + 1)
        most = [max(hosted, default=0) for hosted in _hosted(replace(job, types=tuple(types)))]
        shorter = max(places / other.capability for places, other in zip(most, types, strict=True))
        if shorter < overload:
            found.append(f"with one more device of type {place} a step takes {shorter:.4g} s")
    return tuple(found)
