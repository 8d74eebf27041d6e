"""How many passes the released rule needs without a limit: gaps of a rotation, pairs of moves, worst starts."""

from __future__ import annotations

from fractions import Fraction
from itertools import islice, pairwise

import pytest

from sparsync.theory.selectors.released_rotation import SUFFICIENT_RATIOS, largest_gap, rotation_pair
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.selectors import released_rotation
from sparsync.verify.selectors.released_rotation import (
    CHECKS,
    Pair,
    adjoining_pairs,
    least_pair,
    ratios_of,
    starts_of,
    stated_passes,
    worst_margin,
    worst_start,
)
from sparsync.verify.selectors.released_rule import all_starts_end, passes_to
from sparsync.verify.tools.outcome import Profile

WINDOWS = [Fraction(text) for text in ("1.49", "4/3", "1.2", "1.06", "1.04", "1.02", "1.01", "1.003", "1.0015")]


@pytest.mark.parametrize(
    ("count", "gap"),
    [(1, Fraction(3)), (2, Fraction(2)), (3, Fraction(3, 2)), (4, Fraction(3, 2)), (5, Fraction(4, 3))],
)
def test_gaps_of_a_few_points_modulo_three(count: int, gap: Fraction) -> None:
    """1, 3/2, 9/4, 9/8, 27/16, each divided by three where it passes three."""
    assert largest_gap(count) == gap


def test_no_points_have_no_gap() -> None:
    with pytest.raises(ValueError, match="got 0"):
        largest_gap(0)


@pytest.mark.parametrize(("passes", "ratio"), SUFFICIENT_RATIOS.items())
def test_the_number_of_passes_is_sharp(passes: int, ratio: object) -> None:
    smallest = Fraction(str(ratio))
    assert STATEMENTS["released_passes"].evaluate(window_ratio=smallest) == passes
    starts = starts_of("released_passes", smallest)
    assert all_starts_end(smallest, passes, starts)
    assert not all_starts_end(smallest, passes - 1, starts)
    assert not all_starts_end(smallest - Fraction(1, 10**9), passes, starts)


def test_a_gaussian_window_at_a_thousandth_may_take_27_passes() -> None:
    ratio = STATEMENTS["released_window"].evaluate(kappa=0.001)
    assert STATEMENTS["released_passes"].evaluate(window_ratio=ratio) == 27
    starts = starts_of("released_passes", Fraction(ratio))
    assert all_starts_end(Fraction(ratio), 27, starts)
    assert not all_starts_end(Fraction(ratio), 26, starts)


def test_without_a_limit_a_narrow_window_is_met_from_far_away() -> None:
    window = (Fraction(1), Fraction(1001, 1000))
    assert passes_to(window, Fraction(7, 10**5), 10_000) is not None
    assert passes_to(window, Fraction(10**5, 7), 10_000) is not None


def test_five_moves_of_the_worst_start_by_hand() -> None:
    """U = 9/8 and W = 4/3 leave the gap 3/2; with r = 4/3 it begins at 8/9, counted second: 16/27 comes first."""
    pair, ratio = (3, 2, 2, 1), Fraction(4, 3)
    assert least_pair(ratio) == pair
    assert ratios_of(pair) == (Fraction(4, 3), Fraction(3, 2))
    assert worst_start(pair, ratio) == Fraction(16, 27)
    assert passes_to((Fraction(1), ratio), Fraction(16, 27), 4) is None
    assert passes_to((Fraction(1), ratio), Fraction(16, 27), 5) == 5 == stated_passes(pair, ratio)


@pytest.mark.parametrize(
    ("ratio", "pair"),
    [
        ("1.06", (19, 12, 8, 5)),
        ("1.02", (19, 12, 65, 41)),
        ("1.01", (84, 53, 149, 94)),
        ("1.001", (1054, 665, 1539, 971)),
    ],
)
def test_pairs_are_convergents_of_the_logarithm_of_three_to_base_two(ratio: str, pair: Pair) -> None:
    """log₂ 3 = [1; 1, 1, 2, 2, 3, 1, 5, 2, …] has 8/5, 19/12, 65/41, 84/53, 485/306, 1054/665 and means between."""
    assert rotation_pair(Fraction(ratio)) == pair


@pytest.mark.parametrize("ratio", WINDOWS)
def test_the_pair_of_a_ratio_has_the_fewest_moves_and_holds_the_ratio(ratio: Fraction) -> None:
    pair = rotation_pair(ratio)
    least, product = ratios_of(pair)
    assert pair == least_pair(ratio)
    assert least <= ratio < product


