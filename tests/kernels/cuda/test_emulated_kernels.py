"""The CUDA kernels, executed on the host: every bit is the oracle's, however blocks and threads are scheduled.

Deliberate faults in copies of the sources show that these tests can fail.
"""

from __future__ import annotations

import itertools
import math
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
from torch import Tensor

from sparsync.kernels.feedback_reference import RULES, feedback_select_
from tests.support.emulated_build import build_emulated
from tests.support.every_case import CASES, expected
from tests.support.feedback_cases import (
    COMPILE,
    ENTRY,
    SANITISE,
    SOURCES,
    Case,
    Emulated,
    Fault,
    compile_emulated,
    faulty_sources,
    is_right,
    make_case,
    normal,
    outcome,
    same,
)
from tests.support.native_backends import emulated_backend
from tests.support.paths import ROOT
from tests.support.shared_builds import once, shared_folder
from tests.support.stand_ins.forked import run_forked

RANKED = RULES[:2]
PASSES = 3
# Of a call that is watched by the sanitisers in `make test`: 25 tiles.
MOST_ENTRIES = 20_000
# Seed, threads, blocks.
SCHEDULES = ((10, 1, 1), (3, 3, 5), (4, 4, 40))


def missing_barriers() -> dict[str, Fault]:
    """A fault for each barrier and each fence: the name of its function, and which of them it is there, from 1."""
    faults: dict[str, Fault] = {}
    for path in sorted(SOURCES.glob("cuda/*.cu*")):
        lines = path.read_text().splitlines(keepends=True)
        function = ""
        for number, line in enumerate(lines):
            found = re.match(r" *(?:__device__|__global__).*?(\w+)\((?!kThreads)", line)
            function = found[1] if found else function
            call = re.match(r" *__(syncthreads|threadfence)\(\);", line)
            if call:
                same_calls = [name for name in faults if name.startswith(f"{function} {call[1]}")]
                rest = [*lines[:number], "\n", *lines[number + 1 :]]
                fault = (f"cuda/{path.name}", "".join(lines), "".join(rest))
                faults[f"{function} {call[1]} {len(same_calls) + 1}"] = fault
    return faults


MISSING_BARRIERS = missing_barriers()
QUICKLY_SEEN = ("append_marked syncthreads 1",)
# What nothing shows, and why.
UNSEEN = {
    # Needed on a GPU, as test_memory_order.py shows.
    "close_share threadfence 1": "the emulation's atomic additions order memory by themselves",
    "close_share threadfence 2": "the emulation's atomic additions order memory by themselves",
    # Not needed as the callers are.
    "block_exclusive_sum syncthreads 2": "both callers meet at a barrier before they sum again",
    "merge_tiles syncthreads 2": "after a merge only the first thread reads or writes moments[0], none the others",
    "tally_chunk syncthreads 2": "between these reads and emit_chunk's first write is tally_before's barrier",
}
# Calls that together show every missing barrier that is seen at all, the shortest first.
PROBES = (
    "top_k: normal, d = 100",
    "gaussian_k: mixed sources",
    "gaussian_k_released: normal, d = 70001",
    "top_k: long pieces",
    "chunked_top_k: ties at the cut",
    "chunked_top_k: normal, d = 70001",
)
# The block that decides is slow, so that others look in the midst of it; and what it must not change then.
DELAY = "  for (int turn = 0; turn < 5000; ++turn) pause();\n"
STAGE = "  state.sources[stage] = source;\n"
SLOW_DECISION = ("cuda/tables.cuh", STAGE, DELAY + STAGE + DELAY)
TORN_DECISION = ("cuda/tables.cuh", STAGE, "  if (stage > 0) state.sources[stage - 1] = kVector;\n" + DELAY + STAGE)
# Chunks of one tile: a small group has as many as otherwise one of 10^8 entries. And no unit but a group's first tells
# the sum up to it: all others look back as far as there.
SMALL_CHUNKS = ("cuda/plan.cuh", "chosen = kFewestChunkTiles;", "chosen = 1; return 1;")
LONG_LOOK_BACK = (
    "cuda/emit.cuh",
    "  if (is_teller && unit != first) store_relaxed(&status[unit], (before + own) | kInclusive);\n",
    "",
)
MISSING_CHECKS = {
    "arena": ("cuda/lists.cuh", "if (place < capacity) section[place]", "section[place]"),
    "outputs": ("cuda/emit.cuh", "    if (place >= capacity) return;\n", ""),
    "outputs of chunks": ("cuda/chunks.cuh", "    if (place >= row.capacity) return;\n", ""),
}


