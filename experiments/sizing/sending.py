"""What of a replicated gradient should be sent, and by which collective? The planners' answers for a planned step.

Nothing is known of gradients before training: entries of all buckets are taken to be Gaussian of one variance, so that
what differs between buckets is how many entries they have, and what of their exchange the backward pass hides. Ours.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sparsync.experiments.planners import collective as collectives
from sparsync.experiments.planners import layer_density as densities
from sparsync.experiments.planners import osdp
from sparsync.experiments.planners.parts import collective_seconds
from sparsync.experiments.planners.plan import Plan
from sparsync.experiments.sizing.operators import Operator
from sparsync.experiments.sizing.step import Conditions, Step
from sparsync.kernels.selection import target_count

LAW = "gaussian_law"
"""Of the entries of a gradient."""


def collective_of(buckets: Sequence[Operator], step: Step, conditions: Conditions) -> Plan | None:
    """The collective for the largest bucket that is replicated; None where none is, or one device works alone."""
    sizes = [bucket.parameter_count for bucket in replicated(buckets, step)]
    if not sizes or conditions.worker_count == 1:
        return None
    return collectives.plan(
        collective_seconds.Question(
            workers=conditions.worker_count,
            dimension=max(sizes),
            density=conditions.density,
            link=conditions.link,
            value_bytes=conditions.value_bytes,
            index_bytes=conditions.index_bytes,
        )
    )


def densities_of(buckets: Sequence[Operator], step: Step, conditions: Conditions) -> Plan | None:
    """The densities by bucket that capture most in no more time than the one density of the planned step takes.

    None where that is not the choice for every bucket, or one device works alone.
    """
    kept: Any = step.plan.choice["operators"]
    if any(kept[bucket.name]["kept"] != osdp.SPARSE for bucket in buckets) or conditions.worker_count == 1:
        return None
    others = conditions.worker_count - 1
    layers = tuple(
        densities.Layer(work.backward_seconds, *_groups(bucket), selection_seconds=work.select_seconds)
        for bucket, work in reversed(list(zip(buckets, step.works, strict=True)))
    )
    question = densities.Question(
        layers=layers,
        latency_seconds=others * conditions.latency_seconds,
        byte_seconds=conditions.link.seconds_per_byte,
        entry_bytes=others * (conditions.value_bytes + conditions.index_bytes),
    )
    counts = [target_count(conditions.density, layer.size) for layer in layers]
    # Up to roundings this is the step without its forward pass; upwards, so that these counts are possible.
    budget = math.nextafter(float(densities.arrival(question, counts)), math.inf)
    return densities.plan(replace(question, budget_seconds=budget))


def replicated(buckets: Sequence[Operator], step: Step) -> list[Operator]:
    """The buckets of which every device keeps all."""
    kept: Any = step.plan.choice["operators"]
    return [bucket for bucket in buckets if kept[bucket.name]["kept"] != osdp.SHARDED]


def sending_lines(*, collective: Plan | None, layer_density: Plan | None) -> list[str]:
    """What a person reads of both answers."""
    lines = []
    if collective is not None:
        chosen: Any = collective.choice
        others = sorted((seconds, name) for name, seconds in chosen["seconds"].items() if name != chosen["collective"])
        shown = ", ".join(f"{name} {_milliseconds(seconds)}" for seconds, name in others[:2])
        lines += [
            f"to send {chosen['count']:,} entries of the largest bucket: {chosen['collective']} "
            f"{_milliseconds(collective.objective)}, then {shown}",
            *collective.remarks,
        ]
    if layer_density is not None:
        found: Any = layer_density.choice["densities"]
        lines += [
            f"in the same time, densities from {min(found):.3g} to {max(found):.3g} by bucket, "
            f"{found[-1]:.3g} of the first and {found[0]:.3g} of the last, if entries are Gaussian: "
            f"{layer_density.remarks[0]}",
        ]
    return lines


def _milliseconds(seconds: float) -> str:
    return f"{1e3 * seconds:.3g} ms"


def _groups(bucket: Operator) -> tuple[tuple[int, ...], tuple[float, ...]]:
    return densities.grouped_law(LAW, bucket.parameter_count, float(bucket.parameter_count))
