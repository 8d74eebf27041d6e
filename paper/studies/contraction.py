"""What do gradients look like, and what does Top-k lose on them? The study `contraction`: gains, shapes, two figures.

`ladder` sets the bounds of `theory/contraction/ladder.py` against measured relative errors, `profiles` shows the sorted
magnitudes that decide them; the macros quote gains and what small dimensions break. Reads `contraction.json`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from math import sqrt
from pathlib import Path

from matplotlib.figure import Figure

from paper import latex
from paper.results import Result, result
from paper.studies.study import Macro, Study
from paper.style import BLACK, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILION, Look, legend_below, new_figure
from sparsync.theory.statements import STATEMENTS

_OBSERVED = re.compile(r"(?P<kind>[a-z ]+), step (?P<step>\d+)")
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
_SMALLEST_MAGNITUDE = 1e-4
SECOND_RUNG = 2
"""The exponent whose failures in small dimensions the text states."""
DEVIATION_FAILURE = 0.01
"""The probability with which the text lets a Gaussian sample stray further from its law."""


def measured_densities(vector: Result) -> list[float]:
    """k/d of a vector, at the whole counts k that were measured."""
    return [count / vector["dimension"] for count in vector["target_count"]]


def bound_densities(study: Result) -> list[float]:
    """k/d at the whole counts k at which the statements were evaluated."""
    return [count / study["bounds_dimension"] for count in study["bounds_target_count"]]


def law_gain(data_folder: Path, law: str) -> float:
    """δ/κ of a sample of the law at the study's smallest density.

    Raises:
        ValueError: the study holds no such law.
    """
    study = result(data_folder, "contraction")
    by_name = {vector["name"]: vector for vector in study.records("vectors")}
    if law not in by_name:
        raise ValueError(f"{study.path}: no vector {law!r}, only {', '.join(by_name)}")
    return _gain(by_name[law])


def bound_gain(data_folder: Path, label: str) -> float:
    """δ/κ that a statement promises at the study's smallest density."""
    study = result(data_folder, "contraction")
    return float((1 - study.record("bounds")[label][0]) / bound_densities(study)[0])


def observed_vectors(study: Result, kind: str) -> dict[int, Result]:
    """The observed vectors of a kind, by the number of the update, ascending.

    Args:
        study: the content of `contraction.json`.
        kind: "gradient" or "corrected gradient".

    Raises:
        ValueError: the study holds none.
    """
    matches = ((_OBSERVED.fullmatch(vector["name"]), vector) for vector in study.records("vectors"))
    found = {int(match["step"]): vector for match, vector in matches if match and match["kind"] == kind}
    if not found:
        raise ValueError(f"{study.path}: no vector named '{kind}, step …'")
    return dict(sorted(found.items()))


def observed_gains(data_folder: Path, kind: str) -> list[float]:
    """δ/κ at the study's smallest density of every observed vector of a kind.

    The first corrected gradient is left out: nothing has been kept back yet, so it is the first gradient.
    """
    study = result(data_folder, "contraction")
    vectors = observed_vectors(study, kind)
    return [_gain(vector) for step, vector in vectors.items() if (kind, step) != ("corrected gradient", 1)]


def rise_count(vector: Result) -> int:
    """How often π(t)/(1 − t) rises from one recorded rank to the next; 0 if the vector is bell-shaped there."""
    pairs = zip(vector["position"], vector["magnitude"], strict=True)
    quotients = [magnitude / (1 - position) for position, magnitude in pairs]
    return sum(later > earlier for earlier, later in pairwise(quotients))


def observed_rise_count(data_folder: Path) -> int:
    """`rise_count` summed over all observed gradients and corrected gradients."""
    study = result(data_folder, "contraction")
    kinds = ("gradient", "corrected gradient")
    return sum(rise_count(vector) for kind in kinds for vector in observed_vectors(study, kind).values())


def ladder(data_folder: Path) -> Figure:
    """Relative error of Top-k against density, and δ/κ: how many times better than sending random coordinates."""
    study = result(data_folder, "contraction")
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
    study = result(data_folder, "contraction")
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


def _gain(vector: Result) -> float:
    return float((1 - vector["ratio"][0]) / measured_densities(vector)[0])


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


def _gains(data_folder: Path, kind: str) -> str:
    return _enumeration([latex.decimal(gain, 1) for gain in observed_gains(data_folder, kind)])


def _observed_updates(data_folder: Path) -> str:
    updates = observed_vectors(result(data_folder, "contraction"), "gradient")
    return _enumeration([latex.integer(update) for update in updates])


def _enumeration(words: Sequence[str]) -> str:
    """`a, b and c`."""
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def _failure_probability(_data_folder: Path, *, dimension: int) -> str:
    probability = STATEMENTS["small_dimension_failure"].evaluate(d=dimension, q=SECOND_RUNG)
    return latex.decimal(probability, 4)


def _gaussian_deviation(data_folder: Path) -> str:
    dimension = result(data_folder, "contraction")["bounds_dimension"]
    deviation = STATEMENTS["gaussian_sample_ratio"].evaluate(d=dimension, failure=DEVIATION_FAILURE)
    return latex.decimal(deviation, 4)


MACROS: dict[str, Macro] = {
    "SampleDimension": lambda folder: latex.integer(result(folder, "contraction")["bounds_dimension"]),
    "GaussianDeviation": _gaussian_deviation,
    "DeviationFailure": lambda _folder: latex.shortest(DEVIATION_FAILURE),
    **{
        f"FailureIn{word}": partial(_failure_probability, dimension=dimension)
        for word, dimension in {"Two": 2, "Three": 3}.items()
    },
    "ObservedUpdates": _observed_updates,
    "LadderDensity": lambda folder: latex.shortest(result(folder, "contraction")["density"][0]),
    "BellShapedGain": lambda folder: latex.decimal(bound_gain(folder, "bell_shaped"), 1),
    "UniformGain": lambda folder: latex.decimal(law_gain(folder, "uniform"), 1),
    "GaussianGain": lambda folder: latex.decimal(law_gain(folder, "gaussian"), 1),
    "LaplaceGain": lambda folder: latex.decimal(law_gain(folder, "laplace"), 1),
    "GradientGains": lambda folder: _gains(folder, "gradient"),
    "CorrectedGains": lambda folder: _gains(folder, "corrected gradient"),
    "ObservedRises": lambda folder: latex.integer(observed_rise_count(folder)),
}

STUDY = Study(macros=MACROS, figures={"ladder": ladder, "profiles": profiles}, results=("contraction",))
