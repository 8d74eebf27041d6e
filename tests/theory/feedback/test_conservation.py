"""What error feedback conserves: values by hand, and refusals."""

import pytest

from sparsync.theory.statements import STATEMENTS

# 1 − a² for a = 1/2, so that √(1 − δ) is a half.
HALF = 0.75


@pytest.mark.parametrize(
    ("label", "numbers", "expected"),
    [
        ("virtual_iterate", {"virtual_iterate": -3, "step_size": 0.5, "gradient": 4}, -5),
        ("step_outside", {"delta": HALF, "step_variation": 3, "second_moment": 2}, 18),
        ("step_outside", {"delta": HALF, "step_variation": 0, "second_moment": 2}, 0),
        ("mean_of_local_top_k", {"balance": 0}, 0),
        ("mean_of_local_top_k", {"balance": 0.5}, 1),
        ("mean_of_local_top_k", {"balance": 0.75}, 9),
    ],
)
def test_bounds_equal_values_computed_by_hand(label: str, numbers: dict[str, float], expected: float) -> None:
    assert STATEMENTS[label].evaluate(**numbers) == pytest.approx(expected, rel=1e-14, abs=0)


@pytest.mark.parametrize(
    ("label", "numbers", "named"),
    [
        ("step_outside", {"delta": 0.5, "step_variation": -1, "second_moment": 1}, "step_variation"),
        ("mean_of_local_top_k", {"balance": 1}, "balance"),
    ],
)
def test_numbers_outside_the_domain_are_refused(label: str, numbers: dict[str, float], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        STATEMENTS[label].evaluate(**numbers)
