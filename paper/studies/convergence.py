"""Does sending little cost accuracy, and is the count what was asked for? The study `convergence`: macros and figures.

All read the runs in `convergence/`: `convergence` shows loss and accuracy against steps and bytes, `counts` the number
of entries that the two Gaussian-k rules send, `momentum` the runs with momentum, seed by seed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate
from pathlib import Path
from statistics import fmean, median, stdev
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator

from paper import latex
from paper.results import Result
from paper.rules import METHODS, RULES
from paper.studies import convergence_runs as facts
from paper.studies.convergence_runs import (
    HUNDREDTH,
    MOMENTUM,
    RELEASED_SETTINGS,
    SMOOTHING_UPDATES,
    STANDARDISED,
    THOUSANDTH,
    Condition,
    condition_results,
    moving_mean,
    paired_differences,
    relative_counts,
)
from paper.studies.convergence_tables import accuracy_table, count_table, momentum_table
from paper.studies.study import Macro, Study
from paper.style import BLACK, YELLOW, legend_below, new_figure

CONDITIONS: dict[str, Condition] = {
    "Thousandth": THOUSANDTH,
    "Hundredth": HUNDREDTH,
    "Standardised": STANDARDISED,
    "ReleasedSettings": RELEASED_SETTINGS,
}
"""The first word of a macro's name; names may hold letters only."""
GAUSSIAN_RULES = {"Ours": "gaussian_k", "Theirs": "gaussian_k_released"}
"""The second word; "Theirs" is the rule of the code released with Shi et al."""
OTHER_RULES = {
    "Dgc": ("dgc_released", ("Smallest", "Largest")),
    "Grace": ("dgc_grace", ("Largest", "LateLargest")),
    "Sidco": ("sidco_released", ("Median",)),
    "Adapted": ("sidco_adaptive", ("Median", "Largest", "LateLargest")),
    "Carried": ("oktopk_released", ("Median", "Largest", "LateLargest")),
}
"""Words for the other threshold rules, and which of their counts over all conditions the text reports."""
COUNTS: dict[str, tuple[str, Callable[[list[float]], float], bool]] = {
    "Smallest": ("smallest_selected_count", min, False),
    "Median": ("selected_count", median, False),
    "Largest": ("largest_selected_count", max, False),
    "LateLargest": ("largest_selected_count", max, True),
}
"""What of a count is reported: a field of the results, what is chosen of its values, and is it of the later half."""
COUNT_PANELS = {
    "unit pixels, density 0.001": THOUSANDTH,
    "unit pixels, density 0.01": HUNDREDTH,
    "standardised pixels, density 0.001": STANDARDISED,
}
BAND = (2 / 3, 4 / 3)
"""The counts, over k, that Gaussian-k aims at."""
GAUSSIAN_METHODS = ("gaussian_k", "gaussian_k_released")
_MEGABYTE = 1e6
_LINEAR_BELOW = 0.01
"""Counts over k below this are drawn on a linear scale, so that zero has a place."""
Positions = Callable[[Result], list[float]]
"""A run to the horizontal position of each number of updates, from 0."""


def convergence(data_folder: Path) -> Figure:
    """Loss and test accuracy of every method against steps and against bytes; mean and range of the seeds."""
    runs = {
        condition: {method: condition_results(data_folder, condition, method) for method in METHODS}
        for condition in (THOUSANDTH, HUNDREDTH)
    }
    figure = new_figure(7.4, profile=runs[THOUSANDTH]["dense"][0]["profile"])
    panels = figure.subplots(4, 2, sharey="row")
    for upper, lower in ((0, 1), (2, 3)):
        for column in (0, 1):
            panels[lower, column].sharex(panels[upper, column])
    for (condition, by_method), column in zip(runs.items(), panels.T, strict=True):
        column[0].set_title(f"density {condition.density:g}")
        for method, results in by_method.items():
            for (loss_axes, accuracy_axes), positions in ((column[:2], _steps), (column[2:], _megabytes)):
                _draw_band(loss_axes, method, *_loss(results, positions))
                _draw_band(accuracy_axes, method, *_accuracy(results, positions))
        for axes, label in zip(column, 2 * ("update",) + 2 * ("sent by all workers so far (MB)",), strict=True):
            axes.set_xlabel(label)
        for axes in column[2:]:
            axes.set_xscale("log")
    for axes, label in zip(panels[:, 0], 2 * ("training loss", "test accuracy (%)"), strict=True):
        axes.set_ylabel(label)
    for axes in panels[[0, 2]].flat:
        axes.set_yscale("log")
        axes.yaxis.set(major_locator=FixedLocator([0.5, 1, 2]), major_formatter="{x:g}", minor_locator=NullLocator())
    legend_below(figure, panels[0, 0], columns=5)
    return figure


