"""What do loss, accuracy and counts look like along the training runs? The figures of the study `convergence`.

`convergence` shows loss and accuracy against steps and bytes, `counts` the number of entries that the two Gaussian-k
rules send, `momentum` the runs with momentum, seed by seed. A run that diverged is drawn up to there; its accuracy
stays the last that it had.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from pathlib import Path
from statistics import fmean

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, MaxNLocator, NullLocator

from paper.results import Result
from paper.rules import METHODS, RULES
from paper.studies.convergence.runs import (
    HUNDREDTH,
    MOMENTUM,
    SMOOTHING_UPDATES,
    STANDARDISED,
    THOUSANDTH,
    condition_results,
    paired_differences,
    relative_counts,
    smoothed,
    still_running,
)
from paper.style import BLACK, YELLOW, legend_below, new_figure
from sparsync.verify.tools.intervals import mean

COUNT_PANELS = {
    "unit pixels, density 0.001": THOUSANDTH,
    "unit pixels, density 0.01": HUNDREDTH,
    "standardised pixels, density 0.001": STANDARDISED,
}
BAND = (2 / 3, 4 / 3)
"""The counts, over k, that Gaussian-k aims at."""
GAUSSIAN_METHODS = ("gaussian_k", "gaussian_k_released")
_MEGABYTE = 1e6
_LINEAR_BELOW = 0.01
"""Counts over k below this are drawn on a linear scale, so that zero has a place."""
Positions = Callable[[Result], list[float]]
"""A run to the horizontal position of each number of updates, from 0."""


def convergence(data_folder: Path) -> Figure:
    """Loss and test accuracy of every method against steps and against bytes; mean and range of the seeds."""
    runs = {
        condition: {method: condition_results(data_folder, condition, method) for method in METHODS}
        for condition in (THOUSANDTH, HUNDREDTH)
    }
    figure = new_figure(7.4, profile=runs[THOUSANDTH]["dense"][0]["profile"])
    panels = figure.subplots(4, 2, sharey="row")
    for upper, lower in ((0, 1), (2, 3)):
        for column in (0, 1):
            panels[lower, column].sharex(panels[upper, column])
    for (condition, by_method), column in zip(runs.items(), panels.T, strict=True):
        column[0].set_title(f"density {condition.density:g}")
        for method, results in by_method.items():
            for (loss_axes, accuracy_axes), positions in ((column[:2], _steps), (column[2:], _megabytes)):
                _draw_band(loss_axes, method, *_loss(results, positions))
                _draw_band(accuracy_axes, method, *_accuracy(results, positions))
        for axes, label in zip(column, 2 * ("update",) + 2 * ("sent by all workers so far (MB)",), strict=True):
            axes.set_xlabel(label)
        for axes in column[2:]:
            axes.set_xscale("log")
    for axes, label in zip(panels[:, 0], 2 * ("training loss", "test accuracy (%)"), strict=True):
        axes.set_ylabel(label)
    for axes in panels[[0, 2]].flat:
        axes.set_yscale("log")
        axes.yaxis.set(major_locator=FixedLocator([0.5, 1, 2]), major_formatter="{x:g}", minor_locator=NullLocator())
    legend_below(figure, panels[0, 0], columns=5)
    return figure


def counts(data_folder: Path) -> Figure:
    """Entries sent over entries asked for at every update: mean over the workers and seeds, and their range."""
    runs = {
        title: {method: condition_results(data_folder, condition, method) for method in GAUSSIAN_METHODS}
        for title, condition in COUNT_PANELS.items()
    }
    figure = new_figure(2.7, profile=next(iter(runs.values()))["gaussian_k"][0]["profile"])
    panels = figure.subplots(1, len(runs), sharey=True)
    for axes, (title, by_method) in zip(panels, runs.items(), strict=True):
        axes.axhspan(*BAND, color=YELLOW, alpha=0.6, linewidth=0, label="from 2/3 to 4/3")
        for method, results in reversed(by_method.items()):
            _draw_counts(axes, method, results)
        axes.set(xlabel="update", title=title)
        axes.set_yscale("symlog", linthresh=_LINEAR_BELOW, linscale=0.4)
        axes.yaxis.set(major_locator=FixedLocator([0, 0.01, 0.1, 1, 10, 100]), major_formatter="{x:g}")
    # After every panel is drawn: setting one end of a shared axis fixes the other where it is.
    panels[0].set_ylim(bottom=-_LINEAR_BELOW / 5)
    panels[0].set_ylabel("entries sent, divided by $k$")
    legend_below(figure, panels[0], columns=3)
    return figure


def momentum(data_folder: Path) -> Figure:
    """Test accuracy of each Gaussian-k rule minus that of Top-k, seed by seed, with momentum 0.9."""
    by_method = {method: condition_results(data_folder, MOMENTUM, method) for method in ("top_k", *GAUSSIAN_METHODS)}
    references = by_method.pop("top_k")
    figure = new_figure(2.2, profile=references[0]["profile"])
    for axes, (method, results) in zip(figure.subplots(1, 2), by_method.items(), strict=True):
        _draw_differences(axes, METHODS[method].colour, paired_differences(results, references))
        axes.set(title=f"{METHODS[method].title} − {RULES['top_k'].title}", xlabel="seed")
    figure.axes[0].set_ylabel("difference in\ntest accuracy (points)")
    return figure


def _draw_differences(axes: Axes, colour: str, by_seed: dict[int, float]) -> None:
    """Each seed as a dot, the mean as a line, and its interval, of one seed none, as a band."""
    estimate = mean(list(by_seed.values()))
    if estimate.count > 1:
        axes.axhspan(estimate.low, estimate.high, color=colour, alpha=0.15, linewidth=0)
    axes.axhline(estimate.value, color=colour, linewidth=0.8)
    axes.axhline(0, color=BLACK, linewidth=0.6)
    axes.plot(list(by_seed), list(by_seed.values()), "o", color=colour, markersize=4)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))


def _steps(result: Result) -> list[float]:
    return list(range(len(result["loss"]) + 1))


def _megabytes(result: Result) -> list[float]:
    return [sent / _MEGABYTE for sent in accumulate(result["sent_bytes"], initial=0)]


def _loss(results: Sequence[Result], positions: Positions) -> tuple[list[float], list[list[float]]]:
    """Of the seeds still running at each update."""
    updates, columns = smoothed([result["loss"] for result in results], SMOOTHING_UPDATES)
    return _mean_positions(results, positions, updates), columns


def _accuracy(results: Sequence[Result], positions: Positions) -> tuple[list[float], list[list[float]]]:
    """Of every seed at each evaluation of the longest run, a run that diverged keeping its last to the end.

    Without the first evaluation, before any update, which has no place on a logarithmic axis of bytes.
    """
    by_seed = [{one["step_count"]: 100 * one["test_accuracy"] for one in r.records("evaluations")} for r in results]
    updates = max((list(found)[1:] for found in by_seed), key=len)
    columns = [[_at_or_before(found, update) for found in by_seed] for update in updates]
    return _mean_positions(results, positions, updates), columns


def _at_or_before(accuracy: dict[int, float], update: int) -> float:
    return accuracy[max(count for count in accuracy if count <= update)]


def _mean_positions(results: Sequence[Result], positions: Positions, updates: Sequence[int]) -> list[float]:
    by_update = still_running([positions(result) for result in results])
    return [fmean(by_update[update]) for update in updates]


def _draw_band(axes: Axes, method: str, horizontal: Sequence[float], columns: Sequence[Sequence[float]]) -> None:
    """The mean of the seeds as a line, their smallest and largest as a band."""
    look = METHODS[method]
    axes.plot(horizontal, [fmean(column) for column in columns], **look.line)
    _fill(axes, look.colour, horizontal, columns, columns, alpha=0.2)


def _draw_counts(axes: Axes, method: str, results: Sequence[Result]) -> None:
    look = METHODS[method]
    smallest, middle, largest = (
        still_running([relative_counts([result], name) for result in results])
        for name in ("smallest_selected_count", "selected_count", "largest_selected_count")
    )
    updates = list(range(1, len(middle) + 1))
    _fill(axes, look.colour, updates, smallest, largest, alpha=0.25)
    axes.plot(updates, [fmean(column) for column in middle], color=look.colour, label=look.title, linewidth=0.8)


def _fill(
    axes: Axes,
    colour: str,
    horizontal: Sequence[float],
    lower: Sequence[Sequence[float]],
    upper: Sequence[Sequence[float]],
    *,
    alpha: float,
) -> None:
    """A band from the smallest to the largest value at each place."""
    ends = [min(column) for column in lower], [max(column) for column in upper]
    axes.fill_between(horizontal, *ends, color=colour, alpha=alpha, linewidth=0)
