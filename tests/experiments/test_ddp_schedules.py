"""Whatever happens between two steps, nothing that was created is lost: drawn schedules, on real ranks."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any, Literal, NamedTuple

import torch
import torch.distributed as dist
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from sparsync.experiments.hooks.residuals import resized
from tests.support.hooks.training import Recorder, conserved, hooked, loss_of, seeded_model, wrapped
from tests.support.workers import run_workers

WORLD_SIZE = 2


class Turn(NamedTuple):
    """One optimiser step.

    Args:
        with_branch: of each backward pass, of which the last one sends: by rank, whether its loss uses the branch.
        overflowing: the rank whose loss is infinite, if one is.
        restart: whether hook and model begin anew before the step, from what was saved, or from what a resize to as
            many ranks makes of it.
        freezes: with a restart, whether the branch is frozen from then on.
    """

    with_branch: Sequence[tuple[bool, bool]]
    overflowing: int | None = None
    restart: Literal["none", "same", "resized"] = "none"
    freezes: bool = False


TURNS = st.builds(
    Turn,
    with_branch=st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=2),
    overflowing=st.sampled_from([None, None, None, 0, 1]),
    restart=st.sampled_from(["none", "same", "resized"]),
    freezes=st.booleans(),
)


def warming(step: int) -> float:
    """A density that changes."""
    return 0.3 if step < 2 else 0.04


def losses_of(turns: list[Turn], options: dict[str, Any]) -> list[str]:
    """What was not conserved in any turn, or did not stay as it was in a skipped one."""
    hook_options = {"density": warming, "non_finite": "skip", **options}
    ddp_options = {"find_unused_parameters": True}
    ddp, recorder = wrapped(hook_options, ddp_options)
    wrong = []
    for index, turn in enumerate(turns):
        if turn.restart != "none":
            saved, weights = recorder.state_dict(), ddp.module.state_dict()
            if turn.restart == "resized":
                saved, unlike = _resized(saved)
                wrong += [f"turn {index}: {name} owes something else" for name in unlike]
            model = seeded_model()
            model.load_state_dict(weights)
            model.branch.requires_grad_(not turn.freezes)
            recorder = Recorder(model, **hook_options)
            recorder.load_state_dict(saved, missing="zero", foreign="drop")
            ddp = hooked(model, recorder, **ddp_options)
        wrong += [f"turn {index}: {what}" for what in _losses_of_turn(turn, index, ddp, recorder)]
    return wrong


def _resized(saved: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """This rank's state of a resize to as many ranks, and what the mean then owes otherwise than before."""
    states: list[Any] = [None] * WORLD_SIZE
    dist.all_gather_object(states, saved)
    new = resized(states, WORLD_SIZE)
    unlike = []
    for name in saved["residuals"]:
        stacks = [torch.stack([state["residuals"][name] for state in each]) for each in (states, new)]
        before, after = (stack.double().mean(0) for stack in stacks)
        # Of rank 0's rounding, as in test_ddp_state.py.
        unit = torch.finfo(torch.float32).eps
        allowed = before.abs() * (1 + WORLD_SIZE * unit) * unit / WORLD_SIZE + 2.0**-149
        if ((before - after).abs() > allowed).any():
            unlike.append(name)
    return new[dist.get_rank()], unlike


def _losses_of_turn(turn: Turn, index: int, ddp: Any, recorder: Recorder) -> list[str]:
    parameters = dict(ddp.module.named_parameters())
    ddp.zero_grad()
    for micro, with_branch in enumerate(turn.with_branch):
        with ExitStack() as stack:
            if micro + 1 < len(turn.with_branch):
                stack.enter_context(ddp.no_sync())
            loss = loss_of(ddp, 10 * index + micro, with_branch=with_branch[dist.get_rank()])
            if turn.overflowing == dist.get_rank():
                loss = loss * torch.inf
            loss.backward()
    if recorder.skipped != (turn.overflowing is not None):
        return [f"skipped: {recorder.skipped}"]
    if recorder.skipped:
        kept = [name for name, e in recorder.before.items() if not torch.equal(recorder.pending(name), e)]
        finite = all(p.grad is None or p.grad.isfinite().all() for p in parameters.values() if p.requires_grad)
        return [f"{name}: a skipped step changed it" for name in kept] + ["no gradient is infinite"] * finite
    wrong = conserved(recorder, parameters)
    with torch.no_grad():
        for parameter in parameters.values():
            if parameter.grad is not None:
                parameter -= 0.1 * parameter.grad
    return wrong


class Schedule(NamedTuple):
    """What one training does."""

    turns: list[Turn]
    granularity: str
    selector: str


SCHEDULES = st.builds(
    Schedule,
    turns=st.lists(TURNS, min_size=2, max_size=6),
    granularity=st.sampled_from(["tensor", "bucket", "model"]),
    selector=st.sampled_from(["top_k", "gaussian_k", "random_k"]),
)
USED, UNUSED = (Turn([(used, used)]) for used in (True, False))


def lost_in_any(schedules: list[Schedule]) -> list[list[str]]:
    """What was not conserved in each; the ranks begin once for all of them."""
    return [
        losses_of(schedule.turns, {"granularity": schedule.granularity, "selector": schedule.selector})
        for schedule in schedules
    ]


@settings(max_examples=3, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@example(schedules=[Schedule([USED, USED, UNUSED, UNUSED, USED], "tensor", "top_k")])
@given(schedules=st.lists(SCHEDULES, min_size=8, max_size=8))
def test_created_is_sent_and_pending_after_every_step(schedules: list[Schedule]) -> None:
    assert run_workers(partial(lost_in_any, schedules), WORLD_SIZE) == [[[]] * len(schedules)] * WORLD_SIZE
