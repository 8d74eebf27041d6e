"""Start real processes: gloo ranks that call one function, or a command under torchrun."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import queue
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import timedelta
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import torch.distributed.run

from sparsync.experiments.training import launch
from sparsync.experiments.training.launch import run_to_end
from tests.support.paths import ROOT

DEADLINE_SECONDS = 240.0
Answer = tuple[int, bytes, str | None]
_SETTINGS = {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
_STREAMS = ("output", "errors")
# What ranks import; wrapped models and optimisers import the compiler, for seconds on each rank.
_PRELOADED = [
    *("sparsync.experiments.train", "torch.distributed.run", "torch._dynamo"),
    *("torch.distributed.fsdp", "torch.distributed.checkpoint"),
]


def run_workers(function: Callable[[], Any], world_size: int, *, killed: Collection[int] = ()) -> list[Any]:
    """Call `function` (importable, no arguments) on every rank of a fresh gloo group; what each rank returned.

    Args:
        function: what all ranks call.
        world_size: how many.
        killed: ranks that are to be ended by SIGKILL, and answer None.

    Raises:
        RuntimeError: a rank raised, exited with another status than it should, or outlived the deadline.
    """
    context = _context()
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


def _context() -> ForkServerContext:
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
    return run_to_end(
        [sys.executable, "-m", *arguments], timeout_seconds=DEADLINE_SECONDS, environment=_SETTINGS, folder=ROOT
    )


def torchrun(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `torchrun --standalone arguments…` from the repository's root and wait for its end.

    The launcher alone is forked, as ranks of `run_workers` are; it starts its ranks as it always does.
    """
    command = ("--standalone", *arguments)
    with tempfile.TemporaryDirectory() as name:
        folder, environment = Path(name), {**os.environ, **_SETTINGS}
        process = _context().Process(target=_launch, args=(command, environment, folder), daemon=True)
        process.start()
        try:
            process.join(timeout=DEADLINE_SECONDS)
        finally:
            if process.exitcode is None and process.pid is not None:
                launch._kill_with_descendants(process.pid)
        if process.exitcode is None:
            raise subprocess.TimeoutExpired(command, DEADLINE_SECONDS)
        output, errors = (folder.joinpath(stream).read_text(encoding="utf-8") for stream in _STREAMS)
    return subprocess.CompletedProcess(command, process.exitcode, output, errors)


def _launch(command: Sequence[str], environment: Mapping[str, str], folder: Path) -> None:
    """As the launcher's process, whose output and that of all its ranks goes to files in `folder`."""
    os.setsid()
    os.chdir(ROOT)
    os.environ.clear()
    os.environ.update(environment)
    for descriptor, stream in enumerate(_STREAMS, start=1):
        with folder.joinpath(stream).open("ab") as file:
            os.dup2(file.fileno(), descriptor)
    torch.distributed.run.main(command)
