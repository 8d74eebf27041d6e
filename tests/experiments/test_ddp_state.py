"""What the hook remembers survives a checkpoint in bits, and another number of ranks but for a rounding."""

from __future__ import annotations

import io
from collections.abc import Sequence
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.checkpoint.state_dict_saver import save as save_checkpoint

from sparsync.experiments.ddp import ErrorFeedbackState
from sparsync.experiments.hooks import checkpoint
from sparsync.experiments.hooks.checkpoint import KEY, load, sharded
from sparsync.experiments.hooks.residuals import resized
from sparsync.experiments.training.arrivals import Call
from tests.support.hooks.training import hooked, loss_of, seeded_model
from tests.support.workers import run_workers

STEPS, SAVED_AT = 6, 3


def trained(saved: bytes | None, *, until: int, options: dict[str, Any]) -> tuple[bytes, list[Tensor]]:
    """Train from what this rank saved, or from the start; what is saved then, and the parameters."""
    model = seeded_model()
    state = ErrorFeedbackState(model, **options)
    optimiser = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.1, momentum=0.9)
    first = 0
    if saved is not None:
        checkpoint = torch.load(io.BytesIO(saved), weights_only=True)
        model.load_state_dict(checkpoint["model"])
        optimiser.load_state_dict(checkpoint["optimiser"])
        state.load_state_dict(checkpoint["hook"])
        first = state.step
    ddp = hooked(model, state)
    for step in range(first, until):
        optimiser.zero_grad()
        loss_of(ddp, step).backward()
        optimiser.step()
    file = io.BytesIO()
    parts = {"model": model.state_dict(), "optimiser": optimiser.state_dict(), "hook": state.state_dict()}
    torch.save(parts, file)
    return file.getvalue(), [parameter.detach() for parameter in model.parameters()]


OPTIONS = {
    f"{selector}, {granularity}": {"selector": selector, "granularity": granularity, "density": 0.05}
    for selector, granularity in product(("top_k", "random_k"), ("tensor", "model"))
}
Trained = dict[str, tuple[bytes, list[Tensor]]]


def trained_in_turn(saved: Sequence[Trained | None], *, until: int) -> Trained:
    """With all options, each from what this rank saved of it."""
    own = saved[dist.get_rank()]
    return {
        name: trained(None if own is None else own[name][0], until=until, options=options)
        for name, options in OPTIONS.items()
    }


@cache
def whole_and_resumed() -> tuple[list[Trained], list[Trained]]:
    """Of each rank; one group of processes saves, and another goes on."""
    whole, half = (run_workers(partial(trained_in_turn, [None] * 3, until=until), 3) for until in (STEPS, SAVED_AT))
    return whole, run_workers(partial(trained_in_turn, half, until=STEPS), 3)


@pytest.mark.parametrize("name", OPTIONS)
def test_a_resumed_run_ends_with_the_bits_of_one_that_was_not_interrupted(name: str) -> None:
    for whole, resumed in zip(*whole_and_resumed(), strict=True):
        assert all(map(torch.equal, whole[name][1], resumed[name][1]))


def saved_in_folder(folder: str) -> dict[str, Tensor]:
    """Train, save through torch.distributed.checkpoint; this rank's residuals."""
    model = seeded_model()
    state = ErrorFeedbackState(model, density=0.05)
    ddp = hooked(model, state)
    for step in range(SAVED_AT):
        ddp.zero_grad()
        loss_of(ddp, step).backward()
    save_checkpoint({"model": model.state_dict(), KEY: sharded(state)}, checkpoint_id=folder)
    residuals: dict[str, Tensor] = state.state_dict()["residuals"]
    return residuals


