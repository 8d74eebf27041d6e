"""What each publication announces, beside what was measured here: reproduced, not, inconclusive or not comparable.

A claim is a relation (who is faster, what is equal, which bound holds), with the factor that was published. Judged is
the relation, in the published setting as far as it is known; a factor that hangs on machines and models that are not
here is printed beside ours.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from paper import latex
from paper.comparisons import UNKNOWN
from paper.results import Result, result
from paper.studies.barriers import scan_ratio, timing_rows
from paper.studies.races import CLUSTERS, SELECTORS, mean_curve, runs, smoothed, speed_up
from paper.studies.staleness_runs import OPTIMISERS, SIZES, best_multiple, setting_of
from paper.studies.study import Study
from paper.studies.switching import LESS, MORE, against_ends, switch_shares, time_ratio

REPRODUCED, NOT_REPRODUCED, NOT_COMPARABLE = "reproduced", "not reproduced", "not comparable"
NoYes = bool | None
"""None: inconclusive, as the intervals over the seeds leave it open."""


@dataclass(frozen=True)
class Headline:
    """A claim and what became of it.

    Args:
        source: key of the bibliography.
        claim: in LaTeX, as reported to us.
        ours: what was measured, in LaTeX.
        holds: is the claimed relation there? None instead of a function where nothing comparable can be measured.
        reason: why, in LaTeX.
    """

    source: str
    claim: str
    ours: Callable[[Path], str]
    holds: Callable[[Path], NoYes] | None
    reason: str

    def verdict(self, data_folder: Path) -> str:
        """One of the four."""
        if self.holds is None:
            return NOT_COMPARABLE
        return {True: REPRODUCED, False: NOT_REPRODUCED, None: UNKNOWN}[self.holds(data_folder)]


def measured(data_folder: Path, setting: str, contestant: str) -> Result:
    """What a contestant did in a published setting.

    Raises:
        ValueError: the study holds no such run.
    """
    study = result(data_folder, "headlines")
    for row in study.records("rows"):
        if (row["setting"], row["contestant"]) == (setting, contestant):
            return row
    raise ValueError(f"{study.path}: no contestant {contestant!r} in the setting {setting!r}")


def step_ratio(data_folder: Path, setting: str, contestant: str, other: str) -> float:
    """Steps of one contestant over those of another in the same time."""
    return float(
        measured(data_folder, setting, contestant)["mean_steps"] / measured(data_folder, setting, other)["mean_steps"]
    )


def final_accuracy(study: Result, policy: str, cluster: str, selector: str) -> float:
    """The smoothed accuracy at the end of a race."""
    return smoothed(mean_curve(runs(study, policy, cluster, selector), "accuracy"))[-1]


def won_races(data_folder: Path, policy: str, others: tuple[str, ...]) -> tuple[int, int]:
    """In how many of the clusters and sendings a policy ends above all others, and how many there are."""
    study = result(data_folder, "races")
    races = [(cluster, selector) for cluster in CLUSTERS for selector in SELECTORS]
    won = sum(
        final_accuracy(study, policy, *race) > max(final_accuracy(study, other, *race) for other in others)
        for race in races
    )
    return won, len(races)


def has_curves_of(data_folder: Path, policy: str, other: str) -> bool:
    """Does a policy have the other's accuracies, digit by digit, in every race?"""
    study = result(data_folder, "races")
    return all(
        mean_curve(runs(study, policy, cluster, selector), "accuracy")
        == mean_curve(runs(study, other, cluster, selector), "accuracy")
        for cluster in CLUSTERS
        for selector in SELECTORS
    )


def _factor(value: float | None) -> str:
    return "never" if value is None else latex.decimal(value, 2)


def _in_races(policy: str) -> Callable[[Path], str]:
    """Speed-ups over BSP to the target, dense, by cluster."""

    def text(data_folder: Path) -> str:
        factors = (f"{_factor(speed_up(data_folder, policy, name, 'none'))} ({CLUSTERS[name]})" for name in CLUSTERS)
        return "time of BSP over its own: " + ", ".join(factors)

    return text


def _is_faster(policy: str, cluster: str) -> Callable[[Path], bool]:
    return lambda data_folder: (speed_up(data_folder, policy, cluster, "none") or 0) > 1


