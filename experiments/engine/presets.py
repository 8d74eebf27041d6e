"""The clusters by name. A usual worker's step takes a second in the mean; a new cluster is a function and a line."""

from __future__ import annotations

import random
from collections.abc import Callable

from sparsync.experiments.engine.clusters import (
    Change,
    Cluster,
    Constant,
    Drawn,
    Slowdowns,
    exponential,
    pareto,
)

SLOW_FACTOR = 3.0
CHURN_SECONDS = 10_000
"""For how long workers come and go in the clusters "churn" and "shocks"."""
DEPARTURE_SECONDS = 25
"""Between two departures in the cluster "churn"."""
ABSENCE_SECONDS = 40
"""How long each worker stays away."""
SHOCK_SECONDS = 100
"""Between two shocks in the cluster "shocks"."""
SHOCK_SPREAD_SECONDS = 5
"""Within which all of a group are gone."""
SHOCK_GROUP_SIZE = 4
"""Neighbours that a shock hits together, or half of the workers if those are fewer."""


def equal(worker_count: int, seed: int) -> Cluster:
    """Every step takes a second."""
    del seed
    return Cluster(worker_count, Constant((1.0,)))


def one_slow(worker_count: int, seed: int) -> Cluster:
    """The last worker takes three seconds a step, the others one."""
    del seed
    return Cluster(worker_count, Constant((1.0,) * (worker_count - 1) + (SLOW_FACTOR,)))


def quarter_speed(worker_count: int, seed: int) -> Cluster:
    """The last worker takes four seconds a step, the others one."""
    del seed
    return Cluster(worker_count, Constant((1.0,) * (worker_count - 1) + (4.0,)))


def spread(worker_count: int, seed: int) -> Cluster:
    """Constant speeds, from one second a step to three in equal ratios."""
    del seed
    last = max(1, worker_count - 1)
    return Cluster(worker_count, Constant(tuple(SLOW_FACTOR ** (worker / last) for worker in range(worker_count))))


def exponential_steps(worker_count: int, seed: int) -> Cluster:
    """Exponential durations of mean one second."""
    return Cluster(worker_count, Drawn(exponential(), seed=seed))


def pareto_steps(worker_count: int, seed: int) -> Cluster:
    """Pareto durations of exponent 2.5 and mean one second: stragglers now here, now there."""
    return Cluster(worker_count, Drawn(pareto(), seed=seed))


def correlated(worker_count: int, seed: int) -> Cluster:
    """A second a step, but pairs of neighbours are slowed down fivefold together for 20 steps, a fifth of the time."""
    return Cluster(worker_count, Slowdowns(Constant((1.0,)), seed=seed))


def churn(worker_count: int, seed: int) -> Cluster:
    """A second a step; every 25 seconds a worker leaves or crashes, and is back 40 seconds later."""
    numbers = random.Random(f"churn {seed}")
    changes, back_at = [], dict.fromkeys(range(worker_count), 0.0)
    for time in range(DEPARTURE_SECONDS, CHURN_SECONDS, DEPARTURE_SECONDS):
        # Not while it would leave nobody.
        present = [worker for worker, back in back_at.items() if back < time]
        if len(present) < 2:
            continue
        worker = numbers.choice(present)
        # Off the whole seconds at which steps end, so that nothing hangs on the order of simultaneous events.
        gone, back = time + 0.25, time + 0.25 + ABSENCE_SECONDS
        changes.append(Change(gone, worker, "leave" if numbers.random() < 0.5 else "crash"))
        changes.append(Change(back, worker, "join"))
        back_at[worker] = back
    return Cluster(worker_count, Constant((1.0,)), changes=tuple(sorted(changes, key=lambda change: change.time)))


def shocks(worker_count: int, seed: int) -> Cluster:
    """A second a step; every 100 seconds four neighbours crash within 5 seconds, each for 40."""
    numbers = random.Random(f"shocks {seed}")
    size = max(1, min(SHOCK_GROUP_SIZE, worker_count // 2))
    groups = [range(first, min(first + size, worker_count)) for first in range(0, worker_count, size)]
    changes = []
    # One group is always there: it is back before the next shock.
    for time in range(SHOCK_SECONDS, CHURN_SECONDS, SHOCK_SECONDS) if len(groups) > 1 else ():
        for worker in numbers.choice(groups):
            # Off the whole seconds at which steps end, as above.
            gone = time + 0.25 + numbers.randrange(SHOCK_SPREAD_SECONDS)
            changes += [Change(gone, worker, "crash"), Change(gone + ABSENCE_SECONDS, worker, "join")]
    return Cluster(worker_count, Constant((1.0,)), changes=tuple(sorted(changes, key=lambda change: change.time)))


CLUSTERS: dict[str, Callable[[int, int], Cluster]] = {
    "equal": equal,
    "one_slow": one_slow,
    "quarter_speed": quarter_speed,
    "spread": spread,
    "exponential": exponential_steps,
    "pareto": pareto_steps,
    "correlated": correlated,
    "churn": churn,
    "shocks": shocks,
}
"""(number of workers, seed) to cluster."""
