"""What does it cost to let activations tell less, and what does distance correlation say of that? The study `split`.

A method's frontier is the best accuracy that it reaches where a decoder may read no more than a given share of the
held-out inputs' variance; its area is the mean of that over all shares from 0 to 1, where who sends nothing guesses one
of ten classes. Areas, and what Top-k reads, are compared seed by seed. One figure: the frontiers, and the square of the
biased distance correlation of independent samples beside the theorem.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from statistics import fmean

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper import latex
from paper.comparisons import difference_cell, difference_phrase, tally
from paper.results import Result, result
from paper.studies.study import Macro, Study
from paper.style import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILION, Look, new_figure
from sparsync.verify.tools.intervals import Estimate, mean, paired_difference

NONE = "none"
METHODS: dict[str, Look] = {
    "biased": Look("penalty, biased", VERMILION, (0, (5, 1, 1, 1))),
    "corrected": Look("penalty, corrected", GREEN, (0, (3, 2))),
    "noise": Look("uniform noise", GREY, (0, (1, 1))),
    "top_k": Look("Top-$k$ at the cut", BLUE),
}
"""How each is drawn."""
TITLES = {
    NONE: "unprotected",
    "biased": "biased, weight",
    "corrected": "corrected, weight",
    "noise": r"noise, $\pm$",
    "top_k": r"Top-$k$, $\kappa=$",
}
GUESS = 0.1
"""Accuracy of who sends nothing: there are ten classes."""
_WIDTHS = (BLACK, ORANGE, PURPLE, SKY)
_MARKERS = ("o", "s", "^", "D")
_EXAMPLES = 128
"""NoPeek's batch, as its public code has it."""


def frontier_area(points: Sequence[tuple[float, float]], least: float = 0.0) -> float:
    """The mean over all shares s in [least, 1] of the best accuracy among points (accuracy, share read) with at most s.

    What a decoder reads below zero counts as zero.

    Raises:
        ValueError: `least` is not in [0, 1).
    """
    if not 0 <= least < 1:
        raise ValueError(f"least must lie in [0, 1), got {least}")
    ordered = sorted((max(share, 0.0), accuracy) for accuracy, share in points)
    area, best, last = 0.0, GUESS, least
    for share, accuracy in ordered:
        here = min(max(share, least), 1.0)
        area, last = area + best * (here - last), here
        best = max(best, accuracy)
    return (area + best * (1 - last)) / (1 - least)


def of_method(study: Result, method: str) -> list[Result]:
    """Its runs in the order of the file, that without protection first; without those that diverged.

    Raises:
        ValueError: the study has none.
    """
    found = [run for run in study.records("runs") if run["method"] in (NONE, method)]
    if not any(run["method"] == method for run in found):
        raise ValueError(f"{study.path}: no run of {method!r}")
    return [run for run in found if None not in run["accuracy"]]


def areas(study: Result, method: str) -> list[float]:
    """The area of a method's frontier for every seed."""
    return [frontier_area(points) for points in _points(study, method)]


def _points(study: Result, method: str) -> list[list[tuple[float, float]]]:
    """Accuracy and share read of every strength of a method, seed by seed."""
    runs = of_method(study, method)
    return [
        [(run["accuracy"][place], run["explained_share"][place]) for run in runs]
        for place in range(len(study["seeds"]))
    ]


def area_difference(data_folder: Path, first: str, second: str) -> Estimate:
    """By how many points of mean accuracy the first method's frontier lies above the second's, where there are both.

    Below the least share that both methods reach, one of them has nothing to show but a guess.
    """
    study = result(data_folder, "split")
    found: list[list[float]] = [[], []]
    for both in zip(_points(study, first), _points(study, second), strict=True):
        least = max(min(max(share, 0.0) for _, share in points) for points in both)
        for areas_of, points in zip(found, both, strict=True):
            areas_of.append(100 * frontier_area(points, least))
    return paired_difference(*found)


def against_none(data_folder: Path, method: str, field: str) -> list[Estimate]:
    """Of each strength: by how much a field of the runs exceeds that without protection, in hundredths."""
    whole, *runs = of_method(result(data_folder, "split"), method)
    return [
        paired_difference([100 * value for value in run[field]], [100 * value for value in whole[field]])
        for run in runs
    ]


