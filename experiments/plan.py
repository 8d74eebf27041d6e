"""How should this model be trained on these machines, how long does a step take, what binds, and what would help?

`python -m sparsync.experiments.plan resnet50 --memory 80GB --workers 16 --bandwidth 25Gbit --density 0.001` plans who
is replicated and who is sharded, the batch, what of sending is hidden, by which collective and at which densities. The
model is a name, or `file.py:factory` that returns a `torch.nn.Module` and an example of what it is called with; neither
is held in memory. All times are predictions: of operations per second, and of links by latency and bandwidth, as given.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import tyro
from rich.console import Console
from rich.table import Table

from sparsync.experiments.command import exit_on_bad_input
from sparsync.experiments.planners.plan import Plan
from sparsync.experiments.sizing.buckets import bucketed, named_operators
from sparsync.experiments.sizing.measured_times import read_codec_times, read_selection_times
from sparsync.experiments.sizing.operators import Operator
from sparsync.experiments.sizing.sending import collective_of, densities_of, sending_lines
from sparsync.experiments.sizing.step import Change, Conditions, Step, binding, changes, planned_step
from sparsync.theory.calculator import bits_per_second
from sparsync.verify.tools.provenance import provenance, require_output, write_json

_BYTES = {"": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
_PLAIN_WIDTH = 120
_MOST_ROWS = 40
"""Buckets that the table shows; the JSON has all."""


@dataclass(frozen=True)
class PlanCommand:
    """A parsed command line."""

    model: tyro.conf.Positional[str]
    """key of NETWORKS, or file.py:factory, which returns a module and what it is called with: a tensor, or several"""
    memory: str
    """of a device, such as 80GB or 24GiB"""
    workers: int
    """devices"""
    bandwidth: str
    """of each device's link, such as 25Gbit"""
    latency: float = 50e-6
    """seconds of a message"""
    density: float = 1.0
    """share of a gradient's entries that is sent by Top-k where operators are replicated"""
    batch: int | None = None
    """examples of a device; None lets the planner choose"""
    operations: float = 1e14
    """operations per second that a device sustains, a multiplication and an addition being two"""
    state_bytes: int = 16
    """memory for each parameter: 16 is Adam in mixed precision"""
    value_bytes: int = 2
    """of a value that is sent"""
    index_bytes: int = 4
    """of a place that is sent"""
    activation_share: float = 0.5
    """how much is kept of what float32 would keep for the backward pass"""
    bucket: str = "25MB"
    """of parameters that travel together, at most, unless one operator has more"""
    kernels: Path | None = None
    """times of selection as `make bench` or `make gpu` wrote them; without them selecting takes no time"""
    codec: Path | None = None
    """times of coding messages as `make bench` wrote them, wire.json; without them coding takes no time"""
    output: Path | None = None
    """where the plan goes, as JSON"""
    figure: Path | None = None
    """where a picture goes, .png or .pdf"""


def size_bytes(text: str) -> int:
    """A size such as `80GB` (10⁹ bytes each) or `24GiB` (2³⁰).

    Raises:
        ValueError: no such size.
    """
    match = re.fullmatch(r"\s*([0-9.]+(?:[eE]\+?[0-9]+)?)\s*([kKMGT]i?B)?\s*", text)
    try:
        value = float(match[1]) * _BYTES[match[2] or ""] if match else 0.0
    except (ValueError, KeyError):
        value = 0.0
    if not 1 <= value < float("inf"):
        raise ValueError(f"a size must be a number with kB, MB, GB, TB, KiB, MiB or GiB, got {text!r}")
    return int(value)


def conditions_of(command: PlanCommand) -> Conditions:
    """What the command line says of machines.

    Raises:
        ValueError: a number out of its range, or see `read_selection_times` and `read_codec_times`.
        OSError: measured times cannot be read.
    """
    return Conditions(
        worker_count=command.workers,
        memory_bytes=size_bytes(command.memory),
        bits_per_second=bits_per_second(command.bandwidth),
        latency_seconds=command.latency,
        operations_per_second=command.operations,
        density=command.density,
        batch=command.batch,
        state_bytes=command.state_bytes,
        value_bytes=command.value_bytes,
        index_bytes=command.index_bytes,
        activation_share=command.activation_share,
        selection=None if command.kernels is None else read_selection_times(command.kernels),
        codec=None if command.codec is None else read_codec_times(command.codec),
    )


