"""What does a step of error feedback cost, for a reader of README? One table for each machine that was measured.

Times are multiples of that of e += g on the same machine, as in the paper's table, from the same `kernels-*.json`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from paper.kernel_facts import (
    DENSITY,
    FLOOR,
    MODELS,
    NOT_MEASURED,
    Column,
    machine,
    processor,
    row_in,
    table_columns,
)
from paper.results import Result

CONTENDERS = {
    "gaussian_k, warm": "`gaussian_k`, later calls",
    "gaussian_k, cold": "`gaussian_k`, first call",
    "top_k, warm": "`top_k`, later calls",
    "top_k, cold": "`top_k`, first call",
    "cub::DeviceTopK": "`cub::DeviceTopK`",
    "torch.topk, unsorted": "`torch.topk`",
    "released, PyTorch": "released Gaussian-k, in PyTorch",
    "DGC, PyTorch": "DGC, in PyTorch",
    "SIDCo, PyTorch": "SIDCo, in PyTorch",
}
"""Rows below that of e += g; the paper's table has a few more."""


def timings_markdown(data_folder: Path) -> str:
    """A table of the newest study on a processor, and one of the newest on a GPU or a line that there is none.

    Raises:
        FileNotFoundError: no processor was measured.
    """
    study, gpu = processor(data_folder), machine(data_folder, "cuda")
    threads = f"{study['thread_count']} threads"
    second = f"On a GPU: {NOT_MEASURED}.\n" if gpu is None else _table(gpu, "GPU")
    return f"\n{_table(study, threads)}\n{second}"


def _table(study: Result, place: str) -> str:
    columns = table_columns([study])
    title = f"{_escaped(study['hardware'])}, {place}, density {DENSITY:g}, profile `{study['profile']}`"
    heads = [title, *map(_head, columns)]
    lines = [_line(heads), f"|---|{'--:|' * len(columns)}"]
    lines.append(_line(["`e += g`, in ms", *_cells(study, FLOOR, columns, _milliseconds)]))
    for contender, words in CONTENDERS.items():
        cells = _cells(study, contender, columns, lambda row: f"{row['ratio_to_add']:.2f} ×")
        lines += [_line([words, *cells])] if any(cells) else []
    return "".join(f"{line}\n" for line in lines)


def _head(column: Column) -> str:
    name, granularity, dimension = column
    return MODELS.get(name, _escaped(name)) if granularity == "tensors" else f"d = {dimension:,}"


def _cells(study: Result, contender: str, columns: list[Column], show: Callable[[Result], str]) -> list[str]:
    found = [row_in(study, contender, column) for column in columns]
    return ["" if row is None else show(row) for row in found]


def _milliseconds(row: Result) -> str:
    milliseconds = 1e3 * row["best_seconds"]
    return f"{milliseconds:.3f}" if milliseconds < 1 else f"{milliseconds:.1f}"


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _escaped(text: str) -> str:
    return text.replace("|", r"\|")
