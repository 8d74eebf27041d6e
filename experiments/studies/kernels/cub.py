"""CUB's DeviceTopK as a contender, where it can be compiled: exact, unordered, on the magnitudes of the residual.

The package nvidia-cuda-cccl holds it, and comes before the CUDA toolkit, which in version 13.0 does not hold it yet;
without either the study records why the contender is absent. Without a GPU nothing here runs.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import shutil
import signal
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from sparsync.experiments.studies.kernels.contenders import Call, Contender, Result, Selection
from sparsync.experiments.studies.kernels.laws import Case

NAME = "cub::DeviceTopK"

# Where the header is missing nvcc says so at once; a lent GPU's minutes are few.
_COMPILER_DEADLINE_SECONDS = 40
_SOURCE = r"""
#if !__has_include(<cub/device/device_topk.cuh>)
#error the CUDA toolkit has no cub/device/device_topk.cuh, and nvidia-cuda-cccl is not installed
#endif
#include <cub/device/device_topk.cuh>
#include <cuda/__execution/determinism.h>
#include <cuda/__execution/output_ordering.h>
#include <cuda/__execution/require.h>
#include <cuda/iterator>
#include <cuda/std/execution>
#include <cuda/stream_ref>

struct Magnitude {
  __device__ float operator()(float value) const { return fabsf(value); }
};

// With temporary == nullptr only writes the bytes that it needs.
extern "C" int largest(void* temporary, size_t* bytes, const float* values, float* keys, int* indices, int dimension,
                       int k, cudaStream_t stream) {
  const auto requirements = cuda::execution::require(cuda::execution::determinism::not_guaranteed,
                                                     cuda::execution::output_ordering::unsorted);
  const auto environment = cuda::std::execution::env{cuda::stream_ref{stream}, requirements};
  return cub::DeviceTopK::MaxPairs(temporary, *bytes, cuda::transform_iterator(values, Magnitude{}), keys,
                                   cuda::counting_iterator<int>(0), indices, dimension, k, environment);
}
"""


def contenders(case: Case) -> list[Contender]:
    """The contender where it can be had for a case: one vector on a GPU."""
    library = _library()
    if isinstance(library, str) or case.granularity != "vector":
        return []
    return [Contender(NAME, _call(library, case), "top_k")]


def absence() -> dict[str, str]:
    """Why the contender is absent, by its name; empty if it is not."""
    library = _library()
    return {NAME: library} if isinstance(library, str) else {}


@cache
def _library() -> ctypes.CDLL | str:
    """The compiled library, or why there is none."""
    compiler = _compiler()
    if compiler is None:
        return "no nvcc was found"
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder) / "largest.cu", Path(folder) / "largest.so"
        source.write_text(_SOURCE, encoding="utf-8")
        options = ["-O3", "-std=c++17", "-arch=native", "-shared", "-Xcompiler", "-fPIC", *_packaged_headers()]
        command = [str(compiler), *options, "-o", str(library), str(source)]
        # In a group of its own, with the compilers that it starts; what ends them needs no more than a GPU machine has.
        with subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True
        ) as process:
            try:
                _, said = process.communicate(timeout=_COMPILER_DEADLINE_SECONDS)
            except subprocess.TimeoutExpired:
                return f"nvcc was not done after {_COMPILER_DEADLINE_SECONDS} seconds"
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
        if process.returncode:
            return f"nvcc ended with status {process.returncode}: {_first_error(said)}"
        return ctypes.CDLL(str(library))


def _first_error(said: str) -> str:
    """What a compiler says first of all that it says after "error:", or how it begins."""
    errors = [line.partition("error:")[2].strip().removeprefix("#error ") for line in said.splitlines()]
    return next(filter(None, errors), said.strip())[:500]


def _packaged_headers() -> list[str]:
    """Options for nvcc: the folder of the package nvidia-cuda-cccl, if it is installed and holds the algorithm."""
    package = importlib.util.find_spec("nvidia")
    roots = (package.submodule_search_locations if package else None) or []
    folders = [folder for root in roots for folder in sorted(Path(root).glob("*/include/cccl"))]
    return [f"-I{folder}" for folder in folders if (folder / "cub" / "device" / "device_topk.cuh").is_file()]


def _compiler() -> Path | None:
    home = os.environ.get("CUDA_HOME")
    found = shutil.which("nvcc") or (shutil.which("nvcc", path=str(Path(home) / "bin")) if home else None)
    return Path(found) if found else None


def _call(library: ctypes.CDLL, case: Case) -> Call:
    k = case.target_counts[0]
    sizes: dict[str, Tensor] = {}

    def call(gradients: list[Tensor], residuals: list[Tensor]) -> Result:
        residual = residuals[0].add_(gradients[0])
        if not sizes:
            needed = ctypes.c_size_t()
            _launch(library, None, needed, residual, residual, residual, k)
            sizes["temporary"] = residual.new_empty(needed.value, dtype=torch.uint8)
        keys = residual.new_empty(k)
        indices = residual.new_empty(k, dtype=torch.int32)
        _launch(library, sizes["temporary"], ctypes.c_size_t(sizes["temporary"].numel()), residual, keys, indices, k)
        places = indices.long()
        selected: Selection = (residual[places], places)
        residual[places] = 0
        return [selected]

    return call


def _launch(
    library: ctypes.CDLL,
    temporary: Tensor | None,
    needed: Any,
    residual: Tensor,
    keys: Tensor,
    indices: Tensor,
    k: int,
) -> None:
    status = library.largest(
        ctypes.c_void_p(None if temporary is None else temporary.data_ptr()),
        ctypes.byref(needed),
        *(ctypes.c_void_p(tensor.data_ptr()) for tensor in (residual, keys, indices)),
        ctypes.c_int(residual.numel()),
        ctypes.c_int(k),
        ctypes.c_void_p(torch.cuda.current_stream().cuda_stream),
    )
    if status:
        raise RuntimeError(f"{NAME} failed with CUDA error {status}")
