"""What the hook's options say is what happens: scaled losses, clipping, rules, warm-up, dtypes, DDP's own modes."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch._C._distributed_c10d import GradBucket
from torch.distributed.algorithms.join import Join

from sparsync.experiments.ddp import ErrorFeedbackState
from tests.support.hooks.training import Branches, Recorder, batch, conserved, hooked, loss_of, seeded_model, wrapped
from tests.support.workers import run_workers

STEPS = 4


def scaled_steps() -> dict[str, Any]:
    """With a scaler, whose second step overflows on rank 1; and the same steps without a scaler, but for that one."""
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**10, growth_interval=2)
    model = seeded_model()
    state = ErrorFeedbackState(model, density=0.1, scaler=scaler)
    ddp = hooked(model, state)
    other = seeded_model()
    unscaled = ErrorFeedbackState(other, density=0.1)
    plain = hooked(other, unscaled)
    optimisers = [torch.optim.SGD([p for p in m.parameters() if p.requires_grad], lr=0.1) for m in (model, other)]
    skipped = []
    for step in range(STEPS):
        overflows = step == 1
        optimisers[0].zero_grad()
        loss = scaler.scale(loss_of(ddp, step))
        (loss * torch.inf if overflows and dist.get_rank() == 1 else loss).backward()
        skipped.append(state.skipped)
        scaler.step(optimisers[0])
        scaler.update()
        if not overflows:
            optimisers[1].zero_grad()
            loss_of(plain, step).backward()
            optimisers[1].step()
    return {
        "skipped": skipped,
        "scale": scaler.get_scale(),
        "same": all(map(torch.equal, model.parameters(), other.parameters())),
        "pending": all(torch.equal(state.pending(name), unscaled.pending(name)) for name in state._parameters),
    }


def test_an_overflow_on_one_rank_skips_the_step_on_all_and_scales_do_not_matter() -> None:
    # Scales are powers of two, so that scaling and unscaling round nothing.
    expected = {"skipped": [False, True, False, False], "scale": 2.0**10, "same": True, "pending": True}
    assert run_workers(scaled_steps, 2) == [expected] * 2


def clipped_step(clip: str) -> tuple[list[float], list[float], bool]:
    """Norms of all ranks' gradients, of what went into the residuals and out, and whether all was conserved."""
    norm = 1e-2
    model = seeded_model()
    recorder = Recorder(model, density=0.2, clip_norm=norm, clip=clip)
    ddp = hooked(model, recorder)
    scale = 1 + dist.get_rank()
    (scale * loss_of(ddp, 0)).backward()
    own = float(torch.stack([g.double().square().sum() for g in recorder.gradients.values()]).sum().sqrt())
    norms: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(norms, own)
    length = own if clip == "local" else (sum(n * n for n in norms) / len(norms)) ** 0.5
    recorder.gradients = {name: g * (norm / length) for name, g in recorder.gradients.items()}
    created = float(torch.stack([g.double().square().sum() for g in recorder.gradients.values()]).sum().sqrt())
    wrong = conserved(recorder, dict(model.named_parameters()))
    return norms, [created, norm / length], not wrong


def clipped_beside_an_excluded_one() -> tuple[Tensor, Tensor]:
    """A dense mean, and what it is if the norm is that of all gradients that are sent."""
    model = seeded_model()
    recorder = Recorder(model, clip_norm=1e-2, rules={"branch": "excluded"})
    ddp = hooked(model, recorder)
    loss_of(ddp, 0).backward()
    sent = [g.double().square().sum() for name, g in recorder.gradients.items() if name != "branch.weight"]
    clipped = recorder.gradients["last.bias"] * (1e-2 / float(torch.stack(sent).sum().sqrt()))
    everyone: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(everyone, clipped)
    arrived = dict(model.named_parameters())["last.bias"].grad
    assert arrived is not None
    return arrived, torch.stack(everyone).mean(0)


