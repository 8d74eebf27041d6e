"""A GPU that is not there, for a PyTorch with CUDA: what is written for GPUs is rehearsed on a machine without one.

`python -m pytest -p tests.pretend_gpu ...` runs tests on it, `python -m tests.pretend_gpu MODULE ...` a module. What a
host does for a GPU is the true thing: torch's allocator, streams, graphs and debug modes, and the library as nvcc
compiled it, up to its launches. Under them lies a runtime of our own (`pretend_runtime.cpp`), which runs our kernels as
the emulation does, and torch's operators on host memory (`pretend_operators.py`). No time that it takes says anything.

Our library's calls return before their work is done, in streams of their own, as on a GPU; torch's operators, other
than those that only fill new memory, first wait for their stream. So what our library leaves out is seen, but not that
torch's operators should have waited for another stream. A CUDA tensor cannot be printed, nor used in another thread.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import runpy
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
FOLDER = HERE.parent / "build" / "pretend-gpu"


def built_runtime(folder: Path = FOLDER) -> Path:
    """The pretend runtime, compiled; the driver's library has the same name, so that torch finds both in it.

    Raises:
        RuntimeError: there is no nvcc, whose headers it needs.
    """
    compiler = shutil.which("nvcc")
    if compiler is None:
        raise RuntimeError("a pretend GPU needs nvcc: it is not on the PATH")
    sources = [HERE / "pretend_runtime.cpp", HERE / "pretend_streams.h"]
    flags = ["-std=c++20", "-O1", "-Xcompiler", "-fPIC,-Wall,-Wextra,-Werror,-pthread", "-cudart", "none", "-shared"]
    # Its own calls reach its own functions, even where the real runtime is loaded.
    linking = ["-Xlinker", "-soname=libcuda.so.1,-Bsymbolic"]
    inputs = [compiler, *flags, *linking, *(source.read_text(encoding="utf-8") for source in sources)]
    library = folder / hashlib.sha256("\0".join(inputs).encode()).hexdigest()[:16] / "libcuda.so.1"
    if not library.is_file():
        library.parent.mkdir(parents=True, exist_ok=True)
        scratch = library.parent / f"runtime-{os.getpid()}.so"
        command = [compiler, *flags, *linking, "-x", "c++", str(sources[0]), "-o", str(scratch)]
        subprocess.run(command, check=True, env={**os.environ, "NVCC_APPEND_FLAGS": ""})
        scratch.replace(library)
    return library


@functools.cache
def runtime() -> ctypes.CDLL:
    """The pretend runtime, loaded so that its names come before those of the real one, which torch brings."""
    return ctypes.CDLL(str(built_runtime()), mode=ctypes.RTLD_GLOBAL)


def start() -> None:
    """From here on, torch sees the pretend GPU.

    Raises:
        RuntimeError: torch was there first, or it was not built for CUDA.
    """
    if "torch" in sys.modules:
        raise RuntimeError("the pretend GPU has to be there before torch is imported")
    found = runtime()
    # Our library is then linked to the runtime that is there, not to one of its own.
    os.environ["NVCC_APPEND_FLAGS"] = f"{os.environ.get('NVCC_APPEND_FLAGS', '')} -cudart shared"
    os.environ["SPARSYNC_CACHE"] = str(FOLDER)
    import torch

    if torch.version.cuda is None:
        raise RuntimeError(f"a pretend GPU needs a PyTorch with CUDA; this is {torch.__version__}")
    from sparsync.kernels import native_build

    source = HERE / "pretend_kernels.cpp"  # exports its kernels, which are found by name
    kernels = ctypes.CDLL(str(native_build.build_emulated(extra_flags=["-fvisibility=default"], sources=[source])))
    found.pretend_emulation(ctypes.cast(kernels.pretend_kernel, ctypes.c_void_p))
    torch.cuda.init()


@contextmanager
def operators() -> Iterator[None]:
    """torch's operators are there, too. At the end, nothing is left on a stream that would need this process."""
    from tests.pretend_operators import Operators

    with Operators(runtime()):
        try:
            yield
        finally:
            runtime().cudaDeviceSynchronize()


def pytest_configure(config: pytest.Config) -> None:
    """Runs in the main process and in every worker, before tests are imported."""
    start()
    entered = ExitStack()
    entered.enter_context(operators())
    config.add_cleanup(entered.close)


def main() -> None:
    """Run the module that the command line names, with the arguments that follow."""
    start()
    del sys.argv[0]
    with operators():
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
