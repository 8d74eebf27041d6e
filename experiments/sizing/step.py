"""What would a step of this model on these machines be? Buckets kept as the planner says, and their timeline.

The planner (`osdp`) adds up what a step computes and sends; the timeline says how much of the sending is hidden. What
binds is every resource of which twice as much, planned anew, makes a sample quicker. Ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from sparsync.experiments.averaging.link import Link
from sparsync.experiments.planners import osdp
from sparsync.experiments.planners.plan import Plan
from sparsync.experiments.sizing.measured_times import CodecTimes, MeasuredTimes
from sparsync.experiments.sizing.operators import Operator
from sparsync.experiments.sizing.timeline import Timeline, Work, timeline
from sparsync.kernels.selection import target_count

_BITS = 8
_FORWARD_SHARE = 1 / 3
"""Of what is computed for a sample: the backward pass has two products for each of the forward pass."""
LEAST_GAIN = 1e-3
"""A resource binds if twice as much makes a sample quicker by more than this share."""


@dataclass(frozen=True)
class Conditions:
    """Machines, and what is sent.

    Args:
        worker_count: devices, each with a link of its own.
        memory_bytes: of a device.
        bits_per_second: of a link, in each direction.
        latency_seconds: of a message.
        operations_per_second: that a device sustains.
        density: of gradients that are summed, in (0, 1].
        batch: examples of a device; None is what the planner finds, 10,000 at most where few bytes are kept.
        state_bytes: for each parameter: it, its gradient, and the optimiser's states.
        value_bytes: of a parameter or gradient that travels.
        index_bytes: of a place that does.
        activation_share: of what PyTorch keeps in float32, how much is kept; a half where training is in 16 bits.
        selection: seconds of selecting; None leaves them out.
        codec: seconds of coding messages; None leaves them out.
    """

    worker_count: int
    memory_bytes: int
    bits_per_second: float
    latency_seconds: float = 50e-6
    operations_per_second: float = 1e14
    density: float = 1.0
    batch: int | None = None
    state_bytes: int = 16
    value_bytes: int = 2
    index_bytes: int = 4
    activation_share: float = 0.5
    selection: MeasuredTimes | None = None
    codec: CodecTimes | None = None

    def __post_init__(self) -> None:
        for name in ("bits_per_second", "operations_per_second", "activation_share"):
            if not 0 < getattr(self, name) < float("inf"):
                raise ValueError(f"{name} must be positive, got {getattr(self, name)}")

    @property
    def link(self) -> Link:
        """Of each device."""
        return Link(self.latency_seconds, _BITS / self.bits_per_second)

    def select_seconds(self, length: int) -> float:
        """Of selecting from so many entries, making the message, and reading those of the others."""
        selecting = 0.0 if self.selection is None else self.selection.seconds(length)
        if self.codec is None:
            return selecting
        return selecting + self.codec.seconds(target_count(self.density, length), self.worker_count - 1)

    def question(self, buckets: Sequence[Operator]) -> osdp.Sharding:
        """What the planner is asked.

        Raises:
            ValueError: see `osdp.Sharding`.
        """
        operators = tuple(self._operator(bucket) for bucket in buckets)
        sample_bytes = sum(operator.activation_bytes for operator in operators)
        batches: Sequence[int] = () if self.batch is None else (self.batch,)
        if self.batch is None and self.memory_bytes > osdp.MOST_BATCHES * sample_bytes:
            batches = range(1, osdp.MOST_BATCHES + 1)
        return osdp.Sharding(
            operators=operators,
            device_count=self.worker_count,
            memory_bytes=self.memory_bytes,
            link=self.link,
            batches=tuple(batches),
            density=self.density,
            state_bytes=self.state_bytes,
            value_bytes=self.value_bytes,
            index_bytes=self.index_bytes,
        )

    def _operator(self, bucket: Operator) -> osdp.Operator:
        return osdp.Operator(
            bucket.name,
            bucket.parameter_count,
            round(self.activation_share * bucket.activation_bytes),
            bucket.forward_flops / _FORWARD_SHARE / self.operations_per_second,
        )


@dataclass(frozen=True)
class Step:
    """A planned step.

    Args:
        plan: who is replicated, who is sharded, and the batch.
        works: of each bucket, in the order of the forward pass.
        timeline: when what is done.
        sample_count: examples of all devices.
    """

    plan: Plan
    works: tuple[Work, ...]
    timeline: Timeline
    sample_count: int

    @property
    def sample_seconds(self) -> float:
        """Of an example, with what is hidden."""
        return self.timeline.step_seconds / self.sample_count


@dataclass(frozen=True)
class Change:
    """What another machine, or another density, would do.

    Args:
        text: the change.
        sample_seconds: of an example then.
    """

    text: str
    sample_seconds: float


def planned_step(buckets: Sequence[Operator], conditions: Conditions) -> Step:
    """The plan of fewest seconds per sample by the planner's model, on its timeline.

    Raises:
        InfeasibleError: not even one example fits.
        ValueError: see `Conditions.question`.
    """
    question = conditions.question(buckets)
    plan = osdp.plan(question)
    batch: Any = plan.choice["batch"]
    kept: Any = plan.choice["operators"]
    works = tuple(_work(question, one, kept[one.name], batch, conditions) for one in question.operators)
    return Step(plan, works, timeline(works), batch * conditions.worker_count)


def _work(
    question: osdp.Sharding, one: osdp.Operator, kept: dict[str, Any], batch: int, conditions: Conditions
) -> Work:
    (way,) = (
        way
        for way in osdp.ways(question, one.parameter_count)
        if (way.kind, way.slices) == (kept["kept"], kept["slices"])
    )
    seconds = batch * one.compute_seconds
    is_sharded = way.kind == osdp.SHARDED
    return Work(
        one.name,
        forward_seconds=_FORWARD_SHARE * seconds,
        backward_seconds=(1 - _FORWARD_SHARE) * seconds,
        select_seconds=conditions.select_seconds(one.parameter_count) if way.kind == osdp.SPARSE else 0.0,
        # Two gathers and one reduce-scatter take equally long.
        gather_seconds=way.seconds / 3 if is_sharded else 0.0,
        exchange_seconds=way.seconds / 3 if is_sharded else way.seconds,
    )


def changes(buckets: Sequence[Operator], conditions: Conditions) -> dict[str, Change]:
    """What twice as much of each resource, and a tenth of the density, would do, by name."""
    others = {
        "processor": (
            "twice the operations per second",
            {"operations_per_second": 2 * conditions.operations_per_second},
        ),
        "memory": ("twice the memory", {"memory_bytes": 2 * conditions.memory_bytes}),
        "bandwidth": ("twice the bandwidth", {"bits_per_second": 2 * conditions.bits_per_second}),
        "latency": ("half the latency", {"latency_seconds": conditions.latency_seconds / 2}),
        "workers": ("twice the workers", {"worker_count": 2 * conditions.worker_count}),
        "density": (f"a density of {conditions.density / 10:g}", {"density": conditions.density / 10}),
    }
    found = {}
    for name, (text, fields) in others.items():
        other: Conditions = replace(conditions, **fields)  # type: ignore[arg-type]  # each field has its own type
        found[name] = Change(text, planned_step(buckets, other).sample_seconds)
    return found


def binding(step: Step, found: dict[str, Change]) -> tuple[str, ...]:
    """Resources of which more makes a sample quicker; more workers share the work, and bind nothing."""
    limit = (1 - LEAST_GAIN) * step.sample_seconds
    return tuple(
        name
        for name, change in found.items()
        if name in ("processor", "memory", "bandwidth", "latency") and change.sample_seconds < limit
    )
