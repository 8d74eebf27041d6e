"""What does a density cost, and does a model of the lag know before? The study `density_costs`; steps of `variants`.

Drawn are predictions from dense gradients against what Top-k did, by density: the lag, and the test loss above dense;
and the best step sizes of FNN-3 with and without momentum.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper import latex
from paper.comparisons import difference_phrase
from paper.results import Result, result
from paper.studies.study import Macro, Study
from paper.style import BLUE, GREEN, GREY, PURPLE, VERMILION, legend_below, new_figure
from sparsync.verify.tools.intervals import Estimate, mean, paired_difference

NAME = "density_costs"
NOT_RUN = "not run"
DENSITIES = (0.001, 0.005, 0.01, 0.05)
"""At which Top-k was run."""
NOTHING = "none"
"""Where no run has a lag, since nothing persists or all diverged."""
SOURCE = "point"
"""Of the gradients that the text's predictions are from."""


@dataclass(frozen=True)
class Shown:
    """A comparison of the study.

    Args:
        title: in the figure.
        model: as the study names it.
        share: of the best step size.
        colour: of its marks.
    """

    title: str
    model: str
    share: float
    colour: str


SHOWN = {
    "Fnn": Shown("FNN-3", "fnn3", 1.0, BLUE),
    "Slow": Shown(r"FNN-3, $\eta/8$", "fnn3", 0.125, GREEN),
    "Resnet": Shown("ResNet-20", "resnet20", 1.0, VERMILION),
    "Gpt": Shown("GPT", "gpt", 1.0, PURPLE),
}
"""By the word in the names of macros."""
METHOD_WORDS: dict[str, tuple[str, float | None]] = {
    "Dense": ("dense", None),
    "Hundredth": ("ef14", 0.01),
    "Thousandth": ("ef14", 0.001),
    "Dgc": ("dgc", 0.001),
}
"""Methods of the study of variants, with momentum."""
MOMENTUM_WORDS = {"Plain": 0.0, "Heavy": 0.9}


def network(study: Result, shown: Shown) -> Result | None:
    """Of a comparison what the study found; None if that was not run."""
    rows = [row for row in study.records("networks") if (row["model"], row["step_share"]) == (shown.model, shown.share)]
    return rows[0] if rows else None


def at_density(study: Result, shown: Shown, density: float) -> Mapping[str, Any] | None:
    """Of a comparison and a density what the study found."""
    found = network(study, shown)
    rows = [] if found is None else [row for row in found["densities"] if row["density"] == density]
    return rows[0] if rows else None


def known(values: Sequence[float | None]) -> list[float]:
    """What there is."""
    return [value for value in values if value is not None]


def missed(row: Mapping[str, Any]) -> Estimate | None:
    """The measured loss above dense less the predicted one, seed by seed; None where some are missing."""
    predicted, measured = row[SOURCE]["predicted"], row["measured"]
    if None in (*predicted, *measured):
        return None
    return paired_difference(measured, predicted)


def agreements(data_folder: Path) -> str:
    """`3 of 16`: from how many predictions the measured loss cannot be told, of all comparisons."""
    return _counted(data_folder, missed, lambda error: error.holds_zero)


def outcomes(data_folder: Path, *, is_so: Callable[[Estimate], bool], densities: Container[float] = DENSITIES) -> str:
    """`3 of 16`: of how many measured losses above dense something is so, of all comparisons at some densities."""
    return _counted(data_folder, above_dense, is_so, densities)


def above_dense(row: Mapping[str, Any]) -> Estimate | None:
    """The measured loss above dense; None where a run diverged."""
    return None if None in row["measured"] else mean(row["measured"])


def surely_wrong(data_folder: Path) -> str:
    """`8 of 12`: of how many predictions at the best step size the measured loss surely differs."""
    at_best = [
        row
        for each in result(data_folder, NAME).records("networks")
        if each["step_share"] == 1
        for row in each["densities"]
    ]
    errors = [missed(row) for row in at_best]
    return f"{sum(error is not None and not error.holds_zero for error in errors)} of {len(errors)}"


def longest_lag(data_folder: Path) -> str:
    """The largest measured lag, in steps, of any comparison and density: a mean over the seeds."""
    found = (row for each in result(data_folder, NAME).records("networks") for row in each["densities"])
    lags = [fmean(values) for row in found if (values := known(row["measured_lag"][SOURCE]))]
    return latex.decimal(max(lags), 1) if lags else NOTHING


