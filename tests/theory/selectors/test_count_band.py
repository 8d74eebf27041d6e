"""The statements about threshold rules at hand-computed values, and what they refuse."""

from __future__ import annotations

from fractions import Fraction

import pytest

from sparsync.kernels.band_search import count_band, search_threshold
from sparsync.theory.statements import STATEMENTS
from sparsync.theory.statements import STATEMENTS as CONTRACTION

LADDER = {"count_band": "top_k", "count_band_square": "square_convex", "count_band_cubic": "bell_shaped"}


@pytest.mark.parametrize(
    ("label", "numbers", "expected"),
    [
        ("threshold_selector", {"selected_count": 3, "d": 10}, Fraction(7, 10)),
        ("threshold_selector", {"selected_count": 0, "d": 10}, 1),
        ("threshold_selector", {"selected_count": 1, "d": 1}, 0),
        ("count_band", {"k": 1, "d": 1}, 0),
        ("count_band", {"k": 4, "d": 10}, Fraction(7, 10)),
        ("count_band_square", {"k": 4, "d": 10}, Fraction(49, 100)),
        ("count_band_cubic", {"k": 4, "d": 10}, Fraction(343, 1000)),
        ("count_band_cubic", {"k": 10, "d": 10}, Fraction(27, 1000)),
        ("band_threshold_unique", {"lowest": 1, "highest": 1}, 1),
        ("band_search_passes", {"bit_width": 31, "start_level": 31}, 31),
        ("band_search_passes", {"bit_width": 31, "start_level": 20}, 41),
        ("band_search_passes", {"bit_width": 31, "start_level": 0}, 61),
        ("band_search_passes", {"bit_width": 1, "start_level": 0}, 1),
        ("candidate_list", {"selected_count": 14, "k": 10, "capacity": 14}, 1),
    ],
)
def test_bounds_equal_hand_computed_values(label: str, numbers: dict[str, int], expected: Fraction | int) -> None:
    assert STATEMENTS[label].exact(**numbers) == expected


@pytest.mark.parametrize("start_level", [0, 20, 29, 30, 31])
def test_ties_across_the_middle_attain_the_bound_in_float32(start_level: int) -> None:
    """No threshold is accepted, the step lies just above 2^30, and the gallop starts just below it."""
    found = search_threshold(
        lambda threshold: 9 if threshold <= 2**30 else 0, (2, 4), bit_width=31, start=2**29 + 1, start_level=start_level
    )
    bound = STATEMENTS["band_search_passes"].evaluate(bit_width=31, start_level=start_level)
    assert (found.threshold, found.evaluation_count) == (None, bound)


@pytest.mark.parametrize("label", LADDER)
@pytest.mark.parametrize("k", range(1, 13))
def test_the_band_costs_the_step_from_k_to_its_least_count(label: str, k: int) -> None:
    rung = CONTRACTION[LADDER[label]]
    assert STATEMENTS[label].exact(k=k, d=12) == rung.exact(k=count_band(k)[0], d=12)


@pytest.mark.parametrize("k", range(1, 31))
def test_the_band_keeps_two_thirds_of_the_contraction_of_top_k(k: int) -> None:
    assert 1 - STATEMENTS["count_band"].exact(k=k, d=30) >= Fraction(2, 3) * Fraction(k, 30)


@pytest.mark.parametrize(
    ("label", "numbers", "message"),
    [
        ("threshold_selector", {"selected_count": 4, "d": 3}, "selected_count = 4"),
        ("threshold_selector", {"selected_count": -1, "d": 3}, "got -1"),
        ("count_band", {"k": 0, "d": 3}, "got 0"),
        ("count_band_cubic", {"k": 4, "d": 3}, "k = 4"),
        ("band_threshold_unique", {"lowest": 3, "highest": 2}, "lowest = 3"),
        ("band_threshold_unique", {"lowest": 0, "highest": 2}, "got 0"),
        ("band_search_passes", {"bit_width": 31, "start_level": 32}, "start_level = 32"),
        ("candidate_list", {"selected_count": 13, "k": 10, "capacity": 20}, "selected_count = 13"),
        ("candidate_list", {"selected_count": 21, "k": 10, "capacity": 20}, "capacity = 20"),
    ],
)
def test_values_outside_the_domain_are_refused(label: str, numbers: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        STATEMENTS[label].evaluate(**numbers)
