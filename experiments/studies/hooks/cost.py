"""What does the hook cost beyond selecting and sending, and does it send while backward computes?

`python -m sparsync.experiments.studies.hooks.cost --output FILE` times steps of plain DDP and of the hook on gloo ranks
of this machine. With `--link-mbit 100` (root only) two ranks have a link of that rate between them as well, and
the trace of a step is written beside FILE, for chrome://tracing or Perfetto.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import tyro

from sparsync.experiments.command import exit_on_bad_input
from sparsync.experiments.hooks.watching import BEYOND
from sparsync.experiments.hosts import absence, slow_hosts
from sparsync.experiments.studies.hooks.rank import WORKLOADS, ContenderName, Job
from sparsync.experiments.studies.hooks.ranks import Place, run_ranks
from sparsync.verify.tools.provenance import provenance, require_output, write_json

BATCH_SIZES = {"resnet20": 32, "gpt": 8, "tiny": 4}
"""Examples of a rank and step: with four ranks ResNet-20 has He et al.'s 128; a window of text has 128 tokens."""
LINK_BUCKET_MIB = 0.25
"""By default these models are two buckets or one, and hardly anything is left to overlap."""
AT_LINK: tuple[ContenderName, ...] = ("plain", "watched", "dense")
SETTLED = 1
"""Of ten sizes of a process the first are not looked at: until then allocators still grow."""


@dataclass(frozen=True)
class CostCommand:
    """A parsed command line.

    Raises:
        ValueError: an unknown model, or a number out of range.
    """

    output: Path
    """where the JSON result goes; its folder must exist"""
    models: tuple[str, ...] = ("resnet20", "gpt")
    """keys of WORKLOADS"""
    ranks: Annotated[tuple[int, ...], tyro.conf.arg(help="numbers of ranks; none: the link alone")] = (2, 4)
    rounds: Annotated[int, tyro.conf.arg(help="turns of each contender")] = 5
    steps: Annotated[int, tyro.conf.arg(help="of each turn")] = 4
    memory_steps: Annotated[int, tyro.conf.arg(help="steps in which the process must not grow; 0: none")] = 0
    link_mbit: Annotated[float | None, tyro.conf.arg(help="rate of the slow link, Mbit/s; root only")] = None

    def __post_init__(self) -> None:
        if unknown := [name for name in self.models if name not in WORKLOADS]:
            raise ValueError(f"unknown models {', '.join(unknown)}; known: {', '.join(WORKLOADS)}")
        for name, least in (("rounds", 1), ("steps", 1), ("memory_steps", 0)):
            if getattr(self, name) < least:
                raise ValueError(f"{name} must be at least {least}, got {getattr(self, name)}")
        if any(count < 2 for count in self.ranks):
            raise ValueError(f"ranks must be at least 2, got {self.ranks}")
        if self.link_mbit is not None and not 0 < self.link_mbit < float("inf"):
            raise ValueError(f"link_mbit must be positive, got {self.link_mbit}")


