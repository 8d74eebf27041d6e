"""The matrices that are read off a step are the step: on quadratics, and as the textbooks write them."""

from fractions import Fraction
from pathlib import Path

import numpy
import pytest

from sparsync.verify.worst_case_rates.exact_numbers import MethodError
from sparsync.verify.worst_case_rates.examples import EXAMPLES, FOLDER
from sparsync.verify.worst_case_rates.method_file import Method, read_method
from sparsync.verify.worst_case_rates.quadratics import Quadratic
from sparsync.verify.worst_case_rates.state_space import LinearSystem, Recorder, begun, linear_system
from sparsync.verify.worst_case_rates.states import State, entries, fixed_point, free_state, step
from sparsync.verify.worst_case_rates.vectors import Vector
from tests.support.posed_methods import STRONGLY, posed

CURVATURE = Fraction(3, 7)
STEMS = sorted({example.stem for example in EXAMPLES})
PROXIMAL = 'def step(self, state, problem):\n    return {"x": problem.proximal(state.x, 2)}\n'
RESTS = 'def fixed_point(self, problem):\n    return {"x": problem.minimiser, "y": problem.minimiser}\n'


def read(method: Method) -> tuple[LinearSystem, Recorder, State]:
    recorder, rest = Recorder(method.setting), fixed_point(method, Recorder(method.setting))
    state = free_state(rest)
    return linear_system(recorder, state, step(method, state, recorder, rest)), recorder, rest


def example(stem: str) -> Method:
    return read_method(str(FOLDER / f"{stem}.py"), {})


def closed(system: LinearSystem, recorder: Recorder, sign: int) -> numpy.ndarray:
    """x⁺ by x where u = a y of a worker, u = (1 ± √ε) y of a compressor, and x* is 0."""
    shares = [float(CURVATURE)] * system.worker_count
    shares += [1 + sign * float(epsilon) ** 0.5 for epsilon in recorder.compressors]
    answers = numpy.diag(numpy.repeat(shares, system.counts))
    asked = numpy.linalg.solve(numpy.eye(len(answers)) - system.d @ answers, system.c)
    moved: numpy.ndarray = system.a + system.b @ answers @ asked
    return moved


def stepped(method: Method, sign: int) -> numpy.ndarray:
    """The same, by a run of the step on that quadratic."""
    problem = Quadratic(method.setting, CURVATURE, sign)
    rest = fixed_point(method, problem)
    following = [vector for _, vector in entries(step(method, free_state(rest), problem, rest))]
    names = [name for name, _ in entries(rest)]
    return numpy.array([[float(vector.coefficients.get(name, 0)) for name in names] for vector in following])


@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("stem", STEMS)
def test_the_system_of_every_example_is_its_step_on_a_quadratic(stem: str, sign: int) -> None:
    method = example(stem)
    system, recorder, _ = read(method)
    # A dozen sums and products of numbers of order one.
    assert closed(system, recorder, sign) == pytest.approx(stepped(method, sign), abs=1e-14)


def test_a_proximal_step_is_asked_at_its_own_end(tmp_path: Path) -> None:
    method = posed(tmp_path, STRONGLY, PROXIMAL)
    system, recorder, _ = read(method)
    assert [matrix.tolist() for matrix in (system.a, system.b, system.c, system.d)] == [[[1]], [[-2]], [[1]], [[-2]]]
    assert closed(system, recorder, 1) == pytest.approx(stepped(method, 1), abs=1e-15)


def test_heavy_ball_has_the_matrices_of_the_textbook() -> None:
    system, _, _ = read(example("heavy_ball"))
    assert system.a.tolist() == [[1.2, -0.2], [1, 0]]
    assert system.b.tolist() == [[-1], [0]]
    assert system.c.tolist() == [[1, 0]]
    assert system.d.tolist() == [[0]]


def test_a_compressor_is_asked_at_what_a_function_answered() -> None:
    method = example("error_feedback")
    system, _, _ = read(method)
    assert system.counts == (1, 1)
    assert system.c.tolist() == [[1, 0], [0, 1]]
    assert system.d.tolist() == [[0, 0], [float(method.numbers["step_size"]), 0]]


