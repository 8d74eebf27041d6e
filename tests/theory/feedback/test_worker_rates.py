"""What error feedback costs many workers: values by hand, and refusals."""

import pytest

from sparsync.theory.statements import STATEMENTS

WORKERS = {"step_size": 0.01, "smoothness": 1, "gap": 0.1, "T": 100, "n": 4, "residual_weight": 0.5}


@pytest.mark.parametrize(
    ("label", "numbers", "expected"),
    [
        ("descent_of_workers", WORKERS | {"delta": 0.5, "variance": 4, "dissimilarity": 1}, 0.12 / 0.97),
        ("descent_of_workers", WORKERS | {"delta": 1, "variance": 4, "dissimilarity": 9}, 0.105 / 0.99),
    ],
)
def test_bounds_equal_values_computed_by_hand(label: str, numbers: dict[str, float], expected: float) -> None:
    assert STATEMENTS[label].evaluate(**numbers) == pytest.approx(expected, rel=1e-14, abs=0)


@pytest.mark.parametrize(
    ("label", "numbers", "named"),
    [
        ("descent_of_workers", WORKERS | {"delta": 0.5, "variance": 0, "dissimilarity": -1}, "dissimilarity"),
        ("descent_of_workers", WORKERS | {"delta": 0.0078125, "variance": 0, "dissimilarity": 0}, "0.0078125"),
        ("descent_of_workers", WORKERS | {"delta": 1, "variance": 0, "dissimilarity": 0, "n": 0}, "n"),
    ],
)
def test_numbers_outside_the_domain_are_refused(label: str, numbers: dict[str, float], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        STATEMENTS[label].evaluate(**numbers)
