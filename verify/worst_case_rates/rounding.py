"""How does a solver's answer become a proof? By rounding what lies inside, after the forced zeros are made exact.

Where a solution has room on all sides, any rational point nearby that solves the equations is one. Where a matrix is
singular in every solution, what the solver finds dual to it says in which directions; made rational, they become
equations, and what is left has room. (Facial reduction: Borwein and Wolkowicz 1981; rounding: Peyrl and Parrilo 2008.)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

import numpy
from numpy.typing import NDArray

from sparsync.verify.worst_case_rates.exact_algebra import completed, gram_matrix
from sparsync.verify.worst_case_rates.programmes import Solution, SolverError, most_inner
from sparsync.verify.worst_case_rates.systems import Equation, Sum, System
from sparsync.verify.worst_case_rates.vectors import Form

ROOM = 1e-7
"""The least distance from the boundary, in units of the scaled unknowns, at which rounding is tried."""
MOST_FACES = 8
"""How often forced zeros are looked for."""
CERTAIN = 1e-4
"""What is dual to a zero, of a total of one, from which on the zero is taken to be forced."""
NEARBY = ((12, 2e-3), (1000, 1e-4))
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
    face, zeros = system, set[str]()
    for _ in range(MOST_FACES):
        if not face.unknowns:
            break
        try:
            inner = most_inner(face)
        except SolverError as error:
            raise NotRoundedError(f"no solution was found inside: {error}") from error
        found = _rounded(face, inner)
        if found is not None:
            solution = {**dict.fromkeys(zeros, Fraction(0)), **found}
            if system.holds(solution):
                return solution
        if inner.objective < -ROOM:
            raise NotRoundedError(f"there is no solution: the best violates a condition by {-inner.objective:.1e}")
        smaller, gone = _face(face, inner)
        if smaller is None:
            raise NotRoundedError(_reason(inner))
        face, zeros = smaller, zeros | gone
    if not face.unknowns:
        solution = dict.fromkeys(zeros, Fraction(0))
        if system.holds(solution):
            return solution
    raise NotRoundedError("forced zeros were found again and again")


def with_room(system: System) -> System:
    """The system with its forced zeros as equations, as far as they are rational: solvers fail where there is no room."""
    face = system
    for _ in range(MOST_FACES):
        try:
            inner = most_inner(face)
        except SolverError:
            return face
        smaller, _ = _face(face, inner) if inner.objective <= ROOM else (None, set())
        if smaller is None:
            return face
        face = smaller
    return face


def _rounded(face: System, inner: Solution) -> dict[str, Fraction] | None:
    # The equations move unknowns of any sign first, then the large ones.
    order = sorted(
        face.unknowns, key=lambda name: (name in face.nonnegative, -abs(inner.values[name]), face.unknowns.index(name))
    )
    for digits in DIGITS:
        scale = 10**digits
        guess = {name: Fraction(round(value * scale), scale) for name, value in inner.values.items()}
        found = completed(face.equations, guess, order)
        if found is not None and face.holds(found):
            return found
    return None


def _face(face: System, inner: Solution) -> tuple[System | None, set[str]]:
    """The system with zeros that are forced, as equations; None where no rational ones were found."""
    gone = {name for name, cost in inner.costs.items() if cost > CERTAIN}
    equations: list[Equation] = list(face.equations)
    sums, changed = [], bool(gone)
    for own, matrix in zip(face.sums, inner.matrices, strict=True):
        directions = _directions(matrix, own.names)
        if directions is None:
            return None, set()
        kept = own
        for direction in directions:
            equations += _vanishing(own, direction)
            pivot = next(iter(direction))
            kept = replace(kept, names=tuple(name for name in kept.names if name != pivot))
            changed = True
        sums.append(kept)
    if not changed:
        return None, set()
    smaller = System(
        tuple(name for name in face.unknowns if name not in gone),
        face.nonnegative - gone,
        tuple(replace(own, terms={name: term for name, term in own.terms.items() if name not in gone}) for own in sums),
        tuple(
            ({name: value for name, value in coefficients.items() if name not in gone}, right)
            for coefficients, right in equations
        ),
    )
    return smaller, gone


def _directions(matrix: Array, names: tuple[str, ...]) -> list[dict[str, Fraction]] | None:
    """Rational directions that span what a dual matrix weighs, each with a pivot that is 1 there and 0 in the others."""
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
    for denominator, distance in NEARBY:
        exact = [[Fraction(float(entry)).limit_denominator(denominator) for entry in row] for row in rows]
        if abs(numpy.array(exact, dtype=float).reshape(rows.shape) - rows).max(initial=0.0) <= distance:
            return [
                {names[pivot]: Fraction(1)}
                | {names[place]: value for place, value in enumerate(row) if value and place != pivot}
                for row, pivot in zip(exact, pivots, strict=True)
            ]
    return None


def _vanishing(own: Sum, direction: Mapping[str, Fraction]) -> list[Equation]:
    """The matrix of the sum sends the direction to zero."""
    columns = [direction.get(name, Fraction(0)) for name in own.names]

    def image(form: Form) -> list[Fraction]:
        restricted = _within(form, own.names)
        return [
            sum((entry * share for entry, share in zip(row, columns, strict=True) if share), Fraction(0))
            for row in gram_matrix(restricted, own.names)
        ]

    known = image(own.constant)
    images = {name: image(term) for name, term in own.terms.items()}
    return [
        ({name: column[row] for name, column in images.items() if column[row]}, -known[row])
        for row in range(len(own.names))
    ]


def _within(form: Form, names: tuple[str, ...]) -> Form:
    inside = set(names)
    return Form({pair: value for pair, value in form.products.items() if inside.issuperset(pair)})


def _reason(inner: Solution) -> str:
    if inner.objective > ROOM:
        return f"no rational point nearby solves the equations (room {inner.objective:.1e})"
    return "every solution lies on a boundary whose directions are not rational, or not known well enough"
