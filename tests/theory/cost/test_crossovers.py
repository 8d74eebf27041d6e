"""Densities at which collectives change places: by hand, and equal seconds on both sides."""

from __future__ import annotations

from fractions import Fraction

import pytest
import sympy

from sparsync.theory.cost import crossovers
from sparsync.theory.statements import STATEMENTS

LINK = {"message_seconds": 12, "byte_seconds": 2, "merge_seconds": 1}
SIZES = {"d": 1000, "value_bytes": 4, "index_bytes": 4}


def test_eight_workers_by_hand() -> None:
    # 12/(1000·8·3) and 4·5/(8·8·3).
    gather = STATEMENTS["gather_crossover"].fraction(n=8, **SIZES, **LINK)
    assert gather == Fraction(12, 24_000) + Fraction(20, 192)
    doubling = STATEMENTS["doubling_crossover"].fraction(n=8, doubling_count=3, **SIZES, **LINK)
    assert doubling == Fraction(3 * 12, 7 * 24_000) + Fraction(20, 192)
    merges = STATEMENTS["global_top_k_crossover"].fraction(n=8, doubling_count=3, **SIZES, **LINK)
    assert merges == Fraction(7 * 4, 8 * 3 * 8) + Fraction(2 * 4 * 12, 3 * 1000 * 8 * 5)
    sizes = {"value_bytes": 4, "index_bytes": 4}
    assert STATEMENTS["global_top_k_doubling_crossover"].fraction(n=8, doubling_count=3, **sizes) == Fraction(7, 48)
    rates = {"byte_seconds": 2, "merge_seconds": 1}
    assert STATEMENTS["balanced_crossover"].fraction(n=8, union_ratio=3, **sizes, **rates) == Fraction(4 * 5, 8 * 9)


@pytest.mark.parametrize("workers", [2, 8, 1000])
@pytest.mark.parametrize("rate", [1, 7])
def test_where_all_select_alike_owners_win_up_to_one_density_on_every_link(workers: int, rate: int) -> None:
    numbers = {"n": workers, "union_ratio": 1, "byte_seconds": rate, "merge_seconds": 3}
    assert STATEMENTS["balanced_crossover"].fraction(value_bytes=4, index_bytes=4, **numbers) == Fraction(1, 2)


def test_slow_links_inside_nodes_leave_no_density_at_which_they_pay() -> None:
    numbers = {
        **SIZES,
        **LINK,
        "node_workers": 4,
        "node_count": 2,
        "node_union_ratio": 2,
        "union_ratio": 3,
        "inner_byte_seconds": 2,
    }
    assert STATEMENTS["hierarchical_crossover"].fraction(inner_message_seconds=0, **numbers) > 0
    assert STATEMENTS["hierarchical_crossover"].fraction(inner_message_seconds=10**6, **numbers) == 0


@pytest.mark.parametrize("label", ["gather_crossover", "doubling_crossover", "global_top_k_crossover"])
def test_where_rounds_cost_most_who_has_fewer_is_faster_at_every_density(label: str) -> None:
    numbers = {**SIZES, **LINK, "message_seconds": 10**9, "n": 8, "doubling_count": 3}
    names = {str(parameter.name) for parameter in STATEMENTS[label].parameters}
    assert STATEMENTS[label].fraction(**{name: numbers[name] for name in names}) == 1


def test_owners_with_short_positions_are_faster_until_all_is_selected() -> None:
    numbers = {"n": 8, "value_bytes": 4, "index_bytes": Fraction(1, 4), "byte_seconds": 2, "merge_seconds": 1}
    assert STATEMENTS["balanced_crossover"].fraction(union_ratio=8, **numbers) == Fraction(1, 8)
    assert STATEMENTS["balanced_crossover"].fraction(union_ratio=1, **numbers) == Fraction(16, 17)


def test_inside_one_node_a_ring_would_take_the_links_there() -> None:
    numbers = {"node_workers": 4, "node_count": 1, "node_union_ratio": 2, "union_ratio": 2}
    links = {**LINK, "inner_message_seconds": 0, "inner_byte_seconds": 1}
    with pytest.raises(ValueError, match="node_count >= 2 is violated"):
        STATEMENTS["hierarchical_crossover"].fraction(**SIZES, **links, **numbers)


@pytest.mark.parametrize("label", crossovers.STATEMENTS)
def test_a_worker_alone_has_no_crossover(label: str) -> None:
    numbers = {
        **SIZES,
        **LINK,
        "n": 1,
        "doubling_count": 0,
        "union_ratio": 1,
        "node_union_ratio": 1,
        "node_workers": 1,
        "node_count": 1,
        "inner_message_seconds": 0,
        "inner_byte_seconds": 1,
    }
    names = {str(parameter.name) for parameter in STATEMENTS[label].parameters}
    with pytest.raises(ValueError, match="violated by"):
        STATEMENTS[label].fraction(**{name: numbers[name] for name in names})


@pytest.mark.parametrize("label", crossovers.STATEMENTS)
def test_another_density_is_not_proved(label: str, monkeypatch: pytest.MonkeyPatch) -> None:
    right = crossovers._equal
    monkeypatch.setattr(crossovers, "_equal", lambda met, sparse, dense: right(2 * met, sparse, dense))
    # That it is not zero sympy would take long to say.
    assert getattr(crossovers, label)().derivation[0].compute() != 0
    monkeypatch.undo()
    assert getattr(crossovers, label)().derivation[0].compute() == 0


def test_a_slope_that_may_be_negative_is_not_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crossovers, "_OTHERS", sympy.Symbol("others", real=True))
    assert crossovers.gather_crossover().unproved_claims() != ()
