"""Where one rank cannot go on, all ranks end alike, in the same step, with a message that names what it was."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from functools import cache, partial
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import nn

from sparsync.experiments.ddp import ErrorFeedbackState
from tests.support.hooks.training import hooked, loss_of, seeded_model
from tests.support.workers import run_workers


def error_of_backward(model: nn.Module, state: ErrorFeedbackState, *, steps: int, spoilt: int | None = None) -> str:
    """What backward raised, and in which step; in step `spoilt` the loss of rank 1 is not finite."""
    ddp = hooked(model, state)
    for step in range(steps):
        loss = loss_of(ddp, step)
        if step == spoilt and dist.get_rank() == 1:
            loss = loss * torch.nan
        try:
            loss.backward()
        except (RuntimeError, ValueError) as error:
            return f"in step {step}: {error}"
    return "nothing"


SPOILT: dict[str, dict[str, Any]] = {
    "as it is": {},
    "whole model": {"granularity": "model"},
    "clipped": {"clip_norm": 1.0},
    "everything": {"selector": "keep_all"},
    "scaler that is off": {"scaler": torch.amp.GradScaler("cpu", enabled=False)},
}


def spoilt_runs() -> dict[str, str]:
    """One after the other in one group, which goes on after an error that all ranks have raised."""
    said = {}
    for name, options in SPOILT.items():
        model = seeded_model()
        said[name] = error_of_backward(model, ErrorFeedbackState(model, **options), steps=4, spoilt=2)
    return said


@cache
def said_of_spoilt_runs() -> list[dict[str, str]]:
    return run_workers(spoilt_runs, 3)


@pytest.mark.parametrize("name", SPOILT)
def test_all_ranks_raise_in_the_step_in_which_one_gradient_is_not_finite(name: str) -> None:
    said = [of_rank[name] for of_rank in said_of_spoilt_runs()]
    for words in said:
        assert words.startswith("in step 2: ")
        assert "step 2: the gradient of " in words
        assert "is not finite on rank 1" in words
    assert len({words.partition("not finite")[0] for words in said}) == 1


def unlike_run(kind: str) -> str:
    """Rank 2 is started otherwise than the others."""
    odd = dist.get_rank() == 2
    model = seeded_model()
    options: dict[str, Any] = {}
    if kind == "density" and odd:
        options["density"] = 0.02
    if kind == "schedule":
        options["density"] = lambda step: 0.02 if odd and 4000 < step < 4100 else 0.01
    if kind == "rules" and odd:
        options["rules"] = {"branch": "dense"}
    if kind == "names" and odd:
        model = nn.Sequential(model)
    if kind == "step" and odd:
        state = ErrorFeedbackState(model)
        state.step = 7
        return error_of_backward(model, state, steps=2)
    return error_of_backward(model, ErrorFeedbackState(model, **options), steps=2)


UNLIKE = {
    "density": "the treatments of ranks [2]; the densities of ranks [2]",
    "schedule": "the densities of ranks [2]",
    "rules": "the treatments of ranks [2]",
    "names": "the parameters of ranks [2]",
    "step": "the settings of ranks [2]",
}
"""What is named, by what is unlike."""


def fickle_run() -> str:
    """After the first step every rank's density is another, whatever the step."""
    model, box = seeded_model(), [0.01]
    state = ErrorFeedbackState(model, density=lambda _: box[0])
    ddp = hooked(model, state)
    loss_of(ddp, 0).backward()
    box[0], sent_bytes = 0.02, state.sent_bytes
    try:
        loss_of(ddp, 1).backward()
    except ValueError as error:
        return f"{error}; sent {state.sent_bytes - sent_bytes} bytes"
    return "nothing"


def unlike_runs() -> dict[str, str]:
    return {**{kind: unlike_run(kind) for kind in UNLIKE}, "fickle": fickle_run()}


@cache
def said_of_unlike_runs() -> list[dict[str, str]]:
    return run_workers(unlike_runs, 3)


@pytest.mark.parametrize("kind", UNLIKE)
def test_ranks_that_were_started_otherwise_are_named_before_anything_is_sent(kind: str) -> None:
    for of_rank in said_of_unlike_runs():
        assert of_rank[kind].startswith("in step 0: ")
        assert UNLIKE[kind] in of_rank[kind]
        assert "differ from those of rank 0" in of_rank[kind]


def test_a_density_that_is_not_of_the_step_alone_is_named_before_anything_is_sent() -> None:
    said = "it is 0.02, and was 0.01 as ranks compared it; a density must depend on the step alone; sent 0 bytes"
    assert [of_rank["fickle"] for of_rank in said_of_unlike_runs()] == [f"density of step 1: {said}"] * 3


