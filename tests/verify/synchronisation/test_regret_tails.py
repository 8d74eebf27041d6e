"""Tails of the regret a second time, by hand."""

from fractions import Fraction

from sparsync.verify.synchronisation import regret_tails


def test_tails_by_hand() -> None:
    law = [regret_tails.two_point(1, Fraction(1, 2))]
    # η = 1 and T = 2: regrets are 3 and the number of late views; at least one is late with probability 3/4.
    assert regret_tails.regret([0, 1], Fraction(1)) == 4
    assert regret_tails.tail(law, 2, Fraction(1), Fraction(2)) == Fraction(3, 4)
    assert regret_tails.expected_bound(2, Fraction(1), Fraction(1, 2)) == 2


def test_the_law_of_a_view_may_depend_on_the_lags_before() -> None:
    laws = [[(1, Fraction(1))], [(0, Fraction(1))]]
    # One late view makes 1 + 1 the place of the next law, which is the first again.
    assert regret_tails.tail(laws, 2, Fraction(1), Fraction(5, 2)) == 1
