"""Disagreement, rate and speed-up of mixing in epochs: by hand, outside their domains, with a broken model."""

import math
from fractions import Fraction
from types import ModuleType

import pytest

from sparsync.theory.language.symbols import epoch_length, n
from sparsync.theory.statements import STATEMENTS
from sparsync.theory.synchronisation import epoch_rates

NUMBERS = {"smoothness": 1, "gap": 1, "variance": 1, "dissimilarity": 1}
EPOCHS = {"epoch_length": 2, "epoch_root": Fraction(1, 2)}
"""c is 4."""


@pytest.mark.parametrize(("length", "root", "reach"), [(1, 0, 0), (1, Fraction(1, 2), 1), (2, Fraction(1, 2), 4)])
def test_the_reach_of_gradients_by_hand(length: int, root: Fraction, reach: int) -> None:
    factor = STATEMENTS["epoch_mean_disagreement"].fraction(
        step_size=3, mean_spread=1, epoch_length=length, epoch_root=root
    )
    assert factor == 9 * reach**2


def test_workers_that_average_in_every_step_pay_nothing_for_mixing() -> None:
    rate = STATEMENTS["epoch_rate"].fraction(
        **NUMBERS, n=4, T=10, step_size=Fraction(1, 2), epoch_length=1, epoch_root=0
    )
    assert rate == Fraction(2, 5) + Fraction(1, 8)


def test_the_speed_up_is_not_below_the_rate_at_its_step() -> None:
    updates = 8 * 16 * 3
    step = math.sqrt(2 * 3 / updates)
    rate = STATEMENTS["epoch_rate"].evaluate(**NUMBERS, **EPOCHS, n=3, T=updates, step_size=step)
    speed_up = STATEMENTS["epoch_speed_up"].evaluate(**NUMBERS, **EPOCHS, n=3, T=updates)
    # The mixing term is 4y² in both where y = cηL is 1/2.
    assert rate == pytest.approx(speed_up, rel=1e-12)


def test_n_workers_need_an_nth_of_the_steps_after_a_while() -> None:
    speed_up = STATEMENTS["epoch_speed_up"]
    alone, together = (speed_up.evaluate(**NUMBERS, **EPOCHS, n=n, T=10**14 // n) for n in (1, 8))
    assert together == pytest.approx(alone, rel=1e-3)


@pytest.mark.parametrize(
    ("label", "numbers"),
    [
        ("epoch_mean_disagreement", {"step_size": 1, "mean_spread": 1, "epoch_length": 2, "epoch_root": 1}),
        ("epoch_rate", {**NUMBERS, **EPOCHS, "n": 2, "T": 5, "step_size": Fraction(1, 4)}),
        ("epoch_rate", {**NUMBERS, "n": 2, "T": 5, "step_size": 2, "epoch_length": 1, "epoch_root": 0}),
        ("epoch_speed_up", {**NUMBERS, **EPOCHS, "n": 3, "T": 8 * 16 * 3 - 1}),
        ("epoch_speed_up", {**NUMBERS, **EPOCHS, "variance": 0, "n": 3, "T": 10**6}),
    ],
)
def test_numbers_outside_the_domain_are_refused(label: str, numbers: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=f"{label}: .* is violated"):
        STATEMENTS[label].evaluate(**numbers)


@pytest.mark.parametrize(
    ("module", "label", "name", "replacement"),
    [
        (epoch_rates, "epoch_mean_disagreement", "_left_between", lambda _offset, later: later),
        (epoch_rates, "epoch_mean_disagreement", "_most_in_a_step", lambda: epoch_length),
        (epoch_rates, "epoch_mean_disagreement", "_reach", lambda: epoch_length),
        (epoch_rates, "epoch_rate", "_level", lambda: epoch_length),
        (epoch_rates, "epoch_rate", "n", 2 * n),
        (epoch_rates, "epoch_speed_up", "_chosen_step", lambda: 1 / n),
        (epoch_rates, "epoch_speed_up", "_transient", lambda: 1 / n),
    ],
)
def test_a_broken_model_leaves_a_claim_unproved(
    module: ModuleType, label: str, name: str, replacement: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, name, replacement)
    assert not all(step.holds() for step in STATEMENTS[label].derivation)
