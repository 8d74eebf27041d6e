"""The evidence for workers that differ: runs by hand, the cycle, and what turns do."""

from fractions import Fraction

import pytest

from sparsync.theory.statements import STATEMENTS
from sparsync.verify.feedback import heterogeneous
from sparsync.verify.feedback.heterogeneous import Bend, Turned

ONE, ZERO = Fraction(1), Fraction(0)


@pytest.mark.parametrize("half_tangent", [ZERO, Fraction(1, 2), ONE, Fraction(-3)])
def test_a_turn_keeps_the_share_of_the_energy_that_it_may(half_tangent: Fraction) -> None:
    first, second = Turned(half_tangent, -ONE)((Fraction(3), Fraction(4)), Fraction(1, 2))
    assert first**2 + second**2 == Fraction(25, 4)


def test_what_workers_keep_back_moves_the_mean() -> None:
    # u = ±1 in coordinate 1 with η = 1; worker 1 keeps half back, worker 2 nothing: x = −(1/2 − 1)/2 = 1/4.
    pull = Bend((ONE, ONE), (ONE, ONE))
    kept = [[Turned(ZERO, ONE), Turned(ZERO, ZERO)]]
    assert heterogeneous.squares(pull, [(ONE, ZERO), (-ONE, ZERO)], Fraction(1, 2), ONE, kept) == [Fraction(1, 16)]


def test_the_cycle_closes_at_the_stated_square_only() -> None:
    root, step = Fraction(1, 2), Fraction(1, 3)
    stated = STATEMENTS["ef_heterogeneous_worst"].fraction(
        delta=1 - root**2, step_size=step, smoothness=1, dissimilarity=1
    )
    assert heterogeneous.cycle_error(root, step, ONE, ONE) == 0
    assert heterogeneous.cycle_square(root, step, ONE, ONE) == stated


@pytest.mark.parametrize(("root", "share"), [(0.5, 0.25), (0.9, 0.5)])
def test_a_run_without_memory_settles_on_the_cycle(root: float, share: float) -> None:
    step = share * 2 * (1 - root) / (1 + root)
    bound = STATEMENTS["ef_heterogeneous_worst"].evaluate(
        delta=1 - root**2, step_size=step, smoothness=1, dissimilarity=1
    )
    assert heterogeneous.settled_square(root, step, 1.0, 1.0) == pytest.approx(bound, rel=1e-9)


def test_a_run_that_does_not_settle_is_an_error() -> None:
    # Just below the largest step, 2/3, it takes more steps than are waited for.
    with pytest.raises(RuntimeError, match="not settled"):
        heterogeneous.settled_square(0.5, 0.6666, 1.0, 1.0)
