"""Which rung holds for which law? The phase diagram: exponent classes over density and the law's parameter.

Reads `phases.json`. A law's class at a density is the largest of 1, 2, 3 whose bound (1 − κ)^r its exact ratio keeps.
"""

from __future__ import annotations

from math import log10
from pathlib import Path

from matplotlib.colors import BoundaryNorm, ListedColormap
from matplotlib.figure import Figure

from paper.results import result
from paper.studies.study import Study
from paper.style import new_figure

TITLES = {
    "shifted gaussian": ("Gaussian with a mean", "mean, in standard deviations"),
    "gamma": ("gamma magnitudes", "shape"),
    "weibull": ("Weibull magnitudes", "shape"),
}
"""Title and axis of each family."""
RUNGS = (1, 2, 3)
_COLOURS = ("#D55E00", "#F0E442", "#009E73")


def phases(data_folder: Path) -> Figure:
    """The largest exponent of the ladder that holds, for each law and density."""
    study = result(data_folder, "phases")
    figure = new_figure(2.7, profile=study["profile"])
    families = study["families"]
    mesh = None
    for axes, (name, family) in zip(figure.subplots(1, len(families), sharey=True), families.items(), strict=True):
        classes = [[rung(exponent) for exponent in row] for row in family["exponent"]]
        title, label = TITLES.get(name, (name, family["parameter"]))
        mesh = axes.pcolormesh(
            family["value"],
            [log10(density) for density in study["density"]],
            list(zip(*classes, strict=True)),
            cmap=ListedColormap(_COLOURS),
            norm=BoundaryNorm([0.5, 1.5, 2.5, 3.5], len(_COLOURS)),
            shading="nearest",
            rasterized=True,
        )
        axes.grid(visible=False)
        axes.set(title=title, xlabel=label)
        if family["parameter"] == "shape":
            axes.set_xscale("log", base=2)
            axes.xaxis.set_major_formatter("{x:g}")
        axes.set_yticks([-3, -2, -1], ["$10^{-3}$", "$10^{-2}$", "$10^{-1}$"])
    figure.axes[0].set_ylabel(r"density $\kappa$")
    if mesh is not None:
        bar = figure.colorbar(mesh, ax=figure.axes, ticks=list(RUNGS))
        bar.set_ticklabels([rf"$(1-\kappa)^{{{exponent}}}$" for exponent in RUNGS])
        bar.set_label("strongest bound that holds")
    return figure


def rung(exponent: float) -> int:
    """The largest of 1, 2, 3 that is at most the effective exponent, 1 holding always.

    A law that attains a rung has its exponent up to rounding: at densities of 0.001 and more, where ln ε is at least
    0.001, a ratio correct to 2⁻⁵³ gives the exponent to 1e-12.
    """
    return max(candidate for candidate in RUNGS if candidate == 1 or exponent >= candidate * (1 - 1e-12))


STUDY = Study(figures={"phases": phases}, results=("phases",))
