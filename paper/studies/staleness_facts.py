"""Which numbers does the study `staleness` give? Steps with late updates as multiples of those without, and its checks.

Read from `staleness.json` of the data folder; a target that was not reached in the study's patience is said to be so.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import fmean, median

from paper import latex
from paper.results import Result, staleness_result

SWEPT = ("hidden_count", "optimiser", "worker_count")
"""What a setting consists of; a sweep changes one and keeps the others as in the study's middle."""
NOT_REACHED = "not reached"
OPTIMISER_NAMES = {
    "sgd": "SGD",
    "momentum": "momentum",
    "adam": "Adam",
    "adagrad": "Adagrad",
    "rmsprop": "RMSProp",
}
"""How each optimiser is written."""
Setting = tuple[str, str | int]
OPTIMISERS: dict[str, Setting] = {
    "Sgd": ("optimiser", "sgd"),
    "Momentum": ("optimiser", "momentum"),
    "Adam": ("optimiser", "adam"),
    "Adagrad": ("optimiser", "adagrad"),
    "Rmsprop": ("optimiser", "rmsprop"),
}
"""Words of macro names to what a sweep is set to; quoted at s = 4, with smaller steps too as `Best`."""
WORKERS: dict[str, Setting] = {"OneWorker": ("worker_count", 1), "EightWorkers": ("worker_count", 8)}
SIZES: dict[str, Setting] = {"Shallow": ("hidden_count", 0), "Deep": ("hidden_count", 4), **WORKERS}
"""Quoted at s = 8 with smaller steps too as `LateBest`."""
KEPT: dict[str, Setting] = {**OPTIMISERS, **WORKERS}
"""Quoted at s = 4 with the step size kept."""


def sweep(study: Result, swept: str) -> list[Result]:
    """The settings that differ from the middle in one thing at most, ascending; optimisers in the study's order.

    Raises:
        ValueError: there is none.
    """
    middle = study["middle"]
    others = [name for name in SWEPT if name != swept]
    found = [setting for setting in study.records("settings") if all(setting[name] == middle[name] for name in others)]
    if not found:
        raise ValueError(f"{study.path}: no setting as the middle but for {swept!r}")
    if swept == "optimiser":
        return sorted(found, key=lambda setting: list(OPTIMISER_NAMES).index(setting[swept]))
    return sorted(found, key=lambda setting: int(setting[swept]))


def late_run(setting: Result, staleness: int) -> Result:
    """The runs of a setting at a staleness.

    Raises:
        ValueError: there are none.
    """
    for run in setting.records("runs"):
        if run["staleness"] == staleness:
            return run
    raise ValueError(f"{setting.path}: no run at s = {staleness}")


def undelayed_steps(setting: Result) -> float:
    """Mean steps to the target without delays."""
    return fmean(late_run(setting, 0)["steps"])


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
    study = staleness_result(data_folder)
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


def _row(setting: Result, swept: str, study: Result) -> str:
    multiples = [_multiple(late_run(setting, staleness)["relative"]) for staleness in study["stalenesses"]]
    best = _multiple(late_run(setting, study["retuned_stalenesses"][-1])["best_relative"])
    steps = latex.decimal(undelayed_steps(setting), 0)
    cells = [setting_title(setting, swept), latex.shortest(setting["step_size"]), steps, *multiples, best]
    return " & ".join(cells) + r" \\"


def _multiple(relative: float | None) -> str:
    return "--" if relative is None else latex.decimal(relative, 2)


def relative_steps(
    data_folder: Path, *, swept: str, value: str | int, field: str = "relative", staleness: int = 4
) -> float | None:
    """Steps over those without delays, None if the target was not reached.

    Args:
        data_folder: holds `staleness.json`.
        swept: what differs from the middle.
        value: of that.
        field: "relative", with the step size kept, or "best_relative", with smaller ones tried too.
        staleness: s.

    Raises:
        ValueError: the study holds no such setting.
    """
    study = staleness_result(data_folder)
    for setting in sweep(study, swept):
        if setting[swept] == value:
            found: float | None = late_run(setting, staleness)[field]
            return found
    raise ValueError(f"{study.path}: no setting with {swept} {value!r}")


def _relative(data_folder: Path, *, swept: str, value: str | int, field: str = "relative", staleness: int = 4) -> str:
    relative = relative_steps(data_folder, swept=swept, value=value, field=field, staleness=staleness)
    return NOT_REACHED if relative is None else latex.decimal(relative, 2)


def _momentum_coherence(data_folder: Path) -> str:
    """The median along the runs with momentum at s = 8; short runs end before the first measurement."""
    by_name = {setting["optimiser"]: setting for setting in sweep(staleness_result(data_folder), "optimiser")}
    found = late_run(by_name["momentum"], 8)["coherence"]
    return latex.decimal(median(found), 2) if found else "--"


def _rate_shares(data_folder: Path, *, choose: Callable[[list[float]], float]) -> str:
    rows = staleness_result(data_folder).records("rates")
    return latex.decimal(choose([row["left"] / row["right"] for row in rows]), 2)


def _least_rate_coherence(data_folder: Path) -> str:
    return latex.decimal(min(row["coherence"] for row in staleness_result(data_folder).records("rates")), 2)


def _coherence(data_folder: Path, *, staleness: int) -> str:
    return latex.decimal(median(coherences(staleness_result(data_folder), staleness)), 2)


def _negative_coherence(data_folder: Path, *, staleness: int) -> str:
    """Share of the measurements at which an earlier gradient points against the present one."""
    found = coherences(staleness_result(data_folder), staleness)
    return latex.percent(sum(value < 0 for value in found) / len(found), 0)


def _limit_error(data_folder: Path) -> str:
    """The largest relative distance of a measured limit from the stated one, in per cent."""
    study = staleness_result(data_folder)
    ratios = [ratio for momentum in (0.0, 0.9) for ratio in limit_ratios(study, momentum)]
    return latex.percent(max(abs(ratio - 1) for ratio in ratios))


def _uniform_gain(data_folder: Path, *, momentum: float, choose: Callable[[list[float]], float]) -> str:
    return latex.decimal(choose(uniform_gains(staleness_result(data_folder), momentum)), 2)


STALENESS_MACROS: dict[str, Callable[[Path], str]] = {
    "StaleTarget": lambda folder: latex.percent(staleness_result(folder)["target"], 0),
    "StalePatience": lambda folder: latex.integer(staleness_result(folder)["patience"]),
    "StaleSeeds": lambda folder: latex.integer(staleness_result(folder)["seed_count"]),
    "StaleBatch": lambda folder: latex.integer(staleness_result(folder)["batch_size"]),
    **{f"Stale{word}": partial(_relative, swept=swept, value=value) for word, (swept, value) in KEPT.items()},
    **{
        f"Stale{word}Best": partial(_relative, swept=swept, value=value, field="best_relative")
        for word, (swept, value) in OPTIMISERS.items()
    },
    **{
        f"Stale{word}LateBest": partial(_relative, swept=swept, value=value, field="best_relative", staleness=8)
        for word, (swept, value) in SIZES.items()
    },
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
"""Macros of the paper's text about staleness, by name."""
