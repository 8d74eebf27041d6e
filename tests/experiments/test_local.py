"""Local steps with a sparse outer update lose nothing, and are what they are said to be where everything is sent."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import Tensor, nn

from sparsync.experiments.local import OuterStep
from sparsync.kernels.selection import SELECTORS
from tests.support.hooks.training import loss_of, seeded_model
from tests.support.workers import run_workers

INNER, OUTER = 3, 4


def local_step(model: nn.Module, optimiser: torch.optim.Optimizer, step: int) -> None:
    optimiser.zero_grad()
    loss_of(model, step).backward()
    optimiser.step()


def trainable(model: nn.Module) -> list[nn.Parameter]:
    return [parameter for parameter in model.parameters() if parameter.requires_grad]


def flat(model: nn.Module) -> Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in trainable(model)])


def outer_of(model: nn.Module, options: dict[str, Any]) -> OuterStep:
    usual: dict[str, Any] = {"inner_steps": INNER}
    return OuterStep(model, **(usual | options))


def trained(options: dict[str, Any], *, steps: int = INNER * OUTER) -> tuple[OuterStep, nn.Module]:
    """With AdamW inside."""
    model = seeded_model()
    optimiser = torch.optim.AdamW(trainable(model), lr=0.01)
    outer = outer_of(model, options)
    for step in range(steps):
        local_step(model, optimiser, step)
        outer.step()
    return outer, model


def lost_by_any() -> list[str]:
    """Selectors and value codes for which an outer step lost something, or left ranks apart."""
    lost = []
    for selector in sorted(SELECTORS):
        for values in ("exact", "bf16", "int8", "int2"):
            options: dict[str, Any] = {"selector": selector, "density": 0.05, "decay": 1.0, "values": values}
            model = seeded_model()
            optimiser = torch.optim.SGD(trainable(model), lr=0.05)
            outer = OuterStep(model, inner_steps=INNER, **options)
            for step in range(INNER * OUTER):
                local_step(model, optimiser, step)
                before, pending, local = outer.state_dict()["anchor"], outer.pending, flat(model)
                if not outer.step():
                    continue
                sent = (pending + (before - local)) - outer.pending
                everyone: list[Any] = [None] * dist.get_world_size()
                dist.all_gather_object(everyone, (sent, flat(model)))
                mean = torch.stack([theirs for theirs, _ in everyone]).mean(0)
                # θ is rounded once, and so is each rank's sum of what is kept and sent.
                bound = 4 * torch.finfo(torch.float32).eps * (before.abs().max() + mean.abs().max())
                if (before - mean - flat(model)).abs().max() > bound:
                    lost.append(f"{selector}, {values}: θ is not where the messages lead")
                if not all(torch.equal(flat(model), theirs) for _, theirs in everyone):
                    lost.append(f"{selector}, {values}: ranks differ")
    return lost


def test_every_selector_and_value_code_conserves_and_keeps_ranks_together() -> None:
    assert run_workers(lost_by_any, 2) == [[], []]


def diloco() -> float:
    """The largest distance between the dense limit and an independent program of its recursion."""
    options = {"selector": "keep_all", "outer_optimiser": nesterov}
    _, model = trained(options)
    other = seeded_model()
    optimiser = torch.optim.AdamW(trainable(other), lr=0.01)
    theta, velocity = flat(other), torch.zeros(len(flat(other)))
    for step in range(INNER * OUTER):
        local_step(other, optimiser, step)
        if (step + 1) % INNER:
            continue
        change = theta - flat(other)
        dist.all_reduce(change)
        change /= dist.get_world_size()
        velocity = 0.9 * velocity + change
        theta = theta - 0.7 * (change + 0.9 * velocity)
        first = 0
        for parameter in trainable(other):
            parameter.data = theta[first : first + parameter.numel()].view(parameter.shape).clone()
            first += parameter.numel()
    return float((flat(model) - flat(other)).abs().max())


def nesterov(parameters: list[Tensor]) -> torch.optim.Optimizer:
    return torch.optim.SGD(parameters, lr=0.7, momentum=0.9, nesterov=True)


def test_with_everything_sent_it_is_diloco() -> None:
    # A dozen steps, each of which rounds parameters below 1 a few times; AdamW's steps have the size of its rate.
    assert max(run_workers(diloco, 2)) < 100 * torch.finfo(torch.float32).eps


def averaged_descent() -> float:
    """One inner step of gradient descent and everything sent, against descent along the mean gradient."""
    model, other = seeded_model(), seeded_model()
    optimiser = torch.optim.SGD(trainable(model), lr=0.125)
    outer = OuterStep(model, inner_steps=1, selector="top_k", density=1.0, decay=1.0)
    for step in range(OUTER):
        local_step(model, optimiser, step)
        outer.step()
        loss_of(other, step).backward()
        for parameter in trainable(other):
            assert parameter.grad is not None
            dist.all_reduce(parameter.grad)
            parameter.data -= 0.125 * parameter.grad / dist.get_world_size()
            parameter.grad = None
    return float((flat(model) - flat(other)).abs().max())


def test_one_inner_step_with_everything_sent_is_descent_along_the_mean_gradient() -> None:
    assert max(run_workers(averaged_descent, 2)) < 10 * OUTER * torch.finfo(torch.float32).eps


def resumed(options: dict[str, Any]) -> bool:
    """From what was saved after two outer steps, does training go on with the same bits?"""
    first, model = trained(options, steps=2 * INNER)
    copy = seeded_model()
    copy.load_state_dict(model.state_dict())
    second = outer_of(copy, options)
    second.load_state_dict(first.state_dict())
    for outer, its_model in ((first, model), (second, copy)):
        optimiser = torch.optim.AdamW(trainable(its_model), lr=0.01)
        for step in range(2 * INNER, OUTER * INNER):
            local_step(its_model, optimiser, step)
            outer.step()
    same = torch.equal(flat(model), flat(copy)) and torch.equal(first.pending, second.pending)
    return same and first.step_count == second.step_count == OUTER * INNER


@pytest.mark.parametrize("options", [{"values": "int2"}, {"selector": "random_k", "outer_optimiser": nesterov}])
def test_a_saved_outer_step_goes_on_with_the_same_bits(options: dict[str, Any]) -> None:
    assert run_workers(partial(resumed, options), 2) == [True, True]


def spoilt() -> tuple[str, bool]:
    """Rank 1's parameters are not finite before the second outer step."""
    outer, model = trained({}, steps=2 * INNER - 1)
    saved = outer.state_dict()
    if dist.get_rank() == 1:
        trainable(model)[0].data[0] = torch.nan
    try:
        outer.step()
    except FloatingPointError as error:
        kept = outer.state_dict()
        return str(error), all(torch.equal(saved[name], kept[name]) for name in ("anchor", "residual"))
    return "nothing", False


