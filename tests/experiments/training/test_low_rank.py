"""PowerSGD loses nothing, finds a matrix of its rank at once, and is what torch's hook does between real processes."""

from __future__ import annotations

import math
from functools import partial

import pytest
import torch
import torch.distributed as dist
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch._C._distributed_c10d import GradBucket
from torch.nn.parallel import DistributedDataParallel

from sparsync.experiments.training.low_rank import LowRankAverager, Shape, largest_rank, sent_count
from sparsync.kernels.selection import SELECTORS
from tests.support.workers import run_workers

SHAPES: tuple[Shape, ...] = ((5, 2, 3), (5,), (4, 7), (2, 2))
SIZES = [math.prod(shape) for shape in SHAPES]
RANK, WORLD_SIZE, STEPS, PLAIN_STEPS = 2, 2, 5, 2
"""Torch's hook sends whole gradients in the first two steps, as DDP changes its buckets then."""


def averager(rank: int = RANK, shapes: tuple[Shape, ...] = SHAPES) -> LowRankAverager:
    return LowRankAverager(shapes, rank=rank, generator=torch.Generator().manual_seed(3))


def gradient(worker: int, step: int) -> Tensor:
    """[d] float64, standard normal."""
    stream = torch.Generator().manual_seed(100 * step + worker)
    return torch.randn(sum(SIZES), generator=stream, dtype=torch.float64)


def delivered(rule: LowRankAverager, vectors: list[Tensor]) -> Tensor:
    return rule.average([SELECTORS["keep_all"](vector, len(vector)) for vector in vectors]).mean


@given(rank=st.integers(1, 4), worker_count=st.integers(1, 3), steps=st.integers(1, 4))
def test_all_that_was_sent_and_the_residual_add_up_to_all_means(rank: int, worker_count: int, steps: int) -> None:
    rule = averager(rank)
    created = sent = torch.zeros(sum(SIZES), dtype=torch.float64)
    for step in range(steps):
        vectors = [gradient(worker, step) for worker in range(worker_count)]
        created = created + sum(vectors) / worker_count
        sent = sent + delivered(rule, vectors)
    # Eight roundings a step at most, of numbers below 100.
    assert torch.allclose(created, sent + rule.residual, rtol=0, atol=8 * steps * 100 * 2.0**-53)


def test_vectors_and_matrices_that_would_not_shrink_go_as_they_are() -> None:
    rule = averager()
    mean = delivered(rule, [gradient(0, 0), gradient(1, 0)])
    exact = (gradient(0, 0) + gradient(1, 0)) / 2
    is_exact = [torch.equal(part, whole) for part, whole in zip(mean.split(SIZES), exact.split(SIZES), strict=True)]
    # (2, 2) with rank 2 would be eight numbers for four.
    assert is_exact == [False, True, False, True]
    assert rule.residual.split(SIZES)[1].count_nonzero() == 0


def test_a_matrix_of_the_rank_is_found_in_one_step() -> None:
    columns, rows = (gradient(0, step)[:14].view(7, 2) for step in (0, 1))
    matrix = columns @ rows.T
    mean = delivered(averager(shapes=((7, 7),)), [matrix.flatten()])
    # The basis is known to the roundings times the condition of a 7 × 2 normal matrix times a 2 × 2 one, below 10⁴.
    assert torch.allclose(mean.view(7, 7), matrix, rtol=0, atol=1e4 * 50 * 2.0**-53)


def test_what_is_sent_is_counted() -> None:
    # (5 + 6) · 2 + 5 + (4 + 7) · 2 + 4
    assert sent_count(SHAPES, 2) == 53
    payloads = [SELECTORS["keep_all"](gradient(worker, 0), sum(SIZES)) for worker in range(3)]
    assert averager().average(payloads).sent_bytes == 3 * 53 * 8
    assert [largest_rank(SHAPES, count) for count in (1, 31, 52, 53, 1000)] == [1, 1, 1, 2, 3]


def test_bad_input_is_refused() -> None:
    with pytest.raises(ValueError, match="rank must be at least 1, got 0"):
        averager(0)
    with pytest.raises(ValueError, match="expected payloads of dimension 67, got 3"):
        delivered(averager(), [torch.ones(3)])


class Weights(nn.Module):
    """Parameters whose gradients are what they are multiplied by."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ParameterList(nn.Parameter(torch.zeros(shape, dtype=torch.float64)) for shape in SHAPES)

    def forward(self, slopes: Tensor) -> Tensor:
        parts = zip(self.blocks, slopes.split(SIZES), strict=True)
        return torch.stack([(block.flatten() * part).sum() for block, part in parts]).sum()


KEPT: list[object] = []
"""Until this rank ends."""


def torch_means(factors: dict[Shape, Tensor]) -> list[Tensor]:
    """What torch's hook delivers on this rank, beginning with these Q, by shape of the parameter."""
    from torch.distributed.algorithms.ddp_comm_hooks.powerSGD_hook import PowerSGDState, powerSGD_hook

    # Torch's hook sends in the background. A thread of gloo's that freed the group would wait for itself.
    KEPT.append(dist.group.WORLD)
    state = PowerSGDState(None, matrix_approximation_rank=RANK, start_powerSGD_iter=PLAIN_STEPS, min_compression_rate=1)

    def hook(state: PowerSGDState, bucket: GradBucket) -> torch.futures.Future[Tensor]:
        if state.iter == PLAIN_STEPS and not state.p_memory_dict:
            starts = [factors[tuple(one.shape)] for one in bucket.parameters() if tuple(one.shape) in factors]
            rows = sum(one.shape[0] for one in bucket.parameters() if tuple(one.shape) in factors)
            state.p_memory_dict[bucket.index()] = torch.zeros(RANK * rows, dtype=torch.float64)
            state.q_memory_dict[bucket.index()] = torch.cat([start.flatten().double() for start in starts])
        return powerSGD_hook(state, bucket)

    model = Weights()
    ddp = DistributedDataParallel(model)
    # DDP compares annotations with types, and these are text.
    ddp.register_comm_hook(state, lambda state, bucket: hook(state, bucket))
    means = []
    for step in range(PLAIN_STEPS + STEPS):
        model.zero_grad()
        ddp(gradient(dist.get_rank(), step)).backward()
        means.append(torch.cat([block.grad.flatten() for block in model.blocks if block.grad is not None]))
    return means[PLAIN_STEPS:]


def test_torch_s_hook_delivers_the_same_means_from_the_same_start() -> None:
    rule = averager()
    starts = {shape: factor.clone() for shape, factor in zip(SHAPES, rule.factors, strict=True) if factor.numel()}
    theirs, others = run_workers(partial(torch_means, starts), WORLD_SIZE)
    assert all(map(torch.equal, theirs, others))
    for step, mean in enumerate(theirs, start=PLAIN_STEPS):
        ours = delivered(rule, [gradient(worker, step) for worker in range(WORLD_SIZE)])
        # Both orthogonalise, in ways that differ by roundings times the condition of MQ, below 10³ for such matrices;
        # each step hands its difference on.
        assert torch.allclose(ours, mean, rtol=0, atol=1e3 * 100 * STEPS * 2.0**-53)
