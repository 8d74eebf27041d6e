"""Gaussian vectors of few coordinates: shares and failures against closed forms, and a failure that is wrong."""

import math
from dataclasses import replace

import mpmath
import numpy
import pytest

from sparsync.theory.contraction.small_dimensions import OneShare
from sparsync.theory.language.powers import RealPower
from sparsync.theory.language.symbols import d, q
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.contraction.small_dimensions import CHECKS, SEED, failure_frequency, share_probability
from sparsync.verify.tools.outcome import Grade, Profile


@pytest.mark.parametrize(
    ("dimension", "level", "expected"),
    [
        (1, 0.9, 0.0),
        (1, 1.0, 1.0),
        (2, 0.75, 1 / 3),
        (2, 0.4, 0.0),
        (3, 5 / 9, math.sqrt(5) - 2),
        (3, 1 / 3, 0.0),
        (4, 37 / 64, 0.457363237773678),
        (5, 1.5, 1.0),
    ],
)
def test_integrated_probabilities_agree_with_closed_forms(dimension: int, level: float, expected: float) -> None:
    value, error = share_probability(dimension, mpmath.mpf(level))
    assert float(value) == pytest.approx(expected, abs=1e-12)
    assert float(error) < 1e-10


@pytest.mark.parametrize(("dimension", "level"), [(0, 0.75), (2, 0.0)])
def test_no_coordinates_and_no_share_are_refused(dimension: int, level: float) -> None:
    with pytest.raises(ValueError, match="needs dimension"):
        share_probability(dimension, mpmath.mpf(level))


@pytest.mark.parametrize(("dimension", "smallest", "largest"), [(5, 0.07, 0.09), (10, 0.003, 0.009), (20, 0.0, 0.001)])
def test_failures_become_rare_with_the_dimension(dimension: int, smallest: float, largest: float) -> None:
    frequency = failure_frequency(numpy.random.default_rng(SEED), 20_000, dimension=dimension, power=2)
    assert smallest <= frequency <= largest


@pytest.mark.parametrize("grade", ["numeric", "simulated"])
def test_the_failure_of_one_dimension_more_loses_every_grade(grade: Grade, monkeypatch: pytest.MonkeyPatch) -> None:
    statement, check = STATEMENTS["small_dimension_failure"], CHECKS["small_dimension_failure"][grade]
    wrong = 1 - d * OneShare(d + 1, 1 - RealPower(1 - 1 / d, q))
    relation = statement.relation.func(statement.relation.lhs, wrong, evaluate=False)
    monkeypatch.setitem(STATEMENTS, statement.label, replace(statement, relation=relation))
    assert not check(Profile(dimensions=(2, 3), examples_count=100)).earned
