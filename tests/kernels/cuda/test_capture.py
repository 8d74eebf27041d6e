"""A call can be captured in a CUDA graph, shown without a GPU: no launch depends on data, and the host never waits.

A graph repeats the launches of one call, with the same arguments on the same memory. So does the emulation with what
it recorded (tests/support/emulation/recording.h). What a capture forbids the host is seen in the object that nvcc makes
of the host part: it may need nothing but what is listed here with the reason.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import torch
from torch import Tensor

from sparsync.kernels.feedback_reference import RULES, feedback_select_
from tests.support.emulated_build import build_emulated
from tests.support.feedback_cases import (
    ENTRY,
    GARBAGE,
    SOURCES,
    Call,
    Case,
    Emulated,
    Fault,
    Result,
    compile_emulated,
    faulty_sources,
    make_case,
    normal,
)
from tests.support.slow_cases import slow_except

HOST_PART = SOURCES / "cuda/op.cu"
TORCH_HEADERS = Path(torch.__file__).parent / "include"
HALVES = (torch.bfloat16, torch.float16)
# The lengths of the tensors, and k: one for all of them or one for each.
FORMS: dict[str, tuple[list[int], list[int]]] = {
    "one tensor": ([9001], [90]),
    "many tiles": ([40_001], [400]),
    "every entry": ([5000], [5000]),
    "each tensor": ([5, 4096, 9000, 1], [1, 40, 90, 1]),
    "whole vector": ([300, 8193, 0, 4096], [120]),
}
SHORT_FORMS = ("one tensor", "each tensor", "whole vector")


def some_not_finite(entries: Tensor) -> Tensor:
    places = torch.arange(entries.numel())
    return torch.where(places % 97 == 3, torch.inf, torch.where(places % 613 == 4, torch.nan, entries))


@dataclass(frozen=True)
class Step:
    """The next gradient, made of normal numbers; the residual is as the last step left it, or zero."""

    gradient: Callable[[Tensor], Tensor]
    keeps_residual: bool = False


STEPS = {
    "first": Step(torch.clone),
    "alike": Step(torch.clone),
    "alike again": Step(torch.clone),
    "added": Step(torch.clone, keeps_residual=True),
    "much larger": Step(lambda entries: 50 * entries, keeps_residual=True),
    "much smaller": Step(lambda entries: 0.01 * entries),
    "zeros": Step(torch.zeros_like),
    "ties": Step(torch.round),
    "constant": Step(torch.ones_like),
    "not finite": Step(some_not_finite, keeps_residual=True),
    "as at first": Step(torch.clone),
    "once more": Step(torch.clone),
}


@dataclass(frozen=True)
class Left:
    """What a step returned and left, as integers; `bookkeeping` is what only the kernels keep: passes and memory."""

    results: list[Tensor]
    bookkeeping: list[Tensor]


# Gets a call's tensors, which stay in place, and returns what runs the next step on them.
Starter = Callable[[Case], Callable[[], Result]]


def trajectory(case: Case, start: Starter) -> dict[str, Left]:
    """What each of `STEPS` leaves, from residuals and memory of zeros."""
    case = replace(
        case,
        gradients=tuple(gradient.clone() for gradient in case.gradients),
        residuals=tuple(torch.zeros_like(residual) for residual in case.residuals),
        memory=case.memory.clone(),
    )
    run = start(case)
    left = {}
    for number, (name, step) in enumerate(STEPS.items()):
        for piece, (gradient, residual) in enumerate(zip(case.gradients, case.residuals, strict=True)):
            gradient.copy_(step.gradient(normal(gradient.numel(), 100 * number + piece)))
            if not step.keeps_residual:
                residual.zero_()
        values, indices, report = run()
        results = [values.view(torch.int32), indices, report[:, :3]]
        results += [residual.view(torch.int32) for residual in case.residuals]
        bookkeeping = [report[:, 3], case.memory]
        left[name] = Left([tensor.clone() for tensor in results], [tensor.clone() for tensor in bookkeeping])
    return left


def by_the_oracle(case: Case) -> Callable[[], Result]:
    tensors = (list(case.gradients), list(case.residuals))
    return lambda: feedback_select_(*tensors, case.counts, case.rule, case.parameters, case.capacities, case.memory)


def by_calls(emulated: Emulated) -> Starter:
    def start(case: Case) -> Callable[[], Result]:
        def run() -> Result:
            call = emulated.call(case)
            call.run()
            return call.outputs

        return run

    return start


def by_replays(emulated: Emulated) -> Starter:
    def start(case: Case) -> Callable[[], Result]:
        call = emulated.call(case)
        with emulated.recording():
            call.run()

        def run() -> Result:
            emulated.replay()
            return call.outputs

        return run

    return start


def differing_results(ours: dict[str, Left], theirs: dict[str, Left]) -> list[str]:
    return [name for name in STEPS if not all(map(torch.equal, ours[name].results, theirs[name].results))]


def differing_bookkeeping(ours: dict[str, Left], theirs: dict[str, Left]) -> list[str]:
    return [name for name in STEPS if not all(map(torch.equal, ours[name].bookkeeping, theirs[name].bookkeeping))]


def case_of(rule: str, form: str, dtype: torch.dtype = torch.float32) -> Case:
    lengths, counts = FORMS[form]
    gradients = [torch.zeros(length, dtype=dtype) for length in lengths]
    return make_case(gradients, [torch.zeros(length) for length in lengths], rule, counts=counts)


@pytest.fixture
def emulated() -> Emulated:
    if shutil.which("g++") is None:
        pytest.skip("g++ is not installed")
    return Emulated(build_emulated(sources=[ENTRY]))


@pytest.mark.parametrize(
    ("form", "dtype"),
    [
        *((form, torch.float32) for form in SHORT_FORMS),
        *(pytest.param(form, torch.float32, marks=pytest.mark.slow) for form in FORMS if form not in SHORT_FORMS),
        ("each tensor", HALVES[0]),
        *(pytest.param("each tensor", dtype, marks=pytest.mark.slow) for dtype in HALVES[1:]),
    ],
)
@pytest.mark.parametrize("rule", RULES)
def test_a_recorded_call_is_replayed_on_new_gradients(
    emulated: Emulated, rule: str, form: str, dtype: torch.dtype
) -> None:
    case = case_of(rule, form, dtype)
    replays, calls = trajectory(case, by_replays(emulated)), trajectory(case, by_calls(emulated))
    assert differing_results(replays, trajectory(case, by_the_oracle)) == []
    assert differing_bookkeeping(replays, calls) == []


@pytest.mark.parametrize("rule", RULES[:2])
def test_replays_go_every_way_that_a_call_can_go(emulated: Emulated, rule: str) -> None:
    left = trajectory(case_of(rule, "many tiles"), by_replays(emulated))
    passes = {name: int(left[name].bookkeeping[0]) for name in STEPS}
    assert passes["alike"] == passes["alike again"] == 1  # the list that the bound left decides
    assert passes["much larger"] >= 3  # it overflows, the vector decides
    assert passes["much smaller"] >= 3  # it is empty
    assert passes["constant"] == 5  # no later list holds all ties either


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("rule", RULES)
def test_while_a_call_is_recorded_nothing_is_done(emulated: Emulated, rule: str, form: str) -> None:
    case = case_of(rule, form)
    for gradient in case.gradients:
        gradient.fill_(3.0)
    call = emulated.call(case)
    recorded(emulated, call)
    values, indices, report = call.outputs
    assert values.isnan().all()
    assert (indices == 77).all()
    assert (report == 77).all()
    assert (call.workspace == GARBAGE).all()
    assert not any(residual.any() for residual in case.residuals)
    assert not case.memory.any()


def recorded(emulated: Emulated, call: Call) -> list[str]:
    with emulated.recording():
        call.run()
    return emulated.recorded()


def recordings(emulated: Emulated, case: Case) -> list[list[str]]:
    """What one call launches, always on the same memory, before each step."""
    kept: list[list[str]] = []

    def start(case: Case) -> Callable[[], Result]:
        call = emulated.call(case)

        def run() -> Result:
            kept.append(recorded(emulated, call))
            call.run()
            return call.outputs

        return run

    trajectory(case, start)
    return kept


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("rule", RULES)
def test_what_a_call_launches_depends_on_no_data(emulated: Emulated, rule: str, form: str) -> None:
    first, *later = recordings(emulated, case_of(rule, form))
    assert len(first) >= 4  # writes its tables, prepares, adds, emits
    assert all(launches == first for launches in later)


def test_no_kernel_of_a_recorded_call_takes_more_arguments_than_a_graph_may_hold(emulated: Emulated) -> None:
    """Of 300 tensors: 43,200 bytes of rows by launches of 3,520 at most, where a call alone takes three."""
    gradients, residuals = ([torch.zeros(10) for _ in range(300)] for _ in range(2))
    launches = recorded(emulated, emulated.call(make_case(gradients, residuals, "top_k", counts=[1] * 300)))
    place = re.escape(launches[0].split(", ")[0])
    assert len([launch for launch in launches if re.match(place, launch)]) == 13


def test_a_call_alone_launches_the_small_parcel_of_a_recording_too(tmp_path: Path) -> None:
    """CUDA loads a kernel when it is first launched, which is better not done while a graph is recorded."""
    unaware = faulty_sources(tmp_path / "sources", [("cuda/select.cuh", "!is_recorded(stream)", "true")])
    alone = Emulated(compile_emulated(tmp_path / "alone.so", flags=["-O0"], sources=unaware))
    gradients, residuals = ([torch.zeros(10) for _ in range(100)] for _ in range(2))
    case = make_case(gradients, residuals, "top_k", counts=[1] * 100)
    names = {launch.split("(")[0] for launch in recorded(alone, alone.call(case))}
    assert {name for name in names if "upload" in name} == {f"void sparsync::upload<{size}>" for size in (440, 4000)}


# A host that reads what lies on the device; call by call nothing is wrong. The rule that it happens in, the fault, and
# whether replays then differ in results and in bookkeeping: no grid changes either, and what is launched tells alone.
READING_HOSTS: dict[str, tuple[str, list[Fault], tuple[bool, bool]]] = {
    "to skip the addition of zeros": (
        "threshold",
        [
            (
                "cuda/select.cuh",
                "      add_gradients<false>(launcher, request.gradient_type);\n",
                """
      if (const float* entry = static_cast<const float*>(request.pieces[0].gradient);
          std::any_of(entry, entry + request.pieces[0].length, [](float value) { return value != 0.0f; })) {
        add_gradients<false>(launcher, request.gradient_type);
      }
