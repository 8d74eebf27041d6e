"""How did the training runs end, and how many entries did each rule send on the way? Three tables.

Read from `convergence/` of the data folder, by condition and method; a method that has runs has a row.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, median, stdev

from paper import latex, rules
from paper.results import Result
from paper.studies.convergence_runs import (
    HUNDREDTH,
    MOMENTUM,
    RELEASED_SETTINGS,
    STANDARDISED,
    THOUSANDTH,
    Condition,
    accuracies,
    band_share,
    bytes_per_update,
    condition_results,
    paired_differences,
    relative_counts,
    trained_methods,
)

EXACT = ("dense", "top_k", "random_k")
"""Methods that send as many entries as they are asked for; the other tables than that of accuracies leave them out."""
CONDITIONS = {
    "unit pixels, density $0.001$": THOUSANDTH,
    "unit pixels, density $0.01$": HUNDREDTH,
    "standardised pixels, density $0.001$": STANDARDISED,
    "released settings, density $0.001$ after warm-up": RELEASED_SETTINGS,
}
"""Groups of rows of the table of counts, and the columns of that of accuracies."""


def accuracy_table(data_folder: Path) -> str:
    """A `tabular` with a line per method: final test accuracy in per cent, mean and range of the seeds."""
    lines = [
        _line(
            rules.named(method).title,
            [_mean_and_range(condition_results(data_folder, condition, method)) for condition in CONDITIONS.values()],
        )
        for method in trained_methods(data_folder, THOUSANDTH)
    ]
    pixels = _line("", ["unit pixels", "unit pixels", "standardised pixels", "released settings"])
    densities = _line("density", [latex.shortest(condition.density) for condition in CONDITIONS.values()])
    return _tabular("lllll", f"{pixels}{densities}", lines)


def count_table(data_folder: Path) -> str:
    """A `tabular` with a line per rule in each condition: differences to Top-k, share in range, counts, bytes."""
    threshold_rules = [name for name in trained_methods(data_folder, THOUSANDTH) if name not in EXACT]
    lines = []
    for place, (title, condition) in enumerate(CONDITIONS.items()):
        space = "\\addlinespace\n" if place else ""
        lines.append(f"{space}\\multicolumn{{8}}{{@{{}}l}}{{\\emph{{{title}}}}} \\\\\n")
        lines += [_line(rules.named(rule).title, _counts(data_folder, condition, rule)) for rule in threshold_rules]
    heads = (
        r"& \multicolumn{2}{c}{difference (points)} & in range & \multicolumn{3}{c}{count$/k$} & \\" + "\n"
        r"\cmidrule(lr){2-3}\cmidrule(lr){5-7}" + "\n"
        r"rule & \multicolumn{1}{c}{seeds} & mean & (\%) & min & median & max & bytes \\" + "\n"
    )
    return _tabular("lrrrrrrr", heads, lines)


def momentum_table(data_folder: Path) -> str:
    """A `tabular` with a line per rule: differences to Top-k with momentum, over the seeds."""
    references = condition_results(data_folder, MOMENTUM, "top_k")
    lines = []
    for rule in trained_methods(data_folder, MOMENTUM):
        if rule in EXACT:
            continue
        results = condition_results(data_folder, MOMENTUM, rule)
        points = paired_differences(results, references)
        spread = latex.decimal(stdev(points), 2) if len(points) > 1 else "undefined"
        extremes = [latex.signed(chosen, 2) for chosen in (min(points), max(points))]
        most = latex.decimal(max(relative_counts(results, "largest_selected_count")), 2)
        lines.append(_line(rules.named(rule).title, [latex.signed(fmean(points), 2), spread, *extremes, most]))
    heads = _line("rule", ["mean", "standard deviation", "smallest", "largest", "largest count$/k$"])
    return _tabular("lrrrrr", heads, lines)


def _counts(data_folder: Path, condition: Condition, rule: str) -> list[str]:
    results = condition_results(data_folder, condition, rule)
    points = paired_differences(results, condition_results(data_folder, condition, "top_k"))
    counts = (
        min(relative_counts(results, "smallest_selected_count")),
        median(relative_counts(results, "selected_count")),
        max(relative_counts(results, "largest_selected_count")),
    )
    return [
        ", ".join(latex.signed(point, 2) for point in points),
        latex.signed(fmean(points), 2),
        latex.percent(band_share(results)),
        *(latex.decimal(count, 2) for count in counts),
        latex.size(bytes_per_update(results)),
    ]


def _mean_and_range(results: Sequence[Result]) -> str:
    """`80.5 (79.8--81.2)`; the mean alone for a single seed."""
    shares = accuracies(results)
    mean = latex.decimal(fmean(shares), 1)
    if len(shares) == 1:
        return mean
    return f"{mean} ({latex.decimal(min(shares), 1)}--{latex.decimal(max(shares), 1)})"


def _line(first: str, cells: Sequence[str]) -> str:
    return f"{' & '.join([first, *cells])} \\\\\n"


def _tabular(columns: str, heads: str, lines: Sequence[str]) -> str:
    body = f"\\toprule\n{heads}\\midrule\n{''.join(lines)}\\bottomrule\n"
    return f"\\begin{{tabular}}{{@{{}}{columns}@{{}}}}\n{body}\\end{{tabular}}\n"
