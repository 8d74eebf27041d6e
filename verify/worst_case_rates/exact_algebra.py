"""Linear algebra in fractions: common kernels, linear equations, positive semidefinite matrices. Ours."""

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
            rest = {
                names[pivot]: -entry
                for row, pivot in zip(reduced, pivots, strict=True)
                for place, entry in row
                if place == column
            }
            found.append({name: Fraction(1), **rest})
    return found


class Completion:
    """Linear equations, solved for some of their unknowns once and for all.

    Args:
        equations: coefficients by unknown, and the right side.
        order: the unknowns, those first that may move.
    """

    def __init__(self, equations: Sequence[tuple[Mapping[str, Fraction], Fraction]], order: Sequence[str]) -> None:
        used = {name for coefficients, _ in equations for name in coefficients}
        self.names = [name for name in order if name in used]
        rows = [[coefficients.get(name, 0) for name in self.names] + [right] for coefficients, right in equations]
        self._rows, self._pivots = _reduced(rows) if rows else ([], [])

    @property
    def solvable(self) -> bool:
        """False iff the equations contradict each other."""
        return not self._pivots or self._pivots[-1] < len(self.names)

    def at(self, guess: Mapping[str, Fraction]) -> dict[str, Fraction]:
        """The solution in which all unknowns but the pivots are as guessed."""
        solution = dict(guess)
        for row, pivot in zip(self._rows, self._pivots, strict=True):
            rest = sum(
                (entry * solution[self.names[column]] for column, entry in row if pivot < column < len(self.names)),
                Fraction(0),
            )
            right = next((entry for column, entry in row if column == len(self.names)), Fraction(0))
            solution[self.names[pivot]] = right - rest
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


def _reduced(rows: Sequence[Sequence[Fraction | int]]) -> tuple[list[list[tuple[int, Fraction]]], list[int]]:
    """The reduced row echelon form, each row as its entries that are not zero by column, and the columns of pivots."""
    entries = [flint.fmpq(entry.numerator, entry.denominator) if entry else 0 for row in rows for entry in row]
    matrix, rank = flint.fmpq_mat(len(rows), len(rows[0]), entries).rref()
    width = len(rows[0])
    table = matrix.entries()
    found = [
        [
            (column, Fraction(int(entry.p), int(entry.q)))
            for column, entry in enumerate(table[row * width : (row + 1) * width])
            if entry != 0
        ]
        for row in range(rank)
    ]
    return found, [row[0][0] for row in found]
