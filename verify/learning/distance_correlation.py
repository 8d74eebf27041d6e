"""What evidence is there for the statements on distance correlation? All pairings of a few examples, in fractions.

Distances are listed or drawn; they are those of points on a line, or any symmetric numbers, as no statement needs more.
Means over all permutations are added up one by one. Ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import permutations
from math import factorial

import sympy
from hypothesis import strategies as st

from sparsync.theory.language.symbols import first_excess, second_excess
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.learning import edges
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.tools.properties import Members, property_check
from sparsync.verify.tools.smt import Query, smt_check

LEAST_EXAMPLES, MOST_EXAMPLES = 4, 5
"""Of these there are 24 and 120 pairings."""

Distances = Sequence[Sequence[Fraction]]
"""[n][n], symmetric, zero on the diagonal."""


def doubly_centred(distances: Distances) -> list[list[Fraction]]:
    """Less the means of row and column, plus that of all n²."""
    count = len(distances)
    means = [sum(row, Fraction(0)) / count for row in distances]
    whole = sum(means, Fraction(0)) / count
    return [[distances[i][j] - means[i] - means[j] + whole for j in range(count)] for i in range(count)]


def u_centred(distances: Distances) -> list[list[Fraction]]:
    """Less row and column sums over n − 2, plus the total over (n − 1)(n − 2); zero on the diagonal."""
    count = len(distances)
    sums = [sum(row, Fraction(0)) for row in distances]
    whole = sum(sums, Fraction(0)) / ((count - 1) * (count - 2))
    return [
        [distances[i][j] - (sums[i] + sums[j]) / (count - 2) + whole if i != j else Fraction(0) for j in range(count)]
        for i in range(count)
    ]


def product_sum(first: Distances, second: Distances) -> Fraction:
    """Σ_ij of the products."""
    return sum(
        (one * other for row, line in zip(first, second, strict=True) for one, other in zip(row, line, strict=True)),
        Fraction(0),
    )


def biased(first: Distances, second: Distances) -> Fraction:
    """V(a, b)."""
    return product_sum(doubly_centred(first), doubly_centred(second)) / len(first) ** 2


def corrected(first: Distances, second: Distances) -> Fraction:
    """U(a, b)."""
    return product_sum(u_centred(first), u_centred(second)) / (len(first) * (len(first) - 3))


def pairings(distances: Distances) -> Iterator[Distances]:
    """The distances of the same examples in every order."""
    for order in permutations(range(len(distances))):
        yield [[distances[i][j] for j in order] for i in order]


def permuted_mean(first: Distances, second: Distances, value: Callable[[Distances, Distances], Fraction]) -> Fraction:
    """The mean of a value over all pairings."""
    return sum((value(first, paired) for paired in pairings(second)), Fraction(0)) / factorial(len(second))


def mean_distance(distances: Distances) -> Fraction:
    """Of two different examples."""
    return product_sum(distances, [[Fraction(1)] * len(distances)] * len(distances)) / (
        len(distances) * (len(distances) - 1)
    )


def excess(distances: Distances) -> Fraction:
    """ψ."""
    count = len(distances)
    return count**2 * biased(distances, distances) / ((count - 1) * mean_distance(distances) ** 2) - 1


def row_covariance(first: Distances, second: Distances) -> Fraction:
    """C, of the examples' mean distances."""
    count = len(first)
    means = [[sum(row, Fraction(0)) / (count - 1) for row in distances] for distances in (first, second)]
    middles = [mean_distance(distances) for distances in (first, second)]
    terms = ((one - middles[0]) * (other - middles[1]) for one, other in zip(*means, strict=True))
    return sum(terms, Fraction(0)) / count


def on_line(points: Sequence[Fraction]) -> Distances:
    """Distances of points on a line."""
    return [[abs(one - other) for other in points] for one in points]


def equal(count: int, size: Fraction) -> Distances:
    """All alike."""
    return [[size * (i != j) for j in range(count)] for i in range(count)]


