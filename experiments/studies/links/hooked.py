"""A network under DistributedDataParallel on one rank, by this library's hook or by one of PyTorch's, phase by phase.

PyTorch's hooks are watched from outside: from the call of a hook until the means are there it communicates, and what
it takes in a group of this rank alone, beyond computing, is selection. PyTorch looks at the annotations of a hook, so
this file has them as objects.
"""

import time
import warnings
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch._C._distributed_c10d import GradBucket
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
from torch.nn.parallel import DistributedDataParallel

from sparsync.experiments.ddp import ErrorFeedbackState, error_feedback_hook
from sparsync.experiments.feedbacks.ef14 import Ef14
from sparsync.experiments.hooks.watching import Content, Watch, WatchedStep
from sparsync.experiments.studies.hooks.timeline import Timeline, communication_seconds, overlapped_seconds, spans
from sparsync.experiments.studies.links.cells import Cell
from sparsync.experiments.studies.links.trainees import STEP_SIZE, Network
from sparsync.experiments.studies.links.travel import Travel, gathered, reduced
from sparsync.experiments.training.low_rank import largest_rank
from sparsync.kernels.selection import target_count

Hook = Callable[[Any, GradBucket], torch.futures.Future[torch.Tensor]]

SELECTING = ("prepare", "check", "select", "pack", "unpack")
"""Phases of a passage that make a message, or read one."""
_POWERSGD_REDUCTIONS = 3
"""Of a bucket: what goes as it is, P, and Q."""
_NUMBERS_PER_ENTRY = 2
_WARM_UP_STEPS = 4
"""PowerSGD begins after two, and takes its memory in the third."""
_WHOLE_MIB = 2.0**20
"""Room for all gradients: PowerSGD of PyTorch 2.13 waits in the threads that gloo sends with. There are two, and of two
buckets each may wait in one, for what neither sends any more."""


@dataclass(eq=False)
class WatchedHook:
    """The state of a hook of PyTorch's that is watched.

    Args:
        hook: called with `state` and the bucket.
        state: its own.
        watch: is told when it is called, and when means have arrived.
        step: of the run, from 0.
    """

    hook: Hook
    state: Any
    watch: Watch
    step: int = 0


def watched_hook(state: WatchedHook, bucket: GradBucket) -> torch.futures.Future[torch.Tensor]:
    """What the hook inside does, with time stamps."""
    state.watch.ready(state.step, is_first=bucket.index() == 0)
    size = bucket.buffer().nbytes
    content = Content([], [], [], [], [], size, 0, size, dist.get_world_size(), Ef14("outside"))
    passage = state.watch.passage(content, [bucket.index()])
    state.step += bucket.is_last()

    def arrived(done: torch.futures.Future[torch.Tensor]) -> torch.Tensor:
        passage.end("communicate")
        return done.value()

    return state.hook(state.state, bucket).then(arrived)


@dataclass(eq=False)
class Wrapped:
    """A network under DistributedDataParallel with its hook and its optimiser.

    Args:
        ddp: of the network.
        optimiser: of its parameters.
        watch: of the hook.
        watched: what the watch has seen.
        power: PowerSGD's state, where that is the hook.
    """

    ddp: DistributedDataParallel
    optimiser: torch.optim.Optimizer
    watch: Watch
    watched: list[WatchedStep]
    power: powerSGD_hook.PowerSGDState | None = None

    def seconds(self, network: Network) -> tuple[float, float, float]:
        """When a step began, when its backward did, and when it ended."""
        began = time.perf_counter()
        self.optimiser.zero_grad()
        loss = network.loss(self.ddp)
        backward = time.perf_counter()
        loss.backward()
        self.optimiser.step()
        return began, backward, time.perf_counter()


def wrapped(cell: Cell, module: nn.Module, group: dist.ProcessGroup | None) -> Wrapped:
    """The cell's hook on a network.

    Args:
        cell: on the road "hook".
        module: with parameters of all ranks alike.
        group: who takes part; None is everyone.
    """
    method, watched = cell.method, list[WatchedStep]()
    size, watch, power = cell.bucket_mib, Watch(watched.append), None
    if method.exchange == "powersgd":
        size, power = _WHOLE_MIB, _power_state(module, method.density, group)
    with warnings.catch_warnings():
        # PyTorch 2.13 has another name for it, which older ones do not know.
        warnings.simplefilter("ignore", FutureWarning)
        # Buffers that every forward sends anew would be on the link too.
        ddp = DistributedDataParallel(module, bucket_cap_mb=size, broadcast_buffers=False, process_group=group)
    if method.exchange == "error_feedback":
        state = ErrorFeedbackState(
            ddp,
            selector=method.selector,
            density=method.density,
            feedback=method.feedback,
            values=method.values,
            process_group=group,
            telemetry=watch,
        )
        ddp.register_comm_hook(state, error_feedback_hook)
    else:
        hooks: dict[str, tuple[Hook, Any]] = {
            "dense": (default_hooks.allreduce_hook, group),
            "dense_bfloat16": (default_hooks.bf16_compress_hook, group),
            "powersgd": (powerSGD_hook.powerSGD_hook, power),
        }
        ddp.register_comm_hook(WatchedHook(*hooks[method.exchange], watch), watched_hook)
    return Wrapped(ddp, torch.optim.SGD(ddp.parameters(), lr=STEP_SIZE), watch, watched, power)


