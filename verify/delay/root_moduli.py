"""Do all roots of a polynomial lie inside the unit circle? Exactly, by Schur and Cohn, and by certified root balls.

Both decide stability of a linear recursion without knowing where its stability ends. A polynomial is the list of its
coefficients, from the constant to the leading one. Sources: Schur 1917 and Cohn 1922; balls by Arb (Johansson 2017).
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import cast

from flint import acb, arb, fmpq, fmpq_mat, fmpq_poly

Polynomial = Sequence[Fraction]
"""Coefficients, constant first; the last is not zero."""


def delayed_polynomial(*, step: Fraction, delay: int, momentum: Fraction = Fraction(0)) -> list[Fraction]:
    """The characteristic polynomial of x_{t+1} = x_t + β(x_t − x_{t−1}) − a x_{t−τ}."""
    degree = max(delay + 1, 2)
    coefficients = [Fraction(0)] * (degree + 1)
    coefficients[degree] += 1
    coefficients[degree - 1] -= 1 + momentum
    coefficients[degree - 2] += momentum
    coefficients[degree - 1 - delay] += step
    return coefficients


def delayed_matrix_polynomial(
    matrix: Sequence[Sequence[int]], *, step: Fraction, delay: int, momentum: Fraction = Fraction(0)
) -> list[Fraction]:
    """The characteristic polynomial of x_{t+1} = x_t + β(x_t − x_{t−1}) − η A x_{t−τ}, from the block companion matrix.

    Nothing here knows the eigenvalues of A.
    """
    size, degree = len(matrix), max(delay + 1, 2)
    companion = [[Fraction(0)] * (size * degree) for _ in range(size * degree)]
    for row in range(size):
        companion[row][row] += 1 + momentum
        companion[row][size + row] -= momentum
        for column, entry in enumerate(matrix[row]):
            companion[row][size * delay + column] -= step * entry
    for row in range(size, size * degree):
        companion[row][row - size] += 1
    exact = fmpq_mat([[fmpq(entry.numerator, entry.denominator) for entry in row] for row in companion])
    return [Fraction(int(coefficient.p), int(coefficient.q)) for coefficient in exact.charpoly().coeffs()]


def turn_polynomial(*, step: Fraction, worker_count: int, momentum: Fraction) -> list[Fraction]:
    """(z − 1)(zⁿ − β) + (a/n)z, characteristic of n workers that report in turn, each with a heavy ball."""
    coefficients = [Fraction(0)] * (worker_count + 2)
    coefficients[worker_count + 1] += 1
    coefficients[worker_count] -= 1
    coefficients[1] += step / worker_count - momentum
    coefficients[0] += momentum
    return coefficients


def turn_matrix_polynomial(
    matrix: Sequence[Sequence[int]], *, step: Fraction, worker_count: int, momentum: Fraction
) -> list[Fraction]:
    """The characteristic polynomial of one report of each of n workers, in turn: the roots are n-th powers, or 0.

    The state holds the model, every worker's velocity, and the model that every worker has read. Nothing here knows the
    eigenvalues of A, nor that reports in turn make a recursion of their own.
    """
    turn = _identity(len(matrix) * (2 * worker_count + 1))
    for worker in range(worker_count):
        turn = _report(matrix, step=step, worker_count=worker_count, momentum=momentum, worker=worker) * turn
    return [Fraction(int(coefficient.p), int(coefficient.q)) for coefficient in turn.charpoly().coeffs()]


def _report(
    matrix: Sequence[Sequence[int]], *, step: Fraction, worker_count: int, momentum: Fraction, worker: int
) -> fmpq_mat:
    """v ← βv + A r, x ← x − (η/n)v, r ← x for one worker; the blocks are x, the velocities v and the read models r."""
    size = len(matrix)
    velocity, read = size * (1 + worker), size * (1 + worker_count + worker)
    gathered, applied = (_identity(size * (2 * worker_count + 1)) for _ in range(2))
    weight = -step / worker_count
    for row, entries in enumerate(matrix):
        gathered[velocity + row, velocity + row] = fmpq(momentum.numerator, momentum.denominator)
        for column, entry in enumerate(entries):
            gathered[velocity + row, read + column] = fmpq(entry)
        for place in (row, read + row):
            applied[place, place] = fmpq(0)
            applied[place, row] = fmpq(1)
            applied[place, velocity + row] = fmpq(weight.numerator, weight.denominator)
    return applied * gathered


def _identity(size: int) -> fmpq_mat:
    return fmpq_mat([[fmpq(int(row == column)) for column in range(size)] for row in range(size)])


def scaled(polynomial: Polynomial, scale: Fraction) -> list[Fraction]:
    """The polynomial in w = z/scale: its roots are those of the polynomial, divided by the scale."""
    return [coefficient * scale**power for power, coefficient in enumerate(polynomial)]


def is_stable(polynomial: Polynomial) -> bool:
    """True iff every root has modulus < 1, decided in exact arithmetic.

    Schur and Cohn: p is stable iff |p_0| < |p_n| and the polynomial (p_n p(z) − p_0 z^n p(1/z))/z of lower degree is.
    """
    # The numbers grow with every degree; `fmpq` reckons with them many times faster than `Fraction`.
    current = [fmpq(coefficient.numerator, coefficient.denominator) for coefficient in polynomial]
    while len(current) > 1:
        constant, leading = current[0], current[-1]
        if abs(constant) >= abs(leading):
            return False
        reflection = constant / leading
        current = [a - reflection * b for a, b in zip(current, reversed(current), strict=True)][1:]
    return True


def largest_modulus(polynomial: Polynomial) -> arb:
    """A ball that contains the largest modulus of the roots."""
    exact = fmpq_poly([fmpq(coefficient.numerator, coefficient.denominator) for coefficient in polynomial])
    # The library's annotation leaves out that every root comes with its multiplicity.
    roots = cast(list[tuple[acb, int]], exact.complex_roots())
    largest = arb(0)
    for root, _multiplicity in roots:
        largest = largest.max(abs(root))
    return largest