def _counted(
    data_folder: Path,
    estimated: Callable[[Mapping[str, Any]], Estimate | None],
    is_so: Callable[[Estimate], bool],
    densities: Container[float] = DENSITIES,
) -> str:
    everything = (row for each in result(data_folder, NAME).records("networks") for row in each["densities"])
    found = [row for row in everything if row["density"] in densities]
    estimates = map(estimated, found)
    return f"{sum(each is not None and is_so(each) for each in estimates)} of {len(found)}"


def loss_phrase(data_folder: Path, shown: Shown, density: float) -> str:
    """`−0.032 (−0.055 to −0.009)`: the measured loss above dense."""
    row = at_density(result(data_folder, NAME), shown, density)
    if row is None:
        return NOT_RUN
    return NOTHING if None in row["measured"] else difference_phrase(mean(row["measured"]), digits=3)


def said_loss(data_folder: Path, shown: Shown, density: float) -> str:
    """The predicted one, a mean over the seeds."""
    row = at_density(result(data_folder, NAME), shown, density)
    values = [] if row is None else known(row[SOURCE]["predicted"])
    return NOT_RUN if row is None else latex.signed(fmean(values), 3) if values else NOTHING


def lag_number(data_folder: Path, shown: Shown, density: float, *, is_said: bool) -> str:
    """A lag in steps, measured or predicted, a mean over the seeds."""
    row = at_density(result(data_folder, NAME), shown, density)
    if row is None:
        return NOT_RUN
    values = known(row[SOURCE]["predicted_lag"] if is_said else row["measured_lag"][SOURCE])
    return latex.decimal(fmean(values), 1) if values else NOTHING


def variant_step(data_folder: Path, model: str, method: str, density: float | None) -> str:
    """The best step size of a method with momentum in the study of variants."""
    for run in result(data_folder, "variants").records("runs"):
        if (run["model"], run["optimiser"], run["method"], run["density"]) == (model, "momentum", method, density):
            return latex.shortest(run["step_size"])
    return NOT_RUN


def momentum_row(study: Result, momentum: float, density: float | None) -> Result | None:
    """FNN-3 with a momentum and a density."""
    rows = [row for row in study.records("momentum") if (row["momentum"], row["density"]) == (momentum, density)]
    return rows[0] if rows else None


def momentum_step(data_folder: Path, momentum: float, density: float | None) -> str:
    """The best step size of FNN-3."""
    row = momentum_row(result(data_folder, NAME), momentum, density)
    return NOT_RUN if row is None else latex.shortest(row["step_size"])


def plain_over_heavy(data_folder: Path, density: float) -> str:
    """The loss of Top-k without momentum less that of dense training with it, each with its best step size."""
    study = result(data_folder, NAME)
    rows = [momentum_row(study, 0.0, density), momentum_row(study, 0.9, None)]
    losses = [row["test_loss"] for row in rows if row is not None]
    if len(losses) < len(rows):
        return NOT_RUN
    return NOTHING if None in (*losses[0], *losses[1]) else difference_phrase(paired_difference(*losses), digits=3)


def momentum_gain(data_folder: Path, density: float | None) -> str:
    """The loss of FNN-3 with momentum less that without, seed by seed, each with its best step size."""
    study = result(data_folder, NAME)
    rows = [momentum_row(study, momentum, density) for momentum in (0.9, 0.0)]
    losses = [row["test_loss"] for row in rows if row is not None]
    if len(losses) < len(rows):
        return NOT_RUN
    return NOTHING if None in (*losses[0], *losses[1]) else difference_phrase(paired_difference(*losses), digits=3)


def density_costs(data_folder: Path) -> Figure:
    """Lags and losses above dense by density, predicted and measured, and best step sizes."""
    study = result(data_folder, NAME)
    figure = new_figure(2.5, profile=study["profile"])
    lags, losses, steps = figure.subplots(1, 3)
    for shift, shown in zip((0.85, 0.95, 1.05, 1.15), SHOWN.values(), strict=True):
        found = network(study, shown)
        if found is not None:
            _draw(lags, found["densities"], shown, shift, lambda row: row["measured_lag"][SOURCE], "predicted_lag")
            _draw(losses, found["densities"], shown, shift, lambda row: row["measured"], "predicted")
    lags.set(title="lag", ylabel="steps", yscale="symlog")
    losses.set(title="test loss above dense", ylabel="nats")
    for axes in (lags, losses):
        axes.axhline(0, color=GREY, linewidth=0.6)
        axes.set(xscale="log", xlabel=r"density $\kappa$")
    _draw_steps(steps, study)
    legend_below(figure, lags, columns=4)
    return figure


