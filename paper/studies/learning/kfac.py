"""Does K-FAC get there sooner, and what does sending less cost it? The study `kfac`: its figure, table and macros.

Contestants are paired by seed. Who did not reach the target on every seed has no mean number of steps: a text says on
how many seeds it did, and a comparison with it is left open.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import fmean

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper import latex
from paper.comparisons import difference_cell, difference_phrase, mean_phrase, ratio, ratio_phrase, tally
from paper.results import Result, result
from paper.studies.study import Macro, Study
from paper.style import BLACK, BLUE, GREY, ORANGE, VERMILION, Look, new_figure
from sparsync.verify.tools.intervals import Estimate, mean, paired_difference

METHODS = {"kfac": Look("K-FAC", VERMILION), "sgd": Look("momentum", BLUE, "--"), "adamw": Look("AdamW", ORANGE, ":")}
MODELS = {"resnet20": "ResNet-20", "conv3": "three convolutions"}
FEEDBACKS = {"ef14": "EF14", "ef21": "EF21"}
NOT_MEASURED, DIVERGED = "not measured", "left open, as one diverged"
SCHEMES = ("everyone", "owners")


def runs_of(data_folder: Path) -> dict[str, Result]:
    """The contestants by name, in the order of the study."""
    return {str(run["name"]): run for run in result(data_folder, "kfac").records("runs")}


def title(study: Result, run: Result) -> str:
    """How a contestant is called, in LaTeX that matplotlib reads too."""
    settings, name = run.record("settings"), METHODS[str(run["method"])].title
    if settings["density"] < 1:
        return f"{name}, $\\kappa={settings['density']:g}$"
    if settings["factor_density"] < 1:
        feedback = FEEDBACKS[str(run["name"]).rpartition(", ")[2]]
        return f"{name}, factors $\\kappa={settings['factor_density']:g}$, {feedback}"
    if settings["decomposition_period"] != study["decomposition_period"]:
        return f"{name}, $q={settings['decomposition_period']}$"
    return name


def steps(run: Result) -> list[int] | None:
    """Steps to the target on each seed; None if one did not reach it."""
    found: list[int | None] = run["steps_to_target"]
    return None if None in found else [count for count in found if count is not None]


def accuracy_difference(run: Result, other: Result) -> Estimate | None:
    """Points of test accuracy at the end, run less other; None if one diverged."""
    if None in run["test_accuracy"] or None in other["test_accuracy"]:
        return None
    return paired_difference(*([100 * value for value in one["test_accuracy"]] for one in (run, other)))


def reached(run: Result) -> str:
    """`on 3 of 5 seeds`, for who did not always reach the target."""
    found = run["steps_to_target"]
    return f"on {sum(count is not None for count in found)} of {len(found)} seeds"


def steps_phrase(run: Result) -> str:
    """The mean number of steps with its interval, or on how many seeds the target was reached."""
    found = steps(run)
    return f"reached {reached(run)}" if found is None else mean_phrase(mean(found), digits=0)


def compared_steps(first: Result, second: Result) -> str:
    """Steps of the first over those of the second."""
    return _factor(steps(first), steps(second), first, second)


def compared_seconds(study: Result, first: Result, second: Result) -> str:
    """The same of seconds: steps times the mean seconds of a step, where that was measured."""
    rounds = study["step_seconds"]
    if rounds is None:
        return NOT_MEASURED
    one, other = (
        None if (found := steps(run)) is None else [count * fmean(rounds[run["name"]]) for count in found]
        for run in (first, second)
    )
    return _factor(one, other, first, second)


def _factor(first: Sequence[float] | None, second: Sequence[float] | None, run: Result, other: Result) -> str:
    if first is None or second is None:
        late = [one for one in (run, other) if steps(one) is None]
        said = [f"{METHODS[str(one['method'])].title} got there {reached(one)}" for one in late]
        return f"left open, as {' and '.join(said)}"
    return ratio_phrase(ratio(first, second))


def step_cost(study: Result, method: str, other: str) -> str:
    """Seconds of a step over those of another method's, round by round."""
    rounds = study["step_seconds"]
    return NOT_MEASURED if rounds is None else ratio_phrase(ratio(rounds[method], rounds[other]))


def kfac_figure(data_folder: Path) -> Figure:
    """Accuracy against steps for the three methods, and the steps to the target of all contestants."""
    study, runs = result(data_folder, "kfac"), runs_of(data_folder)
    figure = new_figure(3.4, profile=study["profile"])
    curves, places = figure.subplots(1, 2, width_ratios=(1.0, 1.05))
    _draw_curves(curves, study, runs)
    _draw_steps(places, study, runs)
    return figure


