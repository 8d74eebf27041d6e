from pathlib import Path

import pytest

from sparsync.verify.worst_case_rates.exact_numbers import MethodError
from sparsync.verify.worst_case_rates.quadratics import slowest_quadratic
from tests.support.posed_methods import DESCENT, STRONGLY, posed


def test_descent_is_slowest_at_an_end_of_the_curvatures(tmp_path: Path) -> None:
    for step_size, curvature in (("1", 0.1), ("1.9", 1.0)):
        found = slowest_quadratic(posed(tmp_path, STRONGLY, DESCENT, step_size=step_size))
        assert found is not None
        assert found.curvature == curvature
        assert found.factor == pytest.approx((1 - float(step_size) * curvature) ** 2)
        assert found.response is None


def test_a_method_with_a_free_vector_or_kinks_is_no_matrix(tmp_path: Path) -> None:
    step = 'def step(self, state, problem):\n    return {"x": state.x + problem.vector("drift")}\n'
    assert slowest_quadratic(posed(tmp_path, STRONGLY, step)) is None
    assert slowest_quadratic(posed(tmp_path, 'function_class = "convex"\n', DESCENT)) is None


def test_an_error_of_the_method_is_no_missing_matrix(tmp_path: Path) -> None:
    step = 'def step(self, state, problem):\n    return {"x": 1 / 0}\n'
    with pytest.raises(MethodError, match="ZeroDivisionError"):
        slowest_quadratic(posed(tmp_path, STRONGLY, step))
