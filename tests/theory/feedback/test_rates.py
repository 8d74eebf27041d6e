"""What error feedback costs one worker: values by hand, orderings, refusals, and what the proofs rest on."""

import math

import pytest

from sparsync.theory.language.statement import Statement
from sparsync.theory.statements import STATEMENTS

# 1 − a² for a = 1/2, so that √(1 − δ) is a half.
HALF = 0.75
ROOTS = [position / 16 for position in range(16)]
RATE = {"step_size": 0.1, "smoothness": 2, "gap": 1, "T": 100}


@pytest.mark.parametrize(
    ("label", "numbers", "expected"),
    [
        ("nonconvex_rate", RATE | {"delta": HALF, "second_moment": 1}, 0.2 + 0.2 + 0.64 / 9),
        ("nonconvex_rate", RATE | {"delta": 1, "second_moment": 1}, 0.4),
        ("nonconvex_rate_minkowski", RATE | {"delta": HALF, "second_moment": 1}, (0.2 + math.sqrt(0.84)) ** 2 / 4),
        ("nonconvex_rate_minkowski", RATE | {"delta": 1, "second_moment": 1}, 0.2),
        ("stationary_gradient", {"delta": HALF, "step_size": 0.1, "smoothness": 1, "second_moment": 1}, 0.05 / 0.9),
        ("stationary_gradient", {"delta": 1, "step_size": 0.1, "smoothness": 1, "second_moment": 1}, 0.05),
        ("descent_without_bounded_gradients", RATE | {"delta": HALF, "variance": 1}, 0.25 / 0.7),
        ("descent_without_bounded_gradients", RATE | {"delta": 1, "variance": 0}, 0.1 / 0.9),
    ],
)
def test_bounds_equal_values_computed_by_hand(label: str, numbers: dict[str, float], expected: float) -> None:
    assert STATEMENTS[label].evaluate(**numbers) == pytest.approx(expected, rel=1e-14, abs=0)


@pytest.mark.parametrize(
    ("label", "numbers", "named"),
    [
        ("nonconvex_rate", RATE | {"delta": 0.5, "second_moment": 1, "T": 0}, "T"),
        ("nonconvex_rate", RATE | {"delta": 0.5, "second_moment": 1, "T": 1.5}, "T"),
        ("stationary_gradient", {"delta": HALF, "step_size": 0.7, "smoothness": 1, "second_moment": 1}, "0.7"),
        ("descent_without_bounded_gradients", RATE | {"delta": 0.01, "variance": 0}, "0.01"),
    ],
)
def test_numbers_outside_the_domain_are_refused(label: str, numbers: dict[str, float], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        STATEMENTS[label].evaluate(**numbers)


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


def concluding(statement: Statement) -> list[str]:
    return [step.claim for step in statement.derivation if step.concludes is not None]


def test_the_rates_rest_on_the_residuals() -> None:
    older, sharp = (set(concluding(STATEMENTS[label])) for label in ("residual_bound", "residual_minkowski"))
    assert older < set(concluding(STATEMENTS["nonconvex_rate"]))
    assert sharp < set(concluding(STATEMENTS["nonconvex_rate_minkowski"]))
