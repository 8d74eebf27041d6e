"""Which split of a line is best, and does the bound say so? Reads `budgets.json`.

Above: the error at the end for every synchronisation model and density, the line and the time being equal. Below: the
error along equal bytes per step against the prediction, and what workers keep back against the bound.
"""

from __future__ import annotations

from pathlib import Path
from statistics import fmean

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import NullLocator

from paper.results import Result, budgets_result
from paper.studies.budgets_facts import PROBLEMS, line_rows, mean_error, residual_bound
from paper.style import BLACK, BLUE, GREY, VERMILION, Look, new_figure

LOOKS = {
    "quadratic": Look("quadratic", BLUE),
    "network": Look("network", VERMILION, (0, (4, 1.5))),
}
_LIGHT = 0.6
"""Cells above this share of the colour scale get dark figures."""


def budgets(data_folder: Path) -> Figure:
    """The grid of errors by problem, the lines of equal bytes per step, and the residuals."""
    study = budgets_result(data_folder)
    figure = new_figure(5.2, profile=study["profile"])
    upper, (left, right) = figure.subplots(2, len(PROBLEMS), height_ratios=(3, 2.1))
    for axes, problem in zip(upper, PROBLEMS, strict=True):
        _draw_grid(axes, study, problem)
    _draw_lines(left, study)
    _draw_residuals(right, study)
    return figure


def _draw_grid(axes: Axes, study: Result, problem: str) -> None:
    cells = [cell for cell in study.records("cells") if cell["problem"] == problem]
    rules = list(dict.fromkeys(cell["rule"] for cell in cells))
    densities = sorted({cell["density"] for cell in cells})
    errors = np.empty((len(rules), len(densities)))
    for cell in cells:
        errors[rules.index(cell["rule"]), densities.index(cell["density"])] = mean_error(cell)
    norm = LogNorm(errors.min(), errors.max())
    axes.imshow(errors, norm=norm, cmap="viridis", aspect="auto")
    digits = 2 if errors.max() < 1 else 0
    for (row, column), error in np.ndenumerate(errors):
        colour = BLACK if norm(error) > _LIGHT else "white"
        axes.text(column, row, f"{error:.{digits}f}", ha="center", va="center", fontsize=7, color=colour)
    agreement = study.record("agreement").record(problem)
    for name, dash in (("best", "-"), ("predicted_best", ":")):
        rule, density = agreement[name]
        corner = densities.index(density) - 0.5, rules.index(rule) - 0.5
        axes.add_patch(Rectangle(corner, 1, 1, fill=False, edgecolor=VERMILION, linewidth=2, linestyle=dash, zorder=3))
    axes.grid(visible=False)
    axes.set_xticks(range(len(densities)), [f"{density:g}" for density in densities])
    axes.set_yticks(range(len(rules)), rules)
    axes.set(title=f"{PROBLEMS[problem]}: error at the end", xlabel=r"density $\kappa$")


def _draw_lines(axes: Axes, study: Result) -> None:
    rows = line_rows(study, "quadratic")
    periods = [row["period"] for row in rows]
    for problem, look in LOOKS.items():
        errors = [mean_error(row) for row in line_rows(study, problem)]
        axes.plot(periods, [error / errors[0] for error in errors], **look.line, marker="o", markersize=3)
        _name_end(axes, periods[-1], errors[-1] / errors[0], look.title)
    bounds = [row["perturbation"] / rows[0]["perturbation"] for row in rows]
    axes.plot(periods, bounds, color=BLACK, linestyle=":")
    _name_end(axes, periods[-1], bounds[-1], "bound $P$")
    axes.set_xscale("log", base=2)
    axes.set_xlim(right=periods[-1] * 2.6)
    axes.set_xticks(periods, [f"{period}\n{row['density']:.3g}" for period, row in zip(periods, rows, strict=True)])
    axes.set(xlabel=r"period $H$ and density $\kappa$, $\kappa/H$ alike", ylabel="error relative to $H=1$")


def _name_end(axes: Axes, place: float, value: float, name: str) -> None:
    """A curve's name, right of its last point."""
    axes.annotate(name, (place, value), xytext=(5, 0), textcoords="offset points", va="center", fontsize=7)


def _draw_residuals(axes: Axes, study: Result) -> None:
    cells = [cell for cell in study.records("cells") if cell["rule"] == "bsp" and cell["density"] < 1]
    for problem, look in LOOKS.items():
        own = sorted((cell for cell in cells if cell["problem"] == problem), key=lambda cell: float(cell["density"]))
        axes.plot(
            [cell["density"] for cell in own],
            [cell["residual_steps"] for cell in own],
            **look.line,
            marker="o",
            markersize=3,
        )
    densities = sorted({float(cell["density"]) for cell in cells})
    axes.plot(densities, [residual_bound(density) for density in densities], color=BLACK, linestyle=":", label="bound")
    rounds = fmean(float(cell["steps_per_worker"]) for cell in cells if cell["density"] == densities[0])
    axes.axhline(rounds, color=GREY, linewidth=0.6)
    axes.annotate("all steps of the run", (0.02, rounds), xycoords=("axes fraction", "data"), va="bottom", fontsize=7)
    axes.set(xlabel=r"density $\kappa$, BSP", ylabel="kept back, in steps", xscale="log", yscale="log")
    axes.xaxis.set_minor_locator(NullLocator())
    axes.legend(loc="upper right", fontsize=7)
