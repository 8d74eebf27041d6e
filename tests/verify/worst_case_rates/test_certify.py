"""Rates with a closed form come out as it says, proved on both sides, and the stand-alone checker agrees."""

from pathlib import Path
from typing import Any

import pytest

from sparsync.theory.statements import STATEMENTS
from sparsync.verify.worst_case_rates.answers import Answer, Asked, answer, closed_form
from sparsync.verify.worst_case_rates.certify import Bound, Unproved
from sparsync.verify.worst_case_rates.examples import FOLDER
from sparsync.verify.worst_case_rates.method_file import read_method
from sparsync.verify.worst_case_rates.programmes import SolverError
from tests.support.posed_methods import DESCENT, STRONGLY, posed

NEAR = 1e-6
HOLDS, REFUTED, UNREADABLE = 0, 1, 2


def example(stem: str, **changes: str) -> Any:
    return read_method(str(FOLDER / f"{stem}.py"), changes)


def exactly(found: Answer) -> str:
    assert isinstance(found.upper, Bound)
    assert isinstance(found.lower, Bound)
    assert found.upper.value == found.lower.value
    return str(found.upper.value)


def enclosed(found: Answer, truth: float) -> bool:
    assert isinstance(found.upper, Bound)
    assert isinstance(found.lower, Bound)
    return float(found.lower.value) - 1e-12 <= truth <= float(found.upper.value) + 1e-12


@pytest.mark.parametrize(("steps", "rate"), [(1, "1/6"), (2, "1/10"), (5, "1/22")])
def test_convex_descent_has_the_rate_of_drori_and_teboulle(steps: int, rate: str) -> None:
    assert exactly(answer(example("convex_descent"), Asked(steps=steps))) == rate


@pytest.mark.parametrize(("steps", "rate"), [(1, "4/5"), (3, "4/11")])
def test_non_convex_descent_has_the_rate_of_abbaszadehpeivasti(steps: int, rate: str) -> None:
    assert exactly(answer(example("non_convex_descent"), Asked(steps=steps))) == rate


@pytest.mark.parametrize(("step_size", "rate"), [("1", "81/100"), ("20/11", "81/121"), ("3/2", "289/400")])
def test_the_distance_of_descent_shrinks_by_the_larger_of_two_factors(step_size: str, rate: str) -> None:
    method = example("gradient_descent", step_size=step_size)
    found = answer(method, Asked(steps=1))
    truth = closed_form(method, Asked(steps=1))
    assert truth is not None
    assert enclosed(found, truth)
    numerator, denominator = map(int, rate.split("/"))
    assert found.rate == pytest.approx(numerator / denominator if step_size != "3/2" else 0.85**2, abs=NEAR)


LABELS = {
    "error_feedback": "ef_tight_rate",
    "error_feedback_21": "ef21_tight_rate",
    "compressed_descent": "compressed_descent_rate",
    "two_workers": "ef_tight_rate",
}


@pytest.mark.parametrize("stem", LABELS)
@pytest.mark.parametrize(("mu", "epsilon"), [("0.1", "0.25"), ("0.5", "0.81")])
def test_the_lyapunov_functions_of_the_theorems_have_the_rates_of_the_theorems(
    stem: str, mu: str, epsilon: str
) -> None:
    found = answer(example(stem, mu=mu, epsilon=epsilon), Asked())
    truth = STATEMENTS[LABELS[stem]].evaluate(mu=float(mu), smoothness=1.0, epsilon=float(epsilon))
    assert enclosed(found, truth)
    assert found.rate == pytest.approx(truth, abs=NEAR)
    # The square root of ε and the step size are decimals here, so that the method is another one by 1e-16.
    assert found.slowest is not None
    assert found.slowest.factor == pytest.approx(truth, abs=NEAR)


def test_an_inexact_gradient_is_a_condition(tmp_path: Path) -> None:
    """‖h − ∇f‖² ≤ ε‖∇f‖² is what a compressor does: de Klerk, Glineur and Taylor 2020."""
    method = posed(
        tmp_path,
        STRONGLY,
        """
        epsilon = 0.25
        step_size = 40 / 31
        def step(self, state, problem):
            exact, h = problem.gradient(state.x), problem.vector("h")
            problem.require((exact - h) ** 2 <= self.epsilon * exact**2)
            return {"x": state.x - self.step_size * h}
        """,
        'initial = "value"\nperformance = "value"\n',
    )
    truth = STATEMENTS["compressed_descent_rate"].evaluate(mu=0.1, smoothness=1.0, epsilon=0.25)
    assert answer(method, Asked(steps=1)).rate == pytest.approx(truth, abs=NEAR)


def test_proximal_point_on_functions_with_kinks(tmp_path: Path) -> None:
    """‖x − x*‖²/(4ηN): Taylor, Hendrickx and Glineur 2017."""
    method = posed(
        tmp_path,
        'function_class = "convex"\nperformance = "value"\n',
        'def step(self, state, problem):\n    return {"x": problem.proximal(state.x, 2)}\n',
    )
    assert exactly(answer(method, Asked(steps=3))) == "1/24"


def test_a_worst_case_without_bound_is_said_to_be(tmp_path: Path) -> None:
    part = 'def start(self, problem):\n    return {"x": problem.vector("a") + problem.vector("b")}\n'
    measured = 'def initial(self, state, problem):\n    return problem.vector("a") ** 2\n'
    with pytest.raises(SolverError, match="the worst case is unbounded"):
        answer(posed(tmp_path, STRONGLY, DESCENT, part, measured), Asked(steps=1))


def test_what_does_not_round_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sparsync.verify.worst_case_rates.certify.MARGINS", ())
    found = answer(example("error_feedback"), Asked())
    assert isinstance(found.upper, Unproved)
    assert found.record is None
    assert found.rate == pytest.approx(0.88480829, abs=NEAR)
