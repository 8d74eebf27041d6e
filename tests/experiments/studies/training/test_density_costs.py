"""Predictions are made from dense runs alone, a delay is read off their curve, and lags come from energies."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from sparsync.experiments.studies.training import density_costs, lag_runs
from sparsync.experiments.studies.training.contestants import Setup
from sparsync.experiments.studies.training.density_costs import (
    SIZES,
    case_count,
    measured_lag,
    run_density_costs,
    shifted_loss,
)
from sparsync.experiments.studies.training.lag_model import (
    Gathering,
    GradientLaw,
    common_threshold,
    coordinate_lags,
    predicted_lag,
    send_rates,
)
from sparsync.experiments.studies.training.lag_runs import Case, run_case
from sparsync.verify.tools.pool import Pool

DIMENSION = 400


def stream_lag(drift: torch.Tensor, noise: torch.Tensor, *, count: int, steps: int) -> float:
    """Λ of real Top-k on a stream of independent Gaussian gradients, after a third of the steps."""
    generator = torch.Generator().manual_seed(0)
    residual, late = torch.zeros_like(drift), 0.0
    for step in range(steps):
        if 3 * step >= steps:
            late += float(residual @ drift)
        corrected = residual + drift + noise * torch.randn(len(drift), generator=generator, dtype=torch.float64)
        corrected[corrected.abs().topk(count).indices] = 0.0
        residual = corrected
    return late / (steps - -(-steps // 3)) / float(drift @ drift)


@pytest.mark.parametrize("count", [4, 20])
@pytest.mark.parametrize("noise_size", [0.0, 1.0, 3.0])
def test_the_model_knows_the_lag_of_top_k_on_streams(count: int, noise_size: float) -> None:
    """Within a twelfth: the diffusion limit and a threshold that is common leave a few parts in a hundred."""
    generator = torch.Generator().manual_seed(1)
    drift = torch.randn(DIMENSION, generator=generator, dtype=torch.float64)
    noise = noise_size * torch.randn(DIMENSION, generator=generator, dtype=torch.float64).exp()
    law = GradientLaw(drift.expand(3, -1), noise.square(), fold_size=2, is_whole=True)
    found = stream_lag(drift, noise, count=count, steps=60 * DIMENSION // count)
    assert predicted_lag(law, count / DIMENSION) == pytest.approx(found, rel=1 / 12)


def test_the_threshold_gives_the_density() -> None:
    square, variance = torch.linspace(0, 1, 50).double(), torch.linspace(1, 2, 50).double()
    threshold = common_threshold(square, variance, 0.02)
    assert float(send_rates(square, variance, threshold).mean()) == pytest.approx(0.02, rel=1e-6)
    assert float(coordinate_lags(square, variance, threshold).min()) > 0


def test_no_lag_is_longer_than_the_run() -> None:
    law = GradientLaw(torch.ones(3, 10).double(), torch.ones(10).double(), fold_size=2, is_whole=True)
    assert predicted_lag(law, 0.001, elapsed=5) == pytest.approx(5)


def test_the_weights_of_a_gathered_law_are_those_of_its_gradients() -> None:
    """Ones under noise: the energy d is found within the error of 300 gradients, though σ² is 100 times as large."""
    generator = torch.Generator().manual_seed(2)
    gathering = Gathering(DIMENSION)
    for index in range(300):
        gathering.add(1 + 10 * torch.randn(DIMENSION, generator=generator), index % 3)
    law = gathering.law()
    assert law.energy == pytest.approx(DIMENSION, rel=0.2)
    assert float(law.variance.mean()) == pytest.approx(100, rel=0.05)
    gathering.add(torch.ones(DIMENSION), 0)
    with pytest.raises(ValueError, match="equally many"):
        gathering.law()


def test_a_delay_is_read_off_the_dense_curve() -> None:
    curve = [10.0, 8.0, 6.0, 4.0, 2.0]
    assert shifted_loss(curve, [5.0] * 5, 10) == pytest.approx(1.0)
    assert shifted_loss(curve, [0.0] * 5, 10) == 0.0
    # Before the start there is nothing: a lag of 100 steps leaves the first loss.
    assert shifted_loss(curve, [100.0] * 5, 10) == pytest.approx(10 - 3)


def test_the_lag_of_a_run_is_that_of_its_last_half() -> None:
    run = {"late": [9.0, 9.0, 2.0, 4.0], "persistent": [1.0, 1.0, 1.0, 0.5], "lasting": [5.0, 0.0]}
    assert measured_lag(run, "point") == pytest.approx(3 / 0.75)
    assert measured_lag(run, "path") is None


def test_energies_give_the_inner_product_of_residual_and_gradient(monkeypatch: pytest.MonkeyPatch) -> None:
    """⟨e, g⟩ by the balance is ⟨e, g⟩ itself, summed over workers and steps."""
    products: list[float] = []
    read = lag_runs._Meter.read

    def watched(self: Any, corrected: Any, kept: Any) -> None:
        products.extend(float(e.double() @ (u - e).double()) for u, e in zip(corrected, self._kept, strict=True))
        read(self, corrected, kept)

    monkeypatch.setattr(lag_runs._Meter, "read", watched)
    setup = Setup("fnn3", "embedded", batch_size=4, steps=8, test_limit=16)
    run = run_case(Case(setup, 0.1, seed=0, worker_count=2, evaluate_every=8, density=0.01))
    assert run["late"] == [pytest.approx(math.fsum(products) / len(products), rel=1e-3)]
    assert len(run["test_loss"]) == 2


def made_up(case: Case, device: str = "cpu") -> dict[str, Any]:
    """A loss that falls with the steps, best at step size 0.4; Top-k trails dense by two evaluations."""
    del device
    late = 0 if case.density is None else 2
    count = case.setup.steps // case.evaluate_every + 1
    tuning = abs(math.log2(case.step_size / 0.4))
    quarters = {"late": [2.0] * (count - 1), "persistent": [1.0] * (count - 1), "lasting": [0.5] * 4}
    lags = [2.0 * case.evaluate_every for _ in case.predicts]
    laws = [{"step": place, **{source: {"lags": lags} for source in ("point", "path")}} for place in case.places]
    return {
        "test_loss": [100.0 - max(0, index - late) + tuning for index in range(count)],
        "predicted": laws,
        **(quarters if case.density is not None else {"late": [], "persistent": [], "lasting": []}),
        "diverged_at_step": None,
        "dimension": 7,
        "computed_on": "here",
    }


def test_a_delay_that_is_predicted_right_predicts_the_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(density_costs, "run_case", made_up)
    advanced: list[None] = []
    found = run_density_costs("record", Pool(advance=lambda: advanced.append(None)))
    assert len(advanced) == case_count("record")
    assert [(row["model"], row["step_share"]) for row in found["networks"]] == [
        ("fnn3", 1.0),
        ("fnn3", 0.125),
        ("resnet20", 1.0),
        ("gpt", 1.0),
    ]
    for network in found["networks"]:
        assert network["step_size"] == pytest.approx(0.4 * network["step_share"])
        for row in network["densities"]:
            assert row["measured"] == pytest.approx([2.0] * 5)
            assert row["point"]["predicted"] == pytest.approx(row["measured"])
            assert row["measured_lag"] == {"point": [2.0] * 5, "path": [4.0] * 5}
    assert {row["step_size"] for row in found["momentum"]} == {0.4}


def test_a_profile_without_the_study_is_refused() -> None:
    assert case_count("quick") == 0
    assert "quick" not in SIZES
    with pytest.raises(ValueError, match="quick"):
        run_density_costs("quick")