def _draw(
    axes: Axes,
    rows: Sequence[Mapping[str, Any]],
    shown: Shown,
    shift: float,
    measured: Callable[[Mapping[str, Any]], Sequence[float | None]],
    predicted: str,
) -> None:
    """A line of what was predicted; dots with intervals of what was measured."""
    said = [(row["density"], known(row[SOURCE][predicted])) for row in rows]
    axes.plot(*zip(*((at, fmean(values)) for at, values in said if values), strict=True), color=shown.colour)
    for row in rows:
        values = known(measured(row))
        if len(values) > 1:
            found = mean(values)
            ends = [[found.value - found.low], [found.high - found.value]]
            axes.errorbar(row["density"] * shift, found.value, ends, fmt="o", markersize=3, color=shown.colour)
    axes.plot([], [], "o-", markersize=3, color=shown.colour, label=shown.title)


def _draw_steps(axes: Axes, study: Result) -> None:
    """The best η/(1 − γ) of FNN-3 by density, with and without momentum; dense is density one."""
    for (momentum, colour), mark in zip(((0.0, BLUE), (0.9, VERMILION)), ("o-", "s--"), strict=True):
        rows = [row for row in study.records("momentum") if row["momentum"] == momentum]
        rows.sort(key=lambda row: row["density"] or 1.0)
        places = [row["density"] or 1.0 for row in rows]
        effective = [row["step_size"] / (1 - momentum) for row in rows]
        axes.plot(places, effective, mark, markersize=3, color=colour, label=rf"$\gamma={momentum:g}$")
    axes.set(title="FNN-3, best step size", xlabel=r"density $\kappa$", ylabel=r"$\eta/(1-\gamma)$")
    if study.records("momentum"):
        axes.set(xscale="log", yscale="log")
        axes.legend()
    else:
        axes.text(0.5, 0.5, NOT_RUN, ha="center", transform=axes.transAxes)


def _seeds(data_folder: Path) -> str:
    return latex.integer(len(result(data_folder, NAME)["seeds"]))


MACROS: dict[str, Macro] = {
    "LagSeeds": _seeds,
    "LagAgreements": agreements,
    **{
        f"Lag{word}{part}": partial(outcomes, is_so=is_so, densities=densities)
        for word, is_so in (("Lost", lambda loss: loss.low > 0), ("Won", lambda loss: loss.high < 0))
        for part, densities in (("Thousandth", DENSITIES[:1]), ("Denser", DENSITIES[2:]))
    },
    "LagWrong": surely_wrong,
    "LagLongest": longest_lag,
    **{
        f"LagPlainHeavy{word}": partial(plain_over_heavy, density=density)
        for word, density in (("Hundredth", 0.01), ("Thousandth", 0.001))
    },
    "LagNothing": partial(outcomes, is_so=lambda loss: loss.holds_zero),
    **{
        f"Lag{word}{part}": partial(function, shown=shown, density=0.001)
        for word, shown in SHOWN.items()
        for part, function in (("Loss", loss_phrase), ("SaidLoss", said_loss))
    },
    **{
        f"Lag{word}{part}": partial(lag_number, shown=shown, density=0.001, is_said=is_said)
        for word, shown in SHOWN.items()
        for part, is_said in (("Steps", False), ("SaidSteps", True))
    },
    **{
        f"LagStep{model_word}{word}": partial(variant_step, model=model, method=method, density=density)
        for model_word, model in (("Resnet", "resnet20"), ("Gpt", "gpt"))
        for word, (method, density) in METHOD_WORDS.items()
    },
    **{
        f"LagStepFnn{momentum_word}{word}": partial(momentum_step, momentum=momentum, density=density)
        for momentum_word, momentum in MOMENTUM_WORDS.items()
        for word, density in (("Dense", None), ("Hundredth", 0.01), ("Thousandth", 0.001))
    },
    **{
        f"LagGain{word}": partial(momentum_gain, density=density)
        for word, density in (("Dense", None), ("Hundredth", 0.01), ("Thousandth", 0.001))
    },
}

STUDY = Study(macros=MACROS, figures={NAME: density_costs}, results=(NAME, "variants"))