def _draw_curves(axes: Axes, study: Result, runs: dict[str, Result]) -> None:
    """The mean of the seeds; one that diverged counts as none from there on."""
    for method, look in METHODS.items():
        found = [values for values in runs[method]["accuracies"] if None not in values]
        for values in found:
            axes.plot(study["step_counts"], [100 * value for value in values], color=look.colour, lw=0.4, alpha=0.45)
        if found:
            middle = [100 * fmean(column) for column in zip(*found, strict=True)]
            axes.plot(study["step_counts"], middle, **look.line)
    axes.axhline(100 * study["target"], color=GREY, lw=0.7)
    axes.set(xlabel="steps", ylabel="test accuracy in %")
    axes.legend(loc="lower right")


def _draw_steps(axes: Axes, study: Result, runs: dict[str, Result]) -> None:
    """A row for each contestant: seeds as dots, the mean with its interval where all reached the target."""
    ordered = list(runs.values())
    for row, run in enumerate(ordered):
        colour = METHODS[str(run["method"])].colour
        there = [count for count in run["steps_to_target"] if count is not None]
        axes.plot(there, [row] * len(there), "o", color=colour, ms=2.2, alpha=0.5, mew=0)
        if len(there) == len(run["steps_to_target"]) > 1:
            _draw_mean(axes, mean(there), row, colour)
        elif len(there) < len(run["steps_to_target"]):
            axes.annotate(
                f"{len(there)}/{len(run['steps_to_target'])}",
                (1.0, row),
                xycoords=("axes fraction", "data"),
                ha="right",
                va="center",
                fontsize=7,
            )
    axes.set_yticks(range(len(ordered)), [title(study, run) for run in ordered])
    axes.set_ylim(len(ordered) - 0.4, -0.6)
    axes.set(xlabel=f"steps to {100 * study['target']:g} %", xlim=(0, 1.15 * study["steps"]))
    axes.grid(visible=False, axis="y")


def _draw_mean(axes: Axes, found: Estimate, row: int, colour: str) -> None:
    axes.plot([max(found.low, 0.0), found.high], [row, row], color=colour, lw=1.0)
    axes.plot([found.value], [row], "D", color=colour, ms=4.0, mec=BLACK, mew=0.4)


def kfac_table(data_folder: Path) -> str:
    r"""A `tabular`: of each contestant the steps, the accuracy against K-FAC's, and the bytes of a step."""
    study, runs = result(data_folder, "kfac"), runs_of(data_folder)
    body = ""
    for run in runs.values():
        found = steps(run)
        count = reached(run) if found is None else mean_phrase(mean(found), digits=0)
        difference = accuracy_difference(run, runs["kfac"])
        gained = "diverged" if difference is None else difference_cell(difference, digits=1)
        gained = "--" if run["name"] == "kfac" else gained
        sent = "--" if run["sent_bytes"] is None else latex.size(run["sent_bytes"])
        body += " & ".join([title(study, run), count, gained, sent]) + " \\\\\n"
    head = "& steps & points & a step \\\\\n"
    return f"\\begin{{tabular}}{{@{{}}lrrr@{{}}}}\n\\toprule\n{head}\\midrule\n{body}\\bottomrule\n\\end{{tabular}}\n"


def largest_byte_difference(data_folder: Path) -> float:
    """Bytes of a step by which a scheme's count differs most from its statement with headers."""
    schemes = result(data_folder, "kfac").records("schemes")
    return float(max(abs(one["measured"] - one["headers"] - one["stated"]) for one in schemes))


def crossover(data_folder: Path) -> float:
    """The period between decompositions at which both schemes send as much, of the largest shares of the network."""
    study = result(data_folder, "kfac")
    everyone, owners = (_scheme(study, name)["by_subject"] for name in SCHEMES)
    return float(everyone["decompositions"] * study["decomposition_period"] / owners["preconditioned"])


def _scheme(study: Result, name: str) -> Result:
    (found,) = [one for one in study.records("schemes") if one["scheme"] == name]
    return found


def _changed(
    data_folder: Path, prefix: str, base: str = "kfac", *, more: str = "more accurate", less: str = "less accurate"
) -> str:
    """What the intervals say of the accuracies of all contestants whose names begin so, against the base."""
    runs = runs_of(data_folder)
    differences = [accuracy_difference(run, runs[base]) for name, run in runs.items() if name.startswith(prefix)]
    known = [difference for difference in differences if difference is not None]
    words = [tally(known, more=more, less=less)] if known else []
    if len(known) < len(differences):
        ends = [value for name, run in runs.items() if name.startswith(prefix) for value in run["test_accuracy"]]
        runs_in_words = f"{latex.integer(ends.count(None))} of {latex.integer(len(ends))} runs"
        words += [f"left open in {latex.integer(len(differences) - len(known))}, as {runs_in_words} diverged"]
    return ", ".join(words)


