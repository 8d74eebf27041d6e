import json
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction

import pytest

from sparsync.verify.contraction.certificates import (
    CERTIFIED_CLASSES,
    Certificate,
    check,
    coefficients,
    from_json,
    rationalise,
    to_json,
)
from sparsync.verify.contraction.ladder import certified_cases
from sparsync.verify.contraction.margins import exact_bound
from sparsync.verify.contraction.solution import WorstCase
from sparsync.verify.contraction.weights import CLASS_WEIGHTS, END_POINT_WEIGHTS

DIMENSIONS = tuple(range(1, 21))
"""210 pairs (d, k), 209 where d starts at 2."""


def bound_of(label: str, certificate: Certificate) -> Fraction:
    return exact_bound(label, dimension=certificate.dimension, count=certificate.count)


def solver_agrees(solution: WorstCase, certificate: Certificate) -> bool:
    return abs(solution.optimum - float(certificate.bound)) <= solution.tolerance


def certificate_for(class_name: str, *, dimension: int, count: int) -> Certificate:
    return certified_cases(class_name, (dimension,))[count - 1][1]


@pytest.mark.parametrize("label", CLASS_WEIGHTS)
def test_over_two_hundred_certificates_prove_the_closed_form_exactly(label: str) -> None:
    cases = certified_cases(label, DIMENSIONS)
    assert len(cases) == 210
    assert all(check(certificate) for _, certificate in cases)
    assert [certificate.bound for _, certificate in cases] == [bound_of(label, certificate) for _, certificate in cases]
    assert all(
        abs(solution.optimum - float(certificate.bound)) <= solution.tolerance for solution, certificate in cases
    )


@pytest.mark.parametrize("label", END_POINT_WEIGHTS)
def test_over_two_hundred_certificates_for_lines_that_end_at_zero_stay_within_the_bound(label: str) -> None:
    cases = certified_cases(f"{label}_end_point", DIMENSIONS)
    assert len(cases) == 209
    assert all(check(certificate) for _, certificate in cases)
    assert all(certificate.bound <= bound_of(label, certificate) for _, certificate in cases)
    assert all(
        abs(solution.optimum - float(certificate.bound)) <= solution.tolerance for solution, certificate in cases
    )


@pytest.mark.parametrize("class_name", CERTIFIED_CLASSES)
def test_a_smaller_bound_is_not_proved(class_name: str) -> None:
    certificate = certificate_for(class_name, dimension=7, count=3)
    assert not check(replace(certificate, bound=certificate.bound - Fraction(1, 10**12)))


@pytest.mark.parametrize("class_name", CERTIFIED_CLASSES)
@pytest.mark.parametrize("position", range(5))
def test_a_changed_multiplier_breaks_the_certificate(class_name: str, position: int) -> None:
    certificate = certificate_for(class_name, dimension=7, count=3)
    multipliers = list(certificate.multipliers)
    multipliers[position] += Fraction(1, 10**12)
    assert not check(replace(certificate, multipliers=tuple(multipliers)))


def test_a_negative_multiplier_is_not_accepted() -> None:
    # All coefficients are ≤ 0 here: only the sign of y is wrong.
    wrong = Certificate("top_k", 2, 1, (Fraction(-1),), Fraction(2))
    assert all(coefficient <= 0 for coefficient in coefficients(wrong))
    assert not check(wrong)


@pytest.mark.parametrize(
    ("class_name", "claimed"),
    [
        ("square_convex_discrete", "square_convex_end_point"),
        ("top_k", "square_convex"),
        ("square_convex", "bell_shaped"),
    ],
)
def test_the_certificate_of_one_class_proves_nothing_about_another(class_name: str, claimed: str) -> None:
    certificate = certificate_for(class_name, dimension=6, count=2)
    assert not check(replace(certificate, class_name=claimed))


def test_the_multipliers_of_k_do_not_serve_k_plus_one() -> None:
    certificate = certificate_for("square_convex", dimension=6, count=3)
    following = exact_bound("square_convex", dimension=6, count=4)
    assert not check(replace(certificate, count=4, bound=following))


def test_the_smallest_certificate_is_the_one_done_by_hand() -> None:
    # v_1 ≥ v_2: v_2 − (v_1 + v_2)/2 = −(v_1 − v_2)/2.
    certificate = certificate_for("top_k", dimension=2, count=1)
    assert certificate == Certificate("top_k", 2, 1, (Fraction(1, 2),), Fraction(1, 2))
    assert coefficients(certificate) == (Fraction(0), Fraction(0))


@pytest.mark.parametrize("class_name", CERTIFIED_CLASSES)
def test_certificates_survive_json(class_name: str) -> None:
    certificate = certificate_for(class_name, dimension=5, count=2)
    text = json.dumps(to_json(certificate))
    assert from_json(json.loads(text)) == certificate
    assert all("/" in y for y in json.loads(text)["multipliers"])
    assert {"multipliers", "bound"} <= set(json.loads(text))


def test_data_that_is_no_certificate_is_refused() -> None:
    with pytest.raises(ValueError, match="not a certificate"):
        from_json({"class": "top_k", "bound": "1/2"})


@pytest.mark.parametrize(
    "change", [{"class_name": "nothing"}, {"count": 0}, {"count": 3}, {"multipliers": ()}, {"dimension": 4}]
)
def test_an_inconsistent_certificate_is_refused(change: dict[str, object]) -> None:
    certificate = certificate_for("top_k", dimension=2, count=1)
    with pytest.raises(ValueError, match=r"class|count|multipliers"):
        check(replace(certificate, **change))  # type: ignore[arg-type]  # the change is of any field


def solution_with(squares: tuple[float, ...]) -> WorstCase:
    return WorstCase(count=1, optimum=0.5, squares=squares, multipliers=(0.0,) * (len(squares) - 1), status="optimal")


@pytest.mark.parametrize("squares", [(0.0, 1.0), (0.0, 0.0)])
def test_a_solution_without_a_positive_prefix_is_refused(squares: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="not a prefix"):
        rationalise(solution_with(squares), class_name="top_k")


def test_a_misread_active_set_fails_the_check_rather_than_passing() -> None:
    certificate = rationalise(solution_with((0.5, 0.5, 0.0)), class_name="top_k")
    assert not check(certificate)


def test_an_unknown_class_is_refused() -> None:
    with pytest.raises(ValueError, match="'nothing'"):
        rationalise(solution_with((0.5, 0.5)), class_name="nothing")


def test_checking_needs_no_solver_and_no_sympy() -> None:
    program = (
        "import sys\n"
        "import sparsync.verify.contraction.certificates\n"
        "assert not {'cvxpy', 'sympy', 'numpy', 'torch', 'sparsync.theory'} & set(sys.modules)\n"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
