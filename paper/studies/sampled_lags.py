"""When does a barrier that looks at a few workers only let one pass, and how far are others behind then?

Reads `sampled_lags.json`. One figure has the share of looks that passed, by number of laggards, and that of all looks,
without staleness; the other the lag of the slowest behind a released worker, with staleness.
"""

from __future__ import annotations

from functools import partial
from math import sqrt
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator

from paper import latex
from paper.results import Result, result
from paper.studies.study import Macro, Study
from paper.style import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILION, Look, half_figure, new_figure
from sparsync.theory.statements import STATEMENTS

EXPONENTIAL, ONE_SLOW = "exponential", "one slow"
"""Clusters of the study."""
SHOWN_SAMPLE = 8
"""The size of a sample at which the text gives shares."""
SAMPLE_COLOURS = (SKY, GREEN, ORANGE, PURPLE)
"""By size of the sample, ascending, where passing is left to chance."""
CLUSTERS = {
    "exponential": Look("equal workers", BLUE),
    "one slow": Look("one three times slower", VERMILION),
}
"""How the clusters of the study are drawn."""
STATED = (0, (3, 2))


def lag_runs(study: Result, workers: int, cluster: str, staleness: int) -> list[Result]:
    """The runs under these conditions, ascending in the size of the sample.

    Raises:
        ValueError: the study has none.
    """
    wanted = (workers, cluster, staleness)
    found = [run for run in study.records("runs") if (run["workers"], run["cluster"], run["staleness"]) == wanted]
    if not found:
        raise ValueError(f"{study.path}: no run of {workers} workers, cluster {cluster!r} and staleness {staleness}")
    return sorted(found, key=lambda run: int(run["sample"]))


def largest_workers(study: Result) -> int:
    """The largest number of workers."""
    return max(int(run["workers"]) for run in study.records("runs"))


def passing_points(run: Result) -> tuple[list[int], list[float], list[float]]:
    """Numbers of laggards, the share of looks that passed, and its standard error as stated."""
    passing = run.record("passing")
    rows = list(zip(passing["laggards"], passing["looks"], passing["passes"], strict=True))
    stated = [
        STATEMENTS["psp_pass_probability"].evaluate(n=run["workers"], laggard_count=number, sample_count=run["sample"])
        for number, _, _ in rows
    ]
    errors = [sqrt(chance * (1 - chance) / looks) for chance, (_, looks, _) in zip(stated, rows, strict=True)]
    return [number for number, _, _ in rows], [passes / looks for _, looks, passes in rows], errors


def waiting_runs(study: Result) -> list[Result]:
    """The runs in which somebody is looked at: where nobody is, workers drift apart and no law bounds their lags."""
    return [run for run in study.records("runs") if run["sample"]]


def chance_test(data_folder: Path) -> tuple[float, int]:
    """χ² of the passes against the stated probability, over all runs, and the number of its terms."""
    passing = [run.record("passing") for run in result(data_folder, "sampled_lags").records("runs")]
    return sum(record["chi_square"] for record in passing), sum(record["compared"] for record in passing)


def largest_deviation(data_folder: Path) -> float:
    """Of all passes of a run from those expected, in standard errors, over all runs."""
    runs = result(data_folder, "sampled_lags").records("runs")
    return max(abs(float(run.record("passing")["deviation"])) for run in runs)


def look_count(data_folder: Path) -> int:
    """Looks of all runs."""
    return sum(sum(run.record("passing")["looks"]) for run in result(data_folder, "sampled_lags").records("runs"))


def impossible_count(data_folder: Path) -> int:
    """Looks that passed or failed although that has probability zero."""
    return sum(int(run.record("passing")["impossible"]) for run in result(data_folder, "sampled_lags").records("runs"))