def record_of(
    command: PlanCommand,
    buckets: Sequence[Operator],
    step: Step,
    found: dict[str, Change],
    sending: dict[str, Plan | None],
) -> dict[str, Any]:
    """The JSON of a plan."""
    return {
        "model": command.model,
        "command": {name: str(value) if isinstance(value, Path) else value for name, value in asdict(command).items()},
        "buckets": [asdict(bucket) for bucket in buckets],
        "plan": asdict(step.plan),
        **{planner: None if other is None else asdict(other) for planner, other in sending.items()},
        "works": [asdict(work) for work in step.works],
        "spans": [asdict(span) for span in step.timeline.spans],
        "step_seconds": step.timeline.step_seconds,
        "exposed_seconds": step.timeline.exposed_seconds,
        "sample_seconds": step.sample_seconds,
        "binding": list(binding(step, found)),
        "changes": {name: asdict(change) for name, change in found.items()},
        "provenance": provenance(process_count=1),
    }


def lines_of(step: Step, found: dict[str, Change]) -> list[str]:
    """What a person reads below the table."""
    line, works = step.timeline, step.works
    parts = {
        "forward": sum(work.forward_seconds for work in works),
        "backward": sum(work.backward_seconds for work in works),
        "selecting and coding": sum(work.select_seconds for work in works),
        "waiting for the link": line.exposed_seconds,
    }
    shares = ", ".join(f"{name} {_seconds(part)}" for name, part in parts.items() if part)
    bound = binding(step, found)
    gains = sorted(
        ((change.sample_seconds / step.sample_seconds - 1, change.text) for change in found.values()),
        key=lambda gain: gain[0],
    )
    helpful = [f"{text} {gain:+.1%}" for gain, text in gains if abs(gain) >= 0.001]
    kept: Any = step.plan.choice["memory_bytes"]
    return [
        f"a step of {step.sample_count} examples takes {_seconds(line.step_seconds)}, {1 / step.sample_seconds:,.4g} "
        f"examples a second: {shares}",
        f"the link is busy for {_seconds(line.link_seconds)}; a device needs {kept / 1e9:.4g} GB",
        f"what binds: {', '.join(bound) or 'nothing of these'}",
        f"seconds of an example with {'; '.join(helpful)}"
        if helpful
        else "no change that was tried makes a difference",
        *step.plan.remarks,
    ]


def table_of(buckets: Sequence[Operator], step: Step) -> Table:
    """A row for each bucket, in the order of the forward pass."""
    table = Table(title=f"a batch of {step.plan.choice['batch']} a device")
    for heading in ("bucket", "parameters", "kept", "forward", "backward", "link", "sent by"):
        table.add_column(heading, justify="left" if heading in ("bucket", "kept") else "right")
    kept: Any = step.plan.choice["operators"]
    ends = {span.name: span.end_seconds for span in step.timeline.spans if span.kind == "exchange"}
    for bucket, work in list(zip(buckets, step.works, strict=True))[:_MOST_ROWS]:
        way = kept[bucket.name]
        slices = f" in {way['slices']}" if way["slices"] > 1 else ""
        table.add_row(
            bucket.name,
            f"{bucket.parameter_count:,}",
            way["kept"] + slices,
            *map(_seconds, (work.forward_seconds, work.backward_seconds, work.link_seconds)),
            _seconds(ends[bucket.name]) if bucket.name in ends else "",
        )
    if len(buckets) > _MOST_ROWS:
        table.caption = f"and {len(buckets) - _MOST_ROWS} more"
    return table


def _seconds(value: float) -> str:
    return f"{value:.3g} s" if value >= 1 else f"{1e3 * value:.3g} ms"


def read_arguments(arguments: Sequence[str] | None = None) -> PlanCommand:
    """Parse the command line; None is the process's own.

    Raises:
        SystemExit: malformed arguments, after tyro's message; or `--help`.
    """
    return tyro.cli(
        PlanCommand,
        prog="python -m sparsync.experiments.plan",
        description="Plan the training of a model: what is sharded, how long a step takes, what binds, what helps.",
        args=arguments,
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line."""
    with exit_on_bad_input():
        command = read_arguments(arguments)
        for path in (command.output, command.figure):
            if path is not None:
                require_output(path)
        conditions = conditions_of(command)
        parameters = max(1, size_bytes(command.bucket) // command.value_bytes)
        buckets = bucketed(named_operators(command.model), parameters)
        step = planned_step(buckets, conditions)
        found = changes(buckets, conditions)
        sending = {
            "collective": collective_of(buckets, step, conditions),
            "layer_density": densities_of(buckets, step, conditions),
        }
        if command.figure is not None:
            from sparsync.experiments.sizing.picture import draw

            draw(step, command.figure)
        if command.output is not None:
            write_json(command.output, record_of(command, buckets, step, found, sending))
        console = Console()
        console = console if console.is_terminal else Console(width=_PLAIN_WIDTH)
        console.print(table_of(buckets, step))
        for line in [*lines_of(step, found), *sending_lines(**sending)]:
            sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    main()
