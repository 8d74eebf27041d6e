"""What `feedback_select_` is tested on, and the emulated kernels behind its signature.

A case is one call: gradients, residuals and targets, with fixed contents. The emulated kernels are compiled from
kernels/csrc without torch and called through ctypes; the oracle is kernels/feedback_reference.py.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist

import torch
from torch import Tensor

from sparsync.kernels.feedback_reference import RULES, feedback_select_
from tests.support.emulated_build import EMULATION_FLAGS
from tests.support.paths import ROOT

SOURCES = ROOT / "kernels" / "csrc"
ENTRY = Path(__file__).parent / "emulated_kernels" / "feedback_select.cu"
COMPILE = ["g++", "-x", "c++", "-std=c++20", *EMULATION_FLAGS, "-ffp-contract=off", "-fPIC", "-shared", "-pthread"]
SANITISE = ["-O1", "-g1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
TYPES = {torch.float32: 0, torch.bfloat16: 1, torch.float16: 2}
GARBAGE = 0xA5
_MESSAGE_SIZE = 1024
Result = tuple[Tensor, Tensor, Tensor]
# File, text that is there exactly once, its replacement.
Fault = tuple[str, str, str]


@dataclass(frozen=True)
class Case:
    """One call; `outcome` copies what it changes, a `Call` does not."""

    gradients: tuple[Tensor, ...]
    residuals: tuple[Tensor, ...]
    counts: tuple[int, ...]
    rule: int
    parameters: tuple[float, ...]
    capacities: tuple[int, ...]
    memory: Tensor


class _Pieces(ctypes.Structure):
    _fields_ = (
        ("count", ctypes.c_int64),
        ("gradients", ctypes.POINTER(ctypes.c_void_p)),
        ("residuals", ctypes.POINTER(ctypes.c_void_p)),
        ("lengths", ctypes.POINTER(ctypes.c_int64)),
    )


class _Targets(ctypes.Structure):
    _fields_ = (
        ("count", ctypes.c_int64),
        ("counts", ctypes.POINTER(ctypes.c_int64)),
        ("parameters", ctypes.POINTER(ctypes.c_double)),
        ("capacities", ctypes.POINTER(ctypes.c_int64)),
    )


class Emulated:
    """A compiled library: `select` has the op's signature and raises RuntimeError with what a launch threw."""

    def __init__(self, path: Path) -> None:
        self._library = ctypes.CDLL(str(path))
        self._library.feedback_workspace_bytes.restype = ctypes.c_int64
        self._library.sparsync_emulation_recorded.restype = ctypes.c_char_p
        self._library.sparsync_emulation_timeout_seconds(ctypes.c_double(20.0))
        self.set(seed=1, threads=2, blocks=6)

    def set(self, *, seed: int, threads: int, blocks: int) -> None:
        self._library.sparsync_emulation_seed(ctypes.c_uint64(seed))
        self._library.sparsync_emulation_threads(ctypes.c_int(threads))
        self._library.sparsync_emulation_blocks(ctypes.c_int(blocks))

    def select(
        self,
        gradients: Sequence[Tensor],
        residuals: Sequence[Tensor],
        counts: Sequence[int],
        rule: int,
        parameters: Sequence[float],
        capacities: Sequence[int],
        memory: Tensor,
    ) -> Result:
        tensors = tuple(gradients), tuple(residuals)
        call = self.call(Case(*tensors, tuple(counts), rule, tuple(parameters), tuple(capacities), memory))
        call.run()
        return call.outputs

    def call(self, case: Case) -> Call:
        return Call(self._library, case)

    @contextlib.contextmanager
    def recording(self) -> Iterator[None]:
        """What is run is written down and not done; the last such record is what `replay` does."""
        self._library.sparsync_emulation_begin_recording()
        try:
            yield
        finally:
            self._library.sparsync_emulation_end_recording()

    def recorded(self) -> list[str]:
        """Each launch and its arguments, in order."""
        return str(self._library.sparsync_emulation_recorded().decode()).splitlines()

    def replay(self) -> None:
        message = ctypes.create_string_buffer(_MESSAGE_SIZE)
        _check(self._library.sparsync_emulation_replay(message), message)

    def workspace_bytes(self, dimension: int, k: int, rule: int) -> int:
        """Of one group; nothing is read."""
        tensor = torch.empty(0)
        pieces, targets = _pieces([tensor], [tensor]), _targets([k], [0.0], [k])
        pieces.lengths = (ctypes.c_int64 * 1)(dimension)
        return int(self._library.feedback_workspace_bytes(rule, 0, ctypes.byref(pieces), ctypes.byref(targets)))


