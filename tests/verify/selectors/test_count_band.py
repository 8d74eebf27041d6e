"""The checks of the selector statements hold, and each notices a statement that is wrong."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
import sympy
import torch
from flint import arb

from sparsync.kernels.band_search import count_band
from sparsync.kernels.payload import SparsePayload
from sparsync.kernels.reference import top_k
from sparsync.theory.language.quantiles import NormalQuantile
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.symbols import (
    bit_width,
    d,
    fall_count,
    k,
    kappa,
    mean_shift,
    pass_count,
    rise_count,
    selected_count,
    start_level,
    window_ratio,
)
from sparsync.theory.statements import STATEMENTS
from sparsync.theory.statements import STATEMENTS as OWN
from sparsync.verify.contraction.margins import exact_bound
from sparsync.verify.contraction.weights import tail_ratio
from sparsync.verify.selectors import count_band as selector_checks
from sparsync.verify.selectors import released_rule
from sparsync.verify.selectors.count_band import BAND_WEIGHTS, CHECKS, list_decides, roundest
from sparsync.verify.selectors.released_laws import bound_ball
from sparsync.verify.tools.outcome import EXACT_GRADES, Grade, Profile

TINY = Profile(dimensions=(2, 3), examples_count=30)
SEARCHED = Profile(dimensions=(2, 3), examples_count=100)


def test_every_selector_statement_has_checks_and_an_exact_grade() -> None:
    assert set(CHECKS) == set(OWN)
    assert all(EXACT_GRADES & {*grades, "symbolic"} and grades for grades in CHECKS.values())


_WRONG = [
    ("threshold_selector", "property", 1 - (selected_count + 1) / d),
    ("count_band", "property", 1 - (k + 1) / d),
    ("count_band_square", "property", STATEMENTS["count_band_cubic"].bound),
    ("count_band_cubic", "property", STATEMENTS["count_band_cubic"].bound * (1 - 1 / d)),
    ("band_threshold_unique", "property", sympy.Integer(2)),
    ("band_search_passes", "property", 2 * bit_width - start_level - 2),
    ("band_search_passes", "property", 2 * bit_width - start_level + 1),
    ("released_reachable", "property", pass_count**2),
    ("released_starts", "property", pass_count * sympy.log(window_ratio)),
    ("released_passes", "property", sympy.Integer(2)),
    ("released_passes", "rational", STATEMENTS["released_passes"].bound + 1),
    ("released_passes", "rational", STATEMENTS["released_passes"].bound - 1),
    ("released_window", "ball", STATEMENTS["released_window"].bound * (1 + sympy.Rational(1, 10**12))),
    ("released_window_narrow", "property", STATEMENTS["released_window"].bound - sympy.Rational(1, 10**9)),
    ("released_reachable", "smt", pass_count**2),
    ("released_reachable", "simulated", pass_count**2),
    ("released_uniform", "simulated", sympy.Integer(0)),
    ("released_uniform", "ball", sympy.Integer(0)),
    ("released_uniform", "ball", 1 - NormalQuantile(kappa) / (2 * sympy.sqrt(3))),
    ("mean_shift_failure", "numeric", kappa - mean_shift / 100),
    ("mean_shift_failure", "simulated", kappa - mean_shift / 100),
    ("mean_shift_failure", "ball", kappa - mean_shift / 100),
    ("released_worst_passes", "smt", rise_count + fall_count - 1),
    ("released_worst_passes", "rational", rise_count + fall_count + 1),
    ("released_worst_passes", "property", rise_count + fall_count - 1),
]


@pytest.mark.parametrize(("label", "grade", "wrong"), _WRONG)
def test_a_wrong_statement_loses_the_grade(
    label: str, grade: Grade, wrong: sympy.Expr, monkeypatch: pytest.MonkeyPatch
) -> None:
    relation = sympy.Eq(sympy.Symbol("stated"), wrong, evaluate=False)
    monkeypatch.setitem(STATEMENTS, label, replace(STATEMENTS[label], relation=relation))
    assert not CHECKS[label][grade](TINY).earned


def scaled(label: str, factor: sympy.Rational) -> Statement:
    """The statement with a multiple of its bound."""
    relation = STATEMENTS[label].relation
    return replace(STATEMENTS[label], relation=type(relation)(relation.lhs, factor * relation.rhs, evaluate=False))


@pytest.mark.parametrize(
    "label",
    [
        "threshold_selector",
        "count_band",
        "count_band_square",
        "count_band_cubic",
        "band_search_passes",
        "released_passes",
    ],
)
def test_a_weaker_bound_is_still_proved_by_the_solvers(label: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(STATEMENTS, label, scaled(label, sympy.Rational(17, 16)))
    assert CHECKS[label]["smt"](TINY).earned


def test_a_bound_of_an_unknown_kind_has_no_ball() -> None:
    root = bound_ball(sympy.sqrt(1 + 2 * sympy.log(2) / d), {d: arb(2)})
    assert abs(root**2 - 1 - arb(2).log()) < arb(2) ** -40
    with pytest.raises(ValueError, match="sin"):
        bound_ball(sympy.sin(d), {d: arb(2)})


@pytest.mark.parametrize("label", BAND_WEIGHTS)
@pytest.mark.parametrize("k", [1, 4, 9])
def test_the_band_bound_is_the_ratio_of_its_own_weights(label: str, k: int) -> None:
    weights = [Fraction(w) for w in BAND_WEIGHTS[label](9)]
    assert tail_ratio(weights, count_band(k)[0]) == exact_bound(label, dimension=9, count=k)


@pytest.mark.parametrize("label", BAND_WEIGHTS)
def test_a_selector_that_sends_half_of_k_breaks_the_band(label: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def halved(corrected: torch.Tensor, k: int) -> SparsePayload:
        return top_k(corrected, max(1, k // 2))

    monkeypatch.setattr(selector_checks, "gaussian_k", halved)
    squares = tuple(Fraction(w) for w in BAND_WEIGHTS[label](12))
    assert selector_checks.band_margin(squares, 8, label=label) == -1
    assert not CHECKS[label]["property"](Profile(dimensions=(), examples_count=200)).earned


def test_a_search_that_returns_another_threshold_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selector_checks, "trailing_zeros", lambda number: -number)
    assert not CHECKS["band_search_passes"]["property"](TINY).earned


def test_a_list_decides_from_a_count_above_the_band_and_at_powers_of_two() -> None:
    """k = 2: the band is 2; (7, 7, 5) counts 3 from 5 on, (7, 7) counts 2."""
    assert count_band(2) == (2, 2)
    assert list_decides((7, 7, 5), cut=5, target=2)
    assert not list_decides((7, 7), cut=5, target=2)
    assert list_decides((5, 5), cut=4, target=2)
    assert not list_decides((7,), cut=5, target=2)
    assert [roundest(vector, (2, 2)) for vector in ((7, 7), (7, 7, 4), (7, 7, 7))] == [4, 6, None]


@pytest.mark.parametrize("always", [True, False])
def test_a_wrong_condition_for_lists_is_noticed(always: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selector_checks, "list_decides", lambda *_arguments: always)
    assert not CHECKS["candidate_list"]["property"](TINY).earned


def test_the_rule_in_fractions_is_traced_by_hand() -> None:
    """8 → 4 → 6 → 3 in [3, 4), since 8, 4, 6 are at least 4; 1 → 3/2 → 9/4 → 27/8."""
    window = (Fraction(3), Fraction(4))
    assert released_rule.passes_to(window, Fraction(8), 3) is None
    assert released_rule.passes_to(window, Fraction(1), 4) == 4
    assert released_rule.passes_to(window, Fraction(1), 3) is None
    assert released_rule.passes_to((Fraction(5), Fraction(7)), Fraction(8), 3) == 3


def test_a_rule_with_other_moves_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(released_rule, "multiples", lambda passes: {Fraction(1, 2**j): j + 1 for j in range(passes)})
    assert not CHECKS["released_reachable"]["property"](Profile(dimensions=(), examples_count=100)).earned
    assert not CHECKS["released_reachable"]["simulated"](TINY).earned


def test_some_vectors_are_accepted_and_some_are_not() -> None:
    detail = CHECKS["released_reachable"]["simulated"](TINY).detail
    assert 0 < int(str(detail["accepted_count"])) < int(str(detail["vectors_count"]))
