"""What do policies reach on real processes, and what does the simulator say of it?

`python -m sparsync.experiments.studies.synchronisation.real_races --profile quick --output FILE --store FOLDER` runs
policy after policy, dense and with Top-k, on one server and its workers: one of them four times slower; all of them
with Pareto durations; one killed half-way. Steps are stretched by sleeping, on one machine. A run that has ended is
kept in the store, so that an interrupted study goes on where it was.

Beside each run stand three simulations. Beforehand: on the cluster that the sleeps imitate, with links that take no
time and gradients that take none beside the sleep; it foretells steps and quality. Afterwards: how long the run takes
on the cluster that its own trace shows, and on the one that the trace of `BASE` under the same conditions shows.
"""

from __future__ import annotations

import math
import signal
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path
from statistics import median
from typing import Annotated, Any, Literal

import tyro

from sparsync.experiments.command import exit_on_bad_input, step_progress
from sparsync.experiments.engine.clusters import Change, Cluster
from sparsync.experiments.engine.real.server import WorkerLostError
from sparsync.experiments.racing.contest import Outcome, Point, Race, run_contestant
from sparsync.experiments.racing.crew import Deed, race_for_real
from sparsync.experiments.racing.entries import Contestant, read_contestants
from sparsync.experiments.racing.forecast import forecast
from sparsync.experiments.racing.observed import observed_cluster
from sparsync.experiments.racing.real import Conditions
from sparsync.experiments.racing.recordings import sayable
from sparsync.experiments.studies.profiles import ProfileName, sized
from sparsync.verify.monitors.judge import Violation
from sparsync.verify.monitors.trace import Stepped
from sparsync.verify.tools.pool import Pool, default_job_count
from sparsync.verify.tools.provenance import provenance, require_folder, require_output, write_json
from sparsync.verify.tools.store import Store

Condition = Literal["one_slow", "pareto", "one_killed"]
CONDITIONS: tuple[Condition, ...] = ("one_slow", "pareto", "one_killed")
WITHIN = 0.1
"""What an error may be."""
KILLED = 1
"""Which worker, under "one_killed": one of the usual ones."""
BASE = "asp"
"""Whose traces the others are predicted from."""
POLICIES = (
    "bsp",
    "asp",
    "ssp:staleness=3",
    "dssp",
    "elastic_bsp",
    "pssp",
    "aw_psp",
    "selsync:threshold=0.3",
    "local_sgd",
    "osp",
    "ds_sync:group_size=2",
    "dybw",
    "backup",
    "adsp:period=2,least_seconds=0",
    "lb_bsp",
    "sync_switch:total_steps=40",
    "smooth_switch:growth=10",
    "parameter_database",
    "dedloc",
)
"""As on a command line; times are in real seconds."""


@dataclass(frozen=True)
class Sizes:
    """How large the study is.

    Args:
        race: the conditions that all runs share, in real seconds.
        policies: as on a command line.
        densities: of Top-k; 1 sends everything.
        conditions: of `CONDITIONS`.
        unit_seconds: real seconds of a usual step.
        seed_count: repetitions of all runs, each with other data order and luck.
    """

    race: Race
    policies: tuple[str, ...]
    densities: tuple[float, ...]
    conditions: tuple[Condition, ...]
    unit_seconds: float
    seed_count: int = 1


_RACE = Race(workers=4, data="embedded", model="fnn2", seconds=6.0, step_size=0.2, points=12)
SIZES: dict[ProfileName, Sizes] = {
    "smoke": Sizes(replace(_RACE, seconds=2.0, points=2), ("bsp", "asp"), (1.0,), ("one_slow",), 0.05),
    "quick": Sizes(_RACE, POLICIES[:6], (1.0, 0.01), ("one_slow", "one_killed"), 0.1),
    "record": Sizes(_RACE, POLICIES, (1.0, 0.01), CONDITIONS, 0.1, seed_count=5),
}


@dataclass(frozen=True)
class Case:
    """A run.

    Args:
        race: its conditions.
        contestant: the policy and its parameters.
        condition: of `CONDITIONS`.
        unit_seconds: real seconds of a usual step.
    """

    race: Race
    contestant: Contestant
    condition: Condition
    unit_seconds: float


