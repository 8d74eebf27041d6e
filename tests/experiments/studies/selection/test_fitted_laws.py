"""A fit names the law that entries were drawn from, and says how far each law is from entries that it has not seen."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import stats

from sparsync.experiments.studies.selection.fitted_laws import (
    FITTED_COUNT,
    LEAST_COUNT,
    STARTS,
    FittedLaw,
    best_law,
    fit_laws,
    sample_halves,
)

SCALE = 0.003


def fitted_to(name: str, *shape: float, seed: int = 0, count: int = 5000) -> dict[str, FittedLaw]:
    drawn = SCALE * getattr(stats, name).rvs(*shape, size=2 * count, random_state=np.random.default_rng(seed))
    return fit_laws(drawn[:count], drawn[count:])


# 1.63/√n: a distance that draws of a continuous law exceed with a chance of one in a hundred.
NEAR = 1.63 / np.sqrt(5000)


def test_draws_of_laplace_are_named_laplace_or_a_law_that_has_it_as_a_case() -> None:
    laws = fitted_to("laplace")
    assert best_law(laws) in ("laplace", "gennorm", "dweibull", "dgamma")
    # Deviations of the shapes of 5,000 draws are near 0.03 and 0.01.
    for name, within in (("gennorm", 0.15), ("dweibull", 0.06), ("dgamma", 0.1)):
        assert laws[name].shape == pytest.approx(1, abs=within)
    assert laws["laplace"].scale == pytest.approx(SCALE, rel=0.1)
    assert laws["laplace"].distance < NEAR < laws["norm"].distance


@pytest.mark.parametrize(
    ("name", "shape"),
    [("gennorm", 0.3), ("gennorm", 6.0), ("t", 1.2), ("dweibull", 0.4), ("dgamma", 0.3), ("gennorm", 2.0)],
)
def test_shape_and_scale_of_the_law_that_was_drawn_are_found(name: str, shape: float) -> None:
    laws = fitted_to(name, shape)
    assert laws[name].shape == pytest.approx(shape, rel=0.2)
    assert laws[name].distance < NEAR
    best = best_law(laws)
    assert best is not None
    # No law can be likelier by more than chance, here a thousandth of a nat per entry.
    assert laws[best].log_likelihood - laws[name].log_likelihood < 1e-3


def test_draws_of_the_normal_law_are_near_it() -> None:
    laws = fitted_to("norm")
    assert laws["norm"].scale == pytest.approx(SCALE, rel=0.05)
    assert laws["norm"].distance < NEAR < laws["laplace"].distance


def test_a_law_is_fitted_at_least_as_well_as_its_special_case() -> None:
    drawn = stats.t.rvs(3, size=4000, random_state=np.random.default_rng(1))
    laws = fit_laws(drawn, drawn)
    # On the entries that were fitted a search that has not ended would show; it ends within 10⁻⁴ of the place.
    for wider, special in (("gennorm", "laplace"), ("gennorm", "norm"), ("dweibull", "laplace"), ("dgamma", "laplace")):
        assert laws[wider].log_likelihood >= laws[special].log_likelihood - 1e-6


def test_the_unit_of_the_vector_changes_the_scale_alone() -> None:
    drawn = stats.laplace.rvs(size=4000, random_state=np.random.default_rng(2))
    laws, larger = fit_laws(drawn[:2000], drawn[2000:]), fit_laws(8 * drawn[:2000], 8 * drawn[2000:])
    for name in STARTS:
        assert larger[name] == FittedLaw(
            laws[name].shape, 8 * laws[name].scale, laws[name].distance, laws[name].log_likelihood
        )


def test_an_entry_far_out_has_a_logarithm_though_its_density_is_below_the_least_double() -> None:
    drawn = stats.laplace.rvs(size=2000, random_state=np.random.default_rng(3))
    laws, with_outlier = (fit_laws(drawn, np.append(drawn, end)) for end in ([], [1000.0]))
    # The mean magnitude is one but for a fortieth.
    lost = 2000 * laws["laplace"].log_likelihood - 2001 * with_outlier["laplace"].log_likelihood
    assert lost == pytest.approx(1000 / laws["laplace"].scale, rel=0.01)
    assert all(np.isfinite(law.log_likelihood) for law in with_outlier.values())


def test_the_halves_of_a_sample_share_no_entry_and_hold_no_zero() -> None:
    vector = torch.arange(-50_000.0, 50_000.0)
    vector[::4] = 0
    fitted, held_out = sample_halves(vector, torch.Generator().manual_seed(0))
    assert 0 not in (*fitted, *held_out)
    assert not set(fitted.tolist()) & set(held_out.tolist())
    # 40,000 of 100,000 without replacement, three quarters of them not zero: six deviations of 67.
    assert len(fitted) + len(held_out) == pytest.approx(0.75 * 2 * FITTED_COUNT, abs=400)


def test_too_few_entries_have_no_law() -> None:
    few = np.linspace(1, 2, LEAST_COUNT - 1)
    assert fit_laws(few, few) == {}
    assert best_law({}) is None
