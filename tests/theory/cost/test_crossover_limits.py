"""With many workers: limits, how near finite numbers are, and up to how many workers a density pays."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
import sympy

from sparsync.theory.cost import crossover_limits
from sparsync.theory.statements import STATEMENTS

LINK = {"message_seconds": 12, "byte_seconds": 2, "merge_seconds": 1}
SIZES = {"d": 1000, "value_bytes": 4, "index_bytes": 4}
PROFITABLE = Fraction(12, 24_000)
"""α/(d(s + j)(β + γ))."""


def test_an_all_gather_on_a_ring_is_faster_up_to_a_density_with_any_number_of_workers() -> None:
    assert STATEMENTS["gather_crossover_limit"].fraction(**SIZES, **LINK) == PROFITABLE
    densities = [STATEMENTS["gather_crossover"].fraction(n=10**power, **SIZES, **LINK) for power in range(1, 7)]
    assert sorted(densities, reverse=True) == densities
    assert PROFITABLE < densities[-1] < PROFITABLE + Fraction(1, 10**6)


def test_where_rounds_cost_most_that_density_is_all_there_is() -> None:
    numbers = {**SIZES, **LINK, "message_seconds": 10**9}
    assert STATEMENTS["gather_crossover_limit"].fraction(**numbers) == 1


def test_where_rounds_cost_nothing_a_density_of_two_parts_in_n_of_bytes_is_the_most() -> None:
    bound = STATEMENTS["gather_crossover_bandwidth"].fraction(value_bytes=4, index_bytes=4)
    assert bound == 1
    free = {**SIZES, "message_seconds": 0, "byte_seconds": 2}
    assert 7 * STATEMENTS["gather_crossover"].fraction(n=7, merge_seconds=0, **free) == bound
    assert bound / 2 < 7 * STATEMENTS["gather_crossover"].fraction(n=7, merge_seconds=100, **free) < bound


def test_doublings_and_workers_times_the_density_tend_to_what_is_said() -> None:
    sizes = {"value_bytes": 4, "index_bytes": 4}
    merges = STATEMENTS["global_top_k_doubling_crossover"].fraction(n=2**20, doubling_count=20, **sizes)
    limit = STATEMENTS["global_top_k_crossover_limit"].fraction(**sizes)
    assert limit - 20 * merges == limit / 2**20
    rates = {"byte_seconds": 2, "merge_seconds": 1}
    owners = STATEMENTS["balanced_crossover"].fraction(n=10**6, union_ratio=10**6, **sizes, **rates)
    # With additions owners are faster until all is selected, if positions are no longer than values.
    assert STATEMENTS["balanced_crossover_limit"].fraction(**sizes, **rates) == 10**6 * owners == 1
    longer = {"value_bytes": 4, "index_bytes": 8, **rates}
    owners = STATEMENTS["balanced_crossover"].fraction(n=10**6, union_ratio=10**6, **longer)
    assert STATEMENTS["balanced_crossover_limit"].fraction(**longer) == pytest.approx(10**6 * owners, rel=1e-5)


@pytest.mark.parametrize("workers", [2, 9, 500])
def test_at_the_crossover_density_of_n_workers_the_number_is_n(workers: int) -> None:
    density = STATEMENTS["gather_crossover"].fraction(n=workers, **SIZES, **LINK)
    assert STATEMENTS["gather_workers"].fraction(kappa=density, **SIZES, **LINK) == workers


def test_at_a_density_that_always_pays_there_is_no_such_number() -> None:
    with pytest.raises(ValueError, match="is violated by"):
        STATEMENTS["gather_workers"].fraction(kappa=PROFITABLE, **SIZES, **LINK)


@pytest.mark.parametrize(
    ("label", "name", "other"),
    [
        ("gather_crossover_limit", "equal_gather_density", "doubling_crossover"),
        ("gather_crossover_bandwidth", "equal_gather_density", "balanced_crossover"),
        ("global_top_k_crossover_limit", "global_top_k_doubling_crossover", "gather_crossover"),
        ("balanced_crossover_limit", "equal_balanced_density", "gather_crossover"),
        ("gather_workers", "equal_gather_density", "doubling_crossover"),
    ],
)
def test_of_another_crossover_the_limit_is_not_proved(
    label: str, name: str, other: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    met = max(STATEMENTS[other].bound.args, key=sympy.count_ops)
    relation = sympy.Eq(STATEMENTS[other].relation.lhs, met)
    wrong = replace(STATEMENTS[other], relation=relation) if name in STATEMENTS else met
    monkeypatch.setattr(crossover_limits, name, lambda: wrong)
    left, *_ = (step.compute() for step in getattr(crossover_limits, label)().derivation if step.compute is not None)
    # At some numbers, since sympy would take long to say that it is not zero.
    primes = {symbol: sympy.prime(place + 3) for place, symbol in enumerate(sorted(left.free_symbols, key=str))}
    assert left == sympy.oo or left.xreplace(primes).doit() != 0
