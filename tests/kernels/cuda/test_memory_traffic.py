"""How much of its tensors a call on a GPU reads and writes, counted access by access in the emulation.

The addition moves 12 bytes an entry, and every further pass 4 more; here nobody takes the kernel's word for it. How
fast a GPU's memory does that, only a GPU can tell.
"""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor

from sparsync.experiments.studies.kernels.laws import LAWS
from sparsync.kernels.feedback_reference import RULES
from tests.kernels.test_native_passes import RANKED, SETTLED_LAWS
from tests.support.emulated_build import build_emulated
from tests.support.feedback_cases import ENTRY, Case, Emulated, Fault, faulty_sources, make_case, normal, shifted
from tests.support.shared_builds import once, shared_folder
from tests.support.slow_cases import slow_except
from tests.support.watched_kernels import MeteredKernels, Traffic, compile_observer, compile_watched, watched_kernels

# Whole tiles, so that the exact counts below hold; long enough for tables and histograms to weigh little.
LENGTH = 12 * 4096
FAULTS: dict[str, Fault] = {
    "aligned tensors are taken for others": (
        "cuda/plan.cuh",
        "const bool is_aligned = reinterpret_cast<uintptr_t>(piece.residual) % 16 == 0 &&",
        "const bool is_aligned = reinterpret_cast<uintptr_t>(piece.residual) % 16 == 1 &&",
    ),
    "a pass is not reported": ("cuda/tables.cuh", "state.passes += source == kVector ? 1 : 0;", "state.passes += 0;"),
}


@pytest.fixture(scope="session")
def builds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Future[Path]]]:
    if shutil.which("g++") is None:
        pytest.skip("g++ is not installed")
    folder = shared_folder(tmp_path_factory, "metered")

    objects = shared_folder(tmp_path_factory, "watched")

    def build_meter() -> Path:
        return once(folder / "meter.o", lambda target: compile_observer(target, "traffic_meter"))

    def build_kernels() -> Path:
        return once(folder / "kernels.so", lambda target: watched_kernels(target, build_meter(), objects))

    def build(name: str, faults: tuple[Fault, ...]) -> Path:
        def make(target: Path) -> None:
            sources = faulty_sources(folder / f"{name} sources", faults)
            compile_watched(target, ENTRY, observer=build_meter(), sources=sources)

        return once(folder / f"{name}.so", make)

    with ThreadPoolExecutor(1) as pool:
        kernels = {"kernels": pool.submit(build_kernels)}
        yield kernels | {name: pool.submit(build, name, (fault,)) for name, fault in FAULTS.items()}


@pytest.fixture
def kernels(builds: dict[str, Future[Path]]) -> MeteredKernels:
    return MeteredKernels(builds["kernels"].result())


