"""The pretend GPU keeps what CUDA promises on order and refuses what CUDA forbids: what a rehearsal rests on."""

from __future__ import annotations

import ctypes
import functools
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests import pretend_gpu

NO_MEMORY, INVALID_CONFIGURATION, ILLEGAL_STATE, NOT_READY, LAUNCH_FAILURE, NOT_SUPPORTED = 2, 9, 401, 600, 719, 801
CAPTURE_UNSUPPORTED, CAPTURE_BROKEN, CAPTURE_ISOLATION, CAPTURED_EVENT = 900, 901, 905, 907
NON_BLOCKING, TO_ANY, RELAXED = 1, 4, 2  # cudaStreamNonBlocking, cudaMemcpyDefault, cudaStreamCaptureModeRelaxed
SIZE = 1000
PATIENCE = 30.0  # seconds, after which the test has failed


class Machine:
    """The runtime's calls; one that is refused raises no exception, its status is the result."""

    def __init__(self, folder: Path) -> None:
        self.path = pretend_gpu.built_runtime(folder)
        self.call = ctypes.CDLL(str(self.path))
        self._kept: list[object] = []
        self.spare, self.spare_pinned = self.memory(), self.pinned()

    def _made(self, create: Callable[..., int], *arguments: object) -> ctypes.c_void_p:
        made = ctypes.c_void_p()
        assert create(ctypes.byref(made), *arguments) == 0
        return made

    def stream(self) -> ctypes.c_void_p:
        return self._made(self.call.cudaStreamCreateWithPriority, NON_BLOCKING, 0)

    def event(self) -> ctypes.c_void_p:
        return self._made(self.call.cudaEventCreateWithFlags, 0)

    def recorded(self) -> ctypes.c_void_p:
        event = self.event()
        assert self.call.cudaEventRecord(event, self.stream()) == 0
        return event

    def allocate(self, size: int = SIZE) -> int:
        return int(self.call.cudaMalloc(ctypes.byref(ctypes.c_void_p()), ctypes.c_size_t(size)))

    def memory(self) -> ctypes.c_void_p:
        return self._made(self.call.cudaMalloc, ctypes.c_size_t(SIZE))

    def pinned(self) -> ctypes.c_void_p:
        return self._made(self.call.cudaHostAlloc, ctypes.c_size_t(SIZE), 0)

    def fill(self, target: ctypes.c_void_p, value: int, stream: ctypes.c_void_p) -> int:
        return int(self.call.cudaMemsetAsync(target, value, ctypes.c_size_t(SIZE), stream))

    def copy(self, target: object, source: object, stream: ctypes.c_void_p) -> int:
        return int(self.call.cudaMemcpyAsync(target, source, ctypes.c_size_t(SIZE), TO_ANY, stream))

    def put(self, stream: ctypes.c_void_p, work: Callable[[], object]) -> None:
        node = ctypes.CFUNCTYPE(None)(lambda: (work(), None)[1])
        self._kept.append(node)
        self.call.pretend_put(stream, node)

    def wait(self, stream: ctypes.c_void_p) -> int:
        return int(self.call.cudaStreamSynchronize(stream))


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    if shutil.which("nvcc") is None:
        pytest.skip("no nvcc")
    return Machine(tmp_path_factory.mktemp("runtime"))


@pytest.fixture
def stream(machine: Machine) -> ctypes.c_void_p:
    return machine.stream()


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    """What work on a stream waits for; open at the end, whatever became of the test."""
    gate = threading.Event()
    yield gate
    gate.set()


def content(pointer: ctypes.c_void_p) -> bytes:
    return ctypes.string_at(pointer, SIZE)


def test_a_stream_is_busy_until_its_work_is_done(
    machine: Machine, stream: ctypes.c_void_p, gate: threading.Event
) -> None:
    machine.put(stream, lambda: gate.wait(PATIENCE))
    assert machine.call.cudaStreamQuery(stream) == NOT_READY
    gate.set()
    assert machine.wait(stream) == 0
    assert machine.call.cudaStreamQuery(stream) == 0