@pytest.mark.parametrize("ratio", WINDOWS)
def test_the_worst_start_lies_near_the_window_and_takes_all_passes(ratio: Fraction) -> None:
    pair = least_pair(ratio)
    start = worst_start(pair, ratio)
    assert Fraction(1, 2) <= start < ratio * Fraction(3, 2)
    assert passes_to((Fraction(1), ratio), start, 10_000) == stated_passes(pair, ratio)
    assert worst_margin(pair, ratio, start) == 0


@pytest.mark.parametrize(("passes", "ratio"), SUFFICIENT_RATIOS.items())
def test_both_statements_agree_where_both_speak(passes: int, ratio: object) -> None:
    smallest = min(Fraction(str(ratio)), Fraction(149, 100))
    assert sum(least_pair(smallest)[::2]) == STATEMENTS["released_passes"].evaluate(window_ratio=smallest)
    assert STATEMENTS["released_passes"].evaluate(window_ratio=Fraction(str(ratio))) == passes


@pytest.mark.parametrize(("kappa", "passes"), [(0.1, 8), (0.05, 11), (0.01, 19), (1e-3, 27), (1e-4, 46), (1e-6, 65)])
def test_passes_for_gaussian_windows(kappa: float, passes: int) -> None:
    ratio = Fraction(STATEMENTS["released_window"].evaluate(kappa=kappa))
    assert stated_passes(rotation_pair(ratio), ratio) == passes


def test_the_first_pairs_adjoin_and_have_more_and_more_passes() -> None:
    pairs = list(islice(adjoining_pairs(), 18))
    assert [pair[0] + pair[2] for pair in pairs[:9]] == [3, 5, 8, 11, 19, 27, 46, 65, 84]
    assert all(sum(pair[::2]) < sum(following[::2]) for pair, following in pairwise(pairs))


def test_a_start_that_is_not_the_worst_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(released_rotation, "worst_start", lambda _pair, ratio: ratio * Fraction(7, 8))
    check = CHECKS["released_worst_passes"]["property"]
    assert not check(Profile(dimensions=(), examples_count=30)).earned


@pytest.mark.parametrize("ratio", [Fraction(1), Fraction(2)])
def test_no_pair_is_given_for_other_windows(ratio: Fraction) -> None:
    with pytest.raises(ValueError, match="above 1 and below 2"):
        rotation_pair(ratio)


@pytest.mark.parametrize(
    ("pair", "ratio", "message"),
    [
        ((3, 2, 2, 1), Fraction(5, 4), "window_ratio = 5/4"),
        ((3, 2, 5, 3), Fraction(4, 3), "window_ratio = 4/3"),
        ((1, 1, 2, 1), Fraction(2), "window_ratio = 2"),
        ((19, 12, 5, 3), Fraction(6, 5), "rise_count = 19"),
        ((2, 1, 1, 1), Fraction(6, 5), "fall_count = 1"),
        ((3, 2, 0, 1), Fraction(4, 3), "got 0"),
    ],
)
def test_pairs_and_ratios_that_do_not_fit_are_refused(pair: Pair, ratio: Fraction, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        stated_passes(pair, ratio)


def test_the_table_of_passes_refuses_narrower_windows() -> None:
    with pytest.raises(ValueError, match="window_ratio = "):
        STATEMENTS["released_passes"].evaluate(window_ratio=1.05)


@pytest.mark.parametrize("start", [Fraction(4, 9), Fraction(2) - Fraction(1, 1000)])
def test_the_range_of_starts_ends_where_another_pass_is_needed(start: Fraction) -> None:
    """At r = 3/2 three passes are enough from 4/9 on, and below 3; just below the range, and at 2b, they are not."""
    window = (Fraction(1), Fraction(3, 2))
    least, end = starts_of("released_passes", window[1])
    assert (least, end) == (Fraction(4, 9), Fraction(3))
    assert passes_to(window, start, 3) is not None
    assert passes_to(window, least - Fraction(1, 1000), 3) is None
    assert passes_to(window, end, 3) is None


def test_wide_windows_take_three_passes_from_the_worst_start() -> None:
    for ratio in (Fraction(3, 2), Fraction(7, 4), Fraction(199, 100)):
        assert stated_passes((1, 1, 2, 1), ratio) == 3
        assert passes_to((Fraction(1), ratio), Fraction(1, 2), 2) is None
