"""What error feedback keeps back and costs: values computed by hand, limits, orderings and refusals."""

import math
from dataclasses import replace

import numpy as np
import pytest
import sympy

from sparsync.theory.feedback.residual import ROOT, below_one, jensen_step
from sparsync.theory.language.statement import Statement
from sparsync.theory.statements import FAMILIES, STATEMENTS

# 1 − a² for a = 1/2, so that √(1 − δ) is a half.
HALF = 0.75
ROOTS = [position / 16 for position in range(16)]
WORKERS = {"step_size": 0.01, "smoothness": 1, "gap": 0.1, "T": 100, "n": 4, "residual_weight": 0.5}
RATE = {"step_size": 0.1, "smoothness": 2, "gap": 1, "T": 100}


@pytest.mark.parametrize("label", FAMILIES["Error feedback"])
def test_a_larger_or_smaller_bound_is_not_proved(label: str) -> None:
    statement = STATEMENTS[label]
    wrong = statement.bound * sympy.Rational(99, 100)
    relation = type(statement.relation)(statement.relation.lhs, wrong, evaluate=False)
    assert replace(statement, relation=relation).unproved_claims() != ()


@pytest.mark.parametrize(
    ("label", "numbers", "expected"),
    [
        ("virtual_iterate", {"virtual_iterate": -3, "step_size": 0.5, "gradient": 4}, -5),
        ("residual_bound", {"delta": HALF, "step_size": 1, "second_moment": 1}, 16 / 9),
        ("residual_bound", {"delta": 1, "step_size": 3, "second_moment": 5}, 0),
        ("residual_minkowski", {"delta": HALF, "step_size": 3, "second_moment": 2}, 18),
        ("residual_minkowski", {"delta": 1, "step_size": 3, "second_moment": 5}, 0),
        ("step_outside", {"delta": HALF, "step_variation": 3, "second_moment": 2}, 18),
        ("step_outside", {"delta": HALF, "step_variation": 0, "second_moment": 2}, 0),
        ("mean_of_local_top_k", {"balance": 0}, 0),
        ("mean_of_local_top_k", {"balance": 0.5}, 1),
        ("mean_of_local_top_k", {"balance": 0.75}, 9),
        ("nonconvex_rate", RATE | {"delta": HALF, "second_moment": 1}, 0.2 + 0.2 + 0.64 / 9),
        ("nonconvex_rate", RATE | {"delta": 1, "second_moment": 1}, 0.4),
        ("nonconvex_rate_minkowski", RATE | {"delta": HALF, "second_moment": 1}, (0.2 + math.sqrt(0.84)) ** 2 / 4),
        ("nonconvex_rate_minkowski", RATE | {"delta": 1, "second_moment": 1}, 0.2),
        ("stationary_gradient", {"delta": HALF, "step_size": 0.1, "smoothness": 1, "second_moment": 1}, 0.05 / 0.9),
        ("stationary_gradient", {"delta": 1, "step_size": 0.1, "smoothness": 1, "second_moment": 1}, 0.05),
        ("descent_without_bounded_gradients", RATE | {"delta": HALF, "variance": 1}, 0.25 / 0.7),
        ("descent_without_bounded_gradients", RATE | {"delta": 1, "variance": 0}, 0.1 / 0.9),
        ("descent_of_workers", WORKERS | {"delta": 0.5, "variance": 4, "dissimilarity": 1}, 0.12 / 0.97),
        ("descent_of_workers", WORKERS | {"delta": 1, "variance": 4, "dissimilarity": 9}, 0.105 / 0.99),
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
        ("step_outside", {"delta": 0.5, "step_variation": -1, "second_moment": 1}, "step_variation"),
        ("mean_of_local_top_k", {"balance": 1}, "balance"),
        ("nonconvex_rate", RATE | {"delta": 0.5, "second_moment": 1, "T": 0}, "T"),
        ("nonconvex_rate", RATE | {"delta": 0.5, "second_moment": 1, "T": 1.5}, "T"),
        ("stationary_gradient", {"delta": HALF, "step_size": 0.7, "smoothness": 1, "second_moment": 1}, "0.7"),
        ("descent_without_bounded_gradients", RATE | {"delta": 0.01, "variance": 0}, "0.01"),
        ("descent_of_workers", WORKERS | {"delta": 0.5, "variance": 0, "dissimilarity": -1}, "dissimilarity"),
        ("descent_of_workers", WORKERS | {"delta": 0.0078125, "variance": 0, "dissimilarity": 0}, "0.0078125"),
        ("descent_of_workers", WORKERS | {"delta": 1, "variance": 0, "dissimilarity": 0, "n": 0}, "n"),
        ("crossover_variance", {"delta": 1, "smoothness": 1}, "delta"),
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


@pytest.mark.parametrize("root", ROOTS)
@pytest.mark.parametrize("step", [0.001, 0.1, 3.0])
def test_the_best_weight_improves_the_rate(root: float, step: float) -> None:
    numbers = RATE | {"step_size": step, "delta": 1 - root**2, "second_moment": 0.7}
    assert STATEMENTS["nonconvex_rate_minkowski"].evaluate(**numbers) < STATEMENTS["nonconvex_rate"].evaluate(**numbers)


def test_the_largest_step_is_that_of_gradient_descent_times_the_root_quotient() -> None:
    limit = 2 * (1 - 0.5) / (2 * (1 + 0.5))
    numbers = RATE | {"delta": HALF, "variance": 0}
    rate = STATEMENTS["descent_without_bounded_gradients"]
    assert rate.evaluate(**numbers | {"step_size": limit * 0.999}) > 0
    with pytest.raises(ValueError, match="violated"):
        rate.evaluate(**numbers | {"step_size": limit * 1.001})


def test_the_step_at_half_the_limit_gives_the_rate_of_gradient_descent_times_three() -> None:
    numbers = {"delta": HALF, "step_size": 1 / 6, "smoothness": 2, "gap": 1, "T": 100, "variance": 0}
    # 2L(f(x_0) − f*)/T times (1 + a)/(1 − a) = 3.
    assert STATEMENTS["descent_without_bounded_gradients"].evaluate(**numbers) == pytest.approx(0.12, rel=1e-14)


def test_a_false_sign_claim_is_not_accepted() -> None:
    assert below_one(ROOT * (1 - ROOT)) == sympy.true
    assert below_one(ROOT - sympy.Rational(1, 2)) == sympy.false


def test_jensen_is_an_identity_and_fails_for_another_factor(monkeypatch: pytest.MonkeyPatch) -> None:
    assert jensen_step("w").holds()
    whole = sympy.Sum
    monkeypatch.setattr(sympy, "Sum", lambda term, *limits: whole(term * len(limits), *limits))
    assert not jensen_step("w").holds()


def concluding(statement: Statement) -> list[str]:
    return [step.claim for step in statement.derivation if step.concludes is not None]


def test_the_rates_rest_on_the_residuals() -> None:
    older, sharp = (set(concluding(STATEMENTS[label])) for label in ("residual_bound", "residual_minkowski"))
    assert older < set(concluding(STATEMENTS["nonconvex_rate"]))
    assert sharp < set(concluding(STATEMENTS["nonconvex_rate_minkowski"]))


@pytest.mark.parametrize("label", ["residual_bound", "residual_minkowski"])
def test_a_draw_that_is_kept_for_ever_keeps_more_back_than_new_draws_may(label: str) -> None:
    """One of two coordinates is sent, the same at every step: half of any vector is lost, on average over the draw."""
    assert "independent of all before" in " ".join(STATEMENTS[label].assumptions)
    step_count, gradient, energies = 8, np.array([0.6, 0.8]), []
    for kept_back in (np.array([1.0, 0.0]), np.array([0.0, 1.0])):
        residual = np.zeros(2)
        for _ in range(step_count):
            residual = kept_back * (residual + gradient)
        energies.append(residual @ residual)
    kept = sum(energies) / 2
    assert kept == pytest.approx(step_count**2 / 2)
    assert kept > 3 * STATEMENTS[label].evaluate(delta=0.5, step_size=1, second_moment=1)
