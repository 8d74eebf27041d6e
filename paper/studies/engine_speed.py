"""How fast is the simulation of synchronisation? Read from `engine_speed.json`, which `make bench` writes."""

from __future__ import annotations

from pathlib import Path

from paper import latex
from paper.results import Result, result
from paper.studies.study import Macro, Study

AIM = 50_000
"""Events per second that every policy should reach without monitors."""
_THOUSAND = 1000


def speed_row(study: Result, policy: str, *, is_judged: bool) -> Result:
    """The timing of a policy.

    Raises:
        ValueError: the study has none.
    """
    for row in study.records("rows"):
        if (row["policy"], row["is_judged"]) == (policy, is_judged):
            return row
    raise ValueError(f"{study.path}: no timing of {policy!r}, is_judged {is_judged}")


def slow_policies(study: Result) -> dict[str, float]:
    """Policies below the aim without monitors, with their events per second."""
    rows = [row for row in study.records("rows") if not row["is_judged"]]
    return {str(row["policy"]): row["events_per_second"] for row in rows if row["events_per_second"] < AIM}


def _thousands(data_folder: Path, *, is_judged: bool) -> str:
    row = speed_row(result(data_folder, "engine_speed"), "bsp", is_judged=is_judged)
    return latex.decimal(row["events_per_second"] / _THOUSAND, 0)


def _slow(data_folder: Path) -> str:
    slow = slow_policies(result(data_folder, "engine_speed"))
    names = (f"\\texttt{{{latex.escape(name)}}} {latex.decimal(speed / _THOUSAND, 1)}" for name, speed in slow.items())
    return ", ".join(names) or "none"


MACROS: dict[str, Macro] = {
    "SpeedWorkers": lambda folder: latex.integer(result(folder, "engine_speed")["workers"]),
    "SpeedAim": lambda _folder: latex.integer(AIM),
    "SpeedBsp": lambda folder: _thousands(folder, is_judged=False),
    "SpeedBspJudged": lambda folder: _thousands(folder, is_judged=True),
    "SpeedSlow": _slow,
}

STUDY = Study(macros=MACROS, results=("engine_speed",))
