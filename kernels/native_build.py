"""Compile the native op once, keep it, load it: sources in `csrc/` → one shared library → `torch.ops.sparsync`.

The host compiler makes the CPU part, nvcc the CUDA part where there is one. The library uses torch's stable ABI, so it
depends on no Python version, and is kept by `build_cache.py`. A wheel may bring the CPU part along (`prebuilt.py`);
then only a GPU needs a compiler. Whatever is missing or fails is said in `Library.reason`.

`python -m sparsync.kernels.native_build` compiles if need be and prints the path and the backend; with
`--device cuda` its status is 1 where the library serves no GPU.
"""

from __future__ import annotations

import argparse
import functools
import os
import platform
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import astuple, dataclass, replace
from pathlib import Path

import torch
from torch import Tensor

from sparsync.kernels import prebuilt
from sparsync.kernels.build_cache import Made, cache_folder, cached, digest
from sparsync.kernels.feedback_reference import REPORT_COLUMN_COUNT
from sparsync.kernels.private_folder import private_folder

SOURCE_FOLDER = Path(__file__).resolve().parent / "csrc"
CUDA_SOURCE = "cuda/op.cu"
_TORCH_FOLDER = Path(torch.__file__).resolve().parent
# The oldest torch that the library runs with, major and minor.
TORCH_TARGET = (2, 10)
_TARGET_VERSION = f"0x{TORCH_TARGET[0]:02x}{TORCH_TARGET[1]:02x}000000000000"
_COMMON_FLAGS = (f"-DTORCH_TARGET_VERSION={_TARGET_VERSION}", "-std=c++20", "-O3")
_HOST_FLAGS = ("-ffp-contract=off", "-fPIC", "-fvisibility=hidden", "-pthread")
# A compiler may link its runtime in from archives; nobody else is to find those names in this library.
_OWN_ARCHIVES = "--exclude-libs=ALL"
# What every processor has; wider sets are chosen between when the library runs, whatever a compiler is set to.
_BASELINE_FLAGS = {"x86_64": ("-march=x86-64", "-mtune=generic")}
_CUDA_FLAGS = ("--fmad=false", "-cudart", "static", "--threads", "0", "-Xcompiler", ",".join(_HOST_FLAGS))
# A100, H100 and H200, B200; later devices translate the PTX of the newest.
_CUDA_ARCHITECTURES = (80, 90, 100)
_HOST_SUFFIXES = (".h", ".cpp")
_CUDA_SUFFIXES = (".cuh", ".cu")
_ERROR_LINE_COUNT = 8


@dataclass(frozen=True)
class CompileStep:
    """One run of the host compiler.

    Args:
        source: file, relative to `SOURCE_FOLDER`.
        suffix: sets the object apart where one source is compiled several times.
        flags: besides those that every step has.
        machine: compiled on this architecture only; None compiles everywhere.
    """

    source: str
    suffix: str = ""
    flags: tuple[str, ...] = ()
    machine: str | None = None


_AVX2 = ("-mavx2", "-mbmi2")
HOST_STEPS = (
    CompileStep("op.cpp"),
    CompileStep("codec_op.cpp"),
    CompileStep("cpu/instruction_set.cpp"),
    CompileStep("cpu/codec_indices.cpp", "portable"),
    CompileStep("cpu/codec_indices.cpp", "avx2", _AVX2, "x86_64"),
    CompileStep("cpu/codec_values.cpp", "portable"),
    CompileStep("cpu/codec_values.cpp", "avx2", _AVX2, "x86_64"),
    CompileStep("cpu/call.cpp"),
    CompileStep("cpu/chunks.cpp"),
    CompileStep("cpu/emit.cpp"),
    CompileStep("cpu/old_systems.cpp"),
    CompileStep("cpu/select.cpp"),
    CompileStep("cpu/loops.cpp", "portable"),
    CompileStep("cpu/loops.cpp", "avx2", _AVX2, "x86_64"),
    CompileStep("cpu/loops.cpp", "avx512", ("-mavx512f", *_AVX2), "x86_64"),
)
"""What the CPU part is made of; what has several instruction sets is chosen between when it runs."""


