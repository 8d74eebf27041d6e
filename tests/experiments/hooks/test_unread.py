"""What an exchange does on a GPU asks the device for nothing: tried on a device whose tensors have no values."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from itertools import accumulate
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.utils import _pytree
from torch.utils._python_dispatch import TorchDispatchMode

from sparsync.experiments.averaging.header import ExchangeError
from sparsync.experiments.feedbacks.registry import new_feedback
from sparsync.experiments.hooks import exchange as module
from sparsync.experiments.hooks.exchange import Exchange, Part
from sparsync.experiments.hooks.integrity import Integrity
from sparsync.experiments.hooks.packing import NON_FINITE, ZERO, Layout
from sparsync.experiments.hooks.pieces import Group, Piece, Rule, multiply
from sparsync.experiments.hooks.side import Side
from sparsync.experiments.hooks.telemetry import Ages
from sparsync.experiments.hooks.unread import Unread, flags_of
from sparsync.experiments.hooks.watching import Watch
from sparsync.kernels import native, native_build

DEVICE = torch.device("meta")
LENGTHS = {"wide": 600, "bias": 20, "tall": 150, "head": 5000}
WAITING = (
    *(torch.ops.aten._local_scalar_dense.default, torch.ops.aten.nonzero.default, torch.ops.aten.equal.default),
    *(torch.ops.aten.masked_select.default, torch.ops.aten.is_nonzero.default),
)
needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="no g++")


class NoWaiting(TorchDispatchMode):
    """Refuses what makes a host wait for a device."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # PyTorch leaves it unannotated.

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        assert func not in WAITING, func
        found = func(*args, **kwargs)
        to, given_tensors = (args[0], args[1:2]) if func is torch.ops.aten.copy_.default else (found, args)
        devices = {t.device.type for t in (to, *given_tensors) if isinstance(t, Tensor) and t.ndim}
        if func in (torch.ops.aten.copy_.default, torch.ops.aten._to_copy.default) and len(devices) > 1:
            assert kwargs.get("non_blocking") or args[2:3] == (True,), func
        return found


class Reading(TorchDispatchMode):
    """Which tensors that are made beside it a side reads, by their memory."""

    def __init__(self, side: Nowhere) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # PyTorch leaves it unannotated.
        self._side, self._made, self.read = side, storages(()), storages(())

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = func(*args, **(kwargs or {}))
        given_tensors = storages((args, kwargs))
        if self._side.is_entered:
            self.read |= {place: tensor for place, tensor in given_tensors.items() if place in self._made}
        else:
            self._made |= {place: one for place, one in storages(found).items() if place not in given_tensors}
        return found


def storages(tree: Any) -> dict[int, Tensor]:
    """Tensors of the device by their memory, which lasts as long as they are kept."""
    tensors = (one for one in _pytree.tree_leaves(tree) if isinstance(one, Tensor) and one.device == DEVICE)
    return {one.untyped_storage()._cdata: one for one in tensors}


class Nowhere(Side):
    """Of that device; what it copies to the host stays there."""

    def __init__(self) -> None:
        super().__init__(torch.device("cpu"))
        self.is_entered, self.held = False, storages(())

    @contextmanager
    def entered(self, used: Sequence[Tensor]) -> Iterator[None]:
        self.is_entered, self.held = True, storages(used)
        yield
        self.is_entered = False

    def room(self, shape: Sequence[int]) -> Tensor:
        return torch.empty(tuple(shape), dtype=torch.int32, device=DEVICE)


