"""Which numbers does the study of sampled barriers give, and does the law of lags hold there?

Read from `sampled_lags.json` of the data folder; the macros and the table are for `numbers.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import sqrt
from pathlib import Path

from paper import latex
from paper.results import Result, sampled_lags_result
from sparsync.theory.statements import STATEMENTS

EXPONENTIAL, ONE_SLOW = "exponential", "one slow"
"""Clusters of the study."""
SHOWN_SAMPLE = 8
"""The size of a sample at which the text gives shares."""
Macro = Callable[[Path], str]


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
    passing = [run.record("passing") for run in sampled_lags_result(data_folder).records("runs")]
    return sum(record["chi_square"] for record in passing), sum(record["compared"] for record in passing)


def largest_deviation(data_folder: Path) -> float:
    """Of all passes of a run from those expected, in standard errors, over all runs."""
    runs = sampled_lags_result(data_folder).records("runs")
    return max(abs(float(run.record("passing")["deviation"])) for run in runs)


def look_count(data_folder: Path) -> int:
    """Looks of all runs."""
    return sum(sum(run.record("passing")["looks"]) for run in sampled_lags_result(data_folder).records("runs"))


def impossible_count(data_folder: Path) -> int:
    """Looks that passed or failed although that has probability zero."""
    return sum(int(run.record("passing")["impossible"]) for run in sampled_lags_result(data_folder).records("runs"))


def held_count(data_folder: Path, lag: str, moment: str) -> tuple[int, int]:
    """In how many of the runs in which somebody is looked at the stated law bounds a moment of a lag; of all these.

    Args:
        data_folder: holds `sampled_lags.json`.
        lag: slowest or another.
        moment: mean or second_moment.
    """
    runs = waiting_runs(sampled_lags_result(data_folder))
    return sum(run.record(lag)[moment] <= run.record("stated")[moment] for run in runs), len(runs)


def tail_ratios(data_folder: Path, lag: str) -> list[float]:
    """Second moments of the excess beyond r over those of a geometric law of the same mean, ascending."""
    runs = waiting_runs(sampled_lags_result(data_folder))
    laws = [run.record(lag)["fitted_law"] for run in runs]
    return sorted(float(law["second_moment_ratio"]) for law in laws if law is not None)


def fitted_weights(data_folder: Path, lag: str, staleness: int) -> list[float]:
    """The F of the fitted laws at a staleness, ascending."""
    runs = waiting_runs(sampled_lags_result(data_folder))
    laws = [run.record(lag)["fitted_law"] for run in runs if run["staleness"] == staleness]
    return sorted(float(law["weight"]) for law in laws if law is not None)


def largest_growth(data_folder: Path, cluster: str) -> float:
    """Mean lag of the slowest in the second half of the releases over that in the first, at most, where it is any."""
    runs = [run for run in waiting_runs(sampled_lags_result(data_folder)) if run["cluster"] == cluster]
    halves = [run.record("slowest")["mean_by_half"] for run in runs]
    return max(float(second / first) for first, second in halves if first)


def shown_run(data_folder: Path, cluster: str, staleness: int) -> Result:
    """The run with the most workers whose samples have the shown size.

    Raises:
        ValueError: there is none.
    """
    study = sampled_lags_result(data_folder)
    runs = lag_runs(study, largest_workers(study), cluster, staleness)
    found = [run for run in runs if run["sample"] == SHOWN_SAMPLE]
    if not found:
        raise ValueError(f"{study.path}: no run with a sample of {SHOWN_SAMPLE}")
    return found[0]


def lag_table(data_folder: Path) -> str:
    """A `tabular` of the most workers, with staleness: lags of the slowest and of another, and the stated bound."""
    study = sampled_lags_result(data_folder)
    workers = largest_workers(study)
    staleness = max(int(run["staleness"]) for run in study.records("runs"))
    names = {EXPONENTIAL: "equal workers", ONE_SLOW: "one three times slower"}
    titles = " & ".join(f"\\multicolumn{{4}}{{c}}{{{name}}}" for name in names.values())
    heads = " & ".join(["slowest & its 99\\,\\% & another & bound"] * len(names))
    columns = [lag_runs(study, workers, cluster, staleness) for cluster in names]
    lines = [_table_line(row) for row in zip(*columns, strict=True)]
    body = f" & {titles} \\\\\n$\\beta$ & {heads} \\\\\n\\midrule\n{''.join(lines)}"
    return f"\\begin{{tabular}}{{@{{}}r{'rrrr' * len(names)}@{{}}}}\n\\toprule\n{body}\\bottomrule\n\\end{{tabular}}\n"


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


LAG_MACROS: dict[str, Macro] = {
    "LagWorkers": lambda folder: latex.integer(largest_workers(sampled_lags_result(folder))),
    "LagRuns": lambda folder: latex.integer(len(sampled_lags_result(folder).records("runs"))),
    "LagLooks": lambda folder: latex.integer(look_count(folder)),
    "LagChiSquare": lambda folder: latex.decimal(chance_test(folder)[0], 0),
    "LagCompared": lambda folder: latex.integer(chance_test(folder)[1]),
    "LagLargestDeviation": lambda folder: latex.decimal(largest_deviation(folder), 1),
    "LagImpossible": lambda folder: latex.integer(impossible_count(folder)),
    "LagShownSample": lambda _folder: latex.integer(SHOWN_SAMPLE),
    "LagPassShare": partial(_shown_share, record="passing", name="share"),
    "LagStatedShare": partial(_shown_share, record="stated", name="decay"),
    "LagWaitingRuns": lambda folder: latex.integer(len(waiting_runs(sampled_lags_result(folder)))),
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
"""Macros of the paper's text about sampled barriers, by name."""


def _staleness(data_folder: Path) -> int:
    return max(int(run["staleness"]) for run in sampled_lags_result(data_folder).records("runs"))
