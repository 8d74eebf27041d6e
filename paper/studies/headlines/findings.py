"""What other studies say of headlines: races, switching, plans of barriers, late updates, and steps over links."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

from paper import latex
from paper.comparisons import UNKNOWN, ratio, ratio_phrase
from paper.results import result
from paper.studies.barriers import scan_ratio, timing_rows
from paper.studies.convergence.runs import LEAST_SEEDS
from paper.studies.headlines.headline import NoYes
from paper.studies.links.times import MODELS, Links
from paper.studies.races.study import gain_in_words
from paper.studies.races.times import CLUSTERS, SELECTORS, end_accuracies, runs
from paper.studies.staleness_runs import OPTIMISERS, SIZES, best_multiple, setting_of
from paper.studies.switching import LESS, MORE, against_ends, switch_shares, time_ratio
from sparsync.verify.tools.intervals import Estimate, compared, paired_difference


def race_ends(data_folder: Path, policy: str, others: tuple[str, ...]) -> list[str]:
    """For each cluster and sending: is a policy's accuracy at the end above that of all others, or below one's?

    One of `MORE` and `LESS`, if it is sure by the differences seed by seed, and `UNKNOWN`.
    """
    study = result(data_folder, "races")
    said = []
    for cluster in CLUSTERS:
        for selector in SELECTORS:
            own, *rest = (end_accuracies(study, name, cluster, selector) for name in (policy, *others))
            words = {compared(paired_difference(own, other), more=MORE, less=LESS) for other in rest}
            said.append(LESS if LESS in words else UNKNOWN if UNKNOWN in words else MORE)
    return said


def has_curves_of(data_folder: Path, policy: str, other: str) -> bool:
    """Does a policy have the other's accuracies, digit by digit, in every race?"""
    study = result(data_folder, "races")

    def curves(name: str) -> list[list[float]]:
        places = ((name, cluster, selector) for cluster in CLUSTERS for selector in SELECTORS)
        return [row["accuracy"] for place in places for row in runs(study, *place)]

    return curves(policy) == curves(other)


def _factor(value: float | None) -> str:
    return "never" if value is None else latex.decimal(value, 2)


def in_races(policy: str) -> Callable[[Path], str]:
    """Time of BSP to the target over its own, dense, by cluster."""

    def text(data_folder: Path) -> str:
        study = result(data_folder, "races")
        gains = (f"{gain_in_words(study, policy, name, 'none')} ({title})" for name, title in CLUSTERS.items())
        return "time of BSP over its own: " + ", ".join(gains)

    return text


_GROWING = "asynchronous_first_falling"
"""The order of the study `switching` that has the weights of `smooth_switch`."""
_RACE_WORDS = {MORE: "more than both", LESS: "less than one", UNKNOWN: UNKNOWN}


def growing_wins(data_folder: Path) -> dict[float, dict[str, int]]:
    """By share of the barrier: in how many places growing groups end with less error than both extremes, or do not."""
    shares = switch_shares(result(data_folder, "switching"))
    said = {share: against_ends(data_folder, _GROWING, share) for share in shares}
    return {share: {word: said[share].count(word) for word in (LESS, MORE, UNKNOWN)} for share in shares}


def growing(data_folder: Path) -> str:
    """How often growing groups end with less error than both extremes, with tuned steps; and in the races."""
    cells = (
        f"with {latex.shortest(100 * share)}\\,\\% of barrier less than both in {latex.integer(found[LESS])} cases, "
        f"more than one in {latex.integer(found[MORE])}, {UNKNOWN} in {latex.integer(found[UNKNOWN])}"
        for share, found in growing_wins(data_folder).items()
    )
    ends = race_ends(data_folder, "smooth_switch", ("bsp", "asp"))
    races = ", ".join(f"{words} in {ends.count(word) or 'none'}" for word, words in _RACE_WORDS.items())
    return f"error at the end, each step size tuned: {'; '.join(cells)}; accuracy in the races: {races}"


def growing_is_better(data_folder: Path) -> NoYes:
    """In most of the places and shares at which every step size is tuned; no, if it surely fails in half of them.

    Not known from few seeds.
    """
    if _has_few_seeds(data_folder, "switching"):
        return None
    counts = growing_wins(data_folder).values()
    count = sum(sum(found.values()) for found in counts)
    less, more = (sum(found[word] for found in counts) for word in (LESS, MORE))
    return True if 2 * less > count else False if 2 * more >= count else None


def largest_plan(data_folder: Path) -> float:
    """Seconds of the sweep for the most workers, looking furthest ahead."""
    timings = timing_rows(result(data_folder, "planned_barriers"), "sweep")
    return max(float(timing["wall_seconds"]) for timing in timings)


SELECTING_FASTER = 1.19
"""As fast as dense steps, at least, those of Gaussian-k are said to be."""
_DENSE, _SELECTING = "loop keep_all, dense", "loop gaussian_k 0.01, sparse"
"""Ways of sending in the study of links, on the same road."""


