"""What evidence is there for Cannon's product over outer blocks? Small integers are multiplied, and all is counted.

Every processor of a grid holds blocks, multiplies them operation by operation, hands them on and has the next ones
fetched; the product is compared, and what was counted makes the time. Ours.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product

from hypothesis import strategies as st

from sparsync.theory.statements import STATEMENTS
from sparsync.verify.cost.farms import counted, times
from sparsync.verify.cost.hypersteps import COSTS, costs, streamed_seconds
from sparsync.verify.tools.edges import Edge, Remark
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.tools.properties import Members, property_check

Matrix = list[list[int]]
Place = tuple[int, int]


@dataclass(frozen=True)
class Shape:
    """A product of matrices of grid·outer·side rows.

    Args:
        grid: processors along a side.
        outer: outer blocks along a side.
        side: rows of a processor's block.
    """

    grid: int
    outer: int
    side: int

    @property
    def rows(self) -> int:
        """n."""
        return self.grid * self.outer * self.side


@dataclass
class Superstep:
    """What was counted in it: by processor operations, and words that it sent and took."""

    operations: dict[Place, int] = field(default_factory=dict)
    sent: dict[Place, int] = field(default_factory=dict)
    taken: dict[Place, int] = field(default_factory=dict)

    def seconds(self, word: Fraction, barrier: Fraction) -> Fraction:
        """Its time."""
        most = max([0, *self.sent.values(), *self.taken.values()])
        return max(self.operations.values()) + most * word + barrier


@dataclass
class Run:
    """What was counted in a product.

    Args:
        hypersteps: their supersteps.
        fetched: by hyperstep and processor, words of the next one's tokens.
        written: words of the product, all processors.
    """

    hypersteps: list[list[Superstep]] = field(default_factory=list)
    fetched: list[dict[Place, int]] = field(default_factory=list)
    written: int = 0

    @property
    def sent(self) -> int:
        """Words that all processors sent."""
        return sum(sum(step.sent.values()) for steps in self.hypersteps for step in steps)

    @property
    def external(self) -> int:
        """Words that all processors read and wrote."""
        return sum(sum(fetched.values()) for fetched in self.fetched) + self.written

    def work(self, word: Fraction, barrier: Fraction) -> list[Fraction]:
        """Time of each hyperstep's supersteps."""
        return [sum((step.seconds(word, barrier) for step in steps), Fraction(0)) for steps in self.hypersteps]

    def tokens(self) -> list[int]:
        """Most words that a processor fetched in each hyperstep."""
        return [max(fetched.values()) for fetched in self.fetched]


def numbers(rows: int, seed: int) -> Matrix:
    """Small integers."""
    return [[(seed + 5 * row + 3 * column * (row + 1)) % 7 - 3 for column in range(rows)] for row in range(rows)]


def block(matrix: Matrix, row: int, column: int, side: int) -> Matrix:
    """A square of it, by its place among those of that side."""
    return [line[column * side : (column + 1) * side] for line in matrix[row * side : (row + 1) * side]]


def multiplied(shape: Shape, seed: int) -> Run:
    """A product as it is computed.

    Raises:
        ValueError: it is not the product.
    """
    left, right = numbers(shape.rows, seed), numbers(shape.rows, seed + 1)
    grid, outer, side, run = range(shape.grid), range(shape.outer), shape.side, Run()
    found = [[0] * shape.rows for _ in range(shape.rows)]
    order = [(row, column, middle) for row in outer for column in outer for middle in outer]
    tokens = [_tokens(left, right, shape, *place) for place in order]
    totals: dict[Place, Matrix] = {}
    for number, (row, column, middle) in enumerate(order):
        if middle == 0:
            totals = {(i, j): [[0] * side for _ in range(side)] for i in grid for j in grid}
        run.hypersteps.append(_cannon(*tokens[number], totals, shape))
        following = tokens[(number + 1) % len(tokens)]
        run.fetched.append({place: _words(following[0][place]) + _words(following[1][place]) for place in totals})
        if middle == shape.outer - 1:
            for (i, j), total in totals.items():
                run.written += _write(found, total, row * shape.grid + i, column * shape.grid + j)
    if found != plain(left, right):
        raise ValueError(f"{shape} ends with another product")
    return run


