"""What nvcc makes of the CUDA kernels for every architecture: nothing spills, accesses are wide, no needless fence."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from tests.support.feedback_cases import ENTRY, SOURCES
from tests.support.shared_builds import once, shared_folder
from tests.support.slow_cases import slow_except

KERNEL_COUNT = 22


@dataclass(frozen=True)
class DeviceBuild:
    """The kernels compiled for one architecture.

    Args:
        said: what ptxas says of every kernel.
        ptx: of all of them.
    """

    said: str
    ptx: str


@pytest.fixture(scope="session")
def build_for(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], DeviceBuild]:
    """Of an architecture, such as 90 for sm_90."""
    if shutil.which("nvcc") is None:
        pytest.skip("nvcc is not installed")
    shared = shared_folder(tmp_path_factory, "feedback")

    def make(level: int, folder: Path) -> None:
        folder.mkdir()
        target = f"-gencode=arch=compute_{level},code=[sm_{level},compute_{level}]"
        command = ["nvcc", "-std=c++20", "-O3", "--fmad=false", "-fatbin", "-Xptxas", "-v", "--keep", "--keep-dir"]
        command += [str(folder), target, f"-I{SOURCES}", str(ENTRY), "-o", str(folder / "kernels.fatbin")]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        (folder / "ptxas.txt").write_text(done.stderr)

    def build(level: int) -> DeviceBuild:
        folder = once(shared / f"device {level}", partial(make, level))
        (ptx,) = folder.glob("*.ptx")
        return DeviceBuild((folder / "ptxas.txt").read_text(), ptx.read_text())

    return build


@pytest.mark.parametrize("level", slow_except((), [80, 90, 100]))
def test_no_kernel_spills_or_needs_a_stack(level: int, build_for: Callable[[int], DeviceBuild]) -> None:
    said = build_for(level).said
    rows = re.findall(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", said)
    assert len(rows) == KERNEL_COUNT
    assert [row for row in rows if row != ("0", "0", "0")] == []


def device_code(build: DeviceBuild, name: str) -> list[str]:
    """The PTX of each kernel whose mangled name holds `name`."""
    return [part for part in build.ptx.split(".entry ")[1:] if name in part.split("(")[0]]


def test_the_first_pass_reads_and_writes_sixteen_bytes_at_once(build_for: Callable[[int], DeviceBuild]) -> None:
    kernels = device_code(build_for(90), "accumulate")
    assert len(kernels) == 6
    for kernel in kernels:
        assert len(re.findall(r"ld\.global(\.\w+)*\.v4\.(f32|b32|u32)", kernel)) >= 4
        assert len(re.findall(r"st\.global(\.\w+)*\.v4\.(f32|b32|u32)", kernel)) >= 4


def test_emission_waits_for_no_fence(build_for: Callable[[int], DeviceBuild]) -> None:
    """Of two looks back, one for lists and one for vectors; each asks for four words at once, and for each again."""
    (kernel,) = device_code(build_for(90), "4emit")
    assert kernel.count("ld.relaxed.gpu.u64") == 2 * (4 + 4)
    assert kernel.count("st.relaxed.gpu.u64") == 4
    assert re.findall(r"membar|fence|acquire|release", kernel) == []
