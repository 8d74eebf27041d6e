"""AutoLyap, with its own programme and bisection, finds the same numbers."""

from pathlib import Path

import pytest

from sparsync.verify.worst_case_rates import autolyap
from sparsync.verify.worst_case_rates.answers import Asked, answer, rate_alone
from sparsync.verify.worst_case_rates.exact_numbers import MethodError
from sparsync.verify.worst_case_rates.examples import EXAMPLES, FOLDER, Example
from sparsync.verify.worst_case_rates.method_file import read_method
from tests.support.posed_methods import DESCENT, STRONGLY, posed

pytest.importorskip("autolyap")
NEAR = 5e-6
"""AutoLyap bisects by whether Clarabel, to 1e-8, finds a feasible point: our own bisection comes no nearer by that."""
UNSOLVED = "error_feedback_21"
"""Clarabel does not solve AutoLyap's programme for its named function: two of its points are one."""
UNSTATED = "non_convex_descent"
"""The least gradient of several is no measure of AutoLyap's."""
TWO = "workers = 2\ndef step(self, state, problem):\n    return {'x': state.x - problem.gradient(state.x) / 2}\n"
PROXIMAL = "def step(self, state, problem):\n    return {'x': problem.proximal(state.x, 2)}\n"


@pytest.mark.parametrize(
    "example",
    [
        pytest.param(each, marks=[] if each.asked.steps else pytest.mark.slow, id=f"{each.stem}-{each.asked.steps}")
        for each in (
            *(each for each in EXAMPLES if each.stem not in {UNSOLVED, UNSTATED}),
            Example(UNSOLVED, Asked(search=True)),
            Example(UNSOLVED, Asked(steps=2)),
            Example("error_feedback", Asked(steps=2)),
            Example("two_workers", Asked(steps=2)),
        )
    ],
)
def test_autolyap_says_the_same_of_every_example(example: Example) -> None:
    method = read_method(str(example.path), {})
    assert autolyap.rate(method, example.asked) == pytest.approx(answer(method, example.asked).rate, abs=NEAR)


POSED: dict[str, tuple[tuple[str, ...], Asked]] = {
    "a proximal step on functions with kinks": (
        ("function_class = 'convex'\n", PROXIMAL),
        Asked(3, performance="value"),
    ),
    "a proximal step, strongly convex": (("function_class = 'strongly convex'\nmu = 0.5\n", PROXIMAL), Asked(2)),
    "workers with minimisers of their own": ((STRONGLY, TWO), Asked(2)),
    "values of a function that need not be convex": (
        ("function_class = 'smooth non-convex'\nsmoothness = 1\n", DESCENT),
        Asked(2, initial="value", performance="value"),
    ),
    "a gradient by a value": (
        ("function_class = 'smooth non-convex'\nsmoothness = 1\n", DESCENT),
        Asked(1, initial="value", performance="gradient"),
    ),
}


@pytest.mark.parametrize("name", POSED)
def test_autolyap_says_the_same_of_a_posed_method(name: str, tmp_path: Path) -> None:
    parts, asked = POSED[name]
    method = posed(tmp_path, *parts)
    assert autolyap.rate(method, asked) == pytest.approx(rate_alone(method, asked), abs=NEAR)


def test_a_factor_above_one_is_found(tmp_path: Path) -> None:
    method = posed(tmp_path, STRONGLY, DESCENT, step_size="2.5")
    assert autolyap.rate(method, Asked()) == pytest.approx(1.5**2, abs=NEAR)


def test_another_momentum_has_another_rate() -> None:
    """So that agreement says something of the step that was read."""
    path = str(FOLDER / "heavy_ball.py")
    given, other = (autolyap.rate(read_method(path, {"momentum": value}), Asked(3)) for value in ("0.2", "0.25"))
    assert abs(given - other) > 1000 * NEAR


def test_autolyap_compares_neighbours_alone_so_that_its_number_may_be_larger() -> None:
    """Of the value after three steps of error feedback: 0.1441, and the worst case is 0.1319."""
    method, asked = read_method(str(FOLDER / "error_feedback.py"), {}), Asked(3, performance="value")
    assert autolyap.rate(method, asked) > rate_alone(method, asked) + 0.01


def test_what_it_has_no_form_for_is_named(tmp_path: Path) -> None:
    with pytest.raises(MethodError, match="no least of several"):
        autolyap.rate(read_method(str(FOLDER / f"{UNSTATED}.py"), {}), Asked(3))
    with pytest.raises(MethodError, match="it needs mu < smoothness"):
        autolyap.rate(posed(tmp_path, STRONGLY, DESCENT, mu="1"), Asked(1))
    with pytest.raises(MethodError, match="it needs a step"):
        autolyap.rate(posed(tmp_path, STRONGLY, DESCENT), Asked(0))
    own = "def performance(self, states, problem):\n    return states[0].x ** 2\n"
    with pytest.raises(MethodError, match="no place for x of step 0"):
        autolyap.rate(posed(tmp_path, STRONGLY, DESCENT, own), Asked(1))
