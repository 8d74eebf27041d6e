"""How did the training runs end, and how many entries did each rule send on the way? Three tables.

Read from `convergence/` of the data folder, by condition and method; a method that has runs has a row. Accuracies are
compared with those of Top-k, paired over the seeds that both have; cells say how many runs diverged, if any did.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, median

from paper import latex, rules
from paper.comparisons import difference_cell
from paper.results import Result
from paper.studies.convergence.runs import (
    HUNDREDTH,
    MOMENTUM,
    RELEASED_SETTINGS,
    STANDARDISED,
    THOUSANDTH,
    Condition,
    accuracies,
    accuracy_difference,
    band_share,
    bytes_per_update,
    condition_results,
    diverged_count,
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
    """A `tabular` with a line per method: seeds, and final test accuracy in per cent, mean and range of the seeds."""
    lines = [_accuracy_line(data_folder, method) for method in trained_methods(data_folder, THOUSANDTH)]
    pixels = _line("", ["", "unit pixels", "unit pixels", "standardised pixels", "released settings"])
    densities = _line("density", ["seeds", *(latex.shortest(condition.density) for condition in CONDITIONS.values())])
    return _tabular("lrllll", f"{pixels}{densities}", lines)


def count_table(data_folder: Path) -> str:
    """A `tabular` with a line per rule in each condition: difference to Top-k, share in range, counts, bytes."""
    threshold_rules = [name for name in trained_methods(data_folder, THOUSANDTH) if name not in EXACT]
    lines = []
    for place, (title, condition) in enumerate(CONDITIONS.items()):
        space = "\\addlinespace\n" if place else ""
        lines.append(f"{space}\\multicolumn{{7}}{{@{{}}l}}{{\\emph{{{title}}}}} \\\\\n")
        lines += [_line(rules.named(rule).title, _counts(data_folder, condition, rule)) for rule in threshold_rules]
    heads = (
        r"& difference & in range & \multicolumn{3}{c}{count$/k$} & \\" + "\n"
        r"\cmidrule(lr){4-6}" + "\n"
        r"rule & (points) & (\%) & min & median & max & bytes \\" + "\n"
    )
    return _tabular("llrrrrr", heads, lines)


def momentum_table(data_folder: Path) -> str:
    """A `tabular` with a line per method: accuracy and difference to Top-k with momentum, over the seeds."""
    references = condition_results(data_folder, MOMENTUM, "top_k")
    lines = []
    for method in trained_methods(data_folder, MOMENTUM):
        results = condition_results(data_folder, MOMENTUM, method)
        difference = "" if method == "top_k" else difference_cell(accuracy_difference(results, references))
        most = "" if method in EXACT else latex.decimal(max(relative_counts(results, "largest_selected_count")), 2)
        cells = [latex.integer(len(results)), _mean_and_range(results), difference, most]
        lines.append(_line(rules.named(method).title, cells))
    heads = _line("", ["seeds", "accuracy (\\%)", "difference (points)", "largest count$/k$"])
    return _tabular("lrllr", heads, lines)


def _accuracy_line(data_folder: Path, method: str) -> str:
    by_condition = [condition_results(data_folder, condition, method) for condition in CONDITIONS.values()]
    seeds = ", ".join(map(latex.integer, dict.fromkeys(map(len, by_condition))))
    return _line(rules.named(method).title, [seeds, *map(_mean_and_range, by_condition)])


def _counts(data_folder: Path, condition: Condition, rule: str) -> list[str]:
    results = condition_results(data_folder, condition, rule)
    difference = accuracy_difference(results, condition_results(data_folder, condition, "top_k"))
    counts = (
        min(relative_counts(results, "smallest_selected_count")),
        median(relative_counts(results, "selected_count")),
        max(relative_counts(results, "largest_selected_count")),
    )
    return [
        f"{difference_cell(difference)}{_divergence(results)}",
        latex.percent(band_share(results)),
        *(latex.decimal(count, 2) for count in counts),
        latex.size(bytes_per_update(results)),
    ]


def _mean_and_range(results: Sequence[Result]) -> str:
    """`80.5 (79.8--81.2)`, and how many diverged; the mean alone for a single seed."""
    shares = accuracies(results)
    mean, note = latex.decimal(fmean(shares), 1), _divergence(results)
    if len(shares) == 1:
        return f"{mean}{note}"
    return f"{mean} ({latex.decimal(min(shares), 1)}--{latex.decimal(max(shares), 1)}){note}"


def _divergence(results: Sequence[Result]) -> str:
    """`, 1 of 3 diverged`; nothing where none did."""
    count = diverged_count(results)
    return f", {latex.integer(count)} of {latex.integer(len(results))} diverged" if count else ""


def _line(first: str, cells: Sequence[str]) -> str:
    return f"{' & '.join([first, *cells])} \\\\\n"


def _tabular(columns: str, heads: str, lines: Sequence[str]) -> str:
    body = f"\\toprule\n{heads}\\midrule\n{''.join(lines)}\\bottomrule\n"
    return f"\\begin{{tabular}}{{@{{}}{columns}@{{}}}}\n{body}\\end{{tabular}}\n"
