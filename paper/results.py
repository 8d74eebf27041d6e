"""Which result files does the paper read? The tracked JSON of the studies, the ledger and Coq, and nothing else.

Every access names the file, and the field within it, that a figure or a number misses. Written by
`experiments/reproduce.py`, `experiments/studies/kernels/study.py`, `verify/ledger/command.py` and
`verify/formal/coq.py`; read by `figures.py` and `numbers.py`. Nothing is trained here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sparsync.verify.tools.provenance import write_whole

_SEED_IN_NAME = re.compile(r"-(\d+)\.json$")


@dataclass(frozen=True)
class Result:
    """The content of one result file, or of a record within it; a missing field is an error that names both.

    Args:
        path: where it was read.
        fields: its content.
    """

    path: Path
    fields: Mapping[str, Any]

    def __getitem__(self, name: str) -> Any:
        """The field's value.

        Raises:
            ValueError: there is no such field.
        """
        if name not in self.fields:
            raise ValueError(f"{self.path}: no field {name!r}")
        return self.fields[name]

    def record(self, name: str) -> Result:
        """A field that is itself a record, such as `run` or `provenance`."""
        return Result(self.path, self[name])

    def records(self, name: str) -> list[Result]:
        """A field that is a list of records."""
        return [Result(self.path, fields) for fields in self[name]]


def contraction_result(data_folder: Path) -> Result:
    """The study of relative errors and sorted magnitudes."""
    return _read(data_folder / "contraction.json")


def steady_state_result(data_folder: Path) -> Result:
    """The study of the gain that error feedback settles at."""
    return _read(data_folder / "steady_state.json")


def refinement_result(data_folder: Path) -> Result:
    """The study of the counts that the released threshold rule ends with."""
    return _read(data_folder / "refinement.json")


def dssp_leads_result(data_folder: Path) -> Result:
    """The study of how far DSSP lets workers get ahead."""
    return _read(data_folder / "dssp_leads.json")


def planned_barriers_result(data_folder: Path) -> Result:
    """The study of ZipLine's optima, seconds and spreads."""
    return _read(data_folder / "planned_barriers.json")


def sampled_lags_result(data_folder: Path) -> Result:
    """The study of lags at barriers that look at a few workers only."""
    return _read(data_folder / "sampled_lags.json")


def phases_result(data_folder: Path) -> Result:
    """The study of the exponents that laws reach."""
    return _read(data_folder / "phases.json")


def staleness_result(data_folder: Path) -> Result:
    """The study of updates that arrive late."""
    return _read(data_folder / "staleness.json")


def quadratics_result(data_folder: Path) -> Result:
    """The study of error feedback on quadratics."""
    return _read(data_folder / "quadratics.json")


def races_result(data_folder: Path) -> Result:
    """The races of all synchronisation models."""
    return _read(data_folder / "races.json")


def switching_result(data_folder: Path) -> Result:
    """The study of synchronous and asynchronous training, one after the other."""
    return _read(data_folder / "switching.json")


def budgets_result(data_folder: Path) -> Result:
    """The study of densities against synchronisation at equal lines."""
    return _read(data_folder / "budgets.json")


def engine_speed_result(data_folder: Path) -> Result:
    """How fast every policy is simulated."""
    return _read(data_folder / "engine_speed.json", written_by="make bench")


def headlines_result(data_folder: Path) -> Result:
    """What published settings give here."""
    return _read(data_folder / "headlines.json")


def kernel_results(data_folder: Path) -> list[Result]:
    """The study of the fused kernel on every machine that it ran on, in the order of the file names.

    Raises:
        FileNotFoundError: it ran on none.
    """
    paths = sorted(data_folder.glob("kernels-*.json"))
    if not paths:
        raise FileNotFoundError(f"{data_folder / 'kernels-*.json'} is missing; `make bench` writes it")
    return [_read(path) for path in paths]


def ledger_result(data_folder: Path) -> Result:
    """The evidence for every statement, and the counterexamples."""
    return _read(data_folder / "verify.json")


def formal_result(data_folder: Path) -> Result:
    """What Coq says of every formal theorem."""
    return _read(data_folder / "formal.json", written_by="make formal")


def training_results(data_folder: Path, setting: str, run_name: str, density: float) -> list[Result]:
    """One result per seed, in the order of the seeds.

    Args:
        data_folder: holds the folder `convergence`.
        setting: plain, standardised, momentum or paper.
        run_name: key of `RUNS` in `experiments/training/runs.py`.
        density: k/d.

    Raises:
        FileNotFoundError: no such run; the message holds the pattern of the missing files.
    """
    pattern = f"{setting}-{run_name}-{density:g}-*.json"
    paths = [path for path in (data_folder / "convergence").glob(pattern) if _SEED_IN_NAME.search(path.name)]
    if not paths:
        raise FileNotFoundError(f"{data_folder / 'convergence' / pattern} is missing; `make reproduce` writes it")
    return sorted((_read(path) for path in paths), key=lambda result: int(result["seed"]))


def all_training_results(data_folder: Path) -> list[Result]:
    """Every training run of the data folder, in the order of the file names.

    Raises:
        FileNotFoundError: there is none.
    """
    paths = sorted((data_folder / "convergence").glob("*.json"))
    if not paths:
        raise FileNotFoundError(f"{data_folder / 'convergence' / '*.json'} is missing; `make reproduce` writes it")
    return [_read(path) for path in paths]


def write_text(path: Path, text: str) -> None:
    """Write a text file as a whole, in UTF-8."""
    write_whole(path, lambda beside: beside.write_text(text, encoding="utf-8"))


def _read(path: Path, *, written_by: str = "make reproduce") -> Result:
    if not path.is_file():
        raise FileNotFoundError(f"{path} is missing; `{written_by}` writes it")
    try:
        return Result(path, json.loads(path.read_text(encoding="utf-8")))
    except json.JSONDecodeError as error:
        raise ValueError(f"{path} is not JSON: {error}") from error
