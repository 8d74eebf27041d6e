from fractions import Fraction

import pytest
from flint import arb, fmpq

from sparsync.verify.delay.late_runs import (
    ALONE,
    alone_margin,
    assumed,
    assumed_unit,
    bound_square,
    confined,
    decaying_steps,
    in_rounds,
    numbers_of,
    regret_on_views,
    root_below,
    square_radius,
    worst_views,
)


def test_a_run_by_hand() -> None:
    # Two workers, s = 0, one round from 2 with gradients 1: both read x_1; then one that reads all.
    taken = dict.fromkeys(in_rounds(2, 1), fmpq(1))
    steps = dict.fromkeys(taken, fmpq(1))
    assert regret_on_views(fmpq(2), taken, steps, {(1, 1): [], (1, 2): []}) == 4
    assert regret_on_views(fmpq(2), taken, steps, {(1, 1): [], (1, 2): [(1, 1)]}) == 3


def test_the_worst_views_lack_what_agrees_and_hold_what_turns_back() -> None:
    taken = {(1, 1): fmpq(1), (1, 2): fmpq(1), (2, 1): fmpq(-1), (2, 2): fmpq(-1)}
    # s = 1: views of round 1 may hold round 1 of the other, those of round 2 lack it or hold round 2.
    assert worst_views(taken, 1) == {(1, 1): [], (1, 2): [], (2, 1): [(1, 1), (1, 2)], (2, 2): [(1, 1), (1, 2)]}
    turned = {**taken, (1, 2): fmpq(-1)}
    assert worst_views(turned, 1)[1, 1] == [(1, 2)]
    assert worst_views(turned, 0)[1, 1] == []


def test_gradients_shrink_where_the_iterate_would_leave_the_ball() -> None:
    assert confined(fmpq(1), [fmpq(-1)] * 2 + [fmpq(1)], [fmpq(1)] * 3, fmpq(9, 4)) == [fmpq(-1, 2), 0, 1]


def test_steps_decay_like_a_root() -> None:
    assert decaying_steps(fmpq(1), 4)[3] == arb("0.5")


def test_the_assumed_numbers_are_those_of_the_statement() -> None:
    numbers = numbers_of(2, 1, 8)
    assert abs(assumed("ssp_regret", "step_scale", numbers) - arb(8).rsqrt()) < 1e-12
    assert assumed_unit("ssp_regret", "half_square") == 1
    # η = F√(2/(4T)) = 1 for F² = 2T.
    assert square_radius("ssp_regret_optimised", numbers) == 16
    assert bound_square("ssp_regret_optimised", Fraction(16), numbers) == 16 * 2 * 4 * 8


@pytest.mark.parametrize("label", ["ssp_regret_optimised", "arrival_regret"])
@pytest.mark.parametrize("case", ALONE)
def test_one_worker_comes_near_the_bound(label: str, case: tuple[int, int]) -> None:
    margin = alone_margin(label, *case)
    assert 0 <= margin < Fraction(1, 100) * bound_square(label, Fraction(sum(case), 2), numbers_of(1, 0, case[0] + 2))


def test_a_root_is_rounded_down() -> None:
    assert root_below(Fraction(9)) == 3
    assert root_below(Fraction(2)) ** 2 < 2