def test_the_norm_is_that_of_what_is_sent() -> None:
    for arrived, expected in run_workers(clipped_beside_an_excluded_one, 2):
        # A product and a sum are rounded once each, on either side; without the branch's share all would be larger.
        assert torch.allclose(arrived, expected, rtol=8 * torch.finfo(torch.float32).eps, atol=1e-9)


@pytest.mark.parametrize("clip", ["local", "global"])
def test_gradients_are_clipped_before_the_selection(clip: str) -> None:
    for rank, (norms, (created, factor), is_conserved) in enumerate(run_workers(partial(clipped_step, clip), 2)):
        assert is_conserved
        assert factor < 1
        share = 1.0 if clip == "local" else norms[rank] / (sum(n * n for n in norms) / 2) ** 0.5
        # Each entry is rounded once.
        assert created == pytest.approx(1e-2 * share, rel=2 * torch.finfo(torch.float32).eps)


def ruled_steps() -> dict[str, Any]:
    """Which residuals there are, how many entries are pending, and which gradients ranks do not share."""
    rules = {r"^last\.weight": "dense", r"^branch": 1.0, r"^first\.bias": 0.25, r"^norm": "excluded"}
    ddp, recorder = wrapped({"density": 0.1, "rules": rules}, {})
    loss_of(ddp, 0).backward()
    shared = {}
    for name, parameter in ddp.module.named_parameters():
        if parameter.requires_grad:
            everyone: list[Any] = [None] * dist.get_world_size()
            dist.all_gather_object(everyone, parameter.grad)
            shared[name] = all(torch.equal(parameter.grad, theirs) for theirs in everyone)
    saved = recorder.state_dict()["residuals"]
    return {"left": {name: int(e.count_nonzero()) for name, e in saved.items()}, "shared": shared}


def test_rules_decide_by_name_what_is_sent() -> None:
    for found in run_workers(ruled_steps, 2):
        # A tenth of 12 × 16 weights is 19, a quarter of 16 biases 4.
        assert found["left"] == {"first.weight": 192 - 19, "first.bias": 12, "branch.weight": 0}
        assert {name for name, is_shared in found["shared"].items() if not is_shared} == {"norm.weight", "norm.bias"}


def warmed_steps() -> tuple[list[int], list[bool]]:
    """Entries pending after each step, and whether each was conserved; two dense steps, then density 0.1."""
    ddp, recorder = wrapped({"density": 0.1, "dense_steps": 2}, {})
    pending, kept = [], []
    for step in range(STEPS):
        ddp.zero_grad()
        loss_of(ddp, step).backward()
        pending.append(sum(int(recorder.pending(name).count_nonzero()) for name in recorder.names()))
        kept.append(step < 2 or not conserved(recorder, dict(ddp.module.named_parameters())))
    return pending, kept


def test_dense_steps_leave_nothing_behind() -> None:
    for pending, kept in run_workers(warmed_steps, 2):
        assert pending[:2] == [0, 0]
        assert min(pending[2:]) > 0
        assert all(kept)


def steps_in(dtype: torch.dtype) -> tuple[list[str], set[str]]:
    """What was not conserved, where residuals hold the gradients exactly; and the residuals' dtypes."""
    model = seeded_model().to(dtype)
    recorder = Recorder(model, density=0.1)
    ddp = hooked(model, recorder)
    lost: list[str] = []
    for step in range(STEPS):
        ddp.zero_grad()
        features, labels = batch(step)
        nn.functional.cross_entropy(ddp(features.to(dtype)), labels).backward()
        # The mean is formed in the residual's dtype and rounded to the gradient's.
        lost += conserved(recorder, dict(model.named_parameters()))
    return lost, {str(e.dtype) for e in recorder.state_dict()["residuals"].values()}


@pytest.mark.parametrize(
    ("dtype", "residual"), [(torch.float64, "torch.float64"), (torch.bfloat16, "torch.float32")], ids=str
)
def test_residuals_hold_every_dtype_of_gradients(dtype: torch.dtype, residual: str) -> None:
    for lost, dtypes in run_workers(partial(steps_in, dtype), 2):
        assert lost == []
        assert dtypes == {residual}


