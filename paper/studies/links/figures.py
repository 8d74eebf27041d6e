"""Figures of the studies of links: time to accuracy by rate, where sparse stops paying, and one step as it went."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, median

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper.results import Result
from paper.studies.links.times import MODELS, Links, is_whole
from paper.style import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILION, YELLOW, Look, legend_below, new_figure

LOOKS = {
    "loop keep_all, dense": Look("dense", BLACK),
    "loop keep_all, dense_bfloat16": Look("dense, bfloat16", GREY),
    "hook powersgd": Look("PowerSGD", YELLOW, (0, (4, 1))),
    "loop top_k 0.01, sparse": Look("Top-k, EF14", BLUE),
    "loop gaussian_k 0.01, sparse": Look("Gaussian-k, EF14", SKY, (0, (1, 1))),
    "loop top_k 0.01 dgc, sparse": Look("Top-k, DGC", VERMILION),
    "loop top_k 0.01 dgc, sparse, int8": Look("Top-k, DGC, int8", ORANGE, (0, (4, 1))),
    "loop top_k 0.001 dgc, sparse": Look("Top-k 0.001, DGC", PURPLE, (0, (1, 1))),
    "local chunked_top_k 0.02, int8, every 30": Look("local steps", GREEN, (0, (4, 1, 1, 1))),
}
"""Of what was trained."""
_PHASE_COLOURS = {
    "forward": SKY,
    "backward": BLUE,
    "waiting, then the optimiser": GREY,
    "prepare": ORANGE,
    "check": ORANGE,
    "select": ORANGE,
    "pack": ORANGE,
    "unpack": ORANGE,
    "communicate": VERMILION,
}
_LANES = {"communicate": 0, "forward": 2, "backward": 2, "waiting, then the optimiser": 2}
"""From the bottom: link, hook, step."""
_LANE_NAMES = ("link", "select", "step")
SHOWN_STEP = ("resnet20", 100.0, {"hook dense": "plain hook", "hook top_k 0.01, exact": "Top-k, density 0.01"})
"""Model, Mbit/s and the two ways whose steps are drawn, with their titles."""
_BITS = 8e-6
_ENTRY_BYTES = 8
_PREDICTED = tuple(10 ** (power / 20) for power in range(20, 61))
"""Mbit/s, from 10 to 1000, as far as was measured."""


def look_of(method: str) -> Look:
    """A method's curve; one that is not known is grey, under its own name."""
    return LOOKS.get(method, Look(method, GREY))


def time_to_accuracy(data_folder: Path) -> Figure:
    """A panel per network: seconds until it is as accurate as dense training, less half a point, by rate."""
    found = Links(data_folder)
    figure = new_figure(2.9, profile=_profile(found))
    models = [model for model in found.models if model in found.accuracies]
    panels = figure.subplots(1, len(models), squeeze=False)[0]
    for axes, model in zip(panels, models, strict=True):
        for method in found.methods:
            _draw_times(axes, found, model, method)
        axes.set(xscale="log", yscale="log", title=MODELS[model], xlabel="Mbit/s")
        axes.set_xticks(found.rates, [f"{rate:g}" for rate in found.rates])
        axes.minorticks_off()
    panels[0].set_ylabel("seconds to the accuracy")
    legend_below(figure, panels[0], columns=4)
    return figure


def _profile(found: Links) -> str:
    """Smoke if one of the networks was trained for that alone."""
    profiles = [str(study["profile"]) for study in found.accuracies.values()]
    return "smoke" if "smoke" in profiles else profiles[0]


def _draw_times(axes: Axes, found: Links, model: str, method: str) -> None:
    """The mean over seeds at each rate, with the range of all seeds; nothing where a seed does not get there."""
    look = look_of(method)
    timed = [(rate, found.reached(model, method, rate)) for rate in found.rates]
    points = [(rate, reached.seconds) for rate, reached in timed if reached is not None and reached.seconds is not None]
    rates, seconds = [rate for rate, _ in points], [times for _, times in points]
    means = [fmean(times) for times in seconds]
    ranges = [[mean - min(times) for mean, times in zip(means, seconds, strict=True)]]
    ranges.append([max(times) - mean for mean, times in zip(means, seconds, strict=True)])
    axes.errorbar(rates, means, yerr=ranges, marker="o", markersize=2.5, elinewidth=0.6, **look.line)