def run_cost(
    command: CostCommand, *, report: Callable[[str], None] = lambda _: None
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The study's JSON, and the events of the slow link's traces, model after model.

    Raises:
        RuntimeError: a rank failed, or the system refuses a slow link.
    """
    rows, memory = [], []
    for model in command.models:
        for place, count in enumerate(command.ranks):
            steps = command.memory_steps if place == 0 else 0
            job = replace(_job(command, model), rank_count=count, memory_steps=steps)
            results = run_ranks(job)
            rows.append(cost_row(job, results))
            report(cost_line(rows[-1]))
            if steps:
                memory.append(memory_row(job, results))
                report(memory_line(memory[-1]))
    link_rows: list[dict[str, Any]] = []
    events: list[dict[str, Any]] = []
    if command.link_mbit is not None:
        for model in command.models:
            job = replace(_job(command, model), bucket_mib=LINK_BUCKET_MIB, contenders=AT_LINK, traced=True)
            row, found = link_row(job, command.link_mbit)
            link_rows.append(row)
            events += found
            report(link_line(row))
    study = {
        "rows": rows,
        "memory": memory,
        "link": link_rows,
        "provenance": provenance(process_count=max((*command.ranks, 2))),
    }
    return study, events


def _job(command: CostCommand, model: str) -> Job:
    """With two ranks."""
    return Job(model, rank_count=2, rounds=command.rounds, steps=command.steps, batch_size=BATCH_SIZES[model])


def cost_row(job: Job, results: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Times of rank 0, a number for each round: the median of its steps; shares are of a watched step of that round.

    `overhead_share` is preparing, the finite check, packing and unpacking; `processor_overhead_share` the same in
    processor seconds, which other work on the machine changes less; `added_share` by how much a step with the hook is
    longer than one of plain DDP in the same round, selection and communication included.
    """
    first = results[0]
    rounds = {name: _by_round(seconds, job) for name, seconds in first["step_seconds"].items()}
    watched = first["watched"]["watched"]
    phases = {phase: _by_round(seconds, job) for phase, seconds in watched["phase_seconds"].items()}
    processor = first["step_processor_seconds"]["watched"]
    pairs = zip(rounds["hook"], rounds["plain"], strict=True)
    worked = watched["phase_processor_seconds"]
    return {
        **asdict(job),
        "parameter_count": first["parameter_count"],
        "bucket_count": watched["bucket_count"],
        "sent_bytes": watched["sent_bytes"],
        "step_seconds": rounds,
        "phase_seconds": phases,
        "through_seconds": _by_round(watched["through_seconds"], job),
        "overhead_share": _shares(watched["phase_seconds"], first["step_seconds"]["watched"], job),
        "processor_overhead_share": _shares(worked, processor, job),
        "added_share": [hook / plain - 1 for hook, plain in pairs],
        "telemetry_seconds": first["telemetry_seconds"],
        "telemetry_share": first["telemetry_seconds"] / median(rounds["telemetry"]),
    }


def _by_round(seconds: Sequence[float], job: Job) -> list[float]:
    return [median(seconds[start : start + job.steps]) for start in range(0, len(seconds), job.steps)]


def _shares(phases: dict[str, list[float]], steps: Sequence[float], job: Job) -> list[float]:
    """Of each round: what the hook does beyond selection and communication, as a share of a step."""
    beyond = [sum(parts) for parts in zip(*(phases[phase] for phase in BEYOND), strict=True)]
    return _by_round([part / whole for part, whole in zip(beyond, steps, strict=True)], job)


def memory_row(job: Job, results: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Sizes of each rank's process after each tenth of the steps, and by how much the most grew after the second."""
    sizes = [result["resident_bytes"] for result in results]
    grown = max(found[-1] - found[SETTLED] for found in sizes)
    return {
        "model": job.model,
        "rank_count": job.rank_count,
        "memory_steps": job.memory_steps,
        "resident_bytes": sizes,
        "grown_bytes": grown,
    }


def link_row(job: Job, mbit_per_second: float) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Plain DDP, the hook and the hook with `keep_all` on two ranks with a slow link; and the traces of both hooks.

    `overlap_share` is the part of the time with something under way in which backward still computed.
    """
    with slow_hosts(job.rank_count, mbit_per_second) as hosts:
        results = run_ranks(job, [Place(host.prefix, host.environment) for host in hosts])
    first = results[0]
    row = {
        **asdict(job),
        "link_bits_per_second": 1e6 * mbit_per_second,
        "parameter_count": first["parameter_count"],
        "step_seconds": {name: _by_round(seconds, job) for name, seconds in first["step_seconds"].items()},
        **{name: _overlap(first["watched"][name], job) for name in ("watched", "dense")},
    }
    names = {"watched": "hook", "dense": "hook, keep_all"}
    return row, [
        _renamed(event, f"{job.model}, {names[name]}, rank {result['rank']}", 10 * place + result["rank"])
        for place, name in enumerate(names)
        for result in results
        for event in _from_zero(result["traces"][name], results[0]["traces"][name])
    ]


def _overlap(watched: dict[str, Any], job: Job) -> dict[str, Any]:
    pairs = zip(watched["overlapped_seconds"], watched["communication_seconds"], strict=True)
    shares = [within / whole for within, whole in pairs]
    return {
        "bucket_count": watched["bucket_count"],
        "sent_bytes": watched["sent_bytes"],
        "communication_seconds": _by_round(watched["communication_seconds"], job),
        "overlap_share": _by_round(shares, job),
    }


def _from_zero(events: Sequence[dict[str, Any]], origin: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """All processes of a machine have one clock; a step of rank 0 begins at 0."""
    begin = min(event["ts"] for event in origin if "ts" in event)
    return [{**event, "ts": event["ts"] - begin} if "ts" in event else event for event in events]


def _renamed(event: dict[str, Any], name: str, process: int) -> dict[str, Any]:
    moved = {**event, "pid": process}
    return {**moved, "args": {"name": name}} if event["name"] == "process_name" else moved


def cost_line(row: dict[str, Any]) -> str:
    """A row in a line."""
    steps = {name: median(seconds) for name, seconds in row["step_seconds"].items()}
    return (
        f"{row['model']}, {row['rank_count']} ranks: plain DDP {1e3 * steps['plain']:.0f} ms a step, "
        f"the hook {1e3 * steps['hook']:.0f} ms; beyond selection and communication {_spread(row['overhead_share'])} "
        f"of a step ({_spread(row['processor_overhead_share'])} of its processor time); "
        f"telemetry {row['telemetry_share']:.2%}"
    )


def memory_line(row: dict[str, Any]) -> str:
    """A row in a line."""
    return (
        f"{row['model']}, {row['rank_count']} ranks, {row['memory_steps']} steps: grown by "
        f"{row['grown_bytes'] / 2**20:.1f} MiB after the first fifth"
    )


def link_line(row: dict[str, Any]) -> str:
    """A row in a line."""
    steps = {name: median(seconds) for name, seconds in row["step_seconds"].items()}
    return (
        f"{row['model']}, 2 ranks, {row['link_bits_per_second'] / 1e6:g} Mbit/s: plain DDP {1e3 * steps['plain']:.0f} "
        f"ms a step, the hook {1e3 * steps['watched']:.0f} ms; sent during backward "
        f"{_spread(row['watched']['overlap_share'])} of the time that sending takes (keep_all: "
        f"{_spread(row['dense']['overlap_share'])})"
    )


def _spread(shares: Sequence[float]) -> str:
    return f"{median(shares):.1%} [{min(shares):.1%}, {max(shares):.1%}]"


def read(arguments: Sequence[str] | None = None) -> CostCommand:
    """Parse the command line; None is the process's own."""
    return tyro.cli(
        CostCommand,
        prog="python -m sparsync.experiments.studies.hooks.cost",
        description="Time the hook, and see what it sends during backward.",
        args=arguments,
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line."""
    with exit_on_bad_input():
        command = read(arguments)
        require_output(command.output)
        if command.link_mbit is not None and (reason := absence()):
            sys.stderr.write(f"{reason}; left out\n")
            command = replace(command, link_mbit=None)
        study, events = run_cost(command, report=lambda line: print(line, flush=True))  # noqa: T201
        write_json(command.output, study)
        if events:
            write_json(command.output.with_suffix(".trace.json"), {"traceEvents": events})


if __name__ == "__main__":
    main()
