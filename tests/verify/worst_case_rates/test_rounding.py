"""Systems by hand, whose exact solutions a person sees."""

from fractions import Fraction

import pytest

from sparsync.verify.worst_case_rates.exact_algebra import Completion, common_kernel, is_positive_semidefinite
from sparsync.verify.worst_case_rates.rounding import NotRoundedError, exact_solution
from sparsync.verify.worst_case_rates.systems import System, made_sum
from sparsync.verify.worst_case_rates.vectors import Form, Vector

X, Y, Z = (Vector({name: Fraction(1)}) for name in "xyz")


def system(constant: Form, **terms: Form) -> System:
    return System(tuple(terms), frozenset(terms), (made_sum(constant, terms),), ())


def test_a_solution_with_room_is_rounded() -> None:
    found = exact_solution(system(-(X**2) - Y**2, a=X**2, b=Y**2))
    assert found["a"] >= 1
    assert found["b"] >= 1


def test_a_solution_that_is_forced_is_exact() -> None:
    touching = system(-2 * X @ Y, a=X**2 + Y**2, b=-(X**2) - Y**2)
    assert exact_solution(touching)["a"] >= 1
    forced = System(
        ("a",), frozenset("a"), (made_sum(-2 * X @ Y, {"a": X**2 + Y**2}),), (({"a": Fraction(1)}, Fraction(1)),)
    )
    assert exact_solution(forced) == {"a": 1}


def test_a_sum_that_is_never_a_square_has_no_solution() -> None:
    with pytest.raises(NotRoundedError, match="there is no solution: the best violates"):
        exact_solution(system(-(X**2), a=Y**2))


def test_an_irrational_boundary_is_not_rounded() -> None:
    """x² + 2a xy + 2y² with a² ≥ 2 forced by an equation of its trace: only a = √2, which is no fraction."""
    pinched = System(
        ("a", "b"),
        frozenset("ab"),
        (
            made_sum(X**2 + 2 * Y**2, {"a": 2 * X @ Y}),
            made_sum(Z**2, {"a": Z @ Y, "b": Y**2}),
        ),
        (({"b": Fraction(1)}, Fraction(1, 2)), ({"a": Fraction(1)}, Fraction(3, 2))),
    )
    with pytest.raises(NotRoundedError):
        exact_solution(pinched)


def test_vectors_that_change_no_form_are_left_out() -> None:
    shifted = made_sum((X - Y) ** 2, {"a": (Y - Z) ** 2})
    assert len(shifted.names) == 2
    (kernel,) = common_kernel([(X - Y) ** 2, (Y - Z) ** 2], "xyz")
    assert set(kernel.values()) == {1}


def test_equations_move_the_first_unknowns() -> None:
    completion = Completion([({"a": Fraction(2), "b": Fraction(1)}, Fraction(3))], ["a", "b", "c"])
    guess = {"a": Fraction(0), "b": Fraction(2), "c": Fraction(7)}
    assert completion.at(guess) == {"a": Fraction(1, 2), "b": 2, "c": 7}
    assert completion.solvable
    assert not Completion([({}, Fraction(1))], []).solvable


@pytest.mark.parametrize(
    ("matrix", "holds"),
    [
        ([[1, 2], [2, 4]], True),
        ([[1, 2], [2, 3]], False),
        ([[0, 1], [1, 1]], False),
        ([[0, 0], [0, 1]], True),
        ([], True),
    ],
)
def test_squares_are_told_from_what_is_none(matrix: list[list[int]], holds: bool) -> None:
    assert is_positive_semidefinite([[Fraction(entry) for entry in row] for row in matrix]) is holds
