"""Regular samples: by hand, beside a bound known before, and with a broken count."""

from __future__ import annotations

from fractions import Fraction

import pytest

from sparsync.theory.cost import regular_sampling
from sparsync.theory.language.symbols import d, segment_length
from sparsync.theory.statements import STATEMENTS


def test_bounds_by_hand() -> None:
    assert STATEMENTS["sample_rank"].fraction(n=4, segment_length=5) == 12
    assert STATEMENTS["largest_bucket"].fraction(n=3, d=28, segment_length=4) == 18
    assert STATEMENTS["oversampled_bucket"].fraction(n=3, d=28, oversampling=1) == 18
    assert STATEMENTS["received_keys"].fraction(n=3, segment_count=2, segment_length=4) == 8 + 3
    assert STATEMENTS["threshold_rank"].fraction(n=4, segment_length=5) == Fraction(17, 2)
    sizes = {"value_bytes": 8, "index_bytes": 4}
    stated = STATEMENTS["sort_relation"].fraction(n=3, segment_count=2, segment_length=4, **sizes)
    assert stated == 2 * (32 + 16) + 12 * 11
    assert STATEMENTS["best_sort_segment"].fraction(n=3, d=900, value_bytes=4, index_bytes=8) == 10


@pytest.mark.parametrize("ranks", [2, 3, 10])
@pytest.mark.parametrize("oversampling", [1, 2, 8])
@pytest.mark.parametrize("keys", [10, 1000, 10**6])
def test_a_bucket_is_below_the_bound_that_is_easily_remembered(ranks: int, oversampling: int, keys: int) -> None:
    simple = (1 + Fraction(1, oversampling)) * Fraction(keys, ranks) + 1
    stated = STATEMENTS["oversampled_bucket"].fraction(n=ranks, d=keys, oversampling=oversampling)
    assert stated < simple
    # What is lost by it is d/(rn³) and less than 1 besides.
    assert simple - stated <= Fraction(keys, oversampling * ranks**3) + 1


def test_two_ranks_never_receive_more_than_they_had_and_single_keys_leave_no_doubt() -> None:
    assert STATEMENTS["received_keys"].fraction(n=2, segment_count=7, segment_length=9) == 63
    assert STATEMENTS["sample_rank"].fraction(n=9, segment_length=1) == 0
    assert STATEMENTS["threshold_rank"].fraction(n=9, segment_length=1) == Fraction(1, 2)


def test_no_segment_is_shorter_than_a_key() -> None:
    assert STATEMENTS["best_sort_segment"].fraction(n=3, d=3, value_bytes=4, index_bytes=8) == 1


def test_a_rank_alone_receives_nothing_and_no_less_is_stated() -> None:
    assert STATEMENTS["received_keys"].fraction(n=1, segment_count=1, segment_length=9) == 1
    assert (
        STATEMENTS["sort_relation"].fraction(n=1, segment_count=2, segment_length=4, value_bytes=8, index_bytes=4) == 60
    )


def test_a_threshold_is_off_by_half_a_share_of_the_samples() -> None:
    # 100 samples of each of four shards of 10000.
    assert STATEMENTS["threshold_rank"].fraction(n=4, segment_length=100) == Fraction(40_000 // 100 - 4 + 1, 2)


@pytest.mark.parametrize(
    ("label", "name", "replacement"),
    [
        ("sample_rank", "_all_segments", lambda: segment_length),
        ("largest_bucket", "_ended", lambda samples: samples * segment_length),
        ("oversampled_bucket", "_longest", lambda: d),
        ("best_sort_segment", "_samples_and_excess", lambda: segment_length),
    ],
)
def test_a_broken_count_leaves_a_claim_unproved(
    label: str, name: str, replacement: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert STATEMENTS[label].unproved_claims() == ()
    monkeypatch.setattr(regular_sampling, name, replacement)
    assert not all(step.holds() for step in STATEMENTS[label].derivation)
