"""How does the cost of a step of error feedback grow with d? The fused kernel, what PyTorch offers, and the floor.

Reads the newest `kernels-*.json` of a processor and, if there is one, of a GPU: a row of panels for each machine.
Left: best time against d; right: the speed as a share of that of e += g.
"""

from __future__ import annotations

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper.results import Result
from paper.studies.kernel_facts import DENSITY, FLOOR, bytes_per_second, machine, processor, rows
from paper.style import BLACK, BLUE, GREEN, GREY, METHODS, ORANGE, SKY, Look, legend_below, new_figure

CONTENDERS: dict[str, Look] = {
    FLOOR: Look(r"$e \leftarrow e + g$", BLACK),
    "gaussian_k, warm": Look("Gaussian-$k$, later calls", GREEN),
    "gaussian_k, cold": Look("Gaussian-$k$, first call", GREEN, (0, (3, 2))),
    "top_k, warm": Look("exact Top-$k$, later calls", SKY),
    "cub::DeviceTopK": Look("cub::DeviceTopK", ORANGE, (0, (1, 1))),
    "torch.topk, unsorted": Look("torch.topk", BLUE, (0, (4, 1.5))),
    "released, PyTorch": Look("released rule, PyTorch", METHODS["gaussian_k_released"].colour, (0, (5, 1, 1, 1))),
}
"""How each contender is drawn, where a study has it."""
LIMIT = "12 bytes an entry"
"""The label of the time that the memory needs at its full rate."""

_ROW_HEIGHT_INCHES = 2.5


def kernels(data_folder: Path) -> Figure:
    """Best times on Gaussian vectors at density 0.001, and their speed as a share of the floor's."""
    studies = [processor(data_folder), machine(data_folder, "cuda")]
    measured = [study for study in studies if study is not None]
    profiles = [str(study["profile"]) for study in measured]
    profile = "smoke" if "smoke" in profiles else profiles[0]
    figure = new_figure(_ROW_HEIGHT_INCHES * len(measured) + 0.5, profile=profile)
    panels = figure.subplots(len(measured), 2, squeeze=False, sharex="row")
    for (left, right), study in zip(panels, measured, strict=True):
        _draw_times(left, study)
        _draw_shares(right, study)
        left.set(title=f"{study['hardware']}, density {DENSITY:g}", ylabel="best time in ms")
        right.set(title=r"speed, $e \leftarrow e + g$ being 1")
        right.set_ylim(bottom=0)
    for axes in panels[-1]:
        axes.set_xlabel("$d$")
    legend_below(figure, panels[-1][0], columns=3)
    return figure


def _draw_times(axes: Axes, study: Result) -> None:
    for contender, look in CONTENDERS.items():
        found = rows(study, contender, name="gaussian")
        if found:
            dimensions = [row["dimension"] for row in found]
            axes.plot(dimensions, [1e3 * row["best_seconds"] for row in found], marker=".", **look.line)
    dimensions = [row["dimension"] for row in rows(study, FLOOR, name="gaussian")]
    limits = [1e3 * study["bytes_per_entry"] * dimension / bytes_per_second(study) for dimension in dimensions]
    axes.plot(dimensions, limits, label=LIMIT, color=GREY, linestyle=(0, (1, 1)))
    axes.set(xscale="log", yscale="log")


def _draw_shares(axes: Axes, study: Result) -> None:
    for contender, look in CONTENDERS.items():
        found = rows(study, contender, name="gaussian")
        if found and contender != FLOOR:
            shares = [1 / row["ratio_to_add"] for row in found]
            axes.plot([row["dimension"] for row in found], shares, marker=".", **look.line)
