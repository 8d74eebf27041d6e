"""What does AutoLyap say of the same method? Its own programme and bisection, on a linear system read off the step.

AutoLyap (Upadhyaya, Das Gupta, Taylor, Banert and Giselsson 2026) is asked only where it is installed. Its function
classes are used where it has them. It has no compressor, no common minimiser and no lowest value of a function that
need not be convex: these three are conditions of ours, in its form. Its Lyapunov function may be made of every answer
of a step, ours of the gradients at places that the state alone decides.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy

from sparsync.verify.worst_case_rates.answers import Asked
from sparsync.verify.worst_case_rates.exact_numbers import MethodError
from sparsync.verify.worst_case_rates.method_file import Method
from sparsync.verify.worst_case_rates.problem import Setting
from sparsync.verify.worst_case_rates.programmes import Array
from sparsync.verify.worst_case_rates.questions import (
    LEAST_GRADIENT,
    first_measured,
    form_of,
    last_measured,
    measured_below,
)
from sparsync.verify.worst_case_rates.search import LARGEST, RESOLUTION
from sparsync.verify.worst_case_rates.state_space import LinearSystem, Recorder, begun, linear_system
from sparsync.verify.worst_case_rates.states import State, entries, fixed_point, free_state, start, step
from sparsync.verify.worst_case_rates.vectors import Form, Vector

CLASSES = {
    "smooth strongly convex": "SmoothStronglyConvex",
    "smooth convex": "SmoothConvex",
    "smooth non-convex": "Smooth",
    "strongly convex": "StronglyConvex",
    "convex": "Convex",
}
"""AutoLyap's name of each class."""
TOLERANCES = (1e-8, 1e-7, 1e-6)
"""AutoLyap's own, and where Clarabel does not reach it, the next."""
FEASIBLE = "feasible"
"""AutoLyap's word for an answer."""


def is_there() -> bool:
    """True iff AutoLyap is installed."""
    return find_spec("autolyap") is not None


def rate(method: Method, asked: Asked) -> float:
    """AutoLyap's number for a question.

    Raises:
        MethodError: see `Method.call`; or AutoLyap has no form for it.
        RuntimeError: AutoLyap found no number.
    """
    with _said():
        if asked.steps is not None:
            return _after(method, asked.steps, asked)
        if method.has("lyapunov") and not asked.search:
            return _named_factor(method)
        return _found_factor(method, asked.performance)


def _named_factor(method: Method) -> float:
    """The least factor of the function that the method names."""
    recorder, rest = Recorder(method.setting), fixed_point(method, Recorder(method.setting))
    state = free_state(rest)
    measured = form_of(method, "lyapunov", method.call("lyapunov", state, recorder))
    system = linear_system(recorder, state, step(method, state, recorder, rest))
    return _chained(recorder, system, system, (measured, measured), 1)


def _found_factor(method: Method, performance: str | None) -> float:
    """The least factor of a function that AutoLyap finds, of the answers of a step and at the places of the state."""
    recorder, rest = Recorder(method.setting), fixed_point(method, Recorder(method.setting))
    state = free_state(rest)
    _ask_at_places(recorder, state, rest)
    measured, _ = measured_below(method, state, recorder, rest, performance)
    system = linear_system(recorder, state, step(method, state, recorder, rest))
    return _bisected(recorder, system, measured)


def _after(method: Method, steps: int, asked: Asked) -> float:
    """What is measured after some steps, by functions V_0, …, V_N of which none is larger than the one before."""
    if steps < 1:
        raise MethodError("it needs a step")
    recorder, rest = Recorder(method.setting), fixed_point(method, Recorder(method.setting))
    state = free_state(rest)
    unheard = Recorder(method.setting)
    start(method, unheard, rest)
    if any(unheard.asked):
        _ask_at_places(recorder, state, rest)
    before, _ = first_measured(method, state, recorder, rest, asked.initial)
    if (asked.performance or method.word("performance")) == LEAST_GRADIENT:
        raise MethodError("it measures no least of several")
    # Only the last state is known by the names of `state`: what is measured at others is refused.
    others = [_renamed(state, number) for number in range(steps)]
    afters, _ = last_measured(method, [*others, state], recorder, rest, asked.performance)
    if len(afters) != 1:
        raise MethodError("it measures no least of several")
    system = linear_system(recorder, state, step(method, state, recorder, rest))
    first = begun(system, method, recorder, rest)
    return _chained(recorder, system, first, (before, afters[0]), steps)


