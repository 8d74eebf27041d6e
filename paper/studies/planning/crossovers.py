"""Where does one collective overtake another, and what do selecting and coding change? Numbers, and the maps.

Reads `crossovers.json`, and beside it what selection (`kernels-*.json`) and the codec (`wire.json`) were measured to
take: both add to the seconds of a sparse exchange, and so move the density up to which it is quicker.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from paper import latex
from paper.results import Result, result, results
from paper.studies.planning.crossover_maps import crossover_maps, map_of, merged_range, row_of
from paper.studies.study import Macro, Study

_TIMED_DENSITY = 0.001
"""At which selection was timed on all lengths."""
_GIGA, _MICRO, _MILLI = 1e9, 1e-6, 1e-3
_CODED_VALUES = "exact"


def never_quickest(study: Result) -> list[str]:
    """Exact collectives that are on no map."""
    seen = {name for one in study.records("maps") for row in one.records("rows") for name, _ in row["stretches"]}
    return [name for name in study["exact_collectives"] if name not in seen]


def compared(study: Result) -> tuple[int, int]:
    """How often the planner's boundary was the fraction that a statement gives, and how often they were compared."""
    equal = [
        is_equal
        for one in study.records("maps")
        for row in one.records("rows")
        for is_equal in row["compared"].values()
    ]
    return sum(equal), len(equal)


def rows_with(study: Result, collective: str, fresh_share: float, networks: Sequence[str]) -> tuple[int, int]:
    """In how many rows of maps a collective is quickest at some density, and how many rows there are."""
    rows = [row for network in networks for row in map_of(study, network, fresh_share)]
    return sum(any(name == collective for name, _ in row["stretches"]) for row in rows), len(rows)


def selection_seconds(kernels: Result, dimension: int) -> float:
    """Of Top-k with its memory, where earlier calls are remembered: of the nearest length measured, in proportion."""
    measured = {
        row["dimension"]: row["best_seconds"]
        for row in kernels.records("rows")
        if (row["name"], row["granularity"], row["contender"], row["density"])
        == ("gaussian", "vector", "top_k, warm", _TIMED_DENSITY)
    }
    nearest = min(measured, key=lambda length: abs(math.log(length / dimension)))
    return float(measured[nearest] * dimension / nearest)


def priced(study: Result, network: str, workers: int) -> Result:
    """Seconds of exchanges by doubling.

    Raises:
        ValueError: there are none of these.
    """
    for row in study.records("priced"):
        if (row["network"], row["workers"]) == (network, workers):
            return row
    raise ValueError(f"{study.path}: no seconds of {workers} workers on {network!r}")


def moved_crossover(study: Result, row: Result, *, extra_seconds: float, entry_seconds: float | None = None) -> float:
    """The density at which both exchanges take equally long, where the sparse one takes some seconds more.

    Args:
        study: all.
        row: of `priced`.
        extra_seconds: that do not depend on the density.
        entry_seconds: of an entry of each worker; None as without a codec.
    """
    entry = row["entry_seconds"] if entry_seconds is None else entry_seconds
    return float((row["dense_seconds"] - row["empty_seconds"] - extra_seconds) / (study["dimension"] * entry))


def coded_entry_seconds(study: Result, wire: Result, row: Result) -> float:
    """Of an entry of each worker: it is coded, n − 1 of them arrive, are decoded and added."""
    coded = max(
        (one for one in wire.records("rows") if one["values"] == _CODED_VALUES), key=lambda one: int(one["entry_count"])
    )
    count, network = coded["entry_count"], study.record("networks").record(row["network"])
    travelling = 8 * coded["message_bytes"] / count / network["bits_per_second"]
    uncoded = 8 * 8 / network["bits_per_second"]
    others = row["workers"] - 1
    added = row["entry_seconds"] / others - uncoded
    each = travelling + added + coded["decode_seconds"] / count
    return float(others * each + coded["encode_seconds"] / count)


def _crossover(data_folder: Path, *, network: str, place: int, label: str = "doubling_crossover") -> str:
    study = result(data_folder, "crossovers")
    row = row_of(study, network, _priced_workers(study)[place], fresh_share=1.0)
    return latex.percent(row["crossovers"][label], 2)


def _priced_workers(study: Result) -> list[int]:
    """Fewest first."""
    return sorted({row["workers"] for row in study.records("priced")})


def _flat(study: Result) -> list[str]:
    return [name for name in study["networks"] if study.record("networks").record(name)["node_size"] == 1]


def _alike(study: Result) -> float:
    return float(min(one["fresh_share"] for one in study.records("maps")))


def _owners(data_folder: Path, *, is_alike: bool) -> str:
    study = result(data_folder, "crossovers")
    found, count = rows_with(study, "balanced_all_reduce", _alike(study) if is_alike else 1.0, _flat(study))
    return f"{latex.integer(found)} of {latex.integer(count)}"


def _merged(data_folder: Path, *, network: str) -> str:
    """`from 0.001 to 6.23 \\%`, with the most workers that are priced."""
    study = result(data_folder, "crossovers")
    between = merged_range(row_of(study, network, _priced_workers(study)[-1], fresh_share=1.0))
    if between is None:
        return "at no density"
    low, high = (latex.shortest(float(f"{100 * density:.2g}")) for density in between)
    return f"from {low} to {high}\\,\\%"


