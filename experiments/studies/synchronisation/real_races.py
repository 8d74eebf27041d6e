"""What do policies reach on real processes, and what does the simulator say of it beforehand?

`python -m sparsync.experiments.studies.synchronisation.real_races --profile quick --output FILE --store FOLDER` runs
policy after policy, dense and with Top-k, on one server and its workers: one of them four times slower; all of them
with Pareto durations; one killed half-way. Steps are stretched by sleeping, on one machine. A run that has ended is
kept in the store, so that an interrupted study goes on where it was.

Beside each run stands its simulation on the cluster that the sleeps imitate: links that take no time, gradients that
take none beside the sleep. What it foretells are steps, versions and quality at the end; how far off it is, is said.
"""

from __future__ import annotations

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
from sparsync.experiments.engine.clusters import Change
from sparsync.experiments.engine.real.server import WorkerLostError
from sparsync.experiments.racing.contest import Outcome, Point, Race, outcome_of, run_contestant
from sparsync.experiments.racing.crew import Deed, real_server
from sparsync.experiments.racing.curve import Curve
from sparsync.experiments.racing.entries import Contestant, make_policy, read_contestants
from sparsync.experiments.racing.real import Conditions
from sparsync.experiments.racing.recordings import sayable
from sparsync.experiments.studies.profiles import ProfileName, sized
from sparsync.verify.tools.pool import Pool
from sparsync.verify.tools.provenance import provenance, require_folder, require_output, write_json
from sparsync.verify.tools.store import Store

Condition = Literal["one_slow", "pareto", "one_killed"]
CONDITIONS: tuple[Condition, ...] = ("one_slow", "pareto", "one_killed")
KILLED = 1
"""Which worker, under "one_killed": one of the usual ones."""
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
    """

    race: Race
    policies: tuple[str, ...]
    densities: tuple[float, ...]
    conditions: tuple[Condition, ...]
    unit_seconds: float


_RACE = Race(workers=4, data="embedded", model="fnn2", seconds=12.0, step_size=0.2, points=12)
SIZES: dict[ProfileName, Sizes] = {
    "smoke": Sizes(replace(_RACE, seconds=2.0, points=2), ("bsp", "asp"), (1.0,), ("one_slow",), 0.05),
    "quick": Sizes(_RACE, POLICIES[:6], (1.0, 0.01), ("one_slow", "one_killed"), 0.1),
    "record": Sizes(_RACE, POLICIES, (1.0, 0.01), CONDITIONS, 0.1),
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
    for condition, contestant, density in product(
        sizes.conditions, read_contestants(sizes.policies, []), sizes.densities
    ):
        cluster = "pareto" if condition == "pareto" else "one_slow"
        selector = "none" if density == 1 else "top_k"
        race = replace(sizes.race, cluster=cluster, selector=selector, density=density)
        found.append(Case(race, contestant, condition, sizes.unit_seconds))
    return found


def run_case(case: Case) -> dict[str, Any]:
    """The real run, and what its simulation says."""
    return {
        "policy": case.contestant[0],
        "parameters": sayable(case.contestant[1]),
        "condition": case.condition,
        "density": case.race.density,
        "real": run_for_real(case),
        "simulated": _row(simulate(case)),
    }


def run_for_real(case: Case) -> dict[str, Any]:
    """What came of a real run; if it ended early, when and why.

    Raises:
        Violation: the policy broke its guarantee.
    """
    race, (name, parameters) = case.race, case.contestant
    data = race.load_data()
    deeds = [Deed(race.seconds / 2, KILLED, signal.SIGKILL)] if case.condition == "one_killed" else []
    conditions = Conditions(unit_seconds=case.unit_seconds, lost_after=5.0)
    with real_server(make_policy(name, parameters), race, conditions, data=data) as (server, crew):
        curve = Curve(server, seconds=race.seconds, points=race.points)
        crew.disturb(deeds)
        began = time.monotonic()
        try:
            server.run(curve)
        except WorkerLostError as error:
            return {"ended_after": time.monotonic() - began, "reason": str(error)}
        server.finish()
        points = curve.measured(race.make_problem(data))
    return _row(outcome_of(name, server, points, server.shared.layout))


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
        "points": [asdict(point) for point in outcome.points],
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
    return {
        "profile": profile_name,
        "race": sayable(asdict(sizes.race)),
        "unit_seconds": sizes.unit_seconds,
        "runs": pool.run(run_case, cases_of(sizes)),
        "provenance": provenance(process_count=sizes.race.workers + 1),
    }


def step_errors(study: dict[str, Any]) -> list[float]:
    """Of all runs that did not end early: simulated steps over real ones, less 1."""
    return [
        run["simulated"]["step_count"] / run["real"]["step_count"] - 1
        for run in study["runs"]
        if "reason" not in run["real"]
    ]


def summary(study: dict[str, Any]) -> str:
    """The study in a line."""
    errors = [abs(error) for error in step_errors(study)]
    ended = len(study["runs"]) - len(errors)
    if not errors:
        return f"{ended} real runs, all of which ended since a worker was lost"
    within = sum(error <= 0.1 for error in errors)
    return (
        f"{len(errors)} real runs: simulated steps are off by {median(errors):.1%} in the median and {max(errors):.1%} "
        f"at most, {within} of them by no more than 10 %; {ended} more ended since a worker was lost"
    )


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
        total = len(cases_of(sized(SIZES, command.profile)))
        store = None if command.store is None else Store(command.store)
        with step_progress(total, visible=True, title="real runs") as advance:
            study = run_real_races(command.profile, Pool(1, store=store, advance=advance))
        write_json(command.output, study)
    print(f"{summary(study)} → {command.output}")  # noqa: T201


if __name__ == "__main__":
    main()
