from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import sympy

from sparsync.theory.statements import STATEMENTS
from sparsync.verify.laws import samples
from sparsync.verify.laws.levels import LEVEL_LAWS
from sparsync.verify.laws.samples import DENSITIES, LARGEST_DEVIATION, SAMPLED, sample_check, standard_errors
from sparsync.verify.tools.outcome import Profile

TINY = Profile(dimensions=(2,), examples_count=20)


def test_every_law_is_sampled_with_its_own_parameters() -> None:
    assert set(SAMPLED) == set(LEVEL_LAWS)
    assert all(set(case) == set(LEVEL_LAWS[label].parameters) for label in SAMPLED for case in SAMPLED[label].cases)


def test_the_level_allows_for_every_comparison() -> None:
    """Bonferroni over 60 comparisons, two-sided: 60 erfc(6/√2) = 1.2·10⁻⁷."""
    comparisons_count = sum(len(sampled.cases) for sampled in SAMPLED.values()) * len(DENSITIES)
    assert comparisons_count == 60
    assert comparisons_count * float(sympy.erfc(LARGEST_DEVIATION / sympy.sqrt(2))) < 2e-7


@pytest.mark.parametrize("label", SAMPLED)
def test_a_sample_agrees_with_its_law_and_not_with_one_a_sixteenth_off(
    label: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(samples, "DENSITIES", DENSITIES[1:3])
    assert sample_check(TINY, label=label).earned
    relation = STATEMENTS[label].relation
    for sixteenths in (15, 17):
        wrong = relation.func(relation.lhs, relation.rhs * sympy.Rational(sixteenths, 16), evaluate=False)
        with monkeypatch.context() as patch:
            patch.setitem(STATEMENTS, label, replace(STATEMENTS[label], relation=wrong))
            assert not sample_check(TINY, label=label).earned


def test_a_deviation_by_hand() -> None:
    """Squares 1, 2, 3, 10 with k = 1, ε = 1/4: 6 − 4 = 2; terms 3/4, 3/2, 9/4, 15/2 have the deviation 2.6339134."""
    squares = np.array([10.0, 1.0, 3.0, 2.0])
    terms = np.array([10 - 2.5, 0.75, 2.25, 1.5])
    assert standard_errors(squares, 1, 0.25) == pytest.approx(2 / (terms.std() * 2))


def test_the_standard_error_is_that_of_repeated_samples() -> None:
    """400 vectors of 4096 uniform coordinates: their deviations have mean 0 and variance 1, to 5/√400 = 0.25."""
    generator = np.random.default_rng(7)
    deviations = [standard_errors(generator.random(4096) ** 2, 1024, 0.75**3) for _ in range(400)]
    assert abs(np.mean(deviations)) < 0.25
    assert abs(np.var(deviations) - 1) < 0.25 * np.sqrt(2)


@pytest.mark.parametrize("count", [0, 4])
def test_a_count_that_leaves_nothing_to_compare_is_refused(count: int) -> None:
    with pytest.raises(ValueError, match="k must be in"):
        standard_errors(np.arange(4.0), count, 0.5)
