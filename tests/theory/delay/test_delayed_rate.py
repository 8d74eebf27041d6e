"""The best contraction under a fixed delay: by hand, outside its domain, and with broken formulas."""

import math
from collections.abc import Callable
from fractions import Fraction

import pytest
import sympy

from sparsync.theory.delay import delayed_rate, stability
from sparsync.theory.language.symbols import tau
from sparsync.theory.statements import STATEMENTS


@pytest.mark.parametrize(
    ("steps_late", "expected"),
    [(0, 0), (1, Fraction(1, 2)), (9, Fraction(9, 10)), (10**9, 1 - Fraction(1, 10**9 + 1))],
)
def test_the_best_rate_is_rational(steps_late: int, expected: Fraction) -> None:
    assert STATEMENTS["delayed_descent_rate"].exact(delay=steps_late) == sympy.Rational(expected)


def test_at_the_best_step_of_delay_one_both_roots_are_one_half() -> None:
    z = sympy.Symbol("z")
    assert sympy.roots(z**2 - z + sympy.Rational(1, 4), z) == {sympy.Rational(1, 2): 2}


@pytest.mark.parametrize(
    ("label", "numbers"),
    [
        ("delayed_descent_rate", {"delay": math.nan}),
    ],
)
def test_numbers_outside_the_domain_are_refused(label: str, numbers: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=label):
        STATEMENTS[label].evaluate(**numbers)


@pytest.mark.parametrize(
    ("name", "replacement"),
    [
        ("descent_polynomial", lambda: stability.ROOT ** (tau + 2) - stability.ROOT**tau + stability.STEP),
        ("descent_step", lambda: stability.ROOT**tau * (2 - stability.ROOT)),
        ("_scaled_factors", lambda last: last * stability.ROOT**last - 1),
        ("_geometric", lambda last: (stability.ROOT**last + 1) / (stability.ROOT - 1)),
    ],
)
def test_a_broken_formula_leaves_a_claim_about_the_rate_unproved(
    name: str, replacement: Callable[..., object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delayed_rate, name, replacement)
    assert not all(step.holds() for step in STATEMENTS["delayed_descent_rate"].derivation)
