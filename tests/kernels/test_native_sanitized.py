"""The address and undefined-behaviour sanitizers find nothing wrong with the CPU part of the native library."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.feedback_cases import Fault, faulty_sources
from tests.support.paths import ROOT

SANITISE = "-g1 -fsanitize=address,undefined -fno-sanitize-recover=all"
# In a process of its own, for the sanitizers must be loaded before anything else.
RUN = """
import sys
from pathlib import Path
from sparsync.kernels import native_build
native_build.SOURCE_FOLDER, native_build._cuda_compiler = Path(sys.argv[1]), lambda: None
import torch
torch.set_num_threads(2)
assert native_build.library().devices == ("cpu",), native_build.library().backend()
"""
# What it then does.
WORK = """
from tests.support.every_case import CASES
from tests.support.feedback_cases import outcome
for case in CASES.values():
    outcome(torch.ops.sparsync.feedback_select_.default, case)
print("all cases done")
"""
# Reads that change no result.
FAULTS: dict[str, Fault] = {
    "the end of a sampled line": (
        "cpu/call.cpp",
        "return Span{0, index, begin, std::min(kSampledLine, pieces[index].length - begin)};",
        "return Span{0, index, begin, kSampledLine};",
    ),
    "the end of a tile": ("cpu/emit.cpp", "offset < piece.length; ++offset", "offset <= piece.length; ++offset"),
}


def sanitised(sources: Path, cache: Path, *, work: str = WORK) -> subprocess.CompletedProcess[str]:
    """All cases, or other work, on a library of these sources."""
    libraries = [
        subprocess.run(["g++", f"-print-file-name=lib{name}.so"], capture_output=True, text=True, check=True).stdout
        for name in ("asan", "ubsan")
    ]
    environment = os.environ | {
        "CXX": f"g++ {SANITISE}",
        "LD_PRELOAD": " ".join(library.strip() for library in libraries),
        "ASAN_OPTIONS": "detect_leaks=0",  # Python keeps much for its end
        "SPARSYNC_CACHE": str(cache),
        "SPARSYNC_BACKEND": "",
    }
    command = [sys.executable, "-c", RUN + work, str(sources)]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=240)


def require_sanitisers() -> None:
    if shutil.which("g++") is None:
        pytest.skip("no g++")
    found = subprocess.run(["g++", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True).stdout
    if not Path(found.strip()).is_absolute():
        pytest.skip("g++ comes without its sanitizers")


@pytest.mark.slow
def test_all_cases_stay_within_their_memory(tmp_path: Path) -> None:
    require_sanitisers()
    finished = sanitised(ROOT / "kernels" / "csrc", tmp_path)
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout == "all cases done\n"


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_a_read_beyond_a_vector_is_seen(fault: str, tmp_path: Path) -> None:
    require_sanitisers()
    sources = faulty_sources(tmp_path / "csrc", [FAULTS[fault]])
    finished = sanitised(sources, tmp_path / "cache")
    assert finished.returncode != 0
    assert re.search("heap-buffer-overflow|load of null pointer", finished.stderr), finished.stderr
