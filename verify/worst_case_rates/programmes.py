"""The numbers of a system, by a solver of semidefinite programmes: the least of an unknown, or the most inner solution.

Every unknown is scaled by the size of its forms before, and back after. A status but "optimal" is an error. Ours.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy
import scipy.sparse
from numpy.typing import NDArray

from sparsync.verify.worst_case_rates.systems import Sum, System
from sparsync.verify.worst_case_rates.vectors import Form

cvxpy: Any = import_module("cvxpy")

SOLVERS = ("CLARABEL", "SCS")
"""The second, a first-order method, is asked for a second opinion only."""
TOLERANCES: dict[str, tuple[float, ...]] = {"CLARABEL": (1e-9, 1e-8, 1e-7, 1e-6), "SCS": (1e-7, 1e-5)}
"""Gap and feasibility asked of each; where the first is out of reach, the next."""
BEST = TOLERANCES["CLARABEL"][0]
"""The tolerance that is wished for."""
SCS_SECONDS = 5.0
"""After which SCS has no opinion."""

Array = NDArray[numpy.float64]


class SolverError(RuntimeError):
    """A solver did not find the optimum.

    Args:
        message: has the status.
        status: cvxpy's word for it.
    """

    def __init__(self, message: str, status: str = "") -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class Solution:
    """A solution in floating point.

    Args:
        objective: the optimum.
        tolerance: gap and feasibility that the solver reached.
        values: by unknown.
        matrices: of each sum, what the solver found dual to its matrix, over `Sum.names`.
        costs: what it found dual to each bound of an unknown, by name.
        duals: what it found dual to each equation, in their order.
    """

    objective: float
    tolerance: float
    values: Mapping[str, float]
    matrices: tuple[Array, ...]
    costs: Mapping[str, float]
    duals: Array


def least(system: System, unknown: str, *, solver: str = "CLARABEL", roughly: bool = False) -> Solution:
    """The solution with the least value of an unknown.

    Args:
        system: what must hold.
        unknown: its name.
        solver: one of `SOLVERS`.
        roughly: also one that the solver calls inaccurate, whose tolerance is infinite.

    Raises:
        SolverError: the status is not "optimal".
    """
    lowered = _Lowered(system)
    z = cvxpy.Variable(len(system.unknowns))
    objective = cvxpy.Minimize(lowered.unscaled(z, unknown))
    return lowered.solved(z, objective, lowered.squares(z), solver, roughly=roughly)


class Line:
    """Systems between two that differ in their coefficients only, such as one for every factor of a rate.

    Args:
        first: the system at 0.
        last: at 1, with the same unknowns, sums and equations.
    """

    def __init__(self, first: System, last: System) -> None:
        self._last = _Lowered(last)
        self._first = _Lowered(first, self._last.sizes)

    def greatest(self, place: float, unknown: str, bounded: Sequence[str]) -> Solution:
        """The solution with the largest value of an unknown at a place, others at most one in magnitude, scaled.

        Raises:
            SolverError: the status is neither "optimal" nor "optimal_inaccurate", whose tolerance is infinite.
        """
        own, first, last = copy(self._last), self._first, self._last
        own.parts = [one + place * (other - one) for one, other in zip(first.parts, last.parts, strict=True)]
        own.equations = first.equations + place * (last.equations - first.equations)
        z = cvxpy.Variable(len(own.system.unknowns))
        places = [own.columns[name] for name in bounded]
        box = [z[places] <= 1, z[places] >= -1]
        objective = cvxpy.Maximize(own.unscaled(z, unknown))
        return own.solved(z, objective, [*own.squares(z), *box], "CLARABEL", roughly=True)


def most_inner(system: System) -> Solution:
    """The solution whose matrices and unknowns ≥ 0 are farthest from the boundary, by t ≤ 1, which is its objective.

    Raises:
        SolverError: the status is not "optimal".
    """
    lowered = _Lowered(system)
    z, distance = cvxpy.Variable(len(system.unknowns)), cvxpy.Variable()
    conditions = [*lowered.squares(z, distance), distance <= 1]
    # What lies inside is checked exactly afterwards, so that it may be rough.
    return lowered.solved(z, cvxpy.Maximize(distance), conditions, "CLARABEL", distance, roughly=True)


class _Lowered:
    """A system as sparse matrices."""

    def __init__(self, system: System, sizes: Array | None = None) -> None:
        self.system = system
        self.sizes = numpy.array([_size(system, name) for name in system.unknowns]) if sizes is None else sizes
        self.columns = {name: place for place, name in enumerate(system.unknowns)}
        self.parts = [self._matrix(own) for own in system.sums]
        self.known = [_row(own.constant, own) for own in system.sums]
        self.equations, self.right = self._equations()

    def unscaled(self, z: Any, unknown: str) -> Any:
        place = self.columns[unknown]
        return z[place] / self.sizes[place]

    def squares(self, z: Any, distance: Any = 0.0) -> list[Any]:
        found = []
        for own, part, known in zip(self.system.sums, self.parts, self.known, strict=True):
            side = len(own.names)
            if side:
                matrix = cvxpy.reshape(part @ z + known, (side, side), order="F")
                found.append(matrix - distance * numpy.eye(side) >> 0)
        return found

    def solved(
        self,
        z: Any,
        objective: Any,
        conditions: list[Any],
        solver: str,
        distance: Any = 0.0,
        *,
        roughly: bool = False,
    ) -> Solution:
        signed = [self.columns[name] for name in self.system.unknowns if name in self.system.nonnegative]
        bounds = [z[signed] >= distance] if signed else []
        equal = [self.equations @ z == self.right] if len(self.right) else []
        programme = cvxpy.Problem(objective, [*conditions, *bounds, *equal])
        tolerance = _solve(programme, solver, roughly=roughly)
        squares = iter(conditions)
        matrices = tuple(
            numpy.asarray(next(squares).dual_value) if own.names else numpy.zeros((0, 0)) for own in self.system.sums
        )
        names = [name for name in self.system.unknowns if name in self.system.nonnegative]
        costs = numpy.atleast_1d(bounds[0].dual_value) if bounds else numpy.zeros(0)
        return Solution(
            objective=float(programme.value),
            tolerance=tolerance,
            values=dict(zip(self.system.unknowns, map(float, z.value / self.sizes), strict=True)),
            matrices=matrices,
            costs=dict(zip(names, map(float, costs), strict=True)),
            duals=numpy.atleast_1d(equal[0].dual_value) if equal else numpy.zeros(0),
        )

    def _matrix(self, own: Sum) -> Any:
        rows: list[int] = []
        columns: list[int] = []
        entries: list[float] = []
        for name, term in own.terms.items():
            column = self.columns[name]
            for row, entry in _entries(term, own):
                rows.append(row)
                columns.append(column)
                entries.append(entry / self.sizes[column])
        shape = (len(own.names) ** 2, len(self.columns))
        return scipy.sparse.csc_matrix((entries, (rows, columns)), shape=shape)

    def _equations(self) -> tuple[Any, Array]:
        count = len(self.system.equations)
        matrix = scipy.sparse.lil_matrix((count, len(self.columns)))
        right = numpy.zeros(count)
        for place, (coefficients, value) in enumerate(self.system.equations):
            scaled = {
                self.columns[name]: float(factor) / self.sizes[self.columns[name]]
                for name, factor in coefficients.items()
            }
            for column, factor in scaled.items():
                matrix[place, column] = factor
            right[place] = float(value)
        return matrix.tocsc(), right


def _solve(programme: Any, solver: str, *, roughly: bool) -> float:
    """Solve to the first tolerance that is reached, and return it."""
    statuses = []
    for tolerance in TOLERANCES[solver]:
        options: dict[str, dict[str, float]] = {
            "CLARABEL": {"tol_gap_abs": tolerance, "tol_gap_rel": tolerance, "tol_feas": tolerance},
            "SCS": {"eps_abs": tolerance, "eps_rel": tolerance, "max_iters": 100_000, "time_limit_secs": SCS_SECONDS},
        }
        try:
            with warnings.catch_warnings():
                # An inaccurate solution is looked at below.
                warnings.simplefilter("ignore", UserWarning)
                programme.solve(solver=solver, **options[solver])
        except cvxpy.error.SolverError:
            statuses.append("failed")
            continue
        if programme.status == cvxpy.OPTIMAL:
            return tolerance
        if roughly and programme.status == cvxpy.OPTIMAL_INACCURATE:
            return float("inf")
        statuses.append(programme.status)
        if programme.status != cvxpy.OPTIMAL_INACCURATE:
            break
    raise SolverError(f"the status of {solver} is {statuses[-1]!r}, not {cvxpy.OPTIMAL!r}", statuses[-1])


def _size(system: System, unknown: str) -> float:
    if unknown in system.units:
        return 1 / system.units[unknown]
    sizes = [float(own.terms[unknown].size()) for own in system.sums if unknown in own.terms]
    return max(sizes, default=1.0)


def _entries(form: Form, own: Sum) -> list[tuple[int, float]]:
    """Where the matrix of a form over the names of its sum is not zero, column by column."""
    place = {name: number for number, name in enumerate(own.names)}
    side, found = len(own.names), []
    for (left, right), value in form.products.items():
        if left in place and right in place:
            row, column = place[left], place[right]
            if row == column:
                found.append((row * side + row, float(value)))
            else:
                found += [(row * side + column, float(value) / 2), (column * side + row, float(value) / 2)]
    return found


def _row(form: Form, own: Sum) -> Array:
    entries = numpy.zeros(len(own.names) ** 2)
    for row, value in _entries(form, own):
        entries[row] += value
    return entries
