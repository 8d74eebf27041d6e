"""On a GPU the hook gives the means that it gives on CPUs, and in backward the host waits for no GPU."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from sparsync.experiments.ddp import ErrorFeedbackState
from tests.support.hooks.given import RULES, Given, Kind, gradients_of
from tests.support.hooks.training import hooked

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")

STEPS, SETTLED = 6, 3
"""Steps of a training, and those in which buckets are formed anew and ranks compare what they are to send."""
SLEEPING_CYCLES = 400_000_000
"""A fifth of a second at 2 GHz; backward of a few small vectors takes milliseconds of the host."""
DEADLINE = timedelta(seconds=20)
VARIANTS: list[dict[str, Any]] = [
    {},
    {"selector": "gaussian_k"},
    {"selector": "gaussian_k", "granularity": "model"},
    {"selector": "keep_all"},
    {"feedback": "decayed", "feedback_settings": {"decay": 0.5}},
    {"feedback": "ef14", "clip_norm": 50.0},
    {"granularity": "bucket", "non_finite": "skip", "dense_steps": 1},
]


@pytest.fixture(scope="module")
def groups(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, dist.ProcessGroup]]:
    """Of this one rank, by the device that it serves."""
    meeting = f"file://{tmp_path_factory.mktemp('meeting')}/meeting"
    torch.cuda.set_device(0)
    dist.init_process_group("nccl", init_method=meeting, rank=0, world_size=1, timeout=DEADLINE)
    world, other = dist.group.WORLD, dist.new_group([0], backend="gloo", timeout=DEADLINE)
    assert world is not None
    assert isinstance(other, dist.ProcessGroup)
    yield {"cuda": world, "cpu": other}
    dist.destroy_process_group()


def training_of(device: str, group: dist.ProcessGroup, **options: Any) -> tuple[Any, ErrorFeedbackState]:
    """The model under DDP, and its state; gradients are whole numbers, in which no sum is rounded."""
    model = Given().to(device)
    chosen = {"density": 0.1, "rules": RULES, "process_group": group, **options}
    state = ErrorFeedbackState(model, **chosen)
    return hooked(model, state, process_group=group), state


def step_of(ddp: Any, kind: Kind, step: int, *, rank: int = 0, asked: Callable[[], object] = lambda: None) -> None:
    """One backward; `asked` is called before it, once the device has nothing left to do."""
    device = next(ddp.parameters()).device
    gradients = {name: gradient.to(device) for name, gradient in gradients_of(kind, step, rank).items()}
    ddp.zero_grad()
    loss = ddp(gradients)
    if device.type == "cuda":
        torch.cuda.synchronize()
    asked()
    loss.backward()


def gradients_now(ddp: Any) -> dict[str, Tensor]:
    return {name: p.grad.clone() for name, p in ddp.module.named_parameters() if p.grad is not None}


def same(one: dict[str, Tensor], other: dict[str, Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name].cpu(), other[name].cpu()) for name in one)


def trained_network(group: dist.ProcessGroup, *, is_hooked: bool) -> list[Tensor]:
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(30, 200), nn.Tanh(), nn.Linear(200, 10)).cuda()
    ddp: nn.Module = DistributedDataParallel(network, process_group=group)
    if is_hooked:
        ddp = hooked(network, ErrorFeedbackState(network, selector="keep_all"), process_group=group)
    optimiser = torch.optim.SGD(network.parameters(), lr=0.1, momentum=0.9)
    for _ in range(STEPS):
        optimiser.zero_grad()
        ddp(torch.randn(16, 30, device="cuda")).square().mean().backward()
        optimiser.step()
    return [parameter.detach().clone() for parameter in network.parameters()]


def test_keep_all_is_ddp_itself_in_bits(groups: dict[str, dist.ProcessGroup]) -> None:
    plain, with_hook = (trained_network(groups["cuda"], is_hooked=is_hooked) for is_hooked in (False, True))
    assert all(map(torch.equal, plain, with_hook))


@pytest.mark.parametrize("options", VARIANTS, ids=str)
def test_all_bits_are_those_of_a_cpu(options: dict[str, Any], groups: dict[str, dist.ProcessGroup]) -> None:
    if "clip_norm" in options:
        pytest.skip("norms are summed in another order")
    trainings = [training_of(device, group, **options) for device, group in groups.items()]
    for step in range(STEPS):
        kind: Kind = "unused" if step == SETTLED else "ordinary"
        for ddp, _ in trainings:
            step_of(ddp, kind, step)
        (there, its_state), (here, own_state) = trainings
        assert same(gradients_now(there), gradients_now(here))
        assert same(its_state.state_dict()["residuals"], own_state.state_dict()["residuals"])
        assert its_state.sent_bytes == own_state.sent_bytes


@pytest.mark.parametrize("selector", ["top_k", "gaussian_k"])
def test_created_is_sent_and_pending(selector: str, groups: dict[str, dist.ProcessGroup]) -> None:
    ddp, state = training_of("cuda", groups["cuda"], selector=selector)
    names = ("wide", "long", "tall")
    for step in range(STEPS):
        before = {name: state.pending(name) for name in names}
        step_of(ddp, "ordinary", step)
        for name in names:
            created = before[name] + gradients_of("ordinary", step, 0)[name].cuda()
            kept, sent = state.pending(name), gradients_now(ddp)[name]
            assert torch.equal(sent + kept, created)
            assert not (sent.bool() & kept.bool()).any()
            assert sent.count_nonzero() < created.count_nonzero()


@pytest.mark.parametrize("options", VARIANTS, ids=str)
def test_backward_ends_on_the_host_while_the_device_still_sleeps(
    options: dict[str, Any], groups: dict[str, dist.ProcessGroup]
) -> None:
    ddp, state = training_of("cuda", groups["cuda"], **options)
    again, its_state = training_of("cuda", groups["cuda"], **options)
    end = torch.cuda.Event()
    for step in range(STEPS):
        step_of(again, "ordinary", step)
        if step < SETTLED:
            step_of(ddp, "ordinary", step)
            continue
        try:
            step_of(ddp, "ordinary", step, asked=fall_asleep)
            end.record()
            # Nobody has waited for the sleep, which comes before all that backward does.
            assert not end.query()
        finally:
            torch.cuda.set_sync_debug_mode("default")
        torch.cuda.synchronize()
        assert same(gradients_now(ddp), gradients_now(again))
    assert same(state.state_dict()["residuals"], its_state.state_dict()["residuals"])


def fall_asleep() -> None:
    torch.cuda._sleep(SLEEPING_CYCLES)
    torch.cuda.set_sync_debug_mode("error")


def test_a_loss_scale_is_not_waited_for(groups: dict[str, dist.ProcessGroup]) -> None:
    scaler = torch.amp.GradScaler("cuda", init_scale=2.0**6)
    scaled, _ = training_of("cuda", groups["cuda"], scaler=scaler)
    plain, _ = training_of("cuda", groups["cuda"])
    for step in range(STEPS):
        step_of(plain, "ordinary", step)
        gradients = {name: g.cuda() for name, g in gradients_of("ordinary", step, 0).items()}
        scaled.zero_grad()
        loss = scaler.scale(scaled(gradients))
        torch.cuda.synchronize()
        try:
            if step >= SETTLED:
                fall_asleep()
            loss.backward()
        finally:
            torch.cuda.set_sync_debug_mode("default")
        assert same({name: g / 2.0**6 for name, g in gradients_now(scaled).items()}, gradients_now(plain))


@pytest.mark.parametrize("kind", ["huge", "infinite bias"])
def test_a_skipped_step_changes_no_residual(kind: Kind, groups: dict[str, dist.ProcessGroup]) -> None:
    """A gradient of three quarters of the largest number is finite once, and no sum of two is."""
    ddp, state = training_of("cuda", groups["cuda"], non_finite="skip", density=0.01)
    step_of(ddp, "huge", 0)
    assert not state.skipped
    before = state.state_dict()["residuals"]
    step_of(ddp, kind, 1)
    assert any(gradient.isinf().all() for gradient in gradients_now(ddp).values())
    assert state.skipped
    assert same(state.state_dict()["residuals"], before)
    step_of(ddp, "ordinary", 2)
    assert not state.skipped


@pytest.mark.parametrize("is_asked", [False, True])
def test_what_is_not_finite_raises_with_the_next_backward_or_question(
    is_asked: bool, groups: dict[str, dist.ProcessGroup]
) -> None:
    ddp, state = training_of("cuda", groups["cuda"])
    step_of(ddp, "ordinary", 0)
    step_of(ddp, "infinite bias", 1)
    with pytest.raises(
        (FloatingPointError, RuntimeError), match="step 1: the gradient of 'bias' is not finite on rank 0"
    ):
        state.state_dict() if is_asked else step_of(ddp, "ordinary", 2)


def two_ranks(rank: int, folder: str) -> None:
    """Whether gloo takes vectors of a GPU, and what two ranks on one GPU get; in a file."""
    answer: dict[str, Any] = {"refused": None}
    meeting = f"file://{folder}/meeting"
    dist.init_process_group("gloo", init_method=meeting, rank=rank, world_size=2, timeout=DEADLINE)
    try:
        mine, everyone = torch.zeros(2, device="cuda"), torch.zeros(4, device="cuda")
        gather = getattr(dist, "all_gather_single", dist.all_gather_into_tensor)
        gather(everyone, mine)
    except RuntimeError as error:
        answer["refused"] = str(error)
    group = dist.group.WORLD
    if answer["refused"] is None and group is not None:
        for device in ("cuda", "cpu"):
            ddp, state = training_of(device, group, selector="gaussian_k", non_finite="skip")
            answer[device] = []
            for step, kind in enumerate(("ordinary", "half used", "nan", "unused", "ordinary")):
                step_of(ddp, kind, step, rank=rank)  # type: ignore[arg-type]
                parts = [*gradients_now(ddp).values(), *state.state_dict()["residuals"].values()]
                answer[device].append([part.cpu() for part in parts])
    torch.save(answer, Path(folder) / f"rank{rank}.pt")
    dist.barrier()
    dist.destroy_process_group()


def test_two_ranks_on_one_gpu_get_what_they_get_on_cpus(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    ranks = [context.Process(target=partial(two_ranks, rank, str(tmp_path)), daemon=True) for rank in range(2)]
    for process in ranks:
        process.start()
    end = time.monotonic() + DEADLINE.total_seconds()
    for process in ranks:
        process.join(max(0.0, end - time.monotonic()))
        process.kill()
    assert [process.exitcode for process in ranks] == [0, 0]
    answers = [torch.load(tmp_path / f"rank{rank}.pt", weights_only=True) for rank in range(2)]
    if answers[0]["refused"] is not None:
        pytest.skip(f"gloo: {answers[0]['refused']}")
    for answer in answers:
        for there, here in zip(answer["cuda"], answer["cpu"], strict=True):
            assert all(map(torch.equal, there, here))
