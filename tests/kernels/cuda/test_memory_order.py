"""No two threads of a kernel use the same memory unless CUDA's memory model puts them in an order, on any GPU.

The emulation runs threads one after another and is blind to weak memory. A detector follows what orders them instead:
barriers, and fences around atomics. Each one that the kernels have is shown to be needed, or listed with the reason.
"""

from __future__ import annotations

import ctypes
import re
import shutil
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from tests.kernels.cuda.test_emulated_kernels import MISSING_BARRIERS, UNSEEN, run_apart
from tests.support.every_case import CASES
from tests.support.feedback_cases import ENTRY, Fault, faulty_sources
from tests.support.shared_builds import once, shared_folder
from tests.support.slow_cases import slow_except
from tests.support.watched_kernels import (
    FOLDER,
    Detector,
    WatchedKernels,
    compile_observer,
    compile_watched,
    watched_kernels,
)

# Calls that together take every way through the kernels, and the seeds and numbers of blocks with which they do.
SCHEDULES = ((1, 5), (2, 3))
CHOSEN = {
    "gaussian_k: long, listed": SCHEDULES[:1],  # chunks of one list, counted by several blocks
    "gaussian_k: mixed sources": SCHEDULES,
    "gaussian_k: sparse, memory 1": SCHEDULES[1:],
    "gaussian_k: infinite gradient": SCHEDULES[:1],
    "top_k: mixed sources": SCHEDULES[1:],
    "top_k: every tensor": SCHEDULES[:1],
    "top_k: normal, d = 70001": SCHEDULES,
    "top_k: just room once two digits are known": SCHEDULES[:1],
    "gaussian_k: every tensor": SCHEDULES[:1],
    "top_k: tied capacity": SCHEDULES,
    "top_k: float16": SCHEDULES[:1],
    "threshold: bfloat16": SCHEDULES[1:],
    "gaussian_k_released: normal, d = 70001": SCHEDULES[:1],
    "chunked_top_k: ties at the cut": SCHEDULES[:1],
    "chunked_top_k: whole vector": SCHEDULES[1:],
}
# Who meets where a group is decided by its list while another block passes its tiles and looks what comes next.
NEXT_STAGE: Fault = (
    "cuda/count.cuh",
    "if (tables.states[tile.group].sources[kStage] != kVector) continue;",
    "if (tables.states[tile.group].sources[kStage] != kVector &&"
    " tables.states[tile.group].sources[kStage + 1] != kVector) continue;",
)
FAULTS: dict[str, Fault] = {
    "close_share threadfence 1": MISSING_BARRIERS["close_share threadfence 1"],
    "the next stage is looked at": NEXT_STAGE,
}
# Not even a race is left where these barriers are missing; test_emulated_kernels.py says why.
NOT_NEEDED = {name for name in UNSEEN if "threadfence" not in name}


@pytest.fixture(scope="session")
def builds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Future[Path]]]:
    if shutil.which("g++") is None:
        pytest.skip("g++ is not installed")
    folder = shared_folder(tmp_path_factory, "watched")

    def build_detector() -> Path:
        return once(folder / "detector.o", lambda target: compile_observer(target, "race_detector"))

    def build_kernels() -> Path:
        return once(folder / "kernels.so", lambda target: watched_kernels(target, build_detector(), folder))

    def build(name: str, entry: Path, faults: tuple[Fault, ...]) -> Path:
        def make(target: Path) -> None:
            sources = faulty_sources(folder / f"{name} sources", faults)
            compile_watched(target, entry, observer=build_detector(), sources=sources)

        return once(folder / f"{name}.so", make)

    with ThreadPoolExecutor(1) as pool:
        jobs = {
            "detector": pool.submit(build_detector),
            "toys": pool.submit(build, "toys", FOLDER / "ordered.cu", ()),
            "kernels": pool.submit(build_kernels),
        }
        yield jobs | {name: pool.submit(build, name, ENTRY, (fault,)) for name, fault in FAULTS.items()}


class Toys:
    """The kernels of ordered.cu: `races` calls one and returns what the detector says."""

    def __init__(self, path: Path) -> None:
        self._library, self._detector = ctypes.CDLL(str(path)), Detector(path)

    def races(self, name: str, arrays: dict[str, np.ndarray], *numbers: int, seed: int = 1) -> list[str]:
        message = ctypes.create_string_buffer(1024)
        self._library.sparsync_emulation_seed(ctypes.c_uint64(seed))
        self._detector.watch({array: (values.ctypes.data, values.nbytes) for array, values in arrays.items()})
        pointers = [values.ctypes.data_as(ctypes.c_void_p) for values in arrays.values()]
        assert getattr(self._library, name)(*pointers, *map(ctypes.c_int, numbers), message) == 0, message.value
        return [re.sub(r"ordered\.cu:\d+", "here", race) for race in self._detector.races()]


@pytest.fixture
def toys(builds: dict[str, Future[Path]]) -> Toys:
    return Toys(builds["toys"].result())


LATE_READ = "slots: write at here and read at here, blocks"


@pytest.mark.parametrize(
    ("left_out", "expected"),
    [
        (0, set()),
        (1, {LATE_READ}),
        (2, {LATE_READ}),
        (3, {LATE_READ}),
        (4, {LATE_READ, "shared: write at here and read at here, threads of a block"}),
        (5, {LATE_READ}),
        (6, {LATE_READ}),
    ],
    ids=["nothing", "the first barrier", "release", "acquire", "the last barrier", "a fence behind it", "a late write"],
)
def test_what_the_last_block_reads_needs_barriers_and_fences_on_both_sides(
    toys: Toys, left_out: int, expected: set[str]
) -> None:
    slots, arrived, sums = np.zeros(192, np.int32), np.zeros(1, np.uint32), np.zeros(64, np.int32)
    found = toys.races("call_gather", {"slots": slots, "arrived": arrived, "sums": sums}, left_out)
    if left_out == 4:  # which of them goes on as the last block depends on the order
        assert found
        assert set(found) <= expected | {"shared: read at here and write at here, threads of a block"}
    else:
        assert set(found) == expected
        assert (sums == 3).all() or left_out == 1


