"""Emulated kernels under a detector of races: it names accesses to the same memory that nothing puts in an order."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from torch import Tensor

from tests.feedback_cases import COMPILE, SOURCES, Case, Emulated

FOLDER = Path(__file__).parent / "emulated_kernels"
COMPILER = [flag for flag in COMPILE if flag != "-shared"]
# As the source has it: optimised, accesses are left out, or moved to where the source has none.
WATCHED = ["-O0", "-g1", "-fsanitize=thread", "-Wno-tsan"]


def compile_detector(target: Path) -> Path:
    """Compile the detector into an object file."""
    _run([*COMPILER, "-O2", "-Wall", "-Wextra", "-Werror", "-c", str(FOLDER / "race_detector.cpp"), "-o", str(target)])
    return target


def compile_watched(target: Path, entry: Path, *, detector: Path, sources: Path = SOURCES) -> Path:
    """Compile `entry` with the emulation in the folder `sources`, and link the detector in ThreadSanitizer's place."""
    kernels = target.with_suffix(".o")
    _run([*COMPILER, *WATCHED, f"-I{sources}", f"-I{FOLDER}", "-c", str(entry), "-o", str(kernels)])
    _run(["g++", "-shared", "-pthread", "-Wl,-z,defs", str(kernels), str(detector), "-o", str(target)])
    return target


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
        tensors = {"memory": case.memory, "workspace": call.workspace}
        tensors |= dict(zip(("values", "indices", "report"), call.outputs, strict=True))
        tensors |= {f"gradient {number}": gradient for number, gradient in enumerate(case.gradients)}
        tensors |= {f"residual {number}": residual for number, residual in enumerate(case.residuals)}
        self._detector.watch({name: _bytes(tensor) for name, tensor in tensors.items() if tensor.numel()})
        call.run()
        return self._detector.races()


def _bytes(tensor: Tensor) -> tuple[int, int]:
    return tensor.data_ptr(), tensor.numel() * tensor.element_size()
