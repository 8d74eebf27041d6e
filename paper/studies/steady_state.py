"""Where does the gain of Top-k settle under error feedback? Streams of gradients and real training, against the laws.

Left: `steady_state.json`, one curve per stream at the smaller density; right: the gain of exact Top-k along tuned
training runs of the study `convergence`. Horizontal lines: the gains that the statements about the steady state
predict.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator

from paper import latex
from paper.results import Result, result
from paper.studies.convergence.runs import (
    EXACT,
    MOMENTUM,
    PLAIN,
    PLAIN_HUNDREDTH,
    Setting,
    contestant,
    mean_gains,
    studies,
)
from paper.studies.study import Macro, Study
from paper.style import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILION, Look, new_figure

STREAMS: dict[str, Look] = {
    "equal drift": Look("constant, equal entries", BLUE),
    "gaussian drift": Look("constant, Gaussian entries", SKY, (0, (4, 1.5))),
    "drift and noise": Look("constant with noise", PURPLE, (0, (5, 1, 1, 1))),
    "unequal noise": Look("noise, unequal scales", ORANGE, (0, (3, 2))),
    "noise": Look("noise", VERMILION, (0, (1, 1))),
}
"""How each stream of the study is drawn."""
TRAINED = {
    PLAIN: Look("FNN-3, 0.001", BLACK),
    PLAIN_HUNDREDTH: Look("FNN-3, 0.01", GREY, (0, (4, 1.5))),
    MOMENTUM: Look("FNN-3, momentum, 0.001", GREEN, (0, (3, 2))),
    Setting("gpt", "adamw", 0.001): Look("GPT, AdamW, 0.001", PURPLE, (0, (1, 1))),
}
"""The training runs drawn, with exact Top-k, if they have been run."""
LAWS = {"steady_drift": "persistent", "steady_noise": "noise"}
"""Statements whose gains are drawn as lines, with their names on the figure."""
SETTLED_STREAMS = {
    "EqualDrift": "equal drift",
    "GaussianDrift": "gaussian drift",
    "Mixture": "drift and noise",
    "UnequalNoise": "unequal noise",
    "Noise": "noise",
}
"""Words of macro names to streams of the study."""


def settled_gain(data_folder: Path, stream: str) -> float:
    """δ/κ of a stream of gradients over the last window of the study, at its smallest density.

    Raises:
        ValueError: the study holds no such stream at that density.
    """
    study = result(data_folder, "steady_state")
    density = min(study["density"])
    found = [run for run in study.records("runs") if (run["stream"], run["density"]) == (stream, density)]
    if not found:
        raise ValueError(f"{study.path}: no stream {stream!r} at density {density}")
    return float(found[0]["gain"][-1])


def predicted_gain(data_folder: Path, label: str) -> float:
    """δ/κ that a law of the steady state gives at the study's smallest density."""
    study = result(data_folder, "steady_state")
    return float(study.record("predicted_gain")[label][study["density"].index(min(study["density"]))])


def steady_state(data_folder: Path) -> Figure:
    """The gain δ/κ of exact Top-k against the number of updates, for streams and for training runs."""
    study = result(data_folder, "steady_state")
    figure = new_figure(2.9, profile=study["profile"])
    left, right = figure.subplots(1, 2, sharey=True)
    density = min(study["density"])
    for run in study.records("runs"):
        if run["density"] == density:
            left.plot(run["step"], run["gain"], **_look(study, run["stream"]).line)
    there = studies(data_folder)
    for setting, look in TRAINED.items():
        trained = there.get(setting.arena)
        found = None if trained is None else contestant(trained, setting.rule, EXACT, setting.density)
        if trained is not None and found is not None:
            gains = [gain for gain in mean_gains(found) if gain is not None]
            right.plot(trained["steps"][: len(gains)], gains, **look.line)
    for axes, title in ((left, f"streams, density {density:g}"), (right, "training")):
        _draw_laws(axes, study, study["density"].index(density))
        axes.set(xlabel="update", title=title, yscale="log")
        axes.yaxis.set(major_locator=FixedLocator([1, 3, 6, 10, 30, 100]), major_formatter="{x:g}")
        axes.yaxis.set_minor_locator(NullLocator())
        axes.legend(loc="upper right", fontsize=7)
    left.set_xscale("log")
    left.set_ylabel(r"gain $\delta/\kappa$")
    return figure


def _draw_laws(axes: Axes, study: Result, position: int) -> None:
    for label, name in LAWS.items():
        gain = study.record("predicted_gain")[label][position]
        axes.axhline(gain, color=BLACK, linewidth=0.6)
        axes.annotate(name, (0.99, gain), xycoords=("axes fraction", "data"), ha="right", va="top", fontsize=7)


def _look(study: Result, stream: str) -> Look:
    if stream not in STREAMS:
        raise ValueError(f"{study.path}: unknown stream {stream!r}; known: {', '.join(STREAMS)}")
    return STREAMS[stream]


def _settled_gain(data_folder: Path, *, stream: str) -> str:
    return latex.decimal(settled_gain(data_folder, stream), 2)


MACROS: dict[str, Macro] = {
    "SteadyDensity": lambda folder: latex.shortest(min(result(folder, "steady_state")["density"])),
    "SteadyDimension": lambda folder: latex.integer(result(folder, "steady_state")["dimension"]),
    "SteadyUpdates": lambda folder: latex.integer(result(folder, "steady_state").records("runs")[0]["step"][-1]),
    **{f"Settled{word}": partial(_settled_gain, stream=stream) for word, stream in SETTLED_STREAMS.items()},
    "EqualDriftLaw": lambda folder: latex.decimal(predicted_gain(folder, "steady_drift_equal"), 2),
    "DriftLaw": lambda folder: latex.decimal(predicted_gain(folder, "steady_drift"), 2),
    "NoiseLaw": lambda folder: latex.decimal(predicted_gain(folder, "steady_noise"), 2),
}

STUDY = Study(
    macros=MACROS,
    figures={"steady_state": steady_state},
    results=("steady_state", "convergence"),
    remade=("steady_state", *dict.fromkeys(f"convergence_{setting.arena}" for setting in TRAINED)),
)
