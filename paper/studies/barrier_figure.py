"""How far does DSSP let a worker get ahead, what does a planned barrier cost, and what does looking further ahead save?

Reads `dssp_leads.json` (left) and `planned_barriers.json` (middle, right).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator

from paper.results import Result, dssp_leads_result, planned_barriers_result
from paper.studies.barrier_facts import ALGEBRAIC, leads_of_pairs, span_rows, timing_rows
from paper.style import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, VERMILION, Look, new_figure

RULES = {
    "asynchronous": Look("never waits", GREY, (0, (1, 1))),
    "printed": Look("printed", VERMILION),
    "capped": Look("capped", BLUE),
}
"""How the rules of `dssp_leads.json` are drawn."""
PLANNERS = {
    "sweep": Look("sweep", BLUE),
    "printed sweep": Look("printed sweep", ORANGE, (0, (4, 1.5))),
    "scan": Look("scan", GREY, (0, (1, 1))),
}
"""How the planners of `planned_barriers.json` are drawn."""
SPAN_COLOURS = (GREEN, PURPLE, ORANGE)
"""By number of workers, ascending."""


def barriers(data_folder: Path) -> Figure:
    """Largest leads against the ratio of speeds; seconds of a plan against n; the spread against the look-ahead."""
    study, plans = dssp_leads_result(data_folder), planned_barriers_result(data_folder)
    figure = new_figure(2.7, profile=study["profile"])
    left, middle, right = figure.subplots(1, 3)
    _draw_leads(left, study)
    _draw_seconds(middle, plans)
    _draw_spans(right, plans)
    return figure


def _draw_leads(axes: Axes, study: Result) -> None:
    for place, horizon in enumerate(study["horizons"]):
        is_last = place + 1 == len(study["horizons"])
        for rule, look in RULES.items():
            if rule == "capped" and not is_last:
                continue
            ratios, leads = leads_of_pairs(study, rule, place)
            style = look.line if is_last else {**look.line, "label": None}
            axes.plot(ratios, leads, **style, linewidth=2.4 if rule == "asynchronous" else 1.0)
        _, leads = leads_of_pairs(study, "printed", place)
        _note(axes, f"{horizon:,} steps", (1, leads[-1]), "bottom", align="right", across="axes fraction", shift=(0, 3))
    axes.axhline(study["upper"], color=BLACK, linewidth=0.6, linestyle=(0, (4, 1.5)))
    _note(axes, f"$s_U={study['upper']}$", (1, study["upper"]), "bottom", align="right", across="axes fraction")
    axes.set(xscale="log", yscale="log", xlabel="ratio of speeds", ylabel="largest lead, steps", title="DSSP")
    axes.xaxis.set(major_locator=FixedLocator([1, 2, 4, 8, 16, 32, 64]), major_formatter="{x:g}")
    axes.xaxis.set_minor_locator(NullLocator())
    axes.legend(loc="lower right", fontsize=7)


def _draw_seconds(axes: Axes, study: Result) -> None:
    """The sweep at every look-ahead, the others at the longest."""
    for planner, look in PLANNERS.items():
        rows = timing_rows(study, planner)
        look_aheads = sorted({row["look_ahead"] for row in rows})
        longest = look_aheads[-1]
        for look_ahead in look_aheads if planner == "sweep" else [longest]:
            chosen = [row for row in rows if row["look_ahead"] == look_ahead]
            workers, seconds = ([row[name] for row in chosen] for name in ("workers", "wall_seconds"))
            style = look.line if look_ahead == longest else {**look.line, "label": None}
            axes.plot(workers, seconds, **style, marker="o", markersize=2.5)
            if planner == "sweep":
                _note(axes, f"$R={look_ahead}$", (workers[-1], seconds[-1]), "center", shift=(4, 0), colour=look.colour)
            elif planner == "scan":
                _note(axes, f"$R={look_ahead}$", (workers[-1], seconds[-1]), "bottom", align="right", shift=(-4, 0))
    axes.set(xscale="log", yscale="log", xlabel="workers $n$", ylabel="seconds of a plan", title="ZipLine: cost")
    axes.set_xlim(right=8 * max(row["workers"] for row in timing_rows(study, "sweep")))
    axes.legend(loc="lower right", fontsize=7, borderaxespad=0)


def _draw_spans(axes: Axes, study: Result) -> None:
    workers = sorted({row["workers"] for row in study.records("spans")})
    for count, colour in zip(workers, SPAN_COLOURS, strict=False):
        rows = span_rows(study, count, ALGEBRAIC)
        look_aheads = [row["look_ahead"] for row in rows]
        bounded = [row for row in rows if row["bound"] is not None]
        axes.plot(look_aheads, [row["spread"] for row in rows], "o-", color=colour, markersize=2.5)
        bounds = [row["bound"] for row in bounded]
        axes.plot([row["look_ahead"] for row in bounded], bounds, color=colour, linestyle=(0, (3, 2)), linewidth=0.9)
        _note(axes, f"$n={count}$", (look_aheads[-1], rows[-1]["spread"]), "center", shift=(3, 0), colour=colour)
    axes.set(xscale="log", yscale="log", xlabel="look-ahead $R$", title="ZipLine: gain")
    axes.set_ylabel(r"wait at the barrier, in $d_{\min}$")
    axes.set_xlim(right=5 * max(row["look_ahead"] for row in study.records("spans")))
    _note(axes, "dashed: bounds", (0.03, 0.03), "bottom", across="axes fraction", along="axes fraction")


def _note(
    axes: Axes,
    text: str,
    place: tuple[float, float],
    level: str,
    *,
    align: str = "left",
    across: str = "data",
    along: str = "data",
    shift: tuple[float, float] = (0, 0),
    colour: str = BLACK,
) -> None:
    options: dict[str, Any] = {"va": level, "ha": align, "fontsize": 7, "color": colour}
    axes.annotate(text, place, xycoords=(across, along), xytext=shift, textcoords="offset points", **options)