def held_count(data_folder: Path, lag: str, moment: str) -> tuple[int, int]:
    """In how many of the runs in which somebody is looked at the stated law bounds a moment of a lag; of all these.

    Args:
        data_folder: holds `sampled_lags.json`.
        lag: slowest or another.
        moment: mean or second_moment.
    """
    runs = waiting_runs(result(data_folder, "sampled_lags"))
    return sum(run.record(lag)[moment] <= run.record("stated")[moment] for run in runs), len(runs)


def tail_ratios(data_folder: Path, lag: str) -> list[float]:
    """Second moments of the excess beyond r over those of a geometric law of the same mean, ascending."""
    runs = waiting_runs(result(data_folder, "sampled_lags"))
    laws = [run.record(lag)["fitted_law"] for run in runs]
    return sorted(float(law["second_moment_ratio"]) for law in laws if law is not None)


def fitted_weights(data_folder: Path, lag: str, staleness: int) -> list[float]:
    """The F of the fitted laws at a staleness, ascending."""
    runs = waiting_runs(result(data_folder, "sampled_lags"))
    laws = [run.record(lag)["fitted_law"] for run in runs if run["staleness"] == staleness]
    return sorted(float(law["weight"]) for law in laws if law is not None)


def largest_growth(data_folder: Path, cluster: str) -> float:
    """Mean lag of the slowest in the second half of the releases over that in the first, at most, where it is any."""
    runs = [run for run in waiting_runs(result(data_folder, "sampled_lags")) if run["cluster"] == cluster]
    halves = [run.record("slowest")["mean_by_half"] for run in runs]
    return max(float(second / first) for first, second in halves if first)


def shown_run(data_folder: Path, cluster: str, staleness: int) -> Result:
    """The run with the most workers whose samples have the shown size.

    Raises:
        ValueError: there is none.
    """
    study = result(data_folder, "sampled_lags")
    runs = lag_runs(study, largest_workers(study), cluster, staleness)
    found = [run for run in runs if run["sample"] == SHOWN_SAMPLE]
    if not found:
        raise ValueError(f"{study.path}: no run with a sample of {SHOWN_SAMPLE}")
    return found[0]


def lag_table(data_folder: Path) -> str:
    """A `tabular` of the most workers, with staleness: lags of the slowest and of another, and the stated bound."""
    study = result(data_folder, "sampled_lags")
    workers = largest_workers(study)
    staleness = max(int(run["staleness"]) for run in study.records("runs"))
    names = {EXPONENTIAL: "equal workers", ONE_SLOW: "one three times slower"}
    titles = " & ".join(f"\\multicolumn{{4}}{{c}}{{{name}}}" for name in names.values())
    heads = " & ".join(["slowest & its 99\\,\\% & another & bound"] * len(names))
    columns = [lag_runs(study, workers, cluster, staleness) for cluster in names]
    lines = [_table_line(row) for row in zip(*columns, strict=True)]
    body = f" & {titles} \\\\\n$\\beta$ & {heads} \\\\\n\\midrule\n{''.join(lines)}"
    return f"\\begin{{tabular}}{{@{{}}r{'rrrr' * len(names)}@{{}}}}\n\\toprule\n{body}\\bottomrule\n\\end{{tabular}}\n"


def sampled_passes(data_folder: Path) -> Figure:
    """Passing against the number of laggards and the size of the sample."""
    study = result(data_folder, "sampled_lags")
    figure = new_figure(2.5, profile=study["profile"])
    left, right = figure.subplots(1, 2)
    _draw_passing(left, study)
    _draw_shares(right, study)
    return figure


def sampled_lags(data_folder: Path) -> Figure:
    """Lags against the size of the sample."""
    study = result(data_folder, "sampled_lags")
    figure = half_figure(profile=study["profile"])
    _draw_lags(figure.subplots(), study)
    return figure