class Call:
    """A call on the tensors of a case, with all other memory that it uses; it can be run again and again."""

    def __init__(self, library: ctypes.CDLL, case: Case) -> None:
        places, groups = sum(case.capacities), len(case.counts)
        self.outputs = (
            torch.full((places,), math.nan),
            torch.full((places,), 77, dtype=torch.int32),
            torch.full((groups, 4), 77, dtype=torch.int32),
        )
        pieces = _pieces(case.gradients, case.residuals)
        targets = _targets(case.counts, case.parameters, case.capacities)
        request = (case.rule, TYPES[case.gradients[0].dtype], ctypes.byref(pieces), ctypes.byref(targets))
        self.workspace = torch.full((library.feedback_workspace_bytes(*request),), GARBAGE, dtype=torch.uint8)
        tensors = [*self.outputs, case.memory, self.workspace]
        self._select = library.feedback_select
        self._arguments = [*request, *(ctypes.c_void_p(tensor.data_ptr()) for tensor in tensors)]
        self._kept = case

    def run(self) -> None:
        message = ctypes.create_string_buffer(_MESSAGE_SIZE)
        _check(self._select(*self._arguments, message, _MESSAGE_SIZE), message)


def _check(status: int, message: ctypes.Array[ctypes.c_char]) -> None:
    if status != 0:
        raise RuntimeError(message.value.decode())


def _pieces(gradients: Sequence[Tensor], residuals: Sequence[Tensor]) -> _Pieces:
    count = len(residuals)
    pointers = ctypes.c_void_p * count
    return _Pieces(
        count,
        pointers(*(tensor.data_ptr() for tensor in gradients)),
        pointers(*(tensor.data_ptr() for tensor in residuals)),
        (ctypes.c_int64 * count)(*(tensor.numel() for tensor in residuals)),
    )


def _targets(counts: Sequence[int], parameters: Sequence[float], capacities: Sequence[int]) -> _Targets:
    count = len(counts)
    return _Targets(
        count,
        (ctypes.c_int64 * count)(*counts),
        (ctypes.c_double * count)(*parameters),
        (ctypes.c_int64 * count)(*capacities),
    )


def faulty_sources(folder: Path, faults: Iterable[Fault]) -> Path:
    """A copy of the sources with some replacements."""
    shutil.copytree(SOURCES, folder)
    for name, text, replacement in faults:
        content = (folder / name).read_text()
        assert content.count(text) == 1, f"{name} does not hold {text!r} once"
        (folder / name).write_text(content.replace(text, replacement))
    return folder


