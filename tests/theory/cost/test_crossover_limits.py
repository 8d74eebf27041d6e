"""With many workers: limits, how near finite numbers are, and up to how many workers a density pays."""

from __future__ import annotations

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
    assert STATEMENTS["balanced_crossover_limit"].fraction(**sizes, **rates) == pytest.approx(10**6 * owners, rel=1e-5)


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
        ("gather_crossover_limit", "gather_crossover", "doubling_crossover"),
        ("gather_crossover_bandwidth", "gather_crossover", "balanced_crossover"),
        ("global_top_k_crossover_limit", "global_top_k_doubling_crossover", "gather_crossover"),
        ("balanced_crossover_limit", "balanced_crossover", "gather_crossover"),
        ("gather_workers", "gather_crossover", "doubling_crossover"),
    ],
)
def test_of_another_crossover_the_limit_is_not_proved(
    label: str, name: str, other: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crossover_limits, name, lambda: STATEMENTS[other])
    made = getattr(crossover_limits, label)()
    (left,) = (step.compute() for step in made.derivation if step.concludes is not None)
    # At some numbers, since sympy would take long to say that it is not zero.
    primes = {symbol: sympy.prime(place + 3) for place, symbol in enumerate(sorted(left.free_symbols, key=str))}
    assert left == sympy.oo or left.xreplace(primes).doit() != 0
