"""What do variants of error feedback lose? Facts of the study `variants`: which runs it has, and losses by seed.

What a contestant loses is paired with dense training by seed: points of test accuracy for images, per cent of the test
loss for text; less is better, and below zero it gained. At density 0.01, and for PowerSGD, one such unit is called
close, at 0.001 two. The words are chosen by the intervals.
"""

from __future__ import annotations

from statistics import fmean

from paper import latex
from paper.comparisons import ONE_SEED, UNKNOWN
from paper.results import Result
from sparsync.verify.tools.intervals import Estimate, mean

DENSE, LOW_RANK = "dense", "powersgd"
DEFAULT = "ef14"
"""What a run takes where nothing is said."""
MODELS = {"resnet20": ("ResNet-20", "points"), "gpt": ("GPT", r"\%")}
"""Title, and the unit of what is lost."""
OPTIMISERS = {"momentum": "momentum 0.9", "adamw": "AdamW"}
CLOSE = {0.01: 1.0, 0.001: 2.0}
"""By density, in units."""
TITLES = {
    "ef14": "EF14",
    "ef21": "EF21",
    "ef21_sgdm": "EF21-SGDM",
    "econtrol": "EControl",
    "dgc": "DGC",
    "decayed": "decayed",
    "rmsprop": "RMSProp",
    LOW_RANK: "PowerSGD",
}
"""Of methods; one without an entry is called after its name."""
WITHIN, BEYOND, DIVERGED = "within", "beyond", "diverged"


def title(method: str) -> str:
    """How a method is called in LaTeX."""
    return TITLES.get(method, latex.escape(method.replace("_", " ")))


def contestant(study: Result, model: str, optimiser: str, method: str, density: float | None) -> Result | None:
    """What was found of a method; None if the run lacks it.

    Args:
        study: the result `variants`.
        model: key of `MODELS`.
        optimiser: key of `OPTIMISERS`.
        method: its name in the study.
        density: of what is selected; for methods that select nothing it says nothing.
    """
    place = (model, optimiser, method)
    for run in study.records("runs"):
        if (run["model"], run["optimiser"], run["method"]) == place and run["density"] in (None, density):
            return run
    return None


def seed_losses(study: Result, model: str, run: Result) -> list[float] | None:
    """What a contestant loses against dense training on each seed, in the unit of the model; None if a run diverged."""
    dense = contestant(study, model, run["optimiser"], DENSE, None)
    return None if dense is None else _paired_losses(model, run, dense)


def _paired_losses(model: str, run: Result, dense: Result) -> list[float] | None:
    field = "test_accuracy" if model == "resnet20" else "test_loss"
    if None in run[field] or None in dense[field]:
        return None
    pairs = zip(run[field], dense[field], strict=True)
    if field == "test_accuracy":
        return [100 * (theirs - own) for own, theirs in pairs]
    return [100 * (own / theirs - 1) for own, theirs in pairs]


def lost(study: Result, model: str, run: Result) -> Estimate | None:
    """The mean of `seed_losses` with its interval; None if a run diverged."""
    values = seed_losses(study, model, run)
    return None if values is None else mean(values)


def verdict(loss: Estimate | None, density: float) -> str:
    """`WITHIN` or `BEYOND` what is close at a density, where the interval says so; else why not."""
    if loss is None:
        return DIVERGED
    if loss.count == 1:
        return ONE_SEED
    return WITHIN if loss.high <= CLOSE[density] else BEYOND if loss.low > CLOSE[density] else UNKNOWN


def nearest(study: Result, model: str, optimiser: str, density: float) -> tuple[str, Estimate] | None:
    """The variant that loses least at a density, by its mean, and how much; None if the run has none to compare."""
    found = [
        (loss.value, method, loss)
        for method in variants(study)
        if (run := contestant(study, model, optimiser, method, density)) and (loss := lost(study, model, run))
    ]
    return min(found)[1:] if found else None


def scores(study: Result, method: str) -> list[float] | None:
    """Of each seed, the mean over all comparisons of what a variant loses, in units of what is close there.

    None if the run lacks the variant in a comparison, or it diverged.
    """
    found = []
    for model, optimiser in places(study):
        for density in densities(study):
            run = contestant(study, model, optimiser, method, density)
            values = None if run is None else seed_losses(study, model, run)
            if values is None:
                return None
            found.append([value / CLOSE[density] for value in values])
    return [fmean(values) for values in zip(*found, strict=True)]


def best(study: Result) -> tuple[str, list[float]] | None:
    """The variant of least score, by the mean over seeds, with its scores; None if each diverged somewhere."""
    found = [(fmean(score), method, score) for method in variants(study) if (score := scores(study, method))]
    return min(found)[1:] if found else None


def variants(study: Result) -> list[str]:
    """The variants of error feedback, in the order of the study."""
    names = dict.fromkeys(str(run["method"]) for run in study.records("runs") if run["density"] is not None)
    return list(names)


def places(study: Result) -> list[tuple[str, str]]:
    """Model and optimiser of every comparison that the run has."""
    there = {(run["model"], run["optimiser"]) for run in study.records("runs")}
    return [(model, optimiser) for model in MODELS for optimiser in OPTIMISERS if (model, optimiser) in there]


def densities(study: Result) -> list[float]:
    """The densities of the run, the largest first."""
    return sorted(map(float, study["densities"]), reverse=True)


def machines(study: Result) -> list[str]:
    """All that computed something, in the order of their names."""
    return sorted({str(name) for run in study.records("runs") for name in (*run["tuned_on"], *run["computed_on"])})
