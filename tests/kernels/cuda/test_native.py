"""On a GPU nothing waits for the device, a captured call can be replayed, and no bit or byte changes from run to run.

What a GPU computes is tested with every other backend in `test_native.py`; these are properties that only a GPU has.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from torch import Tensor

from sparsync.experiments.studies.kernels.memory import requested_bytes
from sparsync.experiments.studies.kernels.replay import recorded
from sparsync.kernels import feedback_reference
from sparsync.kernels.native import Rule, SelectionState, feedback_select, feedback_select_many
from sparsync.kernels.payload import SparsePayload
from sparsync.kernels.reference import two_sided_quantile
from tests.support.native_backends import cuda_backend

RULES: tuple[Rule, ...] = ("top_k", "gaussian_k", "gaussian_k_released", "threshold", "chunked_top_k")
LENGTH, COUNT, LEAST = 300_007, 300, 2.5


@pytest.fixture(autouse=True)
def device() -> str:
    return cuda_backend().device


@pytest.fixture
def stops_are_errors() -> Iterator[None]:
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    yield
    torch.cuda.set_sync_debug_mode("default")


def drawn(seed: int, length: int = LENGTH) -> Tensor:
    return torch.randn(length, generator=torch.Generator().manual_seed(seed))


def selected(gradient: Tensor, residual: Tensor, rule: Rule, state: SelectionState | None) -> SparsePayload:
    least = LEAST if rule == "threshold" else None
    return feedback_select(gradient, residual, COUNT, rule=rule, state=state, threshold=least)


def expected(gradient: Tensor, residual: Tensor, rule: Rule) -> tuple[Tensor, Tensor]:
    """Values and indices that the definition selects on the CPU; changes `residual` as it does."""
    length = gradient.numel()
    parameter = LEAST if rule == "threshold" else two_sided_quantile(COUNT, length)
    place = feedback_reference.RULES.index(rule)
    memory = torch.zeros(1, 2, dtype=torch.int32)
    values, indices, report = feedback_reference.feedback_select_(
        [gradient], [residual], [COUNT], place, [parameter], [length], memory
    )
    count = int(report[0, 0])
    return values[:count], indices[:count]


@pytest.mark.parametrize("rule", RULES)
def test_a_call_never_waits_for_the_device(rule: Rule, stops_are_errors: None) -> None:
    torch.cuda.set_sync_debug_mode("default")
    gradient, residual, state = drawn(1).cuda(), torch.zeros(LENGTH, device="cuda"), SelectionState()
    warm = [selected(gradient, residual, rule, SelectionState()) for _ in range(3)]
    del warm  # kernels are loaded now, and the memory is there
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    # The mode sees torch's own stops; that the stream still sleeps shows that there was no other.
    torch.cuda._sleep(1_000_000_000)
    asleep = torch.cuda.Event()
    asleep.record()
    payloads = [selected(gradient, residual, rule, state) for _ in range(3)]
    buffers = [payload.padded() for payload in payloads]
    assert not asleep.query()
    torch.cuda.set_sync_debug_mode("default")
    assert [int(count) for *_, count in buffers] == [payload.count for payload in payloads]


def test_reading_a_payload_does_wait(stops_are_errors: None) -> None:
    torch.cuda.set_sync_debug_mode("default")
    gradient, residual = drawn(1).cuda(), torch.zeros(LENGTH, device="cuda")
    torch.cuda.set_sync_debug_mode("error")
    payload = selected(gradient, residual, "gaussian_k", None)
    with pytest.raises(RuntimeError, match="synchroniz"):
        _ = payload.count


@pytest.mark.parametrize("rule", RULES)
def test_a_captured_call_is_replayed_on_new_gradients(rule: Rule) -> None:
    gradient, residual, state = drawn(1).cuda(), torch.zeros(LENGTH, device="cuda"), SelectionState()
    replay, (values, indices, count) = recorded(lambda: selected(gradient, residual, rule, state).padded())
    residual.zero_()
    own = torch.zeros(LENGTH)
    for seed in range(2, 8):
        gradient.copy_(drawn(seed))
        replay()
        torch.cuda.synchronize()
        found = int(count)
        expected_values, expected_indices = expected(drawn(seed), own, rule)
        assert torch.equal(indices[:found].cpu(), expected_indices)
        assert torch.equal(values[:found].cpu(), expected_values)
        assert torch.equal(residual.cpu(), own)


def test_a_captured_call_for_hundreds_of_tensors_is_replayed_on_new_gradients() -> None:
    """Their rows, 128 bytes a tensor, come as the arguments of several launches."""
    lengths = range(500, 800)
    gradients = [drawn(1, length).cuda() for length in lengths]
    residuals, counts, state = [torch.zeros_like(one) for one in gradients], [5] * len(lengths), SelectionState()
    replay, payloads = recorded(lambda: feedback_select_many(gradients, residuals, counts, rule="top_k", state=state))
    for residual in residuals:
        residual.zero_()
    own, memory = [torch.zeros(length) for length in lengths], torch.zeros(len(lengths), 2, dtype=torch.int32)
    for seed in (2, 3):
        fresh = [drawn(seed, length) for length in lengths]
        for gradient, one in zip(gradients, fresh, strict=True):
            gradient.copy_(one)
        replay()
        wanted = feedback_reference.feedback_select_(fresh, own, counts, 0, [0.0] * len(counts), counts, memory)
        found = [torch.cat([payload.padded()[place] for payload in payloads]).cpu() for place in (0, 1)]
        assert all(map(torch.equal, found, wanted))
        assert all(torch.equal(residual.cpu(), one) for residual, one in zip(residuals, own, strict=True))


@pytest.mark.parametrize("rule", RULES)
def test_a_call_runs_on_the_current_stream(rule: Rule) -> None:
    stream, own, pinned = torch.cuda.Stream(), torch.zeros(LENGTH), drawn(3).pin_memory()
    residual = torch.zeros(LENGTH, device="cuda")
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        # Whatever ran on another stream would be done before the copy; to pin memory here might wait for the device.
        torch.cuda._sleep(50_000_000)
        gradient = torch.empty(LENGTH, device="cuda").copy_(pinned, non_blocking=True)
        payload = selected(gradient, residual, rule, None)
        indices = payload.indices.cpu()
    assert torch.equal(indices, expected(drawn(3), own, rule)[1])


@pytest.mark.parametrize("rule", RULES)
def test_calls_on_streams_side_by_side_do_not_disturb_each_other(rule: Rule) -> None:
    """Each call has a workspace of its own, which nobody gets before its stream is done with it."""
    lengths, steps = (LENGTH, LENGTH // 3, 5_001), range(4)
    streams = [torch.cuda.Stream() for _ in lengths]
    gradients = [[drawn(seed, length).cuda() for seed in steps] for length in lengths]
    residuals = [torch.zeros(length, device="cuda") for length in lengths]
    torch.cuda.synchronize()
    found: list[list[tuple[Tensor, Tensor, Tensor]]] = [[] for _ in lengths]
    for step in steps:
        for stream, gradient, residual, buffers in zip(streams, gradients, residuals, found, strict=True):
            with torch.cuda.stream(stream):
                buffers.append(selected(gradient[step], residual, rule, None).padded())
    torch.cuda.synchronize()
    for length, residual, buffers in zip(lengths, residuals, found, strict=True):
        own = torch.zeros(length)
        for step, (values, indices, count) in zip(steps, buffers, strict=True):
            wanted = expected(drawn(step, length), own, rule)
            assert torch.equal(values[: int(count)].cpu(), wanted[0])
            assert torch.equal(indices[: int(count)].cpu(), wanted[1])
        assert torch.equal(residual.cpu(), own)


@pytest.mark.parametrize("rule", RULES)
def test_ten_runs_give_the_same_bits(rule: Rule) -> None:
    gradients = [drawn(seed, length).cuda() for seed, length in enumerate((5, 4096, 70_001, 200_000))]
    found = set()
    for _ in range(10):
        residuals = [torch.zeros_like(gradient) for gradient in gradients]
        limits = LEAST if rule == "threshold" else None
        payload = feedback_select_many(gradients, residuals, COUNT, rule=rule, thresholds=limits)
        found.add((payload.values.cpu().numpy().tobytes(), payload.indices.cpu().numpy().tobytes()))
    assert len(found) == 1


@pytest.mark.parametrize("rule", ["top_k", "gaussian_k"])
def test_memory_neither_grows_nor_exceeds_five_percent(rule: Rule) -> None:
    length = 2**24
    gradient, residual, state = drawn(1, length).cuda(), torch.zeros(length, device="cuda"), SelectionState()
    feedback_select(gradient, residual, length // 100, rule=rule, state=state)
    torch.cuda.synchronize()
    before = requested_bytes("current")
    torch.cuda.reset_peak_memory_stats()
    payload = feedback_select(gradient, residual, length // 100, rule=rule, state=state)
    buffers = sum(tensor.numel() * tensor.element_size() for tensor in payload.padded()[:2])
    assert requested_bytes("peak") - before - buffers <= 0.05 * 4 * length
    del payload
    for _ in range(20):
        feedback_select(gradient, residual, length // 100, rule=rule, state=state)
    assert requested_bytes("current") <= before
