"""Runs of synchronisation models on clusters of known speeds, and what their traces tell."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sparsync.experiments.engine.clusters import Change, Cluster, Link, Recorded
from sparsync.experiments.engine.horizon import Horizon
from sparsync.experiments.engine.policy import Policy
from sparsync.experiments.engine.simulation import Simulation
from sparsync.verify.monitors.judge import Judge
from sparsync.verify.monitors.trace import Departed, Event, Joined, Stepped


def run_of(
    policy: Policy,
    seconds: Sequence[Sequence[float]],
    horizon: Horizon,
    *,
    latency: float = 0.0,
    changes: tuple[Change, ...] = (),
    is_judged: bool = True,
) -> Simulation:
    """A finished run of time and messages; `seconds` are of each worker's steps, read cyclically."""
    link = Link(latency_seconds=latency)
    durations = Recorded(tuple(map(tuple, seconds)))
    cluster = Cluster(len(seconds), durations, upload=link, download=link, changes=changes)
    run = Simulation(policy, cluster, horizon, make_judge=Judge if is_judged else None)
    run.run()
    return run


def leads(trace: Iterable[Event]) -> list[tuple[Stepped, int]]:
    """Each finished step, with how many steps its worker then is ahead of the slowest alive.

    One that joins counts from the least of the others.
    """
    steps: dict[int, int] = {}
    found = []
    for event in trace:
        if isinstance(event, Joined):
            steps[event.worker] = min(steps.values(), default=0)
        elif isinstance(event, Departed):
            del steps[event.worker]
        elif isinstance(event, Stepped):
            steps[event.worker] += 1
            found.append((event, steps[event.worker] - min(steps.values())))
    return found


def largest_lead(trace: Iterable[Event]) -> int:
    """The most steps that anybody was ahead."""
    return max(lead for _, lead in leads(trace))
