"""What can serve `feedback_select` on this machine, by name; one that is not there skips the test that asks for it.

The definition in PyTorch, the native op on the CPU, the CUDA sources compiled for the CPU, and CUDA itself.
"""

from __future__ import annotations

import functools
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import torch

from sparsync.kernels import feedback_reference, native_build
from tests.support.emulated_build import build_emulated


@dataclass(frozen=True)
class Backend:
    """An op and where its tensors live."""

    name: str
    operator: Any
    device: str


def reference_backend() -> Backend:
    return Backend("reference", feedback_reference.feedback_select_, "cpu")


def native_backend() -> Backend:
    if shutil.which("g++") is None:
        pytest.skip("no g++")
    assert "cpu" in native_build.library().devices, native_build.library().backend()
    return Backend("native", torch.ops.sparsync.feedback_select_.default, "cpu")


@functools.cache
def emulated_backend() -> Backend:
    if shutil.which("g++") is None:
        pytest.skip("no g++")
    native_build.load(build_emulated(), "sparsync_emulated")
    return Backend("emulated", torch.ops.sparsync_emulated.feedback_select_.default, "cpu")


def cuda_backend() -> Backend:
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    assert "cuda" in native_build.library().devices, native_build.library().backend()
    return Backend("cuda", torch.ops.sparsync.feedback_select_.default, "cuda")


BACKENDS: dict[str, Callable[[], Backend]] = {
    "reference": reference_backend,
    "native": native_backend,
    "emulated": emulated_backend,
    "cuda": cuda_backend,
}
