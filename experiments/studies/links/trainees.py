"""A network in training on one rank, by any of the three roads, and what each phase of a step takes.

The loop is `training/worker.py: step` itself, with a worker and an averager that look at the clock. Local steps
exchange in every step here, since their exchange overlaps with nothing: it is as long after thirty steps as after one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import cache
from typing import Protocol, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor, nn

from sparsync.experiments.averaging.header import HEADER_BYTES
from sparsync.experiments.averaging.messages import Average, Message
from sparsync.experiments.local import OuterStep
from sparsync.experiments.studies.links.cells import BATCH_SIZES, DATA, Cell
from sparsync.experiments.studies.links.travel import Travel, gathered, message_travel
from sparsync.experiments.training.averager import Averager
from sparsync.experiments.training.batches import BatchSchedule
from sparsync.experiments.training.collectives import GroupAverager
from sparsync.experiments.training.data import Dataset, load_dataset
from sparsync.experiments.training.loop import new_replica, new_worker
from sparsync.experiments.training.models import new_network, scores_and_classes
from sparsync.experiments.training.roads import Sent, Worker
from sparsync.experiments.training.runs import Run
from sparsync.experiments.training.worker import step
from sparsync.kernels.payload import SparsePayload

PHASES = ("compute", "select", "communicate", "agree", "overlapped")
"""Forward, backward and update; all that becomes a message, and back; until everyone's is there, which may be waiting;
the few numbers that the loop has every rank tell, where others are waited for first; and what of communication lies
within backward."""
STEP_SIZE = 0.01
"""No run diverges with it in the few steps of a cell."""
Result = TypeVar("Result")


class Trainee(Protocol):
    """A network in training."""

    @property
    def parameter_count(self) -> int:
        """d."""

    @property
    def bucket_count(self) -> int:
        """Into how many parts a step divides what it sends while it computes; 1 if it does not."""

    @property
    def handed_bytes(self) -> float:
        """What this rank has handed to collectives so far, as the library counts it."""

    @property
    def travel(self) -> Travel:
        """What that has put on the link."""

    @property
    def spans(self) -> Sequence[tuple[str, str, float, float]]:
        """What the last step did when, in seconds, see `spans` of `hooks/timeline.py`; empty where nothing overlaps."""

    def prepare(self, step_count: int) -> None:
        """Measure what cannot be measured in a step."""

    def train(self) -> dict[str, float]:
        """One step; its seconds as a whole, as `step`, and by phase."""


class LoopTrainee:
    """The training loop: a gradient, a selection, a collective, an update, one after the other.

    Args:
        cell: on the road "loop".
    """

    bucket_count = 1
    spans = ()

    def __init__(self, cell: Cell) -> None:
        method, size = cell.method, dist.get_world_size()
        run = Run(
            selector=method.selector,
            collective=method.collective,
            feedback=method.feedback,
            density=method.density,
            values=method.values,
            model=cell.model,
            data=DATA[cell.model],
            batch_size=BATCH_SIZES[cell.model],
            step_size=STEP_SIZE,
            step_location="outside",
            steps=cell.warm_up_steps + cell.steps,
            workers=size,
        )
        self._replica = new_replica(run, _data(run.data), worker_count=size, device="cpu")
        self._worker = TimedWorker(**vars(new_worker(run, dist.get_rank(), self._replica.model)))
        self._averager = TimedAverager(run.collective)
        self._index = 0

    @property
    def parameter_count(self) -> int:
        """d."""
        return self._replica.model.parameters.numel()

    @property
    def handed_bytes(self) -> float:
        """Of payloads; those of what is agreed on are nobody's."""
        return self._averager.handed_bytes

    @property
    def travel(self) -> Travel:
        """Of payloads and of what is agreed on."""
        return self._averager.travel

    def prepare(self, step_count: int) -> None:
        """Nothing is left to measure."""

    def train(self) -> dict[str, float]:
        """One step."""
        began = time.perf_counter()
        step(self._index, self._replica, [self._worker], self._averager)
        whole = time.perf_counter() - began
        self._index += 1
        parts = {"select": self._worker.seconds, **self._averager.seconds}
        self._worker.seconds = 0.0
        self._averager.seconds = dict.fromkeys(self._averager.seconds, 0.0)
        return {"step": whole, "compute": whole - sum(parts.values()), **parts, "overlapped": 0.0}


class TimedWorker(Worker):
    """A worker that knows how long it takes to select."""

    seconds = 0.0

    def send(self, gradient: Tensor, step_size: float, k: int) -> Sent | None:
        """As `Worker.send`."""
        began = time.perf_counter()
        sent = super().send(gradient, step_size, k)
        self.seconds += time.perf_counter() - began
        return sent


