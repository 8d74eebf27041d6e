"""The failure map and the table show what the rules return, on vectors that follow the laws they are drawn from."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
import torch

from sparsync.experiments.studies.profiles import PROFILES
from sparsync.experiments.studies.selection.refinement import (
    DENSITIES,
    FAMILIES,
    RULES,
    generalised_gaussian,
    law_count,
    run_refinement,
    shifted_gaussian,
    sidco_in_hindsight,
)
from sparsync.experiments.training.seeding import random_stream
from sparsync.kernels.reference import sidco_indices
from sparsync.kernels.selection import SELECTORS

DRAWS = 100_000
DIMENSION = 5000


def generator() -> torch.Generator:
    return torch.Generator().manual_seed(6)


@pytest.mark.parametrize("exponent", [0.5, 1.0, 2.0, 8.0])
def test_generalised_gaussians_have_their_moments(exponent: float) -> None:
    """E|u|^exponent = 1/exponent, with variance 1/exponent; and u is symmetric. Five standard errors are allowed."""
    draws = generalised_gaussian(DRAWS, exponent, generator())
    powers = draws.abs() ** exponent
    error = 5 * math.sqrt(1 / exponent / DRAWS)
    assert float(powers.mean()) == pytest.approx(1 / exponent, abs=error)
    assert abs(float(draws.sign().mean())) < 5 / math.sqrt(DRAWS)
    # P(|u|^β ≤ x) of a gamma law of shape 1/β, at x = 1/β, against torch's own incomplete gamma function.
    share = float((powers <= 1 / exponent).double().mean())
    expected = float(torch.special.gammainc(torch.tensor(1 / exponent).double(), torch.tensor(1 / exponent).double()))
    assert share == pytest.approx(expected, abs=2.5 / math.sqrt(DRAWS))


def test_shifted_gaussians_have_their_mean_and_deviation() -> None:
    draws = shifted_gaussian(DRAWS, -3.0, generator())
    assert float(draws.mean()) == pytest.approx(-3.0, abs=5 / math.sqrt(DRAWS))
    assert float(draws.std()) == pytest.approx(1.0, abs=5 / math.sqrt(2 * DRAWS))


@pytest.fixture(scope="module")
def advanced() -> list[None]:
    """Grows by one at each law that the study has done."""
    return []


@pytest.fixture(scope="module")
def study(advanced: list[None]) -> dict[str, Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(PROFILES, "smoke", replace(PROFILES["smoke"], sample_dimension=DIMENSION))
        return run_refinement("smoke", advance=lambda: advanced.append(None))


@pytest.mark.slow
def test_the_study_holds_the_counts_that_the_selectors_return(study: dict[str, Any], advanced: list[None]) -> None:
    assert len(advanced) == law_count()
    assert study["target_count"] == [max(1, round(density * DIMENSION)) for density in DENSITIES]
    family = study["families"]["shifted gaussian"]
    position = family["value"].index(-2.0)
    vector = shifted_gaussian(DIMENSION, -2.0, random_stream(0, "shifted gaussian -2.0")).float()
    largest = [float(SELECTORS["top_k"](vector, k).values.double().square().sum()) for k in study["target_count"]]
    for rule in RULES[:-1]:
        stream = random_stream(0, f"shifted gaussian -2.0 {rule}")
        payloads = [SELECTORS[rule](vector, target, stream) for target in study["target_count"]]
        assert family["selected_count"][rule][position] == [payload.count for payload in payloads]
        captured = [float(payload.values.double().square().sum()) for payload in payloads]
        shares = [part / whole for part, whole in zip(captured, largest, strict=True)]
        assert family["captured_share"][rule][position] == pytest.approx(shares, rel=1e-12)


@pytest.mark.parametrize("density", [0.0004, 0.01, 0.1, 0.5])
def test_sidco_in_hindsight_has_the_best_number_of_stages(density: float) -> None:
    vector = generalised_gaussian(5000, 4.0, generator())
    k = round(density * 5000)
    best = abs(sidco_in_hindsight(vector, k).numel() - k)
    others = [abs(sidco_indices(vector, k, count).numel() - k) for count in range(1, 6 if 4 * k < 5000 else 2)]
    assert best <= min(others)
    assert abs(sidco_in_hindsight(vector, k).numel() - k) in others or 2**5 * k < 5000


def test_ours_is_in_the_band_on_every_law_and_the_released_rule_is_not(study: dict[str, Any]) -> None:
    missed = dict.fromkeys(RULES, 0)
    for name in FAMILIES:
        for rule, rows in study["families"][name]["selected_count"].items():
            pairs = [(count, target) for row in rows for count, target in zip(row, study["target_count"], strict=True)]
            missed[rule] += sum(not 2 * target <= 3 * count <= 4 * target for count, target in pairs)
    assert missed.pop("gaussian_k") == 0
    assert missed.pop("dgc_released") < min(missed.values())
