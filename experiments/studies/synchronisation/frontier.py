"""How large may the step size be when nobody waits? The stability limit of asynchronous descent in the engine.

One curvature λ = 1, no noise, n workers with a heavy ball β each, reports of weight 1/n. Where all are equally fast
they report in turn, each on the model before the last n − 1 reports of the others, and the limit is the statement
`reports_in_turn_limit`. Ours.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Any

from sparsync.experiments.engine.clusters import Cluster
from sparsync.experiments.engine.descent import Descent
from sparsync.experiments.engine.horizon import Horizon
from sparsync.experiments.engine.policy import Policy
from sparsync.experiments.engine.presets import CLUSTERS
from sparsync.experiments.engine.problems import Quadratics
from sparsync.experiments.engine.simulation import Simulation
from sparsync.experiments.engine.vectors import Vectors
from sparsync.experiments.policies.asp import Asp
from sparsync.experiments.policies.bsp import Bsp
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.monitors.trace import Applied, Event, Sent

POLICIES: dict[str, Callable[[], Policy]] = {"bsp": Bsp, "asp": Asp}
BRACKET = (0.05, 4.5)
"""Step sizes between which every limit is sought: the largest stable one of any n and β < 1 is 2(1 + β) < 4."""
HALVINGS = 7
TINY = 1e-200


FrontierCase = tuple[str, str, int, float, float, int]
"""Policy, cluster, n, β, simulated seconds and seed."""


def growth(policy: Policy, cluster: Cluster, *, step_size: float, momentum: float, seconds: float) -> float:
    """Logarithm of the mean of x² in the last third of a run over that in the third before; positive if unstable.

    The means have the weights sin² of a window that begins and ends with zero, so that it matters little where an
    oscillation is cut. The logarithm is infinite if x² leaves the range from `TINY` to 1/`TINY`.
    """
    vectors = _vectors(cluster.worker_count, step_size, momentum)
    simulation = Simulation(policy, cluster, Horizon(seconds=seconds), vectors=vectors, make_judge=None, records=False)
    squares = []
    for time in range(1, math.floor(seconds) + 1):
        simulation.advance(time)
        squares.append(vectors.problem.quality(vectors.shared))
        if squares[-1] > 1 / TINY:
            return math.inf
    third = len(squares) // 3
    window = [math.sin(math.pi * (place + 0.5) / third) ** 2 for place in range(third)]
    before, last = (fmean(squares[begin:][:third], window) for begin in (third, 2 * third))
    return math.log(last / before) if last > TINY else -math.inf


def measured_limit(
    make_policy: Callable[[], Policy], cluster: Callable[[], Cluster], *, momentum: float, seconds: float
) -> float:
    """The step size at which `growth` changes sign: halvings of `BRACKET` in ratio, then a linear interpolation.

    Raises:
        ValueError: the model does not shrink at the lower end, or does not grow at the upper end.
    """

    def at(step_size: float) -> float:
        return growth(make_policy(), cluster(), step_size=step_size, momentum=momentum, seconds=seconds)

    (low, high), halvings = BRACKET, HALVINGS
    below, above = at(low), at(high)
    if below >= 0 or above <= 0:
        raise ValueError(f"no limit between {low} and {high}: growth {below} and {above}")
    for _ in range(halvings):
        middle = math.sqrt(low * high)
        found = at(middle)
        low, below, high, above = (middle, found, high, above) if found < 0 else (low, below, middle, found)
    return low + (high - low) * below / (below - above)


def staleness_counts(events: Sequence[Event]) -> list[int]:
    """Versions between the reading and the application of each message, in order; its own is not counted.

    Where every message is a version of its own, and nobody is idle, their mean is n − 1 whatever the speeds: each
    report falls into one step of every other worker.
    """
    read = {event.message: event.read_version for event in events if isinstance(event, Sent)}
    applied = (event for event in events if isinstance(event, Applied))
    return [event.version - 1 - read[message] for event in applied for message in event.messages]


def staleness_of(policy: Policy, cluster: Cluster, *, seconds: float) -> float:
    """The mean of `staleness_counts` in a run without vectors."""
    simulation = Simulation(policy, cluster, Horizon(seconds=seconds), make_judge=None)
    simulation.run()
    return fmean(staleness_counts(simulation.trace))


def frontier_case(case: FrontierCase) -> dict[str, Any]:
    """The limit of one policy on one cluster.

    Returns:
        `predicted` where there is a formula: at a barrier 2(1 + β), and of equal workers `reports_in_turn_limit`;
        `delayed` is n times the limit of descent with the fixed delay n − 1, without momentum.
    """
    policy, cluster, worker_count, momentum, seconds, seed = case

    def make_cluster() -> Cluster:
        return CLUSTERS[cluster](worker_count, seed)

    predicted = None
    if policy == "bsp":
        predicted = 2 * (1 + momentum)
    elif cluster == "equal":
        predicted = STATEMENTS["reports_in_turn_limit"].evaluate(n=worker_count, momentum=momentum)
    return {
        "policy": policy,
        "cluster": cluster,
        "worker_count": worker_count,
        "momentum": momentum,
        "measured": measured_limit(POLICIES[policy], make_cluster, momentum=momentum, seconds=seconds),
        "predicted": predicted,
        "delayed": worker_count * STATEMENTS["delayed_descent_limit"].evaluate(delay=worker_count - 1),
        "staleness": staleness_of(POLICIES[policy](), make_cluster(), seconds=10 * seconds),
    }


def _vectors(worker_count: int, step_size: float, momentum: float) -> Vectors:
    problem = Quadratics([1.0], worker_count=worker_count)
    return Vectors(problem, Descent(step_size=step_size, momentum=momentum), worker_count=worker_count)
