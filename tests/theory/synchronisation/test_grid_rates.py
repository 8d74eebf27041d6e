"""Disagreement and rate of workers that average on a grid: by hand, outside their domains, with a broken model."""

import math
from types import ModuleType

import pytest
import sympy

from sparsync.theory.language.symbols import L, eta
from sparsync.theory.statements import STATEMENTS
from sparsync.theory.synchronisation import grid_rates


def test_the_golden_ratio_is_between_one_gradient_and_two() -> None:
    factor = STATEMENTS["grid_mean_disagreement"].evaluate(step_size=1, mean_spread=1)
    assert factor == pytest.approx((3 + math.sqrt(5)) / 2)
    assert 1 < factor < STATEMENTS["grid_disagreement"].evaluate(step_size=1, gradient_spread=1)


def test_small_groups_cost_a_term_of_second_order() -> None:
    numbers = {"n": 4, "T": 10, "smoothness": 1, "gap": 0, "variance": 4, "dissimilarity": 0}
    rates = [STATEMENTS["ds_sync_rate"].evaluate(step_size=step, **numbers) - step for step in (1e-3, 1e-4)]
    assert rates[0] / rates[1] == pytest.approx(100, rel=0.01)


@pytest.mark.parametrize(
    ("label", "numbers"),
    [
        (
            "ds_sync_rate",
            {"n": 1, "T": 1, "step_size": 1, "smoothness": 0.62, "gap": 1, "variance": 0, "dissimilarity": 0},
        ),
    ],
)
def test_numbers_outside_the_domain_are_refused(label: str, numbers: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=label):
        STATEMENTS[label].evaluate(**numbers)


@pytest.mark.parametrize(
    ("module", "label", "name", "replacement"),
    [
        (grid_rates, "grid_mean_disagreement", "GOLDEN", sympy.Rational(8, 5)),
        (grid_rates, "grid_mean_disagreement", "_LATER", grid_rates._EARLIER),
        (grid_rates, "grid_mean_disagreement", "_projections", lambda: ({"W": 1}, {"V": 1}, {"I": 1}, {"J": 1})),
        (grid_rates, "ds_sync_rate", "_level", lambda: eta),
        (grid_rates, "ds_sync_rate", "L", 2 * L),
    ],
)
def test_a_broken_model_leaves_a_claim_unproved(
    module: ModuleType, label: str, name: str, replacement: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, name, replacement)
    assert not all(step.holds() for step in STATEMENTS[label].derivation)
