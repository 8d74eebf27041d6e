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
from itertools import accumulate, pairwise
from pathlib import Path
from statistics import NormalDist

import torch
from torch import Tensor

from sparsync.kernels.chunks import CHUNK_SIZE
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
    """A call whose parameter suits a standard normal vector; the kernels take chunks of one tensor, not of two."""
    gradients = (gradient,) if isinstance(gradient, Tensor) else tuple(gradient)
    residuals = (residual,) if isinstance(residual, Tensor) else tuple(residual)
    total = sum(piece.numel() for piece in residuals)
    targets = tuple(counts) if counts is not None else (max(1, int(density * total)),)
    if rule == "chunked_top_k" and len(residuals) > len(targets):
        gradients, residuals = cut_at_chunks(gradients), cut_at_chunks(residuals)
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


def generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def normal(size: int, seed: int = 0) -> Tensor:
    return torch.randn(size, generator=generator(seed))


def from_bits(bits: Tensor) -> Tensor:
    return bits.to(torch.int32).view(torch.float32)


def random_bits(size: int, seed: int) -> Tensor:
    """Floats of random bits: all magnitudes, subnormal numbers, infinities and NaN."""
    return from_bits(torch.randint(-(2**31), 2**31, (size,), generator=generator(seed)))


def spotted(tensor: Tensor, spots: dict[int, float]) -> Tensor:
    changed = tensor.clone()
    for position, value in spots.items():
        changed[position] = value
    return changed


def shifted(tensor: Tensor, offset: int) -> Tensor:
    """The same values, `offset` entries behind an aligned address."""
    room = torch.zeros(tensor.numel() + 8, dtype=tensor.dtype)
    return room[offset : offset + tensor.numel()].copy_(tensor)


def cut_at_chunks(pieces: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """The same entries in as many pieces, of which each but the last ends with a chunk."""
    whole = torch.cat(list(pieces))
    ends = [end // CHUNK_SIZE * CHUNK_SIZE for end in accumulate(map(len, pieces))]
    return tuple(whole[begin:end] for begin, end in pairwise([0, *ends[:-1], len(whole)]))
