"""A verdict says what the whole interval says, and nothing where it says nothing."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paper.verdicts import Claim, NotMeasuredError, Verdict, judged
from sparsync.verify.tools.intervals import Estimate, exact

ENDS = st.integers(-20, 20).map(float) | st.sampled_from([-math.inf, math.inf])


def claim(least: float = -math.inf, most: float = math.inf) -> Claim:
    return Claim("name", "text", "README", lambda _folder: exact(0), least=least, most=most)


def is_interval(ends: list[float]) -> bool:
    """Some finite value lies in it."""
    return ends[0] < math.inf and ends[1] > -math.inf


@given(st.tuples(ENDS, ENDS).map(sorted), st.tuples(ENDS, ENDS).map(sorted).filter(is_interval))
def test_the_verdict_follows_from_where_the_interval_lies(bounds: list[float], interval: list[float]) -> None:
    (least, most), (low, high) = bounds, interval
    value = low if math.isfinite(low) else high if math.isfinite(high) else 0.0
    found = claim(least, most).verdict(Estimate(value, low, high))
    inside = all(least <= end <= most for end in (low, high))
    outside = high < least or low > most
    expected = Verdict.REPRODUCED if inside else Verdict.NOT_REPRODUCED if outside else Verdict.INCONCLUSIVE
    assert found is expected


def test_without_results_there_is_no_verdict(tmp_path: Path) -> None:
    def absent(_folder: Path) -> Estimate:
        raise FileNotFoundError("absent")

    def small(_folder: Path) -> Estimate:
        raise NotMeasuredError("too small")

    for estimate in (absent, small):
        judgement = judged(Claim("name", "text", "README", estimate), record_folder=tmp_path, data_folder=tmp_path)
        assert judgement.verdict is Verdict.NOT_RUN
        assert judgement.claim.shown(judgement.found) == "–"


def test_a_result_that_lacks_a_field_is_an_error_and_not_a_verdict(tmp_path: Path) -> None:
    def broken(_folder: Path) -> Estimate:
        raise ValueError("no field")

    with pytest.raises(ValueError, match="no field"):
        judged(Claim("name", "text", "README", broken), record_folder=tmp_path, data_folder=tmp_path)


@pytest.mark.parametrize(
    ("estimate", "text"),
    [
        (Estimate(-0.5, -1.25, 0.25), "−0.50 [−1.25, 0.25]"),
        (Estimate(1, -math.inf, math.inf), "1.00 [−∞, ∞]"),
        (exact(133), "133"),
        (exact(0.9955), "0.996"),
        (exact(-3), "−3"),
    ],
)
def test_numbers_are_shown_with_their_interval_unless_they_are_exact(estimate: Estimate, text: str) -> None:
    assert claim().shown(estimate) == text