def case_of(gradient: Tensor, rule: str, density: float) -> Case:
    """A cold call on a residual of zeros, with as many places for its output as `feedback_select` gives it."""
    k = round(density * gradient.numel())
    places = {"top_k": k, "gaussian_k": 4 * k // 3}.get(rule, gradient.numel())
    residual = torch.zeros(gradient.numel())
    return make_case(gradient, residual, rule, counts=(k,), capacities=(places,))


def moved(found: dict[str, Traffic]) -> int:
    """Bytes between the memory and caches that hold what one launch uses."""
    return sum(traffic.read_sectors + traffic.written_sectors for traffic in found.values())


def most_beside(selected: int, places: int) -> int:
    """What may come beside the passes at densities up to 0.01, in bytes.

    A sector for each entry that becomes zero; values and indices, which are cleared before; a list of 8 bytes an entry,
    at most 0.0225 d of them, that is written and read three times; and tables and histograms.
    """
    return 32 * selected + 2 * 8 * places + 4 * 8 * (LENGTH * 9 // 400) + 64 * 1024


@pytest.fixture
def unwatched() -> Emulated:
    """The same kernels at full speed."""
    return Emulated(build_emulated(sources=[ENTRY]))


def settled(unwatched: Emulated, law: str, rule: str, density: float) -> Case:
    """A call with the memory of three others on fresh draws."""
    generator = torch.Generator().manual_seed(2)
    cases = [case_of(LAWS[law](LENGTH, generator), rule, density) for _ in range(4)]
    for case, following in itertools.pairwise(cases):
        unwatched.call(case).run()
        following.memory.copy_(case.memory)
    return cases[-1]


@pytest.mark.parametrize("rule", RANKED)
@pytest.mark.parametrize("density", [0.001, 0.01])
@pytest.mark.parametrize("law", SETTLED_LAWS)
def test_a_warm_call_moves_what_the_addition_does_and_little_more(
    kernels: MeteredKernels, unwatched: Emulated, law: str, density: float, rule: str
) -> None:
    case = settled(unwatched, law, rule, density)
    found, report = kernels.traffic(case)
    returned, selected, _, passes = report[0].tolist()
    gradient, residual = found["gradient 0"], found["residual 0"]
    assert returned == selected
    assert passes == 1
    assert (gradient.read, gradient.written) == (4 * LENGTH, 0)
    assert residual.written == 4 * LENGTH + 4 * returned
    assert residual.read_sectors == 4 * LENGTH
    assert moved(found) <= 12 * LENGTH + most_beside(selected, case.capacities[0])


@pytest.mark.parametrize("rule", RANKED)
@pytest.mark.parametrize("density", [0.001, 0.01])
@pytest.mark.parametrize("law", LAWS)
def test_a_cold_call_moves_sixteen_bytes_an_entry_or_twenty_at_most(
    kernels: MeteredKernels, law: str, density: float, rule: str
) -> None:
    """Twenty where too many entries share the threshold's first digit to be listed with the second."""
    case = case_of(LAWS[law](LENGTH, torch.Generator().manual_seed(1)), rule, density)
    found, report = kernels.traffic(case)
    assert found["gradient 0"].read == 4 * LENGTH
    most = 20 if law == "uniform" else 16
    assert moved(found) <= most * LENGTH + most_beside(int(report[0, 1]), case.capacities[0])


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("law", slow_except({"gaussian", "uniform"}, LAWS))
def test_the_report_tells_how_often_the_residual_is_read(kernels: MeteredKernels, law: str, rule: str) -> None:
    """Beyond that, entries that are listed or sent are read once more, and so are a tile's ties where they run out."""
    found, report = kernels.traffic(case_of(LAWS[law](LENGTH, torch.Generator().manual_seed(1)), rule, 0.01))
    again = found["residual 0"].read - 4 * LENGTH * int(report[0, 3])
    assert 0 <= again <= 4 * (LENGTH * 9 // 400 + int(report[0, 1]) + 4096)


def test_a_pass_that_is_not_reported_is_noticed(builds: dict[str, Future[Path]]) -> None:
    kernels = MeteredKernels(builds["a pass is not reported"].result())
    found, report = kernels.traffic(case_of(normal(LENGTH), "top_k", 0.01))
    assert found["residual 0"].read > 4 * LENGTH * (int(report[0, 3]) + 1)


def narrow_passes(found: dict[str, Traffic], report: Tensor) -> tuple[int, int]:
    """Accesses of fewer than four entries to gradient and residual, but for what is picked: listed or sent."""
    residual, returned = found["residual 0"], int(report[0, 0])
    picked = (residual.read - 4 * LENGTH * int(report[0, 3])) // 4
    return found["gradient 0"].narrow_count, residual.narrow_count - picked - returned


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_aligned_tensors_are_read_and_written_four_entries_at_a_time(
    kernels: MeteredKernels, dtype: torch.dtype, rule: str
) -> None:
    found, report = kernels.traffic(case_of(normal(LENGTH).to(dtype), rule, 0.01))
    assert found["gradient 0"].read == dtype.itemsize * LENGTH
    assert narrow_passes(found, report) == (0, 0)


@pytest.mark.parametrize("rule", RULES)
def test_other_tensors_are_read_and_written_entry_by_entry_and_no_more_often(
    kernels: MeteredKernels, rule: str
) -> None:
    case = case_of(normal(LENGTH), rule, 0.01)
    case = replace(case, residuals=tuple(shifted(residual, 1) for residual in case.residuals))
    found, report = kernels.traffic(case)
    passes = int(report[0, 3])
    assert found["gradient 0"].read == 4 * LENGTH
    assert narrow_passes(found, report) == (LENGTH, (passes + 1) * LENGTH)


def test_aligned_tensors_that_are_taken_for_others_are_noticed(builds: dict[str, Future[Path]]) -> None:
    kernels = MeteredKernels(builds["aligned tensors are taken for others"].result())
    found, report = kernels.traffic(case_of(normal(LENGTH), "top_k", 0.01))
    assert narrow_passes(found, report) == (LENGTH, (int(report[0, 3]) + 1) * LENGTH)


@pytest.mark.parametrize("is_whole", [True, False])
def test_many_tensors_move_what_one_does(kernels: MeteredKernels, is_whole: bool) -> None:
    """Selected from one by one, or as a whole; cold, so one pass follows the addition; what it lists is read again."""
    passes, lengths = 2, [4096 * count for count in (1, 5, 2, 16, 24)]
    gradients = [normal(length, seed) for seed, length in enumerate(lengths)]
    counts = [sum(lengths) // 1000] if is_whole else [length // 1000 for length in lengths]
    residuals = [torch.zeros(length) for length in lengths]
    found, report = kernels.traffic(make_case(gradients, residuals, "top_k", counts=counts, capacities=counts))
    assert all(found[f"gradient {number}"].read == 4 * length for number, length in enumerate(lengths))
    groups = [0] * len(lengths) if is_whole else range(len(lengths))
    again = [found[f"residual {number}"].read - 4 * length * passes for number, length in enumerate(lengths)]
    assert {int(report[group, 3]) for group in groups} == {passes}
    listed = [(sum(again), sum(lengths))] if is_whole else list(zip(again, lengths, strict=True))
    for (more, length), k in zip(listed, counts, strict=True):
        # At least what is sent, and at most what there is room for: `candidate_capacity` in core.h.
        assert 4 * k <= more <= 4 * max(k + k // 4 + 64, min(4 * k, length * 9 // 400))