class BuildError(Exception):
    """A compiler is missing or failed; the message holds its last lines."""


@dataclass(frozen=True)
class Library:
    """What could be loaded.

    Args:
        path: the shared library, None if there is none.
        devices: device types that the op serves, "cpu" and "cuda".
        reason: why something is missing; empty if nothing failed.
    """

    path: Path | None
    devices: tuple[str, ...]
    reason: str

    def backend(self) -> str:
        """For example "native (CPU, CUDA)", or "reference: " and the reason."""
        if not self.devices:
            return f"reference: {self.reason}"
        names = ", ".join(device.upper() for device in self.devices)
        return f"native ({names}); {self.reason}" if self.reason else f"native ({names})"


@functools.cache
def library() -> Library:
    """The native library, compiled if need be and loaded; asked once per process, a failure included.

    SPARSYNC_BACKEND=reference stops it from being looked for.

    Raises:
        ValueError: SPARSYNC_BACKEND holds something else.
    """
    wanted = os.environ.get("SPARSYNC_BACKEND", "")
    if wanted not in ("", "reference"):
        raise ValueError(f"SPARSYNC_BACKEND must be empty or 'reference', got {wanted!r}")
    if wanted == "reference":
        return Library(None, (), "SPARSYNC_BACKEND=reference")
    reasons = []
    for offer in _offers():
        try:
            offered = offer()
            assert offered.path is not None
            load(offered.path, "sparsync")
            _register_codec()
        except (BuildError, prebuilt.PrebuiltError, OSError, RuntimeError) as error:
            cause = f": {error.__cause__}" if error.__cause__ else ""
            reasons.append(f"{error}{cause}")
        else:
            return replace(offered, reason="; ".join(filter(None, [*reasons, offered.reason])))
    return Library(None, (), "; ".join(reasons))


@functools.cache
def load(path: Path, namespace: str) -> None:
    """Load a library that defines `feedback_select_` in a namespace, and tell torch the shapes it returns; once."""
    torch.ops.load_library(str(path))
    torch.library.register_fake(f"{namespace}::feedback_select_", _shapes)


def build(folder: Path | None = None, *, with_cuda: bool = True) -> Library:
    """Compile what the sources and compilers at hand allow, unless the cache holds it.

    Args:
        folder: the cache; None is `cache_folder()`.
        with_cuda: False leaves nvcc alone.

    Raises:
        BuildError: there is no host compiler, or it failed. Where only nvcc fails, the library serves CPUs alone.
        OSError: the cache cannot be written, or others may write into it, see `private_folder`.
    """
    compiler, cuda_compiler = host_compiler(), _cuda_compiler() if with_cuda else None
    compilers = [compiler, cuda_compiler] if cuda_compiler else [compiler]
    paths = [path for path in SOURCE_FOLDER.rglob("*") if cuda_compiler or path.suffix in _HOST_SUFFIXES]
    name = f"libsparsync-{digest_of(compilers, _host_commands(compiler), paths)}.so"
    target = private_folder(folder or cache_folder()) / name
    made = cached(target, lambda scratch, output: _make_native(compiler, cuda_compiler, scratch, output))
    return Library(target, made.devices, made.reason)


def sources_digest() -> str:
    """16 hexadecimal digits of the CPU part's sources and flags; the same wherever they lie.

    Raises:
        OSError: a source cannot be read.
    """
    flags = [_COMMON_FLAGS, _HOST_FLAGS, _BASELINE_FLAGS, [astuple(step) for step in HOST_STEPS]]
    return digest(flags, [path for path in SOURCE_FOLDER.rglob("*") if path.suffix in _HOST_SUFFIXES])


def origin() -> prebuilt.Origin:
    """What a library should be made from to serve here.

    Raises:
        OSError: a source cannot be read.
    """
    return prebuilt.Origin(sources_digest(), TORCH_TARGET)


