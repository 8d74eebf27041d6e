"""The pretend GPU keeps what CUDA promises on order and refuses what CUDA forbids: what a rehearsal rests on."""

from __future__ import annotations

import ctypes
import functools
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests import pretend_gpu

NOT_READY, NOT_SUPPORTED, CAPTURE_UNSUPPORTED, CAPTURE_BROKEN = 600, 801, 900, 901
NON_BLOCKING, TO_ANY = 1, 4  # cudaStreamNonBlocking, cudaMemcpyDefault
SIZE = 1000
PATIENCE = 30.0  # seconds, after which the test has failed


class Machine:
    """The runtime's calls; one that is refused raises no exception, its status is the result."""

    def __init__(self, folder: Path) -> None:
        self.call = ctypes.CDLL(str(pretend_gpu.built_runtime(folder)))
        self._kept: list[object] = []

    def _made(self, create: Callable[..., int], *arguments: object) -> ctypes.c_void_p:
        made = ctypes.c_void_p()
        assert create(ctypes.byref(made), *arguments) == 0
        return made

    def stream(self) -> ctypes.c_void_p:
        return self._made(self.call.cudaStreamCreateWithPriority, NON_BLOCKING, 0)

    def event(self) -> ctypes.c_void_p:
        return self._made(self.call.cudaEventCreate)

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


def test_memory_is_freed_when_all_streams_are_done(
    machine: Machine, stream: ctypes.c_void_p, gate: threading.Event
) -> None:
    target = machine.memory()
    threading.Timer(0.2, gate.set).start()
    machine.put(stream, lambda: gate.wait(PATIENCE))
    assert machine.call.cudaFree(target) == 0
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
    "wait for an event": lambda machine, _: int(machine.call.cudaEventSynchronize(machine.event())),
    "allocate": lambda machine, _: int(machine.call.cudaMalloc(ctypes.byref(ctypes.c_void_p()), ctypes.c_size_t(8))),
    "copy from unpinned memory": lambda machine, stream: machine.copy(
        machine.pinned(), ctypes.create_string_buffer(SIZE), stream
    ),
}


@pytest.mark.parametrize("action", FORBIDDEN)
def test_what_cuda_forbids_during_a_capture_is_refused_and_ends_it(machine: Machine, action: str) -> None:
    stream, graph = machine.stream(), ctypes.c_void_p()
    assert machine.call.cudaStreamBeginCapture(stream, 0) == 0
    assert FORBIDDEN[action](machine, stream) == CAPTURE_UNSUPPORTED
    assert machine.call.cudaStreamEndCapture(stream, ctypes.byref(graph)) == CAPTURE_BROKEN
    assert graph.value is None


def test_the_default_stream_cannot_be_captured(machine: Machine) -> None:
    assert machine.call.cudaStreamBeginCapture(None, 0) == CAPTURE_UNSUPPORTED


def test_every_wait_of_the_host_is_counted(machine: Machine, stream: ctypes.c_void_p) -> None:
    before = machine.call.pretend_wait_count()
    machine.wait(stream)
    machine.call.cudaDeviceSynchronize()
    assert machine.call.pretend_wait_count() == before + 2


def test_a_kernel_that_nobody_emulates_is_refused(machine: Machine, capfd: pytest.CaptureFixture[str]) -> None:
    class Size(ctypes.Structure):
        _fields_ = (("x", ctypes.c_uint), ("y", ctypes.c_uint), ("z", ctypes.c_uint))

    function, name = ctypes.create_string_buffer(1), b"_Z7unknownv"
    nothing = [None] * 5
    machine.call.__cudaRegisterFunction(None, function, None, name, 0, *nothing)
    status = machine.call.cudaLaunchKernel(function, Size(1, 1, 1), Size(1, 1, 1), None, ctypes.c_size_t(0), None)
    assert status == NOT_SUPPORTED
    assert name.decode() in capfd.readouterr().err