def _steps_macro(name: str) -> Macro:
    return lambda folder: steps_phrase(runs_of(folder)[name])


def _against(compare: Callable[[Result, Result], str], other: str) -> Macro:
    return lambda folder: compare(runs_of(folder)["kfac"], runs_of(folder)[other])


def _seconds_against(data_folder: Path, *, other: str) -> str:
    runs = runs_of(data_folder)
    return compared_seconds(result(data_folder, "kfac"), runs["kfac"], runs[other])


def _accuracy_against(data_folder: Path, *, other: str) -> str:
    runs = runs_of(data_folder)
    difference = accuracy_difference(runs["kfac"], runs[other])
    return _points(difference)


def _feedback_difference(data_folder: Path) -> str:
    """EF21 of factors less EF14, at the smallest density."""
    runs, density = runs_of(data_folder), min(result(data_folder, "kfac")["densities"])
    first, second = (runs[f"factors {density:g}, {feedback}"] for feedback in ("ef21", "ef14"))
    return _points(accuracy_difference(first, second))


def _points(difference: Estimate | None) -> str:
    return DIVERGED if difference is None else difference_phrase(difference, unit="points", digits=1)


MACROS: dict[str, Macro] = {
    "KfacNetwork": lambda folder: MODELS[str(result(folder, "kfac")["model"])],
    "KfacWorkers": lambda folder: latex.integer(result(folder, "kfac")["worker_count"]),
    "KfacBatch": lambda folder: latex.integer(result(folder, "kfac")["batch_size"]),
    "KfacStepCount": lambda folder: latex.integer(result(folder, "kfac")["steps"]),
    "KfacEvery": lambda folder: latex.integer(result(folder, "kfac")["step_counts"][0]),
    "KfacTarget": lambda folder: latex.percent(result(folder, "kfac")["target"], 0),
    "KfacSeeds": lambda folder: latex.integer(len(result(folder, "kfac")["seeds"])),
    "KfacFactorPeriod": lambda folder: latex.integer(result(folder, "kfac")["factor_period"]),
    "KfacPeriod": lambda folder: latex.integer(result(folder, "kfac")["decomposition_period"]),
    "KfacTried": lambda folder: latex.integer(
        max(len(one["tried"]) for one in result(folder, "kfac").records("tuning"))
    ),
    "KfacAtEdge": lambda folder: latex.integer(
        sum(bool(one["is_at_edge"]) for one in result(folder, "kfac").records("tuning"))
    ),
    "KfacSteps": _steps_macro("kfac"),
    "KfacSgdSteps": _steps_macro("sgd"),
    "KfacAdamSteps": _steps_macro("adamw"),
    "KfacStepsOverSgd": _against(compared_steps, "sgd"),
    "KfacStepsOverAdam": _against(compared_steps, "adamw"),
    "KfacCostOverSgd": lambda folder: step_cost(result(folder, "kfac"), "kfac", "sgd"),
    "KfacCostOverAdam": lambda folder: step_cost(result(folder, "kfac"), "kfac", "adamw"),
    "KfacSecondsOverSgd": partial(_seconds_against, other="sgd"),
    "KfacSecondsOverAdam": partial(_seconds_against, other="adamw"),
    "KfacPointsOverSgd": partial(_accuracy_against, other="sgd"),
    "KfacPointsOverAdam": partial(_accuracy_against, other="adamw"),
    "KfacPeriods": partial(_changed, prefix="period "),
    "KfacSelected": partial(_changed, prefix="kfac, gradients "),
    "KfacSgdSelected": partial(_changed, prefix="sgd, gradients ", base="sgd"),
    "KfacFactorsSelected": partial(_changed, prefix="factors "),
    "KfacFactorFeedback": _feedback_difference,
    "KfacEveryoneBytes": lambda folder: latex.size(_scheme(result(folder, "kfac"), "everyone")["measured"]),
    "KfacOwnersBytes": lambda folder: latex.size(_scheme(result(folder, "kfac"), "owners")["measured"]),
    "KfacByteDifference": lambda folder: latex.shortest(round(largest_byte_difference(folder), 6)),
    "KfacCrossover": lambda folder: latex.decimal(crossover(folder), 2),
}

STUDY = Study(macros=MACROS, figures={"kfac": kfac_figure}, tables={"kfac.tex": kfac_table}, results=("kfac",))
"""What the paper prints of it."""
