"""The study of decays runs the library's form, and finds what a floor makes certain."""

from __future__ import annotations

from dataclasses import asdict

import pytest
import torch

from sparsync.experiments.feedbacks.decayed import Decayed
from sparsync.experiments.studies.training import decays, network_decays
from sparsync.experiments.studies.training.decays import DECAYS, DIMENSION, Setting
from sparsync.kernels.selection import SELECTORS
from sparsync.verify.tools.pool import Pool


def stream() -> torch.Generator:
    return torch.Generator().manual_seed(5)


@pytest.mark.parametrize("decay", [0.0, 0.9, 1.0])
def test_a_worker_keeps_and_sends_what_the_library_s_feedback_does(decay: float) -> None:
    feedback = Decayed(decay=decay)
    memory = feedback.memory(DIMENSION, dtype=torch.float64, device="cpu")
    residual = torch.zeros(DIMENSION, dtype=torch.float64)
    generator = stream()
    for _ in range(4):
        change = torch.randn(DIMENSION, generator=generator).double()
        corrected = feedback.correct(memory, change, 1.0)
        payload = SELECTORS["top_k"](corrected, 5)
        feedback.settle(memory, corrected, payload)
        sent, residual = decays.sent_and_kept(change, residual, torch.tensor(decay, dtype=torch.float64), count=5)
        assert torch.equal(sent, payload.dense())
        assert torch.equal(residual, feedback.pending(memory))


def test_inner_steps_are_those_of_gradient_descent() -> None:
    curvatures = torch.linspace(1, 3, DIMENSION, dtype=torch.float64)
    minimisers = torch.randn(decays.WORKER_COUNT, DIMENSION, generator=stream()).double()
    start, step = torch.ones(DIMENSION, dtype=torch.float64), torch.tensor(0.125, dtype=torch.float64)
    noise = torch.zeros(3, decays.WORKER_COUNT, DIMENSION, dtype=torch.float64)
    change = decays.local_change(start, minimisers, curvatures, inner=step, noise=noise)
    shrunk = minimisers + (1 - 0.125 * curvatures) ** 3 * (start - minimisers)
    assert torch.allclose(start - change, shrunk, rtol=1e-12)


def test_with_all_sent_the_decay_changes_nothing() -> None:
    setting = Setting(local_steps=2, sent_count=DIMENSION, spread=1.0, noise=0.0)
    found = decays.excesses(setting, rounds=10, seed_count=2, stream=stream())
    assert all(torch.equal(found[place], found[-1]) for place in range(len(DECAYS)))


def test_a_run_that_diverges_is_a_verdict() -> None:
    measured = torch.zeros(len(DECAYS), len(decays.STEP_SIZES), 2, dtype=torch.float64)
    measured[0] = torch.inf
    rows = decays.compared(torch.zeros_like(measured), measured)
    assert rows[0]["verdict"] == "diverged"
    assert "log_ratio" not in rows[0]
    assert rows[1]["verdict"] == "inconclusive"


def test_where_workers_differ_no_memory_is_worse_and_the_seeds_are_paired() -> None:
    setting = Setting(local_steps=1, sent_count=6, spread=1.0, noise=0.0)
    searched, measured = (
        decays.excesses(setting, rounds=60, seed_count=5, stream=torch.Generator().manual_seed(seed)) for seed in (1, 2)
    )
    rows = decays.compared(searched, measured)
    assert rows[0]["verdict"] == "worse"
    assert rows[-1]["log_ratio"] == 0
    assert [row["decay"] for row in rows] == list(DECAYS)


@pytest.mark.slow
def test_the_study_has_a_row_for_every_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Slow since `make reproduce` runs it in every profile, and the paper's tables read all of its rows."""
    monkeypatch.setattr(network_decays, "SIZES", {})
    advanced: list[None] = []
    study = decays.run_decays("smoke", Pool(advance=lambda: advanced.append(None)))
    assert len(study["cases"]) == len(decays.SETTINGS) == len(advanced)
    assert [{name: case[name] for name in asdict(decays.SETTINGS[0])} for case in study["cases"]] == [
        asdict(setting) for setting in decays.SETTINGS
    ]
    assert study["networks"] == []
