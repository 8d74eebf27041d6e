"""Numbers of samples: each is the best that there is, and every rank finds the same."""

from __future__ import annotations

from itertools import product

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sparsync.experiments.bulk.regular_samples import (
    RegularSamples,
    best_segment,
    candidate_numbers,
    narrowing_segments,
    oversampled_segment,
    samples_of,
    splitter_numbers,
    threshold_number,
)
from sparsync.theory.statements import STATEMENTS


@given(st.lists(st.lists(st.integers(0, 5), max_size=12), min_size=1, max_size=4), st.integers(1, 5))
def test_keys_up_to_a_sample_are_those_before_it_by_key_rank_and_index(shards: list[list[int]], length: int) -> None:
    own = [torch.tensor(sorted(shard), dtype=torch.int64) for shard in shards]
    samples = RegularSamples([samples_of(keys, length) for keys in own], length)
    keys = sorted((key, rank, place) for rank, shard in enumerate(own) for place, key in enumerate(shard.tolist()))
    told = [key for key in keys if (key[2] + 1) % length == 0]
    assert len(samples) == len(told)
    for number, sample in enumerate(told, start=1):
        counts = [samples.keys_up_to(keys_of, rank, number) for rank, keys_of in enumerate(own)]
        assert counts == [sum(key[1] == rank and key <= sample for key in keys) for rank in range(len(own))]
    assert [samples.keys_up_to(own[0], 0, number) for number in (-1, 0, len(told) + 1)] == [0, 0, len(own[0])]


def test_buckets_differ_by_one_sample_and_first_ones_have_more() -> None:
    assert splitter_numbers(11, 4) == [3, 6, 9]
    assert splitter_numbers(2, 4) == [1, 2, 2]
    assert splitter_numbers(0, 3) == [0, 0]


def test_a_threshold_is_the_number_that_can_be_least_off() -> None:
    for ranks, length, samples in product(range(1, 5), range(1, 5), range(4)):
        stated = STATEMENTS["threshold_rank"].fraction(n=ranks, segment_length=length)
        for keys in range(max(1, samples * length), samples * length + ranks * (length - 1) + 1):
            for wanted in range(1, keys + 1):
                doubt = (ranks - 1) * (length - 1)
                worst = [
                    wanted,
                    *(max(wanted - m * length, m * length + doubt - wanted) for m in range(1, samples + 1)),
                ]
                worst.append(keys - wanted)
                found = worst[threshold_number(wanted, keys, samples, ranks, length)]
                assert found == min(worst)
                assert found <= stated


@pytest.mark.parametrize(("wanted", "expected"), [(1, (0, 1)), (10, (0, 3)), (12, (0, 3)), (13, (1, 4)), (20, (2, 5))])
def test_candidates_lie_between_the_last_sure_sample_and_the_first_sure_end(
    wanted: int, expected: tuple[int, int]
) -> None:
    # (P − 1)(L − 1) = 9 of four ranks; up to sample m are 4m keys at least and 4m + 9 at most.
    assert candidate_numbers(wanted, 4, 4) == expected


def test_lengths_of_segments_are_those_of_the_statements_in_whole_numbers() -> None:
    assert oversampled_segment(28, 3, 1) == 4
    assert oversampled_segment(0, 3, 1) == 1
    stated = STATEMENTS["best_sort_segment"].evaluate(n=4, d=10**6, value_bytes=4, index_bytes=4)
    assert best_segment(10**6, 4, 4, 4) == int(stated)
    assert best_segment(0, 4, 4, 4) == 1


@pytest.mark.parametrize("rounds", [1, 2, 3, 4])
def test_rounds_tell_about_as_few_samples_as_any_lengths_could(rounds: int) -> None:
    ranks, wanted = 4, 10**6
    left, told = ranks * wanted, 0.0
    segments = narrowing_segments(left, ranks, rounds)
    assert len(segments) == rounds
    assert segments[-1] == 1
    for length in segments:
        told, left = told + left / length, 2 * ranks * length
    stated = STATEMENTS["samples_of_rounds"].evaluate(n=ranks, k=wanted, telling_rounds=rounds)
    assert stated <= told <= 1.01 * stated


def test_of_a_few_keys_all_are_told_at_once() -> None:
    assert narrowing_segments(3, 4, 5) == [1]
    assert narrowing_segments(0, 4, 2) == [1]
