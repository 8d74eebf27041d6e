"""The study runs every stream through Top-k with feedback and finds the gains that are known by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from sparsync.experiments.studies.profiles import PROFILES
from sparsync.experiments.studies.training import steady_state
from sparsync.experiments.studies.training.steady_state import (
    DENSITIES,
    STREAMS,
    equal_drift,
    noise,
    run_steady_state,
    stream_gains,
    window_ends,
)
from sparsync.theory.statements import STATEMENTS


def generator() -> torch.Generator:
    return torch.Generator().manual_seed(4)


def test_equal_drift_climbs_to_the_stated_gain_and_stays() -> None:
    gains = stream_gains(equal_drift(60, generator()), 60, 6, 25)
    # At step t < 10 the levels 1 … t−1 hold 6 coordinates each and t the rest; at 10 all ten levels do.
    assert gains[0] == pytest.approx(1.0)
    assert gains[1] == pytest.approx(6 * 4 / (6 + 54 * 4) * 10)
    stated = 10 * (1 - STATEMENTS["steady_drift_equal"].evaluate(k=6, d=60))
    # Integers below 2⁵³ are summed exactly; the norm and its square round a few times.
    assert gains[9:] == pytest.approx([stated] * 16, rel=1e-14)


def test_noise_settles_at_about_twice_the_drift() -> None:
    """With 20 sent of 2,000 the law of a fixed threshold is off by the fluctuation of Top-k's own: a few per cent."""
    gains = stream_gains(noise(2000, generator()), 2000, 20, 600)
    settled = sum(gains[300:]) / 300
    assert settled == pytest.approx(100 * (1 - STATEMENTS["steady_noise"].evaluate(kappa=0.01)), rel=0.05)


@pytest.mark.parametrize("step_count", [1, 2, 10, 11, 1000])
def test_windows_follow_each_other_up_to_the_last_step(step_count: int) -> None:
    ends = window_ends(step_count)
    assert (ends[0], ends[-1]) == (1, step_count)
    assert ends == sorted(set(ends))


def test_the_study_holds_every_stream_at_every_density(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PROFILES, "smoke", replace(PROFILES["smoke"], steady_dimension=1000, steady_steps=12))
    advanced: list[None] = []
    study = run_steady_state("smoke", advance=lambda: advanced.append(None))
    assert [(run["density"], run["stream"]) for run in study["runs"]] == [(c, s) for c in DENSITIES for s in STREAMS]
    assert len(advanced) == len(study["runs"])
    assert all(run["step"][-1] == 12 and len(run["gain"]) == len(run["step"]) for run in study["runs"])
    assert [run["target_count"] for run in study["runs"]] == [10] * len(STREAMS) + [1] * len(STREAMS)
    assert study["predicted_gain"]["steady_noise"] == pytest.approx([6 / 1.05, 6 / 1.005])
    assert study["predicted_gain"]["steady_drift"] == pytest.approx([3 / 1.02, 3 / 1.002])
    assert study["predicted_gain"]["steady_drift_equal"] == pytest.approx([6 / 2.0301, 6 / 2.003001])


def test_the_same_seed_gives_the_same_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PROFILES, "smoke", replace(PROFILES["smoke"], steady_dimension=100, steady_steps=5))
    first, second, other = (run_steady_state("smoke", seed=seed)["runs"] for seed in (1, 1, 2))
    assert first == second
    assert first != other


def test_every_step_counts_in_one_window(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gains of 1, 2, …, 40: the mean of a window is that of its first and its last step."""
    monkeypatch.setitem(PROFILES, "smoke", replace(PROFILES["smoke"], steady_dimension=100, steady_steps=40))
    monkeypatch.setattr(steady_state, "stream_gains", lambda *_arguments: [float(step) for step in range(1, 41)])
    for run in run_steady_state("smoke")["runs"]:
        starts = [0, *run["step"][:-1]]
        assert run["gain"] == [(start + 1 + end) / 2 for start, end in zip(starts, run["step"], strict=True)]
        assert run["gain"][-1] < 40
