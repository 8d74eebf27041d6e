"""Error feedback on quadratics never contracts more slowly than the theorem, and sometimes nearly as slowly."""

from __future__ import annotations

from dataclasses import replace
from itertools import cycle

import pytest
import torch

from sparsync.experiments.studies.profiles import PROFILES
from sparsync.experiments.studies.training import quadratics
from sparsync.experiments.studies.training.quadratics import (
    CONDITION_NUMBERS,
    COUNTS,
    DIMENSION,
    SELECTED,
    case_count,
    lyapunov_factors,
    run_quadratics,
)
from sparsync.theory.statements import STATEMENTS


def stream() -> torch.Generator:
    return torch.Generator().manual_seed(3)


@pytest.mark.parametrize("condition_number", CONDITION_NUMBERS)
@pytest.mark.parametrize("count", [5, 20, 80])
def test_no_step_of_top_k_is_slower_than_the_tight_rate(count: int, condition_number: float) -> None:
    epsilon = 1 - count / DIMENSION
    rate = STATEMENTS["ef_tight_rate"].evaluate(mu=1.0, smoothness=condition_number, epsilon=epsilon)
    factors = lyapunov_factors("top_k", count, condition_number, 300, stream())
    # A sum of 100 squares in float64 is off by 100·2⁻⁵³ at most, each V by a handful of such sums.
    assert max(factors) <= rate * (1 + 1e-12)


def test_two_factors_are_done_again_from_the_definition() -> None:
    """V = ‖x − e‖² + ‖e‖²/√ε with ε = 0.8, h_i = 1 + 9i/99 and η the tight step size."""
    step_size = STATEMENTS["ef_tight_step"].evaluate(mu=1.0, smoothness=10.0, epsilon=0.8)
    curvatures = 1 + 9 * torch.arange(DIMENSION, dtype=torch.float64) / (DIMENSION - 1)
    point, residual = torch.randn(DIMENSION, generator=stream(), dtype=torch.float64), torch.zeros(DIMENSION).double()
    values = [float(point @ point)]
    for _ in range(2):
        corrected = residual + step_size * curvatures * point
        sent = torch.where(corrected.abs() >= corrected.abs().sort().values[-20], corrected, 0.0)
        point, residual = point - sent, corrected - sent
        values.append(float((point - residual).square().sum() + residual.square().sum() / 0.8**0.5))
    expected = [values[1] / values[0], values[2] / values[1]]
    # Sums of 100 squares in another order, and curvatures rounded once more: far below 1e-12.
    assert lyapunov_factors("top_k", 20, 10.0, 2, stream()) == pytest.approx(expected, rel=1e-12)


def test_some_step_comes_within_one_per_cent_of_the_rate() -> None:
    rate = STATEMENTS["ef_tight_rate"].evaluate(mu=1.0, smoothness=100.0, epsilon=0.5)
    factors = lyapunov_factors("top_k", 50, 100.0, 1000, stream())
    assert 1 - max(factors) < 1.01 * (1 - rate)


def test_random_selection_exceeds_the_rate_in_single_steps_but_not_on_average() -> None:
    rate = STATEMENTS["ef_tight_rate"].evaluate(mu=1.0, smoothness=10.0, epsilon=0.8)
    factors = torch.tensor(lyapunov_factors("random_k", 20, 10.0, 500, stream()), dtype=torch.float64)
    assert float(factors.max()) > rate
    assert float(factors.log().mean().exp()) < rate


def test_the_study_holds_every_case(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PROFILES, "smoke", replace(PROFILES["smoke"], quadratic_steps=3))
    advanced: list[None] = []
    cases = run_quadratics("smoke", advance=lambda: advanced.append(None))["cases"]
    expected = {(c, s, k) for c in CONDITION_NUMBERS for s in SELECTED for k in COUNTS}
    assert {(case["condition_number"], case["selector"], case["target_count"]) for case in cases} == expected
    assert len(cases) == len(advanced) == case_count()
    assert all(case["mean_factor"] <= case["largest_factor"] for case in cases)


def test_the_slowest_start_and_its_slowest_step_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Geometric means of √(0.1·0.9) = 0.3, 0.2 and 0.5; the slowest single step is of another start."""
    starts = ([0.1, 0.9], [0.2, 0.2], [0.5, 0.5])
    runs = cycle(starts)
    monkeypatch.setattr(quadratics, "lyapunov_factors", lambda *_arguments: next(runs))
    for case in run_quadratics("smoke")["cases"]:
        assert case["largest_factor"] == 0.9
        assert case["mean_factor"] == pytest.approx(0.5)