@pytest.fixture(scope="session")
def builds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Future[Path]]]:
    """All libraries that the tests need, compiled side by side; what is needed first is compiled first."""
    if shutil.which("g++") is None:
        pytest.skip("g++ is not installed")
    folder = shared_folder(tmp_path_factory, "feedback")

    def build(name: str, flags: Sequence[str], faults: Iterable[Fault]) -> Path:
        def make(target: Path) -> None:
            compile_emulated(target, flags=flags, sources=faulty_sources(folder / f"{name} sources", faults))

        return once(folder / f"{name}.so", make)

    with ThreadPoolExecutor(2) as pool:
        jobs = {
            "plain": pool.submit(build_emulated, sources=[ENTRY]),
            "sanitised": pool.submit(build, "sanitised", SANITISE, []),
        }
        for name in QUICKLY_SEEN:
            jobs[name] = pool.submit(build, name, ["-O1"], [MISSING_BARRIERS[name]])
        jobs["far"] = pool.submit(build, "far", ["-O1"], [SMALL_CHUNKS, LONG_LOOK_BACK])
        yield jobs


@pytest.fixture
def emulated(builds: dict[str, Future[Path]]) -> Emulated:
    return Emulated(builds["plain"].result())


@pytest.mark.parametrize("name", CASES)
def test_the_kernels_return_and_keep_what_the_oracle_does(emulated: Emulated, name: str) -> None:
    for ours, theirs in zip(outcome(emulated.select, CASES[name]), expected(name), strict=True):
        assert torch.equal(ours, theirs), f"{ours} instead of {theirs}"


def wrong_cases(emulated: Emulated, names: Sequence[str], schedule: tuple[int, int, int]) -> list[str]:
    seed, threads, blocks = schedule
    emulated.set(seed=seed, threads=threads, blocks=blocks)
    return [name for name in names if not same(outcome(emulated.select, CASES[name]), expected(name))]


@pytest.mark.parametrize("first", range(len(SCHEDULES)))
def test_the_schedule_changes_no_bit(emulated: Emulated, first: int) -> None:
    """A twelfth of the calls each; the slow test below has them all."""
    assert wrong_cases(emulated, list(CASES)[first :: 4 * len(SCHEDULES)], SCHEDULES[first]) == []


@pytest.mark.slow
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_no_schedule_changes_a_bit_of_any_call(emulated: Emulated, schedule: tuple[int, int, int]) -> None:
    assert wrong_cases(emulated, list(CASES), schedule) == []


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


def test_many_chunks_and_sums_from_afar_change_no_bit(builds: dict[str, Future[Path]]) -> None:
    emulated = Emulated(builds["far"].result())
    size = 520 * 4096 + 1
    largest = make_case(normal(size, 1), torch.zeros(size), "gaussian_k_released")
    names = [f"{rule}: {name}" for rule in RANKED for name in ("long", "long, listed", "long pieces", "mixed sources")]
    assert [name for name in names if not same(outcome(emulated.select, CASES[name]), expected(name))] == []
    assert is_right(emulated, largest)


def pass_counts(emulated: Emulated, case: Case, memory: Tensor) -> list[int]:
    residuals = [residual.clone() for residual in case.residuals]
    report = emulated.select(
        case.gradients, residuals, case.counts, case.rule, case.parameters, case.capacities, memory
    )[2]
    return [int(count) for count in report[:, PASSES]]


def pass_count(emulated: Emulated, case: Case, memory: Tensor) -> int:
    (count,) = set(pass_counts(emulated, case, memory))
    return count


@pytest.mark.parametrize("rule", RANKED)
@pytest.mark.parametrize("density", [0.001, 0.01])
def test_a_warm_call_is_decided_while_adding(emulated: Emulated, rule: str, density: float) -> None:
    memory = torch.zeros(1, 2, dtype=torch.int32)
    cases = [make_case(normal(70_000, step), torch.zeros(70_000), rule, density=density) for step in range(5)]
    first, *rest = [pass_count(emulated, case, memory) for case in cases]
    assert first == 2
    assert rest == [1] * 4


