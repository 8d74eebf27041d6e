"""The studies measure what they say: ratios against their definition, every case once, files a figure can read."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from sparsync.experiments.simulate import simulate
from sparsync.experiments.studies.profiles import PROFILES
from sparsync.experiments.studies.selection import selection
from sparsync.experiments.studies.selection.contraction import DENSITIES, LAWS, run_contraction, tail_ratios
from sparsync.experiments.training.data import load_dataset
from sparsync.experiments.training.runs import RUNS
from sparsync.experiments.training.seeding import random_stream
from sparsync.kernels.selection import SELECTORS
from sparsync.theory.contraction.ladder import STATEMENTS

TINY = replace(PROFILES["smoke"], observed_steps=(1, 2), sample_dimension=500, selection_dimensions=(300,), workers=2)


@pytest.fixture
def _tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PROFILES, "smoke", TINY)


def test_tail_ratio_is_what_top_k_leaves_behind() -> None:
    vector = torch.randn(300, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    counts = [0, 1, 10, 299, 300]
    left = [float(SELECTORS["top_k"](vector, k).remainder(vector).square().sum()) for k in counts[1:]]
    # Sums of 300 positive terms in two orders differ by at most 300 roundings each.
    assert tail_ratios(vector, counts) == pytest.approx(
        [1.0, *(rest / float(vector.square().sum()) for rest in left)], rel=600 * 2.0**-53, abs=0
    )


def test_the_ratio_of_a_zero_vector_is_refused() -> None:
    with pytest.raises(ValueError, match="zero vector"):
        tail_ratios(torch.zeros(3), [1])


@pytest.mark.parametrize("k", [-1, 4])
def test_a_count_outside_the_vector_is_refused(k: int) -> None:
    with pytest.raises(ValueError, match=str(k)):
        tail_ratios(torch.ones(3), [k])


@pytest.mark.parametrize("law", LAWS)
def test_laws_have_the_mean_magnitudes_they_should(law: str) -> None:
    """E|X| = √(2/π), 1, ½; a mean of 10⁵ draws with variance below 2 lies within five standard errors, 0.023."""
    expected = {"gaussian": (2 / torch.pi) ** 0.5, "laplace": 1.0, "uniform": 0.5}[law]
    draws = LAWS[law](100_000, torch.Generator().manual_seed(1))
    assert float(draws.abs().mean()) == pytest.approx(expected, abs=5 * (2 / 100_000) ** 0.5)
    assert abs(float(draws.sign().mean())) < 5 / 100_000**0.5
    # E X² = 1, 2, 1/3; X² of Laplace has variance 20, the largest of the three.
    second_moment = {"gaussian": 1.0, "laplace": 2.0, "uniform": 1 / 3}[law]
    assert float(draws.square().mean()) == pytest.approx(second_moment, abs=5 * (20 / 100_000) ** 0.5)


@pytest.mark.usefixtures("_tiny")
def test_contraction_study_measures_laws_gradients_and_corrected_gradients() -> None:
    study = run_contraction("smoke", load_dataset("embedded"))
    names = [vector["name"] for vector in study["vectors"]]
    observed = [f"{kind}, step {step}" for kind in ("gradient", "corrected gradient") for step in (1, 2)]
    assert names == [*LAWS, *observed]
    dimension = study["bounds_dimension"]
    counts = [max(1, round(density * dimension)) for density in DENSITIES]
    assert study["bounds_target_count"] == counts
    for label, statement in STATEMENTS.items():
        assert study["bounds"][label] == [statement.evaluate(k=k, d=dimension) for k in counts]
    for vector in study["vectors"]:
        assert len(vector["ratio"]) == len(DENSITIES)
        size = vector["dimension"]
        assert vector["target_count"] == [max(1, round(density * size)) for density in DENSITIES]
        assert all(later <= earlier for earlier, later in zip(vector["ratio"], vector["ratio"][1:], strict=False))
        assert vector["magnitude"][0] == 1.0
    uniform = next(vector for vector in study["vectors"] if vector["name"] == "uniform")
    ramp = [1 - position for position in uniform["position"]]
    # 500 sorted draws lie within 0.12 of 1 − t with chance above 1 − 2e-6 (DKW); the largest, their unit, is near 1.
    assert uniform["magnitude"] == pytest.approx(ramp, abs=0.15)


@pytest.mark.usefixtures("_tiny")
@pytest.mark.parametrize(
    ("kind", "run_name"),
    [pytest.param("gradient", "fnn3_dense", marks=pytest.mark.slow), ("corrected gradient", "fnn3_top_k")],
)
def test_observed_vectors_are_the_first_workers_in_their_run(kind: str, run_name: str) -> None:
    data = load_dataset("embedded")
    seen: list[torch.Tensor] = []
    simulate(replace(RUNS[run_name], workers=2, steps=2), data, lambda _, corrected: seen.append(corrected[0].clone()))
    vectors = {vector["name"]: vector for vector in run_contraction("smoke", data)["vectors"]}
    for step, vector in enumerate(seen, start=1):
        counts = [max(1, round(density * vector.numel())) for density in DENSITIES]
        assert vectors[f"{kind}, step {step}"]["ratio"] == tail_ratios(vector, counts)


@pytest.mark.usefixtures("_tiny")
def test_gradient_and_corrected_gradient_part_once_a_residual_has_built_up() -> None:
    study = run_contraction("smoke", load_dataset("embedded"))
    ratios = {vector["name"]: vector["ratio"] for vector in study["vectors"]}
    assert ratios["gradient, step 1"] == ratios["corrected gradient, step 1"]
    assert ratios["gradient, step 2"] != ratios["corrected gradient, step 2"]


@pytest.mark.usefixtures("_tiny")
def test_selection_study_times_every_selector_on_every_law() -> None:
    study = selection.run_selection("smoke")
    assert {(row["selector"], row["law"]) for row in study["rows"]} == {(s, law) for s in SELECTORS for law in LAWS}
    assert all(row["best_seconds"] > 0 for row in study["rows"])
    for row in study["rows"]:
        vector = LAWS[row["law"]](300, random_stream(0, row["law"])).float()
        stream = random_stream(selection.REPEAT_COUNT - 1, row["selector"])
        assert row["selected_count"] == SELECTORS[row["selector"]](vector, row["target_count"], stream).count
    counted = [row for row in study["rows"] if row["counting_pass_count"] is not None]
    assert {row["selector"] for row in counted} == {"gaussian_k"}
