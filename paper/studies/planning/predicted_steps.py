"""How far from measured steps over real links are predicted ones? The study `links`, on the half that was not fitted.

A step was measured in several rounds at different times; how far these are apart is what no prediction can be better
than.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import fmean, median

from matplotlib.figure import Figure

from paper import latex
from paper.results import result
from paper.studies.links.times import MODELS, Links
from paper.studies.study import Study
from paper.style import BLUE, GREEN, GREY, ORANGE, legend_below, new_figure

WANTED = 0.15
"""Relative error up to which a prediction is good enough to plan with."""
_COLOURS = dict(zip(MODELS, (BLUE, ORANGE, GREEN), strict=False))
_MARKERS = {"loop": "o", "hook": "^", "local": "s"}
_ROADS = {"loop": "training loop", "hook": "DDP hook", "local": "local steps"}
NOT_FITTED = "not fitted"


def errors_of(data_folder: Path) -> dict[str, float]:
    """Predicted over measured seconds, less one, by point; empty where nothing was fitted."""
    fitted = result(data_folder, "links")["model"]
    return {} if fitted is None else dict(fitted["errors"])


def by_network(data_folder: Path) -> dict[str, list[float]]:
    """Sizes of the errors of each network, in the order of `MODELS`."""
    errors = errors_of(data_folder)
    found = {model: [abs(error) for name, error in errors.items() if name.startswith(f"{model},")] for model in MODELS}
    return {model: sizes for model, sizes in found.items() if sizes}


def round_spreads(data_folder: Path) -> list[float]:
    """Of each point that was predicted: how far the rounds lie from their median, in the mean."""
    errors, spreads = errors_of(data_folder), []
    for cell in Links(data_folder).cells.values():
        if cell["name"] in errors:
            rounds = [float(seconds) for seconds in cell["round_seconds"]]
            spreads.append(fmean(abs(seconds / median(rounds) - 1) for seconds in rounds))
    return spreads


def predicted_steps(data_folder: Path) -> Figure:
    """Predicted over measured seconds against measured seconds, by network and road."""
    found, errors = Links(data_folder), errors_of(data_folder)
    figure = new_figure(2.6, profile=str(found.links["profile"]))
    axes = figure.subplots()
    axes.axhspan(1 - WANTED, 1 + WANTED, color=GREY, alpha=0.2, linewidth=0)
    axes.axhline(1, color=GREY, linewidth=0.6)
    for model, colour in _COLOURS.items():
        for road, marker in _MARKERS.items():
            cells = [
                cell
                for cell in found.cells.values()
                if cell["model"] == model and cell["method"]["road"] == road and cell["name"] in errors
            ]
            axes.plot(
                [float(cell["slowest_seconds"]) for cell in cells],
                [1 + errors[str(cell["name"])] for cell in cells],
                linestyle="",
                marker=marker,
                markersize=3.5,
                color=colour,
                markerfacecolor="none",
                label=f"{MODELS[model]}, {_ROADS[road]}",
            )
    axes.set(xscale="log", xlabel="measured seconds of a step", ylabel="predicted / measured")
    legend_below(figure, axes, columns=3)
    return figure


def _said(data_folder: Path, *, say: Callable[[Path], str]) -> str:
    return say(data_folder) if errors_of(data_folder) else NOT_FITTED


def _errors(data_folder: Path) -> str:
    """`7.9 for FNN-3, …`, percent."""
    return ", ".join(
        rf"{latex.percent(fmean(sizes))}\,\% for {MODELS[model]}" for model, sizes in by_network(data_folder).items()
    )


def _within(data_folder: Path) -> str:
    sizes = [abs(error) for error in errors_of(data_folder).values()]
    count = sum(size <= WANTED for size in sizes)
    return f"{latex.integer(count)} of {latex.integer(len(sizes))}"


def _hooks(data_folder: Path) -> str:
    """How many of those that are farther off belong to hooks."""
    far = [name for name, error in errors_of(data_folder).items() if abs(error) > WANTED]
    count = sum(", hook " in name for name in far)
    return f"{latex.integer(count)} of {latex.integer(len(far))}"


STUDY = Study(
    macros={
        "StepsErrors": partial(_said, say=_errors),
        "StepsWithin": partial(_said, say=_within),
        "StepsHooks": partial(_said, say=_hooks),
        "StepsWanted": lambda _folder: latex.percent(WANTED),
        "StepsSpread": partial(_said, say=lambda folder: latex.percent(fmean(round_spreads(folder)))),
    },
    figures={"predicted_steps": predicted_steps},
    results=("links",),
)