_TWO, _SAMPLED, _EDGE = "two processors of fixed speeds", "200 sampled workers", "three edge workers"
_LINE, _UNEQUAL, _INTERVALS, _WORDS, _GROUPS = (
    "a shared line",
    "unequal processors",
    "intervals of 1 to 1.5 s",
    "workers of different words",
    "groups of four",
)


def _steps(setting: str, contestants: tuple[str, ...]) -> Callable[[Path], str]:
    """Mean steps and their deviation over the workers."""

    def text(data_folder: Path) -> str:
        rows = {name: measured(data_folder, setting, name) for name in contestants}
        cells = (
            f"{latex.escape(name)} {latex.decimal(row['mean_steps'], 0)}$\\pm${latex.decimal(row['step_deviation'], 1)}"
            for name, row in rows.items()
        )
        return "steps: " + ", ".join(cells)

    return text


def _ratios(setting: str, pairs: tuple[tuple[str, str], ...]) -> Callable[[Path], str]:
    def text(data_folder: Path) -> str:
        cells = (
            f"{latex.escape(one)} over {latex.escape(other)} "
            f"{latex.decimal(step_ratio(data_folder, setting, one, other), 2)}"
            for one, other in pairs
        )
        return "steps: " + ", ".join(cells)

    return text


def _exceeds(setting: str, one: str, other: str, factor: float) -> Callable[[Path], bool]:
    return lambda folder: step_ratio(folder, setting, one, other) >= factor


def _sampled_order(data_folder: Path) -> bool:
    """BSP, the larger and the smaller sample, then ASP, in mean steps and in spread, and the larger sample near BSP."""
    rows = [measured(data_folder, _SAMPLED, name) for name in ("bsp", "pbsp 10", "pbsp 4", "asp")]
    steps, spreads = ([float(row[field]) for row in rows] for field in ("mean_steps", "step_deviation"))
    return steps == sorted(steps) and spreads == sorted(spreads) and spreads[1] <= 2 * spreads[0]


def _edge_shares(data_folder: Path) -> str:
    shares = {name: measured(data_folder, _EDGE, name)["computing"] for name in ("bsp", "ssp 40", "adsp")}
    return "computing: " + ", ".join(
        f"{latex.escape(name)} {latex.percent(share)}\\,\\%" for name, share in shares.items()
    )


def _edge_workers_compute(data_folder: Path) -> bool:
    shares = {name: measured(data_folder, _EDGE, name)["computing"] for name in ("bsp", "ssp 40", "adsp")}
    return bool(shares["adsp"] >= 0.9 and max(shares["bsp"], shares["ssp 40"]) <= 0.2)


_GROWING = "asynchronous_first_falling"
"""The order of the study `switching` that has the weights of `smooth_switch`."""


def growing_wins(data_folder: Path) -> dict[float, dict[str, int]]:
    """By share of the barrier: in how many places growing groups end with less error than both extremes, or do not."""
    shares = switch_shares(result(data_folder, "switching"))
    said = {share: against_ends(data_folder, _GROWING, share) for share in shares}
    return {share: {word: said[share].count(word) for word in (LESS, MORE, UNKNOWN)} for share in shares}


def _growing(data_folder: Path) -> str:
    cells = (
        f"with {latex.shortest(100 * share)}\\,\\% of barrier less than both in {latex.integer(found[LESS])} cases, "
        f"more than one in {latex.integer(found[MORE])}, {UNKNOWN} in {latex.integer(found[UNKNOWN])}"
        for share, found in growing_wins(data_folder).items()
    )
    won, count = won_races(data_folder, "smooth_switch", ("bsp", "asp"))
    races = f"at one step size for all, and not repeated: less in {latex.integer(won)} of {latex.integer(count)} races"
    return f"error at the end, each step size tuned: {'; '.join(cells)}; {races}"


def _growing_is_better(data_folder: Path) -> NoYes:
    """In most of the places and shares at which every step size is tuned; no, if it surely fails in half of them."""
    counts = growing_wins(data_folder).values()
    count = sum(sum(found.values()) for found in counts)
    less, more = (sum(found[word] for found in counts) for word in (LESS, MORE))
    return True if 2 * less > count else False if 2 * more >= count else None


def largest_plan(data_folder: Path) -> float:
    """Seconds of the sweep for the most workers, looking furthest ahead."""
    timings = timing_rows(result(data_folder, "planned_barriers"), "sweep")
    return max(float(timing["wall_seconds"]) for timing in timings)