def _table_line(row: tuple[Result, ...]) -> str:
    cells = [latex.integer(row[0]["sample"])]
    for run in row:
        slowest, another = run.record("slowest"), run.record("another")
        bound = latex.decimal(run.record("stated")["mean"], 2) if run["sample"] else "none"
        cells += [
            f"{latex.decimal(slowest['mean'], 2)} ({latex.decimal(slowest['mean_error'], 2)})",
            latex.integer(slowest["percentile_99"]),
            latex.decimal(another["mean"], 2),
            bound,
        ]
    return f"{' & '.join(cells)} \\\\\n"


def _held(data_folder: Path, *, lag: str, moment: str) -> str:
    return latex.integer(held_count(data_folder, lag, moment)[0])


def _tail(data_folder: Path, *, lag: str, place: int) -> str:
    return latex.decimal(tail_ratios(data_folder, lag)[place], 2)


def _shown_share(data_folder: Path, *, record: str, name: str) -> str:
    return latex.percent(shown_run(data_folder, EXPONENTIAL, 0).record(record)[name])


def _staleness(data_folder: Path) -> int:
    return max(int(run["staleness"]) for run in result(data_folder, "sampled_lags").records("runs"))


def _draw_passing(axes: Axes, study: Result) -> None:
    workers = min(run["workers"] for run in study.records("runs"))
    runs = [run for run in lag_runs(study, workers, EXPONENTIAL, 0) if 0 < run["sample"] < workers - 1]
    for run, colour in zip(runs, SAMPLE_COLOURS, strict=False):
        laggards, shares, errors = passing_points(run)
        axes.errorbar(
            laggards, shares, [2 * error for error in errors], fmt="o", color=colour, markersize=2, elinewidth=0.6
        )
        stated = [
            STATEMENTS["psp_pass_probability"].evaluate(n=workers, laggard_count=number, sample_count=run["sample"])
            for number in range(workers)
        ]
        axes.plot(range(workers), stated, color=colour, linewidth=0.9, label=rf"$\beta={run['sample']}$")
    axes.set(xlabel=f"laggards among {workers - 1} others", ylabel="share of looks that pass", title="one look")
    axes.legend(loc="upper right", fontsize=7)


def _draw_shares(axes: Axes, study: Result) -> None:
    workers = largest_workers(study)
    for cluster, look in CLUSTERS.items():
        runs = lag_runs(study, workers, cluster, 0)
        shares = [run.record("passing")["share"] for run in runs]
        marker = "o" if cluster == EXPONENTIAL else "x"
        axes.plot(range(len(runs)), shares, marker, color=look.colour, markersize=4, fillstyle="none")
    runs = lag_runs(study, workers, EXPONENTIAL, 0)
    axes.plot(range(len(runs)), [1 / (run["sample"] + 1) for run in runs], color=BLACK, linewidth=0.8)
    stated = [run.record("stated")["decay"] for run in runs]
    axes.plot(range(len(runs)), stated, color=GREY, linestyle=STATED, linewidth=0.9)
    axes.set(yscale="log", xlabel=r"sample size $\beta$", title="first looks, staleness 0", ylim=(1e-3, 1.5))
    axes.annotate(r"$1/(\beta+1)$", (3, 0.2), xytext=(6, 4), textcoords="offset points", fontsize=7)
    axes.annotate(r"$q^\beta$", (3, stated[3]), xytext=(-14, -6), textcoords="offset points", fontsize=7, color=GREY)
    _label_samples(axes, runs)


