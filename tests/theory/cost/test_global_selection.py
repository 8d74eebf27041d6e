"""Exact Top-k over ranks and a tree of merges: by hand, against each other, and with a broken count."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest

from sparsync.theory.cost import global_selection
from sparsync.theory.language.symbols import k, n
from sparsync.theory.statements import STATEMENTS


def test_counts_by_hand() -> None:
    assert STATEMENTS["sampled_candidates"].fraction(n=2, segment_length=3) == 6 + 2
    assert STATEMENTS["sampled_candidates"].fraction(n=4, segment_length=2) == 4 + 3
    assert STATEMENTS["sampled_candidates"].fraction(n=7, segment_length=1) == 0
    exact = STATEMENTS["exact_selection_bytes"].fraction(n=2, k=30, segment_length=3, value_bytes=4)
    assert exact == 80 + 4 * (20 + 8)
    assert STATEMENTS["tree_bytes"].fraction(n=4, k=10, value_bytes=4, index_bytes=4) == 3 * (96 + 160)


def test_two_rounds_tell_2n_root_2k_and_more_rounds_fewer() -> None:
    told = [STATEMENTS["samples_of_rounds"].evaluate(n=8, k=10**6, telling_rounds=rounds) for rounds in range(1, 8)]
    assert told[0] == 8 * 10**6
    assert math.isclose(told[1], 16 * math.sqrt(2 * 10**6))
    assert all(more > fewer for more, fewer in pairwise(told))


@pytest.mark.parametrize("ranks", [2, 4, 64])
@pytest.mark.parametrize("wanted", [2000, 10**6])
def test_exact_selection_sends_less_than_a_tree_of_merges(ranks: int, wanted: int) -> None:
    length = max(1, math.isqrt(wanted // 2))
    exact = STATEMENTS["exact_selection_bytes"].fraction(n=ranks, k=wanted, segment_length=length, value_bytes=4)
    tree = STATEMENTS["tree_bytes"].fraction(n=ranks, k=wanted, value_bytes=4, index_bytes=4)
    assert (exact < tree) == (ranks < 64 or wanted > 2000)


@pytest.mark.parametrize(
    ("label", "name", "replacement"),
    [
        ("sampled_candidates", "_apart", lambda: n),
        ("sampled_candidates", "_lost", lambda rest: rest),
        ("exact_selection_bytes", "_told", lambda: k),
        ("samples_of_rounds", "_product", lambda *_: n * k),
        ("samples_of_rounds", "_told_next", lambda before, after: n * before / after),
        ("tree_bytes", "_handing_on", lambda ranks: list(range(ranks))),
    ],
)
def test_a_broken_count_leaves_a_claim_unproved(
    label: str, name: str, replacement: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert STATEMENTS[label].unproved_claims() == ()
    monkeypatch.setattr(global_selection, name, replacement)
    assert not all(step.holds() for step in STATEMENTS[label].derivation)