def split_frontier(data_folder: Path) -> Figure:
    """Left: accuracy against what a decoder reads. Right: the biased form of independent samples, with the theorem."""
    study = result(data_folder, "split")
    figure = new_figure(3.4, profile=study["profile"])
    left, right = figure.subplots(1, 2)
    _draw_frontiers(study, left)
    _draw_bias(study, right)
    return figure


def _draw_frontiers(study: Result, axes: Axes) -> None:
    for method, look in METHODS.items():
        runs = of_method(study, method)
        shares, accuracies = ([fmean(run[field]) for run in runs] for field in ("explained_share", "accuracy"))
        axes.plot(shares, accuracies, marker=".", **look.line)
    whole = of_method(study, next(iter(METHODS)))[0]
    axes.plot([fmean(whole["explained_share"])], [fmean(whole["accuracy"])], "*", color=BLACK, label="unprotected")
    axes.set(xlabel="share of the inputs' variance that is read", ylabel="accuracy")
    _legend_below(axes)


def _draw_bias(study: Result, axes: Axes) -> None:
    kinds = sorted({tuple(each["widths"]) for each in study["independent"]})
    for widths, colour, marker in zip(kinds, _WIDTHS, _MARKERS, strict=False):
        found = [each for each in study.records("independent") if tuple(each["widths"]) == widths]
        counts = [each["example_count"] for each in found]
        axes.plot(counts, [fmean(each["paired_square"]) for each in found], color=colour, linewidth=0.9)
        measured = [fmean(each["biased_square"]) for each in found]
        axes.plot(counts, measured, marker, color=colour, markersize=4, label=f"widths {widths[0]} and {widths[1]}")
        corrected = [fmean(each["corrected"]) for each in found]
        axes.plot(counts, corrected, marker, color=colour, markersize=4, markerfacecolor="white")
    axes.set_xscale("log", base=2)
    axes.set(xlabel="examples $n$", ylabel="squared, of independent samples", ylim=(-0.1, 1.05))
    axes.xaxis.set_major_formatter("{x:g}")
    _legend_below(axes)


def _legend_below(axes: Axes) -> None:
    """Of this panel alone: the two show different things."""
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.22), ncols=2, columnspacing=1, handlelength=2.2)


def split_table(data_folder: Path) -> str:
    """Every method and strength: accuracy, what is read, both distance correlations, and bytes."""
    study = result(data_folder, "split")
    rows = []
    for run in study.records("runs"):
        name = TITLES[run["method"]]
        strength = "" if run["strength"] is None else f" {latex.shortest(run['strength'])}"
        if None in run["accuracy"]:
            rows.append(rf"{name}{strength} & \multicolumn{{5}}{{l}}{{diverged}} \\")
            continue
        cells = [
            latex.percent(fmean(run["accuracy"])),
            latex.percent(fmean(run["explained_share"])),
            *(latex.decimal(fmean(run[f"dcor_{bias}"]), 2) for bias in ("biased", "corrected")),
            latex.size(fmean(run["sent_bytes"])),
        ]
        rows.append(rf"{name}{strength} & {' & '.join(cells)} \\")
    head = r"& accuracy, \% & read, \% & biased & corrected & sent \\"
    body = "\n".join(rows)
    return f"\\begin{{tabular}}{{lrrrrr}}\n\\toprule\n{head}\n\\midrule\n{body}\n\\bottomrule\n\\end{{tabular}}\n"


def areas_table(data_folder: Path) -> str:
    """Every method: the area of its frontier, and how much above that without protection it lies."""
    study = result(data_folder, "split")
    base = [
        frontier_area([(run["accuracy"][place], run["explained_share"][place]) for run in _unprotected(study)])
        for place in range(len(study["seeds"]))
    ]
    rows = []
    for method, look in METHODS.items():
        found = areas(study, method)
        more = paired_difference([100 * area for area in found], [100 * area for area in base])
        rows.append(rf"{look.title} & {latex.percent(fmean(found))} & {difference_cell(more)} \\")
    head = r"& mean accuracy, \% & points above unprotected \\"
    body = "\n".join(rows)
    return f"\\begin{{tabular}}{{lrr}}\n\\toprule\n{head}\n\\midrule\n{body}\n\\bottomrule\n\\end{{tabular}}\n"


