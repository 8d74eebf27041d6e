"""One figure for each question about races: dots with intervals, a line for each policy, the best above.

Where policies are compared with BSP a dot is full if the interval is on one side; a hollow one is inconclusive.
Policies have the colour of what they have in common.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import NullFormatter, NullLocator

from paper.results import Result, result
from paper.studies.races.times import CLUSTERS, REFERENCE, SELECTORS, at_target, gain, lead, policies, reached_count
from paper.style import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILION, new_figure
from sparsync.verify.tools.intervals import Estimate, mean

QUESTIONED = "one_slow"
"""The cluster that is looked at first."""
_LINE_INCHES = 0.125
_MEGABYTE = 1e6


@dataclass(frozen=True)
class Group:
    """Policies that have something in common.

    Args:
        title: what.
        colour: of their dots.
        members: keys of `POLICIES`.
    """

    title: str
    colour: str
    members: tuple[str, ...]


GROUPS = (
    Group("full barrier, or none", BLACK, ("bsp", "asp")),
    Group("bounded lead", BLUE, ("ssp", "dssp", "dssp_printed")),
    Group("planned or sampled barrier", GREEN, ("elastic_bsp", "pbsp", "pssp", "aw_psp")),
    Group("the late relieved or left out", VERMILION, ("backup", "lb_bsp", "dedloc")),
    Group("rarer or split messages", ORANGE, ("local_sgd", "adsp", "selsync", "osp", "parameter_database")),
    Group("groups that mix", PURPLE, ("dybw", "ds_sync")),
    Group("a change of rule", SKY, ("sync_switch", "smooth_switch")),
)
"""A policy in none of them is grey."""


def colour_of(policy: str) -> str:
    """That of its group."""
    return next((group.colour for group in GROUPS if policy in group.members), GREY)


def order(study: Result) -> list[str]:
    """The policies, the earliest first, sending all where one worker is slow; then those that do not get there."""
    gains = {policy: gain(study, policy, QUESTIONED, "none") for policy in policies(study)}
    return sorted(gains, key=lambda policy: -_value(gains[policy]))


def race_speed(data_folder: Path) -> Figure:
    """Who is early where one worker is slow? BSP's time over each policy's, dense and with Top-k."""
    return _speeds(data_folder, [(QUESTIONED, selector, title) for selector, title in SELECTORS.items()])


def race_clusters(data_folder: Path) -> Figure:
    """What do other clusters change? The same ratio for dense messages, a panel for each of them."""
    return _speeds(data_folder, [(name, "none", title) for name, title in CLUSTERS.items() if name != QUESTIONED])


def race_bytes(data_folder: Path) -> Figure:
    """Who sends least until the target, where one worker is slow? MB of all workers, dense and with Top-k."""
    study = result(data_folder, "races")
    sent = {
        selector: {policy: at_target(study, (policy, QUESTIONED, selector), "sent_bytes") for policy in policies(study)}
        for selector in SELECTORS
    }
    lines = sorted(policies(study), key=lambda policy: _mean_or_infinity(sent["none"][policy]))
    figure = _lined_figure(study, len(lines))
    panels = figure.subplots(1, len(SELECTORS), sharey=True)
    for axes, (selector, title) in zip(panels, SELECTORS.items(), strict=True):
        for line, policy in enumerate(lines):
            found = sent[selector][policy]
            if found is None:
                _absent(axes, line, study, (policy, QUESTIONED, selector))
            else:
                _dot(axes, line, mean([value / _MEGABYTE for value in found]), colour_of(policy), is_full=True)
        axes.set(title=title, xlabel="MB sent by all workers")
        axes.set_xlim(left=0)
    _name_lines(panels[0], lines)
    _legend(figure, lines)
    return figure


def race_finals(data_folder: Path) -> Figure:
    """Is it the same on a convolutional network? Points of the six best above BSP, in the mean over a race."""
    small, final = result(data_folder, "races"), result(data_folder, "race_finals")
    chosen = [str(policy) for policy in final["finalists"]]
    figure = _lined_figure(final, len(chosen))
    panels = figure.subplots(1, 2, sharey=True)
    cluster, selector = QUESTIONED, "none"
    for axes, study in zip(panels, (small, final), strict=True):
        for line, policy in enumerate(chosen):
            estimate = lead(study, policy, cluster, selector)
            _dot(axes, line, estimate, colour_of(policy), is_full=not estimate.holds_zero)
        axes.axvline(0, color=GREY, linewidth=0.6)
        race = study.record("race")
        axes.set(title=f"{race['model']}, {race['workers']} workers", xlabel="points above BSP")
    _name_lines(panels[0], chosen)
    _legend(figure, chosen)
    return figure


def _speeds(data_folder: Path, places: Sequence[tuple[str, str, str]]) -> Figure:
    """A panel for each cluster and selector with its title: how many times as early as BSP a policy is."""
    study = result(data_folder, "races")
    lines = [policy for policy in order(study) if policy != REFERENCE]
    figure = _lined_figure(study, len(lines))
    panels = figure.subplots(1, len(places), sharex=True, sharey=True, squeeze=False)[0]
    for axes, (cluster, selector, title) in zip(panels, places, strict=True):
        for line, policy in enumerate(lines):
            found = gain(study, policy, cluster, selector)
            if found is None:
                _absent(axes, line, study, (policy, cluster, selector))
            else:
                _dot(axes, line, _factor(found), colour_of(policy), is_full=not found.holds_zero)
        axes.axvline(1, color=GREY, linewidth=0.6)
        axes.set(title=title, xlabel="times as early as BSP")
    _ratio_axis(panels[0])
    _name_lines(panels[0], lines)
    _legend(figure, lines)
    return figure


def _ratio_axis(axes: Axes) -> None:
    axes.set_xscale("log", base=2)
    low, high = axes.get_xlim()
    ticks = [tick for tick in (0.25, 0.35, 0.5, 0.7, 1, 1.4, 2, 2.8, 4) if low <= tick <= high]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_minor_formatter(NullFormatter())


def _lined_figure(study: Result, line_count: int) -> Figure:
    return new_figure(1.25 + _LINE_INCHES * line_count, profile=study["profile"])


def _name_lines(axes: Axes, names: Sequence[str]) -> None:
    """The first above."""
    axes.set_yticks(range(len(names)), names, family="monospace", fontsize=7)
    axes.set_ylim(len(names) - 0.4, -0.6)


def _dot(axes: Axes, line: int, estimate: Estimate, colour: str, *, is_full: bool) -> None:
    """One seed says nothing of the spread: there is no bar."""
    if math.isfinite(estimate.low) and math.isfinite(estimate.high):
        axes.plot([estimate.low, estimate.high], [line, line], color=colour, linewidth=0.9)
    axes.plot(
        [estimate.value],
        [line],
        color=colour,
        marker="o",
        markersize=4,
        markerfacecolor=colour if is_full else "white",
        markeredgewidth=0.9,
        linestyle="none",
    )


def _absent(axes: Axes, line: int, study: Result, place: tuple[str, str, str]) -> None:
    words = f"there on {reached_count(study, place)} of {study['seed_count']} seeds"
    axes.text(0.5, line, words, transform=axes.get_yaxis_transform(), color=GREY, fontsize=6, va="center", ha="center")


def _legend(figure: Figure, names: Sequence[str]) -> None:
    """The groups that are there."""
    handles = [
        Line2D([], [], color=group.colour, marker="o", linestyle="none", markersize=4, label=group.title)
        for group in GROUPS
        if set(group.members) & set(names)
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=4, handlelength=1, columnspacing=1.2)


def _factor(logarithm: Estimate) -> Estimate:
    value, low, high = (math.exp(min(part, 700.0)) for part in (logarithm.value, logarithm.low, logarithm.high))
    return Estimate(value, low, high if math.isfinite(logarithm.high) else math.inf, logarithm.count)


def _value(estimate: Estimate | None) -> float:
    return -math.inf if estimate is None else estimate.value


def _mean_or_infinity(values: Sequence[float] | None) -> float:
    return math.inf if values is None else fmean(values)
