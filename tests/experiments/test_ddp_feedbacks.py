"""Every variant of error feedback does under the hook what it does in a plain loop, however its values are sent."""

from __future__ import annotations

from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.checkpoint.state_dict_saver import save as save_checkpoint

from sparsync.experiments.ddp import ErrorFeedbackState
from sparsync.experiments.feedbacks.feedback import Memory
from sparsync.experiments.feedbacks.registry import FEEDBACKS
from sparsync.experiments.hooks.checkpoint import load, sharded
from sparsync.experiments.hooks.residuals import resized
from tests.support.hooks.played import DYADIC, played_training
from tests.support.hooks.training import Branches, hooked, loss_of, seeded_model
from tests.support.workers import run_workers

DENSITY = 0.1
WITH_BRANCH = (True, True, False, True, True, True)
"""By step; in one that nobody uses, DDP drops the mean."""
RESTARTED_AT = 4


def options_of(feedback: str, **others: Any) -> dict[str, Any]:
    return {"density": DENSITY, "feedback": feedback, "feedback_settings": DYADIC[feedback], **others}


def hooked_training(options: dict[str, Any]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """As `played_training` on this rank, begun anew on the way: parameters, and what is saved at the end."""
    model = seeded_model()
    state = ErrorFeedbackState(model, **options)
    # One bucket where values are coded, so that a step is one message; else several.
    cap = 25 if options["values"] != "exact" else 1e-3
    ddp = hooked(model, state, find_unused_parameters=True, bucket_cap_mb=cap)
    optimiser = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.1, momentum=0.9)
    for step, is_used in enumerate(WITH_BRANCH):
        if step == RESTARTED_AT:
            saved, state = state.state_dict(), ErrorFeedbackState(model, **options)
            state.load_state_dict(saved)
            ddp = hooked(model, state, find_unused_parameters=True, bucket_cap_mb=cap)
        optimiser.zero_grad()
        loss_of(ddp, step, with_branch=is_used).backward()
        optimiser.step()
    parameters = {name: p.detach() for name, p in model.named_parameters() if p.requires_grad}
    return parameters, state.state_dict()["residuals"]


def saved_memories(feedback: str, memories: dict[str, Memory], parameters: dict[str, Tensor]) -> dict[str, Tensor]:
    """Vectors under the names of a checkpoint, in the parameters' shapes."""
    return {
        name if feedback == "ef14" else f"{name}.{vector}": entries.view(parameters[name].shape)
        for name, memory in memories.items()
        for vector, entries in memory.items()
    }


def unlike_the_plain_loop(granularity: str) -> list[str]:
    """What differs in any bit on this rank."""
    unlike = []
    for feedback, values in product(FEEDBACKS, ("exact", "bf16", "int8", "int2")):
        options = options_of(feedback, granularity=granularity, values=values)
        parameters, saved = hooked_training(options)
        rule: dict[str, Any] = {"feedback": feedback, "density": DENSITY, "world_size": 2, "values": values}
        expected, memories = played_training(WITH_BRANCH, **rule, is_joint=granularity == "model")
        own = saved_memories(feedback, memories[dist.get_rank()], expected)
        assert saved.keys() == own.keys()
        pairs = [*((key, saved[key], own[key]) for key in own), *((n, parameters[n], expected[n]) for n in expected)]
        unlike += [f"{feedback}, {values}: {what}" for what, ours, theirs in pairs if not torch.equal(ours, theirs)]
    return unlike


@pytest.mark.parametrize("granularity", [pytest.param("tensor", marks=pytest.mark.slow), "model"])
def test_a_trajectory_is_that_of_a_plain_loop_in_bits(granularity: str) -> None:
    assert run_workers(partial(unlike_the_plain_loop, granularity), 2) == [[], []]


