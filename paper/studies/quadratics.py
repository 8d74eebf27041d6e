"""How near do real runs come to the tight rate of error feedback? The slack per step, on quadratics.

Reads `quadratics.json`. Drawn is 1 − factor, the share by which the Lyapunov function shrinks in a step, so that slow
and fast rates both show: the theorem's, that of Top-k's slowest step, and the mean over the slowest run.
"""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from paper import latex
from paper.results import Result, result
from paper.rules import METHODS
from paper.studies.study import Study
from paper.style import BLACK, Look, legend_below, new_figure

TIGHT = Look("tight worst case", BLACK)


def smallest_slack(data_folder: Path, selector: str) -> float:
    """Smallest (1 − factor)/(1 − ρ) − 1 over the cases of the study `quadratics`: how near a step came to the rate."""
    cases = [case for case in result(data_folder, "quadratics").records("cases") if case["selector"] == selector]
    return float(min((1 - case["largest_factor"]) / (1 - case["tight_rate"]) for case in cases) - 1)


def tight_rate(data_folder: Path) -> Figure:
    """Shrinkage per step against the number of coordinates sent: the theorem, and the slowest step of real runs."""
    study = result(data_folder, "quadratics")
    figure = new_figure(2.6, profile=study["profile"])
    cases = study.records("cases")
    conditions = sorted({case["condition_number"] for case in cases})
    panels = figure.subplots(1, len(conditions), sharey=True, squeeze=False)[0]
    for axes, condition in zip(panels, conditions, strict=True):
        chosen = [case for case in cases if case["condition_number"] == condition]
        by_selector = {name: [case for case in chosen if case["selector"] == name] for name in ("top_k", "random_k")}
        top_k, random_k = METHODS["top_k"], METHODS["random_k"]
        axes.plot(*_shrinkage(by_selector["top_k"], "tight_rate"), **TIGHT.line)
        worst = _shrinkage(by_selector["top_k"], "largest_factor")
        axes.plot(*worst, "o", color=top_k.colour, markersize=3, label=f"{top_k.title}, slowest step")
        # Nearly the same: one marker is drawn around the other.
        for name, look, marker, size in (("top_k", top_k, "D", 6), ("random_k", random_k, "x", 4)):
            mean = _shrinkage(by_selector[name], "mean_factor")
            label = f"{look.title}, mean of a run"
            axes.plot(*mean, marker, color=look.colour, markersize=size, fillstyle="none", label=label)
        axes.set(xscale="log", yscale="log", xlabel=f"$k$ of {study['dimension']}", title=f"$L/\\mu = {condition:g}$")
    panels[0].set_ylabel("shrinkage per step")
    legend_below(figure, panels[0], columns=4)
    return figure


def _shrinkage(cases: list[Result], name: str) -> tuple[list[int], list[float]]:
    """Counts and 1 − factor."""
    return [case["target_count"] for case in cases], [1 - case[name] for case in cases]


STUDY = Study(
    macros={"QuadraticSlack": lambda folder: latex.decimal(100 * smallest_slack(folder, "top_k"), 1)},
    figures={"tight_rate": tight_rate},
    results=("quadratics",),
)
