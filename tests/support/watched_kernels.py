"""Emulated kernels under observers of their accesses to memory.

A detector of races names accesses to the same memory that nothing puts in an order; a meter counts what is read and
written.
"""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from torch import Tensor

from tests.support.feedback_cases import COMPILE, ENTRY, SOURCES, Call, Case, Emulated
from tests.support.shared_builds import once

FOLDER = Path(__file__).parent / "emulated_kernels"
COMPILER = [flag for flag in COMPILE if flag != "-shared"]
# As the source has it: optimised, accesses are left out, or moved to where the source has none.
WATCHED = ["-O0", "-g1", "-fsanitize=thread", "-Wno-tsan"]


def compile_observer(target: Path, name: str) -> Path:
    """Compile an observer into an object file: "race_detector" or "traffic_meter"."""
    _run([*COMPILER, "-O2", "-Wall", "-Wextra", "-Werror", "-c", str(FOLDER / f"{name}.cpp"), "-o", str(target)])
    return target


def compile_watched(target: Path, entry: Path, *, observer: Path, sources: Path = SOURCES) -> Path:
    """Compile `entry` with the kernels in the folder `sources`, and link the observer in ThreadSanitizer's place."""
    return link_watched(target, compile_kernels(target.with_suffix(".o"), entry, sources), observer)


def compile_kernels(target: Path, entry: Path, sources: Path = SOURCES) -> Path:
    """The object file of `entry`, which reports its accesses to whatever it is linked with."""
    _run([*COMPILER, *WATCHED, f"-I{sources}", f"-I{FOLDER}", "-c", str(entry), "-o", str(target)])
    return target


def link_watched(target: Path, kernels: Path, observer: Path) -> Path:
    _run(["g++", "-shared", "-pthread", "-Wl,-z,defs", str(kernels), str(observer), "-o", str(target)])
    return target


def watched_kernels(target: Path, observer: Path, folder: Path) -> Path:
    """The kernels as they are; `folder` keeps their object file, for every observer the same."""
    return link_watched(target, once(folder / "kernels.o", lambda made: compile_kernels(made, ENTRY)), observer)


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)


class Detector:
    """What a library that `compile_watched` made has seen in the memory that is watched, and in shared memory."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._library = ctypes.CDLL(str(path))
        self._library.sparsync_races_found.restype = ctypes.c_char_p
        self._library.sparsync_emulation_threads(ctypes.c_int(1))

    def watch(self, memory: Mapping[str, tuple[int, int]]) -> None:
        """Addresses and lengths in bytes, in place of what was watched before."""
        self._library.sparsync_races_watch(None, ctypes.c_size_t(0), b"")
        for name, (address, size) in memory.items():
            self._library.sparsync_races_watch(ctypes.c_void_p(address), ctypes.c_size_t(size), name.encode())

    def races(self) -> list[str]:
        """Since the last question, one line each: whose memory, who met, and the two accesses with their lines."""
        found = str(self._library.sparsync_races_found().decode()).splitlines()
        return sorted({self._readable(line) for line in found})

    def _readable(self, line: str) -> str:
        memory, first, second, who = line.split("; ")
        return f"{memory}: {self._place(first)} and {self._place(second)}, {who}"

    def _place(self, access: str) -> str:
        kind, address = access.split()
        command = ["addr2line", "-e", str(self._path), "-f", "-i", "-s", "-C", address]
        lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
        # Functions and places in turn, the innermost first: the emulation's own are no news.
        frames = [place.split(" ")[0] for place in lines[1::2] if not place.startswith("atomics.h")]
        return f"{kind} at {frames[0]}"


class WatchedKernels:
    """The kernels, one operating-system thread; `races` runs a call under the detector."""

    def __init__(self, path: Path) -> None:
        self.emulated, self._detector = Emulated(path), Detector(path)

    def races(self, case: Case, *, seed: int = 1, blocks: int = 5) -> list[str]:
        self.emulated.set(seed=seed, threads=1, blocks=blocks)
        case = replace(
            case, residuals=tuple(residual.clone() for residual in case.residuals), memory=case.memory.clone()
        )
        call = self.emulated.call(case)
        self._detector.watch({name: _bytes(tensor) for name, tensor in _memory_of(case, call).items()})
        call.run()
        return self._detector.races()


@dataclass(frozen=True)
class Traffic:
    """What the kernels of a call did with one tensor, in bytes; sectors are of 32 bytes, each counted once a launch."""

    read: int
    written: int
    read_sectors: int
    written_sectors: int
    narrow_count: int
    """Accesses to fewer than four entries."""


class MeteredKernels:
    """The kernels, one operating-system thread; `traffic` runs a call under the meter and returns its report, too."""

    def __init__(self, path: Path) -> None:
        self._emulated, self._library = Emulated(path), ctypes.CDLL(str(path))
        self._library.sparsync_traffic_found.restype = ctypes.c_char_p

    def traffic(self, case: Case) -> tuple[dict[str, Traffic], Tensor]:
        """By the tensors' names: "gradient 0", "residual 0", ..., "values", "workspace". Changes those of the case."""
        self._emulated.set(seed=1, threads=1, blocks=5)
        call = self._emulated.call(case)
        self._watch(0, 0, "", 0)
        for name, tensor in _memory_of(case, call).items():
            self._watch(*_bytes(tensor), name, 4 * tensor.element_size())
        call.run()
        lines = [line.split(";") for line in self._library.sparsync_traffic_found().decode().splitlines()]
        return {name: Traffic(*map(int, counts)) for name, *counts in lines}, call.outputs[2]

    def _watch(self, address: int, size: int, name: str, width: int) -> None:
        self._library.sparsync_traffic_watch(
            ctypes.c_void_p(address), ctypes.c_size_t(size), name.encode(), ctypes.c_size_t(width)
        )


def _memory_of(case: Case, call: Call) -> dict[str, Tensor]:
    """All that the kernels of a call may use, by name; not what is empty."""
    tensors = {"memory": case.memory, "workspace": call.workspace}
    tensors |= dict(zip(("values", "indices", "report"), call.outputs, strict=True))
    tensors |= {f"gradient {number}": gradient for number, gradient in enumerate(case.gradients)}
    tensors |= {f"residual {number}": residual for number, residual in enumerate(case.residuals)}
    return {name: tensor for name, tensor in tensors.items() if tensor.numel()}


def _bytes(tensor: Tensor) -> tuple[int, int]:
    return tensor.data_ptr(), tensor.numel() * tensor.element_size()