class Given(nn.Module):
    """Its gradients are what it is given."""

    def __init__(self) -> None:
        super().__init__()
        self.wide = nn.Parameter(torch.zeros(5, 8, dtype=torch.float64))
        self.long = nn.Parameter(torch.zeros(40, 2, dtype=torch.float64))

    def forward(self, gradients: dict[str, Tensor]) -> Tensor:
        return torch.stack([(p * gradients[name]).sum() for name, p in self.named_parameters()]).sum()


SPOILT_STEP, GIVEN_STEPS = 2, 6


def given_gradients(step: int, rank: int) -> dict[str, Tensor]:
    """Whole numbers, so that nothing in float64 is rounded."""
    stream = torch.Generator().manual_seed(100 * step + rank)
    shapes = {name: parameter.shape for name, parameter in Given().named_parameters()}
    return {name: torch.randint(-50, 51, shape, generator=stream).double() for name, shape in shapes.items()}


def created_less_sent(feedback: str, setting: float, steps: list[tuple[Tensor, Tensor]]) -> Tensor:
    """What must be pending of all ranks together, by what the variant says that it conserves.

    Args:
        feedback: its name.
        setting: its hyperparameter.
        steps: of each, the sum of all ranks' gradients, and of what was delivered.
    """
    owed, momentum = torch.zeros_like(steps[0][0]), torch.zeros_like(steps[0][0])
    for created, delivered in steps:
        match feedback:
            case "ef14" | "econtrol":
                owed = owed + created - delivered
            case "decayed":
                owed = setting * owed + created - delivered
            case "ef21":
                owed = created - delivered
            case "ef21_sgdm":
                momentum = (1 - setting) * momentum + setting * created
                owed = momentum - delivered
            case "dgc":
                momentum = setting * momentum + created
                owed = owed + momentum - delivered
    return owed


LINEAR = [name for name in FEEDBACKS if name != "rmsprop"]
"""What they conserve is a sum over all ranks' gradients, in bits."""


def lost_by_any_variant(granularity: str) -> list[str]:
    lost = []
    for feedback, values in product(LINEAR, ("exact", "fp32", "bf16", "int8", "int2")):
        settings = dict(DYADIC[feedback])
        if feedback == "dgc":
            # Else momentum is lost where entries are sent, which is meant.
            settings["masking"] = 0
        model = Given()
        options = options_of(feedback, granularity=granularity, values=values, non_finite="skip")
        state = ErrorFeedbackState(model, **{**options, "feedback_settings": settings})
        ddp = hooked(model, state, bucket_cap_mb=5e-4)
        steps: dict[str, list[tuple[Tensor, Tensor]]] = {name: [] for name, _ in model.named_parameters()}
        for step in range(GIVEN_STEPS):
            everyone = [given_gradients(step, rank) for rank in range(2)]
            given = everyone[dist.get_rank()]
            if step == SPOILT_STEP and dist.get_rank() == 1:
                given["long"][3] = torch.inf
            ddp.zero_grad()
            ddp(given).backward()
            assert state.skipped == (step == SPOILT_STEP)
            for name, parameter in model.named_parameters():
                assert parameter.grad is not None
                if not state.skipped:
                    created = torch.stack([gradients[name] for gradients in everyone]).sum(0)
                    steps[name].append((created, 2 * parameter.grad))
        for name, its_steps in steps.items():
            pending: list[Any] = [None, None]
            dist.all_gather_object(pending, state.pending(name))
            owed = created_less_sent(feedback, next(iter(settings.values()), 0.0), its_steps)
            if not torch.equal(torch.stack(pending).sum(0), owed):
                lost.append(f"{feedback}, {values}: {name}")
    return lost


@pytest.mark.parametrize("granularity", [pytest.param("tensor", marks=pytest.mark.slow), "bucket"])
def test_what_was_created_is_sent_or_pending_whatever_is_remembered_and_however_it_is_sent(granularity: str) -> None:
    assert run_workers(partial(lost_by_any_variant, granularity), 2) == [[], []]


