"""Weights and pace a second time, by hand."""

from __future__ import annotations

from fractions import Fraction

from sparsync.verify.learning import self_paced

LOSSES = [Fraction(0), Fraction(2), Fraction(5)]


def test_both_orders_by_hand() -> None:
    """From λ = 1 to 3: by the old pace one example has weight, by the new one two; F is −3, or −4."""
    old, new = (self_paced.selected(LOSSES, Fraction(pace)) for pace in (1, 3))
    assert [[int(weight) for weight in one] for one in (old, new)] == [[1, 0, 0], [1, 1, 0]]
    assert self_paced.objective(LOSSES, old, Fraction(3)) == -3
    assert self_paced.objective(LOSSES, new, Fraction(3)) == -4
    assert self_paced.raise_margin(LOSSES, old, Fraction(1), Fraction(3)) == 0


def test_an_example_at_the_pace_is_as_good_with_weight_as_without() -> None:
    assert self_paced.weights_margin(Fraction(2), Fraction(2)) == 0
    assert self_paced.objective([Fraction(2)], [Fraction(1)], Fraction(2)) == 0
