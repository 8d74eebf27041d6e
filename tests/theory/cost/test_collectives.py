"""Seconds of collectives: by hand, of one worker alone, and in the order that theory says."""

from __future__ import annotations

from fractions import Fraction

import pytest
import sympy

from sparsync.theory.cost import collectives
from sparsync.theory.language.symbols import doubling_count, message_seconds, n
from sparsync.theory.statements import STATEMENTS

LINK = {"message_seconds": 10, "byte_seconds": 2, "merge_seconds": 1}
VALUES = {"d": 24, "value_bytes": 4, **LINK}
ENTRIES = {"k": 6, "value_bytes": 4, "index_bytes": 3, **LINK}


def doublings(workers: int) -> int:
    return (workers - 1).bit_length()


def test_four_workers_by_hand() -> None:
    # Parts of six values are 24 bytes, vectors 96, payloads 42.
    assert STATEMENTS["ring_all_reduce"].fraction(n=4, **VALUES) == 3 * (10 + 24 * 3) + 3 * (10 + 24 * 2)
    assert STATEMENTS["doubling_all_reduce"].fraction(n=4, doubling_count=2, **VALUES) == (
        (10 + 48 * 3) + (10 + 24 * 3) + (10 + 24 * 2) + (10 + 48 * 2)
    )
    assert STATEMENTS["tree_all_reduce"].fraction(n=4, doubling_count=2, **VALUES) == (
        2 * (10 + 96 * 3) + 2 * (10 + 96 * 2)
    )
    assert STATEMENTS["ring_all_gather"].fraction(n=4, **ENTRIES) == 3 * (10 + 42 * 3)
    assert STATEMENTS["doubling_all_gather"].fraction(n=4, doubling_count=2, **ENTRIES) == (
        (10 + 42 * 3) + (10 + 84 * 3)
    )
    assert STATEMENTS["global_top_k"].fraction(n=4, doubling_count=2, **ENTRIES) == 2 * (10 + 42 * 3) + 2 * (10 + 84)
    # A region has a quarter of the entries, and of the nine selected coordinates.
    assert STATEMENTS["balanced_all_reduce"].fraction(n=4, union_size=9, **ENTRIES) == (
        3 * (10 + Fraction(42, 4) * 3) + 3 * (10 + Fraction(63, 4) * 2)
    )


@pytest.mark.parametrize("label", collectives.STATEMENTS)
def test_one_worker_alone_takes_no_time(label: str) -> None:
    numbers = {**VALUES, **ENTRIES, "n": 1, "doubling_count": 0, "union_size": 6}
    names = {str(parameter.name) for parameter in STATEMENTS[label].parameters}
    assert STATEMENTS[label].fraction(**{name: numbers[name] for name in names}) == 0


@pytest.mark.parametrize("workers", range(2, 40))
def test_doubling_is_never_slower_than_ring_or_tree(workers: int) -> None:
    rounds = doublings(workers)
    dense = STATEMENTS["doubling_all_reduce"].fraction(n=workers, doubling_count=rounds, **VALUES)
    assert dense <= STATEMENTS["ring_all_reduce"].fraction(n=workers, **VALUES)
    assert dense <= STATEMENTS["tree_all_reduce"].fraction(n=workers, doubling_count=rounds, **VALUES)
    sparse = STATEMENTS["doubling_all_gather"].fraction(n=workers, doubling_count=rounds, **ENTRIES)
    assert sparse <= STATEMENTS["ring_all_gather"].fraction(n=workers, **ENTRIES)


@pytest.mark.parametrize(("workers", "rounds"), [(5, 2), (4, 3), (1, 1), (9, 3)])
def test_a_wrong_number_of_doublings_is_refused(workers: int, rounds: int) -> None:
    with pytest.raises(ValueError, match=f"is violated by doubling_count = {rounds}, n = {workers}"):
        STATEMENTS["tree_all_reduce"].fraction(n=workers, doubling_count=rounds, **VALUES)


@pytest.mark.parametrize("union", [5, 25])
def test_a_union_that_cannot_be_is_refused(union: int) -> None:
    with pytest.raises(ValueError, match=f"violated by .*union_size = {union}"):
        STATEMENTS["balanced_all_reduce"].fraction(n=4, union_size=union, **ENTRIES)


@pytest.mark.parametrize(
    ("label", "name", "replacement"),
    [
        ("ring_all_reduce", "_part", lambda worker, turn: worker + turn),
        ("doubling_all_reduce", "_doublings", lambda *_, **_added: message_seconds),
        ("tree_all_reduce", "_joined", lambda: n - doubling_count),
        ("ring_all_gather", "difference", lambda bound, *_: bound),
        ("global_top_k", "rounds", lambda count, _size, **_added: count * message_seconds),
        ("balanced_all_reduce", "difference", lambda *_: sympy.Integer(1)),
    ],
)
def test_a_broken_count_leaves_a_claim_unproved(
    label: str, name: str, replacement: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collectives, name, replacement)
    assert getattr(collectives, label)().unproved_claims() != ()
