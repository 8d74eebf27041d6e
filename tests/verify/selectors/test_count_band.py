"""The checks of the count band hold, and each notices a statement or a search that is wrong."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
import sympy
import torch

from sparsync.kernels.band_search import count_band
from sparsync.kernels.payload import SparsePayload
from sparsync.kernels.reference import top_k
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.symbols import (
    bit_width,
    d,
    k,
    selected_count,
    start_level,
)
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.contraction.margins import exact_bound
from sparsync.verify.contraction.weights import tail_ratio
from sparsync.verify.selectors import count_band as selector_checks
from sparsync.verify.selectors.count_band import BAND_WEIGHTS, CHECKS, list_decides, roundest
from sparsync.verify.tools.outcome import Grade, Profile

TINY = Profile(dimensions=(2, 3), examples_count=30)


@pytest.mark.parametrize(
    ("label", "grade", "wrong"),
    [
        ("threshold_selector", "property", 1 - (selected_count + 1) / d),
        ("count_band", "property", 1 - (k + 1) / d),
        ("count_band_square", "property", STATEMENTS["count_band_cubic"].bound),
        ("count_band_cubic", "property", STATEMENTS["count_band_cubic"].bound * (1 - 1 / d)),
        ("band_threshold_unique", "property", sympy.Integer(2)),
        ("band_search_passes", "property", 2 * bit_width - start_level - 2),
        ("band_search_passes", "property", 2 * bit_width - start_level + 1),
    ],
)
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
    ],
)
def test_a_weaker_bound_is_still_proved_by_the_solvers(label: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(STATEMENTS, label, scaled(label, sympy.Rational(17, 16)))
    assert CHECKS[label]["smt"](TINY).earned


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
