"""The host emulation of CUDA: its collectives mean what CUDA's do, and it reports what a GPU would answer with garbage.

The toys in tests/support/emulated_kernels are compiled by g++ as the kernels are, and called through ctypes.
"""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from ctypes import c_double, c_int, c_uint64
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.emulated_build import EMULATION_FLAGS
from tests.support.paths import ROOT
from tests.support.shared_builds import once, shared_folder

TOYS = ROOT / "tests" / "support" / "emulated_kernels"
SOURCES = ROOT / "kernels" / "csrc"
NAMES = ["collectives", "blocks", "barriers", "waiting", "faults"]
ALL_TOYS = "".join((TOYS / f"{name}.cu").read_text() for name in NAMES)
COMPILER = ["g++", "-x", "c++", "-Wall", "-Wextra", "-Werror", *EMULATION_FLAGS, "-ffp-contract=off"]
CONTROLS: dict[str, Any] = {"seed": c_uint64, "threads": c_int, "blocks": c_int, "timeout_seconds": c_double}
LAUNCHED = r"launched at \S+\.cu:\d+"
SEEDS = range(12)
GENERATOR = np.random.default_rng(20)

Expected = Callable[[np.ndarray], np.ndarray]


class Toy:
    """A compiled toy: `call` raises RuntimeError with the text of what the launch threw."""

    def __init__(self, path: Path) -> None:
        self.library = ctypes.CDLL(str(path))
        self.set(seed=1, threads=3, blocks=8, timeout_seconds=20.0)

    def set(self, **controls: float) -> None:
        for name, value in controls.items():
            getattr(self.library, f"sparsync_emulation_{name}")(CONTROLS[name](value))

    def call(self, name: str, *arguments: np.ndarray | int) -> None:
        message = ctypes.create_string_buffer(1024)
        converted = [
            ctypes.c_int64(value) if isinstance(value, int) else value.ctypes.data_as(ctypes.c_void_p)
            for value in arguments
        ]
        if getattr(self.library, name)(*converted, message) != 0:
            raise RuntimeError(message.value.decode())


def source(name: str) -> str:
    return (TOYS / f"{name}.cu").read_text()


def without(text: str, part: str, replacement: str = "") -> str:
    assert text.count(part) == 1
    return text.replace(part, replacement)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of what is compiled, one for all workers of pytest-xdist."""
    if shutil.which("g++") is None:
        pytest.skip("g++ is not installed")
    return shared_folder(tmp_path_factory, "emulation")


def compile_once(folder: Path, name: str, text: str, compiler: list[str], flags: list[str]) -> Path:
    """The compiled text; the first process that asks compiles, others wait for it."""

    def make(unfinished: Path) -> None:
        code = folder / f"{name}.cu"
        code.write_text(text)
        command = [*compiler, "-std=c++20", f"-I{SOURCES}", f"-I{TOYS}", *flags, str(code), "-o", str(unfinished)]
        result = subprocess.run(command, capture_output=True, text=True)
        assert result.returncode == 0, result.stderr

    return once(folder / name, make)


def library(folder: Path, name: str, text: str) -> Toy:
    return Toy(compile_once(folder, name, text, COMPILER, ["-O1", "-shared", "-fPIC"]))


@pytest.fixture(scope="session")
def toys(folder: Path) -> Toy:
    return library(folder, "toys", ALL_TOYS)


@pytest.fixture
def toy(toys: Toy) -> Toy:
    toys.set(seed=1, threads=3, blocks=8, timeout_seconds=20.0)
    return toys


# Collectives, bit functions, atomics.


def shuffled(values: np.ndarray, argument: int) -> np.ndarray:
    """The CUDA programming guide's four shuffles, warp by warp."""
    warps = values.reshape(-1, 32)
    lane = np.arange(32)
    up = np.where(lane >= argument, lane - argument, lane)
    down = np.where(lane + argument < 32, lane + argument, lane)
    sources = [np.full(32, argument % 32), lane ^ argument, up, down]
    return np.stack([warps[:, origin].reshape(-1) for origin in sources])


@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "uint64", "float32", "float64"])
def test_shuffles_agree_with_their_definition(toy: Toy, dtype: str) -> None:
    bits = GENERATOR.integers(0, 256, size=(192, np.dtype(dtype).itemsize), dtype=np.uint8)
    values = bits.view(dtype).reshape(-1)
    for argument in range(32):
        toy.set(seed=argument)
        rows = np.zeros((4, 192), dtype)
        toy.call(f"shuffle_{dtype}", values, rows, 3, 64, argument)
        assert rows.tobytes() == shuffled(values, argument).tobytes()


