"""What was simulated in the settings of publications, `headlines.json`: steps, shares of time, and their ratios."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from paper import latex
from paper.results import Result, result

DEFERRING_FASTER = 1.5
"""As fast as BSP, at most, OSP is said to be."""


def measured(data_folder: Path, setting: str, contestant: str) -> Result:
    """What a contestant did in a published setting.

    Raises:
        ValueError: the study holds no such run.
    """
    study = result(data_folder, "headlines")
    for row in study.records("rows"):
        if (row["setting"], row["contestant"]) == (setting, contestant):
            return row
    raise ValueError(f"{study.path}: no contestant {contestant!r} in the setting {setting!r}")


def step_ratio(data_folder: Path, setting: str, contestant: str, other: str) -> float:
    """Steps of one contestant over those of another in the same time."""
    return float(
        measured(data_folder, setting, contestant)["mean_steps"] / measured(data_folder, setting, other)["mean_steps"]
    )


TWO, SAMPLED, EDGE = "two processors of fixed speeds", "200 sampled workers", "three edge workers"
LINE, LINES, UNEQUAL, INTERVALS, WORDS, GROUPS = (
    "a shared line",
    "shared lines, both ways",
    "unequal processors",
    "intervals of 1 to 1.5 s",
    "workers of different words",
    "groups of four",
)


def steps_in_words(setting: str, contestants: tuple[str, ...]) -> Callable[[Path], str]:
    """Mean steps and their deviation over the workers."""

    def text(data_folder: Path) -> str:
        rows = {name: measured(data_folder, setting, name) for name in contestants}
        cells = (
            f"{latex.escape(name)} {latex.decimal(row['mean_steps'], 0)}$\\pm${latex.decimal(row['step_deviation'], 1)}"
            for name, row in rows.items()
        )
        return "steps: " + ", ".join(cells)

    return text


def ratios_in_words(setting: str, pairs: tuple[tuple[str, str], ...]) -> Callable[[Path], str]:
    """Steps of one contestant over those of another, pair by pair."""

    def text(data_folder: Path) -> str:
        cells = (
            f"{latex.escape(one)} over {latex.escape(other)} "
            f"{latex.decimal(step_ratio(data_folder, setting, one, other), 2)}"
            for one, other in pairs
        )
        return "steps: " + ", ".join(cells)

    return text


def exceeds(setting: str, one: str, other: str, factor: float) -> Callable[[Path], bool]:
    """Whether one has at least so many times the steps of the other."""
    return lambda folder: step_ratio(folder, setting, one, other) >= factor


_DEFERRING = ("osp half", "osp three quarters", "osp most")


def deferring_ratios(data_folder: Path) -> str:
    """Where the model is there at once, and where it takes as long to be read as to be sent."""
    cells = {"reads at once": LINE, "reads as slow as sends": LINES}
    pairs = tuple((name, "bsp") for name in _DEFERRING)
    return "; ".join(f"{words}: {ratios_in_words(setting, pairs)(data_folder)}" for words, setting in cells.items())


def deferring_is_faster(data_folder: Path) -> bool:
    """By half, with the best of the shares, in both settings: `up to` is said of what was tried."""
    best = (max(step_ratio(data_folder, setting, name, "bsp") for name in _DEFERRING) for setting in (LINE, LINES))
    return min(best) >= DEFERRING_FASTER


def sampled_order(data_folder: Path) -> bool:
    """BSP, the larger and the smaller sample, then ASP, in mean steps and in spread, and the larger sample near BSP."""
    rows = [measured(data_folder, SAMPLED, name) for name in ("bsp", "pbsp 10", "pbsp 4", "asp")]
    steps, spreads = ([float(row[field]) for row in rows] for field in ("mean_steps", "step_deviation"))
    return steps == sorted(steps) and spreads == sorted(spreads) and spreads[1] <= 2 * spreads[0]


def edge_shares(data_folder: Path) -> str:
    """Of the three edge workers."""
    shares = {name: measured(data_folder, EDGE, name)["computing"] for name in ("bsp", "ssp 40", "adsp")}
    return "computing: " + ", ".join(
        f"{latex.escape(name)} {latex.percent(share)}\\,\\%" for name, share in shares.items()
    )


def edge_workers_compute(data_folder: Path) -> bool:
    """Most of the time under ADSP, and seldom under the others."""
    shares = {name: measured(data_folder, EDGE, name)["computing"] for name in ("bsp", "ssp 40", "adsp")}
    return bool(shares["adsp"] >= 0.9 and max(shares["bsp"], shares["ssp 40"]) <= 0.2)
