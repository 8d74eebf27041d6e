"""How long would a policy take on the cluster on which another one was recorded? Simulated with the same gradients."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sparsync.experiments.engine.clusters import Cluster
from sparsync.experiments.engine.horizon import Horizon
from sparsync.experiments.engine.simulation import Simulation
from sparsync.experiments.engine.vectors import Vectors
from sparsync.experiments.racing.contest import Race, judge_of_ledgers
from sparsync.experiments.racing.entries import Contestant, label, make_policy
from sparsync.experiments.racing.observed import observed_cluster
from sparsync.experiments.racing.recordings import recorded_contestant, recorded_race
from sparsync.experiments.training.data import Dataset
from sparsync.verify.monitors.files import Recording, stored_trace
from sparsync.verify.monitors.judge import Violation
from sparsync.verify.monitors.trace import Applied, Event, Stepped

MOST_TIMES = 50
"""A policy that takes so many times as long as the recorded one is not waited for."""


@dataclass(frozen=True)
class Observation:
    """A recorded run.

    Args:
        recording: what the trace says of it.
        race: its conditions.
        contestant: its policy.
        cluster: on which it ran, as observed.
        step_count: steps that all workers together finished.
        seconds: until the last of them.
    """

    recording: Recording
    race: Race
    contestant: Contestant
    cluster: Cluster
    step_count: int
    seconds: float

    @property
    def label(self) -> str:
        """Of its policy."""
        return label(*self.contestant)


@dataclass(frozen=True)
class Forecast:
    """What a policy would do.

    Args:
        label: of the policy.
        step_count: steps of all workers together.
        seconds: predicted until the last of them.
        version: of the shared model then.
        observed_seconds: of a real run of the same policy; None if there is none.
    """

    label: str
    step_count: int
    seconds: float
    version: int
    observed_seconds: float | None = None

    @property
    def error_percent(self) -> float | None:
        """100 (predicted/observed − 1); None where nothing was observed."""
        return None if self.observed_seconds is None else 100 * (self.seconds / self.observed_seconds - 1)

    @property
    def line(self) -> str:
        """What a person wants to know."""
        beginning = f"{self.label}: {self.seconds:.4g} s predicted for {self.step_count} steps of all workers together"
        if self.observed_seconds is None:
            return f"{beginning}, version {self.version}"
        return f"{beginning}, {self.observed_seconds:.4g} s observed, error {self.error_percent:+.1f} %"


def observe(path: Path) -> Observation:
    """What a trace file tells of its run and its cluster.

    Raises:
        ValueError: it is no whole trace of a race, its events are out of order, or nobody finished a step.
        OSError: it cannot be read.
    """
    try:
        with stored_trace(path) as trace:
            recording = trace.recording
            judge = judge_of_ledgers(recording.header, recording.guarantee)
            events: list[Event] = []
            for event in trace.events:
                judge.observe(event)
                events.append(event)
        steps = [event.time for event in events if isinstance(event, Stepped)]
        contestant, race = recorded_contestant(recording.run), recorded_race(recording)
        cluster = observed_cluster(events, recording.worker_count, race.batch_cost)
        return Observation(recording, race, contestant, cluster, len(steps), steps[-1])
    except (ValueError, Violation) as error:
        raise ValueError(f"{path}: {error}") from error


def forecast(
    cluster: Cluster, race: Race, contestant: Contestant, step_count: int, *, usual_seconds: float, data: Dataset | None
) -> Forecast:
    """Simulate a policy on a cluster until all workers together have finished so many steps.

    Args:
        cluster: where.
        race: the problem and the descent; its own cluster, links and seconds do not matter.
        contestant: the policy.
        step_count: how many steps.
        usual_seconds: about how long that takes.
        data: the examples of `race.data`, if they are loaded already.

    Raises:
        ValueError: see `make_policy` and `Simulation.run`; or it would take more than `MOST_TIMES` as long as usual.
        Violation: workers wait for ever.
        FloatingPointError: a gradient is not finite.
    """
    name, parameters = contestant
    vectors = Vectors(race.make_problem(data), race.descent(), worker_count=race.workers, seed=race.seed)
    simulation = Simulation(
        make_policy(name, parameters),
        cluster,
        Horizon(seconds=MOST_TIMES * usual_seconds),
        vectors=vectors,
        make_judge=None,
        seed=race.seed,
    )
    until = usual_seconds
    while simulation.step_count < step_count:
        if simulation.view.now >= simulation.horizon.seconds:
            done = simulation.step_count
            raise ValueError(f"{label(*contestant)} would finish {done} of {step_count} steps in {until:.4g} s")
        # Not beyond the last step: workers that were recorded in haste may take thousands of them in that time.
        simulation.advance(until, step_count=step_count)
        until += usual_seconds
    seconds = [event.time for event in simulation.trace if isinstance(event, Stepped)][step_count - 1]
    simulation.advance(seconds)  # what else happens at that time
    version = sum(isinstance(event, Applied) and event.time <= seconds for event in simulation.trace)
    return Forecast(label(*contestant), step_count, seconds, version)
