"""A network under DistributedDataParallel on one rank, by this library's hook or by one of PyTorch's, phase by phase.

PyTorch's hooks are watched from outside: what a call of the hook takes is selection, and what follows until the means
are there is communication, in which PowerSGD computes as well. PyTorch looks at the annotations of a hook, so this file
has them as objects.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
from torch.nn.parallel import DistributedDataParallel

from sparsync.experiments.ddp import ErrorFeedbackState, error_feedback_hook
from sparsync.experiments.feedbacks.ef14 import Ef14
from sparsync.experiments.hooks.watching import Content, Watch, WatchedStep
from sparsync.experiments.studies.hooks.timeline import Timeline, communication_seconds, overlapped_seconds
from sparsync.experiments.studies.links.cells import Cell
from sparsync.experiments.studies.links.trainees import STEP_SIZE, Network
from sparsync.experiments.studies.links.travel import Travel, gathered, reduced
from sparsync.experiments.training.low_rank import largest_rank
from sparsync.kernels.selection import target_count

SELECTING = ("prepare", "check", "select", "pack", "unpack")
"""Phases of a passage that make a message, or read one."""
_POWERSGD_REDUCTIONS = 3
"""Of a bucket: what goes as it is, P, and Q."""
_NUMBERS_PER_ENTRY = 2


@dataclass(eq=False)
class WatchedHook:
    """The state of a hook of PyTorch's that is watched.

    Args:
        hook: called with `state` and the bucket.
        state: its own.
        watch: is told when it is called, and when means have arrived.
        step: of the run, from 0.
    """

    hook: Callable[[Any, dist.GradBucket], torch.futures.Future[torch.Tensor]]
    state: Any
    watch: Watch
    step: int = 0


def watched_hook(state: WatchedHook, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
    """What the hook inside does, with time stamps."""
    state.watch.ready(state.step, is_first=bucket.index() == 0)
    size = bucket.buffer().nbytes
    content = Content([], [], [], [], [], size, 0, size, dist.get_world_size(), Ef14("outside"))
    passage = state.watch.passage(content, [bucket.index()])
    future = state.hook(state.state, bucket)
    passage.end("pack")
    state.step += bucket.is_last()

    def arrived(done: torch.futures.Future[torch.Tensor]) -> torch.Tensor:
        passage.end("communicate")
        return done.value()

    return future.then(arrived)


class HookTrainee:
    """A network under DistributedDataParallel.

    Args:
        cell: on the road "hook".
    """

    def __init__(self, cell: Cell) -> None:
        self._network, self._exchange = Network(cell), cell.method.exchange
        # Buffers that every forward sends anew would be on the link too.
        self._ddp = DistributedDataParallel(
            self._network.module, bucket_cap_mb=cell.bucket_mib, broadcast_buffers=False
        )
        self._watched: list[WatchedStep] = []
        self._watch = Watch(self._watched.append)
        self._power = _power_state(cell, self._network) if self._exchange == "powersgd" else None
        if self._exchange == "error_feedback":
            self._ddp.register_comm_hook(_feedback_state(cell, self._ddp, self._watch), error_feedback_hook)
        else:
            self._ddp.register_comm_hook(WatchedHook(*self._torch_hook(), self._watch), watched_hook)
        self._optimiser = torch.optim.SGD(self._ddp.parameters(), lr=STEP_SIZE)
        self._computing: list[float] = []
        self.handed_bytes, self.travel, self.bucket_count = 0.0, Travel(), 0

    @property
    def parameter_count(self) -> int:
        """d."""
        return self._network.parameter_count

    def prepare(self, step_count: int) -> None:
        """Steps without an exchange, to know what computing takes."""
        before = [parameter.detach().clone() for parameter in self._ddp.parameters()]
        with self._ddp.no_sync():
            for _ in range(step_count):
                began = time.perf_counter()
                self._optimiser.zero_grad()
                self._network.loss(self._ddp).backward()
                self._optimiser.step()
                self._computing.append(time.perf_counter() - began)
        # Ranks have gone apart meanwhile.
        with torch.no_grad():
            for parameter, value in zip(self._ddp.parameters(), before, strict=True):
                parameter.copy_(value)

    def train(self) -> dict[str, float]:
        """One step; computing is that of a step without an exchange."""
        began, numbers = time.perf_counter(), self._power_numbers()
        self._optimiser.zero_grad()
        loss = self._network.loss(self._ddp)
        backward = time.perf_counter()
        loss.backward()
        self._optimiser.step()
        ended = time.perf_counter()
        self._watch.close()
        timeline = Timeline(began, backward, ended, self._watched.pop())
        self._count(timeline.watched, self._power_numbers() - numbers)
        spent = [passage.seconds() for passage in timeline.watched.passages]
        return {
            "step": ended - began,
            "compute": self._computing.pop() if self._computing else 0.0,
            "select": sum(seconds[phase] for seconds in spent for phase in SELECTING),
            "communicate": communication_seconds(timeline),
            "agree": 0.0,
            "overlapped": overlapped_seconds(timeline),
        }

    def _torch_hook(self) -> tuple[Callable[..., Any], Any]:
        if self._power is not None:
            return powerSGD_hook.powerSGD_hook, self._power
        hooks = {"dense": default_hooks.allreduce_hook, "dense_bfloat16": default_hooks.bf16_compress_hook}
        return hooks[self._exchange], None

    def _power_numbers(self) -> int:
        return 0 if self._power is None else int(self._power.total_numel_after_compression)

    def _count(self, step: WatchedStep, power_numbers: int) -> None:
        """Note what a step has handed to collectives."""
        size, passages = dist.get_world_size(), step.passages
        self.bucket_count = len(step.ready)
        if self._power is not None:
            self.handed_bytes += 4 * power_numbers
            messages = reduced(size, 0.0).times(_POWERSGD_REDUCTIONS * len(passages))
            self.travel += messages + reduced(size, 4 * power_numbers)
            return
        share = 0.5 if self._exchange == "dense_bfloat16" else 1.0
        for content in (passage.content for passage in passages):
            self.handed_bytes += content.packed_bytes + share * content.reduced_bytes
            if content.packed_bytes:
                self.travel += gathered(size, content.packed_bytes)
            if content.reduced_bytes:
                self.travel += reduced(size, share * content.reduced_bytes)


def _feedback_state(cell: Cell, ddp: DistributedDataParallel, watch: Watch) -> ErrorFeedbackState:
    method = cell.method
    return ErrorFeedbackState(
        ddp,
        selector=method.selector,
        density=method.density,
        feedback=method.feedback,
        values=method.values,
        telemetry=watch,
    )


def _power_state(cell: Cell, network: Network) -> powerSGD_hook.PowerSGDState:
    """PowerSGD that begins after two steps, as early as it may, with the largest rank that sends no more than Top-k."""
    shapes = [tuple(parameter.shape) for parameter in network.module.parameters()]
    numbers = _NUMBERS_PER_ENTRY * target_count(cell.method.density, network.parameter_count)
    rank = largest_rank(shapes, numbers)
    return powerSGD_hook.PowerSGDState(None, matrix_approximation_rank=rank, start_powerSGD_iter=2)
