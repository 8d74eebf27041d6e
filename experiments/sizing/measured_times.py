"""How long do selecting and coding take on this machine? Read from what `make bench` or `make gpu` measured.

Between two lengths that were measured seconds lie on a straight line; below the shortest they are those of the
shortest, and beyond the longest they grow in proportion. Ours.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class MeasuredTimes:
    """Seconds of one call by length of the vector.

    Args:
        hardware: what was measured.
        points: lengths and seconds, ascending in length.
    """

    hardware: str
    points: tuple[tuple[int, float], ...]

    def seconds(self, length: int) -> float:
        """Of so many entries; 0 of none."""
        if length <= 0:
            return 0.0
        (shortest, least), (longest, most) = self.points[0], self.points[-1]
        if length <= shortest:
            return least
        for (before, start), (after, end) in pairwise(self.points):
            if length <= after:
                return start + (end - start) * (length - before) / (after - before)
        return most * length / longest


@dataclass(frozen=True)
class CodecTimes:
    """Seconds of making and of reading a message, by its entries."""

    encode: MeasuredTimes
    decode: MeasuredTimes

    def seconds(self, count: int, others: int) -> float:
        """Of making one message of so many entries, and of reading those of the others."""
        return self.encode.seconds(count) + others * self.decode.seconds(count)


def read_codec_times(path: Path, values: str = "exact") -> CodecTimes:
    """The best calls of one thread.

    Args:
        path: `wire.json`.
        values: name of the value code.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is no such record, or has no such row.
    """
    with _reading(path, "messages") as record:
        hardware = str(record["provenance"]["processor_name"])
        rows = [row for row in record["rows"] if row["values"] == values]
        encode, decode = (
            tuple(sorted((int(row["entry_count"]), float(row[name])) for row in rows))
            for name in ("encode_seconds", "decode_seconds")
        )
    if not rows:
        raise ValueError(f"{path} has no times of messages with {values!r} values")
    return CodecTimes(MeasuredTimes(hardware, encode), MeasuredTimes(hardware, decode))


def read_entry_bytes(path: Path, values: str, density: float) -> float:
    """Of an entry of the longest message that was made at a density, header and positions included.

    Args:
        path: `wire.json`.
        values: name of the value code.
        density: entries over the length of the vector.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is no such record, or has no such row.
    """
    with _reading(path, "messages") as record:
        found = {
            int(row["entry_count"]): float(row["message_bytes"])
            for row in record["rows"]
            if row["values"] == values and row["entry_count"] == round(density * row["dimension"])
        }
    if not found:
        raise ValueError(f"{path} has no message with {values!r} values at density {density:g}")
    return found[max(found)] / max(found)


@contextmanager
def _reading(path: Path, kind: str) -> Iterator[dict[str, Any]]:
    """A record; whatever does not fit it is an error of the file.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is no such record.
    """
    try:
        yield json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is no record of {kind}, as `make bench` writes it: {error!r}") from error


def read_selection_times(path: Path, contender: str = "top_k, warm", density: float = 0.001) -> MeasuredTimes:
    """What was timed on Gaussian vectors; left out, the later calls of our Top-k.

    Args:
        path: `kernels-….json`.
        contender: its name there.
        density: at which it was timed.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is no such record, or has no such row.
    """
    with _reading(path, "kernels") as record:
        rows: Sequence[dict[str, Any]] = record["rows"]
        wanted = ("gaussian", "vector", contender, density)
        found = {
            int(row["dimension"]): float(row["best_seconds"])
            for row in rows
            if (row["name"], row["granularity"], row["contender"], row["density"]) == wanted
        }
        hardware = str(record["hardware"])
    if not found:
        raise ValueError(f"{path} has no times of {contender!r} on Gaussian vectors at density {density:g}")
    return MeasuredTimes(hardware, tuple(sorted(found.items())))