class TimedAverager(Averager):
    """The averager of a process group, which knows how long it takes, and what it puts on the link.

    Args:
        collective: key of `COLLECTIVES`.
    """

    def __init__(self, collective: str) -> None:
        self._size = dist.get_world_size()
        self._inner = GroupAverager(collective, watch=self._note)
        self.seconds = {"communicate": 0.0, "agree": 0.0}
        self.handed_bytes, self.travel = 0.0, Travel()

    def gather_rows(self, rows: Sequence[Sequence[float]]) -> list[list[float]]:
        """As `GroupAverager.gather_rows`."""
        self.travel += gathered(self._size, HEADER_BYTES)
        return self._timed("agree", lambda: self._inner.gather_rows(rows))

    def average(self, payloads: Sequence[SparsePayload]) -> Average:
        """As `GroupAverager.average`."""
        average = self._timed("communicate", lambda: self._inner.average(payloads))
        self.handed_bytes += average.sent_bytes / self._size
        return average

    def mean(self, vectors: Sequence[Tensor]) -> Tensor:
        """As `GroupAverager.mean`."""
        return self._inner.mean(vectors)

    def _note(self, message: Message) -> None:
        self.travel += message_travel(message, self._size)

    def _timed(self, phase: str, work: Callable[[], Result]) -> Result:
        began = time.perf_counter()
        found = work()
        self.seconds[phase] += time.perf_counter() - began
        return found


class Network:
    """A network with its data on this rank, for roads where PyTorch's optimiser takes the steps.

    Args:
        cell: which network.
    """

    def __init__(self, cell: Cell) -> None:
        self._data = _data(DATA[cell.model])
        torch.manual_seed(0)
        self.module = new_network(cell.model, self._data.feature_count, self._data.class_count, self._data.image_shape)
        self._schedule = BatchSchedule(
            len(self._data.train_labels),
            worker_count=dist.get_world_size(),
            batch_size=BATCH_SIZES[cell.model],
            seed=0,
        )
        self._index = 0

    @property
    def parameter_count(self) -> int:
        """d."""
        return sum(parameter.numel() for parameter in self.module.parameters())

    def loss(self, wrapped: nn.Module) -> Tensor:
        """Of this rank's next batch, by the module itself or as something has wrapped it."""
        examples = self._schedule.batch(self._index, dist.get_rank())
        self._index += 1
        scores, classes = scores_and_classes(
            wrapped(self._data.train_images[examples]), self._data.train_labels[examples]
        )
        return nn.functional.cross_entropy(scores, classes)


class LocalTrainee:
    """Local steps with a sparse outer update.

    Args:
        cell: on the road "local".
    """

    bucket_count = 1
    spans = ()

    def __init__(self, cell: Cell) -> None:
        self._network, self._every = Network(cell), cell.method.inner_steps
        module, size = self._network.module, dist.get_world_size()
        self._optimiser = torch.optim.SGD(module.parameters(), lr=STEP_SIZE)
        alone = [dist.new_group([rank]) for rank in range(size)][dist.get_rank()]
        self._outer, self._alone = _outer_step(cell, module, None), _outer_step(cell, module, alone)

    @property
    def parameter_count(self) -> int:
        """d."""
        return self._network.parameter_count

    @property
    def handed_bytes(self) -> float:
        """A step's share of an exchange, in each step."""
        return self._outer.sent_bytes / self._every

    @property
    def travel(self) -> Travel:
        """Headers are gathered, then messages, and headers again."""
        size = dist.get_world_size()
        gathering = gathered(size, 0.0).times(self._outer.step_count / self._every)
        return gathering + gathering + gathering + Travel(0.0, (size - 1) * self.handed_bytes)

    def prepare(self, step_count: int) -> None:
        """Nothing is left to measure."""

    def train(self) -> dict[str, float]:
        """One inner step, and a step's share of an exchange; what that takes in a group of this rank alone is no
        communication, though all messages are read by whoever receives them.
        """
        began = time.perf_counter()
        self._optimiser.zero_grad()
        self._network.loss(self._network.module).backward()
        self._optimiser.step()
        computed = time.perf_counter()
        before = [parameter.detach().clone() for parameter in self._network.module.parameters()]
        copied = time.perf_counter()
        self._alone.step()
        selected = time.perf_counter()
        with torch.no_grad():
            for parameter, value in zip(self._network.module.parameters(), before, strict=True):
                parameter.copy_(value)
        dist.barrier()
        exchanging = time.perf_counter()
        self._outer.step()
        exchange = (time.perf_counter() - exchanging) / self._every
        select = min((selected - copied) / self._every, exchange)
        parts = {"compute": computed - began, "select": select, "communicate": exchange - select}
        return {"step": sum(parts.values()), **parts, "agree": 0.0, "overlapped": 0.0}


def _outer_step(cell: Cell, module: nn.Module, group: dist.ProcessGroup | None) -> OuterStep:
    method = cell.method
    return OuterStep(
        module,
        inner_steps=1,
        selector=method.selector,
        density=method.density,
        decay=method.decay,
        values=method.values,
        process_group=group,
    )


@cache
def _data(source: str) -> Dataset:
    return load_dataset(source)
