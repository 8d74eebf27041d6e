"""Where CUB's DeviceTopK cannot be had, the study says why, in the compiler's words."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
import torch

from sparsync.experiments.studies.kernels import cub
from sparsync.experiments.studies.kernels.laws import drawn_case

SAID = {  # by a compiler, and what of it is told
    "an #error": ("largest.cu:1:2: error: #error nothing here\n  1 | #error nothing here", "nothing here"),
    "the first of two": ("note: an error may follow\nlargest.cu(3): error: no such: x\n4: error: more", "no such: x"),
    "no error by that name": ("nvcc fatal   : no such architecture\n", "nvcc fatal   : no such architecture"),
    "very much": ("x" * 9000, "x" * 500),
}


@pytest.fixture(autouse=True)
def not_compiled_before() -> Iterator[None]:
    cub._library.cache_clear()
    yield
    cub._library.cache_clear()


@pytest.mark.parametrize("name", SAID)
def test_what_the_compiler_says_first_is_why(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said, told = SAID[name]
    compiler = tmp_path / "nvcc"
    compiler.write_text(f"#!/bin/sh\n/bin/echo {shlex.quote(said)} >&2\nexit 3\n", encoding="utf-8")
    compiler.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert cub.absence() == {cub.NAME: f"nvcc ended with status 3: {told}"}
    assert cub.contenders(drawn_case("gaussian", 1000, 0.01, device=torch.device("cpu"))) == []


def test_without_a_compiler_that_is_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CUDA_HOME", raising=False)
    assert cub.absence() == {cub.NAME: "no nvcc was found"}


def test_a_compiler_that_takes_too_long_is_why_and_ends_with_all_it_began(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As nvcc does, this one begins others."""
    compiler = tmp_path / "nvcc"
    compiler.write_text("#!/bin/sh\n/bin/sleep 987 &\n/bin/sleep 987\n", encoding="utf-8")
    compiler.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(cub, "_COMPILER_DEADLINE_SECONDS", 0.1)
    assert cub.absence() == {cub.NAME: "nvcc was not done after 0.1 seconds"}
    begun = [process for process in psutil.process_iter(["cmdline"]) if "987" in (process.info["cmdline"] or [])]
    _, alive = psutil.wait_procs(begun, timeout=20)  # what was killed may take a moment to be gone
    assert alive == []
