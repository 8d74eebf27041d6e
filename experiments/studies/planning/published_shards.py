"""What would the planner gain over all shards in published settings, of which not all is known?

The page of the repository of Jiang, Fu, Miao, Nie, Cui 2023 (OSDP) names the models, the memory of a device and the
throughput; the article was not read. The repository's programs say more: 8 devices of one machine, float32 and Adam; of
OPT, sequences of 512 tokens; and of GPT-2 a smaller model than the page has, and 96 sums of 6 digits a device. Links
and devices' speeds were not found, nor sequences for the model of the page, so that all of a range are tried, each with
the best batch where none is given. Nor was it found whether "all sharded" should gather slices of operators, as the
planner may, or whole ones, whose buffers leave less for samples.
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
DEVICE_COUNT, VALUE_BYTES, ACTIVATION_SHARE = 8, 4, 1.0
"""Of all settings: what the programs start, and that they train in float32."""


@dataclass(frozen=True)
class PublishedModel:
    """A setting.

    Args:
        sizes: of the model; the window is varied where it is not known.
        memory_bytes: of a device.
        published_gain: samples per second of the plan over those of all shards.
        is_window_known: whether `sizes` has the tokens of a sequence.
        batch: sequences of a device, where they are known.
    """

    sizes: Transformer
    memory_bytes: int
    published_gain: float
    is_window_known: bool = False
    batch: int | None = None


_GPT_GAIN, _OPT_GAIN = 192.257 / 158.049, 1261.98 / 453.18
MODELS: dict[str, PublishedModel] = {
    "gpt2_page": PublishedModel(Transformer(48, 2048, 16, 8192, 50257, 1024), 8 * 2**30, _GPT_GAIN),
    "gpt2_program": PublishedModel(
        Transformer(48, 1536, 48, 6144, 10, 6, is_tied=False), 8 * 2**30, _GPT_GAIN, is_window_known=True, batch=96
    ),
    "opt": PublishedModel(Transformer(8, 7168, 56, 28672, 50272, 512), 16 * 2**30, _OPT_GAIN, is_window_known=True),
}
"""GPT-2 with 48 layers and a hidden size of 2048, the one that the program trains, and OPT-30B cut to 8 layers."""


def published_rows(
    name: str, windows: Sequence[int], speeds: Sequence[float], links: Sequence[float]
) -> dict[str, Any]:
    """A model in every setting that the known facts allow.

    Args:
        name: key of `MODELS`.
        windows: tokens of a sequence, where they are not known.
        speeds: operations per second of a device.
        links: bits per second.

    Returns:
        The known facts, the `published_gain`, how many settings have no room for one sequence, and for all others the
        `gain` by baseline, null where its shards have no room; `plan_seconds` is the most that a plan took.
    """
    model = MODELS[name]
    rows = list[dict[str, Any]]()
    for window in (model.sizes.window,) if model.is_window_known else windows:
        operators = operators_of(*transformer(replace(model.sizes, window=window)))
        for speed, link in product(speeds, links):
            conditions = Conditions(
                DEVICE_COUNT,
                model.memory_bytes,
                link,
                LATENCY_SECONDS,
                operations_per_second=speed,
                batch=model.batch,
                value_bytes=VALUE_BYTES,
                activation_share=ACTIVATION_SHARE,
            )
            known = {"window": window, "operations_per_second": speed, "bits_per_second": link}
            rows.append(known | _planned(operators, conditions))
    return {
        "model": name,
        "published_gain": model.published_gain,
        "memory_bytes": model.memory_bytes,
        "device_count": DEVICE_COUNT,
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