def cases_of(sizes: Sizes) -> list[Case]:
    """All runs, in order."""
    found = []
    for seed, condition, density, contestant in product(
        range(sizes.seed_count), sizes.conditions, sizes.densities, read_contestants(sizes.policies, [])
    ):
        cluster = "pareto" if condition == "pareto" else "quarter_speed"
        selector = "none" if density == 1 else "top_k"
        race = replace(sizes.race, cluster=cluster, selector=selector, density=density, seed=seed)
        found.append(Case(race, contestant, condition, sizes.unit_seconds))
    return found


@dataclass(frozen=True)
class Run:
    """What came of a case.

    Args:
        real: the row of the real run; if it ended early, when and why.
        cluster: that its trace shows; None if it ended early.
        step_count: steps that all workers finished.
        seconds: until the last of them.
    """

    real: dict[str, Any]
    cluster: Cluster | None = None
    step_count: int = 0
    seconds: float = math.nan


def run_case(case: Case) -> Run:
    """Run a case for real.

    Raises:
        Violation: the policy broke its guarantee.
    """
    race = case.race
    deeds = [Deed(race.seconds / 2, KILLED, signal.SIGKILL)] if case.condition == "one_killed" else []
    conditions = Conditions(unit_seconds=case.unit_seconds, lost_after=5.0)
    began = time.monotonic()
    try:
        outcome = race_for_real(race, case.contestant, conditions, data=race.load_data(), deeds=deeds)
    except WorkerLostError as error:
        return Run({"ended_after": time.monotonic() - began, "reason": str(error)})
    steps = [event.time for event in outcome.trace if isinstance(event, Stepped)]
    real = _row(outcome) | {
        "curve_seconds": [round(point.seconds, 4) for point in outcome.points],
        "curve_quality": [round(point.quality, 4) for point in outcome.points],
        "curve_bytes": [point.sent_bytes + point.pulled_bytes for point in outcome.points],
    }
    return Run(real, observed_cluster(outcome.trace, race.workers), len(steps), steps[-1])


@dataclass(frozen=True)
class Beside:
    """A run, and what it is predicted from.

    Args:
        case: of the run.
        run: the one.
        base: the cluster that the trace of `BASE` shows; None if that run ended early.
    """

    case: Case
    run: Run
    base: Cluster | None


def compare(beside: Beside) -> dict[str, Any]:
    """The study's row of a run: the real one, and its simulations."""
    case, run = beside.case, beside.run
    return {
        "policy": case.contestant[0],
        "parameters": sayable(case.contestant[1]),
        "condition": case.condition,
        "density": case.race.density,
        "seed": case.race.seed,
        "real": run.real,
        "simulated": _row(simulate(case)),
        "makespan_seconds": None if run.cluster is None else run.seconds,
        "from_own_trace": _predicted(case, run, run.cluster),
        "from_base_trace": _predicted(case, run, beside.base),
    }


def _predicted(case: Case, run: Run, cluster: Cluster | None) -> float | str | None:
    """Seconds until all workers together have done as many steps, or why they would not; None without a whole run."""
    if cluster is None or run.cluster is None:
        return None
    race = case.race
    try:
        found = forecast(
            cluster, race, case.contestant, run.step_count, usual_seconds=run.seconds, data=race.load_data()
        )
    except (ValueError, Violation) as error:
        return str(error)
    return found.seconds


def simulate(case: Case) -> Outcome:
    """The same policy on the cluster that the sleeps imitate; its times are in real seconds, too."""
    race, unit = case.race, case.unit_seconds
    cluster = race.make_cluster()
    kept = cluster.durations
    changes = (Change(race.seconds / 2, KILLED, "crash"),) if case.condition == "one_killed" else ()
    stretched = replace(cluster, durations=lambda worker, step: unit * kept(worker, step), changes=changes)
    name, parameters = case.contestant
    return run_contestant(race, name, parameters, data=race.load_data(), cluster=stretched)


def _row(outcome: Outcome) -> dict[str, Any]:
    last: Point = outcome.points[-1]
    return {
        "quality": last.quality,
        "step_count": last.step_count,
        "worker_steps": outcome.worker_steps,
        "version": last.version,
        "sent_bytes": last.sent_bytes,
        "pulled_bytes": last.pulled_bytes,
        "waiting_share": outcome.report.waiting_share,
        "largest_gap": outcome.report.largest_gap,
        "largest_staleness": outcome.report.largest_staleness,
        "lost_messages": sum(worker.lost for worker in outcome.report.workers),
    }


