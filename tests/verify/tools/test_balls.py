"""A finite cover proves an inequality on a whole box; where it fails at a point there is no cover."""

from __future__ import annotations

from fractions import Fraction

import pytest
from flint import arb

from sparsync.verify.tools import balls
from sparsync.verify.tools.balls import Positivity, ball, ball_check, cover_count, exact_ball, is_refuted
from sparsync.verify.tools.outcome import PROFILES

UNIT = ((Fraction(0), Fraction(1)),)
SQUARE = (*UNIT, *UNIT)


def above_tangent(x: arb) -> arb:
    """e^x − (1 + x) + 1/1000 > 0 everywhere."""
    return x.exp() - 1 - x + exact_ball(Fraction(1, 1000))


def below_tangent(x: arb) -> arb:
    """e^x − (1 + x) − 1/1000, negative near x = 0."""
    return x.exp() - 1 - x - exact_ball(Fraction(1, 1000))


@pytest.mark.parametrize(("lower", "upper"), [(Fraction(1, 3), Fraction(2, 3)), (Fraction(0), Fraction(0))])
def test_a_ball_contains_its_interval(lower: Fraction, upper: Fraction) -> None:
    interval = ball(lower, upper)
    for point in (lower, (lower + upper) / 2, upper):
        assert interval.contains(exact_ball(point))


def test_a_true_inequality_has_a_cover_and_a_false_one_has_none() -> None:
    count = cover_count(above_tangent, UNIT)
    assert count is not None
    assert count > 1
    assert cover_count(below_tangent, UNIT) is None


def test_boxes_of_two_variables_are_covered() -> None:
    assert cover_count(lambda x, y: x * x + y * y - x * y + exact_ball(Fraction(1, 50)), SQUARE) is not None
    assert cover_count(lambda x, y: x * x + y * y - 3 * x * y + exact_ball(Fraction(1, 50)), SQUARE) is None


def test_an_equality_inside_the_box_is_not_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    """x² > 0 fails at 0 only, which no midpoint hits: the cover grows until it is given up."""
    monkeypatch.setattr(balls, "LARGEST_COVER", 300)
    assert cover_count(lambda x: x * x, UNIT) is None
    assert not is_refuted(lambda x: x * x, UNIT)


def test_only_a_function_negative_somewhere_is_refuted() -> None:
    assert is_refuted(below_tangent, UNIT)
    assert not is_refuted(above_tangent, UNIT)


def test_the_grade_needs_the_proof_and_the_refuted_twin() -> None:
    profile = PROFILES["smoke"]
    assert ball_check(Positivity("tangent", above_tangent, UNIT, below_tangent))(profile).earned
    for claim, twin in ((below_tangent, below_tangent), (above_tangent, above_tangent)):
        outcome = ball_check(Positivity("tangent", claim, UNIT, twin))(profile)
        assert not outcome.earned
        assert outcome.detail["failed_claims"] == ["tangent"]
    assert not ball_check()(profile).earned
