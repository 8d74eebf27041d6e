from collections.abc import Callable

import pytest
import sympy

from sparsync.theory.contraction.ladder import COUNT_DOMAIN
from sparsync.theory.contraction.profile import cell_average_step, exponent_bound, exponent_theorem
from sparsync.theory.contraction.tail import (
    convex_sequence_step,
    inclusion_step,
    is_nonnegative_polynomial,
    ratio_steps,
    tail_lemma,
)
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import d, i, k

Weight = Callable[[sympy.Expr], sympy.Expr]


def holds(steps: tuple[Step, ...]) -> list[bool]:
    return [step.holds() for step in steps]


def test_the_tail_lemma_holds_for_symbolic_dimensions() -> None:
    assert all(holds(tail_lemma()))


def test_the_exponent_theorem_holds_for_symbolic_exponents() -> None:
    assert all(holds(exponent_theorem()))


@pytest.mark.parametrize(("shape", "exponent"), [(1, 3), (2, 2), (sympy.oo, 1)])
def test_the_exponent_is_one_plus_two_over_p(shape: sympy.Expr, exponent: int) -> None:
    assert sympy.simplify(exponent_bound(sympy.sympify(shape)) - (1 - k / d) ** exponent) == 0


@pytest.mark.parametrize(
    ("weight", "closed_tail", "wrong_tail"),
    [
        (lambda rank: d + 1 - rank, (d - k) * (d - k + 1) / 2, (d - k) * (d - k - 1) / 2),
        (lambda rank: d - rank, (d - k) * (d - k - 1) / 2, (d - k) * (d - k + 1) / 2),
        (lambda rank: 2 * (d - rank) + 1, (d - k) ** 2, (d - k) ** 3),
        (lambda _rank: sympy.Integer(1), d - k, d - k - 1),
    ],
)
def test_closed_sums_are_checked(weight: Weight, closed_tail: sympy.Expr, wrong_tail: sympy.Expr) -> None:
    closed_ratio = closed_tail / closed_tail.subs(k, 0)
    assert holds(ratio_steps(weight, closed_tail, closed_ratio)) == [True, True]
    assert holds(ratio_steps(weight, wrong_tail, closed_ratio)) == [False, True]


@pytest.mark.parametrize(
    "wrong",
    [
        (1 - k / d) ** 2,
        (1 - k / d) * (1 - k / (d - 1)),
        (1 - (k + 1) / d) * (1 - (k + 1) / (d + 1)),
        (1 - k / d) * (1 - k / (d + 2)),
    ],
)
def test_a_wrong_ratio_for_the_ramp_is_rejected(wrong: sympy.Expr) -> None:
    assert holds(ratio_steps(lambda rank: d + 1 - rank, (d - k) * (d - k + 1) / 2, wrong)) == [True, False]


def test_a_smaller_class_is_included_and_a_larger_one_is_not() -> None:
    def smaller(rank: sympy.Expr) -> sympy.Expr:
        return d - rank

    def larger(rank: sympy.Expr) -> sympy.Expr:
        return 2 * (d - rank) + 1

    assert inclusion_step(smaller, larger).holds()
    assert not inclusion_step(larger, smaller).holds()


def test_a_wrong_cell_average_is_rejected() -> None:
    assert cell_average_step(sympy.Integer(2), 2 * (d - i) + 1, 2 * d).holds()
    assert not cell_average_step(sympy.Integer(2), 2 * (d - i) + 2, 2 * d).holds()
    assert not cell_average_step(sympy.Integer(1), 2 * (d - i) + 1, 2 * d).holds()


def test_convex_sequences_are_star_shaped() -> None:
    assert convex_sequence_step().holds()


def test_a_negative_coefficient_decides_nothing() -> None:
    assert is_nonnegative_polynomial(d**2 + 3 * k, d, k) == sympy.true
    assert is_nonnegative_polynomial(d**2 - k, d, k) == sympy.false


def test_the_domain_admits_sending_everything() -> None:
    assert COUNT_DOMAIN[0].subs({k: 5, d: 5}) == sympy.true