def run_real_races(profile_name: ProfileName, pool: Pool) -> dict[str, Any]:
    """The study's JSON.

    Args:
        profile_name: key of `SIZES`.
        pool: that runs one case at a time, or times would mean nothing.
    """
    sizes = sized(SIZES, profile_name)
    cases = cases_of(sizes)
    runs = pool.run(run_case, cases)
    pairs = list(zip(cases, runs, strict=True))
    bases = {_conditions(case): run.cluster for case, run in pairs if case.contestant[0] == BASE}
    beside = [Beside(case, run, bases.get(_conditions(case))) for case, run in pairs]
    return {
        "profile": profile_name,
        "race": sayable(asdict(sizes.race)),
        "unit_seconds": sizes.unit_seconds,
        "base": BASE,
        "runs": replace(pool, job_count=default_job_count()).run(compare, beside),
        "provenance": provenance(process_count=sizes.race.workers + 1),
    }


def _conditions(case: Case) -> tuple[object, ...]:
    return case.condition, case.race.density, case.race.seed


def run_count(sizes: Sizes) -> int:
    """How often the study advances: once for each run, once for its simulations."""
    return 2 * len(cases_of(sizes))


def step_errors(study: dict[str, Any]) -> list[float]:
    """Of all runs that did not end early: steps simulated beforehand over real ones, less 1."""
    return [
        run["simulated"]["step_count"] / run["real"]["step_count"] - 1
        for run in study["runs"]
        if "reason" not in run["real"]
    ]


def makespan_errors(study: dict[str, Any], name: str) -> list[float]:
    """Predicted seconds over observed ones, less 1, of all runs for which there are both.

    Args:
        study: the JSON.
        name: "from_own_trace" or "from_base_trace".
    """
    return [run[name] / run["makespan_seconds"] - 1 for run in study["runs"] if isinstance(run[name], float)]


def summary(study: dict[str, Any]) -> list[str]:
    """The study in a few lines."""
    beforehand = step_errors(study)
    ended = len(study["runs"]) - len(beforehand)
    found = [f"{len(beforehand)} real runs went to their end, {ended} ended since a worker was lost"]
    base = study["base"]
    for said, errors in (
        ("steps simulated beforehand", beforehand),
        ("seconds predicted from a run's own trace", makespan_errors(study, "from_own_trace")),
        (f"seconds predicted from the trace of {base}", makespan_errors(study, "from_base_trace")),
    ):
        if errors:
            sizes = [abs(error) for error in errors]
            within = sum(size <= WITHIN for size in sizes)
            found.append(
                f"{said}: off by {median(sizes):.1%} in the median and {max(sizes):.1%} at most, "
                f"no more than {WITHIN:.0%} in {within} of {len(sizes)}"
            )
    return found


@dataclass(frozen=True)
class RealRacesCommand:
    """A parsed command line."""

    output: Path
    """where the JSON result goes; its folder must exist"""
    profile: Annotated[ProfileName, tyro.conf.arg()] = "quick"
    """how large the study is"""
    store: Path | None = None
    """folder that keeps each run that has ended; None keeps none"""


def read(arguments: Sequence[str] | None = None) -> RealRacesCommand:
    """Parse the command line (None: the process's own).

    Raises:
        ValueError: the output cannot be written.
        SystemExit: malformed arguments, after tyro's message; or `--help`.
    """
    command = tyro.cli(
        RealRacesCommand,
        prog="python -m sparsync.experiments.studies.synchronisation.real_races",
        description="Run policies on real processes, their simulations beside them.",
        args=arguments,
    )
    require_output(command.output)
    if command.store is not None:
        require_folder(command.store, option="--store")
    return command


def main() -> None:
    """Run the command line."""
    with exit_on_bad_input():
        command = read()
        total = run_count(sized(SIZES, command.profile))
        store = None if command.store is None else Store(command.store)
        with step_progress(total, visible=True, title="real runs") as advance:
            study = run_real_races(command.profile, Pool(1, store=store, advance=advance))
        write_json(command.output, study)
    print("\n".join([*summary(study), f"→ {command.output}"]))  # noqa: T201


if __name__ == "__main__":
    main()
