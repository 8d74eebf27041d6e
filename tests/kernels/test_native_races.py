"""No two threads of the CPU kernel touch one place at a time: ThreadSanitizer watches every access of whole calls.

The sources are compiled without torch, for its OpenMP hides from the sanitizer when threads begin and end.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from sparsync.kernels import feedback_reference
from tests.support.feedback_cases import SOURCES, Case, Fault, faulty_sources
from tests.support.shared_builds import once, shared_folder
from tests.support.thread_cases import WORK, thread_case

HERE = Path(__file__).parent
COMPILE = [
    "g++",
    "-std=c++20",
    "-O1",
    "-g1",
    "-fsanitize=thread",
    "-ffp-contract=off",
    "-fno-strict-aliasing",
    "-pthread",
]
THREADS = 3
# What keeps threads apart, where it is needed, and a call in which they would meet.
FAULTS: dict[str, tuple[Fault, str]] = {
    "the lock on what threads count of a long list": (
        ("cpu/call.cpp", "const std::lock_guard<std::mutex> lock(guard);\n      join", "join"),
        "a long list",
    ),
    "the lock on the tables of a histogram": (
        ("cpu/call.cpp", "const std::lock_guard<std::mutex> lock(guard);\n      tables", "tables"),
        "counted",
    ),
    "the next of the work that is left": (
        ("cpu/call.h", "std::atomic<int64_t> next_{0}", "int64_t next_{0}"),
        "a threshold",
    ),
    "the size of the sample": (
        ("cpu/call.cpp", "std::atomic<int64_t> total{0}", "int64_t total{0}"),
        "sampled by all threads",
    ),
    "the counts of the released rule": (
        ("cpu/select.cpp", "std::array<std::atomic<int64_t>, kLadderSize>", "std::array<int64_t, kLadderSize>"),
        "moments",
    ),
    "whether anything is listed again": (
        ("cpu/select.cpp", "std::atomic<bool> any{false}", "bool any = false"),
        "many tensors",
    ),
}


def compiled(folder: Path, sources: Path = SOURCES) -> Path:
    """The program tests/kernels/native_races.cpp with these sources."""
    if shutil.which("g++") is None:
        pytest.skip("no g++")
    header = folder / "torch" / "csrc" / "stable" / "ops.h"
    header.parent.mkdir(parents=True)
    shutil.copy(HERE / "plain_threads.h", header)
    program = folder / "native_races"
    files = [*map(str, sorted(sources.glob("cpu/*.cpp"))), str(HERE / "native_races.cpp")]
    command = [*COMPILE, f"-I{sources}", f"-I{folder}", *files, "-o", str(program)]
    subprocess.run(command, check=True, capture_output=True, timeout=240)
    idle = subprocess.run([program], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=60)
    if "FATAL: ThreadSanitizer" in idle.stderr:
        pytest.skip(f"ThreadSanitizer does not run here: {idle.stderr}")
    assert idle.returncode == 2, "the program asks for input"
    return program


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return once(shared_folder(tmp_path_factory, "races") / "threads", compiled) / "native_races"


def run(program: Path, case: Case) -> subprocess.CompletedProcess[bytes]:
    header = [THREADS, case.rule, len(case.residuals), len(case.counts)]
    parts = [
        np.array([*header, *map(len, case.residuals), *case.counts, *case.capacities], dtype=np.int64),
        np.array(case.parameters, dtype=np.float64),
        case.memory.numpy(),
        *(vector.numpy() for pair in zip(case.gradients, case.residuals, strict=True) for vector in pair),
    ]
    given = b"".join(part.tobytes() for part in parts)
    return subprocess.run([program], input=given, capture_output=True, check=False, timeout=120)


def as_integers(written: bytes, case: Case) -> list[Tensor]:
    """Residuals, values, indices and report without passes, as the program wrote them."""
    lengths = [len(residual) for residual in case.residuals]
    sizes = [*lengths, sum(case.capacities), sum(case.capacities), 4 * len(case.counts), 2 * len(case.counts)]
    *parts, report, _ = torch.frombuffer(bytearray(written), dtype=torch.int32).split(sizes)
    return [*parts, report.view(-1, 4)[:, :3]]


@pytest.mark.slow
@pytest.mark.parametrize("name", WORK)
def test_no_two_threads_meet_and_the_outcome_is_as_defined(program: Path, name: str) -> None:
    done = run(program, thread_case(name))
    assert done.returncode == 0, done.stderr.decode()[:4000]
    case = thread_case(name)
    values, indices, report = feedback_reference.feedback_select_(
        case.gradients, case.residuals, case.counts, case.rule, case.parameters, case.capacities, case.memory
    )
    expected = [*case.residuals, values, indices, report[:, :3]]
    found = as_integers(done.stdout, case)
    assert all(torch.equal(one.view(torch.int32), two) for one, two in zip(expected, found, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("name", FAULTS)
def test_threads_that_are_not_kept_apart_are_seen(name: str, tmp_path: Path) -> None:
    fault, work = FAULTS[name]
    program = compiled(tmp_path, faulty_sources(tmp_path / "csrc", [fault]))
    # Where threads take work from a queue, one that starts late may find none: on a busy machine it may take two calls.
    errors = (run(program, thread_case(work)).stderr for _ in range(10))
    assert any(b"WARNING: ThreadSanitizer: data race" in error for error in errors)
