"""The hook gives DDP's means where everything is sent, and never loses an entry where not; ranks are real processes."""

from __future__ import annotations

import time
from datetime import timedelta
from functools import cache
from itertools import product
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import Tensor
from torch._C._distributed_c10d import GradBucket
from torch.nn.parallel import DistributedDataParallel

from sparsync.experiments.ddp import GRANULARITIES, ErrorFeedbackState, error_feedback_hook
from sparsync.kernels.selection import SELECTORS
from tests.support.hooks.training import conserved, hooked, loss_of, seeded_model, wrapped
from tests.support.slow_cases import slow_except
from tests.support.workers import run_workers

STEPS = 5


def trained(hook_options: dict[str, Any] | None) -> list[Tensor]:
    """Parameters after some steps with momentum; None: DDP without a hook."""
    model = seeded_model()
    ddp = DistributedDataParallel(model, bucket_cap_mb=1e-3)
    if hook_options is not None:
        ddp.register_comm_hook(ErrorFeedbackState(model, **hook_options), error_feedback_hook)
    optimiser = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.1, momentum=0.9)
    for step in range(STEPS):
        optimiser.zero_grad()
        loss_of(ddp, step).backward()
        optimiser.step()
    return [parameter.detach() for parameter in model.parameters()]


HOOKS: tuple[dict[str, Any] | None, ...] = (None, {"selector": "keep_all"}, {"density": 1.0})
"""Without a hook, and with hooks that send everything."""


def trained_in_turn() -> list[list[Tensor]]:
    return [trained(options) for options in HOOKS]


@cache
def parameters_of_ranks(world_size: int) -> list[list[list[Tensor]]]:
    """Of each rank, in one group of processes: after each of `HOOKS`."""
    return run_workers(trained_in_turn, world_size)


@pytest.mark.parametrize("world_size", slow_except({2}, [2, 3]))
def test_keep_all_is_ddp_itself_in_bits(world_size: int) -> None:
    for without, with_hook, _ in parameters_of_ranks(world_size):
        assert all(map(torch.equal, with_hook, without))


def test_density_one_on_two_ranks_is_ddp_itself_in_bits() -> None:
    # Halving is exact, and a sum of two has one order.
    for without, _, with_hook in parameters_of_ranks(2):
        assert all(map(torch.equal, with_hook, without))


class Lingering(ErrorFeedbackState):
    """A thread of gloo's still wants Python's lock when this rank has long gone on."""

    def communicate(self, bucket: GradBucket) -> torch.futures.Future[Tensor]:
        """Let that thread sleep after it has delivered."""
        future = super().communicate(bucket)
        future.then(lambda _: time.sleep(0.5))
        return future


def step_and_destroy() -> bool:
    network = DistributedDataParallel(seeded_model())
    network.register_comm_hook(Lingering(network), error_feedback_hook)
    loss_of(network, 0).backward()
    dist.destroy_process_group()
    # As this returns, the network is freed, and it holds the last reference to the group.
    return True


def test_a_network_that_outlives_its_group_is_freed_while_gloo_still_lets_go_of_what_was_sent() -> None:
    assert run_workers(step_and_destroy, 2) == [True, True]


def lost_by_any_selector() -> list[str]:
    """What was not conserved: selector, granularity, step and parameter."""
    lost = []
    for selector, granularity in product(sorted(SELECTORS.keys() - {"keep_all"}), GRANULARITIES):
        options = {"selector": selector, "density": 0.05, "granularity": granularity}
        ddp, recorder = wrapped(options, {})
        parameters = dict(ddp.module.named_parameters())
        optimiser = torch.optim.SGD([p for p in ddp.parameters() if p.requires_grad], lr=0.1)
        for step in range(STEPS):
            optimiser.zero_grad()
            loss_of(ddp, step).backward()
            # The first step has one bucket, and DDP forms smaller ones from what it saw.
            assert (recorder.bucket_count > 1) == (step > 0)
            wrong = conserved(recorder, parameters)
            lost += [f"{selector}, {granularity}, step {step}: {what}" for what in wrong]
            optimiser.step()
    return lost


def test_created_is_sent_and_pending_for_every_selector_and_granularity() -> None:
    assert run_workers(lost_by_any_selector, 2) == [[], []]


class Watched(ErrorFeedbackState):
    """Rank 1 sends nothing of step 2 before rank 0 has returned from its hook for every bucket."""

    def communicate(self, bucket: GradBucket) -> torch.futures.Future[Tensor]:
        """Wait on rank 1, tell on rank 0."""
        store = dist.distributed_c10d._get_default_store()
        if self.step == 2 and dist.get_rank() == 1 and bucket.index() == 0:
            store.wait(["all returned"], timedelta(seconds=20))
        in_step, future = self.step, super().communicate(bucket)
        if in_step == 2 and dist.get_rank() == 0 and bucket.is_last():
            store.set("all returned", f"{bucket.index()} {future.done()}")
        return future


def steps_of_an_impatient_rank() -> str:
    model = seeded_model()
    ddp = hooked(model, Watched(model, density=0.1))
    for step in range(3):
        ddp.zero_grad()
        loss_of(ddp, step).backward()
    return str(dist.distributed_c10d._get_default_store().get("all returned").decode())


def test_nothing_waits_in_backward_for_what_other_ranks_send() -> None:
    for said in run_workers(steps_of_an_impatient_rank, 2):
        last_bucket, is_done = said.split()
        assert int(last_bucket) > 0
        assert is_done == "False"
