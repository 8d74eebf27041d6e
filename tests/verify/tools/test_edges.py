from fractions import Fraction

import pytest
import sympy

from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import d, k, kappa, ratio
from sparsync.verify.tools.edges import Edge, Unneeded, admitted, breaks, widened

SHARE = Statement(
    label="share",
    title="what is left",
    assumptions=(),
    relation=sympy.Le(ratio, 1 - k / d, evaluate=False),
    domain=(sympy.Le(k, d),),
    source="test",
    derivation=(Step("nothing", None, argued="all"),),
)
"""Of a share, which is never negative."""


def test_a_negative_bound_of_a_share_breaks_the_statement() -> None:
    edge = Edge("k <= d", {"k": 4, "d": 3})
    assert breaks(SHARE, edge)
    assert admitted(SHARE, (edge,)) == ()


def test_a_domain_that_lets_a_false_point_in_is_told() -> None:
    edge = Edge("k <= d", {"k": 2, "d": 3}, left=lambda: Fraction(1, 2))
    assert admitted(SHARE, (edge, Unneeded("k <= d", "none"))) == (
        "it is false at {'k': 2, 'd': 3}, which the domain admits",
    )


@pytest.mark.parametrize(
    ("left", "expected"),
    [(Fraction(1, 3), False), (Fraction(1, 3) + Fraction(1, 10**30), True), (1 / 3, False), (0.3334, True)],
)
def test_a_left_side_breaks_a_bound_only_beyond_its_rounding(left: Fraction | float, *, expected: bool) -> None:
    assert breaks(SHARE, Edge("k <= d", {"k": 2, "d": 3}, left=lambda: left)) is expected


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (sympy.Le(k, d), sympy.Le(k, d + 1)),
        (sympy.Le(kappa, 2), sympy.Le(kappa, sympy.Rational(17, 8))),
        (sympy.Gt(kappa, 2), sympy.Gt(kappa, sympy.Rational(15, 8))),
        (sympy.Ge(kappa - 1, 0), sympy.Ge(kappa - 1, -sympy.Rational(1, 16))),
    ],
)
def test_a_condition_gives_way_by_one_or_by_a_sixteenth(condition: sympy.Expr, expected: sympy.Expr) -> None:
    assert widened(condition) == expected


def test_an_equation_cannot_give_way() -> None:
    with pytest.raises(ValueError, match="only an inequality"):
        widened(sympy.Eq(k, d))