def plan_seconds(data_folder: Path) -> str:
    """Of the largest plan, and how many times as long a scan of all candidates takes."""
    workers = latex.integer(timing_rows(result(data_folder, "planned_barriers"), "scan")[-1]["workers"])
    ratio = latex.decimal(scan_ratio(data_folder, "scan"), 0)
    return (
        f"{latex.decimal(largest_plan(data_folder), 2)}\\,s; a scan takes {ratio} times as long for {workers} workers"
    )


def switch_time(data_folder: Path, order: str) -> float | None:
    """BSP's time to the error of its end over that of others, with the smallest share of a barrier or none."""
    share = 0.0 if order == "asp" else min(switch_shares(result(data_folder, "switching")))
    return time_ratio(data_folder, "network", "one_slow", order, share)


def switching_is_faster(data_folder: Path) -> NoYes:
    """Sooner at BSP's error than BSP; not known from few seeds."""
    if _has_few_seeds(data_folder, "switching"):
        return None
    return (switch_time(data_folder, "synchronous_first") or 0) > 1


def _has_few_seeds(data_folder: Path, study: str) -> bool:
    return int(result(data_folder, study)["seed_count"]) < LEAST_SEEDS


def switch_times(data_folder: Path) -> str:
    """Those of Sync-Switch, and of no barrier at all."""
    orders = {"synchronous_first": "synchronous first", "asp": "asp"}
    cells = (f"{words} {_factor(switch_time(data_folder, order))}" for order, words in orders.items())
    return "time of BSP to the error of its end over their own, one slow worker: " + ", ".join(cells)


def _stale_steps(data_folder: Path) -> dict[str, float]:
    """Steps at s = 4 over those at s = 0, at the best of a few step sizes; infinite if the target was not reached."""
    found = {word: best_multiple(setting_of(data_folder, setting), 4) for word, setting in (OPTIMISERS | SIZES).items()}
    return {word: math.inf if steps is None else steps for word, steps in found.items()}


def staleness_order(data_folder: Path) -> str:
    """Of every network and optimiser that the headline is about."""
    words = {"Shallow": "no hidden layer", "Deep": "four", "Sgd": "SGD", "Adagrad": "Adagrad", "Rmsprop": "RMSProp"}
    words |= {"Momentum": "momentum", "Adam": "Adam"}
    steps = _stale_steps(data_folder)
    cells = (f"{title} {_factor(None if steps[word] == math.inf else steps[word])}" for word, title in words.items())
    return "steps at $s=4$ over those at $s=0$, each at the best step size tried: " + ", ".join(cells)


def staleness_holds(data_folder: Path) -> NoYes:
    """More layers need more, and momentum, Adam and RMSProp each more than both others; not known from few seeds."""
    if _has_few_seeds(data_folder, "staleness"):
        return None
    steps = _stale_steps(data_folder)
    robust = max(steps["Sgd"], steps["Adagrad"])
    return steps["Deep"] > steps["Shallow"] and min(steps["Momentum"], steps["Adam"], steps["Rmsprop"]) > robust


def selecting_gains(found: Links, rate: float) -> dict[str, Estimate]:
    """By network: the logarithm of a dense step's seconds over those with Gaussian-k, paired over rounds."""
    pairs = {model: [found.cells.get((model, way, rate)) for way in (_DENSE, _SELECTING)] for model in found.models}
    return {
        model: ratio(dense["round_seconds"], selecting["round_seconds"])
        for model, (dense, selecting) in pairs.items()
        if dense is not None and selecting is not None
    }


def selecting(data_folder: Path) -> str:
    """At the largest rate with intervals, at the others from the least network to the largest; and the accuracy."""
    found = Links(data_folder)
    if not found.cells:
        return "not run"
    *slower, fastest = found.rates
    said = [f"{MODELS[model]} {ratio_phrase(gain)}" for model, gain in selecting_gains(found, fastest).items()]
    cells = [f"dense over Gaussian-$k$ steps at {latex.shortest(fastest)}\\,Mbit/s: {', '.join(said)}"]
    for rate in reversed(slower):
        factors = sorted(math.exp(gain.value) for gain in selecting_gains(found, rate).values())
        cells += [f"at {latex.shortest(rate)} {_factor(factors[0])} to {_factor(factors[-1])}" for _ in factors[:1]]
    reached = {model: found.steps(model, _SELECTING) or () for model in found.models}
    counts = (
        f"{MODELS[model]} on {latex.integer(sum(step is not None for step in steps))} of {latex.integer(len(steps))}"
        for model, steps in reached.items()
    )
    return f"{'; '.join(cells)}; seeds on which dense training's accuracy is reached: {', '.join(counts)}"


def selecting_is_faster(data_folder: Path) -> NoYes:
    """By the least factor announced, for every network, at the rate that is nearest to the published one."""
    found, least = Links(data_folder), math.log(SELECTING_FASTER)
    gains = list(selecting_gains(found, found.rates[-1]).values()) if found.cells else []
    if any(gain.high < least for gain in gains):
        return False
    return True if gains and all(gain.low >= least for gain in gains) else None
