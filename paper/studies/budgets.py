"""Which split of a line is best, and does the bound say so? The study `budgets`.

Reads `budgets.json`. Errors are f − min f of the quadratic, and the share of misclassified test examples. In the
figure, above: the error at the end for every synchronisation model and density, the line and the time being equal;
below: the error along equal bytes per step against the prediction, and what workers keep back against the bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from statistics import fmean

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import NullLocator

from paper import latex
from paper.comparisons import ratio, ratio_phrase
from paper.results import Result, result
from paper.studies.study import Macro, Study
from paper.style import BLACK, BLUE, GREY, VERMILION, Look, new_figure
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.tools.intervals import Estimate, paired_difference

PROBLEMS = {"quadratic": "Quadratic", "network": "Network"}
"""Titles of the problems; words of the macros' names."""
PREDICTORS = {
    "perturbation": "$P$ of the statement",
    "energy_by_perturbation": "bound of the gradient with $P$",
    "observed": "$P$ as observed",
    "energy_by_observed": "bound of the gradient with $P$ as observed",
    "steps_per_worker": "number of steps",
}
"""Words of the table for what may tell the error of a cell."""
LOOKS = {
    "quadratic": Look("quadratic", BLUE),
    "network": Look("network", VERMILION, (0, (4, 1.5))),
}
_LIGHT = 0.6
"""Cells above this share of the colour scale get dark figures."""


def mean_error(cell: Result) -> float:
    """Over the seeds.

    Raises:
        ValueError: the cell has none.
    """
    if not cell["end_error"]:
        raise ValueError(f"{cell.path}: no error of {cell['rule']!r} at density {cell['density']}")
    return fmean(cell["end_error"])


def line_rows(study: Result, problem: str) -> list[Result]:
    """The longest line of equal bytes per step of a problem, by period; of equally long ones that of most bytes.

    Raises:
        ValueError: the study has none.
    """
    lines: dict[float, list[Result]] = {}
    for row in study.records("lines"):
        if row["problem"] == problem:
            lines.setdefault(round(row["density"] / row["period"], 12), []).append(row)
    if not lines:
        raise ValueError(f"{study.path}: no line of the problem {problem!r}")
    share = max(lines, key=lambda one: (len(lines[one]), one))
    return sorted(lines[share], key=lambda row: int(row["period"]))


def residual_bound(density: float) -> float:
    """√(1 − δ)/(1 − √(1 − δ)) with δ = k/d: how many steps' worth `additive_perturbation` lets a worker keep back."""
    numbers = {"step_size": 1, "second_moment": 1, "delay": 0, "local_count": 1, "delta": density}
    return math.sqrt(STATEMENTS["additive_perturbation"].evaluate(**numbers))


def cell(study: Result, problem: str, rule: str, density: float) -> Result:
    """A cell of the grid.

    Raises:
        ValueError: the study has no such cell.
    """
    for found in study.records("cells"):
        if (found["problem"], found["rule"], found["density"]) == (problem, rule, density):
            return found
    raise ValueError(f"{study.path}: no cell of {rule!r} at density {density} on the problem {problem!r}")


def largest_residual_ratio(data_folder: Path) -> float:
    """The most of the grid that workers keep back, in the mean of a run's later half, over what the bound allows."""
    cells = [one for one in result(data_folder, "budgets").records("cells") if one["density"] < 1]
    return float(max(one["residual_steps"] / (one["period"] * residual_bound(one["density"])) for one in cells))


def at_an_edge(data_folder: Path) -> list[bool]:
    """Did each cell, and each point of a line, do best with the smallest or the largest of the step sizes tried?"""
    study = result(data_folder, "budgets")
    ends = {problem: (min(tried), max(tried)) for problem, tried in study["step_sizes"].items()}
    rows = [*study.records("cells"), *study.records("lines")]
    return [row["step_size"] in ends[row["problem"]] for row in rows]


def line_ratio(data_folder: Path, problem: str) -> Estimate:
    """The logarithm of the error with the longest period over that with the shortest, at equal bytes per step."""
    rows = line_rows(result(data_folder, "budgets"), problem)
    return ratio(rows[-1]["end_error"], rows[0]["end_error"])


def predicted_ratio(data_folder: Path, problem: str) -> Estimate:
    """The logarithm of the error of the split that the bound picks over that of the best measured, seed by seed."""
    study = result(data_folder, "budgets")
    splits = study.record("agreement")[problem]
    picked, best = (cell(study, problem, *splits[name]) for name in ("predicted_best", "best"))
    return ratio(picked["end_error"], best["end_error"])


def rival_count(data_folder: Path, problem: str) -> tuple[int, int]:
    """How many other splits are not surely worse than the best, the interval holding zero, and how many there are."""
    study = result(data_folder, "budgets")
    best = study.record("agreement")[problem]["best"]
    least = cell(study, problem, *best)["end_error"]
    cells = (one for one in study.records("cells") if one["problem"] == problem)
    others = [one["end_error"] for one in cells if [one["rule"], one["density"]] != best]
    return sum(paired_difference(errors, least).holds_zero for errors in others), len(others)