def unlike_model_run() -> str:
    """Rank 2 has a bias more; DDP itself compares shapes before there is a hook."""
    model = seeded_model()
    if dist.get_rank() == 2:
        model.branch = nn.Linear(16, 16)
    try:
        hooked(model, ErrorFeedbackState(model))
    except RuntimeError as error:
        return str(error)
    return "nothing"


def test_ranks_with_another_model_all_end_before_anything_is_sent() -> None:
    for words in run_workers(unlike_model_run, 3):
        assert "DDP expects same model across all ranks" in words


def orphaned_run() -> str:
    """Rank 1 is killed after the second step."""
    model = seeded_model()
    state = ErrorFeedbackState(model)
    if dist.get_rank() == 1:
        error_of_backward(model, state, steps=2)
        os.kill(os.getpid(), signal.SIGKILL)
    return error_of_backward(model, state, steps=100)


def test_ranks_whose_peer_is_killed_end_and_say_in_which_step() -> None:
    first, killed, last = run_workers(orphaned_run, 3, killed=[1])
    assert killed is None
    for words in (first, last):
        assert words.startswith("in step 2: ")
        assert "step 2: a rank was lost as " in words
        assert "a connection was lost; missing: ranks [1] (" in words


def stalled_run() -> str:
    """Rank 1 stops after the second step and says nothing more; the time of an exchange is short."""
    everyone: list[Any] = [None, None]
    dist.all_gather_object(everyone, os.getpid())
    model = seeded_model()
    ddp = hooked(model, ErrorFeedbackState(model, timeout_seconds=2.0))
    for step in range(100):
        if (step, dist.get_rank()) == (2, 1):
            os.kill(os.getpid(), signal.SIGSTOP)
        try:
            loss_of(ddp, step).backward()
        except RuntimeError as error:
            os.kill(everyone[1], signal.SIGKILL)
            return f"in step {step}: {error}"
    return "nothing"


def test_ranks_whose_peer_stops_end_when_the_time_of_an_exchange_is_over_and_name_it() -> None:
    words, stopped = run_workers(stalled_run, 2, killed=[1])
    assert stopped is None
    assert words.startswith("in step 2: ")
    assert "step 2: a rank was lost as " in words
    assert "not all ranks came within 2 s; missing: ranks [1] (" in words


def spoilt_exclusion(non_finite: str) -> list[Any]:
    """Of each step, whether it is skipped or what was raised; in step 1 an excluded gradient of rank 1 is infinite."""
    model = seeded_model()
    state = ErrorFeedbackState(model, rules={"branch": "excluded"}, non_finite=non_finite)  # type: ignore[arg-type]
    ddp, said = hooked(model, state), list[Any]()
    for step in range(3):
        ddp.zero_grad()
        is_spoilt = (step, dist.get_rank()) == (1, 1)
        branch = dict(model.named_parameters())["branch.weight"]
        spoiling = branch.register_hook(lambda g, by=torch.inf if is_spoilt else 1.0: g * by)
        try:
            loss_of(ddp, step).backward()
        except RuntimeError as error:
            return [*said, str(error)]
        spoiling.remove()
        are_infinite = [bool(p.grad.isinf().all()) for p in model.parameters() if p.grad is not None]
        said.append((state.skipped, all(are_infinite), any(are_infinite)))
    return said


def test_a_gradient_that_is_not_sent_refuses_the_step_on_all_ranks_too() -> None:
    stands = (False, False, False)
    bucket_is_infinite = (True, False, True)
    for skipping in run_workers(partial(spoilt_exclusion, "skip"), 2):
        assert skipping == [stands, bucket_is_infinite, stands]
    for stood, words in run_workers(partial(spoilt_exclusion, "raise"), 2):
        assert stood == stands
        assert "step 1: the gradient of 'branch.weight' is not finite on rank 1" in words


def saved_after_a_failure() -> list[str]:
    """What `state_dict` says after a step that failed, and after loading what was saved before."""
    model = seeded_model()
    state = ErrorFeedbackState(model)
    ddp, said = hooked(model, state), []
    loss_of(ddp, 0).backward()
    saved = state.state_dict()
    with suppress(RuntimeError):
        (loss_of(ddp, 1) * (torch.nan if dist.get_rank() == 1 else 1)).backward()
    try:
        state.state_dict()
    except ValueError as error:
        said.append(str(error))
    state.load_state_dict(saved)
    again = state.state_dict()["residuals"]
    said.append(str(all(torch.equal(again[name], e) for name, e in saved["residuals"].items())))
    return said


def test_residuals_that_a_failed_step_has_spoilt_are_not_saved() -> None:
    for said in run_workers(saved_after_a_failure, 2):
        assert said[0].startswith("what was sent in a step that failed is in no residual; load a checkpoint: ")
        assert "step 1: the gradient of " in said[0]
        assert said[1:] == ["True"]
