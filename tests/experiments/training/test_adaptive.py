"""Selectors that learn from their own counts: what they remember and for how long, by hand; each worker's its own."""

from __future__ import annotations

import re

import pytest
import torch
from torch import Tensor

from sparsync.experiments.training.adaptive import ADAPTIVE_SELECTORS, OkTopkReleased, SidcoAdaptive, new_selector
from sparsync.kernels.reference import sidco_indices
from sparsync.kernels.selection import SELECTORS
from tests.support.hard_vectors import DTYPES, HARD_VECTORS

DIMENSION, TARGET = 10_000, 10


def ones(count: int, twos: int = 0) -> Tensor:
    """So many entries of 1, then so many of 2, the rest 0."""
    vector = torch.zeros(DIMENSION)
    vector[:count] = 1
    vector[count : count + twos] = 2
    return vector


def stages_after(counts: list[int]) -> int:
    """One stage finds every entry of a few ones: t = m/d·ln(d/k) < 1."""
    select = SidcoAdaptive()
    for count in counts:
        assert select.stage_count == 1
        assert select(ones(count), TARGET).count == count
    return select.stage_count


def test_no_name_is_of_both_kinds() -> None:
    assert not SELECTORS.keys() & ADAPTIVE_SELECTORS.keys()


def test_a_name_of_neither_kind_is_refused_with_all_that_there_are() -> None:
    known = re.escape(", ".join((*SELECTORS, *ADAPTIVE_SELECTORS)))
    with pytest.raises(ValueError, match=f"unknown selector 'sidco'; known: {known}"):
        new_selector("sidco")


@pytest.mark.parametrize("name", SELECTORS)
def test_a_selector_that_keeps_nothing_is_the_function_itself(name: str) -> None:
    assert new_selector(name) is SELECTORS[name]


@pytest.mark.parametrize(
    ("counts", "stage_count"),
    [
        ([7, 8, 8, 8, 8], 2),
        ([0, 0, 0, 0, 0], 2),
        ([8, 8, 8, 8, 8], 1),  # four fifths of k are enough
        ([12, 12, 12, 12, 12], 1),
        ([20, 0, 10, 0, 20], 1),  # the mean counts
        ([0, 0, 0, 0], 1),  # not before the fifth call
        ([50, 50, 50, 50, 50], 1),  # never fewer than one
        ([50, 0, 0, 0, 0, *[0] * 4], 1),
        ([50, 0, 0, 0, 0, *[0] * 5], 2),  # the five before are forgotten
    ],
)
def test_a_mean_below_four_fifths_of_five_calls_adds_a_stage(counts: list[int], stage_count: int) -> None:
    assert stages_after(counts) == stage_count


@pytest.mark.parametrize(
    ("counts_of_10", "count_of_100", "stage_count"),
    [(10, 100, 1), (8, 40, 2)],  # shares of 1, or 4 of 0.8 and one of 0.4
)
def test_the_mean_is_of_shares_of_each_call_s_own_k(counts_of_10: int, count_of_100: int, stage_count: int) -> None:
    select = SidcoAdaptive()
    for k, count in (*[(10, counts_of_10)] * 4, (100, count_of_100)):
        assert select(ones(count), k).count == count
    assert select.stage_count == stage_count


