"""What do late updates cost, and what does theory say of it? The study `staleness`.

Reads `staleness.json`; a target that was not reached in the study's patience is said to be so. One figure: steps to the
target as multiples of those without delays, by depth, optimiser and number of workers; the other: the coherence of
gradients along these runs, the rate's two sides, and the largest stable steps.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, NullLocator

from paper import latex
from paper.comparisons import difference_phrase, mean_phrase
from paper.results import Result, result
from paper.studies.staleness_runs import (
    OPTIMISER_NAMES,
    OPTIMISERS,
    SIZES,
    SWEPT,
    WORKERS,
    Setting,
    best_multiple,
    late_run,
    mean_multiple,
    multiple_difference,
    multiples,
    setting_of,
    sweep,
    undelayed_steps,
)
from paper.studies.study import Macro, Study
from paper.style import BLACK, BLUE, GREY, ORANGE, PURPLE, SKY, VERMILION, Look, half_figure, new_figure
from sparsync.verify.tools.intervals import mean

NOT_REACHED = "not reached"
LATE: dict[str, Setting] = {**SIZES, "Momentum": OPTIMISERS["Momentum"]}
"""Quoted at s = 8 with smaller steps too as `LateBest`."""
KEPT: dict[str, Setting] = {**OPTIMISERS, **WORKERS}
"""Quoted at s = 4 with the step size kept."""
_SGD = OPTIMISERS["Sgd"]
DIFFERENCES: dict[str, tuple[Setting, Setting]] = {
    **{word: (setting, _SGD) for word, setting in OPTIMISERS.items() if setting != _SGD},
    "Depth": (SIZES["Deep"], SIZES["Shallow"]),
    "Workers": (WORKERS["EightWorkers"], WORKERS["OneWorker"]),
}
"""Whose multiples at s = 4, with the step size kept, are compared with whose."""
PANELS = {"hidden_count": "hidden layers", "optimiser": "optimiser", "worker_count": "workers"}
"""Title of each sweep's panel."""
COLOURS = (SKY, BLUE, PURPLE, VERMILION, ORANGE, BLACK)
"""By the place of the staleness."""
MARKERS = ("o", "s", "D", "v", "P", "X")
"""By the place of the staleness."""
RATES = {
    "quadratic": Look("quadratic", BLUE),
    "quadratic, noise": Look("quadratic with noise", SKY, (0, (4, 1.5))),
    "regression": Look("regression", VERMILION),
    "regression, noise": Look("regression with noise", ORANGE, (0, (4, 1.5))),
}
"""The problems that the rate is checked on."""
MOMENTA = {0.0: Look("no momentum", BLUE), 0.9: Look("momentum 0.9", VERMILION)}
"""The momenta of the largest stable steps."""
_SPREAD = 0.5
"""Width that the points of one setting share."""


def coherences(study: Result, staleness: int) -> list[float]:
    """Of all settings, along the runs with their step size kept.

    Raises:
        ValueError: nothing was measured.
    """
    found = [float(value) for row in study.records("settings") for value in late_run(row, staleness)["coherence"]]
    if not found:
        raise ValueError(f"{study.path}: no coherence was measured at s = {staleness}")
    return found


def limit_ratios(study: Result, momentum: float) -> list[float]:
    """Measured over stated limit at every fixed delay."""
    return [row["fixed"] / row["stated"] for row in study.records("limits") if row["momentum"] == momentum]


def uniform_gains(study: Result, momentum: float) -> list[float]:
    """Measured limit for uniform delays over that for the fixed one of the same mean, at every delay but 0."""
    rows = [row for row in study.records("limits") if row["momentum"] == momentum and row["delay"]]
    return [row["uniform"] / row["fixed"] for row in rows]


def staleness_table(data_folder: Path) -> str:
    r"""A `tabular`: a row per setting of the three sweeps, steps without delays, and multiples of them with delays."""
    study = result(data_folder, "staleness")
    heads = " & ".join(f"$s={staleness}$" for staleness in study["stalenesses"])
    retuned = study["retuned_stalenesses"][-1]
    lines = [f" & $\\eta$ & steps & {heads} & $s={retuned}$, best $\\eta$ \\\\", "\\midrule"]
    for place, swept in enumerate(SWEPT):
        lines += ["\\addlinespace"] * bool(place)
        lines += [_row(setting, swept, study) for setting in sweep(study, swept)]
    layout = f"@{{}}l{'r' * (len(study['stalenesses']) + 3)}@{{}}"
    return f"\\begin{{tabular}}{{{layout}}}\n\\toprule\n" + "\n".join(lines) + "\n\\bottomrule\n\\end{tabular}\n"


