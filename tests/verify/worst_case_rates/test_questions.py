from pathlib import Path

import pytest

from sparsync.verify.worst_case_rates.exact_numbers import MethodError
from sparsync.verify.worst_case_rates.questions import lyapunov_search, named_factor, worst_case
from tests.support.posed_methods import DESCENT, STRONGLY, posed

TWO_PLACES = """
    def fixed_point(self, problem):
        return {"x": problem.minimiser, "y": problem.minimiser}
"""


def step(*lines: str) -> str:
    return "def step(self, state, problem):\n" + "".join(f"    {line}\n" for line in lines)


WRONG_STEPS: dict[str, tuple[tuple[str, ...], str]] = {
    "a product of vectors": (
        (step('return {"x": state.x * problem.gradient(state.x)}'),),
        "two vectors are multiplied",
    ),
    "a step size of a line search": (
        (step("g = problem.gradient(state.x)", 'return {"x": state.x - (g @ g) * g}'),),
        "a product of more than two vectors",
    ),
    "an unknown part of the state": ((step('return {"x": state.z}'),), "the state has no z; it has x"),
    "an unknown item of the state": ((step('return {"x": state["z"]}'),), "the state has no 'z'; it has x"),
    "an unknown question": ((step('return {"x": problem.hessian(state.x)}'),), "'Problem' object has no attribute"),
    "nothing returned": (
        (step("problem.gradient(state.x)"),),
        "must return vectors by name, as a dict; it returned None",
    ),
    "another state": (
        (step('return {"x": state.x, "y": state.x}'),),
        "returns x, y, but the state has x: .*fixed_point",
    ),
    "a number for a vector": ((step('return {"x": 3}'),), "returns x = 3, which is no vector"),
    "a list for a vector": ((step('return {"x": [state.x]}'),), "which must be a vector"),
    "a compressor without a contraction": (
        (step('return {"x": state.x - problem.compress(problem.gradient(state.x))}'),),
        "the method names no epsilon",
    ),
    "a gradient of a number": ((step('return {"x": problem.gradient(0)}'),), "asked at 0, which is no vector"),
    "no such worker": ((step('return {"x": problem.gradient(state.x, 1)}'),), "no worker 1 among 1"),
    "a decision": ((step('return {"x": state.x if state.x else -state.x}'),), "decides by the vector x"),
    "a division by zero": ((step('return {"x": state.x / 0}'),), "divided by zero"),
    "an error of its own": ((step('return {"x": 1 / 0}'),), r"posed.py:\d+, Posed.step: ZeroDivisionError"),
    "a place of one part only": ((TWO_PLACES, step('return {"x": state.x}')), "returns x, but the state has x, y"),
}


@pytest.mark.parametrize("name", WRONG_STEPS)
def test_a_step_that_is_none_is_named_with_its_line(name: str, tmp_path: Path) -> None:
    parts, words = WRONG_STEPS[name]
    with pytest.raises(MethodError, match=words):
        lyapunov_search(posed(tmp_path, STRONGLY, *parts))


def test_a_run_needs_to_know_how_it_begins(tmp_path: Path) -> None:
    method = posed(tmp_path, STRONGLY, TWO_PLACES, step('return {"x": state.y, "y": state.x}'))
    with pytest.raises(MethodError, match="keeps x, y: with --steps it needs a function start"):
        worst_case(method, 1)


@pytest.mark.parametrize(
    ("part", "words"),
    [
        ('performance = "speed"\n', "no measure 'speed': choose from distance, value, gradient, best_gradient"),
        ("def performance(self, states, problem):\n    return states[-1].x\n", "must return a form"),
        ("def performance(self, states, problem):\n    return []\n", "returns an empty list"),
        ("def initial(self, state, problem):\n    return 1\n", "must return a form"),
    ],
)
def test_a_measure_that_is_none_is_named(part: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(MethodError, match=words):
        worst_case(posed(tmp_path, STRONGLY, DESCENT, part), 1)


@pytest.mark.parametrize("steps", [-1, 1000])
def test_too_many_steps_are_refused(steps: int, tmp_path: Path) -> None:
    with pytest.raises(MethodError, match=f"from 0 to 100, got {steps}"):
        worst_case(posed(tmp_path, STRONGLY, DESCENT), steps)


def test_a_lyapunov_function_is_a_form(tmp_path: Path) -> None:
    part = "def lyapunov(self, state, problem):\n    return state.x\n"
    with pytest.raises(MethodError, match=r"Posed\.lyapunov: it must return a form"):
        named_factor(posed(tmp_path, STRONGLY, DESCENT, part))


def test_a_state_cannot_be_changed_behind_ones_back(tmp_path: Path) -> None:
    changing = step("before = state.x", 'state["x"] = state.x - problem.gradient(state.x)', "return state")
    question = lyapunov_search(posed(tmp_path, STRONGLY, changing))
    assert question.before.vectors[0] != question.after.vectors[0]


def test_features_hold_the_place_where_the_next_step_asks(tmp_path: Path) -> None:
    asking = step("y = 2 * state.x - state.y", 'return {"x": y - problem.gradient(y), "y": state.x}')
    question = lyapunov_search(posed(tmp_path, STRONGLY, TWO_PLACES, asking))
    assert question.before.names[-1] == "value at 2 x -y"
    assert len(question.before.vectors) == 5
    plain = lyapunov_search(posed(tmp_path, STRONGLY, DESCENT))
    assert plain.before.names == ("x - x*", "gradient at x", "value at x")