""",
            )
        ],
        (True, False),
    ),
    "for the bound": (
        "top_k",
        [
            ("cuda/tables.cuh", "  int32_t* memory;\n};", "  int32_t* memory;\n  int64_t bound;\n};"),
            ("cuda/tables.cuh", "tables.memory[group * kMemoryColumns + kBound]", "tables.bound"),
            (
                "cuda/plan.cuh",
                "  tables.memory = request.memory;\n",
                "  tables.memory = request.memory;\n"
                "  tables.bound = workspace == nullptr ? 0 : request.memory[kBound];\n",
            ),
        ],
        (False, True),
    ),
    "for a grid": (
        "gaussian_k_released",
        [("cuda/select.cuh", "for_tiles(count_ladder)", "for_units(count_ladder, 1 + tables.report[kReturned] % 4)")],
        (False, False),
    ),
}


@pytest.mark.parametrize("purpose", slow_except({"for the bound"}, READING_HOSTS))
def test_a_host_that_reads_the_device_is_seen(tmp_path: Path, purpose: str) -> None:
    rule, faults, replays_differ = READING_HOSTS[purpose]
    sources = faulty_sources(tmp_path / "sources", faults)
    faulty = Emulated(compile_emulated(tmp_path / "faulty.so", flags=["-O0"], sources=sources))
    case = case_of(rule, "one tensor")
    calls, replays = trajectory(case, by_calls(faulty)), trajectory(case, by_replays(faulty))
    assert differing_results(calls, trajectory(case, by_the_oracle)) == []
    assert len({"\n".join(launches) for launches in recordings(faulty, case)}) > 1
    assert (differing_results(replays, calls) != [], differing_bookkeeping(replays, calls) != []) == replays_differ


# What the host part calls of CUDA's runtime, and why nothing of it waits for the device or is unsafe in a capture: the
# runtime's reference says so of each function, and of cudaThreadExchangeStreamCaptureMode what a capture forbids.
CUDA_FUNCTIONS = {
    "cudaLaunchKernel": "returns before the kernel runs; captured as a node",
    "cudaGetDevice": "tells which device the thread has chosen",
    "cudaDeviceGetAttribute": "tells a constant of the device",
    "cudaStreamIsCapturing": "tells whether a graph is being recorded on the stream",
    "cudaGetLastError": "tells and forgets what earlier calls of the thread returned",
    "cudaGetErrorString": "the text of a number",
    "cudaFuncGetName": "the name of a kernel that could not be launched",
}
# What it calls of torch.
TORCH_FUNCTIONS = {
    "aoti_torch_abi_version": "a number, asked while the library is loaded",
    "aoti_torch_library_init_impl": "registers the op while the library is loaded",
    "torch_library_impl": "registers the op while the library is loaded",
    "aoti_torch_delete_library_object": "forgets the op at the end of the process",
    "aoti_torch_create_device_guard": "chooses the device for the thread, if it is not chosen",
    "aoti_torch_delete_device_guard": "chooses the device before again",
    "aoti_torch_get_current_cuda_stream": "reads a variable of the thread",
    "aoti_torch_get_data_ptr": "describes a tensor",
    "aoti_torch_get_device_index": "describes a tensor",
    "aoti_torch_get_device_type": "describes a tensor",
    "aoti_torch_get_dim": "describes a tensor",
    "aoti_torch_get_dtype": "describes a tensor",
    "aoti_torch_get_numel": "describes a tensor",
    "aoti_torch_is_contiguous": "describes a tensor",
    "aoti_torch_new_tensor_handle": "counts one more owner",
    "aoti_torch_delete_tensor_object": "counts one owner less; the memory goes to torch's pool, which is not emptied",
    "torch_call_dispatcher": "calls an op by its name: see OPS",
    "torch_delete_list": "an argument or result that is a list, on the host",
    "torch_list_get_item": "an argument or result that is a list, on the host",
    "torch_list_push_back": "an argument or result that is a list, on the host",
    "torch_list_size": "an argument or result that is a list, on the host",
    "torch_new_list_reserve_size": "an argument or result that is a list, on the host",
}
OPS = {b"aten::new_empty": "takes memory from torch's pool, during a capture from the graph's own"}
# Constants of torch's, and what nvcc calls while the library is loaded and in the function of its own that it makes for
# each kernel: not called, its address names the kernel. These names are those of one release of nvcc.
NOT_CALLED = re.compile(r"aoti_torch_(dtype|layout|device_type)_\w+|__cuda(Register|Unregister|Get|Launch|Pop)\w+")


def compile_host_part(target: Path, text: str) -> set[str]:
    """Compile `text` in place of cuda/op.cu; the functions of CUDA and torch that the object calls."""
    source = target.with_suffix(".cu")
    source.write_text(text)
    command = ["nvcc", "-std=c++20", "-O1", "-gencode=arch=compute_90,code=compute_90", "-Xcompiler", "-fPIC"]
    # The library has -O3, which calls the same and takes longer; nobody looks at the device's part.
    command += ["-Xcicc", "-O0"]
    command += ["-DTORCH_TARGET_VERSION=0x020a000000000000", f"-I{SOURCES}", "-isystem", str(TORCH_HEADERS)]
    subprocess.run([*command, "-c", str(source), "-o", str(target)], check=True)
    listed = subprocess.run(["nm", "--undefined-only", str(target)], capture_output=True, text=True, check=True).stdout
    names = {line.split()[-1] for line in listed.splitlines()}
    return {name for name in names if re.match(r"_*(cu[A-Z]|cuda|torch|aoti)", name) and not NOT_CALLED.fullmatch(name)}


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not installed")
def test_the_host_part_calls_nothing_that_waits(tmp_path: Path) -> None:
    target = tmp_path / "host.o"
    called = compile_host_part(target, HOST_PART.read_text())
    assert called == {*CUDA_FUNCTIONS, *TORCH_FUNCTIONS}
    assert set(re.findall(rb"aten::\w+", target.read_bytes())) == set(OPS)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not installed")
def test_a_host_part_that_waits_is_seen(tmp_path: Path) -> None:
    text = HOST_PART.read_text()
    start = "  select_on_cuda(request, plan, workspace.data_ptr(), current_stream(like));\n"
    assert text.count(start) == 1
    wait = "  cudaStreamSynchronize(current_stream(like));\n"
    read = "  int32_t first;\n  aoti_torch_item_int32(like.get(), &first);\n"
    called = compile_host_part(tmp_path / "host.o", text.replace(start, start + wait + read))
    assert called - {*CUDA_FUNCTIONS, *TORCH_FUNCTIONS} == {"cudaStreamSynchronize", "aoti_torch_item_int32"}


def test_the_host_part_looks_up_the_current_stream_alone_by_name() -> None:
    sources = "".join(path.read_text() for path in SOURCES.glob("cuda/*.cu*")) + (SOURCES / "portability.h").read_text()
    assert re.findall(r"dlsym\(.*", sources) == ['dlsym(library, "aoti_torch_get_current_cuda_stream"));']
