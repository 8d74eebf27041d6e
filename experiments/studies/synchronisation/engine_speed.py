"""How fast is the simulation? Events per second of policies without vectors, and the seconds of one ZipLine plan.

`python -m sparsync.experiments.studies.synchronisation.engine_speed --output FILE`. Seconds are those of the processor.
The aim is that a thousand workers make a thousand steps each in a minute; shorter runs are scaled up to it.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Annotated, Any

import tyro
from rich.console import Console
from rich.table import Table

from sparsync.experiments.command import exit_on_bad_input, step_progress
from sparsync.experiments.engine.clusters import Cluster, Drawn, Link, exponential
from sparsync.experiments.engine.horizon import Horizon
from sparsync.experiments.engine.simulation import Simulation
from sparsync.experiments.planners.zipline import zipline
from sparsync.experiments.policies.registry import POLICIES
from sparsync.experiments.racing.entries import make_policy
from sparsync.verify.monitors.judge import Judge, Violation
from sparsync.verify.tools.provenance import provenance, require_output, write_json

LATENCY_SECONDS = 0.05
AIM_STEPS = 1_000_000
"""Steps of all workers together."""
AIM_SECONDS = 60.0


@dataclass(frozen=True)
class SpeedCommand:
    """A parsed command line.

    Raises:
        ValueError: a number below 1.
    """

    output: Path
    """where the JSON result goes; its folder must exist"""
    policies: tuple[str, ...] = tuple(POLICIES)
    """keys of POLICIES, with their usual parameters"""
    workers: Annotated[int, tyro.conf.arg(help="n")] = 1000
    steps: Annotated[int, tyro.conf.arg(help="of each worker")] = 100
    lookahead: Annotated[int, tyro.conf.arg(help="R, times of each worker that ZipLine plans with")] = 150

    def __post_init__(self) -> None:
        for name in ("workers", "steps", "lookahead"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")


def run_engine_speed(command: SpeedCommand, *, advance: Callable[[], None] = lambda: None) -> dict[str, Any]:
    """Run every policy with and without its monitors, and ZipLine once; the study's JSON.

    Raises:
        ValueError: an unknown policy.
    """
    rows = []
    for name in command.policies:
        for is_judged in (False, True):
            rows.append(policy_speed(name, command.workers, command.steps, is_judged=is_judged))
            advance()
    seconds = zipline_seconds(command.workers, command.lookahead)
    advance()
    return {
        "workers": command.workers,
        "steps": command.steps,
        "rows": rows,
        "zipline": {"lookahead": command.lookahead, "seconds": seconds},
        "provenance": provenance(process_count=1),
    }


def policy_speed(name: str, worker_count: int, steps: int, *, is_judged: bool) -> dict[str, Any]:
    """Exponential steps of mean one second, no vectors, nothing recorded; a broken promise ends the run early."""
    link = Link(latency_seconds=LATENCY_SECONDS)
    simulation = Simulation(
        make_policy(name, {}),
        Cluster(worker_count, Drawn(exponential()), upload=link, download=link),
        Horizon(steps=steps),
        make_judge=(lambda header, guarantee: Judge(header, guarantee, keeps=0)) if is_judged else None,
        records=False,
    )
    broken_promise = ""
    begin = time.process_time()
    try:
        simulation.run()
    except Violation as violation:
        broken_promise = str(violation)
    seconds = time.process_time() - begin
    count = simulation.event_count
    return {
        "policy": name,
        "is_judged": is_judged,
        "event_count": count,
        "seconds": seconds,
        "events_per_second": count / seconds,
        "aim_seconds": seconds * AIM_STEPS / sum(simulation.view.clock),
        "broken_promise": broken_promise,
    }


def zipline_seconds(worker_count: int, lookahead: int) -> float:
    """Seconds of one plan over times with exponential gaps."""
    numbers = random.Random("zipline")
    times = [list(accumulate(numbers.expovariate(1.0) for _ in range(lookahead))) for _ in range(worker_count)]
    begin = time.process_time()
    zipline(times)
    return time.process_time() - begin


def main() -> None:
    """Run the command line."""
    with exit_on_bad_input():
        command = tyro.cli(
            SpeedCommand,
            prog="python -m sparsync.experiments.studies.synchronisation.engine_speed",
            description="Time the simulation.",
        )
        require_output(command.output)
        for name in command.policies:
            _require_fit(name, command.workers)
        with step_progress(2 * len(command.policies) + 1, visible=True, title="runs") as advance:
            study = run_engine_speed(command, advance=advance)
        write_json(command.output, study)
    Console().print(table(study["rows"]))


def _require_fit(name: str, worker_count: int) -> None:
    """Find out before the work, by a step of each worker, that a policy does not exist or does not fit the workers."""
    try:
        policy_speed(name, worker_count, 1, is_judged=False)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error


def table(rows: list[dict[str, Any]]) -> Table:
    """One line for each run, with the seconds that a million steps take."""
    lines = Table("policy", "judged", "events", "events/s", "10⁶ steps, s", f"≤ {AIM_SECONDS:g} s")
    for row in rows:
        numbers = (f"{row['event_count']:,}", f"{row['events_per_second']:,.0f}", f"{row['aim_seconds']:.0f}")
        reached = "yes" if row["aim_seconds"] <= AIM_SECONDS else "no"
        verdict = "broken promise" if row["broken_promise"] else reached
        lines.add_row(row["policy"], "yes" if row["is_judged"] else "no", *numbers, verdict)
    return lines


if __name__ == "__main__":
    main()