def _ask_at_places(recorder: Recorder, state: State, rest: State) -> None:
    """The gradients of every worker at every place of the state."""
    vectors = dict(entries(state))
    for name, still in entries(rest):
        if still == recorder.minimiser:
            recorder.gradients(vectors[name])


def _chained(
    recorder: Recorder, system: LinearSystem, first: LinearSystem, measured: tuple[Form, Form], steps: int
) -> float:
    """The least c for which there are functions V_0 = c·before, …, V_N = after, none larger than the one before."""
    before, after = measured
    ends = [
        *(own.quadratic(form) for own, form in ((first, before), (system, after))),
        *(own.linear(form) for own, form in ((first, before), (system, after))),
    ]
    said = ""
    for tolerance in TOLERANCES:
        answer = import_module("autolyap").IterationDependent.search_lyapunov(
            _problem(recorder),
            _algorithm(system, first),
            steps,
            *ends,
            solver_options=_options(tolerance, inaccurate=False),
            verbosity=0,
        )
        if answer["status"] == FEASIBLE:
            return float(answer["c_K"])
        said = said or f"not solved: {answer['solve_status']}"
    raise RuntimeError(said)


def _bisected(recorder: Recorder, system: LinearSystem, measured: Form) -> float:
    """AutoLyap's bisection, up to the factor one, two, four and so on."""
    p, linear = system.quadratic(measured), system.linear(measured)
    side = len(p) + sum(system.counts)
    upper, said = 1.0, ""
    while upper <= LARGEST:
        answer = import_module("autolyap").IterationIndependent.LinearConvergence.bisection_search_rho(
            _problem(recorder),
            _algorithm(system, system),
            p,
            numpy.zeros((side, side)),
            linear,
            numpy.zeros(len(linear) + sum(system.counts[: system.worker_count])),
            S_equals_T=True,
            s_equals_t=True,
            remove_C3=True,
            upper_bound=upper,
            tol=float(RESOLUTION),
            # What is not solved counts as infeasible there, so that without rough answers the factor is too large.
            solver_options=_options(TOLERANCES[0], inaccurate=True),
            verbosity=0,
        )
        if answer["status"] == FEASIBLE:
            return float(answer["rho"])
        said = f"{answer['solve_status']}"
        upper *= 2
    raise RuntimeError(f"none up to the factor {LARGEST}: {said}")


def _algorithm(system: LinearSystem, first: LinearSystem) -> Any:
    """The system as AutoLyap's; its first step may be another."""
    base = import_module("autolyap.algorithms").Algorithm
    workers, components = system.worker_count, len(system.counts)

    def matrices(_self: object, number: int) -> tuple[Array, Array, Array, Array]:
        own = system if number else first
        return own.a, own.b, own.c, own.d

    return type("Posed", (base,), {"get_ABCD": matrices})(
        len(system.states),
        components,
        list(system.counts),
        list(range(1, workers + 1)),
        list(range(workers + 1, components + 1)),
    )


def _problem(recorder: Recorder) -> Any:
    """0 ∈ Σ∇f_i(x*), and a compressor for each call, whose answer at rest is 0."""
    setting = recorder.setting
    alone = setting.worker_count == 1 and bool(recorder.compressors)
    at_rest = alone or (setting.worker_count > 1 and setting.common_minimiser)
    workers = [_function(setting, at_rest=at_rest) for _ in range(setting.worker_count)]
    return import_module("autolyap.problemclass").InclusionProblem([*workers, *map(_compressor, recorder.compressors)])