def _nodes(data_folder: Path, *, place: int) -> str:
    """The density from which a dense collective is quickest where there are nodes."""
    study = result(data_folder, "crossovers")
    row = row_of(study, "nodes", _priced_workers(study)[place], fresh_share=1.0)
    return latex.percent(row["stretches"][-2][1], 2)


def _selected(data_folder: Path) -> str:
    """`on an NVIDIA H200 0.18 ms and 6.14 %, …`, machine by machine, on the fast network with the fewest workers."""
    study = result(data_folder, "crossovers")
    row = priced(study, "fast", _priced_workers(study)[0])
    said = []
    for name, seconds in _by_machine(data_folder, study):
        moved = latex.percent(moved_crossover(study, row, extra_seconds=seconds), 2)
        said.append(f"{moved}\\,\\% on {name} ({latex.decimal(seconds / _MILLI, 2)}\\,ms)")
    return ", ".join(said)


def _by_machine(data_folder: Path, study: Result) -> Iterator[tuple[str, float]]:
    for kernels in results(data_folder, "kernels"):
        yield latex.escape(kernels["hardware"]), selection_seconds(kernels, study["dimension"])


def _matching_rates(data_folder: Path) -> str:
    """The link, in Gbit/s, on which the bytes of a dense all-reduce take as long as selecting, machine by machine."""
    study = result(data_folder, "crossovers")
    rates = [
        f"{latex.integer(round(8 * 2 * 4 * study['dimension'] / seconds / _GIGA))} on {name}"
        for name, seconds in _by_machine(data_folder, study)
    ]
    return ", ".join(rates)


def _coded(data_folder: Path, *, network: str) -> str:
    study = result(data_folder, "crossovers")
    row = priced(study, network, _priced_workers(study)[0])
    entry = coded_entry_seconds(study, result(data_folder, "wire"), row)
    return latex.percent(moved_crossover(study, row, extra_seconds=0.0, entry_seconds=entry), 2)


def _in_network(data_folder: Path, *, network: str, field: str, unit: float) -> str:
    return latex.shortest(result(data_folder, "crossovers").record("networks").record(network)[field] / unit)


def _names(names: Sequence[str]) -> str:
    said = [f"\\statement{{{name}}}" for name in names]
    return " and ".join(filter(None, (", ".join(said[:-1]), said[-1]))) if said else "none"


MACROS: dict[str, Macro] = {
    "CrossoverDimension": lambda folder: latex.integer(result(folder, "crossovers")["dimension"]),
    "CrossoverAdded": lambda folder: latex.shortest(1 / result(folder, "crossovers")["merge_seconds_per_byte"] / _GIGA),
    "CrossoverFastRate": partial(_in_network, network="fast", field="bits_per_second", unit=_GIGA),
    "CrossoverFastLatency": partial(_in_network, network="fast", field="latency_seconds", unit=_MICRO),
    "CrossoverSlowRate": partial(_in_network, network="slow", field="bits_per_second", unit=_GIGA),
    "CrossoverSlowLatency": partial(_in_network, network="slow", field="latency_seconds", unit=_MICRO),
    "CrossoverNodeSize": partial(_in_network, network="nodes", field="node_size", unit=1),
    "CrossoverInnerRate": partial(_in_network, network="nodes", field="inner_bits_per_second", unit=_GIGA),
    "CrossoverInnerLatency": partial(_in_network, network="nodes", field="inner_latency_seconds", unit=_MICRO),
    "CrossoverAlike": lambda folder: latex.shortest(_alike(result(folder, "crossovers"))),
    "CrossoverEqual": lambda folder: latex.integer(compared(result(folder, "crossovers"))[0]),
    "CrossoverCompared": lambda folder: latex.integer(compared(result(folder, "crossovers"))[1]),
    "CrossoverNever": lambda folder: _names(never_quickest(result(folder, "crossovers"))),
    "CrossoverFew": lambda folder: latex.integer(_priced_workers(result(folder, "crossovers"))[0]),
    "CrossoverMany": lambda folder: latex.integer(_priced_workers(result(folder, "crossovers"))[-1]),
    "CrossoverFastFew": partial(_crossover, network="fast", place=0),
    "CrossoverFastMany": partial(_crossover, network="fast", place=-1),
    "CrossoverSlowFew": partial(_crossover, network="slow", place=0),
    "CrossoverSlowMany": partial(_crossover, network="slow", place=-1),
    "CrossoverRingMany": partial(_crossover, network="fast", place=-1, label="gather_crossover"),
    "CrossoverRingLimit": lambda folder: latex.percent(result(folder, "crossovers")["limits"]["fast"], 3),
    "CrossoverOwnersApart": partial(_owners, is_alike=False),
    "CrossoverOwnersAlike": partial(_owners, is_alike=True),
    "CrossoverMerged": partial(_merged, network="fast"),
    "CrossoverMergedNodes": partial(_merged, network="nodes"),
    "CrossoverNodesFew": partial(_nodes, place=0),
    "CrossoverNodesMany": partial(_nodes, place=-1),
    "CrossoverSelected": _selected,
    "CrossoverMatching": _matching_rates,
    "CrossoverCodedFast": partial(_coded, network="fast"),
    "CrossoverCodedSlow": partial(_coded, network="slow"),
}

STUDY = Study(
    macros=MACROS,
    figures={"crossovers": crossover_maps, "crossovers_alike": partial(crossover_maps, is_alike=True)},
    results=("crossovers", "kernels", "wire"),
    remade=("crossovers",),
)
"""What the paper prints of it."""