def static_graph_steps() -> list[str]:
    ddp, recorder = wrapped({"density": 0.1}, {"static_graph": True})
    lost: list[str] = []
    for step in range(STEPS):
        ddp.zero_grad()
        loss_of(ddp, step, with_branch=False).backward()
        lost += conserved(recorder, dict(ddp.module.named_parameters()))
    return lost


def test_a_static_graph_with_an_unused_parameter_loses_nothing() -> None:
    assert run_workers(static_graph_steps, 2) == [[], []]


class Sender(Recorder):
    """Notes what this rank has sent in each step, in those too in which it only joins."""

    sent: list[dict[str, Tensor]]

    def communicate(self, bucket: GradBucket) -> torch.futures.Future[Tensor]:
        """A step is over when the next one begins."""
        if bucket.index() == 0:
            self.note()
        return super().communicate(bucket)

    def note(self) -> None:
        """Every entry is either sent, and leaves a zero, or kept."""
        self.sent = getattr(self, "sent", [])
        if self.gradients:
            created = {name: self.before[name] + self.gradients[name] for name in self.names()}
            self.sent.append({n: torch.where(self.pending(n) == 0, created[n], 0) for n in self.names()})


def joined_steps() -> tuple[list[dict[str, Tensor]], list[dict[str, Tensor]]]:
    """What was sent and what arrived; rank 1 has fewer batches, and DDP's join lets it take part with zeros."""
    model = seeded_model()
    sender = Sender(model, density=0.1)
    ddp, arrived = hooked(model, sender), []
    with Join([ddp]):
        for step in range(STEPS if dist.get_rank() == 0 else 2):
            ddp.zero_grad()
            loss_of(ddp, step).backward()
            arrived.append({name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None})
    sender.note()
    return sender.sent, arrived


def test_a_rank_with_fewer_batches_joins_and_still_sends_what_it_owes() -> None:
    (first, arrived), (second, _) = run_workers(joined_steps, 2)
    assert len(first) == len(second) == len(arrived) == STEPS
    for own, joined, mean in zip(first, second, arrived, strict=True):
        for name, gradient in mean.items():
            assert torch.equal(gradient, (own[name] + joined[name]) / 2)
    assert all(second[-1][name].any() for name in ("first.weight", "branch.weight", "last.weight"))


def compiled_steps() -> list[str]:
    torch._dynamo.reset()
    model = seeded_model()
    recorder = Recorder(model, density=0.1)
    ddp = hooked(model, recorder, bucket_cap_mb=25)
    compiled = torch.compile(ddp, backend="aot_eager")
    assert isinstance(compiled, nn.Module)
    assert Recorder(compiled).names() == recorder.names()
    lost: list[str] = []
    for step in range(STEPS):
        ddp.zero_grad()
        loss_of(compiled, step).backward()
        lost += conserved(recorder, dict(model.named_parameters()))
    return lost


def test_a_compiled_model_loses_nothing() -> None:
    assert run_workers(compiled_steps, 2) == [[], []]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"selector": "topk"}, "unknown selector 'topk'"),
        ({"density": 0.0}, r"density: expected a density in \(0, 1\], got 0.0"),
        ({"density": True}, "got True"),
        ({"granularity": "layer"}, "granularity must be one of tensor, bucket, model, got 'layer'"),
        ({"dense_steps": -1}, "dense_steps must be at least 0, got -1"),
        ({"clip_norm": 0.0}, "clip_norm must be positive and finite, got 0.0"),
        ({"rules": {"(": "dense"}}, r"rule '\(' is no regular expression"),
        ({"rules": {"head": "dense"}}, "rule 'head' decides for no parameter"),
        ({"rules": {"first": "sparse"}}, r"rule 'first': expected a density in \(0, 1\], got 'sparse'"),
        ({"non_finite": "ignore"}, "'ignore'"),
    ],
)
def test_a_wrong_option_is_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ErrorFeedbackState(Branches(), **options)


def test_a_model_without_a_parameter_to_train_is_refused() -> None:
    with pytest.raises(ValueError, match="no parameter of ReLU needs a gradient"):
        ErrorFeedbackState(nn.ReLU())
