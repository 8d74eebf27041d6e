"""What an outer step remembers survives a checkpoint in bits, and another number of ranks but for a rounding."""

from __future__ import annotations

import io
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.distributed.checkpoint.state_dict_saver import save as save_checkpoint

from sparsync.experiments.local import OuterStep
from sparsync.experiments.local_states import KEY, load, resized, sharded
from tests.support.hooks.local_steps import INNER, OUTER, anchor_of, flat, local_step, outer_of, trainable
from tests.support.hooks.training import seeded_model
from tests.support.workers import run_workers


def nesterov(parameters: list[Tensor]) -> torch.optim.Optimizer:
    return torch.optim.SGD(parameters, lr=0.7, momentum=0.9, nesterov=True)


CASES: tuple[dict[str, Any], ...] = (
    {"values": "int2", "positions": "int12"},
    {"selector": "random_k", "outer_optimiser": nesterov},
)


def run_on(saved: bytes | None, options: dict[str, Any], *, bfloat16: bool, until: int) -> tuple[bytes, Tensor, Tensor]:
    """Train from what this rank saved, or from the start: what is saved then, the model and the residual."""
    model = seeded_model().bfloat16() if bfloat16 else seeded_model()
    optimiser = torch.optim.SGD(trainable(model), lr=0.05, momentum=0.9)
    outer = outer_of(model, options)
    if saved is not None:
        parts = torch.load(io.BytesIO(saved), weights_only=True)
        model.load_state_dict(parts["model"])
        optimiser.load_state_dict(parts["optimiser"])
        outer.load_state_dict(parts["outer"])
    for step in range(outer.step_count, until):
        optimiser.zero_grad()
        stream = torch.Generator().manual_seed(1000 * step + dist.get_rank())
        for parameter in trainable(model):
            parameter.grad = torch.randn(parameter.shape, generator=stream).to(parameter.dtype)
        optimiser.step()
        outer.step()
    file = io.BytesIO()
    parts = {"model": model.state_dict(), "optimiser": optimiser.state_dict(), "outer": outer.state_dict()}
    torch.save(parts, file)
    return file.getvalue(), flat(model), outer.pending


def resumed() -> list[bool]:
    """Does a run that was interrupted, before an outer step or between two, end with the bits of one that was not?"""
    same = []
    for options in CASES:
        for bfloat16 in (False, True):
            run = partial(run_on, options=options, bfloat16=bfloat16)
            _, *without = run(None, until=INNER * OUTER)
            for interrupted_at in (2 * INNER, 2 * INNER + 1):
                saved, *_ = run(None, until=interrupted_at)
                _, *with_interrupt = run(saved, until=INNER * OUTER)
                same.append(all(map(torch.equal, without, with_interrupt)))
    return same


def test_a_resumed_run_ends_with_the_bits_of_one_that_was_not_interrupted() -> None:
    assert run_workers(resumed, 2) == [[True] * 4 * len(CASES)] * 2


def refusals() -> list[str]:
    """What loading says of wrong states, and that nothing changed."""
    outer = OuterStep(nn.Linear(4, 3), inner_steps=INNER)
    right = outer.state_dict()
    ones = {name: torch.ones_like(part) for name, part in right["anchor"].items()}
    outer.load_state_dict(right | {"residuals": ones})
    said = []
    wrongs: tuple[dict[str, Any], ...] = (
        {"rank": 1},
        {"world_size": 2},
        {"residuals": {"weight": ones["weight"]}},
        {"anchor": ones | {"scale": torch.ones(1)}},
        {"residuals": ones | {"weight": torch.ones(4, 3)}},
        {"outer": {"state": {}, "param_groups": []}},
    )
    for wrong in wrongs:
        with pytest.raises(ValueError, match=r"\w") as caught:
            outer.load_state_dict(right | {"step": 5, "anchor": ones} | wrong)
        said.append(str(caught.value))
        assert torch.equal(outer.pending, torch.ones(15))
        assert torch.equal(anchor_of(outer), torch.cat([part.flatten() for part in right["anchor"].values()]))
        assert outer.step_count == 0
    return said


def test_what_another_rank_or_model_saved_is_refused() -> None:
    (said,) = run_workers(refusals, 1)
    assert said[0].startswith("this outer step is of rank 1 of 1, this is rank 0 of 1")
    assert "is of rank 0 of 2, this is rank 0 of 1" in said[1]
    assert said[2] == "the residual of 'bias' was saved, or is of the model, but not both"
    assert said[3] == "θ of 'scale' was saved, or is of the model, but not both"
    assert said[4] == "the residual of 'weight' was saved with shape (4, 3), the parameter has (3, 4)"
    assert "different number of parameter groups" in said[5]


def saved_state(rank: int, world_size: int, residual: Tensor) -> dict[str, Any]:
    usual: dict[str, Any] = {"step": 2 * INNER, "inner_steps": INNER, "anchor": {"w": torch.ones(50)}, "outer": {}}
    return usual | {"rank": rank, "world_size": world_size, "residuals": {"w": residual}}


