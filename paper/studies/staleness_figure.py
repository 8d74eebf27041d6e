"""What do late updates cost, and what does theory say of it? Two figures of `staleness.json`.

The first: steps to the target as multiples of those without delays, by depth, optimiser and number of workers. The
second: the coherence of gradients along these runs, the rate's two sides, and the largest stable steps.
"""

from __future__ import annotations

from pathlib import Path
from statistics import quantiles
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, NullLocator

from paper.results import Result, staleness_result
from paper.studies.staleness_facts import OPTIMISER_NAMES, SWEPT, late_run, sweep
from paper.style import BLACK, BLUE, GREY, ORANGE, PURPLE, SKY, VERMILION, Look, new_figure

PANELS = {"hidden_count": "hidden layers", "optimiser": "optimiser", "worker_count": "workers"}
"""Title of each sweep's panel."""
COLOURS = (SKY, BLUE, PURPLE, VERMILION, ORANGE, BLACK)
"""By the place of the staleness."""
MARKERS = ("o", "s", "D", "v", "P", "X")
"""By the place of the staleness."""
RATES = {
    "quadratic": Look("quadratic", BLUE),
    "quadratic, noise": Look("quadratic with noise", SKY, (0, (4, 1.5))),
    "regression": Look("regression", VERMILION),
    "regression, noise": Look("regression with noise", ORANGE, (0, (4, 1.5))),
}
"""The problems that the rate is checked on."""
MOMENTA = {0.0: Look("no momentum", BLUE), 0.9: Look("momentum 0.9", VERMILION)}
"""The momenta of the largest stable steps."""
_SPREAD = 0.5
"""Width that the points of one setting share."""


def staleness(data_folder: Path) -> Figure:
    """Relative steps to the target; what was not reached stands above the line, at the study's patience."""
    study = staleness_result(data_folder)
    figure = new_figure(2.9, profile=study["profile"])
    panels = figure.subplots(1, 3, sharey=True, width_ratios=[5, 5, 3])
    beyond = study["patience"] + 0.25
    for axes, swept in zip(panels, SWEPT, strict=True):
        for position, setting in enumerate(sweep(study, swept)):
            for place, at, late in _late_runs(study, setting, position):
                look: dict[str, Any] = {
                    "marker": MARKERS[place],
                    "color": COLOURS[place],
                    "linestyle": "none",
                    "markersize": 4.5,
                }
                axes.plot(at, _height(late["relative"], beyond), **look)
                if "best_relative" in late.fields and late["best_step_size"] != setting["step_size"]:
                    axes.plot(at, _height(late["best_relative"], beyond), fillstyle="none", **look)
        _name_settings(axes, study, swept)
        axes.axhline(study["patience"] + 0.1, color=BLACK, linewidth=0.6)
        axes.set_ylim(0.9, study["patience"] + 0.4)
    multiples = range(1, study["patience"] + 1)
    panels[0].set_yticks([*multiples, beyond], [*map(str, multiples), "not reached"])
    panels[0].set_ylabel("steps, as a multiple of $s=0$")
    _legend(figure, study)
    return figure


def stale_theory(data_folder: Path) -> Figure:
    """Coherence by depth, the share of the rate's bound that runs fill, and limits of the step beside the stated."""
    study = staleness_result(data_folder)
    figure = new_figure(2.9, profile=study["profile"])
    left, middle, right = figure.subplots(1, 3)
    _draw_coherence(left, study)
    _draw_rates(middle, study)
    _draw_limits(right, study)
    return figure


def _height(relative: float | None, beyond: float) -> float:
    return beyond if relative is None else relative


def _late_runs(study: Result, setting: Result, position: int) -> list[tuple[int, float, Result]]:
    """Place of the staleness, where it is drawn, and its runs."""
    stalenesses = study["stalenesses"]
    gap = _SPREAD / max(1, len(stalenesses) - 1)
    first = position - _SPREAD / 2 if len(stalenesses) > 1 else position
    return [(place, first + gap * place, late_run(setting, at)) for place, at in enumerate(stalenesses)]


def _name_settings(axes: Axes, study: Result, swept: str) -> None:
    values = [setting[swept] for setting in sweep(study, swept)]
    names = [OPTIMISER_NAMES[value] if swept == "optimiser" else str(value) for value in values]
    axes.set_xticks(range(len(names)), names, rotation=35 if swept == "optimiser" else 0)
    axes.set(title=PANELS[swept], xlim=(-0.5, len(names) - 0.5))
    axes.grid(visible=False, axis="x")


