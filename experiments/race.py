"""Synchronisation models side by side: same workers, same luck, same gradients, different rules about waiting.

`python -m sparsync.experiments.race --policy ssp --staleness 3 --workers 8 --cluster one_slow --selector gaussian_k
--density 0.01 --output FILE`; `--list` shows policies with their parameters, clusters and selectors. Several policies
make a comparison: `--policy bsp ssp:staleness=3 ssp:staleness=8 dssp --figure race.png`. A parameter given as an
option of its own goes to every policy that has it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro
from rich.console import Console
from rich.table import Column, Table

from sparsync.experiments.command import exit_on_bad_input, step_progress
from sparsync.experiments.engine.presets import CLUSTERS
from sparsync.experiments.policies.registry import POLICIES
from sparsync.experiments.racing.contest import Outcome, Race, remark_lines, require_fitting, run_contestant
from sparsync.experiments.racing.entries import Contestant, policy_parameters, read_contestants
from sparsync.experiments.racing.recordings import sayable, write_traces
from sparsync.experiments.training.adaptive import ADAPTIVE_SELECTORS
from sparsync.kernels.selection import SELECTORS
from sparsync.verify.monitors.judge import Violation
from sparsync.verify.tools.provenance import provenance, require_folder, require_output, write_json


@dataclass(frozen=True)
class RaceCommand:
    """A parsed command line, but for the policies' own parameters."""

    race: Annotated[Race, tyro.conf.arg(name="")]
    """the conditions"""
    policy: tuple[str, ...] = ()
    """keys of POLICIES, each perhaps with parameters: ssp:staleness=3, parameter_database:reads=0+1/1,writes=0/1"""
    output: Path | None = None
    """where the results go, as JSON"""
    figure: Path | None = None
    """where the comparison is drawn: quality against time and against bytes"""
    traces: Path | None = None
    """folder where every event goes, a file for each policy, to be judged by sparsync.verify.judge"""
    gantt: Path | None = None
    """where is drawn who computes, waits and sends"""
    gantt_seconds: float = 30.0
    """how much of the run that drawing shows"""
    list: bool = False
    """show what there is, and stop"""


def race(command: RaceCommand, contestants: Sequence[Contestant]) -> list[Outcome]:
    """Run all contestants one after another and write what the command asks for.

    Raises:
        ValueError: an output cannot be written, a policy does not fit its parameters or the workers, which is found out
            before any races; or see `run_contestant`.
        Violation: a policy broke its guarantee.
    """
    _require_outputs(command)
    conditions, outcomes = command.race, []
    data = conditions.load_data()
    for name, parameters in contestants:
        require_fitting(conditions, name, parameters, data=data)
    with step_progress(len(contestants) * (conditions.points + 1), visible=True, title="race") as advance:
        for name, parameters in contestants:
            outcomes.append(run_contestant(conditions, name, parameters, data=data, advance=advance))
    if command.output is not None:
        write_json(command.output, results(conditions, outcomes))
    if command.traces is not None:
        write_traces(command.traces, conditions, outcomes)
    if command.figure is not None or command.gantt is not None:
        from sparsync.experiments.racing.drawings import draw_comparison, draw_gantt

        if command.figure is not None:
            draw_comparison(command.figure, conditions, outcomes)
        if command.gantt is not None:
            draw_gantt(command.gantt, outcomes, conditions.workers, command.gantt_seconds)
    return outcomes


def _require_outputs(command: RaceCommand) -> None:
    """Find out before the race that its results can be written and drawn."""
    outputs = {"output": command.output, "figure": command.figure, "gantt": command.gantt}
    paths = {name: path for name, path in outputs.items() if path is not None}
    for name, path in paths.items():
        require_output(path, option=f"--{name}")
    all_paths = [*paths.values(), *([] if command.traces is None else [command.traces])]
    if len({path.resolve() for path in all_paths}) < len(all_paths):
        raise ValueError(f"outputs must be different files, got {', '.join(map(str, all_paths))}")
    if not command.gantt_seconds > 0:
        raise ValueError(f"gantt_seconds must be positive, got {command.gantt_seconds}")
    drawings = [path for path in (command.figure, command.gantt) if path is not None]
    if drawings:
        try:
            # matplotlib comes with the extra "paper" only.
            from sparsync.experiments.racing.drawings import require_drawable
        except ModuleNotFoundError as error:
            raise ValueError(f"drawings need the extra 'paper': {error}") from error
        for path in drawings:
            require_drawable(path)
    if command.traces is not None:
        require_folder(command.traces, option="--traces")


def results(conditions: Race, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """The JSON of a race; what is infinite, which JSON cannot say, is the text "inf"."""
    return {
        "race": sayable(asdict(conditions)),
        "measure": conditions.measure,
        "outcomes": [sayable(outcome.as_row()) for outcome in outcomes],
        "provenance": provenance(process_count=1),
    }


def summary(conditions: Race, outcomes: Sequence[Outcome]) -> Table:
    """One line per contestant."""
    counts = {"MB of examples": "example_bytes", "MB between racks": "rack_bytes"}
    seen = {title: name for title, name in counts.items() if any(getattr(outcome, name) for outcome in outcomes)}
    columns = ("steps", "versions", "MB sent", "MB read", *seen, "waiting", "largest lead")
    table = Table(Column("policy", overflow="fold"), conditions.measure, *columns)
    for outcome in outcomes:
        last, report = outcome.points[-1], outcome.report
        counted = (last.sent_bytes, last.pulled_bytes, *(getattr(outcome, name) for name in seen.values()))
        sizes = (f"{size / 1e6:.2f}" for size in counted)
        row = (conditions.said(last.quality), str(last.step_count), str(last.version), *sizes)
        table.add_row(outcome.label, *row, f"{report.waiting_share:.1%}", f"{report.largest_gap:g}")
    return table


def listing() -> Table:
    """What can be named on the command line."""
    table = Table("kind", "name", "what it is")
    for name, policy in POLICIES.items():
        parameters = ", ".join(f"{key}={value}" for key, value in policy_parameters(name).items())
        table.add_row("policy", f"{name} ({parameters})" if parameters else name, _first_line(policy))
    for name, cluster in CLUSTERS.items():
        table.add_row("cluster", name, _first_line(cluster))
    for name, selector in (SELECTORS | ADAPTIVE_SELECTORS).items():
        table.add_row("selector", name, _first_line(selector))
    return table


def _first_line(documented: object) -> str:
    return (documented.__doc__ or "").strip().splitlines()[0]


def read_arguments(arguments: Sequence[str] | None = None) -> tuple[RaceCommand, list[str]]:
    """Parse the command line (None: the process's own); what belongs to policies is left as words.

    Raises:
        ValueError: a condition is out of its range.
        SystemExit: malformed arguments, after tyro's message; or `--help`.
    """
    return tyro.cli(
        RaceCommand,
        prog="python -m sparsync.experiments.race",
        description="Race synchronisation models in simulation. The parameters of policies, which --list shows, "
        "are options too: --policy ssp --staleness 3.",
        args=arguments,
        return_unknown_args=True,
        default=RaceCommand(race=Race()),
    )


def main() -> None:
    """Run the command line."""
    with exit_on_bad_input():
        command, options = read_arguments()
        if command.list:
            Console().print(listing())
            sys.exit(0)
        try:
            outcomes = race(command, read_contestants(command.policy, options))
        except Violation as violation:
            sys.stderr.write(f"broken promise: {violation}\n")
            sys.exit(1)
        Console().print(summary(command.race, outcomes))
        for line in remark_lines(outcomes):
            sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    main()