def _unprotected(study: Result) -> list[Result]:
    return [run for run in study.records("runs") if run["method"] == NONE]


def independent(study: Result, *, widest: bool) -> Result:
    """The draws of the widest or narrowest samples, of `_EXAMPLES` examples or the most that are fewer."""
    pairings = study.records("independent")
    widths = (max if widest else min)(tuple(each["widths"]) for each in pairings)
    fitting = [each for each in pairings if tuple(each["widths"]) == widths and each["example_count"] <= _EXAMPLES]
    return max(fitting, key=lambda each: int(each["example_count"]))


def largest_deviation(study: Result) -> float:
    """The largest distance of a mean measured square from the theorem's, over all kinds of independent samples."""
    return max(
        abs(fmean(each["biased_square"]) - fmean(each["paired_square"])) for each in study.records("independent")
    )


def _compared(data_folder: Path, *, first: str, second: str) -> str:
    return difference_phrase(area_difference(data_folder, first, second), unit="points")


def _tally(data_folder: Path, *, method: str, field: str) -> str:
    return tally(against_none(data_folder, method, field))


def _unprotected_mean(data_folder: Path, *, field: str, is_percent: bool) -> str:
    value = fmean(_unprotected(result(data_folder, "split"))[0][field])
    return latex.percent(value) if is_percent else latex.decimal(value, 2)


def _biased(data_folder: Path, *, widest: bool) -> str:
    return latex.decimal(fmean(independent(result(data_folder, "split"), widest=widest)["biased_square"]) ** 0.5, 3)


def _corrected(data_folder: Path) -> str:
    found: Estimate = mean(independent(result(data_folder, "split"), widest=True)["corrected"])
    return latex.decimal(found.value, 4)


def _widest(data_folder: Path) -> str:
    first, second = independent(result(data_folder, "split"), widest=True)["widths"]
    return f"{latex.integer(first)} and {latex.integer(second)}"


MACROS: dict[str, Macro] = {
    "SplitSeeds": lambda folder: latex.integer(len(result(folder, "split")["seeds"])),
    "SplitSteps": lambda folder: latex.integer(result(folder, "split")["settings"]["steps"]),
    "SplitAccuracy": partial(_unprotected_mean, field="accuracy", is_percent=True),
    "SplitRead": partial(_unprotected_mean, field="explained_share", is_percent=True),
    "SplitBiased": partial(_unprotected_mean, field="dcor_biased", is_percent=False),
    "SplitCorrected": partial(_unprotected_mean, field="dcor_corrected", is_percent=False),
    "SplitCorrectedAgainstBiased": partial(_compared, first="corrected", second="biased"),
    "SplitCorrectedAgainstNoise": partial(_compared, first="corrected", second="noise"),
    "SplitTopKAgainstNoise": partial(_compared, first="top_k", second="noise"),
    "SplitTopKAgainstCorrected": partial(_compared, first="top_k", second="corrected"),
    "SplitSendingLessReads": partial(_tally, method="top_k", field="explained_share"),
    "SplitSendingLessAccuracy": partial(_tally, method="top_k", field="accuracy"),
    "SplitIndependentExamples": lambda folder: latex.integer(
        independent(result(folder, "split"), widest=True)["example_count"]
    ),
    "SplitIndependentWidths": _widest,
    "SplitIndependentWide": partial(_biased, widest=True),
    "SplitIndependentNarrow": partial(_biased, widest=False),
    "SplitIndependentCorrected": _corrected,
    "SplitIndependentDeviation": lambda folder: latex.decimal(largest_deviation(result(folder, "split")), 3),
}
"""Numbers of the text."""

STUDY = Study(
    macros=MACROS,
    figures={"split_frontier": split_frontier},
    tables={"split.tex": split_table, "split_areas.tex": areas_table},
    results=("split",),
)
"""What the paper prints of it."""