def test_work_of_a_stream_is_done_in_order(machine: Machine, stream: ctypes.c_void_p) -> None:
    done: list[int] = []
    for number in range(50):
        machine.put(stream, functools.partial(done.append, number))
    machine.wait(stream)
    assert done == list(range(50))


def test_streams_do_not_wait_for_each_other_but_for_events(machine: Machine, gate: threading.Event) -> None:
    first, second, event = machine.stream(), machine.stream(), machine.event()
    target = machine.memory()
    machine.fill(target, 1, first)
    machine.put(first, lambda: gate.wait(PATIENCE))
    machine.fill(target, 2, first)
    machine.call.cudaEventRecord(event, first)
    machine.put(second, lambda: None)
    machine.wait(second)
    assert machine.call.cudaEventQuery(event) == NOT_READY
    machine.call.cudaStreamWaitEvent(second, event, 0)
    seen: list[bytes] = []
    machine.put(second, lambda: seen.append(content(target)))
    assert machine.call.cudaStreamQuery(second) == NOT_READY
    gate.set()
    machine.wait(second)
    assert seen == [bytes([2]) * SIZE]


def test_a_copy_takes_unpinned_memory_as_it_was_and_pinned_memory_as_it_is(
    machine: Machine, stream: ctypes.c_void_p, gate: threading.Event
) -> None:
    unpinned, pinned = ctypes.create_string_buffer(SIZE), machine.pinned()
    ctypes.memset(pinned, 0, SIZE)
    machine.put(stream, lambda: gate.wait(PATIENCE))
    targets = []
    for source in (ctypes.c_void_p(ctypes.addressof(unpinned)), pinned):
        targets.append(machine.memory())
        assert machine.copy(targets[-1], source, stream) == 0
        ctypes.memset(source, 7, SIZE)
    gate.set()
    machine.wait(stream)
    assert [content(target)[0] for target in targets] == [0, 7]


def test_new_memory_is_filled_in_order_and_without_a_wait(
    machine: Machine, stream: ctypes.c_void_p, gate: threading.Event
) -> None:
    target, given = machine.memory(), ctypes.create_string_buffer(SIZE)
    machine.put(stream, lambda: gate.wait(PATIENCE))
    machine.fill(target, 1, stream)
    machine.call.pretend_fill(target, given, ctypes.c_size_t(SIZE), stream)
    ctypes.memset(given, 7, SIZE)
    assert not gate.is_set()
    gate.set()
    machine.wait(stream)
    assert content(target)[0] == 0


def test_an_event_stands_for_its_last_recording_and_whoever_waits_for_an_earlier_one_is_not_held(
    machine: Machine, gate: threading.Event
) -> None:
    first, second, event = machine.stream(), machine.stream(), machine.event()
    assert machine.call.cudaEventQuery(event) == 0
    machine.call.cudaEventRecord(event, first)
    machine.call.cudaStreamWaitEvent(second, event, 0)
    machine.put(first, lambda: gate.wait(PATIENCE))
    machine.call.cudaEventRecord(event, first)
    assert machine.wait(second) == 0
    assert machine.call.cudaEventQuery(event) == NOT_READY
    machine.call.cudaStreamWaitEvent(second, event, 0)
    machine.call.cudaEventDestroy(event)
    assert machine.call.cudaStreamQuery(second) == NOT_READY
    gate.set()
    assert machine.wait(second) == 0


WAITING: dict[str, Callable[[Machine, ctypes.c_void_p], int]] = {
    "free": lambda machine, _: int(machine.call.cudaFree(machine.memory())),
    "free pinned memory": lambda machine, _: int(machine.call.cudaFreeHost(machine.pinned())),
    "copy to unpinned memory": lambda machine, stream: machine.copy(
        ctypes.create_string_buffer(SIZE), machine.memory(), stream
    ),
}


@pytest.mark.parametrize("action", WAITING)
def test_what_takes_memory_from_a_stream_waits_for_it(
    machine: Machine, stream: ctypes.c_void_p, gate: threading.Event, action: str
) -> None:
    threading.Timer(0.2, gate.set).start()
    machine.put(stream, lambda: gate.wait(PATIENCE))
    assert WAITING[action](machine, stream) == 0
    assert gate.is_set()


