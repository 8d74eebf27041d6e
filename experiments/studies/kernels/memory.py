"""How much memory does a call of the fused kernel need besides its arguments? Peak extra bytes over the residual's 4d.

On a GPU the allocator says so. On the CPU the kernel of the operating system does: a fresh process draws its vectors in
place, resets the peak of its resident set, calls, and reads the peak. The buffers that the call returns are not extra.

`python -m sparsync.experiments.studies.kernels.memory --dimension D --threads N` prints one JSON list.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any, Literal

import torch

from sparsync.experiments.studies.kernels.checks import WARM_UP_COUNT
from sparsync.experiments.studies.kernels.contenders import our_contender
from sparsync.experiments.studies.kernels.laws import Case, drawn_case
from sparsync.kernels.native import Rule
from sparsync.kernels.payload import SparsePayload

_DENSITIES = (0.001, 0.01)
_RULES: tuple[Rule, ...] = ("gaussian_k", "top_k")
_DEADLINE_SECONDS = 300
_SMALL_DIMENSION = 20_000
_STATUS, _CLEAR_REFERENCES = Path("/proc/self/status"), Path("/proc/self/clear_refs")
_RESET_PEAK = "5"
# Blocks above this size are returned to the system when freed, so that none is reused unseen.
_ALLOCATOR = {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}


def memory_rows(dimension: int, device: torch.device, *, thread_count: int) -> list[dict[str, Any]]:
    """Peak extra bytes of cold and warm calls on a Gaussian vector; on the CPU measured in a fresh process.

    Raises:
        RuntimeError: the process failed.
    """
    if device.type == "cuda":
        return _measured(dimension, device, _extra_bytes_on_gpu)
    command = ["--dimension", str(dimension), "--threads", str(thread_count)]
    finished = subprocess.run(
        [sys.executable, "-m", "sparsync.experiments.studies.kernels.memory", *command],
        capture_output=True,
        text=True,
        check=False,
        timeout=_DEADLINE_SECONDS,
        env={**os.environ, **_ALLOCATOR},
    )
    if finished.returncode:
        raise RuntimeError(f"measuring memory ended with status {finished.returncode}:\n{finished.stderr}")
    rows: list[dict[str, Any]] = json.loads(finished.stdout)
    return rows


def _measured(
    dimension: int, device: torch.device, extra_bytes: Callable[[Callable[[], object]], int]
) -> list[dict[str, Any]]:
    rows = []
    for density in _DENSITIES:
        case, small = (drawn_case("gaussian", size, density, device=device) for size in (dimension, _SMALL_DIMENSION))
        for rule, warm in product(_RULES, (False, True)):
            # Threads, libraries and whatever else is loaded once.
            _last_call(small, rule, warm=warm)()
            count = extra_bytes(_last_call(case, rule, warm=warm))
            name = f"{rule}, {'warm' if warm else 'cold'}"
            shared = {"contender": name, "dimension": dimension, "density": density}
            rows.append({**shared, "extra_bytes": count, "residual_share": count / (4 * dimension)})
    return rows


def _last_call(case: Case, rule: Rule, *, warm: bool) -> Callable[[], object]:
    """A call that is ready to be made: a warm one has been made before, on other gradients."""
    contender = our_contender(case, rule, warm=warm)
    residual = torch.empty_like(case.step(0)[0][0])
    for index in range(WARM_UP_COUNT if warm else 0):
        residual.copy_(case.step(index)[0][0])
        contender.call(case.step(index)[1], [residual])
    residual.copy_(case.step(WARM_UP_COUNT)[0][0])
    return lambda: contender.call(case.step(WARM_UP_COUNT)[1], [residual])


def _extra_bytes(call: Callable[[], object]) -> int:
    """Peak of the process's resident set during a call, less the resident set before it and what the call returns."""
    before = _status_bytes("VmRSS")
    _CLEAR_REFERENCES.write_text(_RESET_PEAK)
    kept = call()
    peak = _status_bytes("VmHWM")
    return max(0, peak - before - _returned_bytes(kept))


def _extra_bytes_on_gpu(call: Callable[[], object]) -> int:
    torch.cuda.synchronize()
    before = requested_bytes("current")
    torch.cuda.reset_peak_memory_stats()
    kept = call()
    torch.cuda.synchronize()
    return requested_bytes("peak") - before - _returned_bytes(kept)


def requested_bytes(when: Literal["current", "peak"]) -> int:
    """Bytes of the tensors on the GPU, not of the larger blocks that torch's allocator may take for them."""
    return int(torch.cuda.memory_stats()[f"requested_bytes.all.{when}"])


def _returned_bytes(result: object) -> int:
    """Bytes of the values and indices of payloads, places that hold none included."""
    payloads = [item for item in result if isinstance(item, SparsePayload)] if isinstance(result, list) else []
    buffers = [buffer for payload in payloads for buffer in payload.padded()[:2]]
    return sum(buffer.numel() * buffer.element_size() for buffer in buffers)


def _status_bytes(name: str) -> int:
    lines = (line.split() for line in _STATUS.read_text(encoding="ascii").splitlines())
    return next(int(words[1]) * 1024 for words in lines if words[0] == f"{name}:")


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m sparsync.experiments.studies.kernels.memory",
        description="Measure the memory that the fused kernel needs on the CPU.",
    )
    parser.add_argument("--dimension", type=int, required=True)
    parser.add_argument("--threads", type=int, required=True)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    sys.stdout.write(json.dumps(_measured(options.dimension, torch.device("cpu"), _extra_bytes)))


if __name__ == "__main__":
    main()
