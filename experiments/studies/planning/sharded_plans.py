"""Are more parameters replicated the fewer entries of a gradient are sent? The study `sharded_plans`.

Pairs of values and positions can be summed up in a replicated operator alone, but error feedback takes memory there. A
network of P parameters on n devices of M bytes each, with the largest batch for which memory is left, exchanges
aT/(M − S) seconds a sample (statement `sharded_throughput`). Shards keep S = cP/n bytes of states; replicas with
residuals keep S = (c + r)P and exchange κ/κ* times as long (`replica_crossover`). So these are quicker

    iff κ < κ*·(M − (c + r)P)/(M − cP/n),

on any link without latency, with any activations, and no mixture of both is quicker than both (statement
`replica_plans`). Dense replicas exchange 2/3 as long, and are quicker iff M > (3 − 2/n)cP. In between the plan moves
with κ; below (c + r)P no density moves it. With a given batch all memory beside it goes to replicas anyway, and
residuals let fewer of them in: c(1 − 1/n) to c(1 − 1/n) + r.

The planner is asked at both; and how much it gains over all shards in published settings, whatever of them was not
found.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

from sparsync.experiments.planners import osdp
from sparsync.experiments.planners.osdp import Sharding
from sparsync.experiments.planners.plan import Plan
from sparsync.experiments.sizing.buckets import bucketed, named_operators
from sparsync.experiments.sizing.operators import Operator
from sparsync.experiments.sizing.step import Conditions
from sparsync.experiments.studies.planning.published_shards import MODELS, published_rows
from sparsync.experiments.studies.planning.shards_alone import sharded_seconds
from sparsync.experiments.studies.profiles import ProfileName, sized
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.tools.pool import ALONE, Pool, call
from sparsync.verify.tools.provenance import provenance

STATE_BYTES, VALUE_BYTES, INDEX_BYTES = 16, 2, 4
"""Of Adam in mixed precision, of a value, and of its position."""
OPERATIONS_PER_SECOND = 50e12
LATENCY_SECONDS = 20e-6
FREE, GIVEN = "free", "given"
"""Whether the planner chooses the batch."""
_CLOSE = 1.02
"""Factor within which the density is found at which a plan moves."""
_LEAST_DENSITY = 1e-5
_POINTS = 48
"""Of a curve of predictions."""


@dataclass(frozen=True)
class Sizes:
    """How large the study is.

    Args:
        networks: that are planned, by name.
        device_count: n of the curves.
        densities: of the curves, descending from 1.
        memories: bytes of a device for each parameter, of the curves.
        links: bits per second, of the curves.
        given_memory: of the memories, where the batch is given too.
        move_devices: n where the density is looked for at which the plan moves.
        move_memories: likewise.
        move_latencies: seconds of a message, likewise.
        move_link: bits per second, likewise.
        windows: tokens of a sequence, of the published settings.
        speeds: operations per second that a device sustains, likewise.
        published_links: bits per second, likewise.
    """

    networks: tuple[str, ...]
    device_count: int
    densities: tuple[float, ...]
    memories: tuple[float, ...]
    links: tuple[float, ...]
    given_memory: float
    move_devices: tuple[int, ...]
    move_memories: tuple[float, ...]
    move_latencies: tuple[float, ...]
    move_link: float
    windows: tuple[int, ...]
    speeds: tuple[float, ...]
    published_links: tuple[float, ...]


_RECORD = Sizes(
    networks=("resnet50", "bert_large", "gpt2", "gpt2_xl", "llama_7b"),
    device_count=8,
    densities=(1.0, 0.3, 0.1, 0.07, 0.05, 0.04, 0.03, 0.02, 0.01, 0.003, 0.001),
    memories=(15.0, 30.0, 60.0),
    links=(10e9, 100e9),
    given_memory=30.0,
    move_devices=(8, 64),
    move_memories=(22.0, 26.0, 30.0, 36.0, 42.0),
    move_latencies=(0.0, LATENCY_SECONDS),
    move_link=10e9,
    windows=(128, 256, 512, 1024, 2048),
    speeds=(5e12, 20e12),
    published_links=(50e9, 100e9, 400e9, 2400e9),
)
SIZES: dict[ProfileName, Sizes] = {
    "smoke": replace(
        _RECORD,
        networks=("gpt2",),
        densities=(1.0, 0.01),
        memories=(30.0,),
        links=(10e9,),
        move_devices=(8,),
        move_memories=(30.0,),
        move_latencies=(0.0,),
        windows=(128,),
        speeds=(20e12,),
        published_links=(100e9,),
    ),
    "quick": replace(
        _RECORD,
        networks=("resnet50", "gpt2"),
        densities=(1.0, 0.1, 0.05, 0.04, 0.01, 0.001),
        links=(10e9,),
        move_memories=(22.0, 30.0, 42.0),
        windows=(128, 512, 2048),
        speeds=(20e12,),
        published_links=(50e9, 2400e9),
    ),
    "record": _RECORD,
    "full": _RECORD,
}


@dataclass(frozen=True)
class Setting:
    """Where a network is planned.

    Args:
        network: its name.
        device_count: n.
        memory_per_parameter: bytes of a device, over P.
        bits_per_second: of a link.
        latency_seconds: of a message.
        batch: `FREE`, or `GIVEN`: as large as leaves memory to replicate half of the parameters.
    """

    network: str
    device_count: int
    memory_per_parameter: float
    bits_per_second: float
    latency_seconds: float = LATENCY_SECONDS
    batch: str = FREE


def run_sharded_plans(profile_name: ProfileName, pool: Pool = ALONE) -> dict[str, Any]:
    """Plan every setting; the study's JSON.

    Args:
        profile_name: key of `SIZES`.
        pool: runs the cases.

    Returns:
        `networks`: what is known of each; `curves`: see `curve`; `moves`: see `move`; `limits`: see there, by number of
        devices; `predicted_density`: at which the curves with `given_memory` should move; `published`: see
        `published_rows`.
    """
    sizes = sized(SIZES, profile_name)
    kinds = _cases(sizes)
    found = iter(pool.run(call, [case for cases in kinds.values() for case in cases]))
    rows = {name: [next(found) for _ in cases] for name, cases in kinds.items()}
    return {
        "profile": profile_name,
        "device_count": sizes.device_count,
        "given_memory": sizes.given_memory,
        "move_bits_per_second": sizes.move_link,
        "operations_per_second": OPERATIONS_PER_SECOND,
        "latency_seconds": LATENCY_SECONDS,
        "state_bytes": STATE_BYTES,
        "value_bytes": VALUE_BYTES,
        "index_bytes": INDEX_BYTES,
        "residual_bytes": osdp.RESIDUAL_BYTES,
        "predicted_density": moving_density(sizes.given_memory, sizes.device_count),
        "limits": [limits(devices) for devices in sizes.move_devices],
        **rows,
        "provenance": provenance(process_count=1),
    }


def case_count(profile_name: ProfileName) -> int:
    """How many cases the study runs."""
    return sum(map(len, _cases(sized(SIZES, profile_name)).values()))


def moving_density(memory_per_parameter: float, device_count: int) -> float:
    """κ*·(M − (c + r)P)/(M − cP/n): with fewer entries a free batch makes replicas quicker; see the head of this file.

    Without latency, so that neither the link nor the sizes of operators matter. 0 where no density moves a plan.
    """
    return STATEMENTS["replica_plans"].evaluate(
        value_bytes=VALUE_BYTES,
        index_bytes=INDEX_BYTES,
        n=device_count,
        d=1,
        state_bytes=STATE_BYTES,
        residual_bytes=osdp.RESIDUAL_BYTES,
        memory_bytes=memory_per_parameter,
    )


def limits(device_count: int) -> dict[str, Any]:
    """What is predicted of a number of devices, in bytes of memory a parameter.

    Returns:
        `least_memory`, c + r: with less no density moves a plan; `most_memory`, (3 − 2/n)c: with more dense replicas
        are quicker than shards; and between them by `memory` the `density` at which a plan moves.
    """
    least, most = STATE_BYTES + osdp.RESIDUAL_BYTES, (3 - 2 / device_count) * STATE_BYTES
    memories = [least + (most - least) * place / _POINTS for place in range(1, _POINTS + 1)]
    return {
        "device_count": device_count,
        "least_memory": least,
        "most_memory": most,
        "memory": memories,
        "density": [moving_density(memory, device_count) for memory in memories],
    }


def network_facts(name: str) -> dict[str, Any]:
    """Parameters, operators and a sample's activations in 16 bits."""
    question = question_of(Setting(name, 8, 100.0, 1e9), 1.0)
    return {
        "network": name,
        "parameter_count": _parameter_count(question),
        "operator_count": len(question.operators),
        "activation_bytes": question.activation_bytes,
    }