@pytest.mark.parametrize(
    ("how", "distance", "is_ordered"),
    [
        pytest.param(0, 1, True, id="barrier"),
        pytest.param(0, 32, True, id="barrier, another warp"),
        pytest.param(1, 1, True, id="barrier of the warp"),
        pytest.param(1, 32, False, id="barrier of the warp, another warp"),
        pytest.param(2, 1, False, id="shuffle"),
        pytest.param(3, 1, False, id="vote"),
        pytest.param(4, 1, False, id="nothing"),
        pytest.param(5, 1, False, id="barrier, a late write"),
    ],
)
def test_barriers_order_memory_and_shuffles_and_votes_do_not(
    toys: Toys, how: int, distance: int, is_ordered: bool
) -> None:
    found = toys.races("call_swap_neighbours", {"out": np.zeros(64, np.int32)}, how, distance)
    assert (found == []) == is_ordered
    assert all(race.startswith("shared: ") and race.endswith("threads of a block") for race in found)


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        (0, set()),
        (1, {"atomic at here and read at here", "read at here and atomic at here"}),
        # A write also hides what came before it: no more is said of a block's atomic than that it met the last one.
        (2, {"write at here and atomic at here", "write at here and write at here"}),
        (3, {"write at here and write at here"}),
        (4, set()),
        (5, set()),
        (6, {"atomic at here and read at here", "read at here and atomic at here"}),
    ],
    ids=["atomics", "read beside", "write beside", "writes", "reads", "status words", "status word read plainly"],
)
def test_atomics_are_ordered_to_each_other_and_to_nothing_else(toys: Toys, how: int, expected: set[str]) -> None:
    found = toys.races("call_use_word", {"word": np.zeros(1, np.uint64)}, how, 3, 1)
    assert set(found) == {f"word: {race}, blocks" for race in expected}


@pytest.mark.parametrize(
    ("how", "reader", "writer"), [(7, "read", "write"), (8, "read", "atomic"), (9, "atomic", "write")]
)
def test_readers_meet_a_writer_that_comes_before_them_or_after(toys: Toys, how: int, reader: str, writer: str) -> None:
    found = set[str]()
    for seed in range(6):
        found |= set(toys.races("call_use_word", {"word": np.zeros(1, np.uint64)}, how, 3, 1, seed=seed))
    pairs = ((reader, writer), (writer, reader))
    assert found == {f"word: {first} at here and {second} at here, blocks" for first, second in pairs}


def test_launches_are_in_an_order(toys: Toys) -> None:
    """Each has another last block, which writes the same word as the last block of the launch before."""
    assert toys.races("call_use_word", {"word": np.zeros(1, np.uint64)}, 10, 1, 3) == []


@pytest.mark.parametrize(
    "name",
    slow_except(set(CHOSEN) - {"gaussian_k: long, listed", "gaussian_k: mixed sources", "top_k: every tensor"}, CHOSEN),
)
def test_no_two_threads_of_the_kernels_meet(builds: dict[str, Future[Path]], name: str) -> None:
    kernels = WatchedKernels(builds["kernels"].result())
    for seed, blocks in CHOSEN[name]:
        assert kernels.races(CASES[name], seed=seed, blocks=blocks) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_no_two_threads_meet_in_any_case(builds: dict[str, Future[Path]], name: str) -> None:
    assert WatchedKernels(builds["kernels"].result()).races(CASES[name], seed=7, blocks=8) == []


@pytest.mark.slow
def test_a_fence_is_needed(builds: dict[str, Future[Path]]) -> None:
    """Nothing else shows it: in the emulation's order of memory results are right without. The slow test has all."""
    found = WatchedKernels(builds["close_share threadfence 1"].result()).races(CASES["top_k: normal, d = 70001"])
    assert any(race.startswith("workspace: ") and race.endswith(", blocks") for race in found)


def test_what_another_block_decides_is_not_read(builds: dict[str, Future[Path]]) -> None:
    found = WatchedKernels(builds["the next stage is looked at"].result()).races(CASES["top_k: mixed sources"])
    assert found
    assert all("count.cuh" in race and "tables.cuh" in race for race in found)


@pytest.mark.slow
@pytest.mark.parametrize("name", MISSING_BARRIERS)
def test_every_barrier_and_fence_is_needed_but_those_listed(
    builds: dict[str, Future[Path]], name: str, tmp_path: Path
) -> None:
    """Without it threads meet, or wait for ever, or end the process."""
    sources = faulty_sources(tmp_path / "sources", [MISSING_BARRIERS[name]])
    detector = builds["detector"].result()
    library = compile_watched(tmp_path / "faulty.so", ENTRY, observer=detector, sources=sources)
    code = f"""
from pathlib import Path
from tests.kernels.cuda.test_emulated_kernels import CASES, PROBES
from tests.support.watched_kernels import WatchedKernels
kernels = WatchedKernels(Path({str(library)!r}))
print(any(kernels.races(CASES[name]) for name in (*PROBES, "gaussian_k: every tensor")))
"""
    done = run_apart(code)
    is_needed = done.returncode != 0 or done.stdout.strip() == "True"
    assert is_needed == (name not in NOT_NEEDED), done.stdout + done.stderr
