"""Runs with late updates stop being stable where the statements say; random delays leave more room."""

from __future__ import annotations

import pytest

from sparsync.experiments.studies.staleness import stale_limits
from sparsync.experiments.studies.staleness.stale_limits import GRID_RATIO, largest_stable_step, limit_row
from sparsync.theory.statements import STATEMENTS


@pytest.mark.parametrize("momentum", [0.0, 0.5, 0.9])
@pytest.mark.parametrize("delay", [0, 1, 3])
def test_a_measured_limit_is_the_stated_one_to_the_grids_resolution(
    delay: int, momentum: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stale_limits, "LEAST_STEP_COUNT", 400)
    monkeypatch.setattr(stale_limits, "SMALLEST_STEP", 0.02)
    row = limit_row(delay, momentum, seed=0)
    assert row["stated"] == STATEMENTS["delayed_momentum_limit"].evaluate(delay=delay, momentum=momentum)
    # The grid's last point below the limit, or the one before where decay within 2 ‰ of the limit is too slow to see.
    assert row["stated"] / GRID_RATIO**2 < row["fixed"] <= row["stated"]


def test_a_run_that_shrinks_to_nothing_is_stable() -> None:
    """Without delay most steps below 2 have underflowed to zero after 4,000 steps."""
    assert 2 / GRID_RATIO**2 < largest_stable_step([0] * 4000, momentum=0.0) <= 2


def test_two_delays_in_turn_are_done_by_hand() -> None:
    """Delays 1, 0, 1, 0, …: two updates arrive at even times and none at odd ones, x ← (1 − 2a)x, stable for a < 1."""
    assert 1 / GRID_RATIO < largest_stable_step([1, 0] * 400, momentum=0.0) <= 1


def test_uniform_delays_of_the_same_mean_allow_larger_steps() -> None:
    row = limit_row(4, 0.0, seed=1)
    assert row["uniform"] > 1.2 * row["fixed"]


def test_uniform_delays_are_a_function_of_the_seed() -> None:
    first, second, other = (limit_row(2, 0.0, seed=seed)["uniform"] for seed in (1, 1, 2))
    assert first == second
    assert other == pytest.approx(first, rel=0.1)
