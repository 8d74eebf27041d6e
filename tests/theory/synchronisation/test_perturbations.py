"""Delay and residual together: by hand, where nearly nothing is sent, and with a broken model."""

from fractions import Fraction
from types import ModuleType

import pytest
import sympy

from sparsync.theory.language.symbols import (
    arrival_share,
    eta,
)
from sparsync.theory.statements import STATEMENTS
from sparsync.theory.synchronisation import (
    perturbations,
)


def test_the_parts_of_a_distance_add_up() -> None:
    numbers = {"delta": Fraction(3, 4), "local_count": 3, "step_size": 2, "second_moment": 1}
    # √(1 − δ) = 1/2: the residual's root is 3 gradients, which come to 5 with two that are late.
    assert STATEMENTS["additive_perturbation"].fraction(delay=2, **numbers) == 100
    assert STATEMENTS["additive_perturbation"].fraction(delay=0, **numbers) == 36


@pytest.mark.parametrize(
    ("delta", "step_size"), [(1e-150, 1.0), (1e-200, 1e-150), (Fraction(1, 10**450), Fraction(1, 10**440))]
)
def test_what_is_kept_back_keeps_its_digits_where_nearly_nothing_is_sent(
    delta: float | Fraction, step_size: float | Fraction
) -> None:
    """√(1 − δ)/(1 − √(1 − δ)) is 2/δ there."""
    found = STATEMENTS["additive_perturbation"].evaluate(
        delay=1, local_count=1, second_moment=1, delta=delta, step_size=step_size
    )
    assert found == pytest.approx(float((2 * Fraction(step_size) / Fraction(delta)) ** 2), rel=1e-15)


def test_descent_without_delay_has_no_momentum() -> None:
    move = STATEMENTS["geometric_staleness"].exact(arrival_share=1, step_size=2, mean_move=7, gradient=3)
    assert move == -6


@pytest.mark.parametrize(
    ("label", "numbers"),
    [
        ("geometric_staleness", {"arrival_share": 0, "step_size": 1, "mean_move": 0, "gradient": 0}),
    ],
)
def test_numbers_outside_the_domain_are_refused(label: str, numbers: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=label):
        STATEMENTS[label].evaluate(**numbers)


@pytest.mark.parametrize(
    ("module", "label", "name", "replacement"),
    [
        (perturbations, "geometric_staleness", "_averaged", lambda move, taken: move - eta * arrival_share * taken),
        (perturbations, "additive_perturbation", "_level", lambda: eta),
        (perturbations, "additive_perturbation", "SIGMA", sympy.Symbol("sigma", real=True)),
    ],
)
def test_a_broken_model_leaves_a_claim_unproved(
    module: ModuleType, label: str, name: str, replacement: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, name, replacement)
    assert not all(step.holds() for step in STATEMENTS[label].derivation)
