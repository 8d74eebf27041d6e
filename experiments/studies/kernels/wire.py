"""How short are messages, and how fast are they made and read? One thread, random positions, best of several calls.

`python -m sparsync.experiments.studies.kernels.wire` prints a table, and writes it with `--output FILE`; seconds depend
on the machine, bits do not.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, get_args

import torch
import tyro
from rich.console import Console
from rich.table import Table

from sparsync.experiments.command import exit_on_bad_input
from sparsync.kernels.codec import Values, decode, encode_into, encoded_bound
from sparsync.kernels.codec_values import VALUE_CODES, value_bytes
from sparsync.kernels.payload import SparsePayload
from sparsync.verify.tools.provenance import provenance, require_output, write_json

_SIZES = ((10_000, 10**7), (100_000, 10**8), (1_000_000, 10**8))
"""m and d."""
_CALL_COUNT = 100


class WireRow(NamedTuple):
    """One way of sending one payload.

    Args:
        values: name of the value code.
        entry_count: m.
        dimension: d.
        message_bytes: of the whole message.
        index_bits: of each position, the header's share included.
        fewest_index_bits: log₂ C(d, m)/m, which no code of all sets of m positions is below in the mean.
        encode_seconds: best.
        decode_seconds: best.
    """

    values: str
    entry_count: int
    dimension: int
    message_bytes: int
    index_bits: float
    fewest_index_bits: float
    encode_seconds: float
    decode_seconds: float


def wire_row(values: Values, count: int, dimension: int) -> WireRow:
    """Measure one payload of normal values at random positions."""
    stream = torch.Generator().manual_seed(0)
    places = torch.randint(dimension, (2 * count,), generator=stream).unique()
    kept = places[torch.randperm(len(places), generator=stream)[:count]].sort().values.int()
    payload = SparsePayload(torch.randn(len(kept), generator=stream), kept, dimension)
    buffer = torch.empty(encoded_bound(payload.count, dimension, values=values), dtype=torch.uint8)
    encode_seconds, length = _best(lambda: encode_into(payload, buffer, values=values))
    decode_seconds, _ = _best(lambda: decode(buffer[:length]).count)
    index_bytes = length - value_bytes(payload.count, VALUE_CODES[values], torch.float32)
    return WireRow(
        values,
        payload.count,
        dimension,
        length,
        8 * index_bytes / payload.count,
        _log2_binomial(dimension, payload.count) / payload.count,
        encode_seconds,
        decode_seconds,
    )


def _best(call: Callable[[], int]) -> tuple[float, int]:
    """The least seconds of several calls, and what they return."""
    seconds = math.inf
    found = 0
    for _ in range(_CALL_COUNT):
        began = time.perf_counter()
        found = call()
        seconds = min(seconds, time.perf_counter() - began)
    return seconds, found


def _log2_binomial(total: int, chosen: int) -> float:
    natural = math.lgamma(total + 1) - math.lgamma(chosen + 1) - math.lgamma(total - chosen + 1)
    return natural / math.log(2)


@dataclass(frozen=True)
class WireCommand:
    """A parsed command line."""

    output: Path | None = None
    """where the JSON result goes, if anywhere; its folder must exist"""


def run_wire() -> dict[str, Any]:
    """The study's JSON: a row for every value code at every size, on one thread."""
    rows = [wire_row(values, *size)._asdict() for size in _SIZES for values in get_args(Values)]
    return {"rows": rows, "provenance": provenance(process_count=1)}


def wire_table(rows: Sequence[dict[str, Any]]) -> Table:
    """The rows for a terminal."""
    table = Table(title="messages: one thread, random positions, GB/s of what is sent")
    for column in ("values", "m", "d", "bytes", "bits an index", "fewest", "encode GB/s", "decode GB/s"):
        table.add_column(column, justify="right")
    for row in rows:
        speeds = (row["message_bytes"] / row[f"{half}_seconds"] / 1e9 for half in ("encode", "decode"))
        table.add_row(
            row["values"],
            *(f"{row[name]:,}" for name in ("entry_count", "dimension", "message_bytes")),
            *(f"{row[name]:.2f}" for name in ("index_bits", "fewest_index_bits")),
            *(f"{speed:.2f}" for speed in speeds),
        )
    return table


def read(arguments: Sequence[str] | None = None) -> WireCommand:
    """Parse the command line; None is the process's own."""
    return tyro.cli(
        WireCommand,
        prog="python -m sparsync.experiments.studies.kernels.wire",
        description="Time messages of the codec.",
        args=arguments,
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    with exit_on_bad_input():
        command = read(arguments)
        if command.output is not None:
            require_output(command.output)
        torch.set_num_threads(1)
        study = run_wire()
        Console().print(wire_table(study["rows"]))
        if command.output is not None:
            write_json(command.output, study)


if __name__ == "__main__":
    main()