def test_all_ranks_refuse_what_is_not_finite_on_one() -> None:
    said = f"step {2 * INNER}: the parameters of ranks [1] are not finite"
    assert run_workers(spoilt, 3) == [(said, True)] * 3


def unlike() -> str:
    model = seeded_model()
    if dist.get_rank() == 1:
        trainable(model)[0].data += 1
    try:
        OuterStep(model, inner_steps=2 + dist.get_rank())
    except ValueError as error:
        return str(error)
    return "nothing"


def test_ranks_that_begin_apart_are_named() -> None:
    (said,) = {*run_workers(unlike, 2)}
    assert "the settings of ranks [1]; the values of the parameters of ranks [1]" in said


def refusals() -> list[str]:
    said = []
    wrong: tuple[dict[str, Any], ...] = (
        {"inner_steps": 0},
        {"inner_steps": 1, "decay": 1.5},
        {"inner_steps": 1, "values": "int3"},
        {"inner_steps": 1, "selector": "topk"},
        {"inner_steps": 1, "density": 2.0},
    )
    for options in wrong:
        with pytest.raises(ValueError, match=r"got|unknown") as caught:
            OuterStep(seeded_model(), **options)
        said.append(str(caught.value))
    outer = OuterStep(seeded_model(), inner_steps=1)
    with pytest.raises(ValueError, match="anchor was saved with 3 entries"):
        outer.load_state_dict(outer.state_dict() | {"anchor": torch.zeros(3)})
    return said


def test_a_wrong_option_is_named() -> None:
    (said,) = run_workers(refusals, 1)
    assert [words.split(",")[-1].strip() for words in said][:2] == ["got 0", "got 1.5"]
