"""The hook holds what it needs and no more: thousands of steps later a process is as large as after the first."""

from __future__ import annotations

import psutil
import pytest
import torch

from sparsync.experiments.ddp import ErrorFeedbackState
from tests.support.hooks.training import hooked, loss_of, seeded_model
from tests.support.workers import run_workers

STEPS, SETTLED = 2000, 200
TOLERATED_BYTES = 4 << 20
"""What an allocator may keep in reserve; a copy of the parameters that stayed after each step would take more."""


def grown_bytes() -> int:
    """By how much the process grows after it has settled."""
    model = seeded_model()
    ddp = hooked(model, ErrorFeedbackState(model, density=0.05, non_finite="skip"))
    process, settled = psutil.Process(), 0
    for step in range(STEPS):
        if step == SETTLED:
            settled = process.memory_info().rss
        ddp.zero_grad()
        loss_of(ddp, step % 7).backward()
    assert sum(parameter.numel() for parameter in model.parameters()) * 4 * (STEPS - SETTLED) > TOLERATED_BYTES
    return int(process.memory_info().rss) - settled


@pytest.mark.slow
def test_memory_does_not_grow_with_the_steps() -> None:
    torch.set_num_threads(1)
    assert max(run_workers(grown_bytes, 2)) < TOLERATED_BYTES
