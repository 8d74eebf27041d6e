"""Who sees which examples: as ever where nothing is asked for, and in the mean as stated where examples are passed."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import combinations, pairwise
from unittest.mock import patch

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from torch import Tensor

from sparsync.experiments.engine.examples import Examples, Injection, Partition
from sparsync.experiments.training.batches import BatchSchedule
from sparsync.experiments.training.seeding import random_stream

LABELS = torch.arange(90).remainder(9)
counts = st.integers(1, 6)
shares = st.fractions(0, 1, max_denominator=8)


def examples(
    labels: Tensor = LABELS, *, workers: int = 3, size: int = 8, partition: Partition = "labels", injection: Injection
) -> Examples:
    return Examples(labels, worker_count=workers, batch_size=size, seed=5, partition=partition, injection=injection)


@pytest.mark.parametrize("injection", [Injection(), Injection(0.5, 0.0), Injection(0.0, 0.5)])
def test_without_parts_and_injection_examples_are_those_of_the_schedule(injection: Injection) -> None:
    ours = examples(partition="none", injection=injection)
    schedule = BatchSchedule(90, worker_count=3, batch_size=8, seed=5)
    for worker, step in ((0, 0), (2, 7), (1, 3)):
        assert torch.equal(ours.of(worker, step, 8), schedule.batch(step, worker))
        drawn = torch.randint(90, (5,), generator=random_stream(5, "batch", worker, step))
        assert torch.equal(ours.of(worker, step, 5), drawn)
        assert ours.received_count(worker, step, 8) == 0


@given(workers=st.integers(1, 11))
def test_parts_are_sorted_by_label_and_equally_large_but_for_one_example(workers: int) -> None:
    ours = examples(workers=workers, injection=Injection())
    seen = [set(torch.cat([ours.of(worker, step, 50) for step in range(60)]).tolist()) for worker in range(workers)]
    labels = [[int(LABELS[index]) for index in part] for part in seen]
    assert all(max(before) <= min(after) for before, after in pairwise(labels))
    # 3000 draws miss one of 90/n examples with a chance of 90·exp(−3000 n/90) < 1e-12.
    sizes = [len(part) for part in seen]
    assert sum(sizes) == 90
    assert max(sizes) - min(sizes) <= 1


@given(workers=counts, donors=shares, passed=shares, size=st.integers(1, 12))
def test_batches_stay_as_large_and_hold_the_first_examples_of_all_who_pass_some(
    workers: int, donors: Fraction, passed: Fraction, size: int
) -> None:
    injection = Injection(float(donors), float(passed))
    count = injection.passed_count(size, workers)
    assume(count)
    ours, alone = (examples(workers=workers, size=size, injection=given) for given in (injection, Injection()))
    assert len(ours.donors(4)) == injection.donor_count(workers) > 0
    for worker in range(workers):
        found, own = ours.of(worker, 4, size), alone.of(worker, 4, size)
        others = [other for other in ours.donors(4) if other != worker]
        received = ours.received_count(worker, 4, size)
        assert received == count * len(others) < size
        assert torch.equal(found[: size - received], own[: size - received])
        from_others = [alone.of(other, 4, size)[:count] for other in others]
        assert torch.equal(found[size - received :], torch.cat([own[:0], *from_others]))
        # What it passes to others it sees itself.
        assert worker not in ours.donors(4) or size - received >= count


@given(workers=counts, donors=shares, passed=shares, size=st.integers(1, 24))
def test_in_the_mean_over_who_passes_a_worker_sees_ks_of_b_like_all_examples(
    workers: int, donors: Fraction, passed: Fraction, size: int
) -> None:
    """Exactly: each worker has a label of its own, and all choices of k workers are gone through."""
    injection = Injection(float(donors), float(passed))
    count, k = injection.passed_count(size, workers), injection.donor_count(workers)
    assume(count)
    labels = torch.arange(workers).repeat_interleave(size)
    ours = examples(labels, workers=workers, size=size, injection=injection)
    choices = list(combinations(range(workers), k))
    for worker in range(workers):
        seen = Counter[int]()
        for choice in choices:
            with patch.object(ours, "donors", lambda _, choice=choice: list(choice)):
                seen.update(labels[ours.of(worker, 0, size)].tolist())
        shared = Fraction(k * count, size)
        for label in range(workers):
            share = Fraction(seen[label], size * len(choices))
            assert share == (1 - shared) * (label == worker) + shared / workers


def test_who_passes_examples_is_drawn_anew_and_everybody_equally_often() -> None:
    ours = examples(workers=5, injection=Injection(0.4, 0.5))
    drawn = [ours.donors(step) for step in range(2000)]
    assert all(len(set(row)) == 2 for row in drawn)
    pairs = Counter(map(tuple, drawn))
    # Each of ten pairs, within five standard errors.
    within = 5 * math.sqrt(2000 * 0.1 * 0.9)
    assert len(pairs) == 10
    assert all(abs(found - 200) < within for found in pairs.values())


def test_what_is_passed_does_not_depend_on_who_was_asked_before() -> None:
    forth, back = (examples(injection=Injection(0.4, 0.5)) for _ in range(2))
    asked = [(worker, step) for worker in range(3) for step in range(9)]
    found = {place: forth.of(*place, 8).tolist() for place in asked}
    assert found == {place: back.of(*place, 8).tolist() for place in reversed(asked)}


@pytest.mark.parametrize(
    ("labels", "partition", "injection", "message"),
    [
        (LABELS, "sorted", Injection(), "partition must be one of none, labels, got 'sorted'"),
        (
            LABELS.view(45, 2),
            "labels",
            Injection(),
            r"partition 'labels' needs a label for each example, got \[45, 2\]",
        ),
        (LABELS, "none", Injection(0.1, 1.0), r"Injection\(worker_share=0.1, .* passes nothing in batches of 8 of 3"),
        (LABELS, "none", Injection(1.0, 0.1), r"batch_share=0.1\) passes nothing in batches of 8 of 3 workers"),
    ],
)
def test_what_cannot_be_is_refused(labels: Tensor, partition: Partition, injection: Injection, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        examples(labels, partition=partition, injection=injection)


@pytest.mark.parametrize("bad", [-0.5, 1.5, math.nan])
def test_shares_are_shares(bad: float) -> None:
    with pytest.raises(ValueError, match=rf"worker_share must lie in \[0, 1\], got {bad}"):
        Injection(bad, 0.5)
    with pytest.raises(ValueError, match=rf"batch_share must lie in \[0, 1\], got {bad}"):
        Injection(0.5, bad)