def equal_margin(count: int, first: Fraction, second: Fraction) -> Fraction:
    """Minus the difference of V(a, b)²/(V(a, a)V(b, b)) from the square of what is stated, for equal distances."""
    a, b = equal(count, first), equal(count, second)
    stated = STATEMENTS["equal_distance_correlation"].fraction(sample_size=count)
    return -abs(biased(a, b) ** 2 / (biased(a, a) * biased(b, b)) - stated**2)


def permuted_margin(first: Distances, second: Distances) -> Fraction:
    """Minus the difference of the mean of V over all pairings from what is stated."""
    stated = STATEMENTS["permuted_distance_covariance"].fraction(
        sample_size=len(first), first_distance=mean_distance(first), second_distance=mean_distance(second)
    )
    return -abs(permuted_mean(first, second, biased) - stated)


def correlation_margin(first: Distances, second: Distances) -> Fraction:
    """The square of the mean of the biased form's square over all pairings, less that of the bound."""
    bound = STATEMENTS["permuted_distance_correlation"].fraction(
        first_excess=excess(first), second_excess=excess(second)
    )
    mean = permuted_mean(first, second, biased)
    return mean**2 / (biased(first, first) * biased(second, second)) - bound**2


def bias_margin(first: Distances, second: Distances) -> Fraction:
    """Minus the difference of V from what is stated by U."""
    stated = STATEMENTS["distance_covariance_bias"].fraction(
        sample_size=len(first),
        corrected_covariance=corrected(first, second),
        row_covariance=row_covariance(first, second),
        first_distance=mean_distance(first),
        second_distance=mean_distance(second),
    )
    return -abs(biased(first, second) - stated)


def square_margin(first: Distances, second: Distances) -> Fraction:
    """Minus the difference of the corrected form's mean square over all pairings from the stated, and of its mean."""
    variances = corrected(first, first) * corrected(second, second)
    if variances == 0:
        return Fraction(0)
    square = permuted_mean(first, second, lambda one, other: corrected(one, other) ** 2) / variances
    stated = STATEMENTS["permuted_corrected_square"].fraction(sample_size=len(first))
    return -abs(square - stated) - abs(permuted_mean(first, second, corrected))


def slope_margin(first: Distances, second: Distances, place: tuple[int, int], move: Fraction) -> Fraction:
    """Minus the difference of V's slope in a distance from the stated; V is a straight line in it."""
    moved = [list(row) for row in first]
    for i, j in (place, place[::-1]):
        moved[i][j] += move
    slope = (biased(moved, second) - biased(first, second)) / move
    stated = STATEMENTS["distance_covariance_slope"].fraction(
        sample_size=len(first), centred_distance=doubly_centred(second)[place[0]][place[1]]
    )
    return -abs(slope - stated)


def listed_samples() -> list[tuple[Distances, Distances]]:
    """Points on a line, equally far from their neighbours or not, with each other and with equal distances."""
    found: list[tuple[Distances, Distances]] = []
    for count in range(LEAST_EXAMPLES, MOST_EXAMPLES + 1):
        even = on_line([Fraction(place) for place in range(count)])
        growing = on_line([Fraction(place**2, 2) for place in range(count)])
        turned = on_line([Fraction((2 * place) % count) for place in range(count)])
        found += [(even, even), (even, growing), (growing, turned), (growing, equal(count, Fraction(2)))]
    return found


def samples_check(margin: Callable[[Distances, Distances], Fraction]) -> Check:
    """The grade `rational`: no listed sample has a negative margin."""

    def check(_profile: Profile) -> Outcome:
        wrong = [place for place, samples in enumerate(listed_samples()) if margin(*samples) < 0]
        return Outcome(earned=not wrong, detail={"cases_count": len(listed_samples()), "wrong_places": wrong})

    return check


def equal_check(profile: Profile) -> Outcome:
    """`rational`: equal distances of up to as many examples as the profile has dimensions."""
    counts = [count for count in profile.dimensions if count >= 2]
    wrong = [count for count in counts if equal_margin(count, Fraction(3, 2), Fraction(1, 5))]
    return Outcome(earned=bool(counts) and not wrong, detail={"cases_count": len(counts), "wrong_counts": wrong})


