"""How does a solver's answer become a proof? By rounding what lies inside, after the forced zeros are made exact.

Where a solution has room on all sides, any rational point nearby that solves the equations is one. Where a matrix is
singular in every solution, what the solver finds dual to it says in which directions; made rational, they become
equations, and what is left has room. (Facial reduction: Borwein and Wolkowicz 1981; rounding: Peyrl and Parrilo 2008.)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy
from numpy.typing import NDArray

from sparsync.verify.worst_case_rates.exact_algebra import Completion
from sparsync.verify.worst_case_rates.programmes import Solution, SolverError, most_inner
from sparsync.verify.worst_case_rates.systems import Equation, Sum, System
from sparsync.verify.worst_case_rates.vectors import Form

ROOM = 1e-7
"""The least distance from the boundary, in units of the scaled unknowns, at which rounding is tried."""
MOST_FACES = 8
"""How often forced zeros are looked for."""
CERTAIN = 1e-4
"""What is dual to a zero, of a total of one, from which on the zero is taken to be forced."""
LOST = 1e-6
"""How far from the boundary, on the other side, means that there is no solution."""
NEARBY = ((12, 1e-5), (10_000, 1e-6), (12, 2e-3), (1000, 1e-4))
"""The largest denominators of a direction's coordinates, and how far a coordinate may be from its fraction."""
DIGITS = (3, 5, 7, 9, 11, 13)
"""Decimal places that are tried."""

Array = NDArray[numpy.float64]


class NotRoundedError(RuntimeError):
    """No exact solution was found; the message says why."""


def exact_solution(system: System) -> dict[str, Fraction]:
    """Unknowns that solve the system exactly.

    Raises:
        NotRoundedError: none was found.
    """
    reason = "forced zeros were found again and again"
    for face in _faces(system):
        found = _rounded(face.system, face.inner)
        if found is not None:
            solution = {**dict.fromkeys(system.unknowns, Fraction(0)), **found}
            if system.holds(solution):
                return solution
        reason = _reason(face.inner)
    raise NotRoundedError(reason)


def with_room(system: System) -> System:
    """The system with its forced zeros as equations, as far as they are rational; without room solvers fail."""
    last = system
    try:
        for face in _faces(system):
            last = face.system
    except NotRoundedError:
        pass
    return last


@dataclass(frozen=True)
class _Face:
    """A system, some of whose zeros are equations, and its most inner solution."""

    system: System
    inner: Solution


def _faces(system: System) -> Iterator[_Face]:
    """The system, then with the zeros that are forced as equations, until there is room or none are found.

    Raises:
        NotRoundedError: the solver fails.
    """
    try:
        face = _Face(system, most_inner(system))
    except SolverError as error:
        raise NotRoundedError(f"no solution was found inside: {error}") from error
    for _ in range(MOST_FACES):
        yield face
        if not -LOST <= face.inner.objective <= ROOM:
            return
        smaller = _smaller(face)
        if smaller is None:
            return
        face = smaller


def _smaller(face: _Face) -> _Face | None:
    """The face with more zeros as equations; None where none that are rational leave a solution."""
    gone = {name for name, cost in face.inner.costs.items() if cost > CERTAIN}
    for denominator, distance in NEARBY:
        directions = [
            _directions(matrix, own.names, denominator, distance)
            for own, matrix in zip(face.system.sums, face.inner.matrices, strict=True)
        ]
        found = [own for own in directions if own is not None]
        if len(found) == len(directions) and (gone or any(found)):
            system = _restricted(face.system, found, gone)
            try:
                inner = most_inner(system)
            except SolverError:
                continue
            if inner.objective >= -LOST:
                return _Face(system, inner)
    return None


def _rounded(face: System, inner: Solution) -> dict[str, Fraction] | None:
    # The equations move unknowns of any sign first, then the large ones.
    order = sorted(
        face.unknowns, key=lambda name: (name in face.nonnegative, -abs(inner.values[name]), face.unknowns.index(name))
    )
    completion = Completion(face.equations, order)
    if not completion.solvable:
        return None
    for digits in DIGITS:
        scale = 10**digits
        guess = {name: Fraction(round(value * scale), scale) for name, value in inner.values.items()}
        found = completion.at(guess)
        if face.holds(found):
            return found
    return None


def _restricted(system: System, directions: Sequence[Sequence[Mapping[str, Fraction]]], gone: set[str]) -> System:
    """The system whose matrices send the directions to zero, without some unknowns."""
    equations: list[Equation] = list(system.equations)
    sums = []
    for own, each in zip(system.sums, directions, strict=True):
        for direction in each:
            equations += _vanishing(own, direction)
        pivots = {next(iter(direction)) for direction in each}
        names = tuple(name for name in own.names if name not in pivots)
        terms = {name: term for name, term in own.terms.items() if name not in gone}
        sums.append(replace(own, names=names, terms=terms))
    kept = tuple(
        ({name: value for name, value in coefficients.items() if name not in gone}, right)
        for coefficients, right in equations
    )
    unknowns = tuple(name for name in system.unknowns if name not in gone)
    return System(unknowns, system.nonnegative - gone, tuple(sums), kept, system.units)


def _directions(
    matrix: Array, names: tuple[str, ...], denominator: int, distance: float
) -> list[dict[str, Fraction]] | None:
    """Rational directions that span what a dual matrix weighs, each with a pivot that is 1 there and 0 in the others.

    Args:
        matrix: the dual matrix.
        names: of its rows.
        denominator: the largest of a coordinate.
        distance: how far a coordinate may be from its fraction, or there are no directions.
    """
    if not names:
        return []
    weights, vectors = numpy.linalg.eigh((matrix + matrix.T) / 2)
    rows = vectors.T[weights > CERTAIN].copy()
    pivots: list[int] = []
    for row in range(len(rows)):
        column = int(numpy.argmax(abs(rows[row])))
        rows[row] /= rows[row, column]
        for other in range(len(rows)):
            if other != row:
                rows[other] -= rows[other, column] * rows[row]
        pivots.append(column)
    exact = [[Fraction(float(entry)).limit_denominator(denominator) for entry in row] for row in rows]
    if abs(numpy.array(exact, dtype=float).reshape(rows.shape) - rows).max(initial=0.0) > distance:
        return None
    return [
        {names[pivot]: Fraction(1)}
        | {names[place]: value for place, value in enumerate(row) if value and place != pivot}
        for row, pivot in zip(exact, pivots, strict=True)
    ]


def _vanishing(own: Sum, direction: Mapping[str, Fraction]) -> list[Equation]:
    """The matrix of the sum sends the direction to zero."""

    def image(form: Form) -> dict[str, Fraction]:
        found: dict[str, Fraction] = {}
        for (left, right), value in form.products.items():
            for name, other in ((left, right), (right, left)):
                if other in direction and name in own.names:
                    found[name] = found.get(name, Fraction(0)) + value * direction[other]
        return found

    known = image(own.constant)
    images = {name: image(term) for name, term in own.terms.items()}
    return [
        (
            {name: column[row] for name, column in images.items() if column.get(row)},
            -known.get(row, Fraction(0)),
        )
        for row in own.names
    ]


def _reason(inner: Solution) -> str:
    if inner.objective < -LOST:
        return f"there is no solution: the best violates a condition by {-inner.objective:.1e}"
    if inner.objective > ROOM:
        return f"no rational point nearby solves the equations (room {inner.objective:.1e})"
    return "every solution lies on a boundary whose directions are not rational, or not known well enough"
