"""Local steps with a sparse outer update lose nothing, and are what they are said to be where everything is sent."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import nn

from sparsync.experiments.averaging.header import ExchangeError
from sparsync.experiments.local import OuterStep, plain_step
from sparsync.kernels.selection import SELECTORS
from tests.support.hooks.local_steps import INNER, OUTER, anchor_of, flat, local_step, outer_of, trainable
from tests.support.hooks.training import loss_of, seeded_model
from tests.support.pages import python_block
from tests.support.paths import ROOT
from tests.support.workers import run_workers

UNIT = torch.finfo(torch.float32).eps


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
                before, pending, local = anchor_of(outer), outer.pending, flat(model)
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


def diloco(outer: OuterStep, model: nn.Module) -> float:
    """The largest distance between the model after training and an independent program of the recursion."""
    optimiser = torch.optim.AdamW(trainable(model), lr=0.01)
    other = seeded_model()
    other_optimiser = torch.optim.AdamW(trainable(other), lr=0.01)
    theta, velocity = flat(other), torch.zeros(len(flat(other)))
    for step in range(INNER * OUTER):
        local_step(model, optimiser, step)
        outer.step()
        local_step(other, other_optimiser, step)
        if (step + 1) % INNER:
            continue
        change = theta - flat(other)
        dist.all_reduce(change)
        change /= dist.get_world_size()
        velocity = 0.9 * velocity + change
        theta = theta - 0.7 * (change + 0.9 * velocity)
        nn.utils.vector_to_parameters(theta.clone(), trainable(other))
    return float((flat(model) - flat(other)).abs().max())


def printed_diloco() -> tuple[float, bool]:
    """The same with the lines of the page, but for H; and is nothing left unsent?"""
    text = python_block(ROOT / "paper" / "docs" / "training.md", "nesterov=True")
    assert text.count("inner_steps=500") == 1
    model = seeded_model()
    names: dict[str, Any] = {"torch": torch, "OuterStep": OuterStep, "network": model}
    exec(text.replace("inner_steps=500", f"inner_steps={INNER}"), names)
    distance = diloco(names["outer"], model)
    return distance, not names["outer"].pending.any()


def test_with_everything_sent_it_is_diloco_as_the_page_has_it() -> None:
    # A dozen steps, each of which rounds parameters below 1 a few times; AdamW's steps have the size of its rate.
    assert all(distance < 100 * UNIT and all_sent for distance, all_sent in run_workers(printed_diloco, 2))


def averages() -> list[bool]:
    """After each outer step: is the model the mean of what ranks had trained, if everything is sent as it is?"""
    model = seeded_model()
    optimiser = torch.optim.AdamW(trainable(model), lr=0.01)
    outer = outer_of(model, {"selector": "keep_all", "outer_optimiser": plain_step})
    right = []
    for step in range(INNER * OUTER):
        local_step(model, optimiser, step)
        before, local = anchor_of(outer), flat(model)
        if not outer.step():
            continue
        everyone: list[Any] = [None] * dist.get_world_size()
        dist.all_gather_object(everyone, local)
        mean = torch.stack(everyone).double().mean(0)
        # A change, two sums of changes, their third part and θ are rounded, each by half a unit of at most twice the
        # largest parameter (or of three times that, of which a third is taken).
        largest = max(float(theirs.abs().max()) for theirs in (*everyone, before))
        right.append(float((flat(model) - mean).abs().max()) <= 5 * largest * UNIT)
    return right


def test_with_everything_sent_and_no_outer_momentum_parameters_are_averaged() -> None:
    assert run_workers(averages, 3) == [[True] * OUTER] * 3


NARROW: Mapping[str, Callable[[nn.Module], object]] = {
    "bfloat16": lambda model: model.bfloat16(),
    "float16": lambda model: model.half(),
    "some bfloat16, some float64": lambda model: (model.bfloat16(), model.get_submodule("last").double()),
}


def idle() -> list[str]:
    """What an inner optimiser that does nothing changed in models of few bits."""
    changed = []
    for name, narrow in NARROW.items():
        model = seeded_model()
        narrow(model)
        outer = OuterStep(model, inner_steps=1, selector="keep_all", outer_optimiser=lambda p: torch.optim.SGD(p, 0.7))
        for parameter in trainable(model):
            parameter.data += 0.1 * (1 + dist.get_rank())
        outer.step()
        theta = anchor_of(outer)
        held = flat(model).to(theta.dtype)
        if torch.equal(theta, held):
            changed.append(f"{name}: the model holds θ without rounding, so this shows nothing")
        for _ in range(3):
            outer.step()
        if not torch.equal(anchor_of(outer), theta):
            changed.append(f"{name}: θ, by {(anchor_of(outer) - theta).abs().max()}")
        if outer.pending.any() or not torch.equal(flat(model).to(theta.dtype), held):
            changed.append(f"{name}: the residual or the model")
    return changed


def test_what_a_dtype_of_few_bits_rounds_off_is_no_change() -> None:
    assert run_workers(idle, 2) == [[], []]


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


def not_a_number(outer: OuterStep, model: nn.Module) -> None:
    del outer
    trainable(model)[0].data[0] = torch.nan


def beyond_with_the_residual(outer: OuterStep, model: nn.Module) -> None:
    """The residual is finite, and so is what was changed, but not their sum."""
    residuals = {name: torch.full_like(part, 3e38) for name, part in outer.state_dict()["residuals"].items()}
    outer.load_state_dict(outer.state_dict() | {"residuals": residuals})
    trainable(model)[0].data -= 1e38


def beyond_what_is_sent(outer: OuterStep, model: nn.Module) -> None:
    """In float64 it is finite, not so in the bfloat16 that is sent."""
    del outer
    trainable(model)[0].data -= 1e300


SPOILT: Mapping[str, tuple[Callable[[OuterStep, nn.Module], None], dict[str, Any]]] = {
    "a number": (not_a_number, {}),
    "the sum": (beyond_with_the_residual, {"decay": 1.0}),
    "what is sent": (beyond_what_is_sent, {"values": "bf16"}),
}


def spoilt() -> list[tuple[str, bool]]:
    """What is said where rank 1 has nothing finite to send in the first outer step, and has nothing changed?"""
    found = []
    for spoil, options in SPOILT.values():
        model = seeded_model().double() if "values" in options else seeded_model()
        outer = outer_of(model, {"selector": "top_k"} | options)
        outer.step_count = INNER - 1
        if dist.get_rank() == 1:
            spoil(outer, model)
        saved = anchor_of(outer), outer.pending
        with pytest.raises(FloatingPointError) as caught:
            outer.step()
        kept = anchor_of(outer), outer.pending
        found.append((str(caught.value), all(map(torch.equal, saved, kept))))
    return found


def test_all_ranks_refuse_what_is_not_finite_on_one() -> None:
    said = f"step {INNER}: what ranks [1] would send of their parameters is not finite"
    assert run_workers(spoilt, 3) == [[(said, True)] * len(SPOILT)] * 3


def at_other_steps() -> tuple[str, bool]:
    outer = outer_of(seeded_model(), {})
    outer.step_count = INNER * (1 + dist.get_rank()) - 1
    saved = anchor_of(outer)
    with pytest.raises(ExchangeError, match="outer step") as caught:
        outer.step()
    return str(caught.value), torch.equal(saved, anchor_of(outer))


def test_ranks_at_other_steps_are_refused() -> None:
    """As when one went on from an older file than the others."""
    said = (
        f"ranks are in different calls: outer step of step {INNER} on rank 0, outer step of step {2 * INNER} on rank 1"
    )
    assert run_workers(at_other_steps, 2) == [(said, True)] * 2


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
        {"inner_steps": 1, "positions": "int13"},
        {"inner_steps": 1, "selector": "topk"},
        {"inner_steps": 1, "density": 2.0},
    )
    for options in wrong:
        with pytest.raises(ValueError, match=r"got|unknown") as caught:
            OuterStep(seeded_model(), **options)
        said.append(str(caught.value))
    with pytest.raises(ValueError, match="parameters and θ must be on one device, got cpu, meta"):
        OuterStep(nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2, device="meta")), inner_steps=1)
    return said


def test_a_wrong_option_is_named() -> None:
    (said,) = run_workers(refusals, 1)
    assert [words.split(",")[-1].strip() for words in said][:2] == ["got 0", "got 1.5"]