def _power_state(module: nn.Module, density: float, group: dist.ProcessGroup | None) -> powerSGD_hook.PowerSGDState:
    """PowerSGD that begins after two steps, as early as it may, with the largest rank that sends no more than Top-k."""
    shapes = [tuple(parameter.shape) for parameter in module.parameters()]
    dimension = sum(parameter.numel() for parameter in module.parameters())
    rank = largest_rank(shapes, _NUMBERS_PER_ENTRY * target_count(density, dimension))
    return powerSGD_hook.PowerSGDState(group, matrix_approximation_rank=rank, start_powerSGD_iter=2)


@dataclass(eq=False)
class _Alone:
    """Seconds of steps on this rank without the others, each to be used once."""

    compute: list[float] = field(default_factory=list)
    select: list[float] = field(default_factory=list)


class HookTrainee:
    """A network under DistributedDataParallel.

    Args:
        cell: on the road "hook".
    """

    def __init__(self, cell: Cell) -> None:
        self._cell, self._network, self._alone = cell, Network(cell), _Alone()
        self._own_group = [dist.new_group([rank]) for rank in range(dist.get_world_size())][dist.get_rank()]
        self._wrapped = wrapped(cell, self._network.module, None)
        self.handed_bytes, self.travel, self.bucket_count = 0.0, Travel(), 0
        self.spans: list[tuple[str, str, float, float]] = []

    @property
    def parameter_count(self) -> int:
        """d."""
        return self._network.parameter_count

    def prepare(self, step_count: int) -> None:
        """Steps of a copy on this rank alone: without an exchange, and by PyTorch's hook."""
        alone = wrapped(self._cell, deepcopy(self._network.module), self._own_group)
        for _ in range(_WARM_UP_STEPS):
            alone.seconds(self._network)
        with alone.ddp.no_sync():
            for _ in range(step_count):
                began, _, ended = alone.seconds(self._network)
                self._alone.compute.append(ended - began)
        if self._cell.method.exchange != "error_feedback":
            for computing in self._alone.compute:
                began, _, ended = alone.seconds(self._network)
                self._alone.select.append(max(0.0, ended - began - computing))

    def train(self) -> dict[str, float]:
        """One step; computing is that of a step on this rank alone."""
        numbers = self._power_numbers()
        began, backward, ended = self._wrapped.seconds(self._network)
        self._wrapped.watch.close()
        timeline = Timeline(began, backward, ended, self._wrapped.watched.pop())
        self.spans = [(phase, bucket, start - began, end - began) for phase, bucket, start, end in spans(timeline)]
        self._count(timeline.watched, self._power_numbers() - numbers)
        spent = [passage.seconds() for passage in timeline.watched.passages]
        selecting = sum(seconds[phase] for seconds in spent for phase in SELECTING)
        return {
            "step": ended - began,
            "compute": self._alone.compute.pop() if self._alone.compute else 0.0,
            "select": self._alone.select.pop() if self._alone.select else selecting,
            "communicate": communication_seconds(timeline),
            "agree": 0.0,
            "overlapped": overlapped_seconds(timeline),
        }

    def _power_numbers(self) -> int:
        power = self._wrapped.power
        return 0 if power is None else int(power.total_numel_after_compression)

    def _count(self, step: WatchedStep, power_numbers: int) -> None:
        """Note what a step has handed to collectives."""
        size, passages = dist.get_world_size(), step.passages
        self.bucket_count = len(step.ready)
        if self._wrapped.power is not None:
            self.handed_bytes += 4 * power_numbers
            reductions = _POWERSGD_REDUCTIONS * len(passages)
            self.travel += reduced(size, 4 * power_numbers / reductions).times(reductions)
            return
        share = 0.5 if self._cell.method.exchange == "dense_bfloat16" else 1.0
        for content in (passage.content for passage in passages):
            self.handed_bytes += content.packed_bytes + share * content.reduced_bytes
            if content.packed_bytes:
                self.travel += gathered(size, content.packed_bytes)
            if content.reduced_bytes:
                self.travel += reduced(size, share * content.reduced_bytes)
