import math
from collections.abc import Callable

import cvxpy
import numpy
import pytest

from sparsync.theory.statements import STATEMENTS
from sparsync.verify.tight_rates import performance
from sparsync.verify.tight_rates.performance import SOLVER_TOLERANCES, Performance, Solution
from sparsync.verify.tight_rates.rates import METHODS, WORKER_METHODS, stated_step

Programme = Callable[..., Solution]

NUMBERS = {"mu": 0.1, "smoothness": 1.0, "epsilon": 0.25}
PROGRAMMES: tuple[Programme, ...] = (performance.primal, performance.dual)


def programme_of(label: str, numbers: dict[str, float]) -> Performance:
    return METHODS[label][1](
        mu=numbers["mu"],
        smoothness=numbers["smoothness"],
        root_epsilon=math.sqrt(numbers["epsilon"]),
        step_size=stated_step(label, numbers),
    )


@pytest.mark.parametrize("solver", SOLVER_TOLERANCES)
@pytest.mark.parametrize("solve", PROGRAMMES)
@pytest.mark.parametrize("label", METHODS)
def test_the_worst_case_equals_the_closed_form(label: str, solve: Programme, solver: str) -> None:
    solution = solve(programme_of(label, NUMBERS), solver=solver)
    assert abs(solution.rate - STATEMENTS[label].evaluate(**NUMBERS)) <= solution.tolerance
    assert solution.tolerance < 1e-4


@pytest.mark.parametrize("label", METHODS)
def test_a_smaller_rate_would_be_noticed(label: str) -> None:
    solution = performance.primal(programme_of(label, NUMBERS))
    assert solution.rate > STATEMENTS[label].evaluate(**NUMBERS) * 0.9999 + solution.tolerance


def test_the_multipliers_of_error_feedback_are_the_published_ones() -> None:
    solution = performance.dual(programme_of("ef_tight_rate", NUMBERS))
    root, eta = 0.5, stated_step("ef_tight_rate", NUMBERS)
    radical = math.sqrt(0.9**2 + 16 * 0.1 * root / (1 + root) ** 2)
    pair = eta / 1.1 * ((1 - root) * 0.9 + (1 + root) * radical)
    # The optimum is unique; multipliers follow to about the square root of the solver's gap.
    found = (solution.multipliers["0,*"], solution.multipliers["*,0"], solution.multipliers["compressor"])
    # The contraction is written ‖w‖² ≤ ‖v‖², s² times the published inequality.
    assert found == pytest.approx((pair, pair, root**2 / root), abs=math.sqrt(SOLVER_TOLERANCES["CLARABEL"]))


@pytest.mark.parametrize("label", METHODS)
def test_multipliers_and_slack_are_a_proof_up_to_the_solvers_tolerance(label: str) -> None:
    solution = performance.dual(programme_of(label, NUMBERS))
    assert min(solution.multipliers.values()) >= -SOLVER_TOLERANCES["CLARABEL"]
    assert numpy.linalg.eigvalsh(solution.slack).min() >= -solution.tolerance


@pytest.mark.parametrize("label", METHODS)
def test_a_worst_case_is_one_dimensional(label: str) -> None:
    eigenvalues = numpy.linalg.eigvalsh(performance.dual(programme_of(label, NUMBERS)).worst_case)
    assert eigenvalues[-1] > 0
    assert eigenvalues.min() >= -1e-6 * eigenvalues[-1]


def test_the_distance_may_grow_where_the_function_value_shrinks() -> None:
    problem = performance.descent_step(
        mu=0.1, smoothness=1.0, root_epsilon=0.5, step_size=stated_step("compressed_descent_rate", NUMBERS)
    )
    assert performance.primal(problem).rate > 1.2
    assert STATEMENTS["compressed_descent_rate"].evaluate(**NUMBERS) < 0.88


@pytest.mark.parametrize("status", ["optimal_inaccurate", "infeasible", "unbounded", "user_limit", "solver_error"])
@pytest.mark.parametrize("solver", SOLVER_TOLERANCES)
@pytest.mark.parametrize("solve", PROGRAMMES)
def test_any_status_but_optimal_is_an_error_that_names_it(
    status: str, solve: Programme, solver: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cvxpy.Problem, "status", property(lambda _problem: status))
    with pytest.raises(RuntimeError, match=f"{solver} is '{status}'"):
        solve(programme_of("ef_tight_rate", NUMBERS), solver=solver)