def slope_check(_profile: Profile) -> Outcome:
    """`rational`: every distance of the listed samples is moved."""
    cases = [(first, second, (i, j)) for first, second in listed_samples() for i in range(len(first)) for j in range(i)]
    wrong = [place for first, second, place in cases if slope_margin(first, second, place, Fraction(1, 3))]
    return Outcome(earned=not wrong, detail={"cases_count": len(cases), "wrong_places": wrong[:3]})


def floor_queries() -> tuple[Query, ...]:
    """The mean m with m²xy = 1 is at least the bound, x and y one more than the excesses."""
    x, y, mean = sympy.symbols("x y m", real=True)
    bound = STATEMENTS["permuted_distance_correlation"].bound
    numerator, denominator = sympy.fraction(sympy.together(bound.xreplace({first_excess: x - 1, second_excess: y - 1})))
    premises = (sympy.Ge(x, 1), sympy.Ge(y, 1), sympy.Gt(mean, 0), sympy.Eq(mean**2 * x * y, 1))
    return (
        Query(
            "the geometric mean is below the arithmetic one",
            premises,
            sympy.Ge(mean * denominator, numerator),
            sympy.Ge(mean * denominator, 2 * numerator),
        ),
    )


def sample_cases(*, is_doubled: bool = False) -> Members:
    """Any symmetric distances of a few examples, not all zero; of a few cases, twice the same sample.

    Args:
        is_doubled: half of the cases are a sample with itself.
    """
    sizes = st.integers(0, 8).map(lambda halves: Fraction(halves, 2))

    def of_count(count: int) -> Members:
        pairs = [(i, j) for i in range(count) for j in range(i)]
        drawn = st.lists(sizes, min_size=len(pairs), max_size=len(pairs)).filter(any)
        matrices = drawn.map(lambda entries: _symmetric(count, dict(zip(pairs, entries, strict=True))))
        both = st.tuples(matrices, matrices)
        return both | matrices.map(lambda one: (one, one)) if is_doubled else both

    # Of five examples there are too many pairings for a search.
    return st.integers(LEAST_EXAMPLES, LEAST_EXAMPLES).flatmap(of_count)


def equal_cases() -> Members:
    """Numbers of examples, and two distances."""
    sizes = st.integers(1, 12).map(lambda thirds: Fraction(thirds, 3))
    return st.tuples(st.integers(2, 9), sizes, sizes)


def slope_cases() -> Members:
    """Samples with the place of a distance and how far it moves."""
    places = st.sampled_from([(i, j) for i in range(LEAST_EXAMPLES) for j in range(i)])
    moves = st.sampled_from((Fraction(1, 3), Fraction(-1, 7), Fraction(2)))
    drawn = st.tuples(sample_cases(), places, moves)
    return drawn.map(lambda parts: (*parts[0], parts[1], parts[2]))


def _symmetric(count: int, entries: dict[tuple[int, int], Fraction]) -> Distances:
    return [[entries[max(i, j), min(i, j)] if i != j else Fraction(0) for j in range(count)] for i in range(count)]


CHECKS: dict[str, dict[Grade, Check]] = {
    "equal_distance_correlation": {"rational": equal_check, "property": property_check(equal_cases, equal_margin)},
    "permuted_distance_covariance": {
        "rational": samples_check(permuted_margin),
        "property": property_check(sample_cases, permuted_margin),
    },
    "permuted_distance_correlation": {
        "smt": smt_check(floor_queries),
        "rational": samples_check(correlation_margin),
        "property": property_check(lambda: sample_cases(is_doubled=True), correlation_margin),
    },
    "distance_covariance_bias": {
        "rational": samples_check(bias_margin),
        "property": property_check(sample_cases, bias_margin),
    },
    "permuted_corrected_square": {
        "rational": samples_check(square_margin),
        "property": property_check(sample_cases, square_margin),
    },
    "distance_covariance_slope": {
        "rational": slope_check,
        "property": property_check(slope_cases, slope_margin),
    },
}
"""The checks of this file, by label and grade."""

EDGES = edges.DISTANCES
"""Beyond the conditions."""
