"""The evidence for momentum: the two orders agree for a constant compressor, and differ for others."""

from fractions import Fraction

import pytest

from sparsync.verify.feedback import momentum
from sparsync.verify.feedback.runs import linear_moments

ONE, ZERO, HALF = Fraction(1), Fraction(0), Fraction(1, 2)


def case(shares: list[Fraction]) -> linear_moments.LinearCase:
    actions = [([share], ONE) for share in shares]
    return linear_moments.LinearCase(HALF, Fraction(1, 4), ONE, ONE, [ZERO], actions, weight=HALF)


def energies(shares: list[Fraction], update: linear_moments.Update) -> list[Fraction]:
    made = case(shares)
    return linear_moments.gradient_energies(made, made.moments(update, 4))


def test_both_orders_give_the_same_iterates_for_one_linear_compressor() -> None:
    shares = [HALF] * 6
    assert energies(shares, momentum.after_update) == energies(shares, momentum.before_update)


def test_they_differ_where_the_compressor_changes() -> None:
    shares = [ONE, ZERO, -ONE, ONE, ZERO, HALF]
    assert energies(shares, momentum.after_update) != energies(shares, momentum.before_update)


@pytest.mark.parametrize("label", [momentum.RESIDUAL, momentum.LAG])
def test_a_constant_gradient_comes_within_a_thousandth(label: str) -> None:
    margin = momentum.norm_margin(HALF, Fraction(3, 4), [(ONE, ONE)] * 60, label=label)
    assert 0 <= margin < Fraction(1, 1000)


def test_the_residual_after_aggregation_does_not_know_of_momentum() -> None:
    made = case([ONE] * 6)
    plain = linear_moments.LinearCase(HALF, Fraction(1, 4), ZERO, ONE, [ZERO], made.actions)
    # Without curvature the gradients are noise alone, the same for both.
    moving = linear_moments.LinearCase(HALF, Fraction(1, 4), ZERO, ONE, [ZERO], made.actions, weight=HALF)
    after, without = (run.moments(momentum.after_update, 4)[-1][2][2] for run in (moving, plain))
    before = moving.moments(momentum.before_update, 4)[-1][2][2]
    assert after == without < before
