"""With which arithmetic does this process compute? The library of its matrix products, their code path, and a digest.

Processors differ in the instructions that they offer, libraries choose between code paths by them, and each path adds
in an order of its own: results agree in distribution, and in bits only where all of this is the same. Ours.
"""

import ctypes
import hashlib
import os
import re
import sys
import tempfile
from functools import lru_cache
from pathlib import Path

import torch

_PROBE_SIZES = ((32, 784, 256), (300, 300, 300), (256, 32, 10))
"""Rows, inner size and columns of the matrix products that the digest is made of."""
_PROBE_ENTRY_COUNT = 10_001


def arithmetic() -> dict[str, str | None]:
    """The facts that decide the bits of a result on a CPU, for its file.

    `blas` names the library of matrix products, `blas_code_path` what it says of its code path (null where it says
    nothing), `cpu_capability` the instruction set whose code PyTorch runs, and `arithmetic_sha256` is a digest of fixed
    draws, sums, products and functions: where it is the same, so were all results compared so far.
    """
    name, path = _blas()
    return {
        "blas": name,
        "blas_code_path": path,
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
        "arithmetic_sha256": _digest(),
    }


@lru_cache(maxsize=1)
def _digest() -> str:
    """SHA-256 of what a few operations return on one thread, for inputs made from integers alone."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        found = hashlib.sha256()
        for rows, inner, columns in _PROBE_SIZES:
            product = _numbers(rows * inner).view(rows, inner) @ _numbers(inner * columns).view(inner, columns)
            found.update(product.numpy().tobytes())
        images, filters = _numbers(2 * 3 * 16 * 16).view(2, 3, 16, 16), _numbers(8 * 3 * 9).view(8, 3, 3, 3)
        found.update(torch.nn.functional.conv2d(images, filters, padding=1).numpy().tobytes())
        entries = _numbers(_PROBE_ENTRY_COUNT)
        drawn = torch.randn(_PROBE_ENTRY_COUNT, generator=torch.Generator().manual_seed(0))
        for values in (drawn, entries.exp(), entries.sum().view(1), entries.log_softmax(0), drawn.tanh()):
            found.update(values.numpy().tobytes())
        return found.hexdigest()
    finally:
        torch.set_num_threads(threads)


def _numbers(count: int) -> torch.Tensor:
    """Numbers in [−1, 1), by a linear congruence in integers: no generator, no rounding that could differ."""
    places = torch.arange(count, dtype=torch.int64)
    return ((places * 1_103_515_245 + 12_345) % 65_536).to(torch.float32) / 32_768 - 1


@lru_cache(maxsize=1)
def _blas() -> tuple[str, str | None]:
    """The library of matrix products, and its code path in its own words."""
    configuration = torch.__config__.show()
    found = re.search(r"Math Kernel Library Version (\S+?)-", configuration)
    if found is None:
        named = re.search(r"BLAS_INFO=(\w+)", configuration)
        return (named[1] if named else "unknown"), None
    said = _said_by_mkl()
    path = re.search(r"for Intel\(R\) 64 architecture (.*?) processors", said)
    branch = os.environ.get("MKL_CBWR")
    return f"oneMKL {found[1]}", None if path is None else path[1] + (f", MKL_CBWR={branch}" if branch else "")


def _said_by_mkl() -> str:
    """What MKL prints of itself where its verbose mode is on, during one small product; empty if it has none.

    It writes to the process's standard output, which is a file meanwhile.
    """
    libraries = sorted((Path(torch.__file__).parent / "lib").glob("libtorch_cpu.*"))
    try:
        verbose = ctypes.CDLL(str(libraries[0])).MKL_Verbose
    except (IndexError, OSError, AttributeError):
        return ""
    sys.stdout.flush()
    kept = os.dup(1)
    with tempfile.TemporaryFile() as file:
        try:
            os.dup2(file.fileno(), 1)
            verbose(1)
            _ = torch.ones(8, 8) @ torch.ones(8, 8)
            verbose(0)
            ctypes.CDLL(None).fflush(None)
        finally:
            os.dup2(kept, 1)
            os.close(kept)
        file.seek(0)
        return file.read().decode(errors="replace")