def setting_title(setting: Result, swept: str) -> str:
    """The value that a sweep gives to a setting, in words."""
    value = setting[swept]
    if swept == "optimiser":
        return OPTIMISER_NAMES[value]
    noun = {"hidden_count": "hidden layer", "worker_count": "worker"}[swept]
    return f"{value or 'no'} {noun}{'s' if value > 1 else ''}"


def staleness(data_folder: Path) -> Figure:
    """Relative steps to the target; what was not reached stands above the line."""
    study = result(data_folder, "staleness")
    figure = new_figure(2.9, profile=study["profile"])
    panels = figure.subplots(1, 3, sharey=True, width_ratios=[5, 5, 3])
    top = _top(study)
    beyond = top + 0.25
    for axes, swept in zip(panels, SWEPT, strict=True):
        for position, setting in enumerate(sweep(study, swept)):
            for place, at, late in _late_runs(study, setting, position):
                look: dict[str, Any] = {
                    "marker": MARKERS[place],
                    "color": COLOURS[place],
                    "linestyle": "none",
                    "markersize": 4.5,
                }
                axes.plot(at, _height(mean_multiple(setting, late["staleness"]), beyond), **look)
                if "best_relative" in late.fields and late["best_step_size"] != setting["step_size"]:
                    axes.plot(at, _height(late["best_relative"], beyond), fillstyle="none", **look)
        _name_settings(axes, study, swept)
        axes.axhline(top + 0.1, color=BLACK, linewidth=0.6)
        axes.set_ylim(0.9, top + 0.4)
    ticks = range(1, int(top) + 1)
    panels[0].set_yticks([*ticks, beyond], [*map(str, ticks), "not reached"])
    panels[0].set_ylabel("steps, as a multiple of $s=0$")
    _legend(figure, study)
    return figure


def stale_theory(data_folder: Path) -> Figure:
    """Coherence by depth, and the share of the rate's bound that runs fill."""
    study = result(data_folder, "staleness")
    figure = new_figure(2.6, profile=study["profile"])
    left, right = figure.subplots(1, 2)
    _draw_coherence(left, study)
    _draw_rates(right, study)
    return figure


def delay_limits(data_folder: Path) -> Figure:
    """Limits of the step, with delays, beside the stated ones."""
    study = result(data_folder, "staleness")
    figure = half_figure(profile=study["profile"])
    _draw_limits(figure.subplots(), study)
    return figure


def _row(setting: Result, swept: str, study: Result) -> str:
    kept = [_multiple(mean_multiple(setting, staleness)) for staleness in study["stalenesses"]]
    best = _multiple(best_multiple(setting, study["retuned_stalenesses"][-1]))
    steps = latex.decimal(undelayed_steps(setting), 0)
    cells = [setting_title(setting, swept), latex.shortest(setting["step_size"]), steps, *kept, best]
    return " & ".join(cells) + r" \\"


def _multiple(relative: float | None) -> str:
    return "--" if relative is None else latex.decimal(relative, 2)


def _best(data_folder: Path, *, setting: Setting, staleness: int = 4) -> str:
    """The multiple with smaller steps tried too."""
    multiple = best_multiple(setting_of(data_folder, setting), staleness)
    return NOT_REACHED if multiple is None else latex.decimal(multiple, 2)


def _kept(data_folder: Path, *, setting: Setting, staleness: int = 4) -> str:
    """The mean of the seeds' multiples with its interval."""
    found = multiples(setting_of(data_folder, setting), staleness)
    return NOT_REACHED if found is None else mean_phrase(mean(found))


def _difference(data_folder: Path, *, pair: tuple[Setting, Setting]) -> str:
    found = multiple_difference(data_folder, *pair)
    return "none to give, as a target was missed" if found is None else difference_phrase(found)


def _momentum_coherence(data_folder: Path) -> str:
    """The median along the runs with momentum at s = 8; short runs end before the first measurement."""
    by_name = {setting["optimiser"]: setting for setting in sweep(result(data_folder, "staleness"), "optimiser")}
    found = late_run(by_name["momentum"], 8)["coherence"]
    return latex.decimal(median(found), 2) if found else "--"


