"""How long does a planner think? Seconds of every planner on a question as large as those of the published systems.

`python -m sparsync.experiments.studies.planning.planning_seconds --output FILE`. Sizes are those of the systems where
they are known, and larger ones elsewhere; all else is drawn. Seconds are those of the processor, without imports.
"""

from __future__ import annotations

import inspect
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tyro
from rich.console import Console
from rich.table import Table

from sparsync.experiments.averaging.link import Link
from sparsync.experiments.command import exit_on_bad_input, step_progress
from sparsync.experiments.planners import density, easyscale, flexsp, layer_density, lb_bsp, osdp, switch_point
from sparsync.experiments.planners.collaborations.loads import Collaboration, Peer
from sparsync.experiments.planners.parts import collective_seconds
from sparsync.experiments.planners.registry import PLANNERS
from sparsync.experiments.sizing.buckets import named_operators
from sparsync.experiments.sizing.operators import Operator
from sparsync.verify.tools.provenance import provenance, require_output, write_json

AIM_SECONDS = 5.0
"""Within which a plan should be there."""
OPERATIONS_PER_SECOND = 1e14
STATE_BYTES = 16
SLOW_LINK, FAST_LINK = Link(50e-6, 8 / 25e9), Link(5e-6, 1 / 200e9)
"""25 Gbit/s between nodes, 200 GB/s inside."""


@dataclass(frozen=True)
class SecondsCommand:
    """A parsed command line."""

    output: Path
    """where the JSON result goes; its folder must exist"""


@dataclass(frozen=True)
class Size:
    """A question, and how large it is in words."""

    text: str
    question: Any


def gpt_shards() -> Size:
    """GPT-2 of 1.5 billion parameters, operator by operator; memory for its shards and some replicas."""
    owners = _owners("gpt2_xl")
    operators = tuple(
        osdp.Operator(
            one.name,
            one.parameter_count,
            round(one.activation_bytes / 2),
            3 * one.forward_flops / OPERATIONS_PER_SECOND,
        )
        for one in owners
    )
    question = osdp.Sharding(operators, 64, 24 * 10**9, SLOW_LINK, state_bytes=STATE_BYTES)
    return Size(f"GPT-2 XL, {len(operators)} operators, 64 devices, every batch", question)


def sequences() -> Size:
    """The batch of the released solver: GPT of 7 billion parameters."""
    question = flexsp.gpt7b(np.random.default_rng(0))
    return Size(f"{len(question.lengths)} sequences, {question.device_count} devices", question)


def exchange() -> Size:
    """BERT-large's gradient between nodes of eight."""
    dimension = sum(one.parameter_count for one in _owners("bert_large"))
    question = collective_seconds.Question(
        workers=64, dimension=dimension, density=0.001, link=SLOW_LINK, node_size=8, inner_link=FAST_LINK
    )
    return Size("BERT-large, 8 nodes of 8 workers", question)


def layers() -> Size:
    """ResNet-50, a message for each operator with parameters."""
    found = tuple(
        layer_density.Layer(
            2 * 32 * one.forward_flops / OPERATIONS_PER_SECOND,
            *layer_density.grouped_law("gaussian_law", one.parameter_count, float(one.parameter_count)),
        )
        for one in reversed(_owners("resnet50"))
    )
    question = layer_density.Question(
        found, 6 * SLOW_LINK.latency_seconds, SLOW_LINK.seconds_per_byte, entry_bytes=8 * 63, budget_seconds=0.2
    )
    return Size(f"ResNet-50, {len(found)} messages, 64 workers", question)


def one_density() -> Size:
    """ResNet-50's gradient."""
    dimension = sum(one.parameter_count for one in _owners("resnet50"))
    return Size("ResNet-50, 64 workers", density.Question(dimension, 64, 25e9, 0.1, latency_seconds=50e-6))


