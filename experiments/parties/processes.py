"""One process's part in a run of a system: it meets the others, does its part, and rank 0 writes the result.

`sparsync.experiments.learn` runs the learning systems so, and every program of `experiments/bulk` is a system too.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_type_hints

import torch
import torch.distributed as dist
import tyro

from sparsync.experiments.averaging.header import ExchangeError
from sparsync.experiments.checkpoints.together import Processes
from sparsync.experiments.command import step_progress
from sparsync.experiments.parties.party import Party, System
from sparsync.experiments.parties.talk import Books, Talk, carry, give, give_unless_lost, take, take_unless_lost
from sparsync.experiments.training.arrivals import TIMEOUT_SECONDS, require_timeout
from sparsync.experiments.training.averager import ranks_unlike_the_first
from sparsync.experiments.training.collectives import GroupAverager
from sparsync.experiments.training.groups import join, own_device
from sparsync.verify.tools.locks import held
from sparsync.verify.tools.provenance import provenance, require_output, write_json


@dataclass(frozen=True)
class SystemCommand:
    """What is asked of a system."""

    output: Path
    """where the JSON result goes; its folder must exist"""
    settings: Annotated[Any, tyro.conf.arg(name="")]
    """the system with its overrides"""
    timeout_seconds: float = TIMEOUT_SECONDS
    """how long a process waits for another that has nothing else to do, before all of them end"""
    join_seconds: float = 300.0
    """how long a process waits for all others to come"""

    def require(self) -> None:
        """Refuse what no run can have.

        Raises:
            ValueError: a time to wait that is none, or an output that cannot be written, see `require_output`.
        """
        require_timeout(self.timeout_seconds)
        require_timeout(self.join_seconds, "join_seconds")
        require_output(self.output)


Command = TypeVar("Command", bound=SystemCommand)


def with_settings(kind: type[Command], settings: type[Any]) -> type[Command]:
    """The kind of command whose settings are those of a system, for tyro."""
    annotated = {**get_type_hints(kind, include_extras=True), "settings": Annotated[settings, tyro.conf.arg(name="")]}
    own = {name: annotated[name] for name in (*kind.__annotations__, "settings")}
    return dataclass(frozen=True)(type(kind.__name__, (kind,), {"__annotations__": own}))


def take_part(name: str, system: System, command: SystemCommand) -> None:
    """Take this process's part; rank 0 writes the result. One that is lost after that is no error.

    Args:
        name: what the system is called.
        system: what is run.
        command: how.

    Raises:
        ValueError: too few processes, settings that differ between them, or whatever the system refuses.
        ExchangeError: another process is lost, or does not come in time; or rank 0 is lost before it has the result.
        FloatingPointError: the system diverged.
    """
    rank, size = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    if size < system.least_size:
        raise ValueError(f"{name} takes at least {system.least_size} processes, there are {size}")
    # Before any arithmetic, since sums depend on it.
    torch.set_num_threads(1)
    device = own_device()
    with _joined(size, device, command) as processes, ExitStack() as stack:
        said = (name, command.settings)
        if ranks := ranks_unlike_the_first(said, processes.averager):
            raise ValueError(f"ranks {ranks} were started with other settings than rank 0; here: {said}")
        processes.together(lambda: None if rank else stack.enter_context(held(command.output)))
        advance = stack.enter_context(step_progress(system.step_count(command.settings), visible=rank == 0))
        found = system.run(command.settings, Party(rank, size, device, command.timeout_seconds, advance))
        if rank == 0:
            assert found is not None, "rank 0 has the result"
            record = {"system": name, "settings": asdict(command.settings), **found}
            write_json(command.output, {**record, "provenance": provenance(process_count=size, device=device)})
            print(f"{name}: {system.line(record)} → {command.output}")  # noqa: T201


@contextmanager
def _joined(size: int, device: torch.device, command: SystemCommand) -> Iterator[Processes]:
    """In the process group for as long as the run lasts; a lone process needs none.

    Who fails leaves it only as its process ends, when its error is said.
    """
    if size == 1:
        yield Processes()
        return
    join(size, device, command.join_seconds)
    averager = GroupAverager("dense", device=device, timeout_seconds=command.timeout_seconds)
    yield Processes(dist.get_rank(), size, averager)
    carry(_parting(dist.get_rank(), size), Books(), device=device, timeout_seconds=command.timeout_seconds)
    dist.destroy_process_group()


def _parting(rank: int, size: int) -> Talk[None]:
    """None ends while another still waits for what it sent: all come to rank 0, which then lets them go.

    Patiently, since a client may have left long before, and rank 0 measures and writes before it comes. It has the
    result, and needs nobody who is lost by now.

    Raises:
        ExchangeError: rank 0 is lost, on the others.
    """
    nothing = torch.empty(0)
    if rank:
        yield from give(0, "end", nothing, is_patient=True)
        yield from take(0, "end", is_patient=True)
        return
    present = []
    for other in range(1, size):
        found = yield from take_unless_lost(other, "end", is_patient=True)
        if not isinstance(found, ExchangeError):
            present.append(other)
    for other in present:
        yield from give_unless_lost(other, "end", nothing)
