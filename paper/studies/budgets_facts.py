"""Which numbers does the study `budgets` give? The best splits, and how far the bounds agree with what was measured.

Read from `budgets.json`. Errors are f − min f of the quadratic, and the share of misclassified test examples.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from statistics import fmean

from paper import latex
from paper.results import Result, budgets_result
from sparsync.theory.statements import STATEMENTS

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
    cells = [one for one in budgets_result(data_folder).records("cells") if one["density"] < 1]
    return float(max(one["residual_steps"] / (one["period"] * residual_bound(one["density"])) for one in cells))


def at_an_edge(data_folder: Path) -> list[bool]:
    """Did each cell, and each point of a line, do best with the smallest or the largest of the step sizes tried?"""
    study = budgets_result(data_folder)
    ends = {problem: (min(tried), max(tried)) for problem, tried in study["step_sizes"].items()}
    rows = [*study.records("cells"), *study.records("lines")]
    return [row["step_size"] in ends[row["problem"]] for row in rows]


def _step_sizes(data_folder: Path) -> str:
    """How many were tried, from which to which; the same for all problems.

    Raises:
        ValueError: the problems tried different ones.
    """
    study = budgets_result(data_folder)
    tried = {tuple(sorted(sizes)) for sizes in study["step_sizes"].values()}
    if len(tried) != 1:
        raise ValueError(f"{study.path}: the problems tried different step sizes: {sorted(tried)}")
    (sizes,) = tried
    return f"{latex.integer(len(sizes))} step sizes from {latex.shortest(sizes[0])} to {latex.shortest(sizes[-1])}"


def line_ratio(data_folder: Path, problem: str) -> float:
    """The error with the longest period over that with the shortest, at equal bytes per step."""
    rows = line_rows(budgets_result(data_folder), problem)
    return mean_error(rows[-1]) / mean_error(rows[0])


def line_bound_ratio(data_folder: Path) -> float:
    """P with the longest period over P with the shortest, at equal bytes per step."""
    rows = line_rows(budgets_result(data_folder), "quadratic")
    return float(rows[-1]["perturbation"] / rows[0]["perturbation"])


def agreement_table(data_folder: Path) -> str:
    r"""A `tabular`: the rank correlation of the measured error with each predictor, a column per problem."""
    agreement = budgets_result(data_folder).record("agreement")
    lines = [
        " & ".join([words, *(latex.signed(agreement[problem][name], 2) for problem in PROBLEMS)])
        for name, words in PREDICTORS.items()
    ]
    head = " & ".join(["", *(title.lower() for title in PROBLEMS.values())])
    body = "".join(f"{line} \\\\\n" for line in lines)
    layout = "@{}lrr@{}"
    return f"\\begin{{tabular}}{{{layout}}}\n\\toprule\n{head} \\\\\n\\midrule\n{body}\\bottomrule\n\\end{{tabular}}\n"


def _split(problem: str, name: str) -> Callable[[Path], str]:
    def words(data_folder: Path) -> str:
        rule, density = budgets_result(data_folder).record("agreement")[problem][name]
        return f"{latex.escape(str(rule))} at density {latex.shortest(density)}"

    return words


def _error(problem: str, name: str) -> Callable[[Path], str]:
    def number(data_folder: Path) -> str:
        study = budgets_result(data_folder)
        rule, density = study.record("agreement")[problem][name]
        return latex.decimal(mean_error(cell(study, problem, rule, density)), 2)

    return number


def _correlation(problem: str, name: str) -> Callable[[Path], str]:
    return lambda folder: latex.signed(budgets_result(folder).record("agreement")[problem][name], 2)


def _line_ratio(problem: str) -> Callable[[Path], str]:
    return lambda folder: latex.decimal(line_ratio(folder, problem), 2)


BUDGETS_MACROS: dict[str, Callable[[Path], str]] = {
    "BudgetWorkers": lambda folder: latex.integer(budgets_result(folder)["worker_count"]),
    "BudgetSeconds": lambda folder: latex.shortest(budgets_result(folder)["simulated_seconds"]),
    "BudgetDenseSeconds": lambda folder: latex.shortest(budgets_result(folder)["dense_seconds"]),
    "BudgetStepSizes": _step_sizes,
    "BudgetEdgeCount": lambda folder: latex.integer(sum(at_an_edge(folder))),
    "BudgetSplitCount": lambda folder: latex.integer(len(at_an_edge(folder))),
    "BudgetSeeds": lambda folder: latex.integer(budgets_result(folder)["seed_count"]),
    "BudgetResidualRatio": lambda folder: latex.percent(largest_residual_ratio(folder), 0),
    "BudgetLineBound": lambda folder: latex.decimal(line_bound_ratio(folder), 2),
    **{
        f"Budget{word}{ending}": make(problem, name)
        for problem, word in PROBLEMS.items()
        for name, part in (("best", "Best"), ("predicted_best", "Predicted"))
        for ending, make in ((part, _split), (f"{part}Error", _error))
    },
    **{f"Budget{word}BoundRank": _correlation(problem, "energy_by_perturbation") for problem, word in PROBLEMS.items()},
    **{f"Budget{word}LineRatio": _line_ratio(problem) for problem, word in PROBLEMS.items()},
}
"""Every macro of this study by its name without the leading `\\sp`."""