def scaled_unlike_unscaled() -> list[str]:
    """What a scaler changes, whose second step overflows on rank 1, against the same steps without it and that one."""
    unlike = []
    for feedback, values in (("ef14", "int8"), ("ef21_sgdm", "int8"), ("dgc", "exact"), ("econtrol", "int2")):
        scaler = torch.amp.GradScaler("cpu", init_scale=2.0**10, growth_interval=2)
        options = options_of(feedback, values=values, clip_norm=0.5)
        models = [seeded_model(), seeded_model()]
        states = [ErrorFeedbackState(models[0], **options, scaler=scaler), ErrorFeedbackState(models[1], **options)]
        scaled, plain = (hooked(model, state) for model, state in zip(models, states, strict=True))
        optimisers = [torch.optim.SGD([p for p in m.parameters() if p.requires_grad], lr=0.1) for m in models]
        for step in range(4):
            optimisers[0].zero_grad()
            loss = scaler.scale(loss_of(scaled, step))
            (loss * torch.inf if step == 1 and dist.get_rank() == 1 else loss).backward()
            scaler.step(optimisers[0])
            scaler.update()
            if step != 1:
                optimisers[1].zero_grad()
                loss_of(plain, step).backward()
                optimisers[1].step()
        ours, theirs = (state.state_dict()["residuals"] for state in states)
        pairs = [*zip(models[0].parameters(), models[1].parameters(), strict=True)]
        pairs += [(ours[key], theirs[key]) for key in theirs]
        if not all(torch.equal(one, other) for one, other in pairs):
            unlike.append(feedback)
    return unlike


def test_an_overflow_leaves_every_memory_as_it_was_and_scales_do_not_matter() -> None:
    # Scales are powers of two, so that scaling and unscaling round nothing, nor does the norm that is clipped to.
    assert run_workers(scaled_unlike_unscaled, 2) == [[], []]


RESIZED = ("ef21_sgdm", "dgc", "rmsprop")


def trained_and_saved(folder: str) -> list[dict[str, Any]]:
    """What this rank saves of each variant after some steps, once it has come back from a distributed checkpoint."""
    states, saved = [], []
    for feedback in RESIZED:
        model = seeded_model()
        states.append(ErrorFeedbackState(model, **options_of(feedback)))
        ddp = hooked(model, states[-1])
        for step in range(3):
            ddp.zero_grad()
            loss_of(ddp, step).backward()
    parts = {feedback: sharded(state) for feedback, state in zip(RESIZED, states, strict=True)}
    save_checkpoint(parts, checkpoint_id=folder)
    for feedback, state in zip(RESIZED, states, strict=True):
        fresh = ErrorFeedbackState(seeded_model(), **options_of(feedback))
        load(fresh, folder, key=feedback)
        found, before = fresh.state_dict(), state.state_dict()["residuals"]
        assert found["residuals"].keys() == before.keys()
        assert all(torch.equal(found["residuals"][key], before[key]) for key in before)
        saved.append(found)
    return saved


def gone_on(saved: dict[str, list[dict[str, Any]]]) -> list[Tensor]:
    """What the optimiser gets in the next step."""
    delivered = []
    for feedback, states in saved.items():
        model = seeded_model()
        state = ErrorFeedbackState(model, **options_of(feedback))
        state.load_state_dict(states[dist.get_rank()])
        ddp = hooked(model, state)
        loss_of(ddp, 3).backward()
        delivered += [p.grad for p in model.parameters() if p.grad is not None]
    return delivered


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_memories_survive_a_distributed_checkpoint_and_their_means_another_number_of_ranks(tmp_path: Path) -> None:
    by_rank = run_workers(partial(trained_and_saved, str(tmp_path)), 2)
    saved = {}
    for place, feedback in enumerate(RESIZED):
        before = [states[place] for states in by_rank]
        after = saved[feedback] = resized(before, 3)
        for key, first in before[0]["residuals"].items():
            old, new = (torch.stack([s["residuals"][key] for s in states]).double() for states in (before, after))
            # Rounded once, to float32.
            assert (old.mean(0) - new.mean(0)).abs().max() <= old.abs().max() * 2.0**-24
            if key.endswith(".square"):
                assert (new >= 0).all()
            if key.endswith(".average"):
                assert all(torch.equal(state["residuals"][key], first) for state in after)
    first, *others = run_workers(partial(gone_on, saved), 3)
    assert any(gradient.any() for gradient in first)
    assert all(all(map(torch.equal, first, other)) for other in others)