def plain(left: Matrix, right: Matrix) -> Matrix:
    """The product by its definition."""
    columns = list(zip(*right, strict=True))
    return [[sum(a * b for a, b in zip(row, column, strict=True)) for column in columns] for row in left]


def _tokens(
    left: Matrix, right: Matrix, shape: Shape, row: int, column: int, middle: int
) -> tuple[dict[Place, Matrix], dict[Place, Matrix]]:
    """The blocks of two outer blocks, by the processor where they begin."""
    grid, size = range(shape.grid), shape.grid
    first = {
        (i, j): block(left, row * size + i, middle * size + (i + j) % size, shape.side) for i in grid for j in grid
    }
    second = {
        (i, j): block(right, middle * size + (i + j) % size, column * size + j, shape.side) for i in grid for j in grid
    }
    return first, second


def _cannon(
    first: dict[Place, Matrix], second: dict[Place, Matrix], totals: dict[Place, Matrix], shape: Shape
) -> list[Superstep]:
    """Two outer blocks multiplied and added to a third."""
    size, steps = shape.grid, []
    for turn in range(size):
        step = Superstep()
        for place, total in totals.items():
            step.operations[place] = _add_product(total, first[place], second[place])
        if turn < size - 1:
            first = _shifted(first, {place: (place[0], (place[1] - 1) % size) for place in totals}, step)
            second = _shifted(second, {place: ((place[0] - 1) % size, place[1]) for place in totals}, step)
        steps.append(step)
    return steps


def _shifted(blocks: dict[Place, Matrix], targets: dict[Place, Place], step: Superstep) -> dict[Place, Matrix]:
    for place, target in targets.items():
        words = _words(blocks[place])
        step.sent[place] = step.sent.get(place, 0) + words
        step.taken[target] = step.taken.get(target, 0) + words
    return {target: blocks[place] for place, target in targets.items()}


def _add_product(total: Matrix, first: Matrix, second: Matrix) -> int:
    """How many operations it took."""
    operations = 0
    for i, row in enumerate(first):
        for j in range(len(total[i])):
            for middle, value in enumerate(row):
                total[i][j] += value * second[middle][j]
                operations += 2
    return operations


def _words(matrix: Matrix) -> int:
    return sum(map(len, matrix))


def _write(found: Matrix, total: Matrix, row: int, column: int) -> int:
    side = len(total)
    for offset, line in enumerate(total):
        found[row * side + offset][column * side : (column + 1) * side] = line
    return _words(total)


def cannon_seconds(run: Run, charges: tuple[Fraction, Fraction, Fraction]) -> Fraction:
    """The time of what was counted."""
    fetches = [words * charges[2] for words in run.tokens()]
    return streamed_seconds(run.work(*charges[:2]), fetches)


def cannon_margin(shape: Shape, charges: tuple[Fraction, Fraction, Fraction], seed: int) -> Fraction:
    """Minus the difference of the time of what was counted from the statement."""
    stated = STATEMENTS["streamed_cannon"].fraction(
        matrix_side=shape.rows,
        outer_count=shape.outer,
        grid_side=shape.grid,
        word_cost=charges[0],
        barrier_cost=charges[1],
        fetch_cost=charges[2],
    )
    return -abs(cannon_seconds(multiplied(shape, seed), charges) - stated)


def words_margin(shape: Shape, seed: int) -> Fraction:
    """The same of the words that were sent."""
    stated = STATEMENTS["cannon_words"].fraction(matrix_side=shape.rows, outer_count=shape.outer, grid_side=shape.grid)
    return -abs(multiplied(shape, seed).sent - stated)


def tokens_margin(shape: Shape, seed: int) -> Fraction:
    """The same of external words."""
    stated = STATEMENTS["cannon_tokens"].fraction(matrix_side=shape.rows, outer_count=shape.outer)
    return -abs(multiplied(shape, seed).external - stated)


def largest_fetch(grid: int, side: int, word: Fraction, barrier: Fraction) -> Fraction:
    """The cost of a fetched word with which a hyperstep computes and fetches equally long."""
    run = multiplied(Shape(grid, 1, side), 0)
    (work,), (tokens,) = run.work(word, barrier), run.tokens()
    return work / tokens


def crossover_margin(grid: int, side: int, word: Fraction, barrier: Fraction) -> Fraction:
    """Minus its distance from the statement."""
    stated = STATEMENTS["cannon_crossover"].fraction(
        block_side=grid * side, grid_side=grid, word_cost=word, barrier_cost=barrier
    )
    return -abs(largest_fetch(grid, side, word, barrier) - stated)


