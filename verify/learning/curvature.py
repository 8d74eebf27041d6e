"""What evidence is there for the statements about Kronecker-factored curvature, besides their derivations?

Matrices of fractions, turned by rational rotations, are solved with Gauss's algorithm, which knows nothing of
eigenbases. Norms and ratios are compared where they are rational; blocks of many rows are in
`verify/learning/block_matrices.py`. Ours.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations, product

from hypothesis import strategies as st

from sparsync.theory.statements import STATEMENTS
from sparsync.verify.learning import edges
from sparsync.verify.learning.block_matrices import block_check, error_room, step_room
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.tools.properties import Case, Margin, Members, property_check

Matrix = list[list[Fraction]]
Vector = Sequence[Fraction]
Turn = tuple[Fraction, Fraction]
"""Cosine and sine."""

STEPS = 4
"""Drawn numbers are multiples of one over this."""
HEIGHTS = (Fraction(1), Fraction(2))
"""Magnitudes of listed entries of triangles; the largest is never cut off by a tie."""
TURNS = ((Fraction(1), Fraction(0)), (Fraction(3, 5), Fraction(4, 5)), (Fraction(-5, 13), Fraction(12, 13)))
"""Cosine and sine of listed rotations."""
LISTED_VALUES = (Fraction(0), Fraction(1, 2), Fraction(3))
LISTED_COUPLINGS = (Fraction(0), Fraction(1, 4), Fraction(-1, 2), Fraction(7, 8))


def times(first: Matrix, second: Matrix) -> Matrix:
    """The product."""
    columns = list(zip(*second, strict=True))
    return [
        [sum((a * b for a, b in zip(row, column, strict=True)), Fraction(0)) for column in columns] for row in first
    ]


def turned(values: Vector, turn: Turn) -> Matrix:
    """Q diag(values) Qᵀ of two values, Q a rotation by its cosine and sine."""
    (first, second), (c, s) = values, turn
    cross = c * s * (first - second)
    return [[c * c * first + s * s * second, cross], [cross, s * s * first + c * c * second]]


def solution(matrix: Matrix, right: Vector) -> list[Fraction]:
    """x with matrix · x = right, by Gauss's algorithm.

    Raises:
        StopIteration: the matrix is singular.
    """
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for place in range(len(rows)):
        pivot = next(row for row in range(place, len(rows)) if rows[row][place])
        rows[place], rows[pivot] = rows[pivot], rows[place]
        rows[place] = [value / rows[place][place] for value in rows[place]]
        for other in range(len(rows)):
            if other != place:
                rows[other] = [a - rows[other][place] * b for a, b in zip(rows[other], rows[place], strict=True)]
    return [row[-1] for row in rows]


def dot(first: Vector, second: Vector) -> Fraction:
    """The inner product."""
    return sum((a * b for a, b in zip(first, second, strict=True)), Fraction(0))


def kronecker(first: Matrix, second: Matrix) -> Matrix:
    """first ⊗ second."""
    return [[a * b for a in row for b in other] for row in first for other in second]


def damped(matrix: Matrix, damping: Fraction) -> Matrix:
    """matrix + damping · I."""
    return [[value + (damping if i == j else 0) for j, value in enumerate(row)] for i, row in enumerate(matrix)]


def _turns(turn_in: Turn, turn_out: Turn) -> Matrix:
    """Q_G ⊗ Q_A, whose columns are the eigenvectors of G ⊗ A."""
    return kronecker(*([[c, -s], [s, c]] for c, s in (turn_out, turn_in)))


def eigenbasis_margin(
    inside: Vector, outside: Vector, turns: Sequence[Turn], damping: Fraction, entries: Vector
) -> Fraction:
    """Minus the largest difference of Gauss's solution from the statement's entries turned back."""
    turn_in, turn_out = turns
    basis = _turns(turn_in, turn_out)
    curvature = kronecker(turned(outside, turn_out), turned(inside, turn_in))
    gradient = [dot(row, entries) for row in basis]
    found = solution(damped(curvature, damping), gradient)
    pairs = product(outside, inside)
    stated = [
        STATEMENTS["kfac_eigenbasis"].fraction(
            gradient_entry=entry, input_eigenvalue=of_input, output_eigenvalue=of_output, damping=damping
        )
        for entry, (of_output, of_input) in zip(entries, pairs, strict=True)
    ]
    return -max(abs(a - dot(row, stated)) for a, row in zip(found, basis, strict=True))


def factored_margin(inside: Vector, outside: Vector, turns: Sequence[Turn], root: Fraction) -> Fraction:
    """Minus the largest difference of the statement's share from that of Gauss's two solutions; γ is the root squared.

    Each eigenvector of G ⊗ A in turn is the gradient.
    """
    turn_in, turn_out = turns
    factors = turned(outside, turn_out), turned(inside, turn_in)
    exact = damped(kronecker(*factors), root**2)
    factored = kronecker(*(damped(factor, root) for factor in factors))
    differences = []
    for vector, (of_output, of_input) in zip(
        zip(*_turns(turn_in, turn_out), strict=True), product(outside, inside), strict=True
    ):
        share = STATEMENTS["factored_damping"].fraction(
            input_eigenvalue=of_input, output_eigenvalue=of_output, damping=root**2
        )
        whole, part = solution(exact, vector), solution(factored, vector)
        differences.append(max(abs(share * a - b) for a, b in zip(whole, part, strict=True)))
    return -max(differences)


def _coupled(scales: Vector, couplings: Sequence[Fraction]) -> Matrix:
    """F + γI of blocks of one row whose D + γI is the squares of the scales, coupled by N's entries."""
    size = len(scales)
    pairs = dict(zip(combinations(range(size), 2), couplings, strict=True))
    return [
        [scales[i] * scales[j] * (Fraction(1) if i == j else pairs[min(i, j), max(i, j)]) for j in range(size)]
        for i in range(size)
    ]


