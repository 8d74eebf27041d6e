"""Did a short trace lead to the right policy? The study `advice`: the advised one against the fastest, for real."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path

from paper import latex
from paper.results import Result, result
from paper.studies.study import Macro, Study

NAME = "advice"


def rows(study: Result) -> dict[str, Result]:
    """Settings by name."""
    return {name: Result(study.path, fields) for name, fields in study["settings"].items()}


def ratio(setting: Result) -> float:
    """Seconds of the advised candidate over those of the fastest; infinite if it did not get there, or none did."""
    # JSON has no infinity: there it is a word.
    fastest, advised = float(setting["fastest_seconds"]), float(setting["candidates"][0]["real_mean_seconds"])
    return advised / fastest if fastest < math.inf else math.inf


def largest_ratio(data_folder: Path) -> float:
    """The largest `ratio` of any setting."""
    return max(ratio(setting) for setting in rows(result(data_folder, NAME)).values())


def advice_table(data_folder: Path) -> str:
    """A `tabular`: what was advised in each setting, what was fastest, and the ratio of their seconds."""
    body = "".join(_line(name, setting) for name, setting in rows(result(data_folder, NAME)).items())
    top = "setting & advised & s, predicted & s, real & fastest & s, real & ratio \\\\\n"
    return f"\\begin{{tabular}}{{@{{}}llrrlrr@{{}}}}\n\\toprule\n{top}\\midrule\n{body}\\bottomrule\n\\end{{tabular}}\n"


def _line(name: str, setting: Result) -> str:
    candidates = setting.records("candidates")
    advised, fastest = candidates[0], min(candidates, key=lambda one: float(one["real_mean_seconds"]))
    predicted = advised["predicted_seconds"]
    cells = [
        latex.escape(name.replace("_", " ")),
        _candidate(advised),
        "--" if predicted is None else latex.decimal(predicted["value"], 2),
        _seconds(advised),
        _candidate(fastest),
        _seconds(fastest),
        latex.decimal(ratio(setting), 2) if ratio(setting) < math.inf else "--",
    ]
    return " & ".join(cells) + " \\\\\n"


def _candidate(row: Result) -> str:
    sent = "" if row["density"] == 1 else f", {latex.shortest(row['density'])}"
    return f"\\texttt{{{latex.escape(row['policy'])}}}{sent}"


def _seconds(row: Result) -> str:
    seconds = float(row["real_mean_seconds"])
    return latex.decimal(seconds, 2) if seconds < math.inf else "not reached"


def _count(data_folder: Path, *, well: bool) -> str:
    settings = rows(result(data_folder, NAME)).values()
    return latex.integer(sum(setting["is_within"] for setting in settings) if well else len(settings))


def _first(data_folder: Path) -> Result:
    return next(iter(rows(result(data_folder, NAME)).values()))


MACROS: dict[str, Macro] = {
    "AdviceSettings": partial(_count, well=False),
    "AdviceWell": partial(_count, well=True),
    "AdviceWithin": lambda folder: latex.percent(result(folder, NAME)["within"] - 1, 0),
    "AdviceCandidates": lambda folder: latex.integer(len(_first(folder)["candidates"])),
    "AdviceSeeds": lambda folder: latex.integer(len(_first(folder)["candidates"][0]["real_seconds"])),
}

STUDY = Study(macros=MACROS, tables={"advice.tex": advice_table}, results=(NAME,))
