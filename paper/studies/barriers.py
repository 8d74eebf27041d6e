"""How far does DSSP let a worker get ahead, what does a planned barrier cost, and what does looking further ahead save?

Reads `dssp_leads.json` and `planned_barriers.json`; a figure for each.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import linear_regression
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator

from paper import latex
from paper.results import Result, result
from paper.studies.study import Macro, Study
from paper.style import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, VERMILION, Look, half_figure, new_figure

PAIR = "pair"
"""The cluster of two workers of constant speeds."""
SHOWN_RATIO = 1.1
"""The ratio of speeds from which on the text compares leads."""
ALGEBRAIC = "algebraic"
"""The kind of intervals that are drawn, and whose exponents are stated."""
WORKER_WORDS = {2: "Two", 3: "Three", 4: "Four"}
"""Words of macro names to numbers of workers."""
FAMILY_WORDS = {"uniform": "Uniform", "tied": "Tied", "periodic": "Periodic"}
"""Words of macro names to families of small instances."""
PLANNER_WORDS = {"sweep": "Sweep", "printed sweep": "Printed", "scan": "Scan"}
"""Words of macro names to planners."""
CLUSTER_WORDS = {"exponential": "Exponential", "pareto": "Pareto"}
"""Words of macro names to clusters of workers whose speeds vary."""
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


def leads_of_pairs(study: Result, rule: str, place: int) -> tuple[list[float], list[int]]:
    """Ratios of speeds, ascending, and the largest lead of a rule until the horizon of this place."""
    rows = [row for row in study.records("runs") if (row["cluster"], row["rule"]) == (PAIR, rule)]
    if not rows:
        raise ValueError(f"{study.path}: no pair under the rule {rule!r}")
    pairs = sorted((row["ratio"], row["largest_lead"][place]) for row in rows)
    return [ratio for ratio, _ in pairs], [lead for _, lead in pairs]


def timing_rows(study: Result, planner: str) -> list[Result]:
    """The timings of a planner, ascending in the number of workers.

    Raises:
        ValueError: the study has none.
    """
    rows = [row for row in study.records("timings") if row["planner"] == planner]
    if not rows:
        raise ValueError(f"{study.path}: no timing of the planner {planner!r}")
    return sorted(rows, key=lambda row: (int(row["workers"]), int(row["look_ahead"])))


def span_rows(study: Result, workers: int, intervals: str) -> list[Result]:
    """The spreads of so many workers, ascending in the look-ahead."""
    rows = [row for row in study.records("spans") if (row["workers"], row["intervals"]) == (workers, intervals)]
    return sorted(rows, key=lambda row: int(row["look_ahead"]))


def capped_lead(data_folder: Path) -> int:
    """The largest lead under the capped rule, over all pairs and clusters, until the last horizon."""
    study = result(data_folder, "dssp_leads")
    return max(int(row["largest_lead"][-1]) for row in study.records("runs") if row["rule"] == "capped")


def printed_shares(data_folder: Path) -> dict[float, float]:
    """Lead under the printed rule over that of workers who never wait, until the last horizon, by ratio of speeds.

    Where workers who never wait get ahead at all.
    """
    study = result(data_folder, "dssp_leads")
    ratios, printed = leads_of_pairs(study, "printed", -1)
    _, free = leads_of_pairs(study, "asynchronous", -1)
    return {ratio: lead / most for ratio, lead, most in zip(ratios, printed, free, strict=True) if ratio > 1}


def cluster_lead(data_folder: Path, rule: str, cluster: str, place: int) -> int:
    """The largest lead of a rule in a cluster, over all its sizes and seeds, until the horizon of this place.

    Raises:
        ValueError: the study has no such run.
    """
    study = result(data_folder, "dssp_leads")
    rows = [row for row in study.records("runs") if (row["cluster"], row["rule"]) == (cluster, rule)]
    if not rows:
        raise ValueError(f"{study.path}: no cluster {cluster!r} under the rule {rule!r}")
    return max(int(row["largest_lead"][place]) for row in rows)


def agreement(data_folder: Path) -> tuple[int, int]:
    """How many small instances the sweep solved under every objective, and the printed one with its guard; of all."""
    rows = result(data_folder, "planned_barriers").records("small")
    solved = sum(min(*row["equal"].values(), row["printed_equal"]) for row in rows)
    return solved, sum(row["instances"] for row in rows)


def unguarded_share(data_folder: Path, family: str) -> float:
    """Share of the small instances of a family at which the printed sweep without its guard finds less than there is.

    Raises:
        ValueError: the study has no such family.
    """
    study = result(data_folder, "planned_barriers")
    rows = [row for row in study.records("small") if row["family"] == family]
    if not rows:
        raise ValueError(f"{study.path}: no family {family!r}")
    return float(rows[0]["unguarded_wrong"] / rows[0]["instances"])


def scan_ratio(data_folder: Path, planner: str) -> float:
    """Seconds of a planner over those of the sweep, at the largest size at which both were timed."""
    study = result(data_folder, "planned_barriers")
    slow = timing_rows(study, planner)[-1]
    size = (slow["workers"], slow["look_ahead"])
    (fast,) = (row for row in timing_rows(study, "sweep") if (row["workers"], row["look_ahead"]) == size)
    return float(slow["wall_seconds"] / fast["wall_seconds"])


def span_share(data_folder: Path, workers: int) -> float:
    """The largest spread over its bound, at so many workers of whatever speeds."""
    rows = result(data_folder, "planned_barriers").records("spans")
    return max(float(row["share_of_bound"]) for row in rows if row["workers"] == workers and row["share_of_bound"])


def span_exponent(data_folder: Path, workers: int) -> float:
    """The p of spread ∝ R^p at so many workers with algebraic intervals, by least squares of logarithms."""
    rows = span_rows(result(data_folder, "planned_barriers"), workers, ALGEBRAIC)
    look_aheads, spreads = ([math.log(row[name]) for row in rows] for name in ("look_ahead", "spread"))
    return linear_regression(look_aheads, spreads).slope


def dssp_leads(data_folder: Path) -> Figure:
    """Largest leads against the ratio of speeds."""
    study = result(data_folder, "dssp_leads")
    figure = half_figure(profile=study["profile"])
    _draw_leads(figure.subplots(), study)
    return figure


def planned_barriers(data_folder: Path) -> Figure:
    """Seconds of a plan against n; the spread against the look-ahead."""
    study = result(data_folder, "planned_barriers")
    figure = new_figure(2.5, profile=study["profile"])
    left, right = figure.subplots(1, 2)
    _draw_seconds(left, study)
    _draw_spans(right, study)
    return figure


def _printed_share(data_folder: Path, *, choose: Callable[[list[float]], float]) -> str:
    shares = [share for ratio, share in printed_shares(data_folder).items() if ratio >= SHOWN_RATIO]
    return latex.percent(choose(shares))


def _nearest(data_folder: Path, rule: str) -> tuple[float, int]:
    """The ratio of speeds nearest to one, but not one, and the largest lead there until the last horizon."""
    ratios, leads = leads_of_pairs(result(data_folder, "dssp_leads"), rule, -1)
    return min((ratio, lead) for ratio, lead in zip(ratios, leads, strict=True) if ratio > 1)


def _cluster_lead(data_folder: Path, *, rule: str, cluster: str, place: int) -> str:
    return latex.integer(cluster_lead(data_folder, rule, cluster, place))


def _unguarded(data_folder: Path, *, family: str) -> str:
    return latex.percent(unguarded_share(data_folder, family), 0)


def _span(data_folder: Path, *, measure: Callable[[Path, int], float], workers: int) -> str:
    return latex.decimal(measure(data_folder, workers), 2)


def _ratio_count(data_folder: Path) -> str:
    return latex.integer(len(leads_of_pairs(result(data_folder, "dssp_leads"), "printed", -1)[0]))


def _largest_timing(data_folder: Path, *, name: str) -> float:
    return float(timing_rows(result(data_folder, "planned_barriers"), "sweep")[-1][name])


def _scanned_workers(data_folder: Path) -> str:
    """The most workers that every planner was timed with."""
    study = result(data_folder, "planned_barriers")
    return latex.integer(min(int(timing_rows(study, planner)[-1]["workers"]) for planner in PLANNER_WORDS))


def _exponent(data_folder: Path, *, planner: str, size: str) -> str:
    return latex.decimal(result(data_folder, "planned_barriers")["wall_exponents"][planner][size], 2)


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
    axes.set(
        xscale="log", yscale="log", xlabel="ratio of speeds", ylabel="largest lead, steps", title="DSSP, two workers"
    )
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


MACROS: dict[str, Macro] = {
    "LeadLower": lambda folder: latex.integer(result(folder, "dssp_leads")["lower"]),
    "LeadUpper": lambda folder: latex.integer(result(folder, "dssp_leads")["upper"]),
    "LeadRatios": _ratio_count,
    "LeadFirstHorizon": lambda folder: latex.integer(result(folder, "dssp_leads")["horizons"][0]),
    "LeadLastHorizon": lambda folder: latex.integer(result(folder, "dssp_leads")["horizons"][-1]),
    "LeadCapped": lambda folder: latex.integer(capped_lead(folder)),
    "LeadShownRatio": lambda _folder: latex.shortest(SHOWN_RATIO),
    "LeadPrintedSmallestShare": partial(_printed_share, choose=min),
    "LeadPrintedLargestShare": partial(_printed_share, choose=max),
    "LeadPrintedLargest": lambda folder: latex.integer(
        max(leads_of_pairs(result(folder, "dssp_leads"), "printed", -1)[1])
    ),
    "LeadNearRatio": lambda folder: latex.shortest(_nearest(folder, "printed")[0]),
    "LeadNearPrinted": lambda folder: latex.integer(_nearest(folder, "printed")[1]),
    "LeadNearFree": lambda folder: latex.integer(_nearest(folder, "asynchronous")[1]),
    "LeadStated": lambda folder: latex.shortest(result(folder, "dssp_leads")["stated"]),
    **{
        f"Lead{word}{when}{name}": partial(_cluster_lead, rule=rule, cluster=cluster, place=place)
        for cluster, word in CLUSTER_WORDS.items()
        for place, when in ((0, "First"), (-1, "Last"))
        for rule, name in (("printed", "Printed"), ("asynchronous", "Free"))
    },
    "ZiplineSolved": lambda folder: latex.integer(agreement(folder)[0]),
    "ZiplineInstances": lambda folder: latex.integer(agreement(folder)[1]),
    **{f"ZiplineUnguarded{word}": partial(_unguarded, family=family) for family, word in FAMILY_WORDS.items()},
    "ZiplineWorkers": lambda folder: latex.integer(int(_largest_timing(folder, name="workers"))),
    "ZiplineLookAhead": lambda folder: latex.integer(int(_largest_timing(folder, name="look_ahead"))),
    "ZiplineMilliseconds": lambda folder: latex.decimal(1e3 * _largest_timing(folder, name="wall_seconds"), 0),
    **{
        f"Zipline{word}{name}": partial(_exponent, planner=planner, size=size)
        for planner, word in PLANNER_WORDS.items()
        for size, name in (("workers", "WorkerExponent"), ("look_ahead", "LookAheadExponent"))
    },
    "ZiplineScannedWorkers": _scanned_workers,
    "ZiplinePrintedRatio": lambda folder: latex.decimal(scan_ratio(folder, "printed sweep"), 0),
    "ZiplineScanRatio": lambda folder: latex.decimal(scan_ratio(folder, "scan"), 0),
    **{
        f"ZiplineShare{word}": partial(_span, measure=span_share, workers=workers)
        for workers, word in WORKER_WORDS.items()
    },
    **{
        f"ZiplineExponent{word}": partial(_span, measure=span_exponent, workers=workers)
        for workers, word in WORKER_WORDS.items()
    },
}

STUDY = Study(
    macros=MACROS,
    figures={"dssp_leads": dssp_leads, "planned_barriers": planned_barriers},
    results=("dssp_leads", "planned_barriers"),
    apart={name: (name,) for name in ("dssp_leads", "planned_barriers")},
)