MUCH_FASTER = 1.5
"""What "much faster" is taken to mean where a publication gives no number."""
FAR_FASTER = 10
"""Times as fast, from which on one is far faster than another."""


def _plan_seconds(data_folder: Path) -> str:
    workers = latex.integer(timing_rows(result(data_folder, "planned_barriers"), "scan")[-1]["workers"])
    ratio = latex.decimal(scan_ratio(data_folder, "scan"), 0)
    return (
        f"{latex.decimal(largest_plan(data_folder), 2)}\\,s; a scan takes {ratio} times as long for {workers} workers"
    )


def _switch_time(data_folder: Path, order: str) -> float | None:
    """BSP's time to the error of its end over that of others, with the smallest share of a barrier or none."""
    share = 0.0 if order == "asp" else min(switch_shares(result(data_folder, "switching")))
    return time_ratio(data_folder, "network", "one_slow", order, share)


def _switch_times(data_folder: Path) -> str:
    orders = {"synchronous_first": "synchronous first", "asp": "asp"}
    cells = (f"{words} {_factor(_switch_time(data_folder, order))}" for order, words in orders.items())
    return "time of BSP to the error of its end over their own, one slow worker: " + ", ".join(cells)


def _stale_steps(data_folder: Path) -> dict[str, float]:
    """Steps at s = 4 over those at s = 0, at the best of a few step sizes; infinite if the target was not reached."""
    found = {word: best_multiple(setting_of(data_folder, setting), 4) for word, setting in (OPTIMISERS | SIZES).items()}
    return {word: math.inf if steps is None else steps for word, steps in found.items()}


def _staleness_order(data_folder: Path) -> str:
    words = {"Shallow": "no hidden layer", "Deep": "four", "Sgd": "SGD", "Adagrad": "Adagrad", "Rmsprop": "RMSProp"}
    words |= {"Momentum": "momentum", "Adam": "Adam"}
    steps = _stale_steps(data_folder)
    cells = (f"{title} {_factor(None if steps[word] == math.inf else steps[word])}" for word, title in words.items())
    return "steps at $s=4$ over those at $s=0$, each at the best step size tried: " + ", ".join(cells)


def _staleness_holds(data_folder: Path) -> bool:
    steps = _stale_steps(data_folder)
    robust = max(steps["Sgd"], steps["Adagrad"])
    return steps["Deep"] > steps["Shallow"] and min(steps["Momentum"], steps["Adam"], steps["Rmsprop"]) > robust