def switch() -> Size:
    """As many updates as ResNet-32 takes on CIFAR-10, with 16 workers."""
    numbers = random.Random("switch")
    steps = 64_000
    question = switch_point.Question(
        step_sizes=tuple(0.1 * 0.1 ** (place * 3 // steps) for place in range(steps)),
        curvatures=tuple(10.0 + 5 * numbers.random() for _ in range(steps)),
        worker_seconds=tuple(0.1 * (1 + numbers.random()) for _ in range(16)),
        link=switch_point.Link(464_154, 1e9, 50e-6),
    )
    return Size(f"{steps} updates, 16 workers", question)


def batch() -> Size:
    """A batch of many examples on unequal workers."""
    numbers = random.Random("batch")
    workers = tuple(
        lb_bsp.Worker(lb_bsp.FlatThenStraight(1e-3 * (1 + numbers.random()), 0.01, 16), cap=512, send_seconds=0.01)
        for _ in range(64)
    )
    return Size("8192 examples, 64 workers", lb_bsp.SharedBatch(workers, 8192))


def devices() -> Size:
    """Three types of GPUs."""
    types = tuple(easyscale.DeviceType(count, speed, 16) for count, speed in ((16, 1.0), (32, 2.3), (16, 4.1)))
    return Size("256 logical workers, 64 devices of 3 types", easyscale.Job(256, types))


def peers() -> Size:
    """Volunteers with home links."""
    numbers = random.Random("peers")
    found = tuple(
        Peer(
            examples_per_second=numbers.choice([0.0, 5.0, 10.0, 25.0]) * (1 + numbers.random()),
            upload=numbers.uniform(5e6, 50e6),
            download=numbers.uniform(20e6, 200e6),
            averages=numbers.random() < 0.8,
        )
        for _ in range(100)
    )
    return Size("100 peers", Collaboration(found, 4096, 18_000_000))


PUBLISHED: dict[str, Callable[[], Size]] = {
    "osdp": gpt_shards,
    "flexsp": sequences,
    "collective": exchange,
    "layer_density": layers,
    "density": one_density,
    "switch_point": switch,
    "lb_bsp": batch,
    "easyscale": devices,
    "dedloc": peers,
}
"""By planner, the question that is timed; one without a line is not."""


def _owners(network: str) -> list[Operator]:
    return [one for one in named_operators(network) if one.parameter_count]


def planning_row(name: str) -> dict[str, Any]:
    """One planner's seconds on its question, and what it asks in general, the first sentence of its file."""
    size, text = PUBLISHED[name](), inspect.getdoc(inspect.getmodule(PLANNERS[name])) or ""
    begin = time.process_time()
    plan = PLANNERS[name](size.question)
    seconds = time.process_time() - begin
    asks = " ".join(text.partition("?")[0].split()) + "?"
    return {"planner": name, "asks": asks, "question": size.text, "seconds": seconds, "objective": plan.objective}


def run_planning_seconds(*, advance: Callable[[], None] = lambda: None) -> dict[str, Any]:
    """Time every planner; the study's JSON."""
    rows = []
    for name in PUBLISHED:
        rows.append(planning_row(name))
        advance()
    return {"aim_seconds": AIM_SECONDS, "rows": rows, "provenance": provenance(process_count=1)}


def main() -> None:
    """Run the command line."""
    with exit_on_bad_input():
        command = tyro.cli(
            SecondsCommand,
            prog="python -m sparsync.experiments.studies.planning.planning_seconds",
            description="Time the planners.",
        )
        require_output(command.output)
        with step_progress(len(PUBLISHED), visible=True, title="planners") as advance:
            study = run_planning_seconds(advance=advance)
        write_json(command.output, study)
    Console().print(_table(study["rows"]))


def _table(rows: list[dict[str, Any]]) -> Table:
    table = Table(title=f"seconds of a plan, which should be below {AIM_SECONDS:g}")
    for heading in ("planner", "question", "seconds"):
        table.add_column(heading, justify="right" if heading == "seconds" else "left")
    for row in rows:
        table.add_row(row["planner"], row["question"], f"{row['seconds']:.3f}")
    return table


if __name__ == "__main__":
    main()