def _rate_shares(data_folder: Path, *, choose: Callable[[list[float]], float]) -> str:
    rows = result(data_folder, "staleness").records("rates")
    return latex.decimal(choose([row["left"] / row["right"] for row in rows]), 2)


def _least_rate_coherence(data_folder: Path) -> str:
    return latex.decimal(min(row["coherence"] for row in result(data_folder, "staleness").records("rates")), 2)


def _coherence(data_folder: Path, *, staleness: int) -> str:
    return latex.decimal(median(coherences(result(data_folder, "staleness"), staleness)), 2)


def _negative_coherence(data_folder: Path, *, staleness: int) -> str:
    """Share of the measurements at which an earlier gradient points against the present one."""
    found = coherences(result(data_folder, "staleness"), staleness)
    return latex.percent(sum(value < 0 for value in found) / len(found), 0)


def _limit_error(data_folder: Path) -> str:
    """The largest relative distance of a measured limit from the stated one, in per cent."""
    study = result(data_folder, "staleness")
    ratios = [ratio for momentum in (0.0, 0.9) for ratio in limit_ratios(study, momentum)]
    return latex.percent(max(abs(ratio - 1) for ratio in ratios))


def _uniform_gain(data_folder: Path, *, momentum: float, choose: Callable[[list[float]], float]) -> str:
    return latex.decimal(choose(uniform_gains(result(data_folder, "staleness"), momentum)), 2)


def _top(study: Result) -> float:
    """The patience or the largest multiple: patience bounds mean steps, not the mean of multiples."""
    found = (mean_multiple(setting, at) for setting in study.records("settings") for at in study["stalenesses"])
    return max([float(study["patience"]), *(multiple for multiple in found if multiple is not None)])


def _height(relative: float | None, beyond: float) -> float:
    return beyond if relative is None else relative


def _late_runs(study: Result, setting: Result, position: int) -> list[tuple[int, float, Result]]:
    """Place of the staleness, where it is drawn, and its runs."""
    stalenesses = study["stalenesses"]
    gap = _SPREAD / max(1, len(stalenesses) - 1)
    first = position - _SPREAD / 2 if len(stalenesses) > 1 else position
    return [(place, first + gap * place, late_run(setting, at)) for place, at in enumerate(stalenesses)]


def _name_settings(axes: Axes, study: Result, swept: str) -> None:
    values = [setting[swept] for setting in sweep(study, swept)]
    names = [OPTIMISER_NAMES[value] if swept == "optimiser" else str(value) for value in values]
    axes.set_xticks(range(len(names)), names, rotation=35 if swept == "optimiser" else 0)
    axes.set(title=PANELS[swept], xlim=(-0.5, len(names) - 0.5))
    axes.grid(visible=False, axis="x")


def _legend(figure: Figure, study: Result) -> None:
    handles = [
        Line2D([], [], color=COLOURS[place], marker=MARKERS[place], linestyle="none", markersize=4.5, label=f"$s={at}$")
        for place, at in enumerate(study["stalenesses"])
    ]
    hollow: dict[str, Any] = {"color": GREY, "marker": "o", "fillstyle": "none", "linestyle": "none", "markersize": 4.5}
    handles.append(Line2D([], [], label="hollow: with the best of smaller step sizes", **hollow))
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))


def _draw_coherence(axes: Axes, study: Result) -> None:
    """Median and quartiles along the runs."""
    for position, setting in enumerate(sweep(study, "hidden_count")):
        for place, at, late in _late_runs(study, setting, position):
            if len(late["coherence"]) < 2:
                continue
            low, middle, high = quantiles(late["coherence"], n=4, method="inclusive")
            axes.plot([at, at], [low, high], color=COLOURS[place])
            axes.plot(at, middle, marker=MARKERS[place], color=COLOURS[place], markersize=4, linestyle="none")
    axes.axhline(0, color=BLACK, linewidth=0.6)
    _name_settings(axes, study, "hidden_count")
    axes.set(title="coherence along runs", xlabel="hidden layers", ylabel=r"$\nu_t$", ylim=(None, 1))
    handles = [
        Line2D([], [], color=COLOURS[place], marker=MARKERS[place], markersize=4, label=f"$s={at}$")
        for place, at in enumerate(study["stalenesses"])
    ]
    axes.legend(handles=handles, loc="upper right", fontsize=7)