def test_captured_work_is_done_whenever_its_graph_is_launched(machine: Machine, stream: ctypes.c_void_p) -> None:
    target, graph, made = machine.memory(), ctypes.c_void_p(), ctypes.c_void_p()
    runs: list[int] = []
    machine.fill(target, 1, stream)
    machine.wait(stream)
    assert machine.call.cudaStreamBeginCapture(stream, 0) == 0
    assert machine.fill(target, 2, stream) == 0
    machine.put(stream, lambda: runs.append(content(target)[0]))
    assert machine.call.cudaStreamEndCapture(stream, ctypes.byref(graph)) == 0
    assert content(target)[0] == 1
    assert not runs
    machine.call.cudaGraphInstantiateWithFlags(ctypes.byref(made), graph, ctypes.c_ulonglong(0))
    for _ in range(2):
        machine.fill(target, 3, stream)
        assert machine.call.cudaGraphLaunch(made, stream) == 0
    machine.wait(stream)
    assert runs == [2, 2]


FORBIDDEN: dict[str, Callable[[Machine, ctypes.c_void_p], int]] = {
    "wait for the stream": lambda machine, stream: machine.wait(stream),
    "wait for the device": lambda machine, _: int(machine.call.cudaDeviceSynchronize()),
    "wait for an event": lambda machine, _: int(machine.call.cudaEventSynchronize(machine.recorded())),
    "ask the stream": lambda machine, stream: int(machine.call.cudaStreamQuery(stream)),
    "ask another stream": lambda machine, _: int(machine.call.cudaStreamQuery(machine.stream())),
    "ask an event": lambda machine, _: int(machine.call.cudaEventQuery(machine.recorded())),
    "allocate": lambda machine, _: machine.allocate(),
    "allocate pinned memory": lambda machine, _: int(
        machine.call.cudaHostAlloc(ctypes.byref(ctypes.c_void_p()), ctypes.c_size_t(SIZE), 0)
    ),
    "free": lambda machine, _: int(machine.call.cudaFree(machine.spare)),
    "free pinned memory": lambda machine, _: int(machine.call.cudaFreeHost(machine.spare_pinned)),
    "copy from unpinned memory": lambda machine, stream: machine.copy(
        machine.spare, ctypes.create_string_buffer(SIZE), stream
    ),
    "copy to unpinned memory": lambda machine, stream: machine.copy(
        ctypes.create_string_buffer(SIZE), machine.spare, stream
    ),
}


@pytest.mark.parametrize("action", FORBIDDEN)
def test_what_cuda_forbids_during_a_capture_is_refused_and_ends_it(machine: Machine, action: str) -> None:
    stream, graph = machine.stream(), ctypes.c_void_p()
    assert machine.call.cudaStreamBeginCapture(stream, 0) == 0
    try:
        assert FORBIDDEN[action](machine, stream) == CAPTURE_UNSUPPORTED
    finally:
        status = machine.call.cudaStreamEndCapture(stream, ctypes.byref(graph))
    assert status == CAPTURE_BROKEN
    assert graph.value is None


def test_a_thread_that_says_that_it_knows_may_allocate_during_a_capture(machine: Machine) -> None:
    stream, graph, mode = machine.stream(), ctypes.c_void_p(), ctypes.c_int(RELAXED)
    assert machine.call.cudaStreamBeginCapture(stream, 0) == 0
    machine.call.cudaThreadExchangeStreamCaptureMode(ctypes.byref(mode))
    status = machine.allocate()
    machine.call.cudaThreadExchangeStreamCaptureMode(ctypes.byref(mode))
    assert status == 0
    assert mode.value == RELAXED
    assert machine.call.cudaStreamEndCapture(stream, ctypes.byref(graph)) == 0


