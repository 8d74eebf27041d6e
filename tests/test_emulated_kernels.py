"""The CUDA kernels, executed on the host: every bit is the oracle's, however blocks and threads are scheduled.

Deliberate faults in copies of the sources show that these tests can fail.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
from torch import Tensor

from sparsync.kernels.feedback_reference import RULES, feedback_select_
from tests.feedback_cases import (
    COMPILE,
    ENTRY,
    ROOT,
    SANITISE,
    SOURCES,
    Case,
    Emulated,
    all_cases,
    compile_emulated,
    make_case,
    normal,
    outcome,
    same,
)
from tests.native_backends import emulated_backend

CASES = all_cases()
RANKED = RULES[:2]
PASSES = 3
KERNEL_COUNT = 18

# Name → file, text that is there exactly once, its replacement.
MISSING_BARRIERS = {
    "candidates": ("cuda_lists.cuh", "  __syncthreads();\n  const Places places", "  const Places places"),
    "look-back": ("cuda_emit.cuh", "  __syncthreads();\n  return scratch.before;", "  return scratch.before;"),
}
MISSING_CHECKS = {
    "arena": ("cuda_lists.cuh", "if (place < capacity) section[place]", "section[place]"),
    "outputs": ("cuda_emit.cuh", "    if (place >= capacity) return;\n", ""),
}


def faulty_sources(folder: Path, faults: Iterable[tuple[str, str, str]]) -> Path:
    """A copy of the sources with some replacements."""
    shutil.copytree(SOURCES, folder)
    for name, text, replacement in faults:
        content = (folder / name).read_text()
        assert content.count(text) == 1, f"{name} does not hold {text!r} once"
        (folder / name).write_text(content.replace(text, replacement))
    return folder


@pytest.fixture(scope="session")
def builds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Future[Path]]]:
    """All libraries that the tests need, compiled side by side; what is needed first is compiled first."""
    if shutil.which("g++") is None:
        pytest.skip("g++ is not installed")
    folder = tmp_path_factory.mktemp("feedback")
    with ThreadPoolExecutor(2) as pool:
        jobs = {
            "plain": pool.submit(compile_emulated, folder / "plain.so"),
            "sanitised": pool.submit(compile_emulated, folder / "sanitised.so", flags=SANITISE),
        }
        for name, fault in MISSING_BARRIERS.items():
            sources = faulty_sources(folder / f"{name} sources", [fault])
            jobs[name] = pool.submit(compile_emulated, folder / f"{name}.so", flags=["-O1"], sources=sources)
        sources = faulty_sources(folder / "unchecked sources", MISSING_CHECKS.values())
        jobs["unchecked"] = pool.submit(compile_emulated, folder / "unchecked.so", flags=SANITISE, sources=sources)
        yield jobs


@pytest.fixture
def emulated(builds: dict[str, Future[Path]]) -> Emulated:
    return Emulated(builds["plain"].result())


@functools.cache
def expected(name: str) -> list[Tensor]:
    return outcome(feedback_select_, CASES[name])


@pytest.mark.parametrize("name", CASES)
def test_the_kernels_return_and_keep_what_the_oracle_does(emulated: Emulated, name: str) -> None:
    for ours, theirs in zip(outcome(emulated.select, CASES[name]), expected(name), strict=True):
        assert torch.equal(ours, theirs), f"{ours} instead of {theirs}"


@pytest.mark.parametrize(("seed", "threads", "blocks"), [(2, 1, 1), (3, 3, 5), (4, 4, 40)])
def test_the_schedule_changes_no_bit(emulated: Emulated, seed: int, threads: int, blocks: int) -> None:
    emulated.set(seed=seed, threads=threads, blocks=blocks)
    wrong = [name for name, case in CASES.items() if not same(outcome(emulated.select, case), expected(name))]
    assert wrong == []


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("density", [0.001, 0.01, 0.1])
def test_a_sequence_of_warm_calls_equals_cold_ones(emulated: Emulated, rule: str, density: float) -> None:
    residual = normal(70_000, 1)
    memory = torch.zeros(1, 2, dtype=torch.int32)
    for step in range(5):
        case = make_case(normal(70_000, 40 + step), residual, rule, density=density)
        reference = outcome(feedback_select_, case)
        values, indices, report = emulated.select(
            case.gradients, [residual], case.counts, case.rule, case.parameters, case.capacities, memory
        )
        ours = [values.view(torch.int32), indices, report[:, :3], residual.view(torch.int32)]
        assert same(ours, reference)


def pass_count(emulated: Emulated, case: Case, memory: Tensor) -> int:
    residuals = [residual.clone() for residual in case.residuals]
    report = emulated.select(
        case.gradients, residuals, case.counts, case.rule, case.parameters, case.capacities, memory
    )[2]
    (count,) = set(report[:, PASSES].tolist())
    return int(count)


@pytest.mark.parametrize("rule", RANKED)
@pytest.mark.parametrize("density", [0.001, 0.01])
def test_a_warm_call_is_decided_while_adding(emulated: Emulated, rule: str, density: float) -> None:
    memory = torch.zeros(1, 2, dtype=torch.int32)
    cases = [make_case(normal(70_000, step), torch.zeros(70_000), rule, density=density) for step in range(5)]
    first, *rest = [pass_count(emulated, case, memory) for case in cases]
    assert first in (2, 3)
    assert rest == [1] * 4


@pytest.mark.parametrize(
    ("name", "passes"),
    [
        ("top_k: normal, d = 70001", 3),  # the last digit's pass lists what is emitted
        ("top_k: zeros", 2),  # the zeros to return are in no list
        ("top_k: k = d / 2", 4),  # no list is worth its memory
        ("gaussian_k: normal, d = 70001", 2),  # one digit separates the two ranks
        ("gaussian_k: constant", 4),  # all tie, which no list holds
        ("top_k: memory 1", 4),  # the list overflows, the vector decides
        ("gaussian_k: sparse, memory 1", 1),  # it holds all non-zeros
        ("top_k: memory 2139095039", 4),  # the list is too short
        ("gaussian_k: long, listed", 1),
        ("top_k: memory -1", 3),  # no bound
        ("threshold: normal, d = 70001", 2),
        ("gaussian_k_released: normal, d = 70001", 3),
    ],
)
def test_passes_are_counted(emulated: Emulated, name: str, passes: int) -> None:
    assert pass_count(emulated, CASES[name], CASES[name].memory.clone()) == passes


@pytest.mark.parametrize("rule", RANKED)
@pytest.mark.parametrize("dimension", [10**6, 2**24, 10**9, 2**31 - 1])
def test_one_large_group_takes_at_most_a_twentieth_of_its_residual(
    emulated: Emulated, rule: str, dimension: int
) -> None:
    most = emulated.workspace_bytes(dimension, dimension // 100, RULES.index(rule))
    assert most <= 4 * dimension / 20
    assert most > 8 * dimension / 100


def test_the_registered_op_is_the_same_code() -> None:
    name = "gaussian_k: every tensor"
    assert same(outcome(emulated_backend().operator, CASES[name]), expected(name))


@pytest.mark.parametrize("name", MISSING_BARRIERS)
def test_a_missing_barrier_is_seen(builds: dict[str, Future[Path]], emulated: Emulated, name: str) -> None:
    faulty = Emulated(builds[name].result())
    # A list that is wrong in its length is refused and the vector decides: the passes tell.
    right = results_and_passes(emulated, seed=1)
    assert any(results_and_passes(faulty, seed) != right for seed in range(5))


def results_and_passes(emulated: Emulated, seed: int) -> tuple[list[list[int]], int] | str:
    case = CASES["top_k: few listed"]
    emulated.set(seed=seed, threads=2, blocks=3)
    try:
        results = [tensor.tolist() for tensor in outcome(emulated.select, case)]
        return results, pass_count(emulated, case, case.memory.clone())
    except RuntimeError as error:
        return str(error)


def check_sanitised(library: Path, code: str) -> subprocess.CompletedProcess[str]:
    """Run `code`, with `emulated` and all cases at hand, in a process of its own that can hold ASan."""
    runtime = subprocess.run(["g++", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True)
    prologue = (
        f"from tests.feedback_cases import *\nfrom pathlib import Path\nemulated = Emulated(Path({str(library)!r}))\n"
    )
    paths = [str(ROOT), *(path for path in sys.path if path)]
    environment = os.environ | {
        "LD_PRELOAD": runtime.stdout.strip(),
        "ASAN_OPTIONS": "detect_leaks=0",
        "PYTHONPATH": os.pathsep.join(paths),
    }
    return subprocess.run([sys.executable, "-c", prologue + code], env=environment, capture_output=True, text=True)


def test_all_cases_pass_the_sanitisers(builds: dict[str, Future[Path]]) -> None:
    code = "print([name for name, case in all_cases().items() if not is_right(emulated, case)])"
    done = check_sanitised(builds["sanitised"].result(), code)
    assert (done.stdout.strip(), done.returncode) == ("[]", 0), done.stderr


@pytest.mark.parametrize("case", ["top_k: memory 1", "threshold: capacity 50"])  # the arena's and the outputs' end
def test_a_missing_bounds_check_is_reported(builds: dict[str, Future[Path]], case: str) -> None:
    done = check_sanitised(builds["unchecked"].result(), f"is_right(emulated, all_cases()[{case!r}])")
    assert done.returncode != 0
    assert "ERROR: AddressSanitizer: heap-" in done.stderr


@pytest.fixture(scope="session")
def device_build(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """What ptxas says of every kernel and architecture, and the folder with the PTX."""
    if shutil.which("nvcc") is None:
        pytest.skip("nvcc is not installed")
    folder = tmp_path_factory.mktemp("device")
    targets = [f"-gencode=arch=compute_{level},code=[sm_{level},compute_{level}]" for level in (80, 90, 100)]
    command = ["nvcc", "-std=c++20", "-O3", "--fmad=false", "-fatbin", "-Xptxas", "-v", "--threads", "2", "--keep"]
    command += ["--keep-dir", str(folder), *targets, f"-I{SOURCES}", str(ENTRY), "-o", str(folder / "kernels.fatbin")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stderr, folder


def test_no_kernel_spills_or_needs_a_stack(device_build: tuple[str, Path]) -> None:
    text, _ = device_build
    rows = re.findall(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", text)
    assert len(rows) == 3 * KERNEL_COUNT
    assert [row for row in rows if row != ("0", "0", "0")] == []


def test_the_first_pass_reads_and_writes_sixteen_bytes_at_once(device_build: tuple[str, Path]) -> None:
    _, folder = device_build
    (ptx,) = folder.glob("*compute_90.ptx")
    kernels = [part for part in ptx.read_text().split(".entry ")[1:] if "accumulate" in part.split("(")[0]]
    assert len(kernels) == 6
    for kernel in kernels:
        assert len(re.findall(r"ld\.global(\.\w+)*\.v4\.(f32|b32|u32)", kernel)) >= 4
        assert len(re.findall(r"st\.global(\.\w+)*\.v4\.(f32|b32|u32)", kernel)) >= 4


def test_the_sources_compile_without_a_warning(tmp_path: Path) -> None:
    command = [*COMPILE, "-O0", "-fsyntax-only", "-Wall", "-Wextra", "-Wno-unknown-pragmas", "-Werror"]
    done = subprocess.run([*command, f"-I{SOURCES}", str(ENTRY)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
