"""Where one rank cannot go on, all ranks end alike, in the same step, with a message that names what it was."""

from __future__ import annotations

import os
import signal
from functools import partial
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


def spoilt_run(options: dict[str, Any]) -> str:
    model = seeded_model()
    return error_of_backward(model, ErrorFeedbackState(model, **options), steps=4, spoilt=2)


@pytest.mark.parametrize("options", [{}, {"granularity": "model"}, {"clip_norm": 1.0}, {"selector": "keep_all"}])
def test_all_ranks_raise_in_the_step_in_which_one_gradient_is_not_finite(options: dict[str, Any]) -> None:
    said = run_workers(partial(spoilt_run, options), 3)
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
        options["density"] = lambda step: 0.02 if odd and step > 40 else 0.01
    if kind == "rules" and odd:
        options["rules"] = {"branch": "dense"}
    if kind == "model" and odd:
        model.branch = nn.Linear(16, 16)
    if kind == "step" and odd:
        state = ErrorFeedbackState(model)
        state.step = 7
        return error_of_backward(model, state, steps=2)
    return error_of_backward(model, ErrorFeedbackState(model, **options), steps=2)


@pytest.mark.parametrize(
    ("kind", "named"),
    [
        ("density", "the treatments of ranks [2]; the densities of ranks [2]"),
        ("schedule", "the densities of ranks [2]"),
        ("rules", "the treatments of ranks [2]"),
        ("step", "the settings of ranks [2]"),
    ],
)
def test_ranks_that_were_started_otherwise_are_named_before_anything_is_sent(kind: str, named: str) -> None:
    for words in run_workers(partial(unlike_run, kind), 3):
        assert words.startswith("in step 0: ")
        assert named in words
        assert "differ from those of rank 0" in words


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
