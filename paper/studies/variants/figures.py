"""What every variant loses against dense training, drawn with intervals."""

from __future__ import annotations

import math
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper.results import Result, result
from paper.studies.variants.runs import (
    CLOSE,
    LOW_RANK,
    MODELS,
    OPTIMISERS,
    contestant,
    densities,
    lost,
    places,
    title,
    variants,
)
from paper.style import BLACK, BLUE, GREY, VERMILION, legend_below, new_figure
from sparsync.verify.tools.intervals import Estimate

_WIDTH = 12.0
"""Units that a panel of the figure shows to the right, at most; what is beyond is drawn at the edge."""
LOOKS = ((BLUE, 0.17), (VERMILION, -0.17))
"""Of densities, the largest first: the colour, and by how many rows it is drawn above its method."""


def losses(data_folder: Path) -> Figure:
    """What every variant loses, with its interval: a panel per model and optimiser, a colour per density."""
    study = result(data_folder, "variants")
    columns, names = places(study), _names(study)
    figure = new_figure(2.9, profile=study["profile"])
    panels = figure.subplots(1, len(columns), sharey=True, squeeze=False)[0]
    for axes, place in zip(panels, columns, strict=True):
        axes.axvline(0, color=GREY, linewidth=0.6)
        for density, (colour, shift) in zip(densities(study), LOOKS, strict=False):
            _draw(axes, study, place, density, colour=colour, shift=shift, edge=_edge(study, place))
        axes.set(title=f"{MODELS[place[0]][0]}\n{OPTIMISERS[place[1]]}", ylim=(-0.6, len(names) - 0.4))
        axes.set_xlabel("points lost" if place[0] == "resnet20" else r"loss added (%)")
    panels[0].set_yticks(range(len(names)), [title(name) for name in names])
    legend_below(figure, panels[0], columns=len(densities(study)))
    return figure


def _names(study: Result) -> list[str]:
    """Methods from the bottom to the top."""
    return [LOW_RANK, *reversed(variants(study))]


def _losses(study: Result, place: tuple[str, str], density: float) -> dict[str, Estimate | None]:
    """What each method loses that the run has."""
    found = {name: contestant(study, *place, name, density) for name in _names(study)}
    return {name: lost(study, place[0], run) for name, run in found.items() if run is not None}


def _edge(study: Result, place: tuple[str, str]) -> float:
    """How far to the right the panels of a model and optimiser show."""
    shown = [loss for density in densities(study) for loss in _losses(study, place, density).values() if loss]
    return min(_WIDTH, 1.1 * max([*CLOSE.values(), *(_finite(loss.high, loss.value) for loss in shown)]))


def _draw(
    axes: Axes, study: Result, place: tuple[str, str], density: float, *, colour: str, shift: float, edge: float
) -> None:
    """A dot and an interval for each method; at the edge a cross for one that diverged, an arrow for one beyond."""
    axes.axvline(CLOSE[density], color=colour, linewidth=0.7, linestyle=(0, (3, 2)))
    axes.plot([], [], marker="o", color=colour, markersize=3.5, linewidth=1.0, label=f"density {density:g}")
    names = _names(study)
    for name, loss in _losses(study, place, density).items():
        is_low_rank = name == LOW_RANK
        if is_low_rank and density != max(densities(study)):
            continue  # it has no density, and is the same at each
        height, own = names.index(name) + (0 if is_low_rank else shift), BLACK if is_low_rank else colour
        if loss is None or loss.value > edge:
            axes.plot(edge, height, marker="x" if loss is None else ">", color=own, markersize=4, clip_on=False)
            continue
        low, high = (_finite(end, loss.value) for end in (loss.low, loss.high))
        axes.plot([low, min(high, edge)], [height, height], color=own, linewidth=1.0)
        axes.plot(loss.value, height, marker="o", color=own, markersize=3.5, linestyle="none")


def _finite(end: float, value: float) -> float:
    """An interval's end; of one seed there is none."""
    return value if math.isinf(end) else end