def window_margin(grid: int, side: int, word: Fraction, root: Fraction) -> Fraction:
    """Its room above the least of all blocks, where a barrier costs the cube of `root`."""
    stated = STATEMENTS["cannon_window"].fraction(grid_side=grid, word_cost=word, barrier_cost=root**3)
    return largest_fetch(grid, side, word, root**3) - stated


SHAPES = tuple(Shape(*sides) for sides in ((1, 1, 1), (1, 3, 2), (2, 1, 2), (2, 2, 1), (2, 2, 2), (3, 1, 2), (3, 2, 1)))
"""Products of up to eight rows."""


def cannon_check(_profile: Profile) -> Outcome:
    """`rational`: listed shapes and costs."""
    return counted([cannon_margin(shape, charges, 1) for shape in SHAPES for charges in COSTS])


def words_check(_profile: Profile) -> Outcome:
    """`rational`: listed shapes."""
    return counted([words_margin(shape, 1) for shape in SHAPES])


def tokens_check(_profile: Profile) -> Outcome:
    """`rational`: listed shapes."""
    return counted([tokens_margin(shape, 1) for shape in SHAPES])


def crossover_check(_profile: Profile) -> Outcome:
    """`rational`: listed grids, blocks and costs."""
    cases = product((1, 2, 3), (1, 2, 4), (Fraction(0), Fraction(5, 2)), (Fraction(0), Fraction(7)))
    return counted([crossover_margin(*case) for case in cases])


def window_check(_profile: Profile) -> Outcome:
    """`rational`: among listed blocks are those of k = N l^{1/3}, which attain it."""
    cases = product((1, 2, 3), (1, 2, 4), (Fraction(0), Fraction(5, 2)), (Fraction(1), Fraction(2), Fraction(4)))
    return counted([window_margin(*case) for case in cases])


GRID, SIDE = st.integers(1, 3), st.integers(1, 3)


def shapes() -> st.SearchStrategy[Shape]:
    """Products of up to twelve rows."""
    every: Sequence[Shape] = [
        Shape(*sides) for sides in product((1, 2, 3), (1, 2, 3), (1, 2, 3)) if Shape(*sides).rows <= 9
    ]
    return st.sampled_from(every)


def cannon_cases() -> Members:
    """A shape, costs, and a seed."""
    return st.tuples(shapes(), costs(), st.integers(0, 6))


def counted_cases() -> Members:
    """A shape and a seed."""
    return st.tuples(shapes(), st.integers(0, 6))


def crossover_cases() -> Members:
    """A grid, the rows of a block, and what a word and a barrier cost."""
    return st.tuples(GRID, SIDE, times(0), times(0))


def window_cases() -> Members:
    """The same with the cube root of what a barrier costs."""
    return st.tuples(GRID, SIDE, times(0), st.one_of(times(), st.integers(1, 3).map(Fraction)))


EDGES: dict[str, tuple[Remark, ...]] = {
    "streamed_cannon": (
        # Three rows on two processors a side, filled up with zeros to four; a whole block alone would take longer.
        Edge(
            "Eq(Mod(matrix_side, grid_side*outer_count), 0)",
            {"matrix_side": 3, "grid_side": 2, "outer_count": 1, "word_cost": 1, "barrier_cost": 1, "fetch_cost": 0},
            left=lambda: cannon_seconds(multiplied(Shape(2, 1, 2), 1), (Fraction(1), Fraction(1), Fraction(0))),
        ),
    ),
}
"""Points just beyond the conditions of these statements."""

CHECKS: dict[str, dict[Grade, Check]] = {
    "streamed_cannon": {"rational": cannon_check, "property": property_check(cannon_cases, cannon_margin)},
    "cannon_words": {"rational": words_check, "property": property_check(counted_cases, words_margin)},
    "cannon_tokens": {"rational": tokens_check, "property": property_check(counted_cases, tokens_margin)},
    "cannon_crossover": {
        "rational": crossover_check,
        "property": property_check(crossover_cases, crossover_margin),
    },
    "cannon_window": {"rational": window_check, "property": property_check(window_cases, window_margin)},
}
"""Every check of these statements, by label and grade."""
