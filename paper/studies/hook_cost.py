"""What does the hook cost in training? Read from `hook_cost.json`, which `make bench` writes.

`hook_cost_markdown` makes the tables of `paper/docs/training.md`: a step of plain DDP and of the hook, what of it is
neither selection nor communication, and what of the sending a slow link leaves within backward.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import median

from paper.results import Result, result
from paper.studies.study import Study

NAMES = {"resnet20": "ResNet-20", "gpt": "GPT"}
"""Words for the models; another stands under its own name."""
_HEAD = (
    "| model, ranks | plain DDP, ms a step | the hook, ms a step | neither selection nor communication | telemetry |\n"
    "|---|--:|--:|--:|--:|\n"
)
_LINK_HEAD = "| model | plain DDP, ms a step | the hook, ms a step | sent during backward |\n|---|--:|--:|--:|\n"


def hook_cost_markdown(data_folder: Path) -> str:
    """The tables, with the machine above and what was measured of memory below.

    Raises:
        FileNotFoundError: the hook was not timed.
    """
    study = result(data_folder, "hook_cost")
    place = study.record("provenance")
    rows = "".join(map(_row, study.records("rows")))
    parts = [
        f"{place['processor_name']}, {str(place['date_utc'])[:10]}, medians and ranges of rounds:\n\n{_HEAD}{rows}"
    ]
    parts += _link_tables(study.records("link"))
    parts += [f"{line}\n" for line in [" ".join(map(_memory, study.records("memory")))] if line]
    return "\n" + "\n".join(parts)


def _row(row: Result) -> str:
    steps = row.record("step_seconds")
    cells = [_name(row), *_milliseconds(steps, ("plain", "hook")), _spread(row["overhead_share"])]
    return _line([*cells, f"{row['telemetry_share']:.1%}"])


def _link_tables(rows: Sequence[Result]) -> list[str]:
    """One for each rate."""
    rates = sorted({float(row["link_bits_per_second"]) for row in rows})
    return [
        f"Two ranks with a link of {rate / 1e6:g} Mbit/s, in buckets of {rows[0]['bucket_mib']:g} MiB:\n\n{_LINK_HEAD}"
        + "".join(_link_row(row) for row in rows if row["link_bits_per_second"] == rate)
        for rate in rates
    ]


def _link_row(row: Result) -> str:
    times = _milliseconds(row.record("step_seconds"), ("plain", "watched"))
    return _line([_model(row), *times, _spread(row.record("watched")["overlap_share"])])


def _memory(row: Result) -> str:
    grown = row["grown_bytes"] / 2**20
    who = f"a process of {_model(row)} on {row['rank_count']} ranks"
    return f"After {row['memory_steps']:,} steps {who} had grown by {grown:.1f} MiB."


def _name(row: Result) -> str:
    return f"{_model(row)}, {row['rank_count']}"


def _model(row: Result) -> str:
    name = str(row["model"])
    return NAMES.get(name, name)


def _milliseconds(steps: Result, names: Sequence[str]) -> list[str]:
    return [f"{1e3 * median(steps[name]):.0f}" for name in names]


def _spread(shares: Sequence[float]) -> str:
    """Median and range."""
    return f"{median(shares):.1%} [{min(shares):.1%}, {max(shares):.1%}]"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |\n"


STUDY = Study(results=("hook_cost",))
