"""What evidence is there for the statements of `theory/contraction/shapes.py`, besides their derivations?

Profiles and vectors are restated here in fractions: step profiles and star-shaped vectors. A statement whose extreme
cases are finitely many at a given size is checked on all of them (`rational`). Ties and layers are in
`verify/contraction/ties_and_layers.py`, samples in `verify/contraction/samples.py`. Ours.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, pairwise

import sympy
from hypothesis import strategies as st

from sparsync.theory.language.symbols import d, k, kappa, p, q
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.contraction.strategies import star_shaped
from sparsync.verify.contraction.weights import POWERS, Weights, raised, tail_ratio
from sparsync.verify.contraction.worst_case import power_weights, star_rows, worst_cases
from sparsync.verify.tools.edges import Edge, Remark, Unneeded
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.tools.properties import property_check
from sparsync.verify.tools.smt import Query, smt_check

INTEGER_POWERS = (1, 2, 3, 4)
"""The values of 2/p with integer weights: p = 2, 1, 2/3 and 1/2."""
REAL_SHAPES = (0.8, 3.0, 8.0)
"""Values of p for the linear programmes, whose weights are irrational."""
QUERIED_DIMENSIONS = (2, 3, 4, 5)
"""Dimensions in which the solvers are asked about every vector."""
MAX_DIMENSION = 10
"""Largest d that a search draws."""
GRID = 16
"""Searches draw densities, steps of profiles and shares of energy as multiples of 1/GRID."""

Squares = tuple[Fraction, ...]


def power_of_ramp(power: int) -> Weights:
    """w_i = (d + 1 − i)^power."""
    return lambda dimension: tuple(rest**power for rest in range(dimension, 0, -1))


def exponent_queries() -> tuple[Query, ...]:
    """The theorem for 2/p = 1..4, on the profiles π² = (1 − t)^(2/p) for t < c and 0 after it.

    tail ≤ bound · total is linear in r = π²/(1 − t)^(2/p), and every non-increasing r is a mixture of such steps: so
    these polynomial inequalities are the whole theorem for those p.
    """
    return tuple(_step_query(power + 1) for power in INTEGER_POWERS)


def _step_query(exponent: int) -> Query:
    end = sympy.Symbol("c", real=True)
    bound = STATEMENTS["exponent"].bound.subs(p, sympy.Rational(2, exponent - 1)).rewrite(sympy.Pow)
    tail, total = (1 - kappa) ** exponent - (1 - end) ** exponent, 1 - (1 - end) ** exponent
    return Query(
        claim=f"profiles cut at c, exponent {exponent}",
        premises=(sympy.Gt(kappa, 0, evaluate=False), sympy.Le(kappa, end), sympy.Le(end, 1)),
        conclusion=sympy.Le(tail, bound * total),
        false_twin=sympy.Le(tail, bound * total * (1 - kappa)),
    )


def exponent_margin(steps: Sequence[Fraction], density: Fraction, power: int) -> Fraction:
    """bound − F(κ)/F(0) for π² = r(t)(1 − t)^power, r constant on equal cells, F(s) = ∫_s^1 π²; −|it| for one r.

    Args:
        steps: r in each cell, non-increasing and ≥ 0.
        density: κ in (0, 1].
        power: 2/p.

    Raises:
        ValueError: r is not non-increasing and ≥ 0.
    """
    if steps[-1] < 0 or any(larger < smaller for larger, smaller in pairwise(steps)):
        raise ValueError(f"r must be non-increasing and non-negative, got {[str(step) for step in steps]}")
    profile = 2 / assumed_power("exponent", power)
    whole = _energy_above(steps, Fraction(0), profile)
    left = _energy_above(steps, density, profile) / whole if whole else Fraction(0)
    margin = STATEMENTS["exponent"].fraction(kappa=density, p=Fraction(2, power)) - left
    return -abs(margin) if whole and len({*steps}) == 1 else margin


def assumed_power(label: str, power: int) -> Fraction:
    """The power that a statement assumes at 2/p = power."""
    return Fraction(str(STATEMENTS[label].given("power").subs(p, sympy.Rational(2, power))))


def _energy_above(steps: Sequence[Fraction], start: Fraction, power: Fraction) -> Fraction:
    edges = [Fraction(cell, len(steps)) for cell in range(len(steps) + 1)]
    cells = ((max(left, start), max(right, start)) for left, right in pairwise(edges))
    areas = ((raised(1 - left, power + 1) - raised(1 - right, power + 1)) / (power + 1) for left, right in cells)
    return sum((step * area for step, area in zip(steps, areas, strict=True)), Fraction(0))


def exponent_members() -> st.SearchStrategy[tuple[Squares, Fraction, int]]:
    """Step functions r, a density and a power."""
    levels = st.lists(st.integers(0, GRID), min_size=1, max_size=MAX_DIMENSION)
    steps = levels.map(lambda values: tuple(Fraction(value) for value in sorted(values, reverse=True)))
    densities = st.integers(1, GRID).map(lambda number: Fraction(number, GRID))
    return st.tuples(steps, densities, st.sampled_from(INTEGER_POWERS))


def discrete_margin(squares: Squares, count: int, power: int) -> Fraction:
    """bound − tail/total for v in the class of (d + 1 − i)^power."""
    bound = STATEMENTS["exponent_discrete"].fraction(d=len(squares), k=count, p=Fraction(2, power))
    return bound - tail_ratio(squares, count)


def discrete_members() -> st.SearchStrategy[tuple[Squares, int, int]]:
    """Vectors of the class, a count and a power."""
    return st.sampled_from(INTEGER_POWERS).flatmap(
        lambda power: star_shaped(power_of_ramp(power), max_dimension=MAX_DIMENSION).map(lambda pair: (*pair, power))
    )


def proves(weights: Sequence[int], count: int, bound: Fraction) -> bool:
    """True iff tail(v) ≤ bound · total(v) follows from v_i w_{i+1} ≥ v_{i+1} w_i, by multipliers computed here.

    The multipliers y_i ≥ 0 of those rows must make every coefficient [i > k] − bound + y_i w_{i+1} − y_{i−1} w_{i−1}
    at most zero; all but the last are made zero, from the first on.
    """
    carried = Fraction(0)
    for position, following in enumerate(weights[1:]):
        multiplier = (bound - int(position >= count) + carried) / following
        if multiplier < 0:
            return False
        carried = multiplier * weights[position]
    return int(len(weights) > count) - bound - carried <= 0


def discrete_certificates(profile: Profile) -> Outcome:
    """`rational`: for 2/p = 1..4 and every k, multipliers prove the bound, and the weights attain it."""
    cases = [
        (power_of_ramp(power)(dimension), count, power)
        for power in INTEGER_POWERS
        for dimension in profile.dimensions
        for count in range(1, dimension + 1)
    ]
    proved = [_is_proved_and_sharp(*case) for case in cases]
    return Outcome(earned=bool(proved) and all(proved), detail={"certificates_count": len(proved)})


def _is_proved_and_sharp(weights: Sequence[int], count: int, power: int) -> bool:
    bound = STATEMENTS["exponent_discrete"].fraction(d=len(weights), k=count, p=Fraction(2, power))
    assumed = POWERS["exponent_discrete"](len(weights), assumed_power("exponent_discrete", power))
    return same_weights(weights, assumed) and proves(weights, count, bound) and tail_ratio(weights, count) == bound


def same_weights(weights: Sequence[int], assumed: Sequence[Fraction]) -> bool:
    """Whether whole weights are those that a statement assumes."""
    return [Fraction(weight) for weight in weights] == [*assumed]


def discrete_programmes(profile: Profile) -> Outcome:
    """`numeric`: for irrational weights the worst case of the linear programme is the bound, to its own tolerance.

    The weights are rounded to relative 2^(−50), which moves the optimum by less than 10^(−14): nothing beside 10^(−9).
    """
    errors = [
        (abs(solution.optimum - _discrete_bound(dimension, solution.count, shape)), solution.tolerance)
        for shape in REAL_SHAPES
        for dimension in profile.dimensions
        for solution in worst_cases(star_rows(power_weights(dimension, shape=shape, offset=1)), range(1, dimension + 1))
    ]
    return Outcome(
        earned=bool(errors) and all(error <= tolerance for error, tolerance in errors),
        detail={"programmes_count": len(errors), "largest_solver_error": max(error for error, _ in errors)},
    )


def _discrete_bound(dimension: int, count: int, shape: float) -> float:
    return STATEMENTS["exponent_discrete"].evaluate(d=dimension, k=count, p=shape)


def gini_index(squares: Sequence[Fraction]) -> Fraction:
    """Σ_{i,j} |v_i − v_j| / (2 d Σ v), over all pairs."""
    differences = sum(abs(one - other) for one in squares for other in squares)
    return Fraction(differences) / (2 * len(squares) * sum(squares))


def is_below_power(squares: Sequence[Fraction], power: int) -> bool:
    """True iff the ratio is at most (1 − k/d)^power for every k."""
    dimension = len(squares)
    return all(
        tail_ratio(squares, count) <= (1 - Fraction(count, dimension)) ** power for count in range(1, dimension + 1)
    )


def lorenz_queries() -> tuple[Query, ...]:
    """All sorted squares of two to five coordinates, for q = 2 and q = 3: linear in the squares."""
    return tuple(_lorenz_query(dimension, power) for dimension in QUERIED_DIMENSIONS for power in (2, 3))


def _lorenz_query(dimension: int, power: int) -> Query:
    squares = sympy.symbols(f"v_1:{dimension + 1}", real=True)
    total = sympy.Add(*squares)
    differences = sympy.Add(*(larger - smaller for larger, smaller in combinations(squares, 2)))
    bound, assumed = STATEMENTS["lorenz"].exact(d=dimension, q=power), STATEMENTS["lorenz"].given("kept_back")
    below = (
        sympy.Le(sympy.Add(*squares[count:]), assumed.subs({d: dimension, k: count, q: power}) * total)
        for count in range(1, dimension)
    )
    return Query(
        claim=f"d = {dimension}, q = {power}",
        premises=(*(sympy.Ge(*pair) for pair in pairwise((*squares, sympy.S.Zero))), sympy.Gt(total, 0), *below),
        conclusion=sympy.Ge(differences, bound * dimension * total),
        false_twin=sympy.Ge(differences, sympy.Rational(9, 8) * bound * dimension * total),
    )


def lorenz_margin(squares: Squares, power: int) -> Fraction:
    """Gini − bound for squares whose ratio is at most (1 − k/d)^power for every k.

    Raises:
        ValueError: the ratio is larger for some k.
    """
    if not is_below_power(squares, power):
        raise ValueError(f"some ratio exceeds (1 − k/d)^{power}: {[str(square) for square in squares]}")
    return gini_index(squares) - STATEMENTS["lorenz"].fraction(d=len(squares), q=power)


def lorenz_members() -> st.SearchStrategy[tuple[Squares, int]]:
    """Everything that majorises the extremal vector: energy moves from smaller to larger squares of it."""
    ranks = st.integers(0, MAX_DIMENSION - 1)
    transfers = st.lists(st.tuples(ranks, ranks, st.integers(1, GRID)), max_size=6)
    return st.builds(_moved, st.integers(1, MAX_DIMENSION), st.sampled_from((1, *INTEGER_POWERS)), transfers)


def _moved(dimension: int, power: int, transfers: Sequence[tuple[int, int, int]]) -> tuple[Squares, int]:
    squares = [Fraction(rest**power - (rest - 1) ** power) for rest in range(dimension, 0, -1)]
    for one, other, share in transfers:
        larger, smaller = sorted((one % dimension, other % dimension))
        amount = squares[smaller] * Fraction(share, GRID) if larger < smaller else Fraction(0)
        squares[larger] += amount
        squares[smaller] -= amount
        squares.sort(reverse=True)
    return tuple(squares), power


CHECKS: dict[str, dict[Grade, Check]] = {
    "exponent": {
        "smt": smt_check(exponent_queries),
        "property": property_check(
            exponent_members, exponent_margin, rank=lambda _steps, density, _power: density == 1
        ),
    },
    "exponent_discrete": {
        "rational": discrete_certificates,
        "numeric": discrete_programmes,
        "property": property_check(
            discrete_members, discrete_margin, rank=lambda squares, count, _power: count - len(squares)
        ),
    },
    "lorenz": {
        "smt": smt_check(lorenz_queries),
        "property": property_check(lorenz_members, lorenz_margin, rank=lambda squares, power: -len(squares) * power),
    },
}
"""Every check of these statements and of those of the two files named above, by label and grade."""

EDGES: dict[str, tuple[Remark, ...]] = {
    "exponent": (Edge("kappa <= 1", {"kappa": Fraction(33, 32), "p": 1}),),
    "exponent_discrete": (Unneeded("k <= d", "no more than all d coordinates can be sent; the empty sum is 0"),),
    "lorenz": (
        Unneeded("q >= 1", "for q < 1 every vector meets the hypothesis, and the bound is negative: it is true"),
    ),
}
"""What is said of the conditions, by label."""
