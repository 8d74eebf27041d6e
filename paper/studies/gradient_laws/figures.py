"""Which shapes have gradients, with and without error feedback? Three figures of the study `gradient_laws`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import exp, nan, pi, sqrt
from pathlib import Path
from statistics import fmean

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator

from paper.results import Result, result
from paper.studies.gradient_laws.runs import KINDS, MODELS, NAME, NOT_RUN, runs_of
from paper.style import BLACK, GREY, Look, legend_below, new_figure
from sparsync.theory.statements import STATEMENTS

EARLY = 2
"""Which of the observations is drawn as early, from 0."""
RUNGS = {
    "square_convex": Look(r"$(1-\kappa)^2$", BLACK, (0, (4, 1.5))),
    "bell_shaped": Look(r"$(1-\kappa)^3$", BLACK),
}
STEADY = {"steady_drift": Look("persistent", GREY, (0, (4, 1.5))), "steady_noise": Look("noise", GREY)}
GAUSSIAN = Look("Gaussian law", GREY, (0, (1, 1)))
WINDOW_RATIO = 1.25
_REFERENCE = [place / 20 for place in range(-160, 161)]
_SMALLEST_DENSITY, _SMALLEST_SQUARE = 1e-6, 1e-10


def gradient_histograms(data_folder: Path) -> Figure:
    """Densities of the entries, in standard deviations: early and late, without feedback and with it."""
    study = result(data_folder, NAME)
    figure = new_figure(4.0, profile=study["profile"])
    rows = figure.subplots(2, 2, sharex=True, sharey=True)
    for line, place, when in zip(rows, (EARLY, -1), ("early", "late"), strict=True):
        for axes, kind in zip(line, KINDS, strict=True):
            for model, run in runs_of(data_folder, kind).items():
                observation = run.records("observations")[place]
                axes.plot(*_density(study, observation), **MODELS[model].line)
            normal = [exp(-(at**2) / 2) / sqrt(2 * pi) for at in _REFERENCE]
            axes.plot(_REFERENCE, normal, color=BLACK, linewidth=0.8, label="normal law")
            axes.set(yscale="log", ylim=(_SMALLEST_DENSITY, 30), xlim=(-8, 8), title=f"{KINDS[kind]}, {when}")
        line[0].set_ylabel("density")
    for axes in rows[-1]:
        axes.set_xlabel("entry, in standard deviations")
    legend_below(figure, rows[0][0], columns=4)
    return figure


def rank_curves(data_folder: Path) -> Figure:
    """The squares in the order of their size, the largest being 1, and the line 1 − t; at the last update."""
    study = result(data_folder, NAME)
    figure = new_figure(2.9, profile=study["profile"])
    panels = figure.subplots(1, 2, sharey=True)
    for axes, kind in zip(panels, KINDS, strict=True):
        for model, run in runs_of(data_folder, kind).items():
            squares = [value**2 for value in run.records("observations")[-1]["magnitude"]]
            positions = [(rank - 1) / run["parameter_count"] for rank in run["rank"]]
            axes.plot(positions, [square / squares[0] for square in squares], **MODELS[model].line)
        share = [place / 200 for place in range(200)]
        axes.plot(share, [1 - t for t in share], label="$1-t$", color=BLACK, linewidth=0.8)
        axes.set(yscale="log", ylim=(_SMALLEST_SQUARE, 2), xlim=(0, 1), title=KINDS[kind])
        axes.set_xlabel("rank $t$ as a share of the entries")
    panels[0].set_ylabel(r"square $\pi^2(t)$, the largest being 1")
    legend_below(figure, panels[0], columns=4)
    return figure


def measured_contraction(data_folder: Path) -> Figure:
    """The gain δ/κ against density at the last update, both ways; and with feedback over training."""
    study = result(data_folder, NAME)
    figure = new_figure(3.3, profile=study["profile"])
    dense, top_k, course = figure.subplots(1, 3, sharey=True)
    for axes, kind in ((dense, "dense"), (top_k, "top_k")):
        runs = runs_of(data_folder, kind)
        for model, run in runs.items():
            axes.plot(_densities(study, run), gains(study, run), **MODELS[model].line)
        _draw_bounds(axes, study, next(iter(runs.values()), None))
        axes.set(xscale="log", xlabel=r"density $\kappa$", title=KINDS[kind])
    for label, look in STEADY.items():
        gain = study["steady_gain"][label]
        top_k.plot(study["densities"], gain, **{**look.line, "label": "_nolegend_"})
        own = study["own_steady_gain"][label]
        course.axhline(own, color=look.colour, linestyle=look.dash, linewidth=0.8)
        course.annotate(look.title, (0.01, own), xycoords=("axes fraction", "data"), va="top", fontsize=7)
    for model, run in runs_of(data_folder, "top_k").items():
        steps, means = windowed(run["series"]["step"], run["series"]["gain"])
        course.plot([step * study["density"] for step in steps], means, **MODELS[model].line)
    course.set(xscale="log", xlabel=r"update times $\kappa$", title="with feedback, over training")
    dense.set_ylabel(r"gain $\delta/\kappa$")
    dense.set_yscale("log")
    dense.yaxis.set(major_locator=FixedLocator([1, 3, 6, 10, 30, 100, 300, 1000]), major_formatter="{x:g}")
    dense.yaxis.set_minor_locator(NullLocator())
    legend_below(figure, dense, columns=5)
    return figure


def gains(study: Result, run: Result) -> list[float]:
    """δ/κ of the last observation at each density."""
    errors = run.records("observations")[-1]["relative_error"]
    return [(1 - error) / kappa for error, kappa in zip(errors, _densities(study, run), strict=True)]


def windowed(steps: Sequence[int], values: Sequence[float]) -> tuple[list[int], list[float]]:
    """Means over windows that grow with the step, each at its last: early and late ones look alike on a log axis."""
    ends: list[int] = []
    means: list[float] = []
    held: list[float] = []
    for step, value in zip(steps, values, strict=True):
        held.append(value)
        if not ends or step >= WINDOW_RATIO * ends[-1] or step == steps[-1]:
            ends.append(step)
            means.append(fmean(held))
            held = []
    return ends, means


def _densities(study: Result, run: Result) -> list[float]:
    """k/d with the whole k that the densities of the study stand for."""
    d = run["parameter_count"]
    return [max(1, round(kappa * d)) / d for kappa in study["densities"]]


def _draw_bounds(axes: Axes, study: Result, run: Result | None) -> None:
    if run is None:
        axes.text(0.5, 0.5, NOT_RUN, ha="center", transform=axes.transAxes)
        return
    densities = _densities(study, run)
    for label, look in RUNGS.items():
        axes.plot(densities, _gains_of(run["bounds"][label], densities), **look.line, linewidth=0.9)
    gaussian = [STATEMENTS["gaussian_law"].evaluate(kappa=kappa) for kappa in densities]
    axes.plot(densities, _gains_of(gaussian, densities), **GAUSSIAN.line, linewidth=0.9)


def _gains_of(errors: Sequence[float], densities: Sequence[float]) -> list[float]:
    return [(1 - error) / kappa for error, kappa in zip(errors, densities, strict=True)]


def _density(study: Result, observation: Result) -> tuple[list[float], list[float]]:
    """Middles of the bins, and the density in them; none where a bin is empty, as its logarithm has no place."""
    edges = study["edges_deviations"]
    bins = list(pairwise(edges))
    shares = zip(observation["histogram"], bins, strict=True)
    densities = [share / (high - low) if share else nan for share, (low, high) in shares]
    return [(low + high) / 2 for low, high in bins], densities
