"""Sharded replicas give HSDP's means where everything is sent, and never lose an entry where not; ranks are real."""

from __future__ import annotations

from itertools import product
from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor, nn
from torch.distributed.fsdp import MixedPrecisionPolicy

from sparsync.experiments import fsdp as module
from sparsync.experiments.feedbacks.registry import FEEDBACKS
from sparsync.experiments.fsdp import GRANULARITIES, ShardedErrorFeedback
from sparsync.experiments.hooks.side import Side, side_for
from sparsync.kernels.selection import SELECTORS
from tests.support.hooks.played import DYADIC
from tests.support.hooks.sharding import Recorder, local_parameters, loss_now, mesh_of, shard_of, sharded_model
from tests.support.workers import run_workers

STEPS = 3
EVERYTHING: tuple[dict[str, Any], ...] = (
    {"selector": "keep_all"},
    {"density": 1.0},
    {"density": 1.0, "granularity": "group", "rules": {"": 1.0}},
    {"dense_steps": STEPS},
)

VARIANTS = [name for name in FEEDBACKS if name != "ef14"]


def stepped(model: nn.Module, *, held: str | None = None) -> list[Tensor]:
    """This rank's parameters after some steps with momentum; each of two batches, the first of which is held back."""
    optimiser = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for step in range(STEPS):
        optimiser.zero_grad()
        if held is not None:
            getattr(model, held)(False)
            loss_now(model, 100 + step).backward()
            getattr(model, held)(True)
        loss_now(model, step).backward()
        optimiser.step()
    return local_parameters(model)


def compared_with_hsdp() -> list[str]:
    """What differs from PyTorch's own HSDP: the options, and how the first of two batches is held back."""
    mesh, different = mesh_of(), []
    for held in (None, "set_requires_all_reduce", "set_requires_gradient_sync"):
        plain = stepped(sharded_model(mesh), held=held)
        for options in EVERYTHING if held is None else EVERYTHING[:2]:
            model = sharded_model(mesh["shard"])
            state = ShardedErrorFeedback(model, mesh, **options)
            if not all(map(torch.equal, stepped(model, held=held), plain)) or state.step != STEPS:
                different.append(f"{options}, {held}, {state.step} steps")
    return different


def lost_by_any_selector() -> tuple[list[str], int]:
    """What was not conserved, and how much padding there was."""
    mesh, lost, padding_count = mesh_of(), [], 0
    selectors = sorted(SELECTORS.keys() - {"keep_all"})
    for selector, granularity in (*product(selectors, GRANULARITIES[:1]), ("top_k", "group"), ("random_k", "group")):
        model = sharded_model(mesh["shard"])
        rules = {"^3.weight": 0.5, "5.bias": "excluded"}
        state = Recorder(model, mesh, selector=selector, density=0.1, granularity=granularity, rules=rules)
        state.wrong += unlike_delivered(model, state)
        lost += [f"{selector}, {granularity}, {what}" for what in state.wrong if "5.bias" not in what]
        padding_count += state.padding_count
    for feedback, granularity in zip(VARIANTS, GRANULARITIES * len(VARIANTS), strict=False):
        model = sharded_model(mesh["shard"])
        settings = DYADIC[feedback]
        state = Recorder(
            model, mesh, density=0.1, granularity=granularity, feedback=feedback, feedback_settings=settings
        )
        state.wrong += unlike_delivered(model, state)
        lost += [f"{feedback}, {granularity}: {what}" for what in state.wrong]
        remembered = {key.rpartition(".")[0] for key in state.state_dict()["residuals"]}
        # Gradients of biases and norms are dense, updates are made of all parameters.
        vectors = {name for name, p in model.named_parameters() if p.ndim == 1 and shard_of(p).numel()}
        if remembered & vectors != (vectors if feedback == "rmsprop" else set()):
            lost.append(f"{feedback}: remembered of {remembered}")
    for reduce_dtype in (torch.bfloat16, torch.float16):
        policy = MixedPrecisionPolicy(reduce_dtype=reduce_dtype)
        model = sharded_model(mesh["shard"], mp_policy=policy)
        state = Recorder(model, mesh, density=lambda step: 0.1 if step else 0.5)
        state.wrong += unlike_delivered(model, state)
        lost += [f"{reduce_dtype}: {what}" for what in state.wrong]
    return lost, padding_count


def unlike_delivered(model: nn.Module, state: Recorder) -> list[str]:
    """Parameters whose gradient is not what the exchange delivered."""
    wrong = []
    for step in range(STEPS):
        model.zero_grad()
        # In every second step another batch comes before, of which only the sum with the next is exchanged.
        if step % 2:
            model.set_requires_all_reduce(False)  # type: ignore[operator]
            loss_now(model, 100 + step).backward()
            model.set_requires_all_reduce(True)  # type: ignore[operator]
        loss_now(model, step).backward()
        for name, parameter in model.named_parameters():
            found = shard_of(parameter.grad).flatten()
            if not torch.equal(found, state.delivered[name].to(found.dtype)):
                wrong.append(f"step {step}, {name}: its gradient is not what was delivered")
    return wrong


def compared_roads() -> list[str]:
    """Options with which parameters or residuals are others where the host looks a step later, as on a GPU."""
    mesh, different = mesh_of(), []
    tried: tuple[dict[str, Any], ...] = (
        {"density": 0.1},
        {"selector": "gaussian_k", "granularity": "group"},
        {"selector": "keep_all"},
    )
    for options in tried:
        found = []
        for make_side in (side_for, Side):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(module, "side_for", make_side)
                model = sharded_model(mesh["shard"])
                state = ShardedErrorFeedback(model, mesh, **options)
                found.append([*stepped(model), *state.state_dict()["residuals"].values()])
        if not all(map(torch.equal, *found)):
            different.append(f"{options}")
    return different


class Found(NamedTuple):
    """What one rank found."""

    unlike_hsdp: list[str]
    lost: list[str]
    padding_count: int
    unlike_later: list[str]


def everything() -> Found:
    return Found(compared_with_hsdp(), *lost_by_any_selector(), compared_roads())


@pytest.fixture(scope="module")
def ranks() -> list[Found]:
    return run_workers(everything, 4)


def test_two_replicas_that_send_everything_are_hsdp_itself_in_bits(ranks: list[Found]) -> None:
    # Halving is exact, and a sum of two has one order.
    assert [found.unlike_hsdp for found in ranks] == [[]] * 4


def test_where_the_host_looks_a_step_later_all_bits_are_the_same(ranks: list[Found]) -> None:
    assert [found.unlike_later for found in ranks] == [[]] * 4


def test_created_is_sent_and_pending_for_every_selector_granularity_and_variant(ranks: list[Found]) -> None:
    assert [found.lost for found in ranks] == [[]] * 4


def test_padding_holds_infinity_as_that_is_found(ranks: list[Found]) -> None:
    assert sum(found.padding_count for found in ranks) > 0
