"""What do tuned runs end with at each density, and how many entries do they send? The figures of `convergence`.

`convergence` shows the ends of the main methods, `counts` what the two Gaussian-k rules send: four arenas, each with
the update rule that is usual for it, and those that have been run before others. One that has not been run has an empty
panel that says so.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullFormatter, NullLocator

from paper.results import Result
from paper.rules import METHODS
from paper.studies.convergence.runs import (
    ARENAS,
    BAND,
    BEFORE,
    DENSE,
    EXACT,
    NOT_RUN,
    OURS,
    RANDOM,
    RULES,
    THEIRS,
    USUAL,
    ends,
    is_text,
    studies,
    study_of,
)
from paper.style import YELLOW, legend_below, new_figure
from sparsync.verify.tools.intervals import Estimate, mean

PANEL_COUNT = 4
MAIN = (EXACT, BEFORE, OURS, THEIRS, RANDOM)
_SHIFTS = {EXACT: 0.92, BEFORE: 0.96, OURS: 1.0, THEIRS: 1.04, RANDOM: 1.08}
"""Factors of the density, so that intervals stand beside each other."""
_DENSITIES = (0.0007, 0.08)
"""Shown from, and up to."""
_LINEAR_BELOW = 0.01
"""Counts over k below this are drawn on a linear scale, so that zero has a place."""
Draw = Callable[[Axes, Result, str], None]


def convergence(data_folder: Path) -> Figure:
    """Test accuracy, of text the loss, at the end against the density; mean and interval of the seeds."""
    figure = _panels(data_folder, _draw_ends, height=2.6)
    figure.axes[0].set_ylabel("test accuracy (%)")
    return figure


def counts(data_folder: Path) -> Figure:
    """Entries sent over entries asked for against the density: median, and the range of all workers and updates."""
    figure = _panels(data_folder, _draw_counts, height=2.6)
    figure.axes[0].set_ylabel("entries sent, divided by $k$")
    return figure


def drawn(data_folder: Path) -> list[str]:
    """The arenas that have a panel, in their order."""
    there = studies(data_folder)
    chosen = sorted(USUAL, key=lambda arena: arena not in there)[:PANEL_COUNT]
    return [arena for arena in USUAL if arena in chosen]


def _panels(data_folder: Path, draw: Draw, *, height: float) -> Figure:
    there, shown = studies(data_folder), drawn(data_folder)
    first = next(iter(there.values()), None) or study_of(data_folder, shown[0])
    figure = new_figure(height, profile=first["profile"])
    panels = figure.subplots(1, len(shown))
    for axes, arena in zip(panels, shown, strict=True):
        rule = USUAL[arena]
        axes.set(title=f"{ARENAS[arena]}\n{RULES[rule]}", xlabel="density")
        if arena not in there:
            axes.text(0.5, 0.5, NOT_RUN, ha="center", transform=axes.transAxes)
            axes.set(xticks=[], yticks=[])
            continue
        draw(axes, there[arena], rule)
        axes.set(xscale="log", xlim=_DENSITIES)
        axes.xaxis.set(major_locator=FixedLocator([0.001, 0.01, 0.1]), minor_locator=NullLocator())
        axes.xaxis.set(major_formatter="{x:g}", minor_formatter=NullFormatter())
    filled = [axes for axes in panels if axes.get_legend_handles_labels()[0]]
    if filled:
        legend_below(figure, filled[0], columns=5)
    return figure


def _draw_ends(axes: Axes, study: Result, rule: str) -> None:
    if is_text(study):
        axes.set_ylabel("test loss")
    for found in _found(study, rule, DENSE):
        values = ends(study, found)
        if values is not None:
            estimate, look = mean(values), METHODS[DENSE]
            axes.axhline(estimate.value, **look.line)
            if math.isfinite(estimate.low):
                axes.axhspan(estimate.low, estimate.high, color=look.colour, alpha=0.12, linewidth=0)
    for method in MAIN:
        ended = [(found["density"], ends(study, found)) for found in _found(study, rule, method)]
        _draw_estimates(axes, method, [(density, mean(values)) for density, values in ended if values is not None])
    if not is_text(study):
        axes.set_ylim(bottom=max(0.0, axes.get_ylim()[0]), top=min(100.0, axes.get_ylim()[1]))


def _draw_estimates(axes: Axes, method: str, found: Sequence[tuple[float, Estimate]]) -> None:
    """Dots with intervals, joined; of one seed there is no interval."""
    look = METHODS[method]
    places, values = [_SHIFTS[method] * density for density, _ in found], [estimate.value for _, estimate in found]
    axes.plot(places, values, marker="o", markersize=2.5, **look.line)
    for place, (_, estimate) in zip(places, found, strict=True):
        if math.isfinite(estimate.low):
            axes.plot([place, place], [estimate.low, estimate.high], color=look.colour, linewidth=1.0)


def _draw_counts(axes: Axes, study: Result, rule: str) -> None:
    axes.axhspan(*BAND, color=YELLOW, alpha=0.6, linewidth=0, label="from 2/3 to 4/3")
    for method in (THEIRS, OURS):
        found = [each for each in _found(study, rule, method) if None not in each["median_count"]]
        look, places = METHODS[method], [_SHIFTS[method] * each["density"] for each in found]
        axes.plot(places, [fmean(each["median_count"]) for each in found], marker="o", markersize=2.5, **look.line)
        for place, each in zip(places, found, strict=True):
            reach = [min(each["smallest_count"]), max(each["largest_count"])]
            axes.plot([place, place], reach, color=look.colour, linewidth=1.0)
    axes.set_yscale("symlog", linthresh=_LINEAR_BELOW, linscale=0.4)
    axes.yaxis.set(major_locator=FixedLocator([0, 0.01, 0.1, 1, 10, 100]), major_formatter="{x:g}")
    axes.set_ylim(bottom=-_LINEAR_BELOW / 5)


def _found(study: Result, rule: str, method: str) -> list[Result]:
    """A method at all of its densities, ascending."""
    found = [each for each in study.records("contestants") if (each["optimiser"], each["method"]) == (rule, method)]
    return sorted(found, key=lambda each: each["density"] or 0.0)
