"""What do gradients look like, and what does Top-k lose on them? The two figures of the study `contraction`.

Both read `contraction.json`: `ladder` sets the bounds of `theory/contraction/ladder.py` against measured relative
errors, `profiles` shows the sorted magnitudes that decide them.
"""

from __future__ import annotations

import re
from math import sqrt
from pathlib import Path

from matplotlib.figure import Figure

from paper.results import Result, contraction_result
from paper.studies.study_facts import bound_densities, measured_densities
from paper.style import BLACK, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILION, Look, legend_below, new_figure

BOUNDS: dict[str, Look] = {
    "top_k": Look(r"any vector: $1-\kappa$", BLACK, (0, (1, 1))),
    "square_convex": Look(r"squares convex: $(1-\kappa)^2$", BLACK, (0, (4, 1.5))),
    "bell_shaped": Look(r"bell-shaped: $(1-\kappa)^3$", BLACK),
}
"""By statement. `random_k` equals `top_k`, and at these dimensions the discrete statements equal the drawn ones."""

LAWS: dict[str, Look] = {
    "uniform": Look("uniform sample", ORANGE, (0, (5, 2))),
    "gaussian": Look("Gaussian sample", SKY, (0, (3, 1))),
    "laplace": Look("Laplace sample", PURPLE, (0, (5, 1, 1, 1))),
}
GRADIENTS: dict[str, Look] = {
    "gradient": Look("gradient", GREY, (0, (1.5, 1))),
    "corrected gradient": Look("corrected gradient", GREEN),
}
"""By what stands before the comma in the names of the observed vectors: "corrected gradient, step 600"."""

DIFFERENCE_OF_NORMS = Look("Gaussian sample, wrong formula", VERMILION, (0, (1, 1)))
"""What a public plotting script draws under the name of the exact relative error."""

_OBSERVED = re.compile(r"(?P<kind>[a-z ]+), step (?P<step>\d+)")
_SMALLEST_MAGNITUDE = 1e-4


def ladder(data_folder: Path) -> Figure:
    """Relative error of Top-k against density, and δ/κ: how many times better than sending random coordinates."""
    study = contraction_result(data_folder)
    figure = new_figure(3.2, profile=study["profile"])
    ratio_axes, gain_axes = figure.subplots(1, 2)
    for look, density, ratio in _curves(study):
        ratio_axes.plot(density, ratio, **look.line)
        gain_axes.plot(density, [(1 - r) / share for share, r in zip(density, ratio, strict=True)], **look.line)
    gaussian = next(vector for vector in study.records("vectors") if vector["name"] == "gaussian")
    plotted = [difference_of_norms(ratio) for ratio in gaussian["ratio"]]
    ratio_axes.plot(measured_densities(gaussian), plotted, **DIFFERENCE_OF_NORMS.line)
    ratio_axes.set(ylabel=r"relative error $\|u-\mathrm{Top}_k(u)\|^2/\|u\|^2$", ylim=(0, 1.02))
    gain_axes.set(ylabel=r"$\delta/\kappa$, the gain over random coordinates", yscale="log")
    for axes in (ratio_axes, gain_axes):
        axes.set(xlabel=r"density $\kappa=k/d$", xscale="log", xlim=(9e-4, 1))
    legend_below(figure, ratio_axes, columns=3)
    return figure


def profiles(data_folder: Path) -> Figure:
    """Sorted squares and magnitudes, the largest being 1, with the line 1 − t of their class."""
    study = contraction_result(data_folder)
    figure = new_figure(3.0, profile=study["profile"])
    square_axes, magnitude_axes = figure.subplots(1, 2)
    for axes in (square_axes, magnitude_axes):
        share = [index / 200 for index in range(200)]
        axes.plot(share, [1 - t for t in share], label="$1-t$", color=BLACK, linewidth=0.8)
        axes.set(xlabel="rank $t$ as a share of the coordinates", xlim=(0, 1))
    for look, vector in drawn_vectors(study):
        position, magnitude = vector["position"], vector["magnitude"]
        square_axes.plot(position, [value**2 for value in magnitude], **look.line)
        magnitude_axes.plot(position, magnitude, **look.line)
    square_axes.set(ylabel=r"square $\pi^2(t)$, the largest being 1", ylim=(0, 1.02))
    magnitude_axes.set(ylabel=r"magnitude $\pi(t)$, the largest being 1", yscale="log", ylim=(_SMALLEST_MAGNITUDE, 1.1))
    legend_below(figure, square_axes, columns=3)
    return figure


def difference_of_norms(ratio: float) -> float:
    """(‖u‖ − ‖Top_k(u)‖)²/‖u‖² = (1 − √(1 − ε))², which is smaller than the relative error ε of the same vector."""
    return (1 - sqrt(1 - ratio)) ** 2


def drawn_vectors(study: Result) -> list[tuple[Look, Result]]:
    """Every vector of the study with its look, a legend's title at the first of each kind only.

    The first corrected gradient is left out: nothing has been kept back yet, so it is the first gradient.

    Raises:
        ValueError: a vector's name is neither a law nor "<kind of gradient>, step <number>".
    """
    looked = ((_look(study, vector["name"]), vector) for vector in study.records("vectors"))
    seen: set[str] = set()
    drawn = []
    for look, vector in looked:
        if vector["name"] == "corrected gradient, step 1":
            continue
        title = "_nolegend_" if look.title in seen else look.title
        seen.add(look.title)
        drawn.append((Look(title, look.colour, look.dash), vector))
    return drawn


def _curves(study: Result) -> list[tuple[Look, list[float], list[float]]]:
    """Look, densities and relative errors of every bound and vector, the bounds first."""
    bounds = study.record("bounds")
    bound_density = bound_densities(study)
    drawn = [(look, bound_density, bounds[label]) for label, look in BOUNDS.items()]
    return drawn + [(look, measured_densities(vector), vector["ratio"]) for look, vector in drawn_vectors(study)]


def _look(study: Result, name: str) -> Look:
    observed = _OBSERVED.fullmatch(name)
    looks = {**LAWS, **GRADIENTS}
    key = observed["kind"] if observed else name
    if key not in looks:
        raise ValueError(f"{study.path}: unknown vector {name!r}; known: {', '.join(looks)}")
    return looks[key]