def loaded_from_folder(folder: str) -> tuple[int, dict[str, Tensor]]:
    state = ErrorFeedbackState(seeded_model(), density=0.05)
    load(state, folder)
    return state.step, state.state_dict()["residuals"]


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_a_distributed_checkpoint_serves_any_number_of_ranks(tmp_path: Path) -> None:
    saved = run_workers(partial(saved_in_folder, str(tmp_path)), 3)
    assert any(residual.count_nonzero() for residual in saved[1].values())
    for size in (3, 2, 5):
        loaded = run_workers(partial(loaded_from_folder, str(tmp_path)), size)
        assert {step for step, _ in loaded} == {SAVED_AT}
        for name in saved[0]:
            before = torch.stack([residuals[name] for residuals in saved])
            after = torch.stack([residuals[name] for _, residuals in loaded])
            if size == 3:
                assert torch.equal(before, after)
            # Rounded once, to float32.
            assert (before.double().mean(0) - after.double().mean(0)).abs().max() <= before.abs().max() * 2.0**-24


def test_ranks_wait_for_each_other_to_resize_as_long_as_the_state_says(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Call] = []
    monkeypatch.setattr(checkpoint, "add_over_ranks", lambda _, call: calls.append(call))
    state = ErrorFeedbackState(seeded_model(), timeout_seconds=7.0)
    checkpoint._resized(torch.zeros(2, 3), 2, 0, 1, state)
    assert [call.timeout_seconds for call in calls] == [7.0]


def loading_from_elsewhere(folder: str) -> str:
    state = ErrorFeedbackState(seeded_model())
    save_checkpoint({"model": seeded_model().state_dict()}, checkpoint_id=folder)
    try:
        load(state, folder)
    except ValueError as error:
        return str(error)
    return "nothing"


def test_a_checkpoint_without_residuals_is_named(tmp_path: Path) -> None:
    assert run_workers(partial(loading_from_elsewhere, str(tmp_path)), 1) == [f"{tmp_path} holds nothing under '{KEY}'"]


def saved_state(rank: int, world_size: int, residuals: dict[str, Tensor], step: int = 4) -> dict[str, Any]:
    return {"step": step, "rank": rank, "world_size": world_size, "residuals": residuals}


@pytest.mark.parametrize(("old", "new"), [(2, 4), (4, 2), (3, 5), (5, 3), (1, 3), (4, 1)])
def test_another_number_of_ranks_owes_the_same_mean(old: int, new: int) -> None:
    stream = torch.Generator().manual_seed(0)
    residuals = [torch.randn(50, generator=stream) for _ in range(old)]
    states = resized([saved_state(rank, old, {"w": e}) for rank, e in enumerate(residuals)], new)
    assert [state["rank"] for state in states] == list(range(new))
    assert {state["world_size"] for state in states} == {new}
    before = torch.stack(residuals).double().sum(0) / old
    after = torch.stack([state["residuals"]["w"] for state in states]).double().sum(0) / new
    # Rank 0's rounding, of a vector within P′ + 1 units in the last place of the mean, is shared by P′ ranks.
    unit = torch.finfo(torch.float32).eps
    assert ((before - after).abs() <= (before.abs() * (1 + new * unit) * unit / new) + 2.0**-149).all()


def test_what_no_rank_has_below_zero_no_rank_gets_below_zero() -> None:
    """Of numbers that are as small as a rounding: a mean square is divided by after its root."""
    smallest = 2.0**-149
    squares = [torch.tensor([square]) for square in (smallest, smallest, 0.0)]
    states = resized([saved_state(rank, 3, {"w.square": square}) for rank, square in enumerate(squares)], 8)
    assert all(float(state["residuals"]["w.square"]) >= 0 for state in states)


