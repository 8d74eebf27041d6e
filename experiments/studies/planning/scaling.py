"""How efficiently do 16 to 1,024 workers train large networks, and what does selecting cost? The study `scaling`.

Efficiency is the seconds of computing over those of the step. Steps are predicted, by `scaling_steps.py`: nothing is
trained here. What selecting, adding and coding take was measured (the record of `make bench` and `make gpu`); how many
operations a device sustains, its batch, the latency and the rate of links are stated. The verdict hangs on the first of
these, so that it is turned round: how fast must devices compute before sparse steps are quicker by `LEAST_GAIN`?
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sparsync.experiments.averaging.link import Link
from sparsync.experiments.sizing.measured_times import read_codec_times, read_entry_bytes, read_selection_times
from sparsync.experiments.studies.planning.crossovers import NETWORKS
from sparsync.experiments.studies.planning.scaling_steps import (
    WAYS,
    Machine,
    Place,
    Trainee,
    exchange_seconds,
    low_rank_share,
    quickest_step,
)
from sparsync.experiments.studies.profiles import ProfileName, sized
from sparsync.verify.tools.pool import ALONE, Pool
from sparsync.verify.tools.provenance import PACKAGE_FOLDER, RESULT_FOLDER, provenance

TRAINEES = (Trainee("resnet50", 128), Trainee("vgg16", 128), Trainee("bert_large", 32), Trainee("llama_7b", 4))
"""Images of 224 × 224, and sequences of 512 and 2,048 tokens."""
OPERATIONS_PER_SECOND = 1e14
"""Assumed; a device of today sustains a fifth of that to four times as much, by network and software."""
DENSITIES = (0.001, 0.01)
BUCKET_BYTES = (25_000_000, 100_000_000, 400_000_000)
"""Each way has the best of these."""
LEAST_GAIN = 1.1
"""Sparse steps are worth while if dense ones take this much longer: predictions are off by as much in the mean."""
SLOWNESS = 10.0
"""How many times as long selecting takes in the rows that ask what that does."""
KERNELS, WIRE = "kernels-nvidia-h100-80gb-hbm3.json", "wire.json"
CODED_VALUES = "int8"
FLIPPING = ("gather", "global_top_k")
"""Ways that are set against the best dense exchange; the second is not exact."""
_LEAST_OPERATIONS, _MOST_OPERATIONS = 1e12, 1e17
_HALVINGS = 10
"""Of five decades: a hundredth."""
_GIGABIT = 1e9


@dataclass(frozen=True)
class Sizes:
    """How large the study is.

    Args:
        workers: n, whole nodes.
        rates: bits per second of a link.
    """

    workers: tuple[int, ...]
    rates: tuple[float, ...]


_ALL = Sizes((16, 32, 64, 128, 256, 512, 1024), tuple(_GIGABIT * rate for rate in (1, 10, 25, 100, 200, 400)))
SIZES: dict[ProfileName, Sizes] = {
    "smoke": Sizes((16, 1024), (10 * _GIGABIT, 100 * _GIGABIT)),
    "quick": Sizes((16, 64, 256, 1024), tuple(_GIGABIT * rate for rate in (1, 10, 100, 400))),
    "record": _ALL,
    "full": _ALL,
}


@dataclass(frozen=True)
class _Case:
    trainee: Trainee
    machine: Machine
    sizes: Sizes


def run_scaling(profile_name: ProfileName, pool: Pool = ALONE) -> dict[str, Any]:
    """Predict all steps; the study's JSON.

    Args:
        profile_name: key of `SIZES`.
        pool: runs the cases.

    Returns:
        What is stated and measured; `networks`: of each its `parameter_count`, `batch` and `operations`; `rows`: of
        each network, `way`, `density` (1 where all is sent), `slowness` of selecting and rate, by number of workers
        `efficiency`, `select_share` of the step, and the `bucket_bytes` that was best; `flips`: see `_flips`.

    Raises:
        FileNotFoundError: the record of timings is missing, as in an installed copy.
    """
    machine = measured_machine(PACKAGE_FOLDER.parent / RESULT_FOLDER)
    sizes = sized(SIZES, profile_name)
    found = pool.run(run_case, [_Case(trainee, machine, sizes) for trainee in TRAINEES])
    return {
        "profile": profile_name,
        "operations_per_second": OPERATIONS_PER_SECOND,
        "least_gain": LEAST_GAIN,
        "slowness": SLOWNESS,
        "workers": list(sizes.workers),
        "bits_per_second": list(sizes.rates),
        "latency_seconds": machine.latency_seconds,
        "node_size": machine.node_size,
        "inner_bits_per_second": 8 / machine.inner_link.seconds_per_byte,
        "hardware": machine.hardware,
        "coded_on": machine.codec.encode.hardware,
        "merge_seconds_per_byte": machine.merge_seconds_per_byte,
        "low_rank": WAYS["powersgd"].rank,
        "networks": [one["network"] for one in found],
        "rows": [row for one in found for row in one["rows"]],
        "flips": [row for one in found for row in one["flips"]],
        "provenance": provenance(process_count=1),
    }


def case_count(profile_name: ProfileName) -> int:
    """How often `run_scaling` advances."""
    del profile_name
    return len(TRAINEES)


def measured_machine(record_folder: Path) -> Machine:
    """The machine whose selection and additions `KERNELS` timed, with the codec of `WIRE` and stated links.

    Raises:
        FileNotFoundError: one of both is missing.
        ValueError: it lacks what is read.
    """
    kernels, wire = record_folder / KERNELS, record_folder / WIRE
    contenders = sorted({way.contender for way in WAYS.values() if way.is_sparse})
    codec = read_codec_times(wire, CODED_VALUES)
    length, seconds = read_selection_times(kernels, "add").points[-1]
    nodes = NETWORKS["nodes"]
    return Machine(
        hardware=read_selection_times(kernels).hardware,
        selection=tuple((contender, read_selection_times(kernels, contender)) for contender in contenders),
        codec=codec,
        entry_bytes=tuple((density, read_entry_bytes(wire, CODED_VALUES, density)) for density in DENSITIES),
        merge_seconds_per_byte=seconds / (4 * length),
        latency_seconds=nodes.latency_seconds,
        node_size=nodes.node_size,
        inner_link=nodes.inner_link or Link(0.0, 0.0),
    )


def run_case(case: _Case) -> dict[str, Any]:
    """One network."""
    trainee = case.trainee
    return {
        "network": {
            "network": trainee.network,
            "batch": trainee.batch,
            "parameter_count": trainee.parameter_count,
            "operations": trainee.operations(),
            "low_rank_share": low_rank_share(trainee.network, WAYS["powersgd"].rank),
        },
        "rows": [
            _row(case, name, rate, density, slowness)
            for name in WAYS
            for rate in case.sizes.rates
            for density, slowness in _variants(name)
        ],
        "flips": [
            _flips(case, name, rate, density) for name in FLIPPING for rate in case.sizes.rates for density in DENSITIES
        ],
    }


def _variants(name: str) -> list[tuple[float, float]]:
    """Density and slowness of selecting."""
    if not WAYS[name].is_sparse:
        return [(1.0, 1.0)]
    slow = [(density, SLOWNESS) for density in DENSITIES] if name == "gather" else []
    return [*((density, 1.0) for density in DENSITIES), *slow]


def _row(case: _Case, name: str, rate: float, density: float, slowness: float) -> dict[str, Any]:
    way, computing = WAYS[name], case.trainee.operations() / OPERATIONS_PER_SECOND
    found: dict[str, list[float]] = {"efficiency": [], "select_share": [], "bucket_bytes": []}
    for workers in case.sizes.workers:
        place = Place(workers, rate, density, OPERATIONS_PER_SECOND, slowness)
        size, step = quickest_step(case.trainee, way, case.machine, place, BUCKET_BYTES)
        found["efficiency"].append(computing / step.step_seconds)
        selecting = step.compute_seconds - computing if way.is_sparse else 0.0
        found["select_share"].append(selecting / step.step_seconds)
        found["bucket_bytes"].append(size)
    return {
        "network": case.trainee.network,
        "way": name,
        "bits_per_second": rate,
        "density": density,
        "slowness": slowness,
        **found,
    }


def _flips(case: _Case, name: str, rate: float, density: float) -> dict[str, Any]:
    """From how many operations a second on is a way quicker than the best dense exchange by `LEAST_GAIN`?

    Returns:
        The network, way, rate and density; and by number of workers `operations_per_second`, 0 where all devices are
        fast enough and null where none is, with `ratio`: the seconds of computing over those of the dense exchange
        then.
    """
    found: dict[str, list[float | None]] = {"operations_per_second": [], "ratio": []}
    for workers in case.sizes.workers:
        place = Place(workers, rate, density, OPERATIONS_PER_SECOND)
        flip = _flip(case, name, place)
        exchange = exchange_seconds(WAYS["dense"], case.machine, place, case.trainee.parameter_count)
        found["operations_per_second"].append(flip)
        found["ratio"].append(case.trainee.operations() / flip / exchange if flip else None)
    return {"network": case.trainee.network, "way": name, "bits_per_second": rate, "density": density, **found}


def _flip(case: _Case, name: str, place: Place) -> float | None:
    """By halving, in logarithms."""
    low, high = math.log(_LEAST_OPERATIONS), math.log(_MOST_OPERATIONS)
    if _gain(case, name, replace(place, operations_per_second=_LEAST_OPERATIONS)) >= LEAST_GAIN:
        return 0.0
    if _gain(case, name, replace(place, operations_per_second=_MOST_OPERATIONS)) < LEAST_GAIN:
        return None
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        is_enough = _gain(case, name, replace(place, operations_per_second=math.exp(middle))) >= LEAST_GAIN
        low, high = (low, middle) if is_enough else (middle, high)
    return math.exp(high)


def _gain(case: _Case, name: str, place: Place) -> float:
    """Of a dense step's seconds over those of a sparse one."""
    dense, sparse = (
        quickest_step(case.trainee, WAYS[way], case.machine, place, BUCKET_BYTES)[1].step_seconds
        for way in ("dense", name)
    )
    return dense / sparse
