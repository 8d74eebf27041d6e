import contextlib
import math
import random
from collections.abc import Iterator
from fractions import Fraction

import pytest
import sympy

from sparsync.theory.statements import STATEMENTS

WHOLE: tuple[int | Fraction, ...] = (0, 1, 2, 3, 5, 16, 101, 1000, 10**6, 10**12, 2**53 + 1)
PARTS = tuple(Fraction(1, 10**power) for power in (300, 100, 18, 12, 6, 3, 1))
REAL = (*PARTS, Fraction(1, 3), Fraction(1, 2), *(1 - part for part in PARTS[2:]), *(1 / part for part in PARTS))
NUMBERS: tuple[int | Fraction, ...] = (0, *REAL, 1, Fraction(3, 2), *(-number for number in REAL))
Point = dict[str, int | Fraction]
DRAWS_COUNT, POINTS_COUNT = 60, 4
FAMILIES = ("contraction", "laws", "selectors")
OURS = [label for label, made in STATEMENTS.items() if made.module.split(".")[2] in FAMILIES]
SHARES = {"delta", "epsilon", "rho", "rho_E", "ratio_distance", "sample_deviation", "deviation_probability"}
"""Left sides that are shares or probabilities, as the statements of these families write them."""


def admissible(label: str) -> Iterator[Point]:
    """Points of the domain with very small and very large numbers, each a change of one number of the last."""
    statement, draws = STATEMENTS[label], random.Random(label)
    fitting = {
        str(symbol.name): tuple(number for number in _tried(symbol) if fits(symbol, number))
        for symbol in statement.parameters
    }
    found: Point = {}
    for _ in range(DRAWS_COUNT):
        point: Point = {name: draws.choice(numbers) for name, numbers in fitting.items()}
        if found and len(point) > 1:
            changed = draws.choice(sorted(point))
            point = {**found, changed: point[changed]}
        if statement.admits(**point):
            found = point
            yield point


def _tried(symbol: sympy.Symbol) -> tuple[int | Fraction, ...]:
    return WHOLE if symbol.is_integer else NUMBERS


def fits(symbol: sympy.Symbol, number: int | Fraction) -> bool:
    value = sympy.Rational(number.numerator, number.denominator)
    return all(getattr(value, f"is_{fact}") is expected for fact, expected in symbol.assumptions0.items())


def values(label: str, *, count: int) -> list[float]:
    """The numbers found at the first points; where none is found the error is of a kind that callers expect."""
    numbers = []
    for _, point in zip(range(count), admissible(label), strict=False):
        with contextlib.suppress(ValueError, OverflowError):
            numbers.append(STATEMENTS[label].evaluate(**point))
    return numbers


@pytest.mark.slow
@pytest.mark.parametrize("label", STATEMENTS)
def test_extreme_numbers_give_a_finite_number_or_an_error_that_callers_expect(label: str) -> None:
    assert all(math.isfinite(number) for number in values(label, count=POINTS_COUNT))


@pytest.mark.slow
@pytest.mark.parametrize("label", [label for label in OURS if str(STATEMENTS[label].relation.lhs) in SHARES])
def test_a_bound_on_a_share_is_no_more_than_all_and_no_less_than_nothing(label: str) -> None:
    assert all(0 <= number <= 1 for number in values(label, count=POINTS_COUNT))


@pytest.mark.parametrize(
    ("label", "numbers"),
    [
        pytest.param(  # it takes as long itself as the four others a hundred times
            *("generalised_gaussian_gain_lower", {"beta": Fraction(1, 10**300), "kappa": 0.99}), marks=pytest.mark.slow
        ),
        ("gamma_law", {"shape": 10**300, "kappa": 0.5}),
        ("student_t_law", {"df": 10**300, "kappa": 0.5}),
        ("sampled_gaussian_divergence", {"order": 10**12, "sample_share": 0.5, "noise_ratio": 1}),
        ("switch_time", {"growth": 10, "longest_duration": 2, "n": 3000}),
    ],
)
def test_what_would_take_long_is_refused(label: str, numbers: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=f"^{label}: no number at"):
        STATEMENTS[label].evaluate(**numbers)


@pytest.mark.parametrize("updates", [10**6, 10**12])
@pytest.mark.parametrize("agreement", [Fraction(1, 2), Fraction(1, 10**140), Fraction(1, 10**300)])
def test_the_rate_of_coherent_descent_takes_no_longer_for_more_updates(updates: int, agreement: Fraction) -> None:
    numbers = {"delay": 3, "smoothness": 1, "variance": 0, "coherence": agreement, "gap": agreement**2}
    rate = STATEMENTS["coherence_rate"].evaluate(T=updates, **numbers)
    assert rate == pytest.approx(2 / math.sqrt(updates), rel=0.01)


def test_powers_of_many_digits_are_not_multiplied_out() -> None:
    assert STATEMENTS["random_union"].evaluate(d=33, kappa=0.1, n=10**18) == 33
    chance = STATEMENTS["psp_pass_bound"].evaluate(laggard_count=1, n=10**9, sample_count=10**8)
    assert chance == pytest.approx(math.exp(10**8 * math.log1p(-1 / (10**9 - 1))), rel=1e-14)