HEADLINES: tuple[Headline, ...] = (
    Headline(
        "zhao2019",
        r"DSSP(3,\,12) is 1.84 times as fast as SSP(15) on two processors of fixed speeds, as fast as ASP",
        _ratios(_TWO, (("dssp", "ssp 15"), ("dssp printed", "ssp 15"), ("asp", "ssp 15"))),
        _exceeds(_TWO, "dssp", "ssp 15", 1.5),
        r"a bounded lead leaves no such gain (\statement{persistent_straggler}); "
        "the rule as printed, which keeps no bound, has it",
    ),
    Headline(
        "zhao2020",
        "ElasticBSP is faster than BSP (converges 1.77 times as fast, VGG-16, four workers)",
        _ratios(_INTERVALS, (("elastic 15", "bsp"), ("elastic 240", "bsp"), ("asp", "bsp"))),
        _exceeds(_INTERVALS, "elastic 15", "bsp", 1.1),
        "steps at the fixed intervals of the released generator, 1 to 1.5\\,s, which allow no more than ASP has; "
        "looking further ahead than 15 adds little",
    ),
    Headline(
        "zhao2020",
        "ZipLine plans for 1,000 workers and $R=150$ in 2.4\\,s, far faster than a scan of all candidates",
        _plan_seconds,
        lambda folder: largest_plan(folder) <= 2.4 and scan_ratio(folder, "scan") >= FAR_FASTER,
        "the sweep bisects where the loop as described searches, and runs in Python",
    ),
    Headline(
        "li2021",
        "Sync-Switch has the accuracy of BSP in 19.5\\,\\% of its time, switching early",
        _switch_times,
        lambda folder: (_switch_time(folder, "synchronous_first") or 0) > 1,
        "times of mean curves, on a smaller network at other speeds; ASP alone stands beside it",
    ),
    Headline(
        "wang2017",
        "200 workers: samples of ten keep them nearly as close as BSP does and are faster; ASP is fastest and spreads",
        _steps(_SAMPLED, ("bsp", "pbsp 10", "pbsp 4", "ssp 4", "asp")),
        _sampled_order,
        "exponential steps of mean two seconds are ours",
    ),
    Headline(
        "hu2020",
        r"three edge workers compute most of the time under ADSP (94\,\%), seldom under SSP(40) and BSP (9, 5\,\%)",
        _edge_shares,
        _edge_workers_compute,
        "speeds and links are ours: steps of 1 to 3\\,s, messages of 8\\,s",
    ),
    Headline(
        "chen2023",
        r"OSP raises throughput by up to 50\,\%",
        _ratios(_LINE, (("osp half", "bsp"), ("osp most", "bsp"))),
        _exceeds(_LINE, "osp most", "bsp", 1.5),
        r"the line is as busy as the workers, the best case; twice is the limit (\statement{osp_speed_up})",
    ),
    Headline(
        "chen2020",
        r"balanced batches are up to 54\,\% faster",
        _ratios(_UNEQUAL, (("lb_bsp", "bsp"),)),
        _exceeds(_UNEQUAL, "lb_bsp", "bsp", 1.5),
        "one of four processors half as fast",
    ),
    Headline(
        "wang2022",
        r"groups that change are up to 94\,\% faster than BSP",
        _ratios(_GROUPS, (("ds_sync", "bsp"),)),
        None,
        "the gain comes from links of unequal speed in a known topology; here all lines are alike",
    ),
    Headline(
        "xiong2021",
        "waiting for the fastest neighbours only has linear speed-up in the number of workers",
        _ratios(_GROUPS, (("dybw", "bsp"),)),
        None,
        r"a rate for large numbers of steps (\statement{epoch_speed_up}); only times were measured",
    ),
    Headline(
        "tyagi2023",
        "SelSync trains up to 14 times as fast as BSP at its accuracy",
        _in_races("selsync"),
        None,
        r"with equal workers; messages that take as long as steps allow a factor of two (\statement{selsync_speed_up})",
    ),
    Headline(
        "vora2024",
        "growing groups are better in a given time than both extremes",
        _growing,
        _growing_is_better,
        "paired over seeds; its steps fall too, as those of other orders can (Table~"
        r"\ref{table:switching}), and first versions move by whole steps, which asks for steps tuned for it",
    ),
    Headline(
        "goel2015",
        "barriers at parameters keep sequential correctness and are much faster than BSP",
        lambda folder: (
            f"{_in_races('parameter_database')(folder)}; "
            f"{_ratios(_WORDS, (('parameter database', 'bsp'),))(folder)} where each reads two of the blocks"
        ),
        lambda folder: (
            has_curves_of(folder, "parameter_database", "bsp")
            and _exceeds(_WORDS, "parameter database", "bsp", MUCH_FASTER)(folder)
        ),
        r"judged are equal curves, to the last digit, where each reads every layer, and 1.5 times the steps where each "
        r"reads few blocks (\statement{database_versions}, \statement{database_lead})",
    ),
    Headline(
        "dai2018",
        "staleness harms deeper networks more, and momentum, Adam and RMSProp more than SGD and Adagrad",
        _staleness_order,
        _staleness_holds,
        "judged by means, as seeds of tuned steps are not kept apart; with kept steps the order may be another (Table~"
        r"\ref{table:staleness})",
    ),
    Headline(
        "behfar2026",
        "samples weighted by availability are more robust than uniform ones when devices fail together",
        _in_races("aw_psp"),
        None,
        "measured there by the coverage of classes on recorded telephones",
    ),
    Headline(
        "diskin2021",
        "40 volunteers who come and go train as one traditional cluster does",
        _in_races("dedloc"),
        None,
        "language models over the internet; here the churn of eight workers",
    ),
)


def headline_table(data_folder: Path) -> str:
    r"""The body of a `longtable`: source, claim, ours, verdict and why."""
    rows = (
        f"\\citet{{{headline.source}}} & {headline.claim} & {headline.ours(data_folder)} & "
        f"\\emph{{{headline.verdict(data_folder)}}}: {headline.reason} \\\\\n"
        for headline in HEADLINES
    )
    return "\\addlinespace[2pt]\n".join(rows)


STUDY = Study(
    tables={"headlines.tex": headline_table},
    results=("headlines", "races", "planned_barriers", "switching", "staleness"),
)
