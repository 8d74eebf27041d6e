"""When does a barrier that looks at a few workers only let one pass, and how far are others behind then?

Reads `sampled_lags.json`. Left: the share of looks that passed, by number of laggards; middle: of all looks, without
staleness; right: the lag of the slowest behind a released worker, with staleness.
"""

from __future__ import annotations

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator

from paper.results import Result, sampled_lags_result
from paper.studies.lag_facts import EXPONENTIAL, lag_runs, largest_workers, passing_points
from paper.style import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILION, Look, new_figure
from sparsync.theory.statements import STATEMENTS

SAMPLE_COLOURS = (SKY, GREEN, ORANGE, PURPLE)
"""By size of the sample, ascending, where passing is left to chance."""
CLUSTERS = {
    "exponential": Look("equal workers", BLUE),
    "one slow": Look("one three times slower", VERMILION),
}
"""How the clusters of the study are drawn."""
STATED = (0, (3, 2))


def sampled_lags(data_folder: Path) -> Figure:
    """Passing against the number of laggards and the size of the sample, and lags against the size of the sample."""
    study = sampled_lags_result(data_folder)
    figure = new_figure(2.7, profile=study["profile"])
    left, middle, right = figure.subplots(1, 3)
    _draw_passing(left, study)
    _draw_shares(middle, study)
    _draw_lags(right, study)
    return figure


def _draw_passing(axes: Axes, study: Result) -> None:
    workers = min(run["workers"] for run in study.records("runs"))
    runs = [run for run in lag_runs(study, workers, EXPONENTIAL, 0) if 0 < run["sample"] < workers - 1]
    for run, colour in zip(runs, SAMPLE_COLOURS, strict=False):
        laggards, shares, errors = passing_points(run)
        axes.errorbar(
            laggards, shares, [2 * error for error in errors], fmt="o", color=colour, markersize=2, elinewidth=0.6
        )
        stated = [
            STATEMENTS["psp_pass_probability"].evaluate(n=workers, laggard_count=number, sample_count=run["sample"])
            for number in range(workers)
        ]
        axes.plot(range(workers), stated, color=colour, linewidth=0.9, label=rf"$\beta={run['sample']}$")
    axes.set(xlabel=f"laggards among {workers - 1} others", ylabel="share of looks that pass", title="one look")
    axes.legend(loc="upper right", fontsize=7)


def _draw_shares(axes: Axes, study: Result) -> None:
    workers = largest_workers(study)
    for cluster, look in CLUSTERS.items():
        runs = lag_runs(study, workers, cluster, 0)
        shares = [run.record("passing")["share"] for run in runs]
        marker = "o" if cluster == EXPONENTIAL else "x"
        axes.plot(range(len(runs)), shares, marker, color=look.colour, markersize=4, fillstyle="none")
    runs = lag_runs(study, workers, EXPONENTIAL, 0)
    axes.plot(range(len(runs)), [1 / (run["sample"] + 1) for run in runs], color=BLACK, linewidth=0.8)
    stated = [run.record("stated")["decay"] for run in runs]
    axes.plot(range(len(runs)), stated, color=GREY, linestyle=STATED, linewidth=0.9)
    axes.set(yscale="log", xlabel=r"sample size $\beta$", title="first looks, staleness 0", ylim=(1e-3, 1.5))
    axes.annotate(r"$1/(\beta+1)$", (3, 0.2), xytext=(6, 4), textcoords="offset points", fontsize=7)
    axes.annotate(r"$q^\beta$", (3, stated[3]), xytext=(-14, -6), textcoords="offset points", fontsize=7, color=GREY)
    _label_samples(axes, runs)


def _draw_lags(axes: Axes, study: Result) -> None:
    workers = largest_workers(study)
    staleness = max(run["staleness"] for run in study.records("runs"))
    for cluster, look in CLUSTERS.items():
        runs = lag_runs(study, workers, cluster, staleness)
        slowest = [run.record("slowest") for run in runs]
        places = range(len(runs))
        axes.plot(places, [record["mean"] for record in slowest], marker="o", **look.line, markersize=2.5)
        axes.plot(places, [record["percentile_99"] for record in slowest], ":", color=look.colour, linewidth=1)
        bounded = [(place, run.record("stated")["mean"]) for place, run in enumerate(runs) if run["sample"]]
        axes.plot(*zip(*bounded, strict=True), color=look.colour, linestyle=STATED, linewidth=0.9)
    axes.set(yscale="log", xlabel=r"sample size $\beta$", ylabel="steps behind", title=f"lags, staleness {staleness}")
    axes.set_ylim(bottom=0.7)
    axes.yaxis.set(major_locator=FixedLocator([1, 2, 5, 10, 20, 50, 100]), major_formatter="{x:g}")
    axes.yaxis.set_minor_locator(NullLocator())
    axes.legend(loc="upper right", fontsize=7)
    note = "full: mean of the slowest\ndotted: its 99 %\ndashed: bound with $q$, $q^\\beta$"
    axes.annotate(note, (0.03, 0.03), xycoords="axes fraction", fontsize=7)
    _label_samples(axes, lag_runs(study, workers, EXPONENTIAL, staleness))


def _label_samples(axes: Axes, runs: list[Result]) -> None:
    names = ["all" if run["sample"] == run["workers"] - 1 else str(run["sample"]) for run in runs]
    axes.set_xticks(range(len(runs)), names)