def counts(data_folder: Path) -> Figure:
    """Entries sent over entries asked for at every update: mean over the workers and seeds, and their range."""
    runs = {
        title: {method: condition_results(data_folder, condition, method) for method in GAUSSIAN_METHODS}
        for title, condition in COUNT_PANELS.items()
    }
    figure = new_figure(2.7, profile=next(iter(runs.values()))["gaussian_k"][0]["profile"])
    panels = figure.subplots(1, len(runs), sharey=True)
    for axes, (title, by_method) in zip(panels, runs.items(), strict=True):
        axes.axhspan(*BAND, color=YELLOW, alpha=0.6, linewidth=0, label="from 2/3 to 4/3")
        for method, results in reversed(by_method.items()):
            _draw_counts(axes, method, results)
        axes.set(xlabel="update", title=title)
        axes.set_yscale("symlog", linthresh=_LINEAR_BELOW, linscale=0.4)
        axes.yaxis.set(major_locator=FixedLocator([0, 0.01, 0.1, 1, 10, 100]), major_formatter="{x:g}")
    # After every panel is drawn: setting one end of a shared axis fixes the other where it is.
    panels[0].set_ylim(bottom=-_LINEAR_BELOW / 5)
    panels[0].set_ylabel("entries sent, divided by $k$")
    legend_below(figure, panels[0], columns=3)
    return figure


def momentum(data_folder: Path) -> Figure:
    """Test accuracy of each Gaussian-k rule minus that of Top-k, seed by seed, with momentum 0.9."""
    by_method = {method: condition_results(data_folder, MOMENTUM, method) for method in ("top_k", *GAUSSIAN_METHODS)}
    references = by_method.pop("top_k")
    figure = new_figure(2.2, profile=references[0]["profile"])
    for axes, (method, results) in zip(figure.subplots(1, 2), by_method.items(), strict=True):
        differences = paired_differences(results, references)
        mean, spread = fmean(differences), stdev(differences) if len(differences) > 1 else 0.0
        axes.axhspan(mean - spread, mean + spread, color=METHODS[method].colour, alpha=0.15, linewidth=0)
        axes.axhline(mean, color=METHODS[method].colour, linewidth=0.8)
        axes.axhline(0, color=BLACK, linewidth=0.6)
        axes.plot([result["seed"] for result in results], differences, "o", color=METHODS[method].colour, markersize=4)
        axes.set(
            title=f"{METHODS[method].title} − {RULES['top_k'].title}",
            xlabel="seed",
            xticks=[r["seed"] for r in results],
        )
    figure.axes[0].set_ylabel("difference in\ntest accuracy (points)")
    return figure


def _setting(condition: Condition, name: str, show: Callable[[Any], str]) -> Macro:
    """A field of the runs' configuration, read from the first Top-k run."""
    return lambda data_folder: show(condition_results(data_folder, condition, "top_k")[0].record("run")[name])


def _measured(condition: Condition, method: str, show: Callable[[list[Result]], str]) -> Macro:
    """What is shown of the runs, one per seed, of a method under a condition."""
    return lambda data_folder: show(condition_results(data_folder, condition, method))


def _difference(condition: Condition, method: str, show: Callable[[list[float]], str]) -> Macro:
    """What is shown of the paired differences, in points of test accuracy, to exact Top-k."""
    return lambda data_folder: show(_differences(data_folder, condition, method))