@pytest.mark.parametrize(
    ("name", "passes"),
    [
        ("top_k: normal, d = 70001", 2),  # the second digit's pass lists what is emitted
        ("top_k: zeros", 2),  # the zeros to return are in no list
        ("top_k: k = d / 2", 4),  # no list is worth its memory
        ("gaussian_k: normal, d = 70001", 2),  # one digit separates the two ranks
        ("gaussian_k: constant", 4),  # all tie, which no list holds
        ("top_k: memory 1", 3),  # the list overflows, the vector decides
        ("gaussian_k: sparse, memory 1", 1),  # it holds all non-zeros
        ("top_k: memory 2139095039", 3),  # the list is too short
        ("gaussian_k: long, listed", 1),
        ("top_k: memory -1", 2),  # no bound
        ("top_k: just enough listed", 1),
        ("top_k: just room for the listed", 1),
        ("top_k: just room for the collected", 2),
        ("top_k: one collected too many", 4),
        ("top_k: just room once two digits are known", 3),
        ("top_k: one too many once two digits are known", 4),
        ("top_k: k = d", 2),  # nothing has to be counted
        ("threshold: normal, d = 70001", 2),
        ("gaussian_k_released: normal, d = 70001", 3),
    ],
)
def test_passes_are_counted(emulated: Emulated, name: str, passes: int) -> None:
    assert pass_count(emulated, CASES[name], CASES[name].memory.clone()) == passes


def test_each_group_goes_its_own_way(emulated: Emulated) -> None:
    case = CASES["top_k: mixed sources"]
    assert pass_counts(emulated, case, case.memory.clone()) == [1, 3] * 4


