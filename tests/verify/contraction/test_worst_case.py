import math
from fractions import Fraction

import cvxpy
import numpy
import pytest

from sparsync.verify.contraction.counterexamples import below_line_extremal
from sparsync.verify.contraction.margins import exact_bound
from sparsync.verify.contraction.solution import SOLVER_TOLERANCE
from sparsync.verify.contraction.weights import CLASS_WEIGHTS, is_star_shaped, ramp, tail_ratio
from sparsync.verify.contraction.worst_case import (
    SOLVERS,
    below_line_rows,
    convex_rows,
    power_weights,
    star_rows,
    worst_cases,
)

DIMENSIONS = (1, 2, 3, 7, 12)


@pytest.mark.parametrize("label", CLASS_WEIGHTS)
@pytest.mark.parametrize("dimension", DIMENSIONS)
@pytest.mark.parametrize("solver", SOLVERS)
def test_the_optimum_is_the_statement_s_bound_for_every_count(label: str, dimension: int, solver: str) -> None:
    counts = range(1, dimension + 1)
    solutions = worst_cases(star_rows(CLASS_WEIGHTS[label](dimension)), counts, solver=solver)
    bounds = [float(exact_bound(label, dimension=dimension, count=count)) for count in counts]
    excess = [
        abs(solution.optimum - bound) - solution.tolerance for solution, bound in zip(solutions, bounds, strict=True)
    ]
    assert max(excess) <= 0


def test_the_tolerance_is_far_below_the_difference_of_neighbouring_bounds() -> None:
    (solution,) = worst_cases(star_rows(ramp(12)), [5])
    difference = exact_bound("square_convex_discrete", dimension=12, count=5) - exact_bound(
        "square_convex_discrete", dimension=12, count=6
    )
    assert solution.tolerance < float(difference) / 1000


@pytest.mark.parametrize("shape", [0.5, 1.0, 2.0, 3.0, 7.5, math.inf])
@pytest.mark.parametrize("offset", [0, 1])
@pytest.mark.parametrize("count", [1, 3, 6])
def test_for_any_exponent_the_weights_themselves_are_worst(shape: float, offset: int, count: int) -> None:
    weights = power_weights(7, shape=shape, offset=offset)
    (solution,) = worst_cases(star_rows(weights), [count])
    assert abs(solution.optimum - sum(weights[count:]) / sum(weights)) <= solution.tolerance


@pytest.mark.parametrize(("shape", "label"), [(math.inf, "top_k"), (2.0, "square_convex_discrete")])
def test_power_weights_agree_with_the_exact_classes(shape: float, label: str) -> None:
    assert power_weights(9, shape=shape, offset=1) == CLASS_WEIGHTS[label](9)


def test_the_worst_vector_is_the_extremal_one() -> None:
    (solution,) = worst_cases(star_rows(ramp(6)), [2])
    # Neighbouring components of the extremal vector differ by 1/21; the solver's are off by far less.
    assert numpy.allclose(solution.squares, numpy.array(ramp(6)) / 21, rtol=0, atol=1e-6)
    assert solution.positive == (True,) * 6
    assert min(solution.multipliers) >= -SOLVER_TOLERANCE


def test_below_the_line_alone_the_worst_case_exceeds_the_published_bound() -> None:
    (solution,) = worst_cases(below_line_rows(10), [3])
    assert abs(solution.optimum - 5 / 9) <= solution.tolerance
    assert solution.optimum - solution.tolerance > 0.49
    assert tail_ratio(below_line_extremal(10, 5), 3) == Fraction(5, 9)


@pytest.mark.parametrize(("count", "dimension"), [(1, 2), (3, 10), (5, 10), (4, 15)])
def test_below_the_line_the_flat_then_line_vector_is_worst(count: int, dimension: int) -> None:
    (solution,) = worst_cases(below_line_rows(dimension), [count])
    best = max(tail_ratio(below_line_extremal(dimension, level), count) for level in range(1, dimension + 1))
    assert abs(solution.optimum - float(best)) <= solution.tolerance


@pytest.mark.parametrize(("count", "dimension"), [(1, 3), (3, 10), (9, 10)])
def test_convexity_alone_gives_only_the_classical_bound(count: int, dimension: int) -> None:
    (solution,) = worst_cases(convex_rows(dimension), [count])
    assert abs(solution.optimum - (1 - count / dimension)) <= solution.tolerance


@pytest.mark.parametrize(
    "status",
    [
        "optimal_inaccurate",
        "infeasible",
        "infeasible_inaccurate",
        "unbounded",
        "unbounded_inaccurate",
        "infeasible_or_unbounded",
        "user_limit",
        "solver_error",
    ],
)
@pytest.mark.parametrize("solver", SOLVERS)
def test_any_status_but_optimal_is_an_error_that_names_it(
    status: str, solver: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cvxpy.Problem, "status", property(lambda _problem: status))
    with pytest.raises(RuntimeError, match=f"'{status}'"):
        worst_cases(star_rows(ramp(4)), [2], solver=solver)


def test_an_infeasible_programme_is_an_error() -> None:
    all_negative = -numpy.eye(3)
    with pytest.raises(RuntimeError, match="infeasible"):
        worst_cases(all_negative, [1])


@pytest.mark.parametrize("count", [0, 5, -1])
def test_a_count_out_of_range_is_refused(count: int) -> None:
    with pytest.raises(ValueError, match=str(count)):
        worst_cases(star_rows(ramp(4)), [count])


@pytest.mark.parametrize("weights", [(1, 2), (0, 0, 0), (2, 0, 0), (1, -1, -2)])
def test_weights_that_are_no_decreasing_sequence_are_refused(weights: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="weights must be non-increasing"):
        star_rows(weights)


@pytest.mark.parametrize(("shape", "offset"), [(0.0, 1), (-1.0, 1), (math.nan, 1), (2.0, 2)])
def test_a_shape_that_is_not_positive_is_refused(shape: float, offset: int) -> None:
    with pytest.raises(ValueError, match="shape must be positive"):
        power_weights(4, shape=shape, offset=offset)


def test_rows_describe_the_class() -> None:
    member, outsider = (8, 3, 2, 0), (4, 3, 2, 2)
    rows = star_rows(ramp(4))
    assert bool((rows @ numpy.array(member) >= 0).all()) is is_star_shaped([Fraction(v) for v in member], ramp(4))
    assert bool((rows @ numpy.array(outsider) >= 0).all()) is is_star_shaped([Fraction(v) for v in outsider], ramp(4))
