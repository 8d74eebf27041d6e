import re
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement

import pytest
import sympy

from sparsync.theory.statements import FAMILIES, STATEMENTS
from sparsync.verify.contraction.weights import CLASS_WEIGHTS, END_POINT_WEIGHTS, tail_ratio
from tests.support.slow_cases import LONG, slow_except

PAIRS = list(combinations_with_replacement(range(1, 9), 2))

TEX_COMMANDS = """
Delta Gamma Lambda Phi Pr Sigma alpha arctan arg bar begin beta bigcup binom cdot circ cos delta dots downarrow ell end
epsilon eta frac gamma ge geq hat in inf infty int kappa lVert lambda langle lceil le left leftarrow leq lfloor lim
limsup ln log lvert mathbb mathcal mathrm mathsf max mid min mu nabla neq nu omega operatorname otimes partial phi pi
pm preceq psi rVert rangle rceil rfloor rho right rvert sigma sim sin sqrt star sum sup tau text theta tilde to top
uparrow varphi xi zeta
"""
"""What statements use of LaTeX."""


def exact(label: str, *, count: int, dimension: int) -> Fraction:
    return STATEMENTS[label].fraction(k=count, d=dimension)


@pytest.mark.parametrize("label", STATEMENTS)
def test_the_key_is_the_label(label: str) -> None:
    assert STATEMENTS[label].label == label


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("random_k", Fraction(7, 10)),
        ("top_k", Fraction(7, 10)),
        ("square_convex", Fraction(49, 100)),
        ("bell_shaped", Fraction(343, 1000)),
        ("square_convex_discrete", Fraction(28, 55)),
        ("bell_shaped_discrete", Fraction(4, 11)),
    ],
)
def test_bounds_at_three_of_ten_equal_hand_computed_values(label: str, expected: Fraction) -> None:
    assert exact(label, count=3, dimension=10) == expected


@pytest.mark.parametrize("label", CLASS_WEIGHTS)
@pytest.mark.parametrize(("count", "dimension"), PAIRS)
def test_each_bound_is_attained_by_the_weights_of_its_class(label: str, count: int, dimension: int) -> None:
    assert exact(label, count=count, dimension=dimension) == tail_ratio(CLASS_WEIGHTS[label](dimension), count)


@pytest.mark.parametrize("label", END_POINT_WEIGHTS)
@pytest.mark.parametrize(("count", "dimension"), [pair for pair in PAIRS if pair[0] < pair[1]])
def test_a_line_that_ends_at_zero_stays_strictly_below_the_bound(label: str, count: int, dimension: int) -> None:
    assert tail_ratio(END_POINT_WEIGHTS[label](dimension), count) < exact(label, count=count, dimension=dimension)


@pytest.mark.parametrize(
    ("stronger", "weaker"),
    [
        ("bell_shaped", "square_convex"),
        ("square_convex", "square_convex_discrete"),
        ("square_convex_discrete", "top_k"),
        ("bell_shaped", "bell_shaped_discrete"),
        ("bell_shaped_discrete", "square_convex_discrete"),
    ],
)
@pytest.mark.parametrize(("count", "dimension"), [pair for pair in PAIRS if pair[0] < pair[1]])
def test_a_narrower_class_has_a_smaller_bound(stronger: str, weaker: str, count: int, dimension: int) -> None:
    assert exact(stronger, count=count, dimension=dimension) < exact(weaker, count=count, dimension=dimension)


@pytest.mark.parametrize("label", STATEMENTS)
def test_latex_cells_are_printable(label: str) -> None:
    cell = STATEMENTS[label].latex()
    assert cell.count("$") % 2 == 0
    assert cell.count("{") == cell.count("}")


def test_theory_needs_neither_arrays_nor_torch_and_runs_no_derivation_on_import() -> None:
    program = (
        "import sys, sympy\n"
        "from sparsync.theory.language.step import Step\n"
        "Step.holds = None\n"
        "sympy.integrate = sympy.summation = None\n"
        "import sparsync.theory.statements\n"
        "assert not {'numpy', 'torch', 'cvxpy'} & set(sys.modules), sorted(sys.modules)\n"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_an_irrational_bound_is_no_fraction() -> None:
    assert STATEMENTS["exponent"].fraction(kappa=Fraction(1, 2), p=2) == Fraction(1, 4)
    with pytest.raises(ValueError, match="exponent: the bound is irrational"):
        STATEMENTS["exponent"].fraction(kappa=Fraction(1, 2), p=3)


def test_every_statement_is_latex() -> None:
    """A space that is missing behind a command makes another command of it, which nobody has defined."""
    texts = {label: (*made.assumption_texts, made.latex()) for label, made in STATEMENTS.items()}
    unknown = {
        label: set(re.findall(r"\\([A-Za-z]+)", " ".join(text))) - set(TEX_COMMANDS.split())
        for label, text in texts.items()
    }
    assert {label: words for label, words in unknown.items() if words} == {}


def test_outside_formulas_assumptions_have_no_sign_that_latex_takes_for_its_own() -> None:
    texts = {label: re.sub(r"\$[^$]*\$", "", " ".join(made.assumption_texts)) for label, made in STATEMENTS.items()}
    assert {label: text for label, text in texts.items() if re.search(r"[_^&#%~`$]", text)} == {}


LONG_REFUTED = {
    *("decayed_descent_of_workers", "ef21_momentum_rate", "ef21_rate", "erased_distance", "feedback_at_tight_rate"),
    *("forgotten_mass", "local_feedback_rate", "noisy_gradient", "strongly_convex_feedback_rate"),
}
"""Statements of which the search for a proof of a little more takes over a second."""
QUICKLY_REFUTED = {*FAMILIES["Error feedback"]} - LONG - LONG_REFUTED


@pytest.mark.parametrize("label", slow_except(QUICKLY_REFUTED, FAMILIES["Error feedback"]))
def test_a_bound_one_per_cent_smaller_is_not_proved(label: str) -> None:
    statement = STATEMENTS[label]
    wrong = statement.bound * sympy.Rational(99, 100)
    relation = type(statement.relation)(statement.relation.lhs, wrong, evaluate=False)
    assert replace(statement, relation=relation).unproved_claims() != ()
