"""The evidence for the lower bounds: the chains as stated and as run, what a run knows, and what slack a chain has."""

from fractions import Fraction

import numpy
import pytest
import sympy
from numpy.typing import NDArray

from sparsync.theory.feedback import chains
from sparsync.verify.feedback.lower_bounds import energy_margin, noisy_margin, share_margin
from sparsync.verify.feedback.runs import chain_runs
from sparsync.verify.feedback.runs.chain_runs import Method, PieceChain, QuadraticChain

ONE = Fraction(1)
PLACES = [Fraction(part, 20) for part in range(-10, 40)]
LONG = 8
"""Links of the chain whose curvature is searched for."""


def as_fraction(value: sympy.Expr) -> Fraction:
    number = sympy.Rational(value)
    return Fraction(int(number.p), int(number.q))


@pytest.mark.parametrize(
    ("pieces", "value", "slope"),
    [
        (chains.OPENING, chain_runs.opening, chain_runs.opening_slope),
        (chains.DROP, chain_runs.drop, chain_runs.drop_slope),
        (chains.WALL, chain_runs.wall, chain_runs.wall_slope),
    ],
)
def test_the_pieces_that_are_stated_are_those_that_are_run(pieces: chains.Pieces, value: object, slope: object) -> None:
    assert callable(value)
    assert callable(slope)
    places = [(place, sympy.Rational(place.numerator, place.denominator)) for place in PLACES]
    assert [value(place) for place, _ in places] == [as_fraction(pieces.at(exact)) for _, exact in places]
    slopes = pieces.derivative()
    assert [slope(place) for place, _ in places] == [as_fraction(slopes.at(exact)) for _, exact in places]


@pytest.mark.parametrize("length", [1, 2, 3])
def test_gradients_are_the_slopes_of_values(length: int) -> None:
    chain, small = PieceChain(length, Fraction(2), Fraction(3)), Fraction(1, 10**6)
    x = tuple(Fraction(part, 3) for part in range(1, length + 1))
    gradient = chain.gradient(x)
    for place in range(length):
        moved = tuple(value + small * (place == other) for other, value in enumerate(x))
        back = tuple(value - small * (place == other) for other, value in enumerate(x))
        slope = (chain.value(moved) - chain.value(back)) / (2 * small)
        assert float(slope) == pytest.approx(float(gradient[place]), abs=1e-4)


def test_the_minimiser_of_the_quadratic_chain_has_no_gradient() -> None:
    chain = QuadraticChain(Fraction(1, 3), 4)
    assert not any(chain.gradient(chain.minimiser))


@pytest.mark.parametrize("kind", ["feedback", "feedback 21", "greedy"])
def test_no_more_coordinates_are_known_than_messages_have_arrived(kind: str) -> None:
    arrivals = [True, False, False, True, True, False]
    chain = PieceChain(5, ONE, ONE)
    known = [chain_runs.known_count(x) for x in Method(kind, Fraction(1, 4)).positions(chain, arrivals)]
    assert all(count <= sum(arrivals[:time]) for time, count in enumerate(known))


def test_the_best_answer_attains_the_bounds_and_error_feedback_does_not() -> None:
    half = Fraction(1, 2)
    feedback = Method("feedback", Fraction(1, 9))
    assert share_margin(QuadraticChain(half, 3), Method("greedy"), half, 3) == 0
    assert share_margin(QuadraticChain(half, 3), feedback, half, 3) > 0
    assert energy_margin(PieceChain(2, ONE, ONE), Method("greedy"), half, 4) == 0
    assert energy_margin(PieceChain(2, ONE, ONE), feedback, half, 4) > 0
    assert noisy_margin(PieceChain(2, ONE, ONE), ONE, 2, 3, None) == 0
    assert noisy_margin(PieceChain(2, ONE, ONE), ONE, 2, 3, Fraction(1, 9)) > 0


def curvature(x: NDArray[numpy.float64]) -> float:
    """The largest eigenvalue, in magnitude, of the second derivatives of the chain of pieces."""
    inside, left, right = numpy.clip(x, 0, 1), numpy.clip(x, 0, 0.4), numpy.clip(x - 0.6, 0, 0.4)
    opened = 25 / 12 * left**2 + 5 / 3 * (inside - left) - 25 / 12 * right**2
    slopes = numpy.clip(numpy.minimum(25 / 6 * x, 25 / 6 * (1 - x)), 0, 5 / 3)
    drop_slopes = numpy.clip(numpy.minimum(1 + 5 * x, 6 - 5 * x), 0, 1)
    drops = (
        2.5 * numpy.clip(x + 0.2, 0, 0.2) ** 2
        + inside
        + numpy.clip(x - 1, 0, 0.2)
        - 2.5 * numpy.clip(x - 1, 0, 0.2) ** 2
    )
    opening = 25 / 6 * (((x > 0) & (x < 0.4)).astype(float) - ((x > 0.6) & (x < 1)))
    walls = 5.0 * ((x > -0.2) & (x < 0))
    dropping = walls - 5.0 * ((x > 1) & (x < 1.2))
    diagonal = walls - numpy.append(1.0, opened[:-1]) * dropping - opening * numpy.append(drops[1:], 0.0)
    beside = -slopes[:-1] * drop_slopes[1:]
    matrix = numpy.diag(diagonal) + numpy.diag(beside, 1) + numpy.diag(beside, -1)
    return float(numpy.abs(numpy.linalg.eigvalsh(matrix)).max())


def test_a_search_finds_a_curvature_below_seven_of_eight_and_a_third() -> None:
    generator = numpy.random.default_rng(5)
    starts = [generator.uniform(-0.2, 1.2, LONG) for _ in range(300)]
    best = max(starts, key=curvature)
    for _ in range(3000):
        moved = best + 0.1 * generator.standard_normal(LONG) * (generator.random(LONG) < 0.3)
        best = max(best, moved, key=curvature)
    assert 6.8 < curvature(best) < 7
