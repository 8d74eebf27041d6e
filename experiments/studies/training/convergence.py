"""Does sending little cost accuracy? Every selector trained from the same seeds, at two densities and four settings.

Runs are simulated in one process each, several at a time; every run leaves one JSON file that the figures read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import torch

from sparsync.experiments.simulate import simulate
from sparsync.experiments.studies.profiles import PROFILES, Profile, ProfileName
from sparsync.experiments.training.data import Dataset, PixelScale, load_dataset
from sparsync.experiments.training.record import training_record
from sparsync.experiments.training.runs import RUNS, Run
from sparsync.verify.tools.pool import ALONE, Pool
from sparsync.verify.tools.provenance import write_json

DENSITIES = (0.001, 0.01)
_PLAIN_RUNS = tuple(name for name in RUNS if not name.endswith("_paper"))
_PAPER_RUNS = tuple(name for name in RUNS if name.endswith("_paper"))
MAIN_RUNS = ("fnn3_dense", "fnn3_top_k", "fnn3_random_k", "fnn3_gaussian_k", "fnn3_gaussian_k_released")
"""The runs that claims are made of; the other rules are released ones, whose counts matter more than their accuracy."""
_MOMENTUM_RUNS = (
    "fnn3_dense",
    "fnn3_top_k",
    "fnn3_gaussian_k",
    "fnn3_gaussian_k_released",
    "fnn3_dgc_released",
    "fnn3_sidco_adaptive",
    "fnn3_oktopk_released",
)


@dataclass(frozen=True)
class Case:
    """One training run of the study.

    Args:
        setting: what sets it apart: plain, standardised, momentum or paper.
        run_name: key of `RUNS`.
        overrides: fields of the run that the study sets.
    """

    setting: str
    run_name: str
    overrides: dict[str, Any] = field(default_factory=dict)

    @property
    def run(self) -> Run:
        """The run with its overrides."""
        return replace(RUNS[self.run_name], **self.overrides)

    @property
    def file_name(self) -> str:
        """Where its result lies, within the study's folder."""
        return f"{self.setting}-{self.run_name}-{self.run.density:g}-{self.run.seed}.json"


def convergence_cases(profile: Profile) -> list[Case]:
    """All runs of the study, longest kinds mixed with short ones so that a pool stays busy to the end."""
    return [
        Case(setting, name, {**common, **_size(profile), "seed": seed})
        for setting, name, common, seed_count in _kinds(profile)
        for seed in range(seed_count)
    ]


def _kinds(profile: Profile) -> Iterator[tuple[str, str, dict[str, Any], int]]:
    def seeds(name: str, main_count: int) -> int:
        return main_count if name.removesuffix("_paper") in MAIN_RUNS else profile.other_seed_count

    for name in _PAPER_RUNS:
        yield "paper", name, {}, seeds(name, profile.setting_seed_count)
    for name in _PLAIN_RUNS:
        # Density means nothing to a dense run.
        for density in DENSITIES[:1] if RUNS[name].selector == "keep_all" else DENSITIES:
            yield "plain", name, {"density": density}, seeds(name, profile.seed_count)
        yield "standardised", name, {"pixels": "standardised"}, seeds(name, profile.setting_seed_count)
    for name in _MOMENTUM_RUNS:
        yield "momentum", name, {"momentum": 0.9}, seeds(name, profile.momentum_seed_count)


def _size(profile: Profile) -> dict[str, Any]:
    size: dict[str, Any] = {"workers": profile.workers, "data": profile.data}
    return size if profile.steps is None else {**size, "steps": profile.steps}


def run_convergence(profile_name: ProfileName, folder: Path, pool: Pool = ALONE) -> None:
    """Run every case; once all are there, write `folder/<case>.json` for each and remove every other result there.

    Args:
        profile_name: key of `PROFILES`.
        folder: created if absent.
        pool: runs the cases.

    Raises:
        CasesFailedError: some runs failed; the folder is as it was. One that diverged has not failed.
    """
    cases = convergence_cases(PROFILES[profile_name])
    records = pool.run(partial(run_case, profile_name=profile_name), cases)
    for case, record in zip(cases, records, strict=True):
        write_json(folder / case.file_name, record)
    for stale in set(folder.glob("*.json")) - {folder / case.file_name for case in cases}:
        stale.unlink()


def run_case(case: Case, profile_name: ProfileName) -> dict[str, Any]:
    """The JSON of one training run."""
    result = simulate(case.run, _data(case.run.data, case.run.pixels), device=_device(profile_name))
    record = training_record(case.run_name, result, process_count=1)
    return {"setting": case.setting, "profile": profile_name, **record}


def _device(profile_name: ProfileName) -> str:
    """The full profile uses a GPU where there is one; the others compute the bits that are in the repository."""
    return "cuda" if profile_name == "full" and torch.cuda.is_available() else "cpu"


@cache
def _data(source: str, pixels: PixelScale) -> Dataset:
    return load_dataset(source, pixels=pixels)
