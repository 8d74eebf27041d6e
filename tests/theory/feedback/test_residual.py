"""What error feedback keeps back: values by hand, limits, orderings and refusals."""

import numpy as np
import pytest
import sympy

from sparsync.theory.feedback.residual import ROOT, below_one, jensen_step
from sparsync.theory.statements import STATEMENTS

# 1 − a² for a = 1/2, so that √(1 − δ) is a half.
HALF = 0.75
ROOTS = [position / 16 for position in range(16)]


@pytest.mark.parametrize(
    ("label", "numbers", "expected"),
    [
        ("residual_bound", {"delta": HALF, "step_size": 1, "second_moment": 1}, 16 / 9),
        ("residual_bound", {"delta": 1, "step_size": 3, "second_moment": 5}, 0),
        ("residual_minkowski", {"delta": HALF, "step_size": 3, "second_moment": 2}, 18),
        ("residual_minkowski", {"delta": 1, "step_size": 3, "second_moment": 5}, 0),
    ],
)
def test_bounds_equal_values_computed_by_hand(label: str, numbers: dict[str, float], expected: float) -> None:
    assert STATEMENTS[label].evaluate(**numbers) == pytest.approx(expected, rel=1e-14, abs=0)


@pytest.mark.parametrize(
    ("label", "numbers", "named"),
    [
        ("residual_bound", {"delta": 1.5, "step_size": 1, "second_moment": 1}, "delta"),
        ("residual_minkowski", {"delta": 0, "step_size": 1, "second_moment": 1}, "delta"),
        ("residual_minkowski", {"delta": 0.5, "step_size": -1, "second_moment": 1}, "step_size"),
    ],
)
def test_numbers_outside_the_domain_are_refused(label: str, numbers: dict[str, float], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        STATEMENTS[label].evaluate(**numbers)


@pytest.mark.parametrize("root", ROOTS)
def test_the_sharp_residual_is_a_quarter_to_all_of_the_older_one(root: float) -> None:
    numbers = {"delta": 1 - root**2, "step_size": 0.3, "second_moment": 2}
    sharp, older = (STATEMENTS[label].evaluate(**numbers) for label in ("residual_minkowski", "residual_bound"))
    assert sharp == pytest.approx(older * (1 + root) ** 2 / 4, rel=1e-14)


def test_tiny_contraction_factors_keep_their_digits() -> None:
    value = STATEMENTS["residual_minkowski"].evaluate(delta=1e-12, step_size=1, second_moment=1)
    # (1 − δ)(1 + √(1 − δ))²/δ² = (4 − 6δ + …)/δ².
    assert value == pytest.approx((4 - 6e-12) / 1e-12**2, rel=1e-14)


def test_a_false_sign_claim_is_not_accepted() -> None:
    assert below_one(ROOT * (1 - ROOT)) == sympy.true
    assert below_one(ROOT - sympy.Rational(1, 2)) == sympy.false


def test_jensen_is_an_identity_and_fails_for_another_factor(monkeypatch: pytest.MonkeyPatch) -> None:
    assert jensen_step("w").holds()
    whole = sympy.Sum
    monkeypatch.setattr(sympy, "Sum", lambda term, *limits: whole(term * len(limits), *limits))
    assert not jensen_step("w").holds()


@pytest.mark.parametrize("label", ["residual_bound", "residual_minkowski"])
def test_a_draw_that_is_kept_for_ever_keeps_more_back_than_new_draws_may(label: str) -> None:
    """One of two coordinates is sent, the same at every step: half of any vector is lost, on average over the draw."""
    assert "independent of all before" in " ".join(STATEMENTS[label].assumption_texts)
    step_count, gradient, energies = 8, np.array([0.6, 0.8]), []
    for kept_back in (np.array([1.0, 0.0]), np.array([0.0, 1.0])):
        residual = np.zeros(2)
        for _ in range(step_count):
            residual = kept_back * (residual + gradient)
        energies.append(residual @ residual)
    kept = sum(energies) / 2
    assert kept == pytest.approx(step_count**2 / 2)
    assert kept > 3 * STATEMENTS[label].evaluate(delta=0.5, step_size=1, second_moment=1)