@pytest.mark.parametrize(
    ("states", "world_size", "message"),
    [
        ([saved_state(0, 2, {})], 2, r"every rank of one run once, got ranks \[0\] of world sizes \[2\]"),
        ([saved_state(0, 2, {}), saved_state(0, 2, {})], 2, r"got ranks \[0, 0\]"),
        ([saved_state(0, 2, {}), saved_state(1, 2, {}, step=5)], 2, r"different steps: \[4, 5\]"),
        ([saved_state(0, 2, {"w": torch.zeros(1)}), saved_state(1, 2, {})], 2, "different parameters"),
        ([saved_state(0, 1, {})], 0, "world_size must be at least 1, got 0"),
    ],
)
def test_states_that_do_not_belong_together_are_refused(
    states: list[dict[str, Any]], world_size: int, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        resized(states, world_size)


def refusals() -> list[str]:
    """What loading says of wrong states, and that nothing changed."""
    model = nn.Linear(4, 3)
    state = ErrorFeedbackState(model)
    rank, size = dist.get_rank(), dist.get_world_size()
    right = {"weight": torch.ones(3, 4)}
    state.load_state_dict(saved_state(rank, size, right))
    said = []
    for wrong in (
        saved_state(rank + 1, size, right),
        saved_state(rank, size + 1, right),
        saved_state(rank, size, {}),
        saved_state(rank, size, {**right, "bias": torch.ones(3)}),
        saved_state(rank, size, {"weight": torch.ones(4, 3)}),
    ):
        try:
            state.load_state_dict(wrong)
        except ValueError as error:
            said.append(str(error))
        assert torch.equal(state.pending("weight"), torch.ones(3, 4))
        assert state.step == 4
    state.load_state_dict(saved_state(rank, size, {}), missing="zero")
    assert torch.equal(state.pending("weight"), torch.zeros(3, 4))
    state.load_state_dict(saved_state(rank, size, {**right, "bias": torch.ones(3)}), foreign="drop")
    assert torch.equal(state.pending("weight"), torch.ones(3, 4))
    assert state.state_dict()["residuals"].keys() == right.keys()
    # While everything is sent there is nothing to save.
    early = ErrorFeedbackState(model, dense_steps=5)
    early.load_state_dict(saved_state(rank, size, {}, step=5))
    with pytest.raises(ValueError, match="no residual was saved for 'weight'"):
        early.load_state_dict(saved_state(rank, size, {}, step=6))
    return said


def test_a_missing_or_foreign_residual_is_an_error_and_not_a_zero() -> None:
    (said,) = run_workers(refusals, 1)
    assert "these residuals are of rank 1 of 1, this is rank 0 of 1" in said[0]
    assert "of rank 0 of 2" in said[1]
    assert said[2].startswith("no residual was saved for 'weight'")
    assert said[3] == "no parameter with a residual is called 'bias'; foreign='drop' leaves it out"
    assert said[4] == "the residual of 'weight' was saved with shape (4, 3), the parameter has (3, 4)"


def shapes_through_formats() -> list[bool]:
    """Residuals of a convolution in two memory formats: are the saved ones the same?"""
    saved = []
    for memory_format in (torch.contiguous_format, torch.channels_last):
        torch.manual_seed(0)
        model = nn.Conv2d(3, 5, 3, bias=False).to(memory_format=memory_format)  # type: ignore[call-overload]
        state = ErrorFeedbackState(model, density=0.1)
        ddp = hooked(model, state)
        stream = torch.Generator().manual_seed(1 + dist.get_rank())
        images = torch.randn(2, 3, 6, 6, generator=stream)
        (ddp(images) ** 2).sum().backward()
        saved.append((state.state_dict()["residuals"]["weight"], model.weight.grad.contiguous()))
        other = ErrorFeedbackState(model, density=0.1)
        other.load_state_dict(state.state_dict())
        saved.append((other.pending("weight"), model.weight.grad.contiguous()))
    # The convolution itself may round differently in the two formats, by as many products as a weight takes part in.
    bound = 2 * 16 * 2 * torch.finfo(torch.float32).eps
    return [
        all(torch.allclose(ours, theirs, rtol=bound, atol=bound) for ours, theirs in zip(saved[0], each, strict=True))
        for each in saved[1:]
    ]


def test_memory_formats_do_not_matter_to_what_is_saved() -> None:
    assert run_workers(shapes_through_formats, 2) == [[True] * 3] * 2
