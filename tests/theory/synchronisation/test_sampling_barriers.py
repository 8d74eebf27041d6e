"""Passing a barrier that samples workers, and the lags there: by hand, for very many workers, with a broken model."""

import math
from fractions import Fraction
from types import ModuleType

import pytest
import sympy

from sparsync.theory.language.symbols import (
    lag_weight,
    n,
)
from sparsync.theory.statements import STATEMENTS
from sparsync.theory.synchronisation import (
    sampling_barriers,
)


@pytest.mark.parametrize(
    ("workers", "lagging", "looked_at", "expected"),
    [(5, 1, 0, 1), (5, 1, 1, Fraction(3, 4)), (5, 2, 2, Fraction(1, 6)), (5, 2, 3, 0), (5, 0, 4, 1), (2, 1, 1, 0)],
)
def test_passing_equals_hand_computed_shares(workers: int, lagging: int, looked_at: int, expected: Fraction) -> None:
    numbers = {"n": workers, "laggard_count": lagging, "sample_count": looked_at}
    chance = STATEMENTS["psp_pass_probability"].fraction(**numbers)
    assert chance == expected
    assert chance <= STATEMENTS["psp_pass_bound"].fraction(**numbers)


@pytest.mark.parametrize("workers", [5_000, 10**6, 10**40])
@pytest.mark.parametrize("lagging", [0, 3, 900])
def test_passing_is_known_where_half_of_very_many_workers_are_looked_at(workers: int, lagging: int) -> None:
    """C(m − b, β)/C(m, β) is the chance that none of b laggards is among β of m, one laggard after the other."""
    others, looked_at = workers - 1, workers // 2
    numerator = math.prod(others - looked_at - rank for rank in range(lagging))
    expected = Fraction(numerator, math.prod(others - rank for rank in range(lagging)))
    numbers = {"n": workers, "laggard_count": lagging, "sample_count": looked_at}
    assert STATEMENTS["psp_pass_probability"].evaluate(**numbers) == float(expected)


def test_passing_many_laggards_unseen_is_less_likely_than_any_float() -> None:
    numbers = {"n": 10**6, "laggard_count": 400_000, "sample_count": 500_000}
    assert STATEMENTS["psp_pass_probability"].evaluate(**numbers) == 0
    assert STATEMENTS["psp_pass_probability"].evaluate(**{**numbers, "laggard_count": 600_000}) == 0
    assert STATEMENTS["psp_pass_bound"].evaluate(**numbers) == 0


def test_a_geometric_lag_has_its_known_moments() -> None:
    # r = 0 and F = 1: the lag is j with probability (1 − a)a^j.
    numbers = {"lag_threshold": 0, "lag_decay": Fraction(1, 3), "lag_weight": 1}
    assert STATEMENTS["psp_lag_mean"].fraction(**numbers) == Fraction(1, 2)
    assert STATEMENTS["psp_lag_second_moment"].fraction(**numbers) == 1


@pytest.mark.parametrize(
    ("label", "numbers"),
    [
        ("psp_pass_bound", {"n": 1, "laggard_count": 0, "sample_count": 0}),
        ("psp_pass_probability", {"n": 3, "laggard_count": 3, "sample_count": 0}),
        ("psp_lag_mean", {"lag_threshold": 1, "lag_decay": 1, "lag_weight": 1}),
    ],
)
def test_numbers_outside_the_domain_are_refused(label: str, numbers: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=label):
        STATEMENTS[label].evaluate(**numbers)


@pytest.mark.parametrize(
    ("module", "label", "name", "replacement"),
    [
        (sampling_barriers, "psp_pass_probability", "_next_passes", lambda _drawn: sympy.Rational(1, 2)),
        (sampling_barriers, "psp_pass_probability", "_share_without_laggard", lambda *_size: sympy.Integer(1)),
        (sampling_barriers, "psp_pass_bound", "_next_passes", lambda drawn: (n - 1 + drawn) / (n - 1)),
        (sampling_barriers, "psp_lag_mean", "_weights", lambda: lag_weight),
        (sampling_barriers, "psp_lag_mean", "_tail_sum", lambda _power: lag_weight),
        (sampling_barriers, "psp_lag_second_moment", "_tail_sum", lambda _power: lag_weight),
    ],
)
def test_a_broken_model_leaves_a_claim_unproved(
    module: ModuleType, label: str, name: str, replacement: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, name, replacement)
    assert not all(step.holds() for step in STATEMENTS[label].derivation)