def _differences(data_folder: Path, condition: Condition, method: str) -> list[float]:
    references = condition_results(data_folder, condition, "top_k")
    return paired_differences(condition_results(data_folder, condition, method), references)


def _signed_mean(differences: Sequence[float]) -> str:
    return latex.signed(fmean(differences), 2)


def _count(name: str, choose: Callable[[list[float]], float]) -> Callable[[list[Result]], str]:
    return lambda results: latex.decimal(choose(facts.relative_counts(results, name)), 2)


def _condition_macros(word: str, condition: Condition) -> dict[str, Macro]:
    differences = {
        f"{word}{name}Difference": _difference(condition, rule, _signed_mean) for name, rule in GAUSSIAN_RULES.items()
    }
    return {f"{word}TopkGain": _measured(condition, "top_k", _median_gain), **differences}


def _median_gain(results: Sequence[Result]) -> str:
    return latex.decimal(facts.median_gain(results), 1)


def _extreme_difference(data_folder: Path, *, rule: str, choose: Callable[[list[float]], float]) -> str:
    """Of the mean differences to Top-k in the four conditions."""
    means = [fmean(_differences(data_folder, condition, rule)) for condition in CONDITIONS.values()]
    return latex.signed(choose(means), 2)


def _chosen_count(data_folder: Path, *, rule: str, word: str) -> str:
    """Of the counts over k in the four conditions, at all updates and seeds."""
    name, choose, is_late = COUNTS[word]
    counts = (
        facts.relative_counts(condition_results(data_folder, condition, rule), name, only_later_half=is_late)
        for condition in CONDITIONS.values()
    )
    return latex.decimal(choose([count for of_condition in counts for count in of_condition]), 2)


def _rule_macros(word: str, rule: str, counts: Sequence[str]) -> dict[str, Macro]:
    return {
        f"Trained{word}LeastDifference": partial(_extreme_difference, rule=rule, choose=min),
        f"Trained{word}LargestDifference": partial(_extreme_difference, rule=rule, choose=max),
        **{f"Trained{word}{count}Count": partial(_chosen_count, rule=rule, word=count) for count in counts},
    }


def _band_share(results: Sequence[Result]) -> str:
    return latex.percent(facts.band_share(results))


def _bytes(results: Sequence[Result]) -> str:
    return latex.size(facts.bytes_per_update(results))


def _target_count(results: Sequence[Result]) -> str:
    return latex.integer(results[0]["target_count"][-1])


def _steps(result: Result) -> list[float]:
    return list(range(len(result["loss"]) + 1))


def _megabytes(result: Result) -> list[float]:
    return [sent / _MEGABYTE for sent in accumulate(result["sent_bytes"], initial=0)]


def _loss(results: Sequence[Result], positions: Positions) -> tuple[list[float], list[list[float]]]:
    smoothed = [moving_mean(result["loss"], SMOOTHING_UPDATES) for result in results]
    update_count = len(results[0]["loss"])
    return _mean_positions(results, positions, range(update_count - len(smoothed[0]) + 1, update_count + 1)), smoothed


def _accuracy(results: Sequence[Result], positions: Positions) -> tuple[list[float], list[list[float]]]:
    """Without the first evaluation, before any update, which has no place on a logarithmic axis of bytes."""
    updates = [evaluation["step_count"] for evaluation in results[0].records("evaluations")[1:]]
    shares = [[100 * evaluation["test_accuracy"] for evaluation in r.records("evaluations")[1:]] for r in results]
    return _mean_positions(results, positions, updates), shares


def _mean_positions(results: Sequence[Result], positions: Positions, updates: Sequence[int]) -> list[float]:
    by_run = [positions(result) for result in results]
    return [fmean(run[update] for run in by_run) for update in updates]


def _draw_band(axes: Axes, method: str, horizontal: Sequence[float], by_seed: Sequence[Sequence[float]]) -> None:
    """The mean of the seeds as a line, their smallest and largest as a band."""
    look, columns = METHODS[method], list(zip(*by_seed, strict=True))
    axes.plot(horizontal, [fmean(column) for column in columns], **look.line)
    axes.fill_between(
        horizontal,
        [min(column) for column in columns],
        [max(column) for column in columns],
        color=look.colour,
        alpha=0.2,
        linewidth=0,
    )