def _draw_rates(axes: Axes, study: Result) -> None:
    for name, look in RATES.items():
        rows = [row for row in study.records("rates") if row["problem"] == name]
        if not rows:
            raise ValueError(f"{study.path}: no rate on {name!r}")
        shares = [row["left"] / row["right"] for row in rows]
        axes.plot([row["staleness"] for row in rows], shares, marker=".", **look.line)
    axes.axhline(1, color=BLACK, linewidth=0.6)
    axes.annotate("bound", (0.02, 1), xycoords=("axes fraction", "data"), va="bottom", fontsize=7)
    axes.set(title="runs, as a share of the bound", xlabel="$s+1$", xscale="log", yscale="log", ylim=(0.001, 2))
    axes.xaxis.set(major_locator=FixedLocator([1, 4, 16]), major_formatter="{x:g}", minor_locator=NullLocator())
    axes.legend(loc="lower right", fontsize=6.5)


def _draw_limits(axes: Axes, study: Result) -> None:
    delays = sorted({row["delay"] for row in study.records("limits")} - {0})
    for momentum, look in MOMENTA.items():
        by_delay = {row["delay"]: row for row in study.records("limits") if row["momentum"] == momentum}
        rows = [by_delay[delay] for delay in delays]
        marked: dict[str, Any] = {"color": look.colour, "markersize": 4, "linestyle": "none"}
        axes.plot(delays, [row["stated"] for row in rows], color=look.colour)
        axes.plot(delays, [row["fixed"] for row in rows], "o", **marked)
        axes.plot(delays, [row["uniform"] for row in rows], "D", fillstyle="none", **marked)
        below: dict[str, Any] = {
            "xytext": (-2, -26),
            "textcoords": "offset points",
            "fontsize": 7,
            "color": look.colour,
        }
        axes.annotate(look.title, (delays[0], rows[0]["stated"]), **below)
    least = min(row["stated"] for row in study.records("limits"))
    axes.set(
        title="largest stable step", xlabel=r"mean delay $\tau$", ylabel=r"$\eta\lambda$", xscale="log", yscale="log"
    )
    axes.set_ylim(least / 12, 3)
    axes.xaxis.set(major_locator=FixedLocator(delays), major_formatter="{x:g}", minor_locator=NullLocator())
    grey: dict[str, Any] = {"color": GREY, "markersize": 4}
    handles = [
        Line2D([], [], label="stated, fixed delay", **grey),
        Line2D([], [], marker="o", linestyle="none", label="run, fixed delay", **grey),
        Line2D([], [], marker="D", fillstyle="none", linestyle="none", label="run, uniform delay", **grey),
    ]
    axes.legend(handles=handles, loc="lower left", fontsize=6.5)


MACROS: dict[str, Macro] = {
    "StaleTarget": lambda folder: latex.percent(result(folder, "staleness")["target"], 0),
    "StalePatience": lambda folder: latex.integer(result(folder, "staleness")["patience"]),
    "StaleSeeds": lambda folder: latex.integer(result(folder, "staleness")["seed_count"]),
    "StaleBatch": lambda folder: latex.integer(result(folder, "staleness")["batch_size"]),
    **{f"Stale{word}": partial(_kept, setting=setting) for word, setting in KEPT.items()},
    **{f"Stale{word}Difference": partial(_difference, pair=pair) for word, pair in DIFFERENCES.items()},
    **{f"Stale{word}Best": partial(_best, setting=setting) for word, setting in OPTIMISERS.items()},
    **{f"Stale{word}LateBest": partial(_best, setting=setting, staleness=8) for word, setting in LATE.items()},
    "StaleCoherenceFour": partial(_coherence, staleness=4),
    "StaleCoherenceSixteen": partial(_coherence, staleness=16),
    "StaleMomentumCoherence": _momentum_coherence,
    "StaleNegativeFour": partial(_negative_coherence, staleness=4),
    "StaleNegativeSixteen": partial(_negative_coherence, staleness=16),
    "StaleRateLeast": partial(_rate_shares, choose=min),
    "StaleRateMost": partial(_rate_shares, choose=max),
    "StaleRateCoherence": _least_rate_coherence,
    "StaleLimitError": _limit_error,
    "StaleUniformGain": partial(_uniform_gain, momentum=0.0, choose=max),
    "StaleUniformMomentumGain": partial(_uniform_gain, momentum=0.9, choose=max),
}

STUDY = Study(
    macros=MACROS,
    figures={"staleness": staleness, "stale_theory": stale_theory, "delay_limits": delay_limits},
    tables={"staleness.tex": staleness_table},
    results=("staleness",),
)
