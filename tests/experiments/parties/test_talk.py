"""Tensors go from party to party whole, books say how many bytes, who is lost is named; in one process or in many."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
import torch.distributed as dist
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from sparsync.experiments.averaging.header import ExchangeError
from sparsync.experiments.parties import talk as talk_module
from sparsync.experiments.parties.talk import (
    DTYPES,
    HEAD_BYTES,
    Books,
    Give,
    Talk,
    carry,
    give,
    give_unless_lost,
    side_by_side,
    take,
    take_unless_lost,
)
from sparsync.experiments.training.collectives import answer
from tests.support.workers import run_workers

SHAPES = ((), (0,), (3,), (2, 0, 4), (2, 3), (1, 2, 3, 2), (1, 1, 2, 1, 1, 2))


def drawn(shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
    generator = torch.Generator().manual_seed(len(shape))
    return (100 * torch.rand(shape, generator=generator, dtype=torch.float64)).to(dtype)


EVERY = [drawn(shape, dtype) for shape in SHAPES for dtype in DTYPES]


def ring(rank: int, size: int) -> Talk[list[Tensor]]:
    """Everything goes round once: rank 0 speaks first."""
    after, before = (rank + 1) % size, (rank - 1) % size
    found = []
    for tensor in EVERY:
        if rank == 0:
            yield from give(after, "parcel", tensor)
        parcel = yield from take(before, "parcel")
        found.append(parcel)
        if rank:
            yield from give(after, "parcel", parcel)
    return found


def same(left: Tensor, right: Tensor) -> bool:
    return left.dtype == right.dtype and left.shape == right.shape and torch.equal(left, right)


def ring_on_a_rank() -> tuple[list[Tensor], list[dict[str, object]]]:
    books = Books()
    return carry(ring(dist.get_rank(), dist.get_world_size()), books), books.rows()


def test_real_ranks_hear_what_was_said_and_note_what_they_gave_and_took() -> None:
    size, books = 3, Books()
    simulated = side_by_side([ring(rank, size) for rank in range(size)], books)
    answers = run_workers(ring_on_a_rank, size)
    whole = sum(tensor.numel() * tensor.element_size() for tensor in EVERY)
    for rank, (found, rows) in enumerate(answers):
        assert all(map(same, found, EVERY))
        assert all(map(same, simulated[rank], EVERY))
        assert rows == [row for row in books.rows() if rank in (row["sender"], row["receiver"])]
    assert books.total() == size * whole
    assert books.total(rank=0) == 2 * whole
    assert books.total(subject="parcel") == size * whole
    assert books.total(subject="another") == 0
    assert [row["tensor_count"] for row in books.rows()] == [len(EVERY)] * size


def test_what_is_taken_is_a_tensor_of_its_own() -> None:
    mine = torch.zeros(3)

    def giver() -> Talk[Tensor | None]:
        yield from give(1, "zeros", mine)
        mine.fill_(1.0)
        yield from give(1, "done", torch.empty(0))
        return None

    def taker() -> Talk[Tensor | None]:
        found = yield from take(0, "zeros")
        yield from take(0, "done")
        return found

    _, found = side_by_side([giver(), taker()], Books())
    assert found is not None
    assert torch.equal(found, torch.zeros(3))


def saying(*wishes: Callable[[], Talk[Any]]) -> Talk[list[Any]]:
    found = []
    for wish in wishes:
        found.append((yield from wish()))
    return found


def test_a_party_that_waits_for_one_that_has_ended_is_told_so() -> None:
    with pytest.raises(ExchangeError, match=r"rank 0, takes 'answer' from rank 1: rank 1 has ended"):
        side_by_side([saying(lambda: take(1, "answer")), saying()], Books())


def test_a_party_that_survives_a_loss_goes_on() -> None:
    talks = [
        saying(lambda: take_unless_lost(1, "answer"), lambda: give_unless_lost(1, "news", torch.ones(1))),
        saying(),
    ]
    (taken, given_away), _ = side_by_side(talks, Books())
    assert isinstance(taken, ExchangeError)
    assert isinstance(given_away, ExchangeError)


def test_parties_that_all_wait_for_each_other_are_named() -> None:
    with pytest.raises(ExchangeError, match=r"rank 0 takes 'a' from rank 1, rank 1 takes 'b' from rank 0"):
        side_by_side([saying(lambda: take(1, "a")), saying(lambda: take(0, "b"))], Books())


def test_two_givers_wait_for_each_other_as_over_a_wire() -> None:
    with pytest.raises(ExchangeError, match="gives 'a'"):
        side_by_side(
            [saying(lambda: give(1, "a", torch.ones(1))), saying(lambda: give(0, "b", torch.ones(1)))], Books()
        )


def test_another_subject_is_not_taken_for_what_was_asked_for() -> None:
    with pytest.raises(ExchangeError, match="asked for 'gradient'"):
        side_by_side([saying(lambda: give(1, "labels", torch.ones(1))), saying(lambda: take(0, "gradient"))], Books())


@pytest.mark.parametrize("rank", [-1, 0, 2])
def test_nobody_talks_to_itself_or_to_a_rank_that_is_not_there(rank: int) -> None:
    with pytest.raises(ValueError, match=f"rank 0 of 2 cannot talk to rank {rank}"):
        side_by_side([saying(lambda: take(rank, "a")), saying()], Books())


@pytest.mark.parametrize("tensor", [torch.zeros(1, dtype=torch.complex64), torch.zeros((1,) * 7)])
def test_what_cannot_be_said_is_refused(tensor: Tensor) -> None:
    with pytest.raises(ValueError, match="'odd' cannot be given"):
        side_by_side([saying(lambda: give(1, "odd", tensor)), saying(lambda: take(0, "odd"))], Books())


@given(place=st.integers(0, HEAD_BYTES - 1), bit=st.integers(0, 7))
def test_a_head_with_one_bit_changed_is_no_head(place: int, bit: int) -> None:
    head = talk_module._head(Give(1, "a", torch.ones(2, 3)))
    changed = head.clone()
    changed[place] ^= 1 << bit
    wish = talk_module.Take(0, "a")
    assert talk_module._read_head(head, wish)[:2] == (torch.float32, (2, 3))
    with pytest.raises(ExchangeError):
        talk_module._read_head(changed, wish)


def dies_before_it_gives() -> str:
    """Rank 2 dies; rank 0 takes what rank 1 has to say all the same, and is told of the loss."""
    rank = dist.get_rank()
    if rank == 2:
        os.kill(os.getpid(), signal.SIGKILL)

    def server() -> Talk[str]:
        lost = yield from take_unless_lost(2, "update")
        update = yield from take(1, "update")
        assert torch.equal(update, torch.ones(4))
        return str(lost)

    def client() -> Talk[str]:
        yield from give(0, "update", torch.ones(4))
        return ""

    return carry(client() if rank else server(), Books(), timeout_seconds=20.0)


def test_a_server_outlives_a_client_that_is_killed() -> None:
    said, nothing, _ = run_workers(dies_before_it_gives, 3, killed=[2])
    assert said.startswith("rank 0, takes 'update' from rank 2")
    assert nothing == ""


def late(*, is_patient: bool, is_giver: bool, dies: bool = False) -> str:
    """What rank 0 hears, where rank 1 comes later than one waits, or dies instead."""
    if dist.get_rank():
        time.sleep(3.0)
        if dies:
            os.kill(os.getpid(), signal.SIGKILL)
        wish = partial(take, 0, "a") if is_giver else partial(give, 0, "a", torch.ones(3))
    elif is_giver:
        wish = partial(give, 1, "a", torch.ones(3), is_patient=is_patient)
    else:
        wish = partial(take, 1, "a", is_patient=is_patient)
    try:
        carry(saying(wish), Books(), timeout_seconds=1.5)
    except ExchangeError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("is_giver", [pytest.param(False, marks=pytest.mark.slow), True])
def test_who_is_patient_waits_longer_and_who_is_not_does_not(*, is_giver: bool) -> None:
    assert run_workers(partial(late, is_patient=True, is_giver=is_giver), 2) == ["", ""]
    said, _ = run_workers(partial(late, is_patient=False, is_giver=is_giver), 2)
    assert "not all ranks came within 1.5 s" in said


@pytest.mark.parametrize("is_giver", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_who_is_patient_notices_at_once_that_the_other_is_killed(*, is_giver: bool) -> None:
    began = time.monotonic()
    said, _ = run_workers(partial(late, is_patient=True, is_giver=is_giver, dies=True), 2, killed=[1])
    assert "a connection was lost" in said
    # It starts, sleeps for three seconds, and asks for two who is missing; the rest is for a machine that is busy.
    assert time.monotonic() - began < 60


def changes_on_its_way() -> str:
    """Rank 0 gives ones, of which one bit is another when rank 1 reads them."""
    if dist.get_rank() == 0:
        carry(saying(partial(give, 1, "ones", torch.ones(4))), Books())
        return ""
    said = answer

    def damaged(message: Any, call: Any) -> list[Tensor]:
        found = said(message, call)
        if found and found[0].numel() == 16:
            found[0][3] ^= 1
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(talk_module, "answer", damaged)
        try:
            carry(saying(partial(take, 0, "ones")), Books())
        except ExchangeError as error:
            return str(error)
    return "nothing was noticed"


def test_what_was_changed_on_its_way_is_noticed() -> None:
    assert run_workers(changes_on_its_way, 2)[1].endswith("what arrived is not what was sent")
