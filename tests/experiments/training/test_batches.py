"""Workers see disjoint batches, every example at most once an epoch, and the same ones in every process."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sparsync.experiments.training.batches import ORDERS_KEPT, BatchSchedule
from sparsync.experiments.training.seeding import random_stream

SIZES = st.tuples(st.integers(1, 5), st.integers(1, 8), st.integers(0, 60)).map(
    lambda s: (s[0], s[1], s[0] * s[1] + s[2])
)


def schedule(sizes: tuple[int, int, int], seed: int = 0) -> BatchSchedule:
    worker_count, batch_size, example_count = sizes
    return BatchSchedule(example_count, worker_count=worker_count, batch_size=batch_size, seed=seed)


@given(sizes=SIZES)
def test_an_epoch_uses_no_example_twice(sizes: tuple[int, int, int]) -> None:
    batches = schedule(sizes)
    seen = torch.cat([batches.batch(t, r) for t in range(batches.steps_per_epoch) for r in range(sizes[0])])
    assert len(seen) == batches.steps_per_epoch * sizes[0] * sizes[1] > sizes[2] - sizes[0] * sizes[1]
    assert len(seen.unique()) == len(seen)
    assert 0 <= int(seen.min()) <= int(seen.max()) < sizes[2]


@given(sizes=SIZES, step=st.integers(0, 50))
def test_n_workers_see_what_one_worker_with_their_batches_together_sees(sizes: tuple[int, int, int], step: int) -> None:
    worker_count, batch_size, example_count = sizes
    together = torch.cat([schedule(sizes).batch(step, rank) for rank in range(worker_count)])
    assert torch.equal(together, schedule((1, worker_count * batch_size, example_count)).batch(step, 0))


def test_steps_may_be_asked_for_in_any_order() -> None:
    forward, backward = schedule((2, 3, 20)), schedule((2, 3, 20))
    asked = {step: backward.batch(step, 1) for step in reversed(range(9))}
    assert all(torch.equal(forward.batch(step, 1), asked[step]) for step in range(9))


def test_workers_in_different_epochs_see_the_batches_of_those_and_permute_each_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sizes = worker_count, batch_size, example_count = 2, 3, 20
    drawn, randperm = [], torch.randperm

    def counted(count: int, *, generator: torch.Generator) -> torch.Tensor:
        drawn.append(count)
        return randperm(count, generator=generator)

    monkeypatch.setattr(torch, "randperm", counted)
    batches = schedule(sizes, seed=7)
    for position in range(batches.steps_per_epoch):
        for epoch in range(ORDERS_KEPT):
            order = randperm(example_count, generator=random_stream(7, "order", epoch))
            for rank in range(worker_count):
                start = (position * worker_count + rank) * batch_size
                found = batches.batch(epoch * batches.steps_per_epoch + position, rank)
                assert torch.equal(found, order[start : start + batch_size])
    assert len(drawn) == ORDERS_KEPT
    drawn_anew = []
    # The one asked for longest ago goes: of 0 to 15, all asked for, 0 last of all, it is 1.
    for epoch in (0, ORDERS_KEPT, 0, ORDERS_KEPT, 1):
        first = randperm(example_count, generator=random_stream(7, "order", epoch))[:batch_size]
        assert torch.equal(batches.batch(epoch * batches.steps_per_epoch, 0), first)
        drawn_anew.append(len(drawn) - ORDERS_KEPT)
    assert drawn_anew == [0, 1, 1, 1, 2]


def test_epochs_and_seeds_are_shuffled_differently() -> None:
    batches = schedule((1, 50, 50))
    assert not torch.equal(batches.batch(0, 0), batches.batch(1, 0))
    assert not torch.equal(batches.batch(0, 0), schedule((1, 50, 50), seed=1).batch(0, 0))


def test_too_few_examples_for_one_step_are_refused() -> None:
    with pytest.raises(ValueError, match="4 workers with batch size 8 need more than the 31"):
        schedule((4, 8, 31))
