"""Start real processes: gloo ranks that call one function, or a command under torchrun."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import queue
import runpy
import signal
import subprocess
import tempfile
import time
import traceback
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import torch.distributed.run

from sparsync.experiments.checkpoints.together import Processes
from sparsync.experiments.training import launch
from sparsync.experiments.training.collectives import GroupAverager
from tests.support.paths import ROOT
from tests.support.stand_ins.forked import run_forked

DEADLINE_SECONDS = 240.0
Answer = tuple[int, bytes, str | None]
_SETTINGS = {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
_STREAMS = ("output", "errors")
# What ranks import, and the images that most train on; wrapped models import the compiler, for seconds on each rank.
_PRELOADED = [
    *("sparsync.experiments.train", "sparsync.experiments.learn", "torch.distributed.run", "torch._dynamo"),
    *("torch.distributed.fsdp", "torch.distributed.checkpoint", "tests.support.launch.embedded"),
]


@contextmanager
def joined_already(process_count: int, device: torch.device, *_: object) -> Iterator[Processes]:
    """In place of `train._joined`, on a rank of a group that is there and stays."""
    assert process_count == dist.get_world_size()
    yield Processes(dist.get_rank(), process_count, GroupAverager("dense", device=device))


def run_workers(function: Callable[[], Any], world_size: int, *, killed: Collection[int] = ()) -> list[Any]:
    """Call `function` (importable, no arguments) on every rank of a fresh gloo group; what each rank returned.

    Args:
        function: what all ranks call.
        world_size: how many.
        killed: ranks that are to be ended by SIGKILL, and answer None.

    Raises:
        RuntimeError: a rank raised, exited with another status than it should, or outlived the deadline.
    """
    context = process_context()
    answers: multiprocessing.Queue[Answer] = context.Queue()
    with tempfile.TemporaryDirectory() as folder:
        # Ranks meet through a file: no port to find free, and none that another process could take first.
        meeting = f"file://{folder}/meeting"
        processes = [
            context.Process(
                target=_rank, args=(function, rank, world_size, meeting, dict(os.environ), answers), daemon=True
            )
            for rank in range(world_size)
        ]
        for process in processes:
            process.start()
        try:
            results = _collect(answers, world_size - len(killed))
            for process in processes:
                process.join(timeout=DEADLINE_SECONDS)
        finally:
            for process in processes:
                process.kill()
    exits = [process.exitcode for process in processes]
    if exits != [-signal.SIGKILL if rank in killed else 0 for rank in range(world_size)]:
        raise RuntimeError(f"exit statuses by rank: {exits}")
    return [results.get(rank) for rank in range(world_size)]


def process_context() -> ForkServerContext:
    """Processes are forked from one that has imported torch and does nothing else: none spends seconds on that."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_PRELOADED)
    return context


def _collect(answers: multiprocessing.Queue[Answer], count: int) -> dict[int, Any]:
    results: dict[int, Any] = {}
    end = time.monotonic() + DEADLINE_SECONDS
    while len(results) < count:
        try:
            rank, result, failure = answers.get(timeout=max(0.0, end - time.monotonic()))
        except queue.Empty:
            raise RuntimeError(f"only ranks {sorted(results)} answered in {DEADLINE_SECONDS} s") from None
        if failure is not None:
            raise RuntimeError(f"rank {rank} failed:\n{failure}")
        results[rank] = pickle.loads(result)
    return results


def _rank(
    function: Callable[[], Any],
    rank: int,
    world_size: int,
    meeting: str,
    environment: Mapping[str, str],
    answers: multiprocessing.Queue[Answer],
) -> None:
    os.environ.clear()
    os.environ.update(environment)
    torch.set_num_threads(1)
    timeout = timedelta(seconds=DEADLINE_SECONDS)
    try:
        dist.init_process_group("gloo", init_method=meeting, rank=rank, world_size=world_size, timeout=timeout)
        # A rank that ends while another still connects would break that one's connection.
        dist.barrier()
        # Bytes, not tensors: a queued tensor lives in shared memory that dies with its process.
        answers.put((rank, pickle.dumps(function()), None))
    except BaseException:
        answers.put((rank, b"", traceback.format_exc()))
        raise
    finally:
        if dist.is_initialized():
            dist.destroy_process_group()


def run_module(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `python -m arguments…` from the repository's root, as a user would, and wait for its end."""
    return run_forked("-m", *arguments, environment=_SETTINGS)


def torchrun(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `torchrun --standalone arguments…` from the repository's root and wait for its end.

    The launcher alone is forked, as ranks of `run_workers` are; it starts its ranks as it always does.
    """
    command = ("--standalone", *arguments)
    (status,), output, errors = _forked(partial(torch.distributed.run.main, command), [{**os.environ, **_SETTINGS}])
    return subprocess.CompletedProcess(command, status, output, errors)


def run_program(program: Path, world_size: int) -> subprocess.CompletedProcess[str]:
    """Run a Python program on every rank as torchrun does, but forked as ranks of `run_workers` are.

    The status is that of the first rank that failed, else 0. What starting anew changes is for tests with `torchrun`.
    """
    # Held by this process, as by torchrun's agent: no rank looks for a port that is free. The stubs do not name it.
    store = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)  # type: ignore[attr-defined]
    meeting = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(store.port), "TORCHELASTIC_USE_AGENT_STORE": "True"}
    counts = {"WORLD_SIZE": str(world_size), "LOCAL_WORLD_SIZE": str(world_size)}
    ranks = [{"RANK": str(rank), "LOCAL_RANK": str(rank)} for rank in range(world_size)]
    environments = [{**os.environ, **_SETTINGS, **meeting, **counts, **rank} for rank in ranks]
    statuses, output, errors = _forked(partial(_run_as_main, program), environments)
    return subprocess.CompletedProcess([str(program)], next(filter(None, statuses), 0), output, errors)


def _run_as_main(program: Path) -> None:
    torch.set_num_threads(1)
    runpy.run_path(str(program), run_name="__main__")


def _forked(function: Callable[[], object], environments: Sequence[Mapping[str, str]]) -> tuple[list[int], str, str]:
    """Call `function` in a process for each environment, as sessions of their own: statuses, output, errors.

    Raises:
        subprocess.TimeoutExpired: one outlived the deadline; all of them, and what they started, are killed.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        processes = [
            process_context().Process(target=_redirected, args=(function, environment, folder), daemon=True)
            for environment in environments
        ]
        for process in processes:
            process.start()
        end = time.monotonic() + DEADLINE_SECONDS
        try:
            for process in processes:
                process.join(timeout=max(0.0, end - time.monotonic()))
        finally:
            for process in processes:
                if process.exitcode is None and process.pid is not None:
                    launch._kill_with_descendants(process.pid)
        statuses = [process.exitcode for process in processes]
        output, errors = (folder.joinpath(stream).read_text(encoding="utf-8") for stream in _STREAMS)
    if None in statuses:
        raise subprocess.TimeoutExpired(repr(function), DEADLINE_SECONDS, output, errors)
    return [status for status in statuses if status is not None], output, errors


def _redirected(function: Callable[[], object], environment: Mapping[str, str], folder: Path) -> None:
    """In a process whose output, and that of all that it starts, goes to files in `folder`."""
    os.setsid()
    os.chdir(ROOT)
    os.environ.clear()
    os.environ.update(environment)
    for descriptor, stream in enumerate(_STREAMS, start=1):
        with folder.joinpath(stream).open("ab") as file:
            os.dup2(file.fileno(), descriptor)
    function()
