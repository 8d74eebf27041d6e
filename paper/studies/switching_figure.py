"""Which order is better, and how large may the step size be? Reads `switching.json`.

Upper figure: the error at the end against the share of time at the full barrier, one panel per problem and cluster.
Lower one: the largest stable step size in the engine against its formula.
"""

from __future__ import annotations

from pathlib import Path
from statistics import fmean

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from paper.results import Result, switching_result
from paper.studies.switching_facts import CLUSTERS, CONDITIONS, end_errors
from paper.style import BLACK, BLUE, GREEN, GREY, SKY, VERMILION, Look, legend_below, new_figure

ORDERS: dict[str, Look] = {
    "synchronous_first": Look("synchronous first, steps alike", BLUE),
    "asynchronous_first": Look("asynchronous first, steps alike", VERMILION),
    "synchronous_first_falling": Look("synchronous first, steps falling", SKY, (0, (4, 1.5))),
    "asynchronous_first_falling": Look("asynchronous first, steps falling", GREEN, (0, (4, 1.5))),
}
"""How each order is drawn; both ends of a curve are the policies that never switch."""

LIMITS: dict[float, Look] = {
    0.0: Look("no momentum", BLUE),
    0.9: Look("momentum 0.9 of each worker", VERMILION, (0, (4, 1.5))),
}
"""By momentum."""
TICKS = (0.1, 0.2, 0.3, 0.35, 0.4, 0.5, 0.6, 0.8, 1.0, 2.0)
MARKERS = {"equal": "o", "one_slow": "s", "pareto": "^"}


def switching(data_folder: Path) -> Figure:
    """The mean error at the end against the synchronous share, with a mark for every seed."""
    study = switching_result(data_folder)
    figure = new_figure(4.1, profile=study["profile"])
    panels = figure.subplots(len(CLUSTERS), len(CONDITIONS), sharex=True, squeeze=False)
    for row, (cluster, cluster_title) in zip(panels, CLUSTERS.items(), strict=True):
        for axes, (condition, condition_title) in zip(row, CONDITIONS.items(), strict=True):
            for order, look in ORDERS.items():
                _draw_order(axes, study, (condition, cluster, order), look)
            axes.set_title(f"{condition_title}\n{cluster_title}", fontsize=8)
            axes.set_yscale("log")
            axes.yaxis.set_minor_locator(NullLocator())
            low, high = axes.get_ylim()
            ticks = [tick for tick in TICKS if low <= tick <= high]
            axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
            axes.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
    for axes in panels[-1]:
        axes.set_xlabel("synchronous share", fontsize=8)
    for row in panels:
        row[0].set_ylabel("error at the end")
    legend_below(figure, panels[0][0], columns=2)
    return figure


def step_limits(data_folder: Path) -> Figure:
    """The largest stable step size without a barrier, against the number of workers: measured, and by formula."""
    study = switching_result(data_folder)
    figure = new_figure(2.5, profile=study["profile"])
    axes = figure.subplots()
    limits = [limit for limit in study.records("frontier") if limit["policy"] == "asp"]
    for momentum, look in LIMITS.items():
        own = [limit for limit in limits if limit["momentum"] == momentum]
        formula = next(curve for curve in study.records("limits") if curve["momentum"] == momentum)
        axes.plot(formula["worker_count"], formula["limit"], **look.line, zorder=1)
        for limit in own:
            axes.plot(
                limit["worker_count"],
                limit["measured"],
                marker=MARKERS[limit["cluster"]],
                color=look.colour,
                markerfacecolor="none",
                linestyle="none",
            )
    for cluster, marker in MARKERS.items():
        axes.plot([], [], marker=marker, color=BLACK, markerfacecolor="none", linestyle="none", label=_NAMES[cluster])
    axes.axhline(2, color=GREY, linewidth=0.6)
    axes.annotate(
        "barrier, no momentum", (0.72, 2), xycoords=("axes fraction", "data"), va="bottom", ha="center", fontsize=7
    )
    axes.set_xscale("log", base=2)
    axes.set_xticks([1, 2, 4, 8, 16], ["1", "2", "4", "8", "16"])
    axes.set_yscale("log")
    axes.set_yticks([0.2, 0.5, 1, 2, 4], ["0.2", "0.5", "1", "2", "4"])
    axes.yaxis.set_minor_locator(NullLocator())
    axes.set(xlabel="workers $n$", ylabel=r"largest stable $\eta\lambda$", ylim=(0.17, 5))
    figure.legend(*axes.get_legend_handles_labels(), loc="outside right center")
    return figure


_NAMES = {
    "equal": "measured, workers alike",
    "one_slow": "measured, one slow",
    "pareto": "measured, Pareto",
}


def _draw_order(axes: Axes, study: Result, place: tuple[str, str, str], look: Look) -> None:
    """A curve from no barrier at all to a barrier throughout."""
    errors = end_errors(study, *place)
    axes.plot(list(errors), [fmean(values) for values in errors.values()], **look.line, marker=".", markersize=4)
    for share, values in errors.items():
        axes.plot(
            [share] * len(values), values, color=look.colour, linestyle="none", marker="_", markersize=4, alpha=0.5
        )