def test_the_first_step_of_heavy_ball_has_one_vector() -> None:
    method = example("heavy_ball")
    system, recorder, rest = read(method)
    first = begun(system, method, recorder, rest)
    assert first.a == pytest.approx(numpy.array([[1, 0], [1, 0]]))
    assert first.rows["x"].tolist() == first.rows["previous"].tolist() == first.rows["vector x0"].tolist()


def test_a_start_that_keeps_a_gradient_has_the_answer_of_the_first_step() -> None:
    method = example("error_feedback_21")
    recorder, rest = Recorder(method.setting), fixed_point(method, Recorder(method.setting))
    state = free_state(rest)
    recorder.gradient(state.x)
    system = linear_system(recorder, state, step(method, state, recorder, rest))
    first = begun(system, method, recorder, rest)
    assert first.rows["d"].tolist() == system.rows["answer 0:0"].tolist()
    assert first.b[0, 0] == -float(method.numbers["step_size"])


def test_forms_are_written_in_the_coordinates_of_the_system() -> None:
    method = example("heavy_ball")
    recorder, rest = Recorder(method.setting), fixed_point(method, Recorder(method.setting))
    state = free_state(rest)
    value, gradient = recorder.value(state.x), recorder.gradient(state.x)
    system = linear_system(recorder, state, step(method, state, recorder, rest))
    # x, previous, the answer, x*.
    expected = numpy.array([[1, 0, 3, -1], [0, 0, 0, 0], [3, 0, 0, -3], [-1, 0, -3, 1]])
    own = state.x - recorder.minimiser
    assert system.quadratic(own**2 + 6 * (own @ gradient)).tolist() == expected.tolist()
    assert system.linear(2 * value).tolist() == [2, -2]


def test_workers_at_rest_have_gradients_that_cancel(tmp_path: Path) -> None:
    step_ = 'workers = 3\ndef step(self, state, problem):\n    return {"x": state.x - problem.gradient(state.x)}\n'
    recorder = Recorder(posed(tmp_path, STRONGLY, step_).setting)
    resting = recorder.gradients(recorder.minimiser)
    assert sum(resting, Vector()) == Vector()
    assert all(vector != Vector() for vector in resting)
    assert recorder.asked == [[], [], []]


REFUSED: dict[str, tuple[str, str]] = {
    "a condition": (
        "def step(self, state, problem):\n"
        '    g, h = problem.gradient(state.x), problem.vector("h")\n'
        "    problem.require((g - h)**2 <= 0.1 * g**2)\n"
        '    return {"x": state.x - h}\n',
        "no condition of its own",
    ),
    "a free vector": (
        'def step(self, state, problem):\n    return {"x": problem.gradient(state.x) + problem.vector("h")}\n',
        "no place for vector h",
    ),
    "the minimiser": (
        'def step(self, state, problem):\n    return {"x": problem.gradient(state.x) + problem.minimiser}\n',
        r"no place for x\*",
    ),
    "nothing asked": (
        'def step(self, state, problem):\n    return {"x": state.x / 2}\n',
        "worker 0 is asked no gradient",
    ),
    "proximal of workers": ("workers = 2\n" + PROXIMAL, "proximal is of one function"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_linear_system_has_no_place_for_is_named(name: str, tmp_path: Path) -> None:
    part, said = REFUSED[name]
    with pytest.raises(MethodError, match=said):
        read(posed(tmp_path, STRONGLY, part))


STARTS: dict[str, tuple[str, str]] = {
    "a question of its own": ('{"x": problem.vector("a"), "y": problem.gradient(problem.vector("a"))}', "asks at its"),
    "more vectors": (
        '{"x": problem.vector("a") + problem.vector("b"), "y": problem.vector("c")}',
        "a, vector b, vector c",
    ),
}


@pytest.mark.parametrize("name", STARTS)
def test_a_start_that_no_step_knows_is_named(name: str, tmp_path: Path) -> None:
    text, said = STARTS[name]
    step_ = 'def step(self, state, problem):\n    return {"x": state.y, "y": problem.gradient(2 * state.x)}\n'
    method = posed(tmp_path, STRONGLY, RESTS, f"def start(self, problem):\n    return {text}\n", step_)
    system, recorder, rest = read(method)
    with pytest.raises(MethodError, match=said):
        begun(system, method, recorder, rest)
