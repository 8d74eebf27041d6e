"""Linear algebra in fractions: common kernels, linear equations, and whether a matrix is positive semidefinite. Ours."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import flint

from sparsync.verify.worst_case_rates.vectors import Form

Matrix = list[list[Fraction]]
"""Rows of fractions."""


def gram_matrix(form: Form, names: Sequence[str]) -> Matrix:
    """The symmetric matrix of a form over named vectors."""
    place = {name: number for number, name in enumerate(names)}
    matrix = [[Fraction(0)] * len(names) for _ in names]
    for (left, right), value in form.products.items():
        row, column = place[left], place[right]
        matrix[row][column] += value / 2
        matrix[column][row] += value / 2
    return matrix


def common_kernel(forms: Iterable[Form], names: Sequence[str]) -> list[dict[str, Fraction]]:
    """A basis of the combinations of the names' coordinates that change no form, each with a pivot of its own."""
    rows: set[tuple[tuple[str, Fraction], ...]] = set()
    for form in forms:
        by_name: dict[str, dict[str, Fraction]] = {}
        for (left, right), value in form.products.items():
            by_name.setdefault(left, {})
            by_name.setdefault(right, {})
            by_name[left][right] = by_name[left].get(right, Fraction(0)) + value
            by_name[right][left] = by_name[right].get(left, Fraction(0)) + value
        rows |= {tuple(sorted(row.items())) for row in by_name.values()}
    place = {name: number for number, name in enumerate(names)}
    if not rows:
        return [{name: Fraction(1)} for name in names]
    dense = []
    for row in rows:
        line = [Fraction(0)] * len(names)
        for name, value in row:
            line[place[name]] = value
        dense.append(line)
    reduced, pivots = _reduced(dense)
    found = []
    for column, name in enumerate(names):
        if column not in pivots:
            vector = {name: Fraction(1)}
            for row, pivot in enumerate(pivots):
                if reduced[row][column]:
                    vector[names[pivot]] = -reduced[row][column]
            found.append(vector)
    return found


def completed(
    equations: Sequence[tuple[Mapping[str, Fraction], Fraction]], guess: Mapping[str, Fraction], order: Sequence[str]
) -> dict[str, Fraction] | None:
    """A solution of linear equations in which all unknowns but some early ones of the order are as guessed.

    Args:
        equations: coefficients by unknown, and the right side.
        guess: a value of every unknown.
        order: the unknowns, those first that may move.

    Returns:
        the solution, or None if there is none.
    """
    solution = dict(guess)
    if not equations:
        return solution
    used = [name for name in order if any(name in coefficients for coefficients, _ in equations)]
    rows = [[coefficients.get(name, Fraction(0)) for name in used] + [right] for coefficients, right in equations]
    reduced, pivots = _reduced(rows)
    if pivots and pivots[-1] == len(used):
        return None
    for row, pivot in enumerate(pivots):
        rest = (
            reduced[row][column] * solution[used[column]]
            for column in range(pivot + 1, len(used))
            if reduced[row][column]
        )
        solution[used[pivot]] = reduced[row][-1] - sum(rest, Fraction(0))
    return solution


def is_positive_semidefinite(matrix: Sequence[Sequence[Fraction]]) -> bool:
    """LDLᵀ: every pivot is ≥ 0, and where a pivot is zero the rest of its row is zero as well."""
    rest: list[list[Any]] = [[flint.fmpq(entry.numerator, entry.denominator) for entry in row] for row in matrix]
    while rest:
        pivot, *row = rest[0]
        if pivot < 0 or (pivot == 0 and any(entry != 0 for entry in row)):
            return False
        rest = [
            [entry - left * right / pivot for entry, right in zip(following[1:], row, strict=True)]
            if pivot != 0 and left != 0
            else following[1:]
            for following, left in zip(rest[1:], row, strict=True)
        ]
    return True


def _reduced(rows: Sequence[Sequence[Fraction]]) -> tuple[Matrix, list[int]]:
    """The reduced row echelon form without its rows of zeros, and the columns of its pivots."""
    entries = [flint.fmpq(entry.numerator, entry.denominator) for row in rows for entry in row]
    matrix, rank = flint.fmpq_mat(len(rows), len(rows[0]), entries).rref()
    found = [
        [Fraction(int(matrix[row, column].p), int(matrix[row, column].q)) for column in range(len(rows[0]))]
        for row in range(rank)
    ]
    pivots = [next(column for column, entry in enumerate(row) if entry) for row in found]
    return found, pivots
