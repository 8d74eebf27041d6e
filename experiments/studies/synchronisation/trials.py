"""What error does a policy reach, and when? Runs for studies: no books kept, the step size tuned alike for everybody.

An error is f − min f of a quadratic and the share of misclassified test examples of a network: less is better for both.
A run whose gradient stops being finite has diverged, which is a result: its error is infinite from then on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from statistics import fmean

from sparsync.experiments.engine.clusters import Cluster
from sparsync.experiments.engine.descent import Descent
from sparsync.experiments.engine.horizon import Horizon
from sparsync.experiments.engine.problems import Problem, Training
from sparsync.experiments.engine.simulation import Simulation
from sparsync.experiments.engine.vectors import Vectors
from sparsync.experiments.racing.entries import Parameter, make_policy
from sparsync.experiments.training.data import Dataset, load_dataset
from sparsync.verify.monitors.trace import Event


@dataclass(frozen=True)
class Trial:
    """A policy on a problem and a cluster; what depends on luck depends on the seed of a run.

    Args:
        policy: key of `POLICIES`.
        parameters: of the policy, from the seed.
        make_problem: from the seed.
        make_cluster: from the seed.
        descent: how workers turn gradients into messages.
        seconds: simulated.
        points: how often the error is measured after the start, at equal distances.
        end_points: over how many of the last measurements the error at the end is the mean.
    """

    policy: str
    parameters: Callable[[int], Mapping[str, Parameter]]
    make_problem: Callable[[int], Problem]
    make_cluster: Callable[[int], Cluster]
    descent: Descent
    seconds: float
    points: int = 24
    end_points: int = 6


@dataclass(frozen=True)
class Curve:
    """One run.

    Args:
        seconds: of the measurements, simulated.
        errors: at each.
        end_error: mean over the last of them.
        step_count: steps finished by all workers.
        sent_bytes: by all workers.
        trace: every event, if it was asked for.
    """

    seconds: tuple[float, ...]
    errors: tuple[float, ...]
    end_error: float
    step_count: int
    sent_bytes: int
    trace: tuple[Event, ...] = ()


def run_trial(trial: Trial, seed: int, *, records: bool = False) -> Curve:
    """Simulate a trial with the luck of a seed; nobody judges it.

    Raises:
        ValueError: see `make_policy` and `Descent`.
    """
    problem, cluster = trial.make_problem(seed), trial.make_cluster(seed)
    vectors = Vectors(problem, trial.descent, worker_count=cluster.worker_count, seed=seed)
    simulation = Simulation(
        make_policy(trial.policy, dict(trial.parameters(seed))),
        cluster,
        Horizon(seconds=trial.seconds),
        vectors=vectors,
        make_judge=None,
        seed=seed,
        records=records,
    )
    times = measurement_times(trial.seconds, trial.points)
    errors: list[float] = []
    try:
        for time in times:
            simulation.advance(time)
            errors.append(error_of(problem, vectors))
    except FloatingPointError:
        errors += [math.inf] * (len(times) - len(errors))
    return Curve(
        seconds=times,
        errors=tuple(errors),
        end_error=fmean(errors[-trial.end_points :]),
        step_count=sum(simulation.view.clock),
        sent_bytes=simulation.sent_bytes,
        trace=tuple(simulation.trace),
    )


def measurement_times(seconds: float, points: int) -> tuple[float, ...]:
    """The start, and so many times at equal distances up to the end."""
    return tuple(seconds * (place / points) for place in range(points + 1))


def error_of(problem: Problem, vectors: Vectors) -> float:
    """f − min f, or the share of misclassified test examples, at the shared model."""
    quality = problem.quality(vectors.shared)
    return 1 - quality if isinstance(problem, Training) else quality


def tuned(trial: Trial, step_sizes: Sequence[float], seeds: Sequence[int]) -> Trial:
    """The trial with the step size of least mean error at the end over the seeds; of equal ones the smallest.

    Raises:
        ValueError: no step size or no seed is given.
    """
    if not step_sizes or not seeds:
        raise ValueError(f"tuning needs step sizes and seeds, got {list(step_sizes)} and {list(seeds)}")
    candidates = [replace(trial, descent=replace(trial.descent, step_size=size)) for size in sorted(step_sizes)]
    return min(candidates, key=lambda one: fmean(run_trial(one, seed).end_error for seed in seeds))


def mean_errors(curves: Sequence[Curve]) -> list[float]:
    """The mean over runs, by measurement."""
    return [fmean(column) for column in zip(*(curve.errors for curve in curves), strict=True)]


@cache
def examples(source: str) -> Dataset:
    """The examples of a source, loaded once per process."""
    return load_dataset(source)


def network(seed: int, *, source: str, model: str, worker_count: int) -> Training:
    """A network on the examples of a source, which all workers draw from."""
    return Training(examples(source), worker_count=worker_count, model=model, seed=seed)
