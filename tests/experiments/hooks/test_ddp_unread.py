"""Where the host does not look at what a step finds before the next one, all bits are those of the road that looks.

That road is a GPU's. Here it is taken on CPUs, with a kernel that goes on, as on a GPU, where a sum is not finite.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import pytest
import torch
import torch.distributed as dist
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor

from sparsync.experiments import ddp as module
from sparsync.experiments.ddp import ErrorFeedbackState
from sparsync.experiments.hooks.side import Side
from sparsync.experiments.hooks.telemetry import Reading, telemetry
from sparsync.kernels import native
from tests.support.hooks.given import RULES, SPOILT, Given, Kind, gradients_of
from tests.support.hooks.played import DYADIC
from tests.support.hooks.training import hooked
from tests.support.workers import run_workers

WORLD_SIZE = 3
KINDS: tuple[Kind, ...] = ("ordinary", "unused", "half used", "nan", "infinite bias", "infinite head", "huge")
refuse_non_finite = native._refuse_non_finite


def take_road(*, reads: bool) -> None:
    """The one that reads within the step, or the other; from now on, in this process."""
    process = pytest.MonkeyPatch()
    process.setattr(module, "side_for", (lambda _: None) if reads else Side)
    process.setattr(native, "_refuse_non_finite", refuse_non_finite if reads else lambda *_: None)


class Turn(NamedTuple):
    """One step, and whether somebody asks after it."""

    kind: Kind
    is_asked: bool


class Schedule(NamedTuple):
    """What one training does."""

    turns: list[Turn]
    options: dict[str, Any]
    dtype: torch.dtype


def warming(step: int) -> float:
    """A density that changes."""
    return 0.3 if step < 3 else 0.06


def options_of(feedback: str, clip_norm: float | None, scale: float | None, **others: Any) -> dict[str, Any]:
    scaler = None if scale is None else torch.amp.GradScaler("cpu", init_scale=scale)
    if feedback == "rmsprop":
        # Gradients before updates are refused.
        others["dense_steps"] = 0
    chosen = {"feedback": feedback, "feedback_settings": DYADIC[feedback], "clip_norm": clip_norm, "scaler": scaler}
    return {"density": warming, "rules": RULES, "non_finite": "skip", **chosen, **others}


SCHEDULES = st.builds(
    Schedule,
    turns=st.lists(st.builds(Turn, st.sampled_from(KINDS), st.booleans()), min_size=3, max_size=6),
    options=st.builds(
        options_of,
        st.sampled_from([*DYADIC]),
        st.sampled_from([None, None, 100.0]),
        st.sampled_from([None, None, 2.0**5]),
        selector=st.sampled_from(["top_k", "gaussian_k", "gaussian_k_released", "random_k"]),
        granularity=st.sampled_from(["tensor", "bucket", "model"]),
        dense_steps=st.integers(0, 2),
        clip=st.sampled_from(["local", "global"]),
    ),
    dtype=st.sampled_from([torch.float32, torch.float32, torch.float64, torch.bfloat16]),
)
EVERY_KIND = [Turn(kind, is_asked) for kind, is_asked in zip((*KINDS, "huge", *KINDS), [False, True] * 7, strict=False)]


def bits_of(tensor: Tensor) -> bytes:
    return bytes(tensor.flatten().contiguous().view(torch.uint8).numpy())


def bits_of_training(schedule: Schedule) -> list[Any]:
    """All that is delivered and sent, and what is remembered wherever somebody asks, on this rank."""
    model = Given(schedule.dtype)
    state = ErrorFeedbackState(model, **schedule.options)
    ddp = hooked(model, state)
    found: list[Any] = []
    for step, turn in enumerate(schedule.turns):
        ddp.zero_grad()
        # Tenths are rounded, and so are sums of them: the order matters.
        ddp(gradients_of(turn.kind, step, dist.get_rank(), schedule.dtype, unit=0.1)).backward()
        found += [bits_of(parameter.grad) for parameter in model.parameters() if parameter.grad is not None]
        found.append(state.sent_bytes)
        if turn.is_asked:
            found += [state.skipped, *(bits_of(state.pending(name)) for name, _ in model.named_parameters())]
    return [*found, sorted((name, bits_of(e)) for name, e in state.state_dict()["residuals"].items())]


def unlike_the_road_that_reads(schedules: list[Schedule]) -> list[bool]:
    unlike = []
    for schedule in schedules:
        bits = []
        for reads in (True, False):
            take_road(reads=reads)
            bits.append(bits_of_training(schedule))
        unlike.append(bits[0] != bits[1])
    return unlike


FIXED = [
    *(Schedule(EVERY_KIND, options_of(name, None, None), torch.float32) for name in DYADIC),
    Schedule(EVERY_KIND, options_of("ef14", None, None, rules={"head": "excluded"}), torch.float32),
    # A variant with masking reads what was selected, of which there may be less than there is room for.
    Schedule(EVERY_KIND, options_of("dgc", None, None, selector="gaussian_k", granularity="tensor"), torch.float32),
    *(
        Schedule(EVERY_KIND, options_of("ef14", None, None, selector=selector, granularity=granularity), torch.float32)
        for selector, granularity in product(("gaussian_k", "keep_all"), ("tensor", "bucket", "model"))
    ),
]


def test_every_kind_of_step_has_the_bits_of_the_road_that_reads() -> None:
    assert run_workers(partial(unlike_the_road_that_reads, FIXED), WORLD_SIZE) == [[False] * len(FIXED)] * WORLD_SIZE


# Of the two examples the first is the simplest there is.
@pytest.mark.slow
@settings(max_examples=2, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(schedules=st.lists(SCHEDULES, min_size=12, max_size=12))
def test_whatever_a_step_finds_all_bits_are_those_of_the_road_that_reads(schedules: list[Schedule]) -> None:
    unlike = run_workers(partial(unlike_the_road_that_reads, schedules), WORLD_SIZE)
    assert unlike == [[False] * len(schedules)] * WORLD_SIZE


def next_backward(state: ErrorFeedbackState, ddp: Any) -> None:
    ddp(gradients_of("ordinary", 2, dist.get_rank())).backward()


QUESTIONS: dict[str, Callable[[ErrorFeedbackState, Any], object]] = {
    "skipped": lambda state, _: state.skipped,
    "pending": lambda state, _: state.pending("wide"),
    "state_dict": lambda state, _: state.state_dict(),
    "the next backward": next_backward,
}


class Said(NamedTuple):
    """What became of a step with a gradient that is not finite: errors, and whether all is as it was before."""

    in_step: str
    then: str
    is_infinite: bool
    is_unchanged: bool


def error_of(ask: Callable[[], object]) -> str:
    try:
        ask()
    except (RuntimeError, ArithmeticError, ValueError) as error:
        return str(error)
    return ""


def said_of(kind: Kind, question: str, *, reads: bool) -> Said:
    take_road(reads=reads)
    model = Given()
    state = ErrorFeedbackState(model, density=0.1, rules=RULES)
    ddp = hooked(model, state, bucket_cap_mb=25)
    ddp(gradients_of("ordinary", 0, dist.get_rank())).backward()
    before = state.state_dict()["residuals"]
    ddp.zero_grad()
    in_step = error_of(ddp(gradients_of(kind, 1, dist.get_rank())).backward)
    is_infinite = all(p.grad is not None and bool(p.grad.isinf().all()) for p in model.parameters())
    then = error_of(partial(QUESTIONS[question], state, ddp))
    after = {name: state.pending(name) for name in before}
    return Said(in_step, then, is_infinite, all(torch.equal(e, after[name]) for name, e in before.items()))


def said_of_each() -> dict[tuple[Kind, str, bool], Said]:
    questions: list[tuple[Kind, str]] = [("nan", question) for question in QUESTIONS]
    questions.extend((kind, "skipped") for kind in SPOILT)
    return {
        (kind, question, reads): said_of(kind, question, reads=reads)
        for kind, question in questions
        for reads in (False, True)
    }


def test_what_is_not_finite_raises_where_somebody_asks_or_goes_on_alike_on_all_ranks() -> None:
    by_rank = run_workers(said_of_each, 2)
    assert [{case: said for case, said in by_rank[0].items() if not case[2]}] == [
        {case: said for case, said in by_rank[1].items() if not case[2]}
    ]
    for (kind, _, reads), said in (pair for of_rank in by_rank for pair in of_rank.items()):
        rank, name = SPOILT[kind]
        message = f"step 1: the gradient of '{name}' is not finite on rank {rank}"
        assert message in (said.in_step if reads else said.then)
        assert reads or (said.in_step == "" and said.is_infinite and said.is_unchanged)


def readings_of(*, reads: bool) -> list[dict[str, Any]]:
    """Of all steps, one of which leaves a parameter alone; without what takes time."""
    take_road(reads=reads)
    readings: list[Reading] = []
    watch = telemetry([readings.append], every=1)
    model = Given()
    ddp = hooked(model, ErrorFeedbackState(model, density=0.1, telemetry=watch))
    for step in range(6):
        ddp.zero_grad()
        ddp(gradients_of("unused" if step == 3 else "ordinary", step, dist.get_rank())).backward()
    watch.close()
    return [asdict(replace(reading, phase_seconds={}, break_even_mbit_per_second=None)) for reading in readings]


def both_readings() -> list[list[dict[str, Any]]]:
    return [readings_of(reads=reads) for reads in (True, False)]


def test_telemetry_sees_what_the_last_step_has_left() -> None:
    for looking, later in run_workers(both_readings, 2):
        assert len(looking) == 6
        assert looking == later


def told_once() -> list[bool]:
    """Whether a step was skipped, and the next one; and the same once a checkpoint is loaded in between."""
    take_road(reads=False)
    said = []
    for loads in (False, True):
        model = Given()
        state = ErrorFeedbackState(model, density=0.1, non_finite="skip" if not loads else "raise")
        ddp = hooked(model, state)
        saved = state.state_dict()
        ddp(gradients_of("nan", 0, dist.get_rank())).backward()
        if loads:
            state.load_state_dict(saved)
        said += [state.skipped, state.skipped]
        ddp.zero_grad()
        ddp(gradients_of("ordinary", 1, dist.get_rank())).backward()
        said.append(state.skipped)
    return said


def test_a_step_is_told_until_the_next_and_forgotten_with_a_checkpoint() -> None:
    assert run_workers(told_once, 2) == [[True, True, False, False, False, False]] * 2
