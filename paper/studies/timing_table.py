"""What does a step of error feedback cost, for a reader of README? A table of a processor, and one of a GPU.

Times are multiples of that of e += g on the same machine, as in the paper's table, from the same `kernels-*.json`.
"""

from __future__ import annotations

from pathlib import Path

from paper.results import Result
from paper.studies.kernel_facts import (
    DENSITY,
    FLOOR,
    MODELS,
    NOT_MEASURED,
    RECORDED,
    machine,
    milliseconds,
    processor,
    row_in,
    rows,
)

CONTENDERS = {
    "gaussian_k, warm": "`gaussian_k`, later calls",
    "gaussian_k, cold": "`gaussian_k`, first call",
    "top_k, warm": "`top_k`, later calls",
    "top_k, cold": "`top_k`, first call",
    "cub::DeviceTopK": "`cub::DeviceTopK`",
    "torch.topk, unsorted": "`torch.topk`",
    "released, PyTorch": "released Gaussian-k, PyTorch",
    "DGC, PyTorch": "DGC, PyTorch",
    "SIDCo, PyTorch": "SIDCo, PyTorch",
}
"""Columns beside that of e += g; the paper's table has a few more."""


def timings_markdown(data_folder: Path) -> str:
    """The newest study on a processor, and the newest on a GPU or a line that there is none.

    Raises:
        FileNotFoundError: no processor was measured.
    """
    study, gpu = processor(data_folder), machine(data_folder, "cuda")
    threads = f", {study['thread_count']} threads"
    second = f"GPU: {NOT_MEASURED}.\n" if gpu is None else _block(gpu, "")
    return "\n".join(["", _block(study, threads), second])


def _block(study: Result, threads: str) -> str:
    """A line that says what was measured when, and the table."""
    day = str(study.record("provenance")["date_utc"])[:10]
    title = f"{study['hardware']}{threads}, density {DENSITY:g}, profile `{study['profile']}`, {day}:"
    cases = [*rows(study, FLOOR, name="gaussian"), *rows(study, FLOOR, name=RECORDED)]
    cases += rows(study, FLOOR, granularity="tensors")
    found = {contender: [_row(study, contender, case) for case in cases] for contender in CONTENDERS}
    shown = {contender: column for contender, column in found.items() if any(column)}
    lines = [_line(["", "`e += g`, ms", *(CONTENDERS[contender] for contender in shown)])]
    lines.append(f"|---|{'--:|' * (1 + len(shown))}")
    for number, case in enumerate(cases):
        best, digits = milliseconds(case)
        ratios = [_ratio(column[number]) for column in shown.values()]
        lines.append(_line([_name(case), f"{best:.{digits}f}", *ratios]))
    return "".join(f"{line}\n" for line in [title, "", *lines])


def _row(study: Result, contender: str, case: Result) -> Result | None:
    return row_in(study, contender, (case["name"], case["granularity"], case["dimension"]))


def _name(case: Result) -> str:
    length = f"d = {case['dimension']:,}"
    if case["granularity"] == "tensors":
        return f"{MODELS.get(case['name'], case['name'])}, {case['tensor_count']} tensors, {length}"
    return f"a training run, {length}" if case["name"] == RECORDED else length


def _ratio(row: Result | None) -> str:
    """Two digits: on a machine with other work there is no more to be had."""
    if row is None:
        return ""
    ratio = row["ratio_to_add"]
    return f"{ratio:.1f} ×" if ratio < 10 else f"{ratio:.0f} ×"


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