def refused_on_this_rank() -> list[str]:
    """What is said where the variant of rank 1 is another, and where it has forgotten the averages of estimates."""
    said = []
    model = seeded_model()
    decay = 0.5 if dist.get_rank() == 0 else 0.25
    ddp = hooked(model, ErrorFeedbackState(model, feedback="decayed", feedback_settings={"decay": decay}))
    with pytest.raises(ValueError, match="differ") as unlike:
        loss_of(ddp, 0).backward()
    said.append(str(unlike.value))
    model = seeded_model()
    before = ErrorFeedbackState(model, feedback="ef21")
    ddp = hooked(model, before)
    loss_of(ddp, 0).backward()
    saved = before.state_dict()
    if dist.get_rank() == 1:
        saved["residuals"] = {key: e for key, e in saved["residuals"].items() if not key.endswith("average")}
    after = ErrorFeedbackState(model, feedback="ef21")
    after.load_state_dict(saved, missing="zero")
    ddp = hooked(model, after)
    with pytest.raises(ValueError, match="differ") as forgotten:
        loss_of(ddp, 1).backward()
    return [*said, str(forgotten.value)]


def test_ranks_with_other_variants_or_averages_are_named_before_anything_is_sent() -> None:
    for variant, averages in run_workers(refused_on_this_rank, 2):
        assert "the settings of ranks [1] differ from those of rank 0" in variant
        assert "the averages of estimates of ranks [1] differ from those of rank 0" in averages


def refused_checkpoints() -> list[str]:
    said = []
    saved = ErrorFeedbackState(seeded_model(), feedback="dgc")
    saved._residuals.memory("first.weight")
    state = {**saved.state_dict(), "step": 1}
    for feedback in ("ef14", "decayed"):
        with pytest.raises(ValueError, match="residual") as error:
            ErrorFeedbackState(seeded_model(), feedback=feedback).load_state_dict(state)
        said.append(str(error.value))
    return said


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dense_steps": 3}, "feedback 'rmsprop' makes updates, and dense_steps=3 would deliver gradients"),
        (
            {"rules": {"wide": "excluded"}},
            "feedback 'rmsprop' makes updates, and rule 'excluded' would leave gradients",
        ),
    ],
)
def test_gradients_beside_updates_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ErrorFeedbackState(Given(), feedback="rmsprop", **options)


def test_what_another_variant_saved_is_refused() -> None:
    (said,) = run_workers(refused_checkpoints, 1)
    assert said[0].startswith("no parameter with a residual is called 'first.weight.residual', 'first.weight.velocity'")
    assert said[1] == "no parameter with a residual is called 'first.weight.velocity'; foreign='drop' leaves it out"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"feedback": "ef13"}, "unknown feedback 'ef13'; known: ef14"),
        ({"feedback_settings": {"decay": 0.9}}, "feedback 'ef14' has no hyperparameter 'decay'"),
        ({"feedback": "decayed", "feedback_settings": {"decay": 2.0}}, r"decay must lie in \[0, 1\], got 2.0"),
        ({"selector": "keep_all", "feedback": "dgc"}, "selector 'keep_all' is plain DDP.*feedback 'dgc'"),
        ({"values": "int4"}, "unknown value code 'int4'; known: exact"),
        ({"selector": "keep_all", "values": "int8"}, "selector 'keep_all' is plain DDP.*values='int8'"),
    ],
)
def test_options_that_are_none_or_do_not_go_together_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ErrorFeedbackState(Branches(), **options)