def test_no_event_leads_into_a_capture_or_out_of_it(machine: Machine) -> None:
    stream, other, graph = machine.stream(), machine.stream(), ctypes.c_void_p()
    before, captured = machine.recorded(), machine.event()
    assert machine.call.cudaStreamBeginCapture(stream, 0) == 0
    machine.call.cudaEventRecord(captured, stream)
    assert machine.call.cudaStreamWaitEvent(stream, captured, 0) == 0
    assert machine.call.cudaStreamWaitEvent(other, captured, 0) == NOT_SUPPORTED
    for ask in (machine.call.cudaEventQuery, machine.call.cudaEventSynchronize):
        assert ask(captured) == CAPTURED_EVENT
    assert machine.call.cudaStreamWaitEvent(stream, before, 0) == CAPTURE_ISOLATION
    assert machine.call.cudaStreamEndCapture(stream, ctypes.byref(graph)) == CAPTURE_BROKEN


def test_a_capture_begins_once_and_ends_once_and_never_on_the_default_stream(machine: Machine) -> None:
    stream, graph = machine.stream(), ctypes.c_void_p()
    assert machine.call.cudaStreamBeginCapture(None, 0) == CAPTURE_UNSUPPORTED
    assert machine.call.cudaStreamBeginCapture(stream, RELAXED) == NOT_SUPPORTED
    assert machine.call.cudaStreamEndCapture(stream, ctypes.byref(graph)) == ILLEGAL_STATE
    assert machine.call.cudaStreamBeginCapture(stream, 0) == 0
    assert machine.call.cudaStreamBeginCapture(stream, 0) == ILLEGAL_STATE
    assert machine.call.cudaStreamEndCapture(stream, ctypes.byref(graph)) == 0


def test_there_is_not_more_memory_than_the_device_has(machine: Machine) -> None:
    assert machine.allocate(9 << 30) == NO_MEMORY


def apart(machine: Machine, code: str) -> subprocess.CompletedProcess[str]:
    """The code's process, which has a machine of its own."""
    begin = f"import ctypes, time; call = ctypes.CDLL({str(machine.path)!r}); size = ctypes.c_size_t({SIZE})"
    memory = "memory = ctypes.c_void_p(); call.cudaMalloc(ctypes.byref(memory), size)"
    command = [sys.executable, "-c", "\n".join([begin, memory, code])]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def test_the_host_cannot_touch_device_memory_while_it_is_in_our_library(machine: Machine) -> None:
    touch = "ctypes.string_at(memory, 1)"
    fill = "call.cudaMemsetAsync(memory, 5, size, None); call.cudaDeviceSynchronize(); time.sleep(0.05)"
    assert apart(machine, f"call.pretend_enter(1)\n{fill}\ncall.pretend_enter(0)\n{touch}").returncode == 0
    assert apart(machine, f"call.pretend_enter(1)\n{fill}\n{touch}").returncode == -signal.SIGSEGV


def test_who_waits_is_told_that_something_failed(machine: Machine) -> None:
    wait = "print(call.cudaDeviceSynchronize())"
    assert apart(machine, f"{wait}\ncall.pretend_fail()\n{wait}").stdout.split() == ["0", str(LAUNCH_FAILURE)]


class Size(ctypes.Structure):
    """dim3."""

    _fields_ = (("x", ctypes.c_uint), ("y", ctypes.c_uint), ("z", ctypes.c_uint))


def launch(machine: Machine, name: bytes, block: int) -> int:
    function = ctypes.create_string_buffer(1)
    machine.call.__cudaRegisterFunction(None, function, None, name, 0, *[None] * 5)
    sizes = Size(1, 1, 1), Size(block, 1, 1)
    return int(machine.call.cudaLaunchKernel(function, *sizes, None, ctypes.c_size_t(0), None))


@pytest.mark.parametrize("block", [0, 1025])
def test_a_block_of_no_thread_or_too_many_is_refused(machine: Machine, block: int) -> None:
    assert launch(machine, b"_Z7unknownv", block) == INVALID_CONFIGURATION


def test_a_kernel_that_nobody_emulates_is_refused(machine: Machine, capfd: pytest.CaptureFixture[str]) -> None:
    assert launch(machine, b"_Z7unknownv", 1) == NOT_SUPPORTED
    assert "_Z7unknownv" in capfd.readouterr().err