def host_compiler() -> list[str]:
    """The words of $CXX, else g++.

    Raises:
        BuildError: it is no command, or not on the PATH.
    """
    try:
        words = shlex.split(os.environ.get("CXX", "")) or ["g++"]
    except ValueError as error:
        raise BuildError(f"CXX holds no command: {error}") from error
    if shutil.which(words[0]) is None:
        raise BuildError(f"no C++ compiler: {words[0]} is not on the PATH")
    return words


def host_flags() -> list[str]:
    """What the host compiler is told for every source: dialect, arithmetic, where to find torch and our headers."""
    return [*_COMMON_FLAGS, *_HOST_FLAGS, *_include_flags()]


def link_flags(*, for_nvcc: bool = False) -> list[str]:
    """torch's libraries, kept even where linking needs no symbol of theirs: the CUDA stream is looked up by name.

    Where they lie is not kept: torch, which loads the library, has loaded them, and compilers cut paths at commas, nvcc
    also at spaces.
    """
    folder = _TORCH_FOLDER / "lib"
    names = [name for name in ("torch", "torch_cpu", "torch_cuda", "c10") if (folder / f"lib{name}.so").is_file()]
    to_linker = "-Xlinker=" if for_nvcc else "-Wl,"
    flags = [f"{to_linker}--no-as-needed", f"{to_linker}{_OWN_ARCHIVES}", f"-L{folder}"]
    return [*flags, *(f"-l{name}" for name in names)]


def _cpu_link_flags() -> list[str]:
    """torch's libraries as far as the CPU part needs them: then it loads into a torch with CUDA and one without."""
    return ["-Wl,--as-needed", f"-Wl,{_OWN_ARCHIVES}", f"-L{_TORCH_FOLDER / 'lib'}", "-ltorch_cpu"]


def run_compiler(command: list[str]) -> None:
    """Run it to its end.

    Raises:
        BuildError: it failed.
    """
    _finished(command)


def digest_of(compilers: list[list[str]], commands: Sequence[Sequence[str]], sources: Sequence[Path]) -> str:
    """16 hexadecimal digits of all that a library is made from."""
    versions = [_output([*compiler, "--version"]) for compiler in compilers]
    flags = [*_CUDA_FLAGS, *map(str, _CUDA_ARCHITECTURES), *link_flags(), *_cpu_link_flags()]
    files = [path for path in sources if path.suffix in (*_HOST_SUFFIXES, *_CUDA_SUFFIXES)]
    return digest([versions, commands, flags, torch.__version__, platform.machine()], files)


