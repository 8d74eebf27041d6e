"""How fast is one step in the worst case? The performance estimation problem of a method, as a semidefinite programme.

A step is a Gram matrix of its vectors and the values f0, f1. A μ-strongly convex and L-smooth f passes through given
points iff every pair satisfies an interpolation inequality (Taylor, Hendrickx and Glineur 2017, Theorem 4); the
compressor's contraction is one more. The primal maximises V1 at V0 = 1; the dual is the smallest ρ that multipliers ≥ 0
prove, the compressor's included. x* = 0, f* = 0, and g = μx + (L − μ)π keeps the programmes well scaled; μ < L.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import permutations

import cvxpy
import numpy
from numpy.typing import NDArray

SOLVER_TOLERANCES: dict[str, float] = {"CLARABEL": 1e-8, "SCS": 1e-7}
"""Gap and feasibility tolerance asked of each solver; the second is a first-order method."""
SCS_ITERATIONS = 200_000
"""Iterations after which SCS gives up, which is an error."""

Vector = NDArray[numpy.float64]
Matrix = NDArray[numpy.float64]


@dataclass(frozen=True)
class Form:
    """A quadratic form of the basis vectors plus a linear form of the function values.

    Args:
        gram: [vectors, vectors], symmetric.
        values: [2], the coefficients of f0 and f1.
    """

    gram: Matrix
    values: Vector


@dataclass(frozen=True)
class Performance:
    """One step of one method: how the Lyapunov function was and is, and what is known to be ≤ 0.

    Args:
        before: V0.
        after: V1.
        constraints: the interpolation inequalities and the compressor's, by name; each form is ≤ 0.
    """

    before: Form
    after: Form
    constraints: Mapping[str, Form]


@dataclass(frozen=True)
class Solution:
    """The solution of one programme, in floating point.

    Args:
        rate: the optimum.
        multipliers: one per constraint, ≥ 0.
        worst_case: [vectors, vectors], a Gram matrix that attains the rate.
        slack: [vectors, vectors], ρ V0 − V1 + Σ λ Q + ν B.
        values: f0 and f1 in the worst case.
        solver: key in `SOLVER_TOLERANCES`.
    """

    rate: float
    multipliers: Mapping[str, float]
    worst_case: Matrix
    slack: Matrix
    values: Vector
    solver: str

    @property
    def tolerance(self) -> float:
        """How far the rate may be from the truth, by the solver's stopping rule.

        Each constraint of a programme is violated by at most tol·(|right side| + |variables| + |slacks|) ≤ 3·tol·size,
        in maximum norms, which moves the optimum by that times the sum of the other programme's solution; the gap
        between the two adds tol·(1 + ρ).
        """
        here = (1.0, *numpy.abs(self.worst_case).flat, *numpy.abs(self.values))
        there = (1.0, self.rate, *self.multipliers.values(), *numpy.abs(self.slack).flat)
        violations = 3.0 * (max(here) * sum(there) + max(there) * sum(here))
        return float(SOLVER_TOLERANCES[self.solver] * (violations + 1.0 + self.rate))


def error_feedback(*, mu: float, smoothness: float, root_epsilon: float, step_size: float) -> Performance:
    """x⁺ = x − C(v), e⁺ = v − C(v) = s w with v = e + ηg; V = ‖x − e‖² + ‖e‖²/s; basis (x0, e0, w, π0)."""
    x, e, w, slope = numpy.eye(4)
    g = mu * x + (smoothness - mu) * slope
    sent = e + step_size * g
    constraints = interpolation({"*": (0 * x, 0 * g), "0": (x, g)}, mu=mu, smoothness=smoothness)
    constraints["compressor"] = _form(_square(w) - _square(sent))
    return Performance(
        before=_form(_square(x - e) + _square(e) / root_epsilon),
        after=_form(_square(x - sent) + root_epsilon * _square(w)),
        constraints=constraints,
    )


def error_feedback_21(*, mu: float, smoothness: float, root_epsilon: float, step_size: float) -> Performance:
    """x⁺ = x − ηd, g⁺ − d⁺ = s w; V = ‖g − d‖²/s + ‖g‖²; basis (ηd0, w, g0, π1 − π0); only x0 − x1 = ηd0 matters."""
    move, w, g, slope = numpy.eye(4)
    d, following = move / step_size, g - mu * move - (smoothness - mu) * slope
    constraints = interpolation({"0": (move, g), "1": (0 * move, following)}, mu=mu, smoothness=smoothness)
    constraints["compressor"] = _form(_square(w) - _square(following - d))
    return Performance(
        before=_form(_square(g - d) / root_epsilon + _square(g)),
        after=_form(root_epsilon * _square(w) + _square(following)),
        constraints=constraints,
    )


def error_feedback_workers(
    *, mu: float, smoothness: float, root_epsilon: float, step_size: float, count: int
) -> Performance:
    """Workers with functions of their own and one minimiser; V = Σ‖x − e_i‖² + ‖Σ e_i‖²/(ns)."""
    x, *rest = numpy.eye(1 + 3 * count)
    memories, kept, slopes = (numpy.array(rest[part::3]) for part in range(3))
    corrected = memories + step_size * (mu * x + (smoothness - mu) * slopes)
    end = x - (corrected - root_epsilon * kept).mean(axis=0)
    return Performance(
        before=_feedback_value(x, memories, root_epsilon=root_epsilon),
        after=_feedback_value(end, root_epsilon * kept, root_epsilon=root_epsilon),
        constraints=_worker_constraints(x, slopes, kept=kept, whole=corrected),
    )


def error_feedback_21_workers(
    *, mu: float, smoothness: float, root_epsilon: float, step_size: float, count: int
) -> Performance:
    """Workers with any functions and any minimisers; V = Σ‖g_i − d_i‖²/s + ‖Σ g_i‖²/n."""
    rest = numpy.eye(4 * count)
    moves, kept, gradients, slopes = (rest[part::4] for part in range(4))
    move, estimates = moves.mean(axis=0), moves / step_size
    following = gradients - mu * move - (smoothness - mu) * slopes
    return Performance(
        before=_feedback_21_value(gradients, gradients - estimates, root_epsilon=root_epsilon),
        after=_feedback_21_value(following, root_epsilon * kept, root_epsilon=root_epsilon),
        constraints=_worker_constraints(move, slopes, kept=kept, whole=following - estimates),
    )


def compressed_descent(*, mu: float, smoothness: float, root_epsilon: float, step_size: float) -> Performance:
    """x⁺ = x − ηC(g), C(g) = g + s w; V = f − f*, in the basis (x0, w, π0, π1)."""
    problem = descent_step(mu=mu, smoothness=smoothness, root_epsilon=root_epsilon, step_size=step_size)
    nothing = numpy.zeros((4, 4))
    return Performance(
        before=Form(nothing, numpy.array([1.0, 0.0])),
        after=Form(nothing, numpy.array([0.0, 1.0])),
        constraints=problem.constraints,
    )


def descent_step(*, mu: float, smoothness: float, root_epsilon: float, step_size: float) -> Performance:
    """The same step with V = ‖x − x*‖²."""
    x, w, slope, following_slope = numpy.eye(4)
    g = mu * x + (smoothness - mu) * slope
    end = x - step_size * (g + root_epsilon * w)
    following = mu * end + (smoothness - mu) * following_slope
    points = {"*": (0 * x, 0 * g), "0": (x, g), "1": (end, following)}
    constraints = interpolation(points, mu=mu, smoothness=smoothness)
    constraints["compressor"] = _form(_square(w) - _square(g))
    return Performance(before=_form(_square(x)), after=_form(_square(end)), constraints=constraints)


def interpolation(points: Mapping[str, tuple[Vector, Vector]], *, mu: float, smoothness: float) -> dict[str, Form]:
    """f_j − f_i + ⟨g_j, x_i − x_j⟩ + ‖g_i − g_j‖²/2L + ‖x_i − x_j − (g_i − g_j)/L‖² μ/(2(1 − μ/L)) ≤ 0, by "i,j".

    Source: Taylor, Hendrickx and Glineur 2017, Theorem 4.
    """
    return {
        f"{first},{second}": _interpolation(first, second, points, mu=mu, smoothness=smoothness)
        for first, second in permutations(points, 2)
    }


def primal(problem: Performance, *, solver: str = "CLARABEL") -> Solution:
    """The largest V1 with V0 = 1.

    Raises:
        RuntimeError: the solver's status is anything but "optimal".
    """
    gram = cvxpy.Variable(problem.before.gram.shape, symmetric=True)
    values = cvxpy.Variable(2)

    def evaluate(form: Form) -> cvxpy.Expression:
        inner_product: cvxpy.Expression = (gram @ form.gram).trace() + form.values @ values
        return inner_product

    known = {name: evaluate(form) <= 0 for name, form in problem.constraints.items()}
    semidefinite = gram >> 0
    constraints = [evaluate(problem.before) == 1, *known.values(), semidefinite]
    rate = _optimum(cvxpy.Problem(cvxpy.Maximize(evaluate(problem.after)), constraints), solver)
    return Solution(
        rate=rate,
        multipliers={name: float(_array(constraint.dual_value)) for name, constraint in known.items()},
        worst_case=_array(gram.value),
        slack=_array(semidefinite.dual_value),
        values=_array(values.value),
        solver=solver,
    )


def dual(problem: Performance, *, solver: str = "CLARABEL") -> Solution:
    """The smallest ρ that multipliers ≥ 0 prove: the slack is positive semidefinite and the function values cancel.

    Raises:
        RuntimeError: the solver's status is anything but "optimal".
    """
    rate = cvxpy.Variable()
    multipliers = {name: cvxpy.Variable(nonneg=True) for name in problem.constraints}
    slack = rate * problem.before.gram - problem.after.gram
    values = rate * problem.before.values - problem.after.values
    for name, form in problem.constraints.items():
        slack += multipliers[name] * form.gram
        values += multipliers[name] * form.values
    semidefinite, cancelled = slack >> 0, values == 0
    optimum = _optimum(cvxpy.Problem(cvxpy.Minimize(rate), [semidefinite, cancelled]), solver)
    return Solution(
        rate=optimum,
        multipliers={name: float(_array(variable.value)) for name, variable in multipliers.items()},
        worst_case=_array(semidefinite.dual_value),
        slack=_array(slack.value),
        values=_array(cancelled.dual_value),
        solver=solver,
    )


def _optimum(programme: cvxpy.Problem, solver: str) -> float:
    tolerance = SOLVER_TOLERANCES[solver]
    options: dict[str, dict[str, float]] = {
        "CLARABEL": {"tol_gap_abs": tolerance, "tol_gap_rel": tolerance, "tol_feas": tolerance},
        "SCS": {"eps_abs": tolerance, "eps_rel": tolerance, "max_iters": SCS_ITERATIONS},
    }
    programme.solve(solver=solver, **options[solver])  # type: ignore[no-untyped-call]  # not annotated by cvxpy
    if programme.status != cvxpy.OPTIMAL:
        raise RuntimeError(f"the status of {solver} is {programme.status!r}, not {cvxpy.OPTIMAL!r}")
    return float(_array(programme.value))


def _array(value: object) -> Matrix:
    return numpy.asarray(value, dtype=numpy.float64)


def _interpolation(
    first: str, second: str, points: Mapping[str, tuple[Vector, Vector]], *, mu: float, smoothness: float
) -> Form:
    (x_first, g_first), (x_second, g_second) = points[first], points[second]
    move, change = x_first - x_second, g_first - g_second
    gram = (
        _product(g_second, move)
        + _square(change) / (2 * smoothness)
        + mu / (2 * (1 - mu / smoothness)) * _square(move - change / smoothness)
    )
    values = numpy.array([float(second == name) - float(first == name) for name in ("0", "1")])
    return Form(gram, values)


def _worker_constraints(move: Vector, slopes: Matrix, *, kept: Matrix, whole: Matrix) -> dict[str, Form]:
    """‖2Δπ_i − Δx‖² ≤ ‖Δx‖², which is all that two points say if no value is measured, and ‖w_i‖² ≤ ‖v_i‖²."""
    pairs = {f"pair {worker}": _form(_square(2 * slope - move) - _square(move)) for worker, slope in enumerate(slopes)}
    contractions = {
        f"compressor {worker}": _form(_square(small) - _square(large))
        for worker, (small, large) in enumerate(zip(kept, whole, strict=True))
    }
    return pairs | contractions


def _feedback_value(position: Vector, memories: Matrix, *, root_epsilon: float) -> Form:
    virtual = position - memories
    return _form(virtual.T @ virtual + _square(memories.sum(axis=0)) / (len(memories) * root_epsilon))


def _feedback_21_value(gradients: Matrix, errors: Matrix, *, root_epsilon: float) -> Form:
    return _form(errors.T @ errors / root_epsilon + _square(gradients.sum(axis=0)) / len(gradients))


def _form(gram: Matrix) -> Form:
    return Form(gram, numpy.zeros(2))


def _product(left: Vector, right: Vector) -> Matrix:
    return (numpy.outer(left, right) + numpy.outer(right, left)) / 2


def _square(vector: Vector) -> Matrix:
    return numpy.outer(vector, vector)
