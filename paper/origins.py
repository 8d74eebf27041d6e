"""Where do the paper's numbers come from? Profile, commits, machine and versions of all results that studies read."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from paper import latex
from paper.results import Result, command, results
from paper.studies.registry import STUDIES
from paper.studies.study import Macro

RESULT_NAMES = sorted({name for study in STUDIES.values() for name in study.results})
"""What the studies read."""
MEASURED = [name for name in RESULT_NAMES if command(name) == "make reproduce" and name != "verify"]
"""Those that have one profile in common; the ledger and the timings have their own."""

_SHOWN_COMMIT_LENGTH = 12


def _commits(data_folder: Path) -> str:
    """The commits of all result files, in the order of their names, a file from changed sources being marked."""
    records = [found.record("provenance") for name in RESULT_NAMES for found in results(data_folder, name)]
    return latex.escape(", ".join(dict.fromkeys(map(_shown_commit, records))))


def _shown_commit(record: Result) -> str:
    if record["git_commit"] is None:
        return "a copy without history"
    return str(record["git_commit"])[:_SHOWN_COMMIT_LENGTH] + (" with local changes" if record["git_dirty"] else "")


def _profile(data_folder: Path) -> str:
    """The profile of all measured results; several, if what a run lacks is shown from the record."""
    measured = [found for name in MEASURED for found in results(data_folder, name)]
    return latex.escape(", ".join(dict.fromkeys(str(found["profile"]) for found in measured)))


def _trained_with(data_folder: Path, *, fact: str) -> str:
    """The different values of a fact about the training runs, in the order of the results."""
    runs = results(data_folder, "convergence")
    return latex.escape(", ".join(dict.fromkeys(str(run.record("provenance")[fact]) for run in runs)))


def _multiplied_with(data_folder: Path, *, fact: str) -> str:
    """The different values of a fact about the library of matrix products, which may say nothing of its code path."""
    records = [run.record("provenance") for run in results(data_folder, "convergence")]
    return latex.escape(", ".join(dict.fromkeys(record[fact] or "not named" for record in records)))


ORIGINS: dict[str, Macro] = {
    "Profile": _profile,
    "Commits": _commits,
    "Processor": partial(_trained_with, fact="processor_name"),
    "Blas": partial(_multiplied_with, fact="blas"),
    "BlasCodePath": partial(_multiplied_with, fact="blas_code_path"),
    "CpuCapability": partial(_trained_with, fact="cpu_capability"),
    "PythonVersion": partial(_trained_with, fact="python_version"),
    "TorchVersion": partial(_trained_with, fact="torch_version"),
}
"""Macros by name."""
