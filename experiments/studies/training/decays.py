"""Which decay of the residual do runs prefer? Local steps with a sparse outer update, on quadratics and on networks.

Networks are trained by `network_decays.py`. On quadratics worker i has f_i(x) = Σ h_j (x_j − c_ij)²/2, with curvatures
from 1 to the condition number; the minimiser of their mean is 0. H inner steps, u = βe + Δ, Top-k, e ← u − C(u),
x ← x − mean: the form of `OuterStep` and of `Decayed`, all seeds and step sizes at once. Each β has the step size that
was best on other seeds; what is compared, seed by seed, is the logarithm of f − f* over the last tenth of the rounds,
with that of β = 1. Ours.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from sparsync.experiments.studies.profiles import ProfileName
from sparsync.experiments.studies.training import network_decays
from sparsync.experiments.training.seeding import random_stream
from sparsync.verify.tools import intervals
from sparsync.verify.tools.pool import ALONE, Pool
from sparsync.verify.tools.provenance import provenance

DECAYS = (0.0, 0.5, 0.8, 0.9, 0.95, 0.99, 1.0)
STEP_SIZES = tuple(2.0**-power for power in range(-4, 10))
"""η of an outer step, over 1/L; from 2H on a step that sends everything diverges."""
DIMENSION, WORKER_COUNT, CONDITION_NUMBER = 64, 4, 20.0
_ROUNDS = {"smoke": 20, "quick": 400, "record": 400, "full": 2000}
_SEEDS = {"smoke": 2, "quick": 8, "record": 16, "full": 32}


@dataclass(frozen=True)
class Setting:
    """What is run.

    Args:
        local_steps: H.
        sent_count: k of every worker.
        spread: standard deviation of the entries of every worker's minimiser, whose mean is 0.
        noise: standard deviation of the entries of the noise of every gradient.
    """

    local_steps: int
    sent_count: int
    spread: float
    noise: float


SETTINGS = tuple(
    Setting(local_steps, sent_count, spread, noise)
    for local_steps in (1, 8)
    for sent_count in (1, 6)
    for spread, noise in ((0.0, 0.0), (1.0, 0.0), (0.0, 1.0))
)


def run_decays(profile_name: ProfileName, pool: Pool = ALONE, *, seed: int = 0) -> dict[str, Any]:
    """Run every setting and every network; the study's JSON.

    Args:
        profile_name: key of `PROFILES`.
        pool: runs the cases.
        seed: names the draws of the quadratics.

    Returns:
        `cases`: for each setting on quadratics `by_decay`: β, the `step_size` found best, the `excess` f − f* (a mean
        over the seeds of the logarithm, as a number again), the `log_ratio` of it to that of β = 1 with `low` and
        `high`, and the `verdict`; only `decay`, `step_size` and the verdict where a run diverged. `networks`: see
        `run_networks`.

    Raises:
        CasesFailedError: some cases failed. A run that diverged has not failed.
    """
    cases = pool.run(partial(run_setting, profile_name=profile_name, seed=seed), range(len(SETTINGS)))
    return {
        "profile": profile_name,
        "seed": seed,
        "dimension": DIMENSION,
        "worker_count": WORKER_COUNT,
        "condition_number": CONDITION_NUMBER,
        "rounds": _ROUNDS[profile_name],
        "seed_count": _SEEDS[profile_name],
        "cases": cases,
        "networks": network_decays.run_networks(profile_name, pool),
        "provenance": provenance(process_count=1),
    }


def case_count(profile_name: ProfileName) -> int:
    """How often `run_decays` advances."""
    return len(SETTINGS) + network_decays.case_count(profile_name)


def run_setting(place: int, *, profile_name: ProfileName, seed: int) -> dict[str, Any]:
    """One of `SETTINGS` by its place: its row of the study."""
    setting, rounds, seed_count = SETTINGS[place], _ROUNDS[profile_name], _SEEDS[profile_name]
    searched, measured = (
        excesses(setting, rounds=rounds, seed_count=seed_count, stream=random_stream(seed, name, place))
        for name in ("search", "measure")
    )
    return {**asdict(setting), "by_decay": compared(searched, measured)}


def excesses(setting: Setting, *, rounds: int, seed_count: int, stream: torch.Generator) -> Tensor:
    """log(f − f*) [decays, step sizes, seeds], of the mean over the last tenth of the rounds; ∞ where it diverged.

    Every β and step size sees the same starts, minimisers and noise.
    """
    curvatures = torch.linspace(1, CONDITION_NUMBER, DIMENSION, dtype=torch.float64)
    minimisers = setting.spread * torch.randn(seed_count, WORKER_COUNT, DIMENSION, generator=stream).double()
    minimisers -= minimisers.mean(dim=1, keepdim=True)
    start = torch.randn(seed_count, DIMENSION, generator=stream).double()
    shape = (len(DECAYS), len(STEP_SIZES), seed_count)
    point, residual = start.expand(*shape, -1).clone(), torch.zeros(*shape, WORKER_COUNT, DIMENSION).double()
    decays = torch.tensor(DECAYS, dtype=torch.float64).view(-1, 1, 1, 1, 1)
    inner = torch.tensor(STEP_SIZES, dtype=torch.float64).view(1, -1, 1, 1, 1)
    inner = inner / CONDITION_NUMBER / setting.local_steps
    total, counted = torch.zeros(shape, dtype=torch.float64), max(1, rounds // 10)
    for turn in range(rounds):
        if turn >= rounds - counted:
            total += (curvatures * point.square()).sum(dim=-1) / 2
        noise = setting.noise * torch.randn(setting.local_steps, seed_count, WORKER_COUNT, DIMENSION, generator=stream)
        change = local_change(point, minimisers, curvatures, inner=inner, noise=noise.double())
        message, residual = sent_and_kept(change, residual, decays, count=setting.sent_count)
        point = point - message.mean(dim=-2)
    return torch.nan_to_num(total / counted, nan=torch.inf).clamp(max=torch.inf).log()


def local_change(point: Tensor, minimisers: Tensor, curvatures: Tensor, *, inner: Tensor, noise: Tensor) -> Tensor:
    """Δ [..., seeds, workers, d] of as many inner steps as there are rows of noise."""
    place = point.unsqueeze(-2).expand(*point.shape[:-1], WORKER_COUNT, DIMENSION)
    start = place
    for kicks in noise:
        place = place - inner * (curvatures * (place - minimisers) + kicks)
    return start - place


def sent_and_kept(change: Tensor, residual: Tensor, decays: Tensor, *, count: int) -> tuple[Tensor, Tensor]:
    """C(u) and u − C(u) for u = βe + Δ and Top-k over the last axis."""
    corrected = decays * residual + change
    chosen = corrected.abs().nan_to_num().topk(count, dim=-1).indices
    sent = torch.zeros_like(corrected).scatter(-1, chosen, corrected.gather(-1, chosen))
    return sent, corrected - sent


def compared(searched: Tensor, measured: Tensor) -> list[dict[str, Any]]:
    """One row per β: its best step size on the searched seeds, and what the measured seeds say of it and of β = 1."""
    best = searched.mean(dim=-1).argmin(dim=-1)
    chosen = torch.stack([measured[place, step] for place, step in enumerate(best.tolist())])
    rows = []
    for place, decay in enumerate(DECAYS):
        row: dict[str, Any] = {"decay": decay, "step_size": STEP_SIZES[int(best[place])]}
        if chosen[[place, -1]].isfinite().all():
            difference = intervals.paired_difference(chosen[place].tolist(), chosen[-1].tolist())
            word = intervals.compared(difference, more="worse", less="better")
            row |= {"excess": float(chosen[place].mean().exp()), "verdict": "itself" if decay == 1 else word}
            row |= {"log_ratio": difference.value, "low": difference.low, "high": difference.high}
        else:
            row["verdict"] = "diverged"
        rows.append(row)
    return rows