def frontier(data_folder: Path) -> Figure:
    """The largest density at which the fitted model has Top-k faster than the fastest whole gradient, by rate.

    Filled where it was measured to be so, at the densities of the study; hollow where it was not.
    """
    found = Links(data_folder)
    figure = new_figure(2.6, profile=found.links["profile"])
    axes = figure.subplots()
    for model, colour in zip(found.models, (BLACK, BLUE, VERMILION), strict=False):
        densities = [largest_density(found, model, rate) for rate in _PREDICTED]
        pays = [(rate, density) for rate, density in zip(_PREDICTED, densities, strict=True) if density > 0]
        axes.plot([rate for rate, _ in pays], [density for _, density in pays], color=colour, label=MODELS[model])
        for number, (rate, density, is_faster) in enumerate(measured_pays(found, model)):
            shift = 1 + 0.12 * (list(found.models).index(model) - 1)
            axes.plot(
                rate * shift,
                density,
                marker="o",
                color=colour,
                markersize=4.5,
                fillstyle="full" if is_faster else "none",
                linestyle="none",
                label="_" if number else None,
            )
    axes.set(xscale="log", yscale="log", xlabel="Mbit/s", ylabel="density")
    axes.set_ylim(3e-4, 1)
    legend_below(figure, axes, columns=3)
    return figure


def measured_pays(found: Links, model: str) -> list[tuple[float, float, bool]]:
    """Rate and density of Top-k in the loop with plain gathering, and whether it beat the fastest whole gradient."""
    points = []
    for density in (0.001, 0.01):
        for rate in found.rates:
            seconds = found.step_seconds(model, f"loop top_k {density:g}, sparse", rate)
            whole = found.fastest_steps(model, rate, whole=True)
            if seconds is not None and whole:
                points.append((rate, density, seconds < median(whole)))
    return points


def largest_density(found: Links, model: str, rate: float) -> float:
    """By the fitted model; 0 where even nothing but headers takes longer. Computing is the median over all rates."""
    fitted = found.links["model"]
    sparse = [cell for (name, way, _), cell in found.cells.items() if (name, way) == (model, "loop top_k 0.01, sparse")]
    if fitted is None or not sparse:
        return 0.0
    whole = min(
        predicted(fitted, cell, rate, compute=_compute(sparse))
        for (name, way, _), cell in found.cells.items()
        if name == model and is_whole(way)
    )
    cell = sparse[0]
    count = 0.01 * cell["parameter_count"]
    entries = (cell["host_count"] - 1) * _ENTRY_BYTES * count
    empty = predicted(fitted, cell, rate, compute=_compute(sparse), less_bytes=entries)
    per_entry = (cell["host_count"] - 1) * _ENTRY_BYTES * per_byte(fitted, rate)
    return min(1.0, max(0.0, float((whole - empty) / per_entry / cell["parameter_count"])))


def per_byte(fitted: dict[str, float], rate: float) -> float:
    """ρ/R + γ, seconds."""
    return float(fitted["wire_share"] * _BITS / rate + fitted["seconds_per_byte"])


def predicted(fitted: dict[str, float], cell: Result, rate: float, *, compute: float, less_bytes: float = 0.0) -> float:
    """The model's seconds of a step at another rate, see `experiments/studies/links/model.py`.

    Args:
        fitted: the model.
        cell: a way of sending, as measured at some rate.
        rate: Mbit/s.
        compute: seconds.
        less_bytes: that are not sent.
    """
    select, buckets = float(cell.record("phase_seconds")["select"]), int(cell["bucket_count"])
    sending = fitted["latency_seconds"] * float(cell["message_count"])
    sending += per_byte(fitted, rate) * (float(cell["sent_bytes"]) - less_bytes)
    hidden = min(fitted["hidden_share"] * compute, (1 - 1 / buckets) * sending)
    road = cell["method"]["road"]
    waiting = 0.0 if road == "local" else fitted["waiting_share"] * (compute + select)
    beside = {
        "loop": fitted["loop_seconds"],
        "hook": fitted["hook_seconds"] + buckets * fitted["bucket_seconds"],
        "local": fitted["outer_seconds"],
    }
    return float(compute + select + waiting + beside[road] + sending - hidden)


def _compute(cells: Sequence[Result]) -> float:
    return median(float(cell.record("phase_seconds")["compute"]) for cell in cells)


def one_step(data_folder: Path) -> Figure:
    """Compute, select and send in one step of rank 0, under the plain hook and under this library's."""
    found = Links(data_folder)
    model, rate, ways = SHOWN_STEP
    drawn = [(way, found.cells.get((model, way, rate))) for way in ways]
    figure = new_figure(2.5, profile=found.links["profile"])
    panels = figure.subplots(len(ways), 1, sharex=True)
    for axes, (way, cell) in zip(panels, drawn, strict=True):
        for phase, _, began, ended in [] if cell is None else cell["spans"]:
            colour = _PHASE_COLOURS.get(phase, GREY)
            axes.barh(_LANES.get(phase, 1), 1e3 * (ended - began), left=1e3 * began, height=0.7, color=colour)
        axes.set_yticks(range(len(_LANE_NAMES)), _LANE_NAMES)
        axes.set_title(f"{MODELS[model]}, {rate:g} Mbit/s: {ways[way]}", loc="left")
        axes.grid(visible=False, axis="y")
    panels[-1].set_xlabel("milliseconds")
    return figure
