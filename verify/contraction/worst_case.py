"""Which vector of a class does Top-k serve worst? The answer of a linear programme, with its dual multipliers.

The relative error tail/total is a linear-fractional function of the squares v, and every hypothesis here is a cone A v
≥ 0. Scaling v changes nothing, so the normalisation Σ v = 1 (Charnes and Cooper 1962) leaves a linear programme:
maximise Σ_{i>k} v_i subject to Σ v = 1, A v ≥ 0, v ≥ 0. The multipliers become exact in
`verify/contraction/certificates.py`.
"""

import math
from collections.abc import Iterable, Sequence

import cvxpy
import numpy
from numpy.typing import NDArray

from sparsync.verify.contraction.solution import SOLVER_TOLERANCE, WorstCase

SOLVERS: dict[str, dict[str, float]] = {
    # Interior points: both gaps and the feasibility are relative.
    cvxpy.CLARABEL: {
        "tol_gap_abs": SOLVER_TOLERANCE,
        "tol_gap_rel": SOLVER_TOLERANCE,
        "tol_feas": SOLVER_TOLERANCE,
    },
    # Simplex: an optimal basis, feasible in absolute terms.
    cvxpy.HIGHS: {
        "primal_feasibility_tolerance": SOLVER_TOLERANCE,
        "dual_feasibility_tolerance": SOLVER_TOLERANCE,
    },
}
"""Options of each solver by its name in cvxpy; the first is the default, the second a second opinion."""

Rows = NDArray[numpy.float64]
"""A [rows, d]: the hypotheses A v ≥ 0."""


def worst_cases(rows: Rows, counts: Iterable[int], *, solver: str = cvxpy.CLARABEL) -> tuple[WorstCase, ...]:
    """Solve the programme for each k; it is compiled once.

    Args:
        rows: A [rows, d].
        counts: the values of k, each in 1..d.
        solver: key of `SOLVERS`.

    Raises:
        ValueError: a count is out of range.
        RuntimeError: the solver's status is anything but "optimal".
    """
    dimension = rows.shape[1]
    squares = cvxpy.Variable(dimension)
    tail = cvxpy.Parameter(dimension)
    shape = cvxpy.Constant(rows) @ squares >= 0
    constraints = [cvxpy.Constant(numpy.ones(dimension)) @ squares == 1, shape, squares >= 0]
    problem = cvxpy.Problem(cvxpy.Maximize(tail @ squares), constraints)
    return tuple(
        _solve(problem, tail=tail, squares=squares, shape=shape, count=count, solver=solver) for count in counts
    )


def star_rows(weights: Sequence[float]) -> Rows:
    """v_i w_{i+1}/w_i − v_{i+1} ≥ 0: v_i/w_i is non-increasing. Divided by w_i, so that entries lie in [−1, 1].

    Raises:
        ValueError: a weight other than the last is not positive, or the weights increase.
    """
    scales = numpy.asarray(weights, dtype=numpy.float64)
    if bool((scales[:-1] <= 0).any()) or bool((numpy.diff(scales) > 0).any()):
        raise ValueError(f"weights must be non-increasing and positive but for the last, got {list(weights)}")
    rows = numpy.zeros((max(len(scales) - 1, 1), len(scales)))
    for row in range(len(scales) - 1):
        rows[row, row], rows[row, row + 1] = scales[row + 1] / scales[row], -1.0
    return rows


def power_weights(dimension: int, *, shape: float, offset: int) -> tuple[float, ...]:
    """w_i = (d + offset − i)^(2/p) for the shape exponent p = shape; p = ∞ gives 1 throughout.

    Args:
        dimension: d.
        shape: p > 0, possibly `math.inf`.
        offset: 1 for a line that reaches zero one past the end, 0 for one that reaches it at the last rank.

    Raises:
        ValueError: shape is not positive or offset is neither 0 nor 1.
    """
    if not shape > 0 or offset not in (0, 1):
        raise ValueError(f"shape must be positive and offset 0 or 1, got {shape} and {offset}")
    exponent = 0.0 if math.isinf(shape) else 2.0 / shape
    return tuple(float(dimension + offset - rank) ** exponent for rank in range(1, dimension + 1))


def below_line_rows(dimension: int) -> Rows:
    """v non-increasing and v_i ≤ (1 − (i − 1)/d) v_1: below the zero-based reference line, and nothing more."""
    line = 1.0 - numpy.arange(dimension) / dimension
    below = -numpy.eye(dimension)[1:]
    below[:, 0] = line[1:]
    return numpy.vstack((below, _decreasing_rows(dimension)))


def convex_rows(dimension: int) -> Rows:
    """v non-increasing and v_i − 2 v_{i+1} + v_{i+2} ≥ 0: convex in rank, and nothing about its end."""
    second = numpy.diff(numpy.eye(dimension), n=2, axis=0)
    return numpy.vstack((second, _decreasing_rows(dimension)))


def _decreasing_rows(dimension: int) -> Rows:
    return -numpy.diff(numpy.eye(dimension), axis=0)


def _solve(
    problem: cvxpy.Problem,
    *,
    tail: cvxpy.Parameter,
    squares: cvxpy.Variable,
    shape: cvxpy.Constraint,
    count: int,
    solver: str,
) -> WorstCase:
    dimension = squares.shape[0]
    if not 1 <= count <= dimension:
        raise ValueError(f"count must be between 1 and {dimension}, got {count}")
    tail.value = (numpy.arange(dimension) >= count).astype(numpy.float64)
    problem.solve(  # type: ignore[no-untyped-call]  # cvxpy leaves this method without annotations
        solver=solver,
        **SOLVERS[solver],
    )
    if problem.status != cvxpy.OPTIMAL:
        raise RuntimeError(f"the solver's status is {problem.status!r}, not {cvxpy.OPTIMAL!r}, at k = {count}")
    return WorstCase(
        count=count,
        optimum=_floats(problem.value)[0],
        squares=_floats(squares.value),
        multipliers=_floats(shape.dual_value),
        status=str(problem.status),
    )


def _floats(values: object) -> tuple[float, ...]:
    return tuple(numpy.asarray(values, dtype=numpy.float64).reshape(-1).tolist())
