"""What a hook receives is compared with its checksum and its indices with what they can be, on the device."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.distributed as dist
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from sparsync.experiments import ddp as module
from sparsync.experiments.averaging.header import ExchangeError
from sparsync.experiments.ddp import ErrorFeedbackState
from sparsync.experiments.hooks.exchange import Part
from sparsync.experiments.hooks.integrity import Integrity
from sparsync.experiments.hooks.packing import CHANGED, MISPLACED, Layout
from sparsync.experiments.hooks.side import Side
from tests.support.hooks.training import hooked, loss_of, seeded_model
from tests.support.workers import run_workers

CPU = torch.device("cpu")
LAYOUT = Layout(2, (3, 2), torch.float64)
INTEGRITY = Integrity(LAYOUT, [range(5), range(5, 9)], CPU)


def packed(indices: list[int], counts: list[int], step: int = 3) -> Tensor:
    part = torch.randn(5, dtype=torch.float64), torch.tensor(indices).int(), torch.tensor(counts).int()
    return LAYOUT.pack(step, [0, 0], [part], device=CPU)


def faults_of(buffer: Tensor) -> int:
    return int(INTEGRITY.faults(torch.stack([packed([0, 1, 2, 5, 6], [3, 2]), buffer]))[1])


@given(st.lists(st.integers(-1, 10), min_size=5, max_size=5), st.integers(-1, 4), st.integers(-1, 3))
def test_indices_can_be_where_each_selection_has_a_sorted_set_of_its_own(
    indices: list[int], first: int, second: int
) -> None:
    can_be = 0 <= first <= 3 and 0 <= second <= 2
    for own, places in ((indices[:3][: max(first, 0)], range(5)), (indices[3:][: max(second, 0)], range(5, 9))):
        can_be = can_be and own == sorted({*own} & {*places})
    assert faults_of(packed(indices, [first, second])) == (0 if can_be else MISPLACED)


@given(st.data())
def test_a_byte_that_is_changed_anywhere_is_found(data: st.DataObject) -> None:
    buffer = packed([0, 2, 4, 5, 8], [3, 2])
    raw = buffer.view(torch.uint8)
    raw[data.draw(st.integers(0, len(raw) - 1))] ^= data.draw(st.integers(1, 255))
    assert faults_of(buffer) & CHANGED


@given(st.data())
def test_words_that_change_places_are_found(data: st.DataObject) -> None:
    buffer = packed([0, 2, 4, 5, 8], [3, 2])
    one, other = (data.draw(st.integers(0, len(buffer) - 1)) for _ in range(2))
    is_same = bool(buffer[one] == buffer[other])
    buffer[[one, other]] = buffer[[other, one]]
    assert bool(faults_of(buffer) & CHANGED) is not is_same


def test_buffers_of_other_layouts_versions_and_steps_are_told_apart() -> None:
    other = Layout(2, (2, 3), torch.float64)
    buffers = torch.stack([LAYOUT.pack_nothing(3, [0, 0], CPU), other.pack_nothing(3, [0, 0], CPU)])
    assert not LAYOUT.are_alike(buffers)
    assert not LAYOUT.are_alike(torch.stack([LAYOUT.pack_nothing(step, [0, 0], CPU) for step in (3, 4)]))
    assert LAYOUT.are_alike(torch.stack([LAYOUT.pack_nothing(3, [flag, 0], CPU) for flag in (0, 1)]))
    with pytest.raises(ExchangeError, match="step 3: rank 1 sent gradients of other parameters or densities"):
        LAYOUT.flags(LAYOUT.heads(buffers), torch.zeros(2, dtype=torch.int32), 3)
    buffers[1] = buffers[0]
    LAYOUT.heads(buffers)[1, 0] += 1 << 16
    with pytest.raises(ExchangeError, match="step 3: rank 1 speaks version 2 of the protocol, not 1"):
        LAYOUT.flags(LAYOUT.heads(buffers), torch.zeros(2, dtype=torch.int32), 3)


def twice_an_index(pack: Any, layout: Layout, step: int, flags: Any, parts: list[Part], **others: Any) -> Tensor:
    if (step, dist.get_rank()) == (2, 1):
        values, indices, counts = parts[0]
        parts = [(values, indices[:1].expand_as(indices), counts), *parts[1:]]
    buffer: Tensor = pack(layout, step, flags, parts, **others)
    return buffer


def changed(pack: Any, layout: Layout, step: int, *others: Any, **more: Any) -> Tensor:
    buffer: Tensor = pack(layout, step, *others, **more)
    if (step, dist.get_rank()) == (2, 1):
        buffer[0] ^= 1
    return buffer


def spoilt_run(spoil: Any, reads: bool) -> tuple[str, bool, bool]:
    """What this rank is told of what rank 1 spoils in step 2; does it remember the same, and got it only infinities?"""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "side_for", (lambda _: None) if reads else Side)
        pack = Layout.pack
        patch.setattr(Layout, "pack", lambda layout, *given, **more: spoil(pack, layout, *given, **more))
        model = seeded_model()
        state = ErrorFeedbackState(model, density=0.2)
        ddp = hooked(model, state)
        before, is_infinite = dict[str, Tensor](), False
        for step in range(4):
            ddp.zero_grad()
            try:
                loss_of(ddp, step).backward()
                if step == 1:
                    before = state.state_dict()["residuals"]
            except (RuntimeError, ValueError) as error:
                return f"in step {step}: {error}", remembers(state, before), is_infinite
            is_infinite = all(bool(p.grad.isinf().all()) for p in model.parameters() if p.grad is not None)
    return "nothing", True, False


def remembers(state: ErrorFeedbackState, before: dict[str, Tensor]) -> bool:
    try:
        saved = state.state_dict()["residuals"]
    except ValueError:
        return False
    return saved.keys() == before.keys() and all(torch.equal(saved[name], before[name]) for name in saved)


def every_spoilt_run() -> list[tuple[str, bool, bool]]:
    return [spoilt_run(spoil, reads) for spoil in (twice_an_index, changed) for reads in (True, False)]


def test_what_one_rank_spoils_ends_all_on_both_roads() -> None:
    order, change = "sent indices that do not ascend within their parameters", "sent was changed on its way"
    cases = [(said, reads) for said in (order, change) for reads in (True, False)]
    for found in run_workers(every_spoilt_run, 2):
        for (words, is_as_before, is_infinite), (said, reads) in zip(found, cases, strict=True):
            # Where the host looks later, gradients are infinite in step 2, and nothing of it is remembered.
            assert words.startswith("in step 2: " if reads else "in step 3: ")
            assert "step 2: " in words
            assert f"rank 1 {said}" in words
            assert is_as_before is is_infinite is not reads
