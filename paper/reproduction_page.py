"""Which command reproduces a claim, in how many minutes, and what must its number be? The table of `reproducing.md`.

Minutes are those of profile `quick` on the machine of the record, where a run had nothing to go on from; see
`verify/tools/durations.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from pathlib import Path
from typing import Any

from paper.claims import CLAIMS
from paper.commands import remaking
from paper.results import LEFT_OUT, each_read_once, reads_recorded, result, result_name
from paper.verdicts import Claim, judged
from sparsync.verify.tools.durations import read_durations
from sparsync.verify.tools.intervals import Estimate

DURATIONS = "durations-quick.json"
DISTRIBUTED = "distributed"
NOT_TIMED, NOT_MEASURED = "not timed", "Not measured"
_HEAD = "| claim | said in | command | minutes | the number must be | recorded |\n|---|---|---|---|---|---|\n"
_SECONDS = 60


@each_read_once()
def claims_markdown(data_folder: Path) -> str:
    """A row for each claim, and on which machines the minutes were taken.

    Raises:
        ValueError: a result lacks a field, or see `read_durations`.
    """
    durations = read_durations(data_folder / DURATIONS)
    rows, used = [], set[str]()
    for claim in CLAIMS:
        recorded, reads = judged_and_read(claim, data_folder)
        reads = smallest(reads)
        cells = (
            claim.text,
            claim.said_in,
            f"`{remaking(reads)}`",
            minutes(durations, reads),
            claim.tolerance,
            claim.shown(recorded),
        )
        used |= set(reads)
        rows.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |\n")
    return f"{_HEAD}{''.join(rows)}{_machines(durations, used)}"


def judged_and_read(claim: Claim, data_folder: Path) -> tuple[Estimate | None, tuple[str, ...]]:
    """The recorded number of a claim, and the names of the results that were read for it.

    Raises:
        ValueError: a result lacks a field.
    """
    with reads_recorded() as paths:
        recorded = judged(claim, record_folder=data_folder, data_folder=data_folder).recorded
    return recorded, tuple(dict.fromkeys(result_name(str(path.relative_to(data_folder))) for path in paths))


def smallest(names: Sequence[str]) -> tuple[str, ...]:
    """Of results that a claim is estimated from, those of profile `quick`; all of them if it leaves all out.

    A claim about all arenas is decided by those that have been run.
    """
    return tuple(name for name in names if name not in LEFT_OUT["quick"]) or tuple(names)


def full_markdown(data_folder: Path) -> str:
    """What was trained under torchrun on GPU nodes: runs and accuracies; or that nothing was measured.

    Raises:
        ValueError: a result lacks a field.
    """
    if not (data_folder / f"{DISTRIBUTED}.json").is_file():
        return f"{NOT_MEASURED}: no GPU node has run `make full` for the record.\n"
    rows = (row for row in result(data_folder, DISTRIBUTED).records("rows") if row["backend"] == "nccl")
    lines = [
        f"| {row['run_name']} | {row['density']:g} | {row['seed']} | {row['process_count']} × "
        f"{row['hardware']} | {100 * row['test_accuracy']:.1f} |\n"
        for row in rows
    ]
    if not lines:
        return f"{NOT_MEASURED}: the runs of the record talked by gloo.\n"
    return f"| run | density | seed | processes | accuracy in % |\n|---|---|---|---|---|---|\n{''.join(lines)}"


def minutes(durations: Mapping[str, Any], names: Sequence[str]) -> str:
    """Of all of them: `2.5`; `at most 3.1` where others ran beside; `NOT_TIMED` where one is missing."""
    if not all(name in durations for name in names):
        return NOT_TIMED
    seconds = sum(float(durations[name]["duration_seconds"]) for name in names)
    shared = any(durations[name]["beside"] for name in names)
    return f"{'at most ' if shared else ''}{max(seconds / _SECONDS, 0.1):.1f}"


def _machines(durations: Mapping[str, Any], names: Set[str]) -> str:
    used = [durations[name] for name in sorted(names) if name in durations]
    found = sorted({(str(one["processor_name"]), int(one["job_count"])) for one in used})
    said = ", ".join(f"{processor} with {jobs} at a time" for processor, jobs in found)
    return f"\nMinutes of profile `quick`: {said}.\n" if said else ""