def main() -> int:
    """Compile if need be; print where the library is and what will run; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m sparsync.kernels.native_build", description="Compile the native library unless it is there."
    )
    parser.add_argument("--device", choices=("cpu", "cuda"), help="status 1 where the library does not serve it")
    device = parser.parse_args().device
    try:
        found = library()
    except ValueError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    print(f"{found.path or 'no native library'}: {found.backend()}")  # noqa: T201
    return int(device is not None and device not in found.devices)


def _offers() -> list[Callable[[], Library]]:
    """Where a library may come from, what is tried first at the head: what a wheel brought serves no GPU."""
    if not prebuilt.FOLDER.is_dir():
        return [build]
    wants_cuda = _cuda_compiler() is not None and torch.cuda.device_count() > 0
    return [build, _brought] if wants_cuda else [_brought, build]


def _brought() -> Library:
    return Library(prebuilt.checked_library(prebuilt.FOLDER, origin(), torch.__version__), ("cpu",), "")


def _make_native(compiler: list[str], cuda_compiler: list[str] | None, scratch: Path, output: Path) -> Made:
    """Compile all steps at once and link them, with the CUDA part if there is one and it compiles."""
    host = [(command, scratch / f"host_{index}.o") for index, command in enumerate(_host_commands(compiler))]
    cuda_object = scratch / "cuda.o"
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        cuda: Future[None] | None = None
        if cuda_compiler:
            command = [*cuda_compiler, *_cuda_flags(cuda_compiler), "-c", str(SOURCE_FOLDER / CUDA_SOURCE)]
            cuda = pool.submit(run_compiler, [*command, "-ccbin", compiler[0], "-o", str(cuda_object)])
        for finished in [pool.submit(run_compiler, [*command, "-o", str(path)]) for command, path in host]:
            finished.result()
    objects = [str(path) for _, path in host]
    reason = ""
    if cuda_compiler and cuda:
        try:
            cuda.result()
            link = [*cuda_compiler, "-ccbin", compiler[0], "-cudart", "static", "-shared", *objects, str(cuda_object)]
            run_compiler([*link, *link_flags(for_nvcc=True), "-o", str(output)])
            return Made(("cpu", "cuda"), "")
        except BuildError as error:
            reason = f"no CUDA: {error}"
    run_compiler([*compiler, "-shared", *objects, *_cpu_link_flags(), "-o", str(output)])
    return Made(("cpu",), reason)


def _cuda_compiler() -> list[str] | None:
    home = os.environ.get("CUDA_HOME")
    found = shutil.which("nvcc") or (shutil.which("nvcc", path=str(Path(home) / "bin")) if home else None)
    return [found] if found and (SOURCE_FOLDER / CUDA_SOURCE).is_file() else None


def _host_commands(compiler: list[str]) -> list[list[str]]:
    """Where sources lie is left out of the objects, so that the same sources make the same bytes anywhere."""
    steps = [step for step in HOST_STEPS if step.machine in (None, platform.machine())]
    flags = [*host_flags(), *_BASELINE_FLAGS.get(platform.machine(), ())]
    flags += [f"-ffile-prefix-map={SOURCE_FOLDER}=csrc", f"-ffile-prefix-map={_TORCH_FOLDER}=torch"]
    return [[*compiler, *flags, *step.flags, "-c", str(SOURCE_FOLDER / step.source)] for step in steps]


def _cuda_flags(cuda_compiler: list[str]) -> list[str]:
    listed = _output([*cuda_compiler, "--list-gpu-arch"]).split()
    known = [number for number in _CUDA_ARCHITECTURES if f"compute_{number}" in listed]
    targets = [f"-gencode=arch=compute_{number},code=sm_{number}" for number in known]
    targets += [f"-gencode=arch=compute_{number},code=compute_{number}" for number in known[-1:]]
    return [*_COMMON_FLAGS, *_CUDA_FLAGS, *_include_flags(), *targets]


def _include_flags() -> list[str]:
    return [f"-I{SOURCE_FOLDER}", "-isystem", str(_TORCH_FOLDER / "include")]


def _output(command: list[str]) -> str:
    return _finished(command).stdout


def _finished(command: list[str]) -> subprocess.CompletedProcess[str]:
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    if finished.returncode != 0:
        last = (finished.stderr or finished.stdout).strip().splitlines()[-_ERROR_LINE_COUNT:]
        raise BuildError(f"{command[0]} ended with status {finished.returncode}: " + "\n".join(last))
    return finished


@functools.cache
def _register_codec() -> None:
    """Tell torch what the ops of the wire format return, once."""
    for name in ("encode_", "decode_"):
        torch.library.register_fake(f"sparsync::{name}", _codec_report)


def _codec_report(first: Tensor, *_: object) -> Tensor:
    return first.new_empty(2, dtype=torch.int64)


def _shapes(
    gradients: Sequence[Tensor],
    residuals: Sequence[Tensor],
    counts: Sequence[int],
    rule: int,
    parameters: Sequence[float],
    capacities: Sequence[int],
    memory: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    """Empty tensors of the shapes that the op returns; refuses a tensor without data beside others, which have some."""
    del rule, parameters
    like, total = residuals[0], sum(capacities)
    if any(tensor.device != like.device for tensor in (*gradients, *residuals, memory)):
        raise RuntimeError(f"expected all tensors on {like.device}")
    report = like.new_empty((len(counts), REPORT_COLUMN_COUNT), dtype=torch.int32)
    return like.new_empty(total), like.new_empty(total, dtype=torch.int32), report


if __name__ == "__main__":
    raise SystemExit(main())
