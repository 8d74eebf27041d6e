"""What nvcc makes of the CUDA kernels for every architecture: nothing spills, accesses are wide, no needless fence."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.feedback_cases import ENTRY, SOURCES
from tests.support.shared_builds import once, shared_folder

KERNEL_COUNT = 18


@pytest.fixture(scope="session")
def device_build(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """What ptxas says of every kernel and architecture, and the folder with the PTX."""
    if shutil.which("nvcc") is None:
        pytest.skip("nvcc is not installed")

    def make(folder: Path) -> None:
        folder.mkdir()
        targets = [f"-gencode=arch=compute_{level},code=[sm_{level},compute_{level}]" for level in (80, 90, 100)]
        command = ["nvcc", "-std=c++20", "-O3", "--fmad=false", "-fatbin", "-Xptxas", "-v", "--threads", "2", "--keep"]
        command += [
            "--keep-dir",
            str(folder),
            *targets,
            f"-I{SOURCES}",
            str(ENTRY),
            "-o",
            str(folder / "kernels.fatbin"),
        ]
        done = subprocess.run([*command, "-o", str(folder / "kernels.fatbin")], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        (folder / "ptxas.txt").write_text(done.stderr)

    folder = once(shared_folder(tmp_path_factory, "feedback") / "device", make)
    return (folder / "ptxas.txt").read_text(), folder


def test_no_kernel_spills_or_needs_a_stack(device_build: tuple[str, Path]) -> None:
    text, _ = device_build
    rows = re.findall(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", text)
    assert len(rows) == 3 * KERNEL_COUNT
    assert [row for row in rows if row != ("0", "0", "0")] == []


def device_code(folder: Path, name: str) -> list[str]:
    """The PTX of each kernel whose mangled name holds `name`."""
    (ptx,) = folder.glob("*compute_90.ptx")
    return [part for part in ptx.read_text().split(".entry ")[1:] if name in part.split("(")[0]]


def test_the_first_pass_reads_and_writes_sixteen_bytes_at_once(device_build: tuple[str, Path]) -> None:
    kernels = device_code(device_build[1], "accumulate")
    assert len(kernels) == 6
    for kernel in kernels:
        assert len(re.findall(r"ld\.global(\.\w+)*\.v4\.(f32|b32|u32)", kernel)) >= 4
        assert len(re.findall(r"st\.global(\.\w+)*\.v4\.(f32|b32|u32)", kernel)) >= 4


def test_emission_waits_for_no_fence(device_build: tuple[str, Path]) -> None:
    """Of two looks back, one for lists and one for vectors."""
    (kernel,) = device_code(device_build[1], "4emit")
    assert kernel.count("ld.relaxed.gpu.u64") == 2
    assert kernel.count("st.relaxed.gpu.u64") == 4
    assert re.findall(r"membar|fence|acquire|release", kernel) == []
