"""What does a step take over a real link, with each way of sending gradients, and can that be predicted?

`python -m sparsync.experiments.studies.links.study --profile quick --output FILE --store FOLDER` measures cell after
cell, on four hosts (root and Linux; elsewhere it says so and writes nothing), keeps what it has, and fits `model.py`.
Sparse training over a link makes the steps of the simulation: with the time of a step, the simulation's accuracy by
step is all that a time to accuracy needs.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import fmean, median
from typing import Any

import tyro

from sparsync.experiments.command import exit_on_bad_input, step_progress
from sparsync.experiments.hosts import absence, slow_hosts
from sparsync.experiments.network import run_across
from sparsync.experiments.studies.links.cells import HOST_COUNT, SIZES, Cell, batches, cells
from sparsync.experiments.studies.links.model import Point, judged
from sparsync.experiments.studies.links.rank import written_cells
from sparsync.experiments.studies.profiles import ProfileName
from sparsync.verify.tools.pool import ALONE, Failure, Pool
from sparsync.verify.tools.provenance import machine_name, provenance, require_folder, require_output, write_json
from sparsync.verify.tools.store import Store

DEADLINE_SECONDS = 1800.0
SEGMENT_HEADER_BYTES = 14 + 20 + 32
"""Ethernet's, IPv4's, and TCP's with time stamps, of each packet."""
_SHOWN_CHARACTERS = 2000


def run_cells(cells: Sequence[Cell]) -> list[dict[str, Any]]:
    """Measure cells on hosts of their own, one after the other; their records, see `cell_record`.

    Args:
        cells: of as many hosts and one rate.

    Raises:
        RuntimeError: a rank failed, with its last words, or the system refuses hosts; all are lost then.
    """
    ((host_count, rate),) = {(cell.host_count, cell.mbit_per_second) for cell in cells}
    with tempfile.TemporaryDirectory() as name, slow_hosts(host_count, rate) as hosts:
        folder = Path(name)
        folder.joinpath("cells.json").write_text(written_cells(cells), encoding="utf-8")
        module = ("-m", "sparsync.experiments.studies.links.rank", name)
        for place, result in enumerate(run_across(hosts, module, DEADLINE_SECONDS)):
            if result.status:
                said = result.errors[-_SHOWN_CHARACTERS:]
                raise RuntimeError(f"host {place} ended with status {result.status}:\n{said}")
        files = [folder / f"results-{rank}.json" for rank in range(host_count)]
        by_rank = [json.loads(file.read_text(encoding="utf-8")) for file in files]
        return [cell_record(cell, ranks) for cell, *ranks in zip(cells, *by_rank, strict=True)]