@pytest.fixture
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is a kernel, and the other of two ranks sends at once."""
    assert native_build.library().devices, native_build.library().backend()
    monkeypatch.setattr(native, "_is_native", lambda _: True)
    monkeypatch.setattr(module, "begin_all_gather", gathered)
    monkeypatch.setattr(module, "begin_all_reduce", lambda part, _: arrived(part))


def arrived(tensor: Tensor) -> torch.futures.Future[list[Tensor]]:
    future: torch.futures.Future[list[Tensor]] = torch.futures.Future()
    future.set_result([tensor])
    return future


def gathered(mine: Tensor, group: object) -> tuple[Tensor, torch.futures.Future[list[Tensor]]]:
    everyone = torch.stack([mine, mine])
    return everyone, arrived(everyone)


def refuse(step: int, found: Sequence[tuple[str, int]]) -> None:
    raise AssertionError(f"step {step} asked: {found}")


def exchange_of(
    feedback: str, selector: str, *, is_joint: bool, dtype: torch.dtype, side: Side | None = None
) -> Exchange:
    bucket = torch.zeros(sum(LENGTHS.values()), dtype=dtype, device=DEVICE)
    variant = new_feedback(feedback, step_location="outside")
    wide = torch.promote_types(dtype, torch.float32)
    pieces = []
    for (name, length), part in zip(LENGTHS.items(), bucket.split([*LENGTHS.values()]), strict=True):
        is_dense = selector == "keep_all" or name in ("bias", "head")
        memory = None if is_dense else variant.memory(length, dtype=wide, device=DEVICE)
        pieces.append(Piece(name, part, "dense" if is_dense else 0.1, memory))
    rule = Rule(selector, variant, "exact", 0, is_joint=is_joint)
    return Exchange(pieces, [bucket], group=Group(None, 0, 2), rule=rule, side=side or Nowhere())


@needs_compiler
@pytest.mark.parametrize("is_joint", [False, True])
@pytest.mark.parametrize(
    ("feedback", "selector"),
    [
        *(("ef14", "top_k"), ("ef14", "gaussian_k"), ("ef14", "keep_all"), ("decayed", "gaussian_k"), ("dgc", "top_k")),
        ("rmsprop", "top_k"),
    ],
)
@pytest.mark.usefixtures("_alone")
def test_a_step_asks_the_device_for_nothing(feedback: str, selector: str, is_joint: bool) -> None:
    if (feedback, is_joint) == ("dgc", True):
        pytest.skip("where m is masked, the entries of each vector are counted")
    for dtype in (torch.float32, torch.bfloat16):
        exchange = exchange_of(feedback, selector, is_joint=is_joint, dtype=dtype)
        scaler, ages = torch.amp.GradScaler("cpu"), Ages()
        for step in range(3):
            exchange.passage = Watch(lambda _: None).passage(exchange.content, [0])
            with NoWaiting():
                future = exchange.begin(step, exchange.scaling(scaler, 1.0, "local"), refuse)
                assert future.wait() is exchange.pieces[0].gradient
            # At first it places what stays: without a wait, as only memory of a GPU's host can be.
            with NoWaiting() if step else nullcontext():
                ages.note(exchange.passage, step)


@needs_compiler
@pytest.mark.parametrize("feedback", ["ef14", "decayed", "dgc", "rmsprop"])
@pytest.mark.usefixtures("_alone")
def test_memory_that_the_side_reads_is_held_for_it(feedback: str) -> None:
    """What a step has made elsewhere could be given to another before the side has read it, but for what is held."""
    side = Nowhere()
    exchange = exchange_of(feedback, "top_k", is_joint=False, dtype=torch.float32, side=side)
    scaler = torch.amp.GradScaler("cpu")
    for step in range(3):
        with Reading(side) as reading:
            exchange.begin(step, exchange.scaling(scaler, 1.0, "local"), refuse).wait()
        # In the first step they make what stays.
        assert step == 0 or (reading.read and reading.read.keys() <= side.held.keys())


def test_whoever_waits_is_found_out() -> None:
    tensor = torch.zeros(3, device=DEVICE)
    asking: list[Callable[[Tensor], object]] = [
        *(Tensor.tolist, Tensor.cpu, torch.nonzero, lambda vector: bool(vector[0]), lambda vector: vector[0].item()),
        *(lambda vector: vector.copy_(torch.zeros(3)), lambda vector: torch.zeros(3).to(vector.device)),
    ]
    for ask in asking:
        with NoWaiting(), pytest.raises((AssertionError, RuntimeError)):
            ask(tensor)


@given(st.lists(st.sampled_from([0.0, -0.0, 1e-45, 3.0, float("nan"), float("inf"), -float("inf")]), min_size=1))
def test_flags_say_what_is_not_finite_and_what_is_zero(entries: list[float]) -> None:
    vector = torch.tensor(entries)
    expected = NON_FINITE if not vector.isfinite().all() else ZERO if not vector.any() else 0
    for dtype in (torch.float32, torch.float64):
        assert flags_of([torch.ones(2, dtype=dtype), vector.to(dtype)]).tolist() == [0, expected]


@given(st.floats(1e-6, 1e6), st.sampled_from([torch.float32, torch.float64, torch.bfloat16, torch.float16]))
def test_a_factor_on_the_device_gives_the_bits_of_the_number(factor: float, dtype: torch.dtype) -> None:
    stream = torch.Generator().manual_seed(0)
    one, other = (torch.randn(2, 50, generator=stream.manual_seed(0)).to(dtype) for _ in range(2))
    multiply([*one], factor)
    multiply([*other], torch.tensor(factor, dtype=torch.float64))
    assert torch.equal(one, other)


def unread_of(lengths: Sequence[int], layout: Layout) -> Unread:
    """Of one selection from each of some vectors."""
    pieces = [Piece(str(place), torch.zeros(length), "dense", None) for place, length in enumerate(lengths)]
    ends, cpu = list(accumulate(lengths)), torch.device("cpu")
    integrity = Integrity(layout, [range(end - length, end) for end, length in zip(ends, lengths, strict=True)], cpu)
    variant = new_feedback("ef14", step_location="outside")
    return Unread(pieces, pieces, layout=layout, integrity=integrity, is_full=False, feedback=variant, side=Side(cpu))


def drawn_part(lengths: Sequence[int], capacities: Sequence[int], seed: int) -> Part:
    """Of each vector up to so many entries, often none or its last one; what lies in places that are left is drawn."""
    stream = torch.Generator().manual_seed(seed)
    values = torch.randn(sum(capacities), generator=stream)
    indices = torch.randint(-5, sum(lengths) + 5, (sum(capacities),), generator=stream, dtype=torch.int32)
    counts = torch.stack([torch.randint(most + 1, (), generator=stream) for most in capacities]).to(torch.int32)
    firsts, starts = accumulate(capacities[:-1], initial=0), accumulate(lengths[:-1], initial=0)
    for first, start, length, count in zip(firsts, starts, lengths, counts.tolist(), strict=True):
        chosen = length - 1 - torch.randperm(length, generator=stream)[:count].sort(descending=True).values
        indices[first : first + count] = (start + chosen).to(torch.int32)
    return values, indices, counts


@given(st.lists(st.integers(1, 6), min_size=1, max_size=4), st.integers(1, 3), st.integers(0, 2**20))
def test_whatever_lies_in_places_that_are_left_the_mean_is_that_of_the_entries(
    lengths: list[int], rank_count: int, seed: int
) -> None:
    capacities = [-(-length * 2 // 3) for length in lengths]
    layout, cpu = Layout(len(lengths), tuple(capacities), torch.float32), torch.device("cpu")
    parts = [drawn_part(lengths, capacities, seed + rank) for rank in range(rank_count)]
    gathered = torch.stack([layout.pack(0, [0] * len(lengths), [part], device=cpu) for part in parts])
    unread, size = unread_of(lengths, layout), torch.tensor(float(rank_count))
    mean = torch.full((sum(lengths),), torch.nan)
    unread.average(gathered, unread.verdict(gathered), mean, size)
    expected = torch.zeros_like(mean)
    for buffer in gathered:
        indices, values = layout.entries(buffer)
        expected[indices] += values
    assert torch.equal(mean, expected / rank_count)


def test_a_buffer_of_another_step_is_found_as_that_is_read() -> None:
    layout = Layout(1, (3,), torch.float32)
    unread = unread_of([3], layout)
    buffers = torch.stack([layout.pack_nothing(step, [0], torch.device("cpu")) for step in (3, 4)])
    unread.note(buffers, unread.verdict(buffers), 3)
    with pytest.raises(ExchangeError, match="step 3: rank 1 is at step 4"):
        unread.read()
