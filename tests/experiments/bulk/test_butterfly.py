"""Planned parts and planned batches on real ranks: sums are exact, and each rank sends what the plan says."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

import pytest
import torch
import torch.distributed as dist
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from sparsync.experiments.averaging.header import ExchangeError
from sparsync.experiments.averaging.messages import answer_each_other
from sparsync.experiments.bulk.butterfly import all_reduce, butterfly, reduce_scatter
from sparsync.experiments.bulk.supersteps import LocalRanks
from sparsync.experiments.planners import dedloc, lb_bsp
from sparsync.experiments.planners.collaborations.loads import Collaboration, Peer
from sparsync.experiments.planners.lb_bsp import FlatThenStraight, SharedBatch, Worker
from tests.support.workers import run_workers

LENGTH, EXAMPLES, FEATURES = 1000, 37, 5
UNEQUAL = (1.0, 2.5, 7.0, 4.0)
"""How much faster ranks are than the first, in their links and in computing."""


def planned_parts(rank_count: int, length: int) -> list[int]:
    peers = tuple(Peer(examples_per_second=1.0, upload=speed, download=speed) for speed in UNEQUAL[:rank_count])
    parts = dedloc.plan(Collaboration(peers, target_batch=1e-9, parameter_count=length)).choice["parts"]
    assert isinstance(parts, list)
    return parts


def planned_batches(rank_count: int) -> list[int]:
    workers = tuple(Worker(FlatThenStraight(1 / speed, 0.5, 2)) for speed in UNEQUAL[:rank_count])
    batches = lb_bsp.plan(SharedBatch(workers, EXAMPLES)).choice["batches"]
    assert isinstance(batches, list)
    return batches


def whole_numbers(seed: int, *shape: int) -> Tensor:
    return torch.randint(-999, 999, shape, generator=torch.Generator().manual_seed(seed))


def sum_of_gradients(first: int, count: int) -> Tensor:
    """Σ ∇½(x·θ − y)² of some examples, at whole numbers: exact in float64."""
    inputs, targets = whole_numbers(1, EXAMPLES, FEATURES).double(), whole_numbers(2, EXAMPLES).double()
    parameters = whole_numbers(3, FEATURES).double().requires_grad_()
    errors = (inputs @ parameters - targets)[first : first + count]
    (0.5 * errors.square()).sum().backward()
    assert parameters.grad is not None
    return parameters.grad


def talk(cases: dict[str, list[int]], batches: list[int]) -> dict[str, Any]:
    """On each rank: sums of whole vectors, with the bytes that it handed over, and of the gradients of its batch."""
    rank, handed = dist.get_rank(), [0]
    send = dist.batch_isend_irecv

    def counted(operations: list[dist.P2POp]) -> Any:
        handed[0] += sum(
            operation.tensor.numel() * operation.tensor.element_size()
            for operation in operations
            if operation.op is dist.isend
        )
        return send(operations)

    found: dict[str, Any] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dist, "batch_isend_irecv", counted)
        for name, parts in cases.items():
            handed[0] = 0
            reduced = all_reduce(whole_numbers(10 + rank, LENGTH), parts)
            found[name] = (reduced.total, reduced.sent_bytes, handed[0])
        summed = sum_of_gradients(sum(batches[:rank]), batches[rank])
        parts = planned_parts(len(batches), FEATURES)
        found["sum of gradients"] = all_reduce(summed, parts).total
        weighted = batches[rank] / EXAMPLES * (summed / batches[rank])
        found["weighted mean"] = all_reduce(weighted, parts).total
    return found


@pytest.mark.parametrize("rank_count", [2, 4])
def test_planned_parts_and_batches_give_the_sum_of_one_process_and_send_what_is_planned(rank_count: int) -> None:
    server = [0] * (rank_count - 1) + [LENGTH]
    cases = {"planned": planned_parts(rank_count, LENGTH), "server": server}
    batches = planned_batches(rank_count)
    assert len(set(batches)) > 1
    assert len(set(cases["planned"])) > 1 or rank_count == 2
    answers = run_workers(partial(talk, cases, batches), rank_count)
    total = sum(
        (whole_numbers(10 + rank, LENGTH) for rank in range(rank_count)), torch.zeros(LENGTH, dtype=torch.int64)
    )
    for name, parts in cases.items():
        for part, found in zip(parts, answers, strict=True):
            reduced, sent, handed = found[name]
            assert torch.equal(reduced, total)
            assert sent == handed == 8 * (LENGTH + (rank_count - 2) * part)
    whole = sum_of_gradients(0, EXAMPLES)
    each = [sum_of_gradients(sum(batches[:rank]), batches[rank]) for rank in range(rank_count)]
    # A rounding each for the mean, the weight, their product and every sum.
    bound = (rank_count + 3) * 2**-53 * torch.stack(each).abs().sum(dim=0) / EXAMPLES
    for found in answers:
        assert torch.equal(found["sum of gradients"], whole)
        assert torch.all((found["weighted mean"] - whole / EXAMPLES).abs() <= bound)
        assert torch.equal(found["weighted mean"], answers[0]["weighted mean"])


@settings(max_examples=60, deadline=None)
@given(parts=st.lists(st.integers(0, 6), min_size=2, max_size=5).filter(any), data=st.data())
def test_any_parts_add_up_in_one_process_too(parts: list[int], data: st.DataObject) -> None:
    vectors = [whole_numbers(data.draw(st.integers(0, 99)), sum(parts)) for _ in parts]
    reduced = answer_each_other([butterfly(vector, parts, rank) for rank, vector in enumerate(vectors)])
    assert torch.equal(reduced.total, torch.stack(vectors).sum(dim=0))
    assert reduced.sent_bytes == 8 * (sum(parts) + (len(parts) - 2) * parts[0])


@pytest.mark.parametrize(("parts", "length"), [([2, 2], 5), ([-1, 3], 2)])
def test_parts_that_are_not_the_vector_are_refused(parts: list[int], length: int) -> None:
    with pytest.raises(ValueError, match=re.escape(f"parts {parts} are not a vector")):
        next(butterfly(torch.zeros(length), parts, 0))


def wrong_count() -> str:
    with pytest.raises(ValueError, match="2 ranks need as many parts") as refused:
        all_reduce(torch.zeros(3), [1, 1, 1])
    return str(refused.value)


def lost_rank() -> str | None:
    if dist.get_rank() == 1:
        return None
    with pytest.raises(ExchangeError, match="butterfly") as lost:
        all_reduce(torch.zeros(2), [1, 1], timeout_seconds=0.5)
    return str(lost.value)


def other_parts() -> str:
    with pytest.raises(ValueError, match="butterfly") as refused:
        all_reduce(torch.zeros(4), [1, 3] if dist.get_rank() else [3, 1])
    return str(refused.value)


def stranger() -> str | None:
    group: Any = dist.new_group([1])
    if dist.get_rank() == 1:
        return None
    with pytest.raises(ValueError, match="not in the group") as refused:
        all_reduce(torch.zeros(1), [1], group=group)
    return str(refused.value)


def refusals() -> tuple[str, str, str | None, str | None]:
    return wrong_count(), other_parts(), stranger(), lost_rank()


def test_other_ranks_are_missed_and_other_parts_refused() -> None:
    (refused, unlike, said, lost), (_, unlike_too, *_) = run_workers(refusals, 2)
    assert refused.endswith("got [1, 1, 1]")
    # With gloo, messages of other lengths than were expected end the process.
    assert (
        unlike
        == "butterfly: ranks [1] have other settings than rank 0; here: {'dtype': 'torch.float32', 'parts': [3, 1]}"
    )
    assert unlike_too.endswith("[1, 3]}")
    assert said == "this rank is not in the group"
    assert lost is not None


def test_a_reduce_scatter_leaves_each_rank_the_sum_of_its_part() -> None:
    vectors, parts = [whole_numbers(seed, 9) for seed in range(3)], [4, 0, 5]
    total = torch.stack(vectors).sum(dim=0).split(parts)
    ended = LocalRanks(3).run("scatter", lambda place: reduce_scatter(vectors[place.rank], parts, place.rank))
    for one, part in zip(ended, total, strict=True):
        assert torch.equal(one.found.total, part)
        assert one.found.sent_bytes == 8 * (9 - len(part))
        assert one.traffic.sent_bytes == [48, one.found.sent_bytes]


def test_what_is_no_vector_is_refused() -> None:
    for mine, parts, words in (
        ([1.0], [1], "parts [1] are not list"),
        (torch.ones(1), [], "parts [] are not a vector of shape (1,)"),
        (torch.ones(2).to_sparse(), [2], "parts [2] are not a vector of shape (2,)"),
    ):
        with pytest.raises(ValueError, match=re.escape(words)):
            next(butterfly(mine, parts, 0))  # type: ignore[arg-type]  # wrong on purpose
