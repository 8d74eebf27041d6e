"""Learning systems around the core, on real processes: second-order, split, federated, self-paced.

`torchrun --nproc-per-node 4 -m sparsync.experiments.learn --system kfac --output FILE`: the settings of the system are
its options, `--help` lists them. Each run says what it sent, and what Top-k made of it where it was asked for.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import torch
import torch.distributed as dist
import tyro

from sparsync.experiments.averaging.header import ExchangeError
from sparsync.experiments.checkpoints.together import Processes
from sparsync.experiments.command import exit_on_bad_input, step_progress
from sparsync.experiments.learning.party import Party, System
from sparsync.experiments.learning.registry import SYSTEMS
from sparsync.experiments.learning.talk import Books, Talk, carry, give, give_unless_lost, take, take_unless_lost
from sparsync.experiments.training.arrivals import TIMEOUT_SECONDS, require_timeout
from sparsync.experiments.training.averager import ranks_unlike_the_first
from sparsync.experiments.training.collectives import GroupAverager
from sparsync.experiments.training.groups import join, own_device
from sparsync.verify.tools.locks import held
from sparsync.verify.tools.provenance import provenance, require_output, write_json


@dataclass(frozen=True)
class LearnCommand:
    """A parsed command line."""

    system: str
    """key of SYSTEMS"""
    output: Path
    """where the JSON result goes; its folder must exist"""
    settings: Annotated[Any, tyro.conf.arg(name="")]
    """the system with its overrides"""
    timeout_seconds: float = TIMEOUT_SECONDS
    """how long a process waits for another that has nothing else to do, before all of them end"""
    join_seconds: float = 300.0
    """how long a process waits for all others to come"""


def read_arguments(arguments: Sequence[str]) -> LearnCommand:
    """Parse the command line.

    Raises:
        ValueError: unknown system, a setting out of range, or an output that cannot be written, see `require_output`.
        SystemExit: malformed arguments, after tyro's message; or `--help`.
    """
    scout = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    scout.add_argument("--system")
    name = scout.parse_known_args(arguments)[0].system
    if name is not None and name not in SYSTEMS:
        raise ValueError(f"unknown system {name!r}; known: {', '.join(SYSTEMS)}")
    shown = next(iter(SYSTEMS)) if name is None else name
    typed = _typed(SYSTEMS[shown])
    command = tyro.cli(
        typed,
        prog="torchrun -m sparsync.experiments.learn",
        description=f"Learning systems: {_listed()}. The settings below are those of {shown}.",
        args=list(arguments),
        default=typed(system=name or tyro.MISSING, output=tyro.MISSING, settings=SYSTEMS[shown].settings()),
    )
    if command.system != name:
        raise ValueError(f"write --system {command.system} in full, so that its settings are found")
    require_timeout(command.timeout_seconds)
    require_timeout(command.join_seconds, "join_seconds")
    require_output(command.output)
    return command


def learn(command: LearnCommand) -> None:
    """Take this process's part; rank 0 writes the result. One that is lost after that is no error.

    Raises:
        ValueError: too few processes, settings that differ between them, or whatever the system refuses.
        ExchangeError: another process is lost, or does not come in time; or rank 0 is lost before it has the result.
        FloatingPointError: the system diverged.
    """
    system = SYSTEMS[command.system]
    rank, size = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    if size < system.least_size:
        raise ValueError(f"{command.system} takes at least {system.least_size} processes, there are {size}")
    # Before any arithmetic, since sums depend on it.
    torch.set_num_threads(1)
    device = own_device()
    with _joined(size, device, command) as processes, ExitStack() as stack:
        said = (command.system, command.settings)
        if ranks := ranks_unlike_the_first(said, processes.averager):
            raise ValueError(f"ranks {ranks} were started with other settings than rank 0; here: {said}")
        processes.together(lambda: None if rank else stack.enter_context(held(command.output)))
        advance = stack.enter_context(step_progress(system.step_count(command.settings), visible=rank == 0))
        found = system.run(command.settings, Party(rank, size, device, command.timeout_seconds, advance))
        if rank == 0:
            assert found is not None, "rank 0 has the result"
            record = {"system": command.system, "settings": asdict(command.settings), **found}
            write_json(command.output, {**record, "provenance": provenance(process_count=size, device=device)})
            print(f"{command.system}: {system.line(record)} → {command.output}")  # noqa: T201


@contextmanager
def _joined(size: int, device: torch.device, command: LearnCommand) -> Iterator[Processes]:
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


def _typed(system: System) -> type[LearnCommand]:
    """The command with the settings of this system."""
    kind: Any = Annotated[system.settings, tyro.conf.arg(name="")]
    annotated = {**get_type_hints(LearnCommand, include_extras=True), "settings": kind}
    return dataclass(frozen=True)(type("LearnCommand", (LearnCommand,), {"__annotations__": annotated}))


def _listed() -> str:
    return "; ".join(f"{name}, {system.summary}" for name, system in SYSTEMS.items())


def main() -> None:
    """Run the command line."""
    with exit_on_bad_input():
        learn(read_arguments(sys.argv[1:]))


if __name__ == "__main__":
    main()
