"""What evidence is there for the statements on mixing without a server, besides their derivations?

Matrices multiplied and certified positive semidefinite in exact fractions, groups that average in turn, and mixing
with arbitrary public copies; three workers for all real weights at once. Ours.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from math import prod

import sympy
from flint import fmpq, fmpq_mat
from hypothesis import strategies as st

from sparsync.theory.language.symbols import eta, gradient, gradient_spread, replica_mean
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.delay.late_runs import assumed_share
from sparsync.verify.tight_rates.forms import is_positive_semidefinite
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.tools.properties import Members, property_check
from sparsync.verify.tools.smt import Query, smt_check

LARGEST_SIDE = 6
"""Rows, and columns, up to which the matrices of two rounds are multiplied."""
CERTIFIED_GRIDS = ((2, 1), (2, 2), (3, 2), (2, 3), (3, 3))
"""Grids for which the disagreement is certified for all gradients at once."""

Grid = tuple[int, int]
"""Rows and columns."""
VALUES = st.integers(-8, 8).map(lambda quarters: Fraction(quarters, 4))


def groups(grid: Grid, *, by_rows: bool) -> list[list[int]]:
    """The workers that average with each other in a round."""
    rows, columns = grid
    if by_rows:
        return [[row * columns + column for column in range(columns)] for row in range(rows)]
    return [[row * columns + column for row in range(rows)] for column in range(columns)]


def averaged(values: Sequence[Fraction], grid: Grid, *, by_rows: bool) -> list[Fraction]:
    """The values of all workers after the rows, or the columns, have averaged."""
    return averaged_in(values, groups(grid, by_rows=by_rows))


def averaged_in(values: Sequence[Fraction], parts: Sequence[Sequence[int]]) -> list[Fraction]:
    """The values of all workers after these groups have averaged."""
    mixed = list(values)
    for group in parts:
        mean = sum((values[worker] for worker in group), Fraction(0)) / len(group)
        for worker in group:
            mixed[worker] = mean
    return mixed


def mixing_matrix(grid: Grid, *, by_rows: bool) -> fmpq_mat:
    """The matrix of a round."""
    workers = grid[0] * grid[1]
    matrix = fmpq_mat(workers, workers)
    for group in groups(grid, by_rows=by_rows):
        for reader in group:
            for sender in group:
                matrix[reader, sender] = fmpq(1, len(group))
    return matrix


def product_check(_profile: Profile) -> Outcome:
    """`rational`: every entry of both products is the statement's."""
    grids = [(rows, columns) for rows in range(1, LARGEST_SIDE + 1) for columns in range(1, LARGEST_SIDE + 1)]
    wrong = [list(grid) for grid in grids if not _product_is_stated(grid)]
    return Outcome(earned=not wrong, detail={"grids_count": len(grids), "wrong_grids": wrong[:3]})


def _product_is_stated(grid: Grid) -> bool:
    stated = STATEMENTS["grid_mixing"].fraction(grid_rows=grid[0], grid_columns=grid[1])
    rows, columns = (mixing_matrix(grid, by_rows=by_rows) for by_rows in (True, False))
    entries = {entry for product in (rows * columns, columns * rows) for entry in product.entries()}
    return entries == {fmpq(stated.numerator, stated.denominator)}


def grid_cases() -> Members:
    """(grid, worker, rows first)."""
    sides = st.tuples(st.integers(1, 6), st.integers(1, 6))
    return st.tuples(sides, st.integers(0, 35), st.booleans())


def entry_margin(grid: Grid, worker: int, rows_first: bool) -> Fraction:
    """Minus the largest difference of what workers have of one worker's unit after two rounds from the statement's."""
    workers = grid[0] * grid[1]
    values = [Fraction(int(other == worker % workers)) for other in range(workers)]
    for by_rows in (rows_first, not rows_first):
        values = averaged(values, grid, by_rows=by_rows)
    stated = STATEMENTS["grid_mixing"].fraction(grid_rows=grid[0], grid_columns=grid[1])
    return -max(abs(value - stated) for value in values)


