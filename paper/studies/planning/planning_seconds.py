"""Which planners are there, and how long do they think? Read from `planning_seconds.json` of `make bench`."""

from __future__ import annotations

from pathlib import Path

from paper import latex
from paper.results import result
from paper.studies.study import Study

WORDS = {
    "osdp": "replicate, shard or slice each operator, and the batch",
    "flexsp": "groups of devices for sequences of various lengths",
    "collective": "which collective at which density and number of workers",
    "layer_density": "entries of each layer whose exchange hides under the backward pass",
    "density": "the density that is soonest at a tolerance",
    "switch_point": "when synchronous updates give way to asynchronous ones",
    "lb_bsp": "shares of a batch on unequal workers",
    "easyscale": "logical workers on devices of several types",
    "dedloc": "who of many peers computes, and who averages which part",
}
"""What a planner chooses, by name."""


def planners_table(data_folder: Path) -> str:
    """Each planner, what it chooses, on which question it was timed, and its seconds."""
    rows = result(data_folder, "planning_seconds").records("rows")
    lines = (
        rf"\texttt{{{latex.escape(str(row['planner']))}}} & {WORDS[str(row['planner'])]} & "
        rf"{latex.escape(str(row['question']))} & {latex.decimal(float(row['seconds']), 2)} \\"
        for row in rows
    )
    layout = r"l>{\raggedright\arraybackslash}p{5.4cm}>{\raggedright\arraybackslash}p{5.2cm}r"
    return "\n".join(
        [
            rf"\begin{{tabular}}{{{layout}}}",
            r"\toprule",
            r"planner & chooses & timed on & seconds \\",
            r"\midrule",
            *lines,
            r"\bottomrule",
            r"\end{tabular}",
            "",
        ]
    )


def _slowest(data_folder: Path) -> str:
    rows = result(data_folder, "planning_seconds").records("rows")
    return latex.decimal(max(float(row["seconds"]) for row in rows), 1)


STUDY = Study(
    macros={
        "PlannersCount": lambda folder: latex.integer(len(result(folder, "planning_seconds").records("rows"))),
        "PlannersSlowest": _slowest,
        "PlannersAim": lambda folder: latex.shortest(float(result(folder, "planning_seconds")["aim_seconds"])),
    },
    tables={"planners.tex": planners_table},
    results=("planning_seconds",),
)
