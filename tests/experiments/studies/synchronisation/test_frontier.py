"""Without a barrier the engine is stable up to the step size that the roots of its recursion say."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sparsync.experiments.engine.horizon import Horizon
from sparsync.experiments.engine.presets import CLUSTERS, SLOW_FACTOR
from sparsync.experiments.engine.simulation import Simulation
from sparsync.experiments.policies.asp import Asp
from sparsync.experiments.policies.bsp import Bsp
from sparsync.experiments.studies.synchronisation import frontier
from sparsync.experiments.studies.synchronisation.frontier import (
    frontier_case,
    growth,
    measured_limit,
    staleness_of,
)
from sparsync.theory.statements import STATEMENTS


def test_the_engine_follows_the_recursion_of_reports_in_turn() -> None:
    count, momentum, step_size, seconds = 3, 0.5, 0.4, 12
    models, velocities = [1.0], [0.0] * count
    for report in range(count * seconds):
        # A worker's step starts from the model with its own last report; the first from the initial one.
        read = models[max(0, report - count + 1)] if report >= count else models[0]
        velocities[report % count] = momentum * velocities[report % count] + read
        models.append(models[-1] - step_size / count * velocities[report % count])
    vectors = frontier._vectors(count, step_size, momentum)
    run = Simulation(Asp(), CLUSTERS["equal"](count, 0), Horizon(seconds=seconds), vectors=vectors)
    for time in range(1, seconds + 1):
        run.advance(time)
        assert float(vectors.shared[0]) == pytest.approx(models[count * time], rel=1e-12)


@pytest.mark.parametrize(("momentum", "seconds"), [(0.0, 30), (0.9, 72)])
def test_the_measured_limit_of_equal_workers_is_the_formula(momentum: float, seconds: int) -> None:
    measured = measured_limit(Asp, lambda: CLUSTERS["equal"](3, 0), momentum=momentum, seconds=seconds)
    limit = STATEMENTS["reports_in_turn_limit"].evaluate(n=3, momentum=momentum)
    assert measured == pytest.approx(limit, rel=0.005)


def test_a_slow_worker_shifts_the_limit_to_where_its_period_map_says() -> None:
    """Of two workers the fast one reports at 1, 2 and 3 and the slow one at 3, first, as its step began earlier."""

    def period_map(step_size: float) -> float:
        def report(worker: int) -> np.ndarray:
            applied = np.eye(3)
            applied[0, 1 + worker] -= step_size / 2
            read = np.eye(3)
            read[1 + worker] = [1, 0, 0]
            return read @ applied

        fast, slow = report(0), report(1)
        return float(max(abs(np.linalg.eigvals(fast @ slow @ fast @ fast))))

    assert SLOW_FACTOR == 3
    measured = measured_limit(Asp, lambda: CLUSTERS["one_slow"](2, 0), momentum=0.0, seconds=60)
    assert period_map(0.99 * measured) < 1 < period_map(1.01 * measured)


def test_growth_has_the_rate_of_descent() -> None:
    """With one worker x² shrinks by (1 − η)² a step, and thirds of a run are a third of its steps apart."""
    found = growth(Bsp(), CLUSTERS["equal"](1, 0), step_size=0.1, momentum=0.0, seconds=30)
    assert found == pytest.approx(20 * math.log(0.9))
    assert growth(Bsp(), CLUSTERS["equal"](1, 0), step_size=1.0, momentum=0.0, seconds=30) == -math.inf
    assert growth(Bsp(), CLUSTERS["equal"](1, 0), step_size=1e9, momentum=0.0, seconds=30) == math.inf


@pytest.mark.parametrize("cluster", ["equal", "one_slow", "spread", "pareto"])
def test_the_mean_staleness_is_the_number_of_others_at_any_speeds(cluster: str) -> None:
    assert staleness_of(Asp(), CLUSTERS[cluster](4, 1), seconds=400) == pytest.approx(3, rel=0.01)


def test_a_barrier_is_judged_by_the_classical_limit() -> None:
    found = frontier_case(("bsp", "equal", 2, 0.0, 24.0, 0))
    assert found["predicted"] == 2
    assert found["measured"] == pytest.approx(2, rel=0.005)
    assert found["staleness"] == 0


def test_a_limit_outside_the_bracket_is_not_made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frontier, "BRACKET", (0.05, 0.1))
    with pytest.raises(ValueError, match=r"no limit between 0\.05 and 0\.1"):
        measured_limit(Bsp, lambda: CLUSTERS["equal"](1, 0), momentum=0.0, seconds=12)