def digit_groups(bases: Sequence[int], place: int) -> list[list[int]]:
    """The workers whose numbers differ in one digit; the first digit counts single workers."""
    stride, workers = prod(bases[:place]), prod(bases)
    found: dict[int, list[int]] = {}
    for worker in range(workers):
        found.setdefault(worker - worker // stride % bases[place] * stride, []).append(worker)
    return list(found.values())


def after_digits(bases: Sequence[int], places: Sequence[int], sender: int) -> list[Fraction]:
    """What all workers have of one worker's unit after a round for each of these digits."""
    values = [Fraction(int(worker == sender)) for worker in range(prod(bases))]
    for place in places:
        values = averaged_in(values, digit_groups(bases, place))
    return values


def digit_margin(bases: Sequence[int], order: Sequence[int], sender: int) -> Fraction:
    """Minus the largest difference from the statement's, or −1 where one round fewer gives everybody as much."""
    places = [place for place in order if place < len(bases)]
    workers = prod(bases)
    stated = STATEMENTS["digit_mixing"].fraction(n=workers)
    all_but_last = after_digits(bases, places[:-1], sender % workers)
    if bases[places[-1]] > 1 and len(set(all_but_last)) == 1:
        return Fraction(-1)
    return -max(abs(value - stated) for value in after_digits(bases, places, sender % workers))


def digit_cases() -> Members:
    """(bases, order of the digits, worker)."""
    bases = st.lists(st.integers(1, 4), min_size=1, max_size=4)
    return st.tuples(bases, st.permutations(range(4)), st.integers(0, 255))


def digit_check(_profile: Profile) -> Outcome:
    """`rational`: with all bases up to four of up to three digits every entry of the product is the statement's."""
    listed = [bases for count in (1, 2, 3) for bases in product(range(1, 5), repeat=count)]
    margins = [digit_margin(bases, range(4), sender) for bases in listed for sender in range(prod(bases))]
    return Outcome(earned=not any(margins), detail={"cases_count": len(margins), "smallest_margin": str(min(margins))})


def spread(values: Sequence[Fraction]) -> Fraction:
    """Mean square of the differences from the mean."""
    mean = sum(values, Fraction(0)) / len(values)
    return sum(((value - mean) ** 2 for value in values), Fraction(0)) / len(values)


def training_cases() -> Members:
    """(grid, step size, start, gradients of each round), those that attain the bound among them."""

    def on_grid(grid: Grid) -> Members:
        workers = grid[0] * grid[1]
        values = st.lists(VALUES, min_size=workers, max_size=workers)
        arbitrary = st.lists(values, min_size=2, max_size=5)
        rows = [Fraction(1 if worker < workers - grid[1] else 1 - grid[0]) for worker in range(workers)]
        equal = st.integers(3, 5).map(lambda rounds: [rows] * rounds)
        return st.tuples(st.just(grid), st.sampled_from([Fraction(1), Fraction(1, 3)]), values, arbitrary | equal)

    return st.tuples(st.integers(2, 3), st.integers(1, 3)).flatmap(on_grid)


def disagreement_margin(
    grid: Grid, step_size: Fraction, start: Sequence[Fraction], gradients: Sequence[Sequence[Fraction]]
) -> Fraction:
    """The bound at the larger of the last two spreads minus the disagreement, at the worst round from the second on."""
    parameters, margins = list(start), []
    for number, taken in enumerate(gradients):
        mixed = averaged(parameters, grid, by_rows=number % 2 == 0)
        parameters = [value - step_size * own for value, own in zip(mixed, taken, strict=True)]
        if number:
            largest = max(spread(taken), spread(gradients[number - 1]))
            largest /= assumed_share("grid_disagreement", "spread", gradient_spread)
            bound = STATEMENTS["grid_disagreement"].fraction(step_size=step_size, gradient_spread=largest)
            margins.append(bound - spread(parameters))
    return min(margins)


def certified_check(_profile: Profile) -> Outcome:
    """`rational`: half the bound's factor on each spread exceeds the disagreement, for all gradients on some grids."""
    factor = STATEMENTS["grid_disagreement"].fraction(step_size=1, gradient_spread=1)
    failed = [list(grid) for grid in CERTIFIED_GRIDS if not is_positive_semidefinite(_room(grid, factor / 2))]
    return Outcome(earned=not failed, detail={"grids_count": len(CERTIFIED_GRIDS), "failed_grids": failed})


def _room(grid: Grid, multiplier: Fraction) -> list[list[Fraction]]:
    """The quadratic form λ(spread g + spread h) − spread(Wg + h) in the gradients of two rounds, times n."""
    workers = grid[0] * grid[1]
    centring = fmpq_mat(workers, workers)
    for reader in range(workers):
        for sender in range(workers):
            centring[reader, sender] = fmpq(int(reader == sender)) - fmpq(1, workers)
    weighted = centring * mixing_matrix(grid, by_rows=True)
    both = [weighted, centring]
    blocks = [[_fractions(first.transpose() * second) for second in both] for first in both]
    spreads = _fractions(centring)
    size = 2 * workers

    def entry(row: int, column: int) -> Fraction:
        block, other = row // workers, column // workers
        own = spreads[row % workers][column % workers] if block == other else Fraction(0)
        return multiplier * own - blocks[block][other][row % workers][column % workers]

    return [[entry(row, column) for column in range(size)] for row in range(size)]


def _fractions(matrix: fmpq_mat) -> list[list[Fraction]]:
    return [[Fraction(int(value.p), int(value.q)) for value in row] for row in matrix.tolist()]


def public_cases() -> Members:
    """(permutations, their weights, strength, step size, and of each worker parameter, gradient and public copy)."""

    def of_size(workers: int) -> Members:
        permutation = st.permutations(range(workers))
        weighted = st.lists(st.tuples(permutation, st.integers(1, 4)), min_size=1, max_size=4)
        own = st.lists(st.tuples(VALUES, VALUES, VALUES), min_size=workers, max_size=workers)
        return st.tuples(weighted, VALUES, VALUES.filter(lambda value: value > 0), own)

    return st.integers(1, 5).flatmap(of_size)


Weighted = tuple[Sequence[int], int]
"""A permutation of the workers and its weight; such sums are all matrices ≥ 0 of rows and columns of one sum."""


def mean_margin(
    weighted: Sequence[Weighted], strength: Fraction, step_size: Fraction, own: Sequence[tuple[Fraction, ...]]
) -> Fraction:
    """Minus the difference of the mean after a step from the statement's."""
    workers = len(own)
    moved = []
    for worker, (parameter, taken, copy) in enumerate(own):
        pulled = sum(((own[order[worker]][2] - copy) * weight for order, weight in weighted), Fraction(0))
        moved.append(parameter - step_size * taken + strength * pulled)
    means = [sum(values, Fraction(0)) / workers for values in zip(*own, strict=True)]
    stated = STATEMENTS["mixing_mean"].exact(replica_mean=means[0], step_size=step_size, gradient=means[1])
    return -abs(sum(moved, Fraction(0)) / workers - Fraction(str(stated)))


def mean_queries(workers: int = 3) -> tuple[Query, ...]:
    """Three workers: all weights whose rows and columns have one sum, of either sign, all copies and all gradients."""
    own, taken, copies = (sympy.symbols(f"{name}_:{workers}", real=True) for name in ("x", "g", "copy"))
    weights = [sympy.symbols(f"w_{reader}_:{workers}", real=True) for reader in range(workers)]
    step_size, strength = sympy.symbols("eta strength", real=True)
    moved = sympy.Add(
        *(
            own[reader]
            - step_size * taken[reader]
            + strength * weights[reader][sender] * (copies[sender] - copies[reader])
            for reader in range(workers)
            for sender in range(workers)
        )
    )
    # Each worker's own parameter and gradient were added once for every sender.
    repeated = sympy.Add(*(value - step_size * slope for value, slope in zip(own, taken, strict=True)))
    total = sympy.expand(moved - (workers - 1) * repeated)
    means = {replica_mean: sympy.Add(*own) / workers, gradient: sympy.Add(*taken) / workers, eta: step_size}
    stated = sympy.expand(workers * STATEMENTS["mixing_mean"].bound.xreplace(means))
    common = sympy.Add(*weights[0])
    rows = (sympy.Eq(sympy.Add(*row), common) for row in weights[1:])
    columns = (sympy.Eq(sympy.Add(*column), common) for column in zip(*weights, strict=True))
    return (
        Query(
            claim=f"{workers} workers",
            premises=(*rows, *columns),
            conclusion=sympy.Eq(total, stated),
            false_twin=sympy.Eq(total, stated + strength * copies[0]),
        ),
    )


CHECKS: dict[str, dict[Grade, Check]] = {
    "grid_mixing": {"rational": product_check, "property": property_check(grid_cases, entry_margin)},
    "digit_mixing": {"rational": digit_check, "property": property_check(digit_cases, digit_margin)},
    "grid_disagreement": {"rational": certified_check, "property": property_check(training_cases, disagreement_margin)},
    "mixing_mean": {"smt": smt_check(mean_queries), "property": property_check(public_cases, mean_margin)},
}
"""Every check of these statements, by label and grade."""
