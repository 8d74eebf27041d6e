"""The least factor of a Lyapunov function that nobody names."""

from pathlib import Path
from typing import Any

import pytest

from sparsync.theory.statements import STATEMENTS
from sparsync.verify.worst_case_rates.answers import Asked, answer
from sparsync.verify.worst_case_rates.certify import Bound
from sparsync.verify.worst_case_rates.examples import FOLDER
from sparsync.verify.worst_case_rates.method_file import read_method
from sparsync.verify.worst_case_rates.programmes import SolverError
from tests.support.posed_methods import DESCENT, STRONGLY, posed

NEAR = 1e-6
LABELS = {"error_feedback": "ef_tight_rate", "compressed_descent": "compressed_descent_rate"}


def example(stem: str, **changes: str) -> Any:
    return read_method(str(FOLDER / f"{stem}.py"), changes)


@pytest.mark.parametrize("stem", ["error_feedback", "compressed_descent"])
def test_no_lyapunov_function_has_a_smaller_factor(stem: str) -> None:
    found = answer(example(stem), Asked(search=True))
    truth = STATEMENTS[LABELS[stem]].evaluate(mu=0.1, smoothness=1.0, epsilon=0.25)
    assert found.rate == pytest.approx(truth, abs=NEAR)
    assert isinstance(found.upper, Bound)
    assert truth <= found.upper.value <= truth + 2 * NEAR


@pytest.mark.slow
def test_the_triple_momentum_method_has_the_rate_of_its_authors(tmp_path: Path) -> None:
    """(1 − √(μ/L))²: Van Scoy, Freeman and Lynch 2018; its momentum reaches into where gradients are asked."""
    method = posed(
        tmp_path,
        STRONGLY,
        """
        def fixed_point(self, problem):
            return {"x": problem.minimiser, "y": problem.minimiser}
        def step(self, state, problem):
            r = 1 - math.sqrt(self.mu / self.smoothness)
            pushed = state.x - state.y
            place = state.x + r**2 / ((1 + r) * (2 - r)) * pushed
            x = state.x + r**2 / (2 - r) * pushed - (1 + r) / self.smoothness * problem.gradient(place)
            return {"x": x, "y": state.x}
        """,
    )
    found = answer(method, Asked())
    assert found.rate == pytest.approx((1 - 0.1**0.5) ** 2, abs=2e-6)
    assert isinstance(found.upper, Bound)


def test_a_step_that_is_too_long_has_a_factor_above_one_and_still_a_proof(tmp_path: Path) -> None:
    found = answer(posed(tmp_path, STRONGLY, DESCENT, step_size="3"), Asked())
    assert found.rate == pytest.approx(4, abs=1e-5)
    assert isinstance(found.upper, Bound)


def test_a_method_that_only_drifts_has_no_lyapunov_function(tmp_path: Path) -> None:
    step = 'def step(self, state, problem):\n    return {"x": state.x + problem.vector("drift")}\n'
    with pytest.raises(SolverError, match="there is none with a factor up to 64"):
        answer(posed(tmp_path, STRONGLY, step), Asked())
