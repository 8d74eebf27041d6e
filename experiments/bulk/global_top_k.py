"""The largest k entries over all ranks, found in several ways on real processes: bytes, rounds, seconds and errors.

`torchrun --nproc-per-node 4 -m sparsync.experiments.bulk.global_top_k --output FILE --dimension 1000000 --density 0.01`

There are two meanings. Top-k *of shards*: each rank has a part of one vector, as of a sharded gradient, and ends with
those of its entries that are selected (`shard_top_k.py`: exactly, in a fixed number of rounds of regular samples).
Top-k *of the mean*: each has a whole vector, and what is wanted are entries of the mean, of which gTop-k finds some
(`gtop_k.py`), a reduce-scatter all, and what each selects alone others (`mean_top_k.py`). `top_k_comparison.py` sets
them side by side; with one process there is one rank.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import torch
import torch.distributed as dist
import tyro
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from sparsync.experiments.bulk.supersteps import GroupRanks, LocalRanks, Ranks
from sparsync.experiments.bulk.top_k_comparison import METHODS, Comparison, compare
from sparsync.experiments.checkpoints.together import Processes
from sparsync.experiments.command import exit_on_bad_input, step_progress
from sparsync.experiments.training.arrivals import TIMEOUT_SECONDS, require_timeout
from sparsync.experiments.training.averager import ranks_unlike_the_first
from sparsync.experiments.training.collectives import GroupAverager
from sparsync.experiments.training.groups import join, own_device
from sparsync.experiments.training.record import readable_size
from sparsync.verify.tools.locks import held
from sparsync.verify.tools.provenance import provenance, require_output, write_json


@dataclass(frozen=True)
class TopKCommand:
    """A parsed command line."""

    output: Path
    """where the JSON result goes; its folder must exist"""
    settings: Annotated[Comparison, tyro.conf.arg(name="")]
    """what is compared"""
    timeout_seconds: float = TIMEOUT_SECONDS
    """how long a process waits for the others in a superstep, before all of them end"""
    join_seconds: float = 300.0
    """how long a process waits for all others to come"""


def read_arguments(arguments: Sequence[str]) -> TopKCommand:
    """Parse the command line.

    Raises:
        ValueError: a setting out of range, or an output that cannot be written, see `require_output`.
        SystemExit: malformed arguments, after tyro's message; or `--help`.
    """
    command = tyro.cli(
        TopKCommand,
        prog="torchrun -m sparsync.experiments.bulk.global_top_k",
        description=f"Ways to the k largest entries over all ranks: {', '.join(METHODS)}.",
        args=list(arguments),
        default=TopKCommand(output=tyro.MISSING, settings=Comparison()),
    )
    require_timeout(command.timeout_seconds)
    require_timeout(command.join_seconds, "join_seconds")
    require_output(command.output)
    return command


def global_top_k(command: TopKCommand) -> None:
    """Take this process's part; rank 0 writes the result and prints it as a table.

    Raises:
        ValueError: settings that differ between processes, or another process writes the same output.
        ExchangeError: another process is lost, or does not come in time.
    """
    rank, size = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    # Before any arithmetic, since sums depend on it.
    torch.set_num_threads(1)
    device = own_device()
    with _joined(size, device, command) as (processes, ranks), ExitStack() as stack:
        if others := ranks_unlike_the_first(command.settings, processes.averager):
            raise ValueError(f"ranks {others} were started with other settings than rank 0; here: {command.settings}")
        processes.together(lambda: None if rank else stack.enter_context(held(command.output)))
        total = len(command.settings.vectors) * len(METHODS)
        advance = stack.enter_context(step_progress(total, visible=rank == 0, title="comparisons"))
        rows = compare(command.settings, ranks, device=device, advance=advance)
        if rank == 0:
            record = {"settings": asdict(command.settings), "rows": rows}
            write_json(command.output, {**record, "provenance": provenance(process_count=size, device=device)})
            Console().print(table(rows))
            print(f"global_top_k: {len(rows)} rows → {command.output}")  # noqa: T201


def table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """A line for each row; the excess is in the share of energy that is left, beyond that of the k largest."""
    shown = Table(title=f"Top-k over {rows[0]['rank_count']} ranks", box=SIMPLE)
    for heading in ("vectors", "method", "k", "count", "excess", "sent", "steps", "seconds"):
        is_name = heading in ("vectors", "method")
        shown.add_column(heading, justify="left" if is_name else "right", no_wrap=not is_name)
    for row in rows:
        shown.add_row(
            *(row["vectors"], row["method"], str(row["k"]), str(row["count"])),
            *(f"{row['excess_share']:+.2%}", readable_size(row["sent_bytes"])),
            *(str(row["superstep_count"]), f"{row['seconds']:.4f}"),
        )
    return shown


@contextmanager
def _joined(size: int, device: torch.device, command: TopKCommand) -> Iterator[tuple[Processes, Ranks]]:
    """In the process group for as long as the comparison lasts; a lone process needs none.

    Who fails leaves it only as its process ends, when its error is said.
    """
    if size == 1:
        yield Processes(), LocalRanks(1)
        return
    join(size, device, command.join_seconds)
    averager = GroupAverager("dense", device=device, timeout_seconds=command.timeout_seconds)
    processes = Processes(dist.get_rank(), size, averager)
    yield processes, GroupRanks(timeout_seconds=command.timeout_seconds)
    dist.destroy_process_group()


def main() -> None:
    """Run the command line."""
    with exit_on_bad_input():
        global_top_k(read_arguments(sys.argv[1:]))


if __name__ == "__main__":
    main()