def _function(setting: Setting, *, at_rest: bool) -> list[Any]:
    """AutoLyap's conditions of the class, and those of ours that it has not."""
    functions = setting.functions
    if functions.mu < 0 and setting.worker_count > 1 and not setting.common_minimiser:
        raise MethodError("several non-convex workers with minimisers of their own are not asked of AutoLyap")
    given = {"mu": functions.mu if functions.mu > 0 else None, "L": functions.smoothness}
    numbers = {name: float(value) for name, value in given.items() if value is not None}
    if numbers.get("mu") == numbers.get("L", float("inf")):
        raise MethodError("it needs mu < smoothness")
    found = [getattr(import_module("autolyap.problemclass"), CLASSES[functions.name])(**numbers)]
    own: list[tuple[Any, ...]] = []
    if functions.mu < 0:
        lowest = numpy.diag([0, 0, 1 / (2 * numbers["L"]), 0])
        own.append((lowest, numpy.array([-1.0, 1.0]), False))
    if at_rest:
        own += [(matrix, numpy.zeros(2), True) for matrix in _zero_at_rest(moved=True)]
    return [*found, _condition("_FunctionInterpolationCondition", own)] if own else found


def _compressor(epsilon: Fraction) -> Any:
    """‖u − y‖² ≤ ε‖y‖², and an answer 0 at rest, an equation as two inequalities."""
    contraction = _products({(0, 0): 1 - float(epsilon), (0, 2): -2.0, (2, 2): 1.0})
    equations = [(sign * matrix,) for matrix in _zero_at_rest(moved=False) for sign in (1, -1)]
    return _condition("_OperatorInterpolationCondition", [(contraction,), *equations])


def _zero_at_rest(*, moved: bool) -> list[Array]:
    """What is zero if u* is: ‖u*‖², ⟨u*, u⟩, and ⟨u*, y − x*⟩ of a place or ⟨u*, y⟩ of a direction.

    ‖u*‖² ≤ 0 alone would say as much, but its multiplier may have to be infinite, where a solver gives up.
    """
    place = {(0, 3): 1.0, (1, 3): -1.0} if moved else {(0, 3): 1.0}
    return [_products(own) for own in ({(3, 3): 1.0}, {(2, 3): 1.0}, place)]


def _condition(base: str, data: list[tuple[Any, ...]]) -> Any:
    """What is ≤ 0 (or = 0) for each answer u at y, and the answer u* at x*: a form of (y, x*, u, u*), and of values."""
    each = import_module("autolyap.problemclass.indices")._InterpolationIndices("r1!=star")
    kind = getattr(import_module("autolyap.problemclass.base"), base)
    return type("Own", (kind,), {"get_data": lambda _self: [(*own, each) for own in data]})()


def _products(coefficients: Mapping[tuple[int, int], float]) -> Array:
    """The symmetric matrix of a form of (y, x*, u, u*)."""
    found = numpy.zeros((4, 4))
    for (left, right), value in coefficients.items():
        found[left, right] += value / 2
        found[right, left] += value / 2
    return found


def _options(tolerance: float, *, inaccurate: bool) -> Any:
    """Clarabel through cvxpy; MOSEK is not needed."""
    names = ("tol_feas", "tol_gap_abs", "tol_gap_rel")
    return import_module("autolyap").SolverOptions(
        backend="cvxpy",
        cvxpy_solver="CLARABEL",
        cvxpy_solver_params=dict.fromkeys(names, tolerance),
        cvxpy_accept_inaccurate=inaccurate,
    )


def _renamed(state: State, number: int) -> State:
    def other(vector: Vector) -> Vector:
        return Vector({f"{name} of step {number}": share for name, share in vector.coefficients.items()})

    return State(
        {
            name: [other(each) for each in value] if isinstance(value, list) else other(value)
            for name, value in state.items()
        }
    )


@contextmanager
def _said() -> Iterator[None]:
    """AutoLyap's refusals as errors of ours, and without the warnings of inaccurate answers, which are not taken.

    Raises:
        RuntimeError: AutoLyap or its solver failed.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            yield
    except (MethodError, RuntimeError):
        raise
    except Exception as error:
        raise RuntimeError(f"it fails: {error}") from error
