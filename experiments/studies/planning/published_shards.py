"""What would the planner gain over all shards in two published settings, of which much is not known?

Known are the model, the memory of a device, and of one the number of devices. Sequences, links, devices' speeds and
bits of numbers were not found, so that all of a range are tried, each with the best batch. Nor was it found whether
"all sharded" gathers slices of operators, as the planner may, or whole ones, whose buffers leave less for samples.

The ratios are those of the table in the repository of Jiang, Fu, Miao, Nie, Cui 2023 (OSDP); the article was not read.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from sparsync.experiments.planners import osdp
from sparsync.experiments.planners.plan import InfeasibleError
from sparsync.experiments.sizing.buckets import bucketed
from sparsync.experiments.sizing.networks import Transformer, transformer
from sparsync.experiments.sizing.operators import Operator, operators_of
from sparsync.experiments.sizing.step import Conditions
from sparsync.experiments.studies.planning.shards_alone import sharded_seconds

LATENCY_SECONDS = 20e-6
NUMBERS: dict[int, dict[str, Any]] = {
    16: {"value_bytes": 2, "activation_share": 0.5},
    32: {"value_bytes": 4, "activation_share": 1.0},
}
"""By bits: what a value that travels takes, and which share of what float32 keeps is kept."""


@dataclass(frozen=True)
class PublishedModel:
    """A setting.

    Args:
        sizes: of the model; the window is varied.
        memory_bytes: of a device.
        device_counts: that are tried; the one that is named, where one is.
        published_gain: samples per second of the plan over those of all shards.
    """

    sizes: Transformer
    memory_bytes: int
    device_counts: tuple[int, ...]
    published_gain: float


MODELS: dict[str, PublishedModel] = {
    "gpt2_48": PublishedModel(Transformer(48, 2048, 16, 8192, 50257, 1024), 8 * 2**30, (8, 16, 32), 192.3 / 158.0),
    "opt_8": PublishedModel(Transformer(8, 7168, 56, 28672, 50272, 2048), 16 * 2**30, (8,), 1262 / 453),
}
"""GPT-2 with 48 layers and a hidden size of 2048, and OPT-30B cut to 8 layers."""


def published_rows(
    name: str, windows: Sequence[int], speeds: Sequence[float], links: Sequence[float]
) -> dict[str, Any]:
    """A model in every setting that the known facts allow.

    Args:
        name: key of `MODELS`.
        windows: tokens of a sequence.
        speeds: operations per second of a device.
        links: bits per second.

    Returns:
        The known facts, the `published_gain`, how many settings have no room for one sequence, and for all others the
        `gain` by baseline, null where its shards have no room; `plan_seconds` is the most that a plan took.
    """
    model = MODELS[name]
    rows = list[dict[str, Any]]()
    for window in windows:
        operators = operators_of(*transformer(replace(model.sizes, window=window)))
        for bits, devices, speed, link in product(NUMBERS, model.device_counts, speeds, links):
            conditions = Conditions(
                devices, model.memory_bytes, link, LATENCY_SECONDS, operations_per_second=speed, **NUMBERS[bits]
            )
            known = {"window": window, "bits": bits, "device_count": devices}
            known |= {"operations_per_second": speed, "bits_per_second": link}
            rows.append(known | _planned(operators, conditions))
    return {
        "model": name,
        "published_gain": model.published_gain,
        "memory_bytes": model.memory_bytes,
        "rows": [row for row in rows if row["gain"]],
        "without_room_count": sum(not row["gain"] for row in rows),
        "plan_seconds": max(row.pop("plan_seconds") for row in rows),
    }


def _planned(operators: Sequence[Operator], conditions: Conditions) -> dict[str, Any]:
    """The gain over each baseline, its names being there where a sequence fits at all, and the planner's seconds."""
    question = conditions.question(bucketed(operators, 1))
    begin = time.process_time()
    try:
        found = osdp.plan(question)
    except InfeasibleError:
        return {"gain": {}, "plan_seconds": time.process_time() - begin}
    seconds = time.process_time() - begin
    baselines = {"slices": question, "operators": replace(question, slice_counts=(1,))}
    gains = {name: sharded_seconds(baseline) / found.objective for name, baseline in baselines.items()}
    return {
        "gain": {name: gain if math.isfinite(gain) else None for name, gain in gains.items()},
        "batch": found.choice["batch"],
        "plan_seconds": seconds,
    }
