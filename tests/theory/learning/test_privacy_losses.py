"""What an example changes, what adds up and what an attack can gain: by hand, and at the ends of the domains."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
import sympy

from sparsync.theory.language.symbols import largest_entry
from sparsync.theory.learning import privacy_losses
from sparsync.theory.statements import STATEMENTS


def test_a_selection_moves_by_hand() -> None:
    # Of (3, 2) the first is selected, of (3, 4) the second: (3, 0) to (0, 4).
    assert STATEMENTS["selected_sum_move"].fraction(largest_entry=3, clip_norm=2) == 25
    assert STATEMENTS["clipped_sum_move"].fraction(clip_norm=2) == 2


def test_a_divergence_of_order_two_by_hand() -> None:
    # E(1 − q + q e^{…})² = (1 − q)² + 2q(1 − q) + q² e^{1/σ²}.
    found = STATEMENTS["sampled_gaussian_divergence"].evaluate(order=2, sample_share=0.5, noise_ratio=2.0)
    assert found == pytest.approx(math.log(0.75 + 0.25 * math.exp(0.25)), rel=1e-15)


def test_of_whole_samples_it_is_that_of_the_noise() -> None:
    found = STATEMENTS["sampled_gaussian_divergence"].evaluate(order=6, sample_share=1, noise_ratio=2)
    assert found == pytest.approx(6 / 8, rel=1e-15)


def test_an_attack_on_a_model_that_tells_nothing_gains_nothing_and_on_one_that_may_tell_all_gains_all() -> None:
    bound = STATEMENTS["membership_bound"].fraction
    assert bound(loss_factor=1, loss_excess=0) == 0
    assert bound(loss_factor=1, loss_excess=1) == 1
    assert bound(loss_factor=3, loss_excess=0) == Fraction(1, 2)


@pytest.mark.parametrize(
    ("label", "numbers"),
    [
        ("sampled_gaussian_divergence", {"order": 1, "sample_share": 0.5, "noise_ratio": 1}),
        ("sampled_gaussian_divergence", {"order": 2, "sample_share": 2, "noise_ratio": 1}),
    ],
)
def test_numbers_outside_the_domain_are_refused(label: str, numbers: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=label):
        STATEMENTS[label].evaluate(**numbers)


@pytest.mark.parametrize(
    ("label", "name", "replacement"),
    [
        ("selected_sum_move", "_runner_up", lambda: largest_entry),
        ("sampled_gaussian_divergence", "_quotient", lambda: sympy.Integer(1)),
        ("membership_bound", "_gained", lambda: privacy_losses._FIRST + privacy_losses._SECOND),
    ],
)
def test_a_broken_step_leaves_a_claim_unproved(
    label: str, name: str, replacement: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert all(step.holds() for step in STATEMENTS[label].derivation[:1])
    monkeypatch.setattr(privacy_losses, name, replacement)
    assert not all(step.holds() for step in STATEMENTS[label].derivation[:2])