def curve(setting: Setting, densities: Sequence[float]) -> dict[str, Any]:
    """The plans of one setting as the density falls.

    Returns:
        The setting, and by density `replicated_share` of the parameters, the `batch` of a device, and the `gain` in
        samples per second over the best plan that has shards alone; `plan_seconds` is the most that a plan took.
    """
    row: dict[str, list[float]] = {"replicated_share": [], "batch": [], "gain": []}
    longest = 0.0
    for density in densities:
        question = question_of(setting, density)
        begin = time.process_time()
        found = osdp.plan(question)
        longest = max(longest, time.process_time() - begin)
        row["replicated_share"].append(replicated_share(question, found))
        row["batch"].append(_batch(found))
        row["gain"].append(sharded_seconds(question) / found.objective)
    return {**_facts(setting), "batch_is": setting.batch, "density": list(densities), **row, "plan_seconds": longest}


def move(setting: Setting) -> dict[str, Any]:
    """The largest density at which half of the parameters or more are replicated, beside the prediction.

    Returns:
        The setting, `density`, which is 0 where there is none of `_LEAST_DENSITY` or more, and what is `predicted`
        without latency.
    """
    low, high = _LEAST_DENSITY, 1.0
    if not _is_replicated(setting, low):
        low = high = 0.0
    while high > _CLOSE * low:
        middle = (low * high) ** 0.5
        low, high = (middle, high) if _is_replicated(setting, middle) else (low, middle)
    predicted = moving_density(setting.memory_per_parameter, setting.device_count)
    return {**_facts(setting), "density": low, "predicted": predicted}


