"""How short are messages, and how fast are they made and read? Read from `wire.json`, which `make bench` writes."""

from __future__ import annotations

from pathlib import Path

from paper.results import Result, result
from paper.studies.study import Study

_HEAD = (
    "| values | entries m, of d | bytes an entry | bits a position (the least in the mean) "
    "| encode, GB/s | decode, GB/s |\n"
    "|---|---|--:|--:|--:|--:|\n"
)


def wire_markdown(data_folder: Path) -> str:
    """The table, with the machine above; speeds are of the bytes that are sent.

    Raises:
        FileNotFoundError: messages were not timed.
    """
    study = result(data_folder, "wire")
    place = study.record("provenance")
    rows = "".join(map(_row, study.records("rows")))
    return (
        f"\n{place['processor_name']}, {str(place['date_utc'])[:10]}, one thread, random positions, best of several "
        f"calls; a link of 10 Gbit/s takes 1.25 GB/s:\n\n{_HEAD}{rows}"
    )


def _row(row: Result) -> str:
    count, sent = row["entry_count"], row["message_bytes"]
    cells = [
        str(row["values"]),
        f"{count:,} of {row['dimension']:,}",
        f"{sent / count:.2f}",
        f"{row['index_bits']:.2f} ({row['fewest_index_bits']:.2f})",
        *(f"{sent / row[f'{half}_seconds'] / 1e9:.2f}" for half in ("encode", "decode")),
    ]
    return f"| {' | '.join(cells)} |\n"


STUDY = Study(results=("wire",))
