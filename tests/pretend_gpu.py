"""A GPU that is not there, for a PyTorch with CUDA: what is written for GPUs is rehearsed on a machine without one.

`python -m pytest -p tests.pretend_gpu ...` runs tests on it, `python -m tests.pretend_gpu MODULE ...` a module. What a
host does for a GPU is the true thing: torch's allocator, streams, graphs and debug modes, and the library as nvcc
compiled it, up to its launches. Under them lies a runtime of our own (`pretend_runtime.cpp`), which runs our kernels as
the emulation does, and torch's operators on host memory (`pretend_operators.py`). No time that it takes says anything.
"""

from __future__ import annotations

import ctypes
import functools
import os
import runpy
import shutil
import subprocess
import sys
from contextlib import ExitStack
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
    folder.mkdir(parents=True, exist_ok=True)
    library, scratch = folder / "libcuda.so.1", folder / f"runtime-{os.getpid()}.so"
    flags = ["-std=c++20", "-O1", "-Xcompiler", "-fPIC,-Wall,-Wextra,-Werror,-pthread", "-cudart", "none", "-shared"]
    name = ["-Xlinker", f"-soname={library.name}"]
    command = [compiler, *flags, *name, "-x", "c++", str(HERE / "pretend_runtime.cpp"), "-o", str(scratch)]
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
    os.environ["NVCC_APPEND_FLAGS"] = "-cudart shared"
    os.environ["SPARSYNC_CACHE"] = str(FOLDER)
    import torch

    if torch.version.cuda is None:
        raise RuntimeError(f"a pretend GPU needs a PyTorch with CUDA; this is {torch.__version__}")
    from sparsync.kernels import native_build

    source = HERE / "pretend_kernels.cpp"  # exports its kernels, which are found by name
    kernels = ctypes.CDLL(str(native_build.build_emulated(extra_flags=["-fvisibility=default"], sources=[source])))
    found.pretend_emulation(ctypes.cast(kernels.pretend_kernel, ctypes.c_void_p))
    torch.cuda.init()


def pytest_configure(config: pytest.Config) -> None:
    """Runs in the main process and in every worker, before tests are imported."""
    start()
    from tests.pretend_operators import Operators

    entered = ExitStack()
    entered.enter_context(Operators(runtime()))
    config.add_cleanup(entered.close)


def main() -> None:
    """Run the module that the command line names, with the arguments that follow."""
    start()
    from tests.pretend_operators import Operators

    del sys.argv[0]
    with Operators(runtime()):
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