def _draw_counts(axes: Axes, method: str, results: Sequence[Result]) -> None:
    look, updates = METHODS[method], range(1, len(results[0]["target_count"]) + 1)
    smallest, middle, largest = (
        list(zip(*(relative_counts([result], name) for result in results), strict=True))
        for name in ("smallest_selected_count", "selected_count", "largest_selected_count")
    )
    axes.fill_between(
        updates,
        [min(column) for column in smallest],
        [max(column) for column in largest],
        color=look.colour,
        alpha=0.25,
        linewidth=0,
    )
    axes.plot(updates, [fmean(column) for column in middle], color=look.colour, label=look.title, linewidth=0.8)


MACROS: dict[str, Macro] = {
    "TrainCount": _measured(THOUSANDTH, "top_k", lambda results: latex.integer(results[0]["train_count"])),
    "TestCount": _measured(THOUSANDTH, "top_k", lambda results: latex.integer(results[0]["test_count"])),
    "Workers": _setting(THOUSANDTH, "workers", latex.integer),
    "Steps": _setting(THOUSANDTH, "steps", latex.integer),
    "BatchSize": _setting(THOUSANDTH, "batch_size", latex.integer),
    "StepSize": _setting(THOUSANDTH, "step_size", latex.shortest),
    "ReleasedSteps": _setting(RELEASED_SETTINGS, "steps", latex.integer),
    "ReleasedBatchSize": _setting(RELEASED_SETTINGS, "batch_size", latex.integer),
    "ReleasedStepSize": _setting(RELEASED_SETTINGS, "step_size", latex.shortest),
    "ReleasedWeightDecay": _setting(RELEASED_SETTINGS, "weight_decay", latex.shortest),
    "ReleasedMomentum": _setting(RELEASED_SETTINGS, "momentum", latex.shortest),
    "MomentumValue": _setting(MOMENTUM, "momentum", latex.shortest),
    "Seeds": _measured(THOUSANDTH, "top_k", lambda results: latex.integer(len(results))),
    "MomentumSeeds": _measured(MOMENTUM, "top_k", lambda results: latex.integer(len(results))),
    "SmoothingUpdates": lambda _: latex.integer(facts.SMOOTHING_UPDATES),
    "Dimension": _measured(THOUSANDTH, "top_k", lambda results: latex.integer(results[0]["dimension"])),
    "ThousandthTarget": _measured(THOUSANDTH, "top_k", _target_count),
    "HundredthTarget": _measured(HUNDREDTH, "top_k", _target_count),
    "DenseBytes": _measured(THOUSANDTH, "dense", _bytes),
    "ThousandthTopkBytes": _measured(THOUSANDTH, "top_k", _bytes),
    "HundredthTopkBytes": _measured(HUNDREDTH, "top_k", _bytes),
    "ReleasedSettingsTopkBytes": _measured(RELEASED_SETTINGS, "top_k", _bytes),
    **{
        name: macro
        for word, condition in CONDITIONS.items()
        for name, macro in _condition_macros(word, condition).items()
    },
    "ThousandthOursBandShare": _measured(THOUSANDTH, "gaussian_k", _band_share),
    "StandardisedTheirsBandShare": _measured(STANDARDISED, "gaussian_k_released", _band_share),
    "ThousandthTheirsLargestCount": _measured(THOUSANDTH, "gaussian_k_released", _count("largest_selected_count", max)),
    **{
        f"{word}TheirsMedianCount": _measured(CONDITIONS[word], "gaussian_k_released", _count("selected_count", median))
        for word in ("Thousandth", "Hundredth", "Standardised")
    },
    **{name: macro for word, rule in OTHER_RULES.items() for name, macro in _rule_macros(word, *rule).items()},
}

STUDY = Study(
    macros=MACROS,
    figures={"convergence": convergence, "counts": counts, "momentum": momentum},
    tables={"accuracy.tex": accuracy_table, "counts.tex": count_table, "momentum.tex": momentum_table},
    results=("convergence",),
)