def test_the_last_k_bounds_the_stages() -> None:
    """At k = d/2 there is one at most."""
    select = SidcoAdaptive()
    for k in (10, 10, 10, 10, DIMENSION // 2):
        select(ones(0), k)
    assert select.stage_count == 1


@pytest.mark.parametrize(("twos", "stage_count"), [(20, 1), (13, 1), (12, 2), (10, 2)])
def test_a_mean_above_six_fifths_of_five_calls_takes_a_stage_away(twos: int, stage_count: int) -> None:
    """Two stages find the twos: the ones are 100, and t ≈ 1 + (twos/100)·ln 250 lies below 2."""
    select = SidcoAdaptive()
    for _ in range(5):
        select(ones(0), TARGET)
    assert select.stage_count == 2
    for _ in range(5):
        assert select(ones(100, twos), TARGET).count == twos
    assert select.stage_count == stage_count


@pytest.mark.parametrize(("k", "most"), [(10, 10), (9, 11), (4999, 2), (5000, 1), (10_000, 1)])
def test_there_are_at_most_as_many_stages_as_halvings_lead_to_the_density(k: int, most: int) -> None:
    select = SidcoAdaptive()
    for _ in range(5 * (most + 2)):
        assert select(ones(0), k).count == 0
    assert select.stage_count == most


def test_the_selection_is_that_of_the_fit_in_the_stages_reached() -> None:
    select, stream, reached = SidcoAdaptive(), torch.Generator().manual_seed(2), set()
    for _ in range(60):
        vector = torch.randn(DIMENSION, generator=stream)
        expected = sidco_indices(vector, TARGET, select.stage_count)
        reached.add(select.stage_count)
        assert select(vector, TARGET).indices.tolist() == expected.tolist()
    assert len(reached) > 1


def test_of_heavy_tails_it_sends_too_many_for_ever() -> None:
    """One stage sends too many of them, more stages would send fewer, and there is none to take away."""
    select, stream = SidcoAdaptive(), torch.Generator().manual_seed(2)
    vectors = [torch.randn(DIMENSION, generator=stream) ** 5 for _ in range(50)]
    assert min(select(vector, TARGET).count for vector in vectors) > 20 * TARGET
    assert all(len(sidco_indices(vector, TARGET, 4)) < 2 * TARGET for vector in vectors)


def to_hundred(scale: float = 1.0) -> Tensor:
    """scale, −2·scale, 3·scale, … , −100·scale in float64."""
    places = torch.arange(1, 101, dtype=torch.float64)
    return scale * places * (2 * (places % 2) - 1)


def counts_after_the_first(*scales: float) -> list[int]:
    """Of k = 10 from 1 to 100, then from so many times that; the first call leaves t = 91 and sends 92 to 100."""
    select = OkTopkReleased()
    assert select(to_hundred(), 10).indices.tolist() == [*range(91, 100)]
    return [select(to_hundred(scale), 10).count for scale in scales]


@pytest.mark.parametrize(
    ("scales", "counts"),
    [
        ((1, 1, 1), [9, 9, 9]),
        # 89 and more times 91/88.5 exceed t: 12, no more than 5k/4, and t stays.
        ((91 / 88.5, 1), [12, 9]),
        # 88 and more times 91/87.5: 13 are more, and t rises to 91·1.012 = 92.1.
        ((91 / 87.5, 1), [13, 8]),
        # 14 would be more than 4k/3: t rises to 91·1.03 = 93.7 before anything is sent, and stays there.
        ((91 / 86.5, 1), [11, 7]),
        # At most five times: twice 53 exceeds 91·1.03⁵ = 105.5. Once by 1.012, five times more: 123.8, twice 62.
        ((2, 2), [48, 39]),
        # 94 and more times 91/93.5: 7 are enough.
        ((91 / 93.5, 1), [7, 9]),
        # 95 and more times 91/94.5: 6 are less than 2k/3, and t falls to 91/1.012 = 89.9.
        ((91 / 94.5, 1), [6, 11]),
    ],
)
def test_the_threshold_is_carried_on_and_follows_the_counts(scales: tuple[float, ...], counts: list[int]) -> None:
    assert counts_after_the_first(*scales) == counts


@pytest.mark.parametrize(("count", "after"), [(15, 11), (16, 10), (8, 11), (7, 13)])
def test_exactly_five_fourths_or_two_thirds_of_k_change_no_threshold(count: int, after: int) -> None:
    """Of k = 12 the first call leaves t = 89; 16 are 4k/3, which raise it only after they are sent."""
    select = OkTopkReleased()
    assert select(to_hundred(), 12).count == 11
    assert select(to_hundred(89 / (100.5 - count)), 12).count == count
    assert select(to_hundred(), 12).count == after


def test_every_32nd_call_takes_the_threshold_anew() -> None:
    """In between it rises by 1.03⁵·1.012 = 1.17 a call at most."""
    assert counts_after_the_first(*[1e6] * 63) == [100] * 31 + [9] * 32


def test_the_threshold_is_rounded_to_the_dtype_of_the_vector() -> None:
    """After four equal entries of 1 it is 1/1.012 = 2023.7/2048, which 2024/2048 exceeds and no float16 in between."""
    select = OkTopkReleased()
    for entry, count in ((1.0, 0), (2024 / 2048, 0)):
        vector = torch.zeros(10, dtype=torch.float16)
        vector[:4] = entry
        assert select(vector, 4).count == count


def test_of_more_equal_entries_than_four_thirds_of_k_it_never_sends_one() -> None:
    """None exceeds itself; below them, at 1/1.012 or less, the threshold rises by 1.03 before anything is sent."""
    select = OkTopkReleased()
    assert [select(ones(14), TARGET).count for _ in range(200)] == [0] * 200
    fewer = OkTopkReleased()
    assert [fewer(ones(12), TARGET).count for _ in range(32)] == [0] + [12] * 31


def test_after_a_vector_with_fewer_entries_than_asked_for_it_sends_everything() -> None:
    """The threshold is 0 then, and no factor changes that."""
    select = OkTopkReleased()
    assert select(ones(TARGET - 1), TARGET).count == TARGET - 1
    assert [select(torch.ones(DIMENSION), TARGET).count for _ in range(31)] == [DIMENSION] * 31
    assert select(torch.ones(DIMENSION), TARGET).count == 0


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ADAPTIVE_SELECTORS)
@pytest.mark.parametrize("vector_name", HARD_VECTORS)
def test_what_has_learnt_still_selects(name: str, vector_name: str, dtype: torch.dtype) -> None:
    vector = HARD_VECTORS[vector_name](dtype)
    k = max(1, vector.numel() // 100)
    select = new_selector(name)
    for _ in range(30):
        payload = select(vector, k)
        assert torch.equal(payload.values, vector[payload.indices.long()])
        assert torch.equal(payload.dense() + payload.remainder(vector), vector + 0.0)


@pytest.mark.parametrize("name", ADAPTIVE_SELECTORS)
def test_a_refused_vector_teaches_nothing(name: str) -> None:
    taught, other = new_selector(name), new_selector(name)
    vectors = [torch.randn(DIMENSION, generator=torch.Generator().manual_seed(seed)) for seed in range(20)]
    for vector in vectors:
        with pytest.raises(ValueError, match="entry 0 is not finite"):
            taught(torch.full((5,), torch.nan), 1)
        assert torch.equal(taught(vector, TARGET).indices, other(vector, TARGET).indices)


@pytest.mark.parametrize("name", ADAPTIVE_SELECTORS)
def test_each_worker_learns_for_itself(name: str) -> None:
    vectors = [torch.randn(DIMENSION, generator=torch.Generator().manual_seed(seed)) for seed in range(20)]
    alone = [new_selector(name)(vector, TARGET).count for vector in vectors]
    one = new_selector(name)
    assert [one(vector, TARGET).count for vector in vectors] != alone
    assert [new_selector(name)(vector, TARGET).count for vector in vectors] == alone