def test_the_source_lane_of_a_shuffle_counts_modulo_the_warp(toy: Toy) -> None:
    values, rows = np.arange(32, dtype=np.int32), np.zeros((4, 32), np.int32)
    toy.call("shuffle_int32", values, rows, 1, 32, -1)
    assert (rows[0] == 31).all()


@pytest.mark.parametrize("share", [0.0, 0.03, 0.5, 0.97, 1.0])
def test_votes_agree_with_their_definition(toy: Toy, share: float) -> None:
    predicates = (GENERATOR.random(256) < share).astype(np.int32) * 6
    rows = np.zeros((3, 256), np.uint32)
    toy.call("vote_all", predicates, rows, 2, 128)
    held = predicates.reshape(-1, 32) != 0
    ballots = (held * 2 ** np.arange(32)).sum(axis=1)
    assert (rows.reshape(3, -1, 32) == np.stack([ballots, held.any(axis=1), held.all(axis=1)])[:, :, None]).all()


def test_bit_functions_agree_with_their_definition(toy: Toy) -> None:
    values = np.array([0, 1, 2**31, 2**32 - 1, *(2**k + 2 ** (k // 2) for k in range(28))], np.uint32)
    rows = np.zeros((5, 32), np.int32)
    toy.call("bit_functions", values, rows)
    integers = [int(value) for value in values]
    assert rows[0].tolist() == [value.bit_count() for value in integers]
    assert rows[1].tolist() == [(value & -value).bit_length() for value in integers]
    assert rows[2].tolist() == [32 - value.bit_length() for value in integers]
    assert rows[3].tolist() == [(value << 20 | value).bit_count() for value in integers]
    assert rows[4].all()


@pytest.mark.parametrize("threads", [1, 4])
def test_atomics_lose_nothing_while_blocks_run_at_the_same_time(toy: Toy, threads: int) -> None:
    toy.set(threads=threads)
    sums, extremes, wide = np.zeros(4, np.int32), np.array([2**32 - 1, 0, 0], np.uint32), np.zeros(1, np.uint64)
    toy.call("count_all", sums, extremes, wide, 3000, 256)
    last = 3000 * 256 - 1
    assert sums.tolist() == [last + 1, -3000 * 32 * 28, -last, last]
    assert extremes.tolist() == [2**31, 2**31 + last, 2**32 - 1]
    assert wide.tolist() == [(last + 1) << 32]


# Blocks: barriers, shared memory, arguments.


def sums_are_right(toy: Toy, entry: str, expected: Expected, seed: int) -> bool:
    toy.set(seed=seed)
    values = GENERATOR.integers(-1000, 1000, (20, 256), dtype=np.int32)
    sums = np.zeros_like(expected(values), np.int32)
    toy.call(entry, values, sums, 20)
    return bool((sums == expected(values)).all())


# The purpose of a barrier in barriers.cu, the function that needs it, and what that computes.
ROW_SUMS: tuple[str, Expected] = ("call_sum_rows", lambda values: values.sum(axis=1))
ROW_SCANS: tuple[str, Expected] = ("call_scan_rows", lambda values: values.cumsum(axis=1))
BARRIERS = [
    ("the partial sums are written", *ROW_SUMS),
    ("the partial sums are read", *ROW_SUMS),
    ("the previous sums are written", *ROW_SCANS),
    ("the previous sums are read", *ROW_SCANS),
]


@pytest.fixture(scope="session")
def mutants(folder: Path) -> Toy:
    """Four copies of barriers.cu, each without one barrier, their names ending in its position in BARRIERS."""
    copies = [
        without(source("barriers"), f"__syncthreads();  // {purpose}").replace("_rows", f"_rows_{position}")
        for position, (purpose, _, _) in enumerate(BARRIERS)
    ]
    return library(folder, "mutants", "".join(copies))


@pytest.mark.parametrize(("entry", "expected"), [ROW_SUMS, ROW_SCANS])
def test_sums_and_scans_with_barriers_are_right_for_all_seeds(toy: Toy, entry: str, expected: Expected) -> None:
    assert all(sums_are_right(toy, entry, expected, seed) for seed in SEEDS)


@pytest.mark.parametrize("position", range(len(BARRIERS)), ids=[purpose for purpose, _, _ in BARRIERS])
def test_without_one_barrier_some_seed_gives_a_wrong_result(mutants: Toy, position: int) -> None:
    _, entry, expected = BARRIERS[position]
    assert not all(sums_are_right(mutants, f"{entry}_{position}", expected, seed) for seed in SEEDS)


@pytest.mark.parametrize("in_template", [0, 1])
def test_shared_memory_holds_garbage_when_a_block_starts(toy: Toy, in_template: int) -> None:
    found = np.zeros(640, np.uint32)
    toy.call("unwritten", found, in_template)
    assert (found == 0xCDCDCDCD).all()


def test_kernel_arguments_are_copied_for_every_thread(toy: Toy) -> None:
    sums = np.zeros(64, np.int32)
    toy.call("table_sum", sums)
    assert (sums == sum(range(500))).all()


@pytest.mark.parametrize("length", [1, 255, 4095, 4096, 4097, 100_000])
def test_results_are_independent_of_seed_threads_and_grid(toy: Toy, length: int) -> None:
    values, other = GENERATOR.standard_normal((2, length)).astype(np.float32)
    for seed, threads, resident in [(1, 1, 1), (2, 2, 3), (3, 4, 8), (4, 3, 100)]:
        toy.set(seed=seed, threads=threads, blocks=resident)
        target = values.copy()
        toy.call("add", target, other, length)
        assert target.tobytes() == (values + other).tobytes()


def test_what_is_recorded_is_done_by_each_replay_and_not_before(toy: Toy) -> None:
    target, other, sums = np.zeros(5000, np.float32), np.arange(5000, dtype=np.float32), np.zeros(64, np.int32)
    toy.library.sparsync_emulation_begin_recording()
    toy.call("add", target, other, 5000)
    toy.call("table_sum", sums)  # the table is gone when this returns
    toy.call("call_early_return", sums, 4, 64)
    toy.library.sparsync_emulation_end_recording()
    assert not target.any()
    assert not sums.any()
    for added in (0, 1):
        other += added
        with pytest.raises(RuntimeError, match=r"early_return.*divergent"):
            toy.call("sparsync_emulation_replay")
    assert (sums == sum(range(500))).all()
    assert (target == 2 * np.arange(5000) + 1).all()


# Blocks that wait for each other.


@pytest.mark.parametrize(("seed", "threads"), [(1, 1), (1, 3), (2, 4), (3, 2), (4, 3)])
def test_look_back_in_the_order_of_tickets_is_a_prefix_sum(toy: Toy, seed: int, threads: int) -> None:
    toy.set(seed=seed, threads=threads)
    values = GENERATOR.integers(0, 1000, 5003, dtype=np.uint32)
    sums, ticket, status = np.zeros_like(values), np.zeros(1, np.uint32), np.zeros(79, np.uint64)
    toy.call("look_back", values, sums, values.size, ticket, status)
    assert (sums == values.cumsum()).all()


def test_as_many_blocks_as_threads_are_resident_at_once(toy: Toy) -> None:
    toy.set(threads=4)
    toy.call("all_at_once", np.zeros(1, np.uint32), np.zeros(1, np.uint64), 4)
    toy.set(threads=4, timeout_seconds=0.3)
    with pytest.raises(RuntimeError, match=r"wait_for_all.*of 5.*deadlock.*32 threads \(first 0\) at pause"):
        toy.call("all_at_once", np.zeros(1, np.uint32), np.zeros(1, np.uint64), 5)


def test_a_thread_that_waits_for_another_of_its_block_lets_it_run(toy: Toy) -> None:
    for seed in SEEDS:
        toy.set(seed=seed)
        word = np.zeros(1, np.uint64)
        toy.call("call_wait_for_last_thread", word, 1)
        assert word.tolist() == [1]


@pytest.mark.parametrize("grid", [1, 30])
@pytest.mark.parametrize("kernel", ["wait_without_pause", "wait_by_votes", "wait_at_barriers"])
def test_waiting_for_what_never_comes_is_reported_in_time(toy: Toy, kernel: str, grid: int) -> None:
    toy.set(timeout_seconds=0.2)
    message = rf"{kernel}.*block \d+ of {grid}.*deadlock.*(pause|__any_sync) \(.*toys\.cu:\d+"
    with pytest.raises(RuntimeError, match=message):
        toy.call(f"call_{kernel}", np.zeros(1, np.uint64), grid)


def test_waiting_for_a_later_block_without_a_ticket_is_reported(toy: Toy) -> None:
    toy.set(timeout_seconds=0.2)
    with pytest.raises(RuntimeError, match=r"wait_for_next.*deadlock.*1 threads \(first 0\) at pause"):
        toy.call("call_wait_for_next", np.zeros(64, np.uint64), 64)


# Faults.


@pytest.mark.parametrize(
    ("kernel", "problem"),
    [
        ("skipped_barrier", "divergent __syncthreads, some threads returned"),
        ("early_return", "divergent __syncthreads, some threads returned"),
        ("two_barriers", "divergent __syncthreads, threads meet at different places"),
        ("barrier_against_vote", "deadlock, no thread can run.*at __any_sync"),
        ("two_shuffles", "divergent __shfl_sync, threads meet at different places"),
        ("shuffle_against_vote", "divergent __(shfl|any)_sync, threads meet at different places"),
        ("exited_lane", "divergent __shfl_sync, some threads returned"),
        ("partial_mask", "__shfl_sync with a mask that is not full"),
        ("thrown", "thread 5: thrown by a thread"),
    ],
)
def test_a_fault_in_any_block_is_reported_with_kernel_and_block(toy: Toy, kernel: str, problem: str) -> None:
    for seed in SEEDS:
        toy.set(seed=seed)
        with pytest.raises(
            RuntimeError, match=rf"kernel sparsync::{kernel}\(int\*\), {LAUNCHED}, block [0-3] of 4, .*{problem}"
        ):
            toy.call(f"call_{kernel}", np.zeros(64, np.int32), 4, 64)


def test_a_collective_in_an_incomplete_warp_is_reported(toy: Toy) -> None:
    toy.call("call_small_warp", np.zeros(64, np.int32), 1, 64)
    with pytest.raises(RuntimeError, match="__shfl_sync in a warp of 8"):
        toy.call("call_small_warp", np.zeros(40, np.int32), 1, 40)


@pytest.mark.parametrize(("grid", "block"), [(0, 32), (1, 0), (1, 1025)])
def test_a_launch_that_a_gpu_refuses_is_refused(toy: Toy, grid: int, block: int) -> None:
    with pytest.raises(RuntimeError, match=f"sparsync::small_warp.*: {grid} blocks of {block} threads"):
        toy.call("call_small_warp", np.zeros(64, np.int32), grid, block)


def test_after_a_fault_the_next_launch_is_right(toy: Toy) -> None:
    out = np.zeros(64, np.int32)
    with pytest.raises(RuntimeError, match="divergent"):
        toy.call("call_early_return", out, 4, 64)
    toy.call("call_small_warp", out, 4, 64)
    assert (out == 1).all()


@pytest.fixture(scope="session")
def sanitized(folder: Path) -> Path:
    """A program of the right copy, the copy without its bounds check, and the other faults, under both sanitizers."""
    text = source("faults")
    kernel = text[text.index("__global__ void copy_guarded") : text.index("__global__ void add_integers")]
    unguarded = (
        without(kernel, "if (entry < length) ").replace("copy_guarded", "copy_unguarded").replace("int length", "int")
    )
    program = f"{text}\nnamespace sparsync {{\n{unguarded}}}\n{source('sanitized')}"
    flags = ["-O1", "-g1", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"]
    return compile_once(folder, "sanitized", program, COMPILER, flags)


def run_sanitized(program: Path, fault: str, fake_stacks: int = 1) -> subprocess.CompletedProcess[str]:
    options = f"detect_stack_use_after_return={fake_stacks}:detect_leaks=0"
    environment = {**os.environ, "ASAN_OPTIONS": options}
    return subprocess.run([program, fault], capture_output=True, text=True, env=environment, timeout=60)


@pytest.mark.slow
@pytest.mark.parametrize("fake_stacks", [0, 1])
@pytest.mark.parametrize("fault", ["none", "divergence"])
def test_correct_kernels_and_reported_faults_pass_the_sanitizers(sanitized: Path, fault: str, fake_stacks: int) -> None:
    result = run_sanitized(sanitized, fault, fake_stacks)
    assert (result.returncode, result.stdout, result.stderr) == (0, "reached the end\n", "")


@pytest.mark.parametrize(
    ("fault", "report"),
    [
        ("bounds", "AddressSanitizer: heap-buffer-overflow"),
        ("overflow", "signed integer overflow"),
        ("shared", "index 32 out of bounds"),
        ("alignment", "misaligned address"),
    ],
)
def test_sanitizers_report_a_fault_inside_a_thread(sanitized: Path, fault: str, report: str) -> None:
    result = run_sanitized(sanitized, fault)
    assert result.returncode != 0
    assert re.search(report, result.stderr)


# The other switch between fibres, and the other compiler.


@pytest.mark.slow
def test_without_assembly_the_results_are_the_same(folder: Path) -> None:
    toy = library(folder, "ucontext", "#define SPARSYNC_EMULATE_UCONTEXT\n" + source("barriers"))
    assert all(sums_are_right(toy, *ROW_SUMS, seed) for seed in SEEDS)
    assert all(sums_are_right(toy, *ROW_SCANS, seed) for seed in SEEDS)


def test_nvcc_compiles_the_same_text(folder: Path) -> None:
    if shutil.which("nvcc") is None:
        pytest.skip("nvcc is not installed")
    cubin = compile_once(folder, "toys.cubin", ALL_TOYS, ["nvcc"], ["-arch=sm_90", "-cubin"])
    assert b"wait_for_all" in cubin.read_bytes()
