"""Multiples of several durations: by hand, and where they attain the law."""

from fractions import Fraction

import pytest

from sparsync.verify.synchronisation.look_ahead import meeting_margin, meeting_range


def test_multiples_of_three_durations_by_hand() -> None:
    # 3 · 4, 4 · 3 and 2 · 6 meet; two iterations ahead 4, 3 and 6 are closest, as 4, 6 and 6.
    durations = [Fraction(4), Fraction(3), Fraction(6)]
    assert [meeting_range(durations, ahead) for ahead in (1, 2, 4)] == [3, 2, 0]


@pytest.mark.parametrize("ahead", [2, 5, 20])
def test_two_workers_attain_the_law_for_any_number(ahead: int) -> None:
    assert meeting_margin([Fraction(1), 1 + Fraction(1, ahead)], ahead) == 0