def question_of(setting: Setting, density: float) -> Sharding:
    """What the planner is asked."""
    operators = _operators(setting.network)
    parameters = sum(one.parameter_count for one in operators)
    conditions = Conditions(
        worker_count=setting.device_count,
        memory_bytes=round(setting.memory_per_parameter * parameters),
        bits_per_second=setting.bits_per_second,
        latency_seconds=setting.latency_seconds,
        operations_per_second=OPERATIONS_PER_SECOND,
        density=density,
        state_bytes=STATE_BYTES,
        value_bytes=VALUE_BYTES,
        index_bytes=INDEX_BYTES,
    )
    question = conditions.question(operators)
    if setting.batch == FREE:
        return question
    shards = STATE_BYTES / setting.device_count
    left = setting.memory_per_parameter - shards - (STATE_BYTES - shards) / 2
    return replace(question, batches=(int(left * parameters / question.activation_bytes),))


def replicated_share(question: Sharding, found: Plan) -> float:
    """Of the parameters."""
    kept: Any = found.choice["operators"]
    counts = (one.parameter_count for one in question.operators if kept[one.name]["kept"] != osdp.SHARDED)
    return sum(counts) / _parameter_count(question)


def _cases(sizes: Sizes) -> dict[str, list[Any]]:
    settings = [
        Setting(network, sizes.device_count, memory, link)
        for network in sizes.networks
        for memory in sizes.memories
        for link in sizes.links
    ]
    given = [replace(one, batch=GIVEN) for one in settings if one.memory_per_parameter == sizes.given_memory]
    moves = [
        Setting(network, devices, memory, sizes.move_link, latency)
        for network in sizes.networks
        for devices in sizes.move_devices
        for memory in sizes.move_memories
        for latency in sizes.move_latencies
    ]
    return {
        "networks": [partial(network_facts, name) for name in sizes.networks],
        "curves": [partial(curve, setting, sizes.densities) for setting in (*settings, *given)],
        "moves": [partial(move, setting) for setting in moves],
        "published": [
            partial(published_rows, name, sizes.windows, sizes.speeds, sizes.published_links) for name in MODELS
        ],
    }


@cache
def _operators(network: str) -> tuple[Operator, ...]:
    return tuple(bucketed(named_operators(network), 1))


def _is_replicated(setting: Setting, density: float) -> bool:
    question = question_of(setting, density)
    return replicated_share(question, osdp.plan(question)) >= 1 / 2


def _parameter_count(question: Sharding) -> int:
    return sum(one.parameter_count for one in question.operators)


def _batch(found: Plan) -> int:
    batch: Any = found.choice["batch"]
    return int(batch)


def _facts(setting: Setting) -> dict[str, Any]:
    return {
        "network": setting.network,
        "device_count": setting.device_count,
        "memory_per_parameter": setting.memory_per_parameter,
        "bits_per_second": setting.bits_per_second,
        "latency_seconds": setting.latency_seconds,
    }