def _draw_lags(axes: Axes, study: Result) -> None:
    workers = largest_workers(study)
    staleness = max(run["staleness"] for run in study.records("runs"))
    for cluster, look in CLUSTERS.items():
        runs = lag_runs(study, workers, cluster, staleness)
        slowest = [run.record("slowest") for run in runs]
        places = range(len(runs))
        axes.plot(places, [record["mean"] for record in slowest], marker="o", **look.line, markersize=2.5)
        axes.plot(places, [record["percentile_99"] for record in slowest], ":", color=look.colour, linewidth=1)
        bounded = [(place, run.record("stated")["mean"]) for place, run in enumerate(runs) if run["sample"]]
        axes.plot(*zip(*bounded, strict=True), color=look.colour, linestyle=STATED, linewidth=0.9)
    axes.set(
        yscale="log",
        xlabel=r"sample size $\beta$",
        ylabel="steps behind",
        title=f"sampled barriers, staleness {staleness}",
    )
    axes.set_ylim(bottom=0.7)
    axes.yaxis.set(major_locator=FixedLocator([1, 2, 5, 10, 20, 50, 100]), major_formatter="{x:g}")
    axes.yaxis.set_minor_locator(NullLocator())
    axes.legend(loc="upper right", fontsize=7)
    note = "full: mean of the slowest\ndotted: its 99 %\ndashed: bound with $q$, $q^\\beta$"
    axes.annotate(note, (0.03, 0.03), xycoords="axes fraction", fontsize=7)
    _label_samples(axes, lag_runs(study, workers, EXPONENTIAL, staleness))


def _label_samples(axes: Axes, runs: list[Result]) -> None:
    names = ["all" if run["sample"] == run["workers"] - 1 else str(run["sample"]) for run in runs]
    axes.set_xticks(range(len(runs)), names)


MACROS: dict[str, Macro] = {
    "LagWorkers": lambda folder: latex.integer(largest_workers(result(folder, "sampled_lags"))),
    "LagRuns": lambda folder: latex.integer(len(result(folder, "sampled_lags").records("runs"))),
    "LagLooks": lambda folder: latex.integer(look_count(folder)),
    "LagChiSquare": lambda folder: latex.decimal(chance_test(folder)[0], 0),
    "LagCompared": lambda folder: latex.integer(chance_test(folder)[1]),
    "LagLargestDeviation": lambda folder: latex.decimal(largest_deviation(folder), 1),
    "LagImpossible": lambda folder: latex.integer(impossible_count(folder)),
    "LagShownSample": lambda _folder: latex.integer(SHOWN_SAMPLE),
    "LagPassShare": partial(_shown_share, record="passing", name="share"),
    "LagStatedShare": partial(_shown_share, record="stated", name="decay"),
    "LagWaitingRuns": lambda folder: latex.integer(len(waiting_runs(result(folder, "sampled_lags")))),
    **{
        f"LagHeld{lag_word}{moment_word}": partial(_held, lag=lag, moment=moment)
        for lag, lag_word in (("slowest", "Slowest"), ("another", "Another"))
        for moment, moment_word in (("mean", "Mean"), ("second_moment", "Square"))
    },
    **{
        f"LagTail{lag_word}{end}": partial(_tail, lag=lag, place=place)
        for lag, lag_word in (("slowest", "Slowest"), ("another", "Another"))
        for place, end in ((0, "Smallest"), (-1, "Largest"))
    },
    "LagHeadSmallest": lambda folder: latex.decimal(fitted_weights(folder, "another", _staleness(folder))[0], 1),
    "LagHeadLargest": lambda folder: latex.decimal(fitted_weights(folder, "another", _staleness(folder))[-1], 1),
    "LagFreeHeadLargest": lambda folder: latex.decimal(fitted_weights(folder, "another", 0)[-1], 1),
    "LagSlowestHeadLargest": lambda folder: latex.decimal(fitted_weights(folder, "slowest", _staleness(folder))[-1], 1),
    "LagGrowth": lambda folder: latex.decimal(largest_growth(folder, ONE_SLOW), 2),
    "LagEqualGrowth": lambda folder: latex.decimal(largest_growth(folder, EXPONENTIAL), 2),
    "LagStaleness": lambda folder: latex.integer(_staleness(folder)),
}

STUDY = Study(
    macros=MACROS,
    figures={"sampled_passes": sampled_passes, "sampled_lags": sampled_lags},
    tables={"lags.tex": lag_table},
    results=("sampled_lags",),
)
