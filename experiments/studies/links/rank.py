"""What one host does in the study of links: steps of one network by one method, and their times.

`study.py` starts this file as a module under torchrun on every host, with its cells in a file.
"""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from sparsync.experiments.hosts import Traffic, own_traffic
from sparsync.experiments.studies.links.cells import Cell, Method, Road
from sparsync.experiments.studies.links.hooked import HookTrainee
from sparsync.experiments.studies.links.trainees import LocalTrainee, LoopTrainee, Trainee

TRAINEES: dict[Road, Callable[[Cell], Trainee]] = {"loop": LoopTrainee, "hook": HookTrainee, "local": LocalTrainee}
DEADLINE = timedelta(minutes=5)


def measure(cell: Cell, traffic: Callable[[], Traffic] = own_traffic) -> dict[str, Any]:
    """This rank's times, called on every rank of a group alike.

    Args:
        cell: what is measured.
        traffic: what the interface has carried so far.

    Returns:
        `seconds`: a number for each step, of `step` as a whole and of each of `PHASES`. Of a step in the mean,
        `handed_bytes`, `sent_bytes` and `message_count` as the library counts and predicts them, and `interface` as
        counted there, which for local steps is of `inner_steps` steps. `spans` of the last step, see `Trainee`.
    """
    trainee = TRAINEES[cell.method.road](cell)
    for _ in range(cell.warm_up_steps):
        trainee.train()
    trainee.prepare(cell.steps)
    gc.collect()
    dist.barrier()
    before, handed, travelled = traffic(), trainee.handed_bytes, trainee.travel
    steps = [trainee.train() for _ in range(cell.steps)]
    # What was last sent may still wait at the interface; it is past it once others have answered.
    dist.barrier()
    carried = [after - begun for after, begun in zip(traffic(), before, strict=True)]
    sent = trainee.travel + travelled.times(-1)
    return {
        "rank": dist.get_rank(),
        "parameter_count": trainee.parameter_count,
        "bucket_count": trainee.bucket_count,
        "seconds": {name: [seconds[name] for seconds in steps] for name in steps[0]},
        "spans": trainee.spans,
        "handed_bytes": (trainee.handed_bytes - handed) / cell.steps,
        "sent_bytes": sent.sent_bytes / cell.steps,
        "message_count": sent.message_count / cell.steps,
        "interface": {name: count / cell.steps for name, count in zip(Traffic._fields, carried, strict=True)},
    }


def read_cells(text: str) -> list[Cell]:
    """The cells that `written_cells` wrote."""
    return [Cell(**{**fields, "method": Method(**fields["method"])}) for fields in json.loads(text)]


def written_cells(cells: Sequence[Cell]) -> str:
    """Cells as JSON."""
    return json.dumps([asdict(cell) for cell in cells])


def main() -> None:
    """Measure cells: `rank.py FOLDER`, where `FOLDER/cells.json` says which; the results go beside it."""
    folder = Path(sys.argv[1])
    cells = read_cells(folder.joinpath("cells.json").read_text(encoding="utf-8"))
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=DEADLINE)
    try:
        results = []
        for cell in cells:
            results.append(measure(cell))
            # A network that outlives the process group may wait for it for ever.
            gc.collect()
            dist.barrier()
        folder.joinpath(f"results-{dist.get_rank()}.json").write_text(json.dumps(results), encoding="utf-8")
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