def line_bound_ratio(data_folder: Path) -> float:
    """P with the longest period over P with the shortest, at equal bytes per step."""
    rows = line_rows(result(data_folder, "budgets"), "quadratic")
    return float(rows[-1]["perturbation"] / rows[0]["perturbation"])


def agreement_table(data_folder: Path) -> str:
    r"""A `tabular`: the rank correlation of the measured error with each predictor, a column per problem."""
    agreement = result(data_folder, "budgets").record("agreement")
    lines = [
        " & ".join([words, *(latex.signed(agreement[problem][name], 2) for problem in PROBLEMS)])
        for name, words in PREDICTORS.items()
    ]
    head = " & ".join(["", *(title.lower() for title in PROBLEMS.values())])
    body = "".join(f"{line} \\\\\n" for line in lines)
    layout = "@{}lrr@{}"
    return f"\\begin{{tabular}}{{{layout}}}\n\\toprule\n{head} \\\\\n\\midrule\n{body}\\bottomrule\n\\end{{tabular}}\n"


def budgets(data_folder: Path) -> Figure:
    """The grid of errors by problem."""
    study = result(data_folder, "budgets")
    figure = new_figure(2.9, profile=study["profile"])
    for axes, problem in zip(figure.subplots(1, len(PROBLEMS)), PROBLEMS, strict=True):
        _draw_grid(axes, study, problem)
    return figure


def equal_bytes(data_folder: Path) -> Figure:
    """The lines of equal bytes per step, and the residuals."""
    study = result(data_folder, "budgets")
    figure = new_figure(2.3, profile=study["profile"])
    left, right = figure.subplots(1, 2)
    _draw_lines(left, study)
    _draw_residuals(right, study)
    return figure


def _step_sizes(data_folder: Path) -> str:
    """How many were tried, from which to which; the same for all problems.

    Raises:
        ValueError: the problems tried different ones.
    """
    study = result(data_folder, "budgets")
    tried = {tuple(sorted(sizes)) for sizes in study["step_sizes"].values()}
    if len(tried) != 1:
        raise ValueError(f"{study.path}: the problems tried different step sizes: {sorted(tried)}")
    (sizes,) = tried
    return f"{latex.integer(len(sizes))} step sizes from {latex.shortest(sizes[0])} to {latex.shortest(sizes[-1])}"


def _split(problem: str, name: str) -> Callable[[Path], str]:
    def words(data_folder: Path) -> str:
        rule, density = result(data_folder, "budgets").record("agreement")[problem][name]
        return f"{latex.escape(str(rule))} at density {latex.shortest(density)}"

    return words


def _error(problem: str, name: str) -> Callable[[Path], str]:
    def number(data_folder: Path) -> str:
        study = result(data_folder, "budgets")
        rule, density = study.record("agreement")[problem][name]
        return latex.decimal(mean_error(cell(study, problem, rule, density)), 2)

    return number


def _correlation(problem: str, name: str) -> Callable[[Path], str]:
    return lambda folder: latex.signed(result(folder, "budgets").record("agreement")[problem][name], 2)


def _line_ratio(problem: str) -> Callable[[Path], str]:
    return lambda folder: ratio_phrase(line_ratio(folder, problem))


def _predicted_ratio(problem: str) -> Callable[[Path], str]:
    return lambda folder: ratio_phrase(predicted_ratio(folder, problem))


def _rivals(problem: str) -> Callable[[Path], str]:
    def words(data_folder: Path) -> str:
        count, total = rival_count(data_folder, problem)
        return f"{latex.integer(count)} of {latex.integer(total)}"

    return words


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


MACROS: dict[str, Macro] = {
    "BudgetWorkers": lambda folder: latex.integer(result(folder, "budgets")["worker_count"]),
    "BudgetSeconds": lambda folder: latex.shortest(result(folder, "budgets")["simulated_seconds"]),
    "BudgetDenseSeconds": lambda folder: latex.shortest(result(folder, "budgets")["dense_seconds"]),
    "BudgetStepSizes": _step_sizes,
    "BudgetEdgeCount": lambda folder: latex.integer(sum(at_an_edge(folder))),
    "BudgetSplitCount": lambda folder: latex.integer(len(at_an_edge(folder))),
    "BudgetSeeds": lambda folder: latex.integer(result(folder, "budgets")["seed_count"]),
    "BudgetResidualRatio": lambda folder: latex.percent(largest_residual_ratio(folder), 0),
    "BudgetLineBound": lambda folder: latex.decimal(line_bound_ratio(folder), 2),
    **{
        f"Budget{word}{ending}": make(problem, name)
        for problem, word in PROBLEMS.items()
        for name, part in (("best", "Best"), ("predicted_best", "Predicted"))
        for ending, make in ((part, _split), (f"{part}Error", _error))
    },
    **{f"Budget{word}BoundRank": _correlation(problem, "energy_by_perturbation") for problem, word in PROBLEMS.items()},
    **{
        f"Budget{word}{ending}": make(problem)
        for problem, word in PROBLEMS.items()
        for ending, make in (("LineRatio", _line_ratio), ("PredictedRatio", _predicted_ratio), ("Rivals", _rivals))
    },
}

STUDY = Study(
    macros=MACROS,
    figures={"budgets": budgets, "equal_bytes": equal_bytes},
    tables={"agreement.tex": agreement_table},
    results=("budgets",),
)