@pytest.mark.parametrize("rule", RANKED)
@pytest.mark.parametrize("dimension", [10**6, 2**24, 10**9, 2**31 - 1])
def test_one_large_group_takes_at_most_a_twentieth_of_its_residual(
    emulated: Emulated, rule: str, dimension: int
) -> None:
    most = emulated.workspace_bytes(dimension, dimension // 100, RULES.index(rule))
    assert most <= 4 * dimension / 20
    assert most > 8 * dimension / 100


@pytest.mark.parametrize("rule", RULES)
def test_more_tensors_than_the_grid_has_threads_are_all_served(emulated: Emulated, rule: str) -> None:
    emulated.set(seed=1, threads=2, blocks=1)
    tensors = list(normal(300 * 8, 5).split(8))
    assert is_right(emulated, make_case(tensors, [tensor * 0 for tensor in tensors], rule, counts=[2] * 300))


@pytest.mark.slow
def test_the_registered_op_is_the_same_code() -> None:
    name = "gaussian_k: every tensor"
    assert same(outcome(emulated_backend().operator, CASES[name]), expected(name))


@pytest.mark.parametrize("name", QUICKLY_SEEN)
def test_a_missing_barrier_is_seen(builds: dict[str, Future[Path]], name: str) -> None:
    faulty, sound = builds[name].result(), builds["plain"].result()
    assert first_difference(sound, sound, ["top_k: few listed"], threads=2, blocks=3) == ""
    assert difference_apart(faulty, sound, ["top_k: few listed"], threads=2, blocks=3) != ""


def test_every_barrier_and_fence_is_found() -> None:
    sources = "".join(path.read_text() for path in SOURCES.glob("cuda/*.cu*"))
    assert len(MISSING_BARRIERS) == len(re.findall(r"__(?:syncthreads|threadfence)", sources))
    assert {*QUICKLY_SEEN, *UNSEEN} <= set(MISSING_BARRIERS)


@pytest.mark.slow
@pytest.mark.parametrize("name", MISSING_BARRIERS)
def test_the_barriers_that_nothing_shows_are_those_listed(
    builds: dict[str, Future[Path]], tmp_path: Path, name: str
) -> None:
    sources = faulty_sources(tmp_path / "sources", [MISSING_BARRIERS[name]])
    faulty = compile_emulated(tmp_path / "faulty.so", flags=["-O1"], sources=sources)
    difference = difference_apart(faulty, builds["plain"].result(), PROBES, threads=2, blocks=6)
    assert (difference == "") == (name in UNSEEN), difference


@pytest.mark.slow
@pytest.mark.parametrize(("fault", "is_seen"), [(SLOW_DECISION, False), (TORN_DECISION, True)])
def test_half_a_decision_misleads_no_other_block(
    builds: dict[str, Future[Path]], tmp_path: Path, fault: Fault, is_seen: bool
) -> None:
    sources = faulty_sources(tmp_path / "sources", [fault])
    delayed = compile_emulated(tmp_path / "delayed.so", flags=["-O1"], sources=sources)
    difference = difference_apart(delayed, builds["plain"].result(), ["top_k: mixed sources"], threads=3, blocks=5)
    assert (difference != "") == is_seen, difference


def results_and_passes(emulated: Emulated, name: str) -> tuple[list[list[int]], list[int]] | str:
    """A list that is wrong in its length is refused and the vector decides: the passes tell."""
    case = CASES[name]
    try:
        results = [tensor.tolist() for tensor in outcome(emulated.select, case)]
        return results, pass_counts(emulated, case, case.memory.clone())
    except RuntimeError as error:
        return str(error)


def first_difference(faulty: Path, sound: Path, names: Sequence[str], *, threads: int, blocks: int) -> str:
    """The first seed and call that tell two libraries apart, or nothing."""
    ours, theirs = Emulated(faulty), Emulated(sound)
    right = {name: results_and_passes(theirs, name) for name in names}
    for seed, name in itertools.product(range(6), names):
        ours.set(seed=seed, threads=threads, blocks=blocks)
        if results_and_passes(ours, name) != right[name]:
            return f"seed {seed}: {name}"
    return ""


def difference_apart(faulty: Path, sound: Path, names: Sequence[str], *, threads: int, blocks: int) -> str:
    """`first_difference` by a process of its own, whose crash or loop without end is a difference too."""
    code = f"""
from pathlib import Path
from tests.kernels.cuda.test_emulated_kernels import first_difference
print(first_difference(Path({str(faulty)!r}), Path({str(sound)!r}), {names!r}, threads={threads}, blocks={blocks}))
"""
    done = run_apart(code)
    return done.stdout.strip() if done.returncode == 0 else f"exit status {done.returncode}: {done.stderr}"


def run_apart(code: str) -> subprocess.CompletedProcess[str]:
    """Exit status 124: it took too long."""
    try:
        return run_forked("-c", code)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(code, 124, "", "")


def check_sanitised(library: Path, code: str) -> subprocess.CompletedProcess[str]:
    """Run `code`, with `emulated` and all cases at hand, in a process of its own that can hold ASan."""
    runtime = subprocess.run(["g++", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True)
    prologue = (
        "from pathlib import Path\nfrom tests.support.every_case import CASES\n"
        "from tests.support.feedback_cases import *\n"
        f"emulated = Emulated(Path({str(library)!r}))\n"
    )
    paths = [str(ROOT), *(path for path in sys.path if path)]
    ours = {"LD_PRELOAD": runtime.stdout.strip(), "ASAN_OPTIONS": "detect_leaks=0"}
    return subprocess.run(
        [sys.executable, "-c", prologue + code],
        env=os.environ | ours | {"PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
        timeout=600,
    )


def entries(case: Case) -> int:
    return sum(residual.numel() for residual in case.residuals)


@pytest.mark.slow
@pytest.mark.parametrize("most", [MOST_ENTRIES, math.inf])
def test_all_cases_pass_the_sanitisers(most: float, builds: dict[str, Future[Path]]) -> None:
    """Their results are compared elsewhere, with code that is compiled for speed."""
    names = [name for name, case in CASES.items() if entries(case) <= most]
    code = f"print(len([outcome(emulated.select, CASES[name]) for name in {names}]))"
    done = check_sanitised(builds["sanitised"].result(), code)
    assert (done.stdout.strip(), done.returncode) == (str(len(names)), 0), done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("case", ["top_k: memory 1", "threshold: capacity 50", "chunked_top_k: capacity 50"])
def test_a_missing_bounds_check_is_reported(case: str, tmp_path: Path) -> None:
    """At the end of the arena, and of the outputs."""
    library = tmp_path / "unchecked.so"
    compile_emulated(library, flags=SANITISE, sources=faulty_sources(tmp_path / "sources", MISSING_CHECKS.values()))
    done = check_sanitised(library, f"outcome(emulated.select, CASES[{case!r}])")
    assert done.returncode != 0
    assert "ERROR: AddressSanitizer: heap-" in done.stderr


@pytest.mark.slow
def test_the_sources_compile_without_a_warning(tmp_path: Path) -> None:
    command = [*COMPILE, "-O0", "-fsyntax-only", "-Wall", "-Wextra", "-Wno-unknown-pragmas", "-Werror"]
    done = subprocess.run([*command, f"-I{SOURCES}", str(ENTRY)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