def _legend(figure: Figure, study: Result) -> None:
    handles = [
        Line2D([], [], color=COLOURS[place], marker=MARKERS[place], linestyle="none", markersize=4.5, label=f"$s={at}$")
        for place, at in enumerate(study["stalenesses"])
    ]
    hollow: dict[str, Any] = {"color": GREY, "marker": "o", "fillstyle": "none", "linestyle": "none", "markersize": 4.5}
    handles.append(Line2D([], [], label="hollow: with the best of smaller step sizes", **hollow))
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))


def _draw_coherence(axes: Axes, study: Result) -> None:
    """Median and quartiles along the runs."""
    for position, setting in enumerate(sweep(study, "hidden_count")):
        for place, at, late in _late_runs(study, setting, position):
            if len(late["coherence"]) < 2:
                continue
            low, middle, high = quantiles(late["coherence"], n=4, method="inclusive")
            axes.plot([at, at], [low, high], color=COLOURS[place])
            axes.plot(at, middle, marker=MARKERS[place], color=COLOURS[place], markersize=4, linestyle="none")
    axes.axhline(0, color=BLACK, linewidth=0.6)
    _name_settings(axes, study, "hidden_count")
    axes.set(title="coherence along runs", xlabel="hidden layers", ylabel=r"$\nu_t$", ylim=(None, 1))
    handles = [
        Line2D([], [], color=COLOURS[place], marker=MARKERS[place], markersize=4, label=f"$s={at}$")
        for place, at in enumerate(study["stalenesses"])
    ]
    axes.legend(handles=handles, loc="upper right", fontsize=7)


def _draw_rates(axes: Axes, study: Result) -> None:
    for name, look in RATES.items():
        rows = [row for row in study.records("rates") if row["problem"] == name]
        if not rows:
            raise ValueError(f"{study.path}: no rate on {name!r}")
        shares = [row["left"] / row["right"] for row in rows]
        axes.plot([row["staleness"] for row in rows], shares, marker=".", **look.line)
    axes.axhline(1, color=BLACK, linewidth=0.6)
    axes.annotate("bound", (0.02, 1), xycoords=("axes fraction", "data"), va="bottom", fontsize=7)
    axes.set(title="runs, as a share of the bound", xlabel="$s+1$", xscale="log", yscale="log", ylim=(0.001, 2))
    axes.xaxis.set(major_locator=FixedLocator([1, 4, 16]), major_formatter="{x:g}", minor_locator=NullLocator())
    axes.legend(loc="lower right", fontsize=6.5)


def _draw_limits(axes: Axes, study: Result) -> None:
    delays = sorted({row["delay"] for row in study.records("limits")} - {0})
    for momentum, look in MOMENTA.items():
        by_delay = {row["delay"]: row for row in study.records("limits") if row["momentum"] == momentum}
        rows = [by_delay[delay] for delay in delays]
        marked: dict[str, Any] = {"color": look.colour, "markersize": 4, "linestyle": "none"}
        axes.plot(delays, [row["stated"] for row in rows], color=look.colour)
        axes.plot(delays, [row["fixed"] for row in rows], "o", **marked)
        axes.plot(delays, [row["uniform"] for row in rows], "D", fillstyle="none", **marked)
        below: dict[str, Any] = {
            "xytext": (-2, -26),
            "textcoords": "offset points",
            "fontsize": 7,
            "color": look.colour,
        }
        axes.annotate(look.title, (delays[0], rows[0]["stated"]), **below)
    least = min(row["stated"] for row in study.records("limits"))
    axes.set(
        title="largest stable step", xlabel=r"mean delay $\tau$", ylabel=r"$\eta\lambda$", xscale="log", yscale="log"
    )
    axes.set_ylim(least / 12, 3)
    axes.xaxis.set(major_locator=FixedLocator(delays), major_formatter="{x:g}", minor_locator=NullLocator())
    grey: dict[str, Any] = {"color": GREY, "markersize": 4}
    handles = [
        Line2D([], [], label="stated, fixed delay", **grey),
        Line2D([], [], marker="o", linestyle="none", label="run, fixed delay", **grey),
        Line2D([], [], marker="D", fillstyle="none", linestyle="none", label="run, uniform delay", **grey),
    ]
    axes.legend(handles=handles, loc="lower left", fontsize=6.5)