def _columns(matrix: Matrix) -> list[list[Fraction]]:
    """The inverse by columns."""
    size = len(matrix)
    return [solution(matrix, [Fraction(place == i) for i in range(size)]) for place in range(size)]


def error_margin(scales: Vector, coupling: Fraction, direction: Vector) -> Fraction:
    """Room of ρ‖x‖²/(1 − ρ) above |xᵀ Δ x|, Δ the scaled change of the inverse, for coupled blocks and a direction.

    Of two blocks ρ = |coupling|; of more, all couplings are this one, at most zero, and ρ = (number − 1)|coupling|.
    """
    size = len(scales)
    couplings = [coupling] * (size * (size - 1) // 2)
    columns = _columns(_coupled(scales, couplings))
    inverse = [[scales[i] * scales[j] * columns[j][i] for j in range(size)] for i in range(size)]
    change = damped(inverse, Fraction(-1))
    bound = STATEMENTS["block_diagonal_error"].fraction(coupling=(size - 1) * abs(coupling))
    along = dot(direction, [dot(row, direction) for row in change])
    return bound * dot(direction, direction) - abs(along)


def attained_direction(size: int, coupling: Fraction) -> list[Fraction]:
    """Where N has the eigenvalue −ρ: all ones for couplings below zero, else (1, −1) of two blocks."""
    return [Fraction(1)] * size if coupling <= 0 else [Fraction(1), Fraction(-1)]


def step_margin(scales: Vector, coupling: Fraction, gradient: Vector) -> Fraction:
    """Share of the decrease less the bound, for two blocks of one row."""
    curvature = _coupled(scales, [coupling])
    blocks = [value / scale**2 for value, scale in zip(gradient, scales, strict=True)]
    along = dot(gradient, blocks)
    if not along:
        return Fraction(0)
    whole = dot(gradient, solution(curvature, gradient))
    share = along**2 / dot(blocks, [dot(row, blocks) for row in curvature]) / whole
    return share - STATEMENTS["block_diagonal_step"].fraction(coupling=abs(coupling))


def selection_margin(triangles: Sequence[tuple[Vector, Vector]], kept: int) -> Fraction:
    """Share of the energy that Top-k of triangles keeps, less the bound.

    Args:
        triangles: diagonal, and entries above it, of each matrix; not all zero.
        kept: k; of equal magnitudes those on a diagonal come first, which keeps less.
    """
    entries = [(abs(value), 0, 1) for diagonal, _ in triangles for value in diagonal]
    entries += [(abs(value), 1, 2) for _, above in triangles for value in above]
    entries.sort(key=lambda entry: (-entry[0], entry[1]))
    energies = [weight * magnitude**2 for magnitude, _, weight in entries]
    share = sum(energies[:kept], Fraction(0)) / sum(energies, Fraction(0))
    rows = sum(len(diagonal) for diagonal, _ in triangles)
    count = sum(len(diagonal) ** 2 for diagonal, _ in triangles)
    return share - STATEMENTS["triangle_selection"].fraction(kept_count=kept, row_count=rows, entry_count=count)


def clamped_margin(values: Vector, turn: Turn, half: Matrix) -> Fraction:
    """The bound on ‖X₊ − S‖² less that, for X of two eigenvalues and S = LLᵀ."""
    factor = times(half, [list(column) for column in zip(*half, strict=True)])
    selected = turned(values, turn)
    clamped = turned([max(value, Fraction(0)) for value in values], turn)
    negative = sum((min(value, Fraction(0)) ** 2 for value in values), Fraction(0))
    stated = STATEMENTS["clamped_factor"].fraction(
        selection_error=_distance(selected, factor), negative_energy=negative
    )
    return stated - _distance(clamped, factor)


def _distance(first: Matrix, second: Matrix) -> Fraction:
    """The squared Frobenius distance."""
    rows = zip(first, second, strict=True)
    return sum(((a - b) ** 2 for row, other in rows for a, b in zip(row, other, strict=True)), Fraction(0))


def equal_triangle(size: int, kept: int) -> tuple[Vector, Vector]:
    """Magnitudes that are all one, so that the diagonal comes first: the bound is attained for every k."""
    del kept
    return [Fraction(1)] * size, [Fraction(1)] * (size * (size - 1) // 2)


def _eigenbasis_cases() -> list[Case]:
    pairs = list(product(LISTED_VALUES, repeat=2))
    entries = [Fraction(1), Fraction(-2), Fraction(1, 3), Fraction(5)]
    return [
        (inside, outside, (turn_in, turn_out), Fraction(1, 10), entries)
        for inside, outside in product(pairs, repeat=2)
        for turn_in, turn_out in ((TURNS[1], TURNS[2]), (TURNS[0], TURNS[1]))
    ]


def _factored_cases() -> list[Case]:
    pairs = list(product(LISTED_VALUES, repeat=2))
    roots = (Fraction(1, 10), Fraction(2))
    return [(*both, (TURNS[1], TURNS[2]), root) for both in product(pairs, repeat=2) for root in roots]


def _error_cases() -> list[Case]:
    """Two blocks at the direction that attains the bound and others, more blocks of negative couplings."""
    two = [
        ([Fraction(1), Fraction(3)], coupling, direction)
        for coupling in LISTED_COUPLINGS
        for direction in (attained_direction(2, coupling), [Fraction(1), Fraction(2)])
    ]
    more = [
        ([Fraction(1), Fraction(2), Fraction(1, 2)], coupling, direction)
        for coupling in (Fraction(-1, 4), Fraction(-3, 7))
        for direction in (attained_direction(3, coupling), [Fraction(1), Fraction(-1), Fraction(0)])
    ]
    return two + more


def _step_cases() -> list[Case]:
    """A gradient in one block attains the bound."""
    gradients = ([Fraction(1), Fraction(0)], [Fraction(1), Fraction(2)], [Fraction(-1), Fraction(1)])
    return [([Fraction(1), Fraction(3)], coupling, gradient) for coupling in LISTED_COUPLINGS for gradient in gradients]


def _selection_cases() -> list[Case]:
    """Equal magnitudes of one and of two matrices, at every k, and all magnitudes of a matrix of two rows."""
    alike = [equal_triangle(size, 0) for size in (1, 2, 3, 4)]
    groups = [*([triangle] for triangle in alike), [alike[1], alike[2]]]
    equal = [
        (triangles, kept)
        for triangles in groups
        for kept in range(1, sum(len(diagonal) + len(above) for diagonal, above in triangles) + 1)
    ]
    drawn = product(product(HEIGHTS, repeat=2), product(HEIGHTS, repeat=1))
    return equal + [([triangle], kept) for triangle in drawn for kept in (1, 2, 3)]


def _clamped_cases() -> list[Case]:
    """S has something along the negative eigenvector, and nothing, where the bound is attained."""
    cases: list[Case] = []
    for turn, negative in product(TURNS, (Fraction(-1), Fraction(-1, 3))):
        c, s = turn
        along = [[2 * c, Fraction(0)], [2 * s, Fraction(0)]]
        cases += [
            ([Fraction(3), negative], turn, along),
            ([Fraction(3), negative], turn, [[Fraction(1), Fraction(0)], [Fraction(1, 2), Fraction(2)]]),
            ([negative, 2 * negative], turn, [[Fraction(0), Fraction(0)], [Fraction(0), Fraction(0)]]),
        ]
    return cases


def listed(cases: Callable[[], list[Case]], margin: Margin, *, is_attained: bool) -> Check:
    """The grade `rational`: no listed case has a negative margin; the smallest is zero where the bound is attained."""

    def check(_profile: Profile) -> Outcome:
        margins = [margin(*case) for case in cases()]
        least = min(margins)
        return Outcome(
            earned=least == 0 if is_attained else least >= 0,
            detail={"cases_count": len(margins), "smallest_margin": str(least)},
        )

    return check


def _values(least: int = 0) -> st.SearchStrategy[Fraction]:
    return st.integers(least * STEPS, 4 * STEPS).map(lambda step: Fraction(step, STEPS))


def _rotations() -> st.SearchStrategy[Turn]:
    """By the tangent of half the angle."""
    tangents = st.integers(-STEPS, STEPS).map(lambda step: Fraction(step, STEPS))
    return tangents.map(lambda t: ((1 - t * t) / (1 + t * t), 2 * t / (1 + t * t)))


def _lists(of: st.SearchStrategy[Fraction], size: int) -> st.SearchStrategy[list[Fraction]]:
    return st.lists(of, min_size=size, max_size=size)


def _eigenbasis_members() -> Members:
    turns = st.tuples(_rotations(), _rotations())
    entries = _lists(_values(-4), 4).filter(any)
    positive = _values().map(lambda value: value + Fraction(1, STEPS))
    return st.tuples(_lists(_values(), 2), _lists(_values(), 2), turns, positive, entries)


def _factored_members() -> Members:
    turns = st.tuples(_rotations(), _rotations())
    positive = _values().map(lambda value: value + Fraction(1, STEPS))
    return st.tuples(_lists(_values(), 2), _lists(_values(), 2), turns, positive)


def _scales(size: int) -> st.SearchStrategy[list[Fraction]]:
    return _lists(_values().map(lambda value: value + Fraction(1, STEPS)), size)


def _error_members() -> Members:
    """Directions of the eigenvalue −ρ among others."""

    def of_size(size: int) -> Members:
        limit = 16 // (size - 1)
        small = st.integers(1 - limit, limit - 1 if size == 2 else 0).map(lambda step: Fraction(step, 16))

        def of_coupling(coupling: Fraction) -> Members:
            free = _lists(_values(-4), size).filter(any)
            return st.tuples(_scales(size), st.just(coupling), free | st.just(attained_direction(size, coupling)))

        return small.flatmap(of_coupling)

    return st.integers(2, 4).flatmap(of_size)


def _step_members() -> Members:
    coupling = st.integers(-15, 15).map(lambda step: Fraction(step, 16))
    one_block = _values(-4).map(lambda value: [value, Fraction(0)])
    return st.tuples(_scales(2), coupling, _lists(_values(-4), 2) | one_block)


def _selection_members() -> Members:
    def of_sizes(sizes: list[int]) -> Members:
        count = sum(size * (size + 1) // 2 for size in sizes)
        free = [st.tuples(_lists(_values(-4), size), _lists(_values(-4), size * (size - 1) // 2)) for size in sizes]
        drawn = st.tuples(*free).filter(lambda all_: any(any(d) or any(a) for d, a in all_))
        return st.tuples(drawn | st.just([equal_triangle(size, 0) for size in sizes]), st.integers(1, count))

    return st.lists(st.integers(1, 3), min_size=1, max_size=3).flatmap(of_sizes)


def _clamped_members() -> Members:
    """Of two eigenvalues; S = LLᵀ of any L, or along the first eigenvector alone."""

    def of_turn(turn: Turn) -> Members:
        c, s = turn
        free = st.lists(_lists(_values(-2), 2), min_size=2, max_size=2)
        along = _values().map(lambda length: [[length * c, Fraction(0)], [length * s, Fraction(0)]])
        return st.tuples(st.tuples(_values(), _values(-4)).map(list), st.just(turn), free | along)

    return _rotations().flatmap(of_turn)


def _grades(cases: Callable[[], list[Case]], margin: Margin, members: Callable[[], Members]) -> dict[Grade, Check]:
    return {"rational": listed(cases, margin, is_attained=True), "property": property_check(members, margin)}


CHECKS: dict[str, dict[Grade, Check]] = {
    "kfac_eigenbasis": _grades(_eigenbasis_cases, eigenbasis_margin, _eigenbasis_members),
    "factored_damping": _grades(_factored_cases, factored_margin, _factored_members),
    "block_diagonal_error": {
        **_grades(_error_cases, error_margin, _error_members),
        "numeric": block_check(error_room),
    },
    "block_diagonal_step": {**_grades(_step_cases, step_margin, _step_members), "numeric": block_check(step_room)},
    "triangle_selection": _grades(_selection_cases, selection_margin, _selection_members),
    "clamped_factor": _grades(_clamped_cases, clamped_margin, _clamped_members),
}
"""Every check of these statements, by label and grade."""

EDGES = edges.CURVATURE
"""Beyond the conditions."""
