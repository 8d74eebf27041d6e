"""What a step of error feedback costs on each machine, and what messages cost: tables of `paper/docs/kernels.md`."""

from __future__ import annotations

from pathlib import Path

from paper.results import Result, result
from paper.rules import RULES
from paper.studies.kernels import (
    CALLS,
    DENSITY,
    FLOOR,
    MODELS,
    NOT_MEASURED,
    RECORDED,
    machines,
    milliseconds,
    others,
    processor,
    row_in,
    rows,
)

COLUMNS = {
    **{f"{rule}, {call}": f"`{rule}`, {CALLS[call]}" for rule in ("gaussian_k", "top_k") for call in ("warm", "cold")},
    **{f"{rule}, warm, replayed": f"`{rule}`, later calls, as a graph" for rule in ("gaussian_k", "top_k")},
    "chunked_top_k": "`chunked_top_k`",
    "cub::DeviceTopK": "`cub::DeviceTopK`",
    "torch.topk, unsorted": "`torch.topk`",
    "chunked_top_k, PyTorch": "`chunked_top_k`, PyTorch",
    "released, PyTorch": "released Gaussian-k, PyTorch",
    "DGC, PyTorch": f"{RULES['dgc_released'].name}, PyTorch",
    "SIDCo, PyTorch": f"{RULES['sidco_released'].name}, PyTorch",
}
"""Columns of the page beside that of e += g; the paper's table has a few more."""
_MESSAGE_HEAD = (
    "| values | entries m, of d | bytes an entry | bits a position (the least in the mean) "
    "| encode, GB/s | decode, GB/s |\n"
    "|---|---|--:|--:|--:|--:|\n"
)


def timings_markdown(data_folder: Path) -> str:
    """The newest study on a processor, and the newest on each GPU or a line that there is none.

    Raises:
        FileNotFoundError: no processor was measured.
    """
    study = processor(data_folder)
    gpus = [_markdown_block(gpu, "") for gpu in machines(data_folder, "cuda")] or [f"GPU: {NOT_MEASURED}.\n"]
    return "\n".join(["", _markdown_block(study, f", {study['thread_count']} threads"), *gpus])


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


def wire_markdown(data_folder: Path) -> str:
    """The table, with the machine above; speeds are of the bytes that are sent.

    Raises:
        FileNotFoundError: messages were not timed.
    """
    study = result(data_folder, "wire")
    place = study.record("provenance")
    rows = "".join(map(_message_row, study.records("rows")))
    return (
        f"\n{place['processor_name']}, {str(place['date_utc'])[:10]}, one thread, random positions, best of several "
        f"calls; a link of 10 Gbit/s takes 1.25 GB/s:\n\n{_MESSAGE_HEAD}{rows}"
    )


def _message_row(row: Result) -> str:
    count, sent = row["entry_count"], row["message_bytes"]
    cells = [
        str(row["values"]),
        f"{count:,} of {row['dimension']:,}",
        f"{sent / count:.2f}",
        f"{row['index_bits']:.2f} ({row['fewest_index_bits']:.2f})",
        *(f"{sent / row[f'{half}_seconds'] / 1e9:.2f}" for half in ("encode", "decode")),
    ]
    return f"| {' | '.join(cells)} |\n"
