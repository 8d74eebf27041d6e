"""What a step of error feedback costs, as tables of `paper/docs/kernels.md`: one for each machine that was measured."""

from __future__ import annotations

from pathlib import Path

from paper.results import Result
from paper.rules import RULES
from paper.studies.kernels import (
    CALLS,
    DENSITY,
    FLOOR,
    MODELS,
    NOT_MEASURED,
    RECORDED,
    machine,
    milliseconds,
    others,
    processor,
    row_in,
    rows,
)

COLUMNS = {
    **{f"{rule}, {call}": f"`{rule}`, {CALLS[call]}" for rule in ("gaussian_k", "top_k") for call in ("warm", "cold")},
    **{f"{rule}, warm, replayed": f"`{rule}`, later calls, as a graph" for rule in ("gaussian_k", "top_k")},
    "cub::DeviceTopK": "`cub::DeviceTopK`",
    "torch.topk, unsorted": "`torch.topk`",
    "released, PyTorch": "released Gaussian-k, PyTorch",
    "DGC, PyTorch": f"{RULES['dgc_released'].name}, PyTorch",
    "SIDCo, PyTorch": f"{RULES['sidco_released'].name}, PyTorch",
}
"""Columns of the page beside that of e += g; the paper's table has a few more."""


def timings_markdown(data_folder: Path) -> str:
    """The newest study on a processor, and the newest on a GPU or a line that there is none.

    Raises:
        FileNotFoundError: no processor was measured.
    """
    study, gpu = processor(data_folder), machine(data_folder, "cuda")
    threads = f", {study['thread_count']} threads"
    second = f"GPU: {NOT_MEASURED}.\n" if gpu is None else _markdown_block(gpu, "")
    return "\n".join(["", _markdown_block(study, threads), second])


def _markdown_block(study: Result, threads: str) -> str:
    """A line that says what was measured when, and the table."""
    day = str(study.record("provenance")["date_utc"])[:10]
    title = f"{study['hardware']}{threads}, density {DENSITY:g}, profile `{study['profile']}`, {day}:"
    cases = [*rows(study, FLOOR, name="gaussian"), *rows(study, FLOOR, name=RECORDED)]
    cases += rows(study, FLOOR, granularity="tensors")
    found = {name: [_row(study, name, case) for case in cases] for name in (*COLUMNS, *others(study))}
    shown = {contender: column for contender, column in found.items() if any(column)}
    lines = [_markdown_line(["", "`e += g`, ms", *(COLUMNS.get(contender, f"`{contender}`") for contender in shown)])]
    lines.append(f"|---|{'--:|' * (1 + len(shown))}")
    for number, case in enumerate(cases):
        best, digits = milliseconds(case)
        ratios = [_multiple(column[number]) for column in shown.values()]
        lines.append(_markdown_line([_case_name(case), f"{best:.{digits}f}", *ratios]))
    return "".join(f"{line}\n" for line in [title, "", *lines])


def _row(study: Result, contender: str, case: Result) -> Result | None:
    return row_in(study, contender, (case["name"], case["granularity"], case["dimension"]))


def _case_name(case: Result) -> str:
    length = f"d = {case['dimension']:,}"
    if case["granularity"] == "tensors":
        return f"{MODELS.get(case['name'], case['name'])}, {case['tensor_count']} tensors, {length}"
    return f"a training run, {length}" if case["name"] == RECORDED else length


def _multiple(row: Result | None) -> str:
    """Two digits: on a machine with other work there is no more to be had."""
    if row is None:
        return ""
    ratio = row["ratio_to_add"]
    return f"{ratio:.1f} ×" if ratio < 10 else f"{ratio:.0f} ×"


def _markdown_line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