def compile_emulated(target: Path, *, flags: Sequence[str] = ("-O2",), sources: Path = SOURCES) -> Path:
    """Compile the kernels in the folder `sources` into the shared library `target`."""
    command = [*COMPILE, *flags, f"-I{sources}", str(ENTRY), "-o", str(target)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return target


def outcome(select: object, case: Case, device: str = "cpu") -> list[Tensor]:
    """Everything that a call must agree on, as integers: values, indices, report without passes, residuals."""
    gradients, residuals = ([_same_alignment(one, device) for one in some] for some in (case.gradients, case.residuals))
    memory = case.memory.to(device, copy=True)
    values, indices, report = select(  # type: ignore[operator]
        gradients, residuals, case.counts, case.rule, case.parameters, case.capacities, memory
    )
    found = [values.view(torch.int32), indices, report[:, :3], *(residual.view(torch.int32) for residual in residuals)]
    return [tensor.cpu() for tensor in found]


def same(ours: Sequence[Tensor], theirs: Sequence[Tensor]) -> bool:
    return all(torch.equal(one, other) for one, other in zip(ours, theirs, strict=True))


def is_right(emulated: Emulated, case: Case) -> bool:
    """Whether the emulated kernels and the oracle agree in every bit."""
    return same(outcome(emulated.select, case), outcome(feedback_select_, case))


def _same_alignment(tensor: Tensor, device: str) -> Tensor:
    """A copy whose memory begins as far from a multiple of 16 bytes."""
    shift = tensor.data_ptr() % 16 // tensor.element_size()
    return torch.empty(shift + tensor.numel(), dtype=tensor.dtype, device=device)[shift:].copy_(tensor)


def make_case(
    gradient: Tensor | Sequence[Tensor],
    residual: Tensor | Sequence[Tensor],
    rule: str,
    *,
    counts: Sequence[int] | None = None,
    density: float = 0.01,
    parameter: float | None = None,
    capacities: Sequence[int] | None = None,
    memory: Sequence[int] = (0, 0),
) -> Case:
    """A call whose parameter suits a standard normal vector."""
    gradients = (gradient,) if isinstance(gradient, Tensor) else tuple(gradient)
    residuals = (residual,) if isinstance(residual, Tensor) else tuple(residual)
    total = sum(piece.numel() for piece in residuals)
    targets = tuple(counts) if counts is not None else (max(1, int(density * total)),)
    dimensions = [total] if len(targets) == 1 else [piece.numel() for piece in residuals]
    quantiles = [-NormalDist().inv_cdf(k / size / 2) for k, size in zip(targets, dimensions, strict=True)]
    return Case(
        gradients,
        residuals,
        targets,
        RULES.index(rule),
        tuple(quantiles) if parameter is None else (parameter,) * len(targets),
        tuple(dimensions) if capacities is None else tuple(capacities),
        torch.tensor([memory] * len(targets), dtype=torch.int32),
    )


def _generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def normal(size: int, seed: int = 0) -> Tensor:
    return torch.randn(size, generator=_generator(seed))


def from_bits(bits: Tensor) -> Tensor:
    return bits.to(torch.int32).view(torch.float32)


def random_bits(size: int, seed: int) -> Tensor:
    """Floats of random bits: all magnitudes, subnormal numbers, infinities and NaN."""
    return from_bits(torch.randint(-(2**31), 2**31, (size,), generator=_generator(seed)))


def spotted(tensor: Tensor, spots: dict[int, float]) -> Tensor:
    changed = tensor.clone()
    for position, value in spots.items():
        changed[position] = value
    return changed


def shifted(tensor: Tensor, offset: int) -> Tensor:
    """The same values, `offset` entries behind an aligned address."""
    room = torch.zeros(tensor.numel() + 8, dtype=tensor.dtype)
    return room[offset : offset + tensor.numel()].copy_(tensor)


def contents() -> dict[str, tuple[Tensor, Tensor]]:
    """(gradient, residual) by what is special about them."""
    size = 9001
    zeros = torch.zeros(size)
    picked = torch.randperm(size, generator=_generator(5))
    sparse = spotted(zeros, {int(position): float(position) for position in picked[:40]})
    infinite = {17: math.inf, 4096: -math.inf, 5000: math.nan, 9000: math.nan}
    largest = torch.finfo(torch.float32).max
    sizes = {f"normal, d = {d}": (normal(d, d), normal(d, d + 1)) for d in SIZES}
    return sizes | {
        "constant": (zeros, torch.full((size,), -0.75)),
        "the largest": (zeros, torch.where(picked % 2 == 0, largest, -largest)),
        "two values": (zeros, torch.where(picked % 3 == 0, 2.0, -1.5)),
        "zeros": (zeros, zeros),
        "negative zeros": (-zeros, -zeros),
        "sparse": (zeros, sparse),
        "few non-zeros": (zeros, spotted(zeros, {4095: 1.0, 8999: -1.0})),
        "subnormal": (zeros, from_bits(picked % 701 + 2**31 * (picked % 2) - 2**32 * (picked % 2))),
        "ties at the cut": (normal(size, 1).round(), normal(size, 2).round()),
        "integers": ((picked % 91).float(), zeros),
        "rising": (torch.arange(size).float(), zeros),
        "neighbours of a power of two": (zeros, from_bits(2**30 + 119 - picked)),
        "random bits": (random_bits(size, 7), random_bits(size, 8)),
        "infinite gradient": (spotted(normal(size, 3), infinite), normal(size, 4)),
        "overflowing sum": (spotted(normal(size, 3), {70: largest, 71: -largest}), spotted(zeros, {70: largest})),
        "residual with NaN": (normal(size, 5), spotted(normal(size, 6), infinite)),
        "NaN among zeros": (zeros, spotted(zeros, {2: math.nan, 50: 3.0, 4097: -math.inf})),
        "bfloat16": (normal(size, 9).to(torch.bfloat16), normal(size, 10)),
        "bfloat16 of random bits": (random_bits(size, 11).to(torch.bfloat16), normal(size, 12)),
        "float16": (normal(size, 13).to(torch.float16), normal(size, 14)),
        "float16 of all bits": (torch.arange(-(2**15), 2**15).to(torch.int16).view(torch.float16), torch.zeros(2**16)),
    }


SIZES = (1, 2, 3, 7, 100, 1023, 4095, 4096, 4097, 12288, 70001)


def all_cases() -> dict[str, Case]:
    """By name; every rule on all contents, and the special calls."""
    plain = {
        f"{rule}: {name}": make_case(gradient, residual, rule)
        for name, (gradient, residual) in contents().items()
        for rule in RULES
    }
    size = 20000
    gradient, residual = normal(size, 20), normal(size, 21)
    pieces = [0, 1, 5000, 4096, 0, 8193, 300, 0, *range(30, 60)]
    gradients = [normal(length, 30 + index) for index, length in enumerate(pieces)]
    residuals = [normal(length, 130 + index) for index, length in enumerate(pieces)]
    solid = [(g, e) for g, e in zip(gradients, residuals, strict=True) if g.numel()]
    # The first tensor of two is decided by its list, the second by its vector, which lists too little.
    scales = [1.0, 0.25] * 4
    mixed = [scale * normal(9000, 200 + index) for index, scale in enumerate(scales)]
    mixed_residuals = [scale * normal(9000, 300 + index) for index, scale in enumerate(scales)]
    # So few non-zeros that exact Top-k sends zeros of either sign too, from more than one worker's stretch.
    few = [gradient * (gradient > 2.4) for gradient in gradients]
    few_solid = [g for g in few if g.numel()]
    late = spotted(torch.where(torch.arange(70_000) < 40_000, math.inf, -0.0), {7: 2.0, 69_999: 1.0})
    nothing = torch.full_like(late, -0.0)
    special: dict[str, Case] = {}
    # Several chunks of 64 tiles, and more tiles than a look-back sees at once.
    long = (normal(600_001, 22), normal(600_001, 23))
    for rule in RULES:
        special |= {
            f"{rule}: k = d": make_case(gradient, residual, rule, counts=[size]),
            f"{rule}: k = d, zeros": make_case(gradient * (gradient > 0), residual * 0, rule, counts=[size]),
            f"{rule}: k = d, tiny": make_case(gradient * 1e-30, spotted(residual * 0, {9: 1.0}), rule, counts=[size]),
            f"{rule}: k = d / 2": make_case(gradient, residual, rule, density=0.5),
            f"{rule}: k = 1": make_case(gradient, residual, rule, counts=[1]),
            f"{rule}: capacity 50": make_case(gradient, residual, rule, capacities=[50]),
            f"{rule}: capacity 0": make_case(gradient, residual, rule, capacities=[0]),
            f"{rule}: tied capacity": make_case(gradient * 0, residual * 0 + 1, rule, capacities=[130]),
            f"{rule}: long": make_case(*long, rule),
            f"{rule}: long, listed": make_case(*long, rule, memory=(0x40533333, 9)),
            f"{rule}: long pieces": make_case([long[0], gradient], [long[1], residual], rule, counts=[3000, 300]),
            f"{rule}: too many listed": make_case(gradient, residual, rule, memory=(0x40447AE1, 9)),
            f"{rule}: few listed": make_case(gradient, residual, rule, memory=(0x40600000, 9)),
            f"{rule}: whole vector": make_case(gradients, residuals, rule, counts=[400]),
            f"{rule}: every tensor": make_case(
                [g for g, _ in solid], [e for _, e in solid], rule, counts=[1 + g.numel() // 100 for g, _ in solid]
            ),
            f"{rule}: few non-zeros in all": make_case(few, [e * 0 for e in residuals], rule, counts=[400]),
            f"{rule}: few non-zeros in each": make_case(
                few_solid, [g * 0 for g in few_solid], rule, counts=[1 + g.numel() // 9 for g in few_solid]
            ),
            f"{rule}: mixed sources": make_case(mixed, mixed_residuals, rule, counts=[90] * 8, memory=(0x40533333, 9)),
            f"{rule}: many tensors": make_case([gradient[:8]] * 150, [residual[:8]] * 150, rule, counts=[60]),
        }
        for bound in (1, 2**20, 0x3F800000, 0x40600000, 0x7F7FFFFF, 0x7F800000, -1, -(2**31), 12345):
            special[f"{rule}: memory {bound}"] = make_case(gradient, residual, rule, memory=(bound, bound // 7))
            special[f"{rule}: sparse, memory {bound}"] = make_case(
                gradient * (gradient > 2.4), residual * 0, rule, memory=(bound, -(bound // 3))
            )
        for offset in (1, 2, 3):
            special[f"{rule}: views at {offset}"] = make_case(gradient, shifted(residual, offset), rule)
            special[f"{rule}: gradient at {offset}"] = make_case(
                shifted(gradient.to(torch.bfloat16), offset), residual, rule
            )
    # So many ends of tensors that a sample of a long vector meets some.
    short, kept = ([normal(61, seed + index) for index in range(4400)] for seed in (400, 5400))
    for rule in ("top_k", "gaussian_k"):
        special[f"{rule}: zeros that come late"] = make_case(nothing, late, rule, counts=[1000], memory=(1, 9))
        special[f"{rule}: long, of short tensors"] = make_case(short, kept, rule, counts=[2700])
    for level in range(14):
        # Two numbers that cancel where their subtrees meet, after swallowing what is small beside them: the mean,
        # which is the threshold here, tells in which order was added.
        places = [6] if level > 8 else range(6, size - 512, 512)
        large = gradient + 0.5
        for place in places:
            large = spotted(large, {place: 2.0**60, place ^ 1 << level: -(2.0**60)})
        special[f"released, order at level {level}"] = make_case(
            large, residual * 0, "gaussian_k_released", density=0.6, parameter=0.0
        )
    for parameter in (0.0, 1e-45, 2.5, 3e38, 1e300):
        special[f"threshold {parameter}"] = make_case(gradient.round(), residual * 0, "threshold", parameter=parameter)
    for parameter in (-3.0, 0.0, 50.0, math.inf):
        special[f"released, z = {parameter}"] = make_case(
            gradient.relu(), (residual + 1.0) * (gradient > 0), "gaussian_k_released", parameter=parameter
        )
    return plain | special