@given(st.integers(1, 5), st.integers(1, 5), st.integers(0, 2**32))
def test_another_number_of_ranks_owes_the_same_mean_and_has_the_same_anchor(old: int, new: int, seed: int) -> None:
    stream = torch.Generator().manual_seed(seed)
    residuals = [torch.randn(50, generator=stream) for _ in range(old)]
    states = resized([saved_state(rank, old, e) for rank, e in enumerate(residuals)], new)
    assert [(state["rank"], state["world_size"], state["step"]) for state in states] == [
        (rank, new, 2 * INNER) for rank in range(new)
    ]
    assert all(torch.equal(state["anchor"]["w"], torch.ones(50)) for state in states)
    before = torch.stack(residuals).double().sum(0) / old
    after = torch.stack([state["residuals"]["w"] for state in states]).double().sum(0) / new
    # Rank 0's rounding, of a vector within P′ + 1 units in the last place of the mean, is shared by P′ ranks.
    unit = torch.finfo(torch.float32).eps
    assert ((before - after).abs() <= (before.abs() * (1 + new * unit) * unit / new) + 2.0**-149).all()


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"step": 2 * INNER + 1}, f"step {2 * INNER + 1} lies between two outer steps, with {INNER} inner steps each"),
        ({"step": 3 * INNER}, "different steps"),
        ({"anchor": {"w": torch.zeros(50)}}, "other values of θ at 'w'"),
        ({"rank": 0}, r"every rank of one run once, got ranks \[0, 0\]"),
    ],
)
def test_states_that_do_not_belong_together_are_refused(other: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        resized([saved_state(0, 2, torch.zeros(50)), saved_state(1, 2, torch.zeros(50)) | other], 3)


def trained(options: dict[str, Any], *, steps: int) -> tuple[OuterStep, nn.Module]:
    """With AdamW inside."""
    model = seeded_model()
    optimiser = torch.optim.AdamW(trainable(model), lr=0.01)
    outer = outer_of(model, options)
    for step in range(steps):
        local_step(model, optimiser, step)
        outer.step()
    return outer, model


def saved_in_folders(folder: Path) -> list[dict[str, Any]]:
    """Train, save through torch.distributed.checkpoint after an outer step and after one step more: what was saved."""
    states = []
    outer, model = trained({"outer_optimiser": nesterov}, steps=2 * INNER)
    optimiser = torch.optim.AdamW(trainable(model), lr=0.01)
    for name in ("after", "between"):
        save_checkpoint({KEY: sharded(outer)}, checkpoint_id=folder / name)
        states.append(outer.state_dict())
        local_step(model, optimiser, outer.step_count)
        outer.step()
    return states


def loaded_from_folders(folder: Path) -> list[dict[str, Any] | str]:
    """This rank's state from each folder, or why there is none."""
    found: list[dict[str, Any] | str] = []
    for name in ("after", "between"):
        outer = outer_of(seeded_model(), {"outer_optimiser": nesterov})
        before = anchor_of(outer)
        try:
            load(outer, folder / name)
            found.append(outer.state_dict())
        except ValueError as error:
            found.append(str(error))
            assert torch.equal(anchor_of(outer), before)
            assert not outer.pending.any()
    return found


def is_same(one: Any, other: Any) -> bool:
    if isinstance(one, Mapping):
        return one.keys() == other.keys() and all(is_same(one[name], other[name]) for name in one)
    return torch.equal(one, other) if isinstance(one, Tensor) else bool(one == other)


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_a_distributed_checkpoint_serves_any_number_of_ranks(tmp_path: Path) -> None:
    saved = run_workers(partial(saved_in_folders, tmp_path), 2)
    assert any(residual.count_nonzero() for residual in saved[1][0]["residuals"].values())
    assert saved[0][0]["outer"]["state"]
    for mine, theirs in zip(run_workers(partial(loaded_from_folders, tmp_path), 2), saved, strict=True):
        assert all(map(is_same, mine, theirs))
    states = []
    for after, between in run_workers(partial(loaded_from_folders, tmp_path), 3):
        assert f"step {2 * INNER + 1} lies between two outer steps" in between
        assert all(is_same(after[part], saved[0][0][part]) for part in ("step", "anchor", "outer"))
        states.append(after)
    for name in saved[0][0]["residuals"]:
        before = torch.stack([after["residuals"][name] for after, _ in saved]).double()
        now = torch.stack([state["residuals"][name] for state in states]).double()
        # Rounded once, to float32.
        assert (before.mean(0) - now.mean(0)).abs().max() <= before.abs().max() * 2.0**-24


def loading_from_elsewhere(folder: Path) -> str:
    save_checkpoint({"model": seeded_model().state_dict()}, checkpoint_id=folder)
    with pytest.raises(ValueError, match=r"\w") as caught:
        load(outer_of(seeded_model(), {}), folder)
    return str(caught.value)


def test_a_checkpoint_without_an_outer_step_is_named(tmp_path: Path) -> None:
    said = f"{tmp_path} holds no outer step under '{KEY}'"
    assert run_workers(partial(loading_from_elsewhere, tmp_path), 1) == [said]