def test_without_a_compressor_bound_there_is_no_rate() -> None:
    problem = programme_of("ef_tight_rate", NUMBERS)
    pairs = {name: form for name, form in problem.constraints.items() if name != "compressor"}
    with pytest.raises(RuntimeError, match="unbounded"):
        performance.primal(Performance(before=problem.before, after=problem.after, constraints=pairs))


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("label", WORKER_METHODS)
def test_workers_that_differ_have_the_rate_of_one(label: str, count: int) -> None:
    programme = WORKER_METHODS[label](
        mu=0.1, smoothness=1.0, root_epsilon=0.5, step_size=stated_step(label, NUMBERS), count=count
    )
    solution = performance.primal(programme)
    assert abs(solution.rate - STATEMENTS[label].evaluate(**NUMBERS)) <= solution.tolerance
    assert solution.tolerance < 1e-4


@pytest.mark.parametrize("label", WORKER_METHODS)
def test_a_wider_class_of_functions_has_a_larger_rate(label: str) -> None:
    programme = WORKER_METHODS[label](
        mu=0.09, smoothness=1.0, root_epsilon=0.5, step_size=stated_step(label, NUMBERS), count=2
    )
    solution = performance.primal(programme)
    assert solution.rate > STATEMENTS[label].evaluate(**NUMBERS) + solution.tolerance


@pytest.mark.slow
@pytest.mark.parametrize("root", [0.2, 0.5, 0.8])
def test_pepit_finds_the_same_rate_for_error_feedback(root: float) -> None:
    pepit = pytest.importorskip("PEPit")
    functions = pytest.importorskip("PEPit.functions")
    numbers = {"mu": 0.1, "smoothness": 1.0, "epsilon": root**2}
    problem = pepit.PEP()
    function = problem.declare_function(functions.SmoothStronglyConvexFunction, mu=0.1, L=1.0)
    minimiser = function.stationary_point()
    position, memory, sent = (problem.set_initial_point() for _ in range(3))
    corrected = memory + stated_step("ef_tight_rate", numbers) * function.gradient(position)
    problem.add_constraint((corrected - sent) ** 2 <= root**2 * corrected**2)
    problem.set_initial_condition((position - minimiser - memory) ** 2 + memory**2 / root <= 1)
    end, kept = position - sent, corrected - sent
    problem.set_performance_metric((end - minimiser - kept) ** 2 + kept**2 / root)
    rate = problem.solve(wrapper="cvxpy", solver="CLARABEL", verbose=0)
    # Clarabel's own tolerance is 1e-8; the multipliers are below ten.
    assert rate == pytest.approx(STATEMENTS["ef_tight_rate"].evaluate(**numbers), abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("root", [0.2, 0.5, 0.8])
def test_pepit_finds_the_same_rate_for_error_feedback_21(root: float) -> None:
    pepit = pytest.importorskip("PEPit")
    functions = pytest.importorskip("PEPit.functions")
    numbers = {"mu": 0.1, "smoothness": 1.0, "epsilon": root**2}
    problem = pepit.PEP()
    function = problem.declare_function(functions.SmoothStronglyConvexFunction, mu=0.1, L=1.0)
    position, estimate, sent = (problem.set_initial_point() for _ in range(3))
    gradient = function.gradient(position)
    following = function.gradient(position - stated_step("ef21_tight_rate", numbers) * estimate)
    problem.add_constraint((following - estimate - sent) ** 2 <= root**2 * (following - estimate) ** 2)
    problem.set_initial_condition((gradient - estimate) ** 2 / root + gradient**2 <= 1)
    problem.set_performance_metric((following - estimate - sent) ** 2 / root + following**2)
    rate = problem.solve(wrapper="cvxpy", solver="CLARABEL", verbose=0)
    # Clarabel's own tolerance is 1e-8; the multipliers are below ten.
    assert rate == pytest.approx(STATEMENTS["ef21_tight_rate"].evaluate(**numbers), abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("root", [0.2, 0.5, 0.8])
def test_pepit_finds_the_same_rate_for_compressed_descent(root: float) -> None:
    pepit = pytest.importorskip("PEPit")
    functions = pytest.importorskip("PEPit.functions")
    numbers = {"mu": 0.1, "smoothness": 1.0, "epsilon": root**2}
    problem = pepit.PEP()
    function = problem.declare_function(functions.SmoothStronglyConvexFunction, mu=0.1, L=1.0)
    lowest = function(function.stationary_point())
    position, sent = (problem.set_initial_point() for _ in range(2))
    gradient, value = function.oracle(position)
    problem.add_constraint((gradient - sent) ** 2 <= root**2 * gradient**2)
    problem.set_initial_condition(value - lowest <= 1)
    problem.set_performance_metric(function(position - stated_step("compressed_descent_rate", numbers) * sent) - lowest)
    rate = problem.solve(wrapper="cvxpy", solver="CLARABEL", verbose=0)
    # Clarabel's own tolerance is 1e-8; the multipliers are below ten.
    assert rate == pytest.approx(STATEMENTS["compressed_descent_rate"].evaluate(**numbers), abs=1e-6)