def cell_record(cell: Cell, ranks: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What the ranks measured in a round, together.

    Returns:
        `step_seconds` by rank, each the median of its steps; `slowest_seconds`, the median over steps of what each
        takes on its slowest rank, or, of local steps, where nobody waits between two exchanges, the mean over ranks of
        their medians; `phase_seconds`, medians over ranks of medians over steps; `spans` of rank 0, see `measure`. In
        the mean over ranks, of a step: `handed_bytes` to collectives as the library counts them, `sent_bytes` and
        `message_count` by their formulas, `interface_bytes` as the interface has sent them, and `carried_bytes`, which
        are those less the headers of packets.
    """
    phases = ranks[0]["seconds"]
    medians = {name: [median(rank["seconds"][name]) for rank in ranks] for name in phases}
    # What lies between two exchanges of local steps is left out when measuring, since nothing is sent there.
    share = 1 / cell.method.inner_steps
    by_step = zip(*(rank["seconds"]["step"] for rank in ranks), strict=True)
    slowest = fmean(medians["step"]) if cell.method.road == "local" else median(map(max, by_step))
    packets, sent = (
        share * fmean(rank["interface"][name] for rank in ranks) for name in ("sent_packets", "sent_bytes")
    )
    return {
        "name": cell_name(cell),
        **asdict(cell),
        "parameter_count": ranks[0]["parameter_count"],
        "bucket_count": ranks[0]["bucket_count"],
        "step_seconds": medians["step"],
        "slowest_seconds": slowest,
        "phase_seconds": {name: median(found) for name, found in medians.items() if name != "step"},
        "spans": ranks[0]["spans"],
        **{name: fmean(rank[name] for rank in ranks) for name in ("handed_bytes", "sent_bytes", "message_count")},
        "interface_bytes": sent,
        "carried_bytes": sent - SEGMENT_HEADER_BYTES * packets,
        "computed_on": machine_name(),
    }


def over_rounds(records: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What was measured of a cell in all rounds, from the records of each.

    Returns:
        The fields of a record: times are medians over rounds, bytes and messages means, and `spans` those of the first
        round; `round_seconds`, the `slowest_seconds` of each round.
    """
    first = records[0]
    means = ("handed_bytes", "sent_bytes", "message_count", "interface_bytes", "carried_bytes")
    by_rank = zip(*(record["step_seconds"] for record in records), strict=True)
    by_round = [record["slowest_seconds"] for record in records]
    return {
        **{name: value for name, value in first.items() if name != "round_index"},
        "step_seconds": [median(seconds) for seconds in by_rank],
        "slowest_seconds": median(by_round),
        "round_seconds": by_round,
        "phase_seconds": {
            name: median(record["phase_seconds"][name] for record in records) for name in first["phase_seconds"]
        },
        **{name: fmean(record[name] for record in records) for name in means},
        "computed_on": sorted({record["computed_on"] for record in records}),
    }


def cell_name(cell: Cell) -> str:
    """What tells it from the others of a study."""
    return f"{cell.model}, {cell.method.name}, {cell.mbit_per_second:g} Mbit/s"


def point(record: dict[str, Any]) -> Point:
    """What the model is told of a cell; computing is what the ranks of the cell measured beside sending."""
    phases = record["phase_seconds"]
    return Point(
        name=record["name"],
        mbit_per_second=record["mbit_per_second"],
        compute_seconds=phases["compute"],
        select_seconds=phases["select"],
        message_count=record["message_count"],
        sent_bytes=record["sent_bytes"],
        step_seconds=record["slowest_seconds"],
        bucket_count=record["bucket_count"],
        road=record["method"]["road"],
    )


def run_links(profile_name: ProfileName, pool: Pool = ALONE) -> dict[str, Any]:
    """Measure all cells of a profile, one at a time, whatever the pool; the study's JSON.

    Args:
        profile_name: key of `SIZES`.
        pool: keeps what was measured, and counts.

    Returns:
        `cells`, see `over_rounds`, those that were measured in every round; `model`, see `judged`; `failed`, the
        `cells` of each batch that has none, with the `error`.

    Raises:
        ValueError: the profile leaves the study out, or there can be no links here.
    """
    if profile_name not in SIZES:
        raise ValueError(f"profile {profile_name!r} leaves this study out; it is in: {', '.join(SIZES)}")
    if reason := absence():
        raise ValueError(reason)
    sizes = SIZES[profile_name]
    wanted = batches(sizes)
    outcomes = replace(pool, job_count=1).outcomes(run_cells, wanted)
    by_name: dict[str, list[dict[str, Any]]] = {cell_name(cell): [] for cell in cells(sizes)}
    for outcome in outcomes:
        for record in [] if isinstance(outcome, Failure) else outcome:
            by_name[record["name"]].append(record)
    found = [over_rounds(records) for records in by_name.values() if len(records) == sizes.rounds]
    failed = [
        {"cells": [cell_name(cell) for cell in batch], "error": outcome.error}
        for batch, outcome in zip(wanted, outcomes, strict=True)
        if isinstance(outcome, Failure)
    ]
    return {
        "profile": profile_name,
        "cells": found,
        "model": judged([point(record) for record in found]),
        "failed": failed,
        "provenance": provenance(process_count=HOST_COUNT),
    }


def refitted(path: Path) -> dict[str, Any]:
    """An earlier result whose model is that of today's code; cells, and where they were measured, stay.

    Raises:
        ValueError: the file holds no cells.
        OSError: it cannot be read.
    """
    try:
        study = json.loads(path.read_text(encoding="utf-8"))
        return {**study, "model": judged([point(record) for record in study["cells"]])}
    except (json.JSONDecodeError, UnicodeDecodeError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is no result of this study: {error!r}") from error


def case_count(profile_name: ProfileName) -> int:
    """How often `run_links` advances; 0 where it is left out."""
    return len(batches(SIZES[profile_name])) if profile_name in SIZES else 0


def cell_line(record: dict[str, Any]) -> str:
    """A record in a line."""
    step, phases = record["slowest_seconds"], record["phase_seconds"]
    sent, interface = record["sent_bytes"], record["interface_bytes"]
    return (
        f"{record['name']}: {1e3 * step:.1f} ms a step, computing {1e3 * phases['compute']:.1f}, selecting "
        f"{1e3 * phases['select']:.1f}, communicating {1e3 * phases['communicate']:.1f} ms; a host sends "
        f"{interface:.0f} bytes a step, {interface / sent - 1:+.1%} of what is counted"
    )


@dataclass(frozen=True)
class LinksCommand:
    """A parsed command line."""

    output: Path
    """where the JSON result goes; its folder must exist"""
    profile: ProfileName = "quick"
    """how large the study is"""
    store: Path | None = None
    """where measured cells are kept and looked for; nowhere if it is not given"""
    refit: Path | None = None
    """an earlier result: nothing is measured, and the model is fitted anew to its cells"""


def read(arguments: Sequence[str] | None = None) -> LinksCommand:
    """Parse the command line; None is the process's own."""
    return tyro.cli(
        LinksCommand,
        prog="python -m sparsync.experiments.studies.links.study",
        description="Measure steps over real links.",
        args=arguments,
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; status 1 if a cell failed."""
    with exit_on_bad_input():
        command = read(arguments)
        require_output(command.output)
        if command.store is not None:
            require_folder(command.store, option="--store")
        if command.refit is not None:
            write_json(command.output, refitted(command.refit))
            return
        if reason := absence():
            sys.stderr.write(f"{reason}; left out\n")
            return
        with step_progress(case_count(command.profile), visible=True, title="batches of cells") as advance:
            store = None if command.store is None else Store(command.store)
            study = run_links(command.profile, Pool(1, store=store, advance=advance))
        write_json(command.output, study)
        for record in study["cells"]:
            print(cell_line(record))  # noqa: T201
        for failure in study["failed"]:
            sys.stderr.write(f"FAILED {'; '.join(failure['cells'])}: {failure['error']}\n")
        if study["failed"]:
            sys.exit(1)


if __name__ == "__main__":
    main()
