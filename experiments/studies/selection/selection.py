"""What does selection cost? Time and count of all `SELECTORS`, and the counting passes of `gaussian_k`, per law and d.

`python -m sparsync.experiments.studies.selection.selection --profile quick --output FILE`
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import tyro
from rich.console import Console
from rich.table import Table
from torch import Tensor

from sparsync.experiments.command import exit_on_bad_input, step_progress
from sparsync.experiments.studies.profiles import PROFILES, ProfileName
from sparsync.experiments.studies.selection.contraction import LAWS
from sparsync.experiments.training.seeding import random_stream
from sparsync.kernels.magnitude import magnitude_bit_width
from sparsync.kernels.reference import gaussian_k_search
from sparsync.kernels.selection import SELECTORS, target_count
from sparsync.verify.tools.provenance import provenance, require_output, write_json

_DENSITY = 0.001
REPEAT_COUNT = 5
"""Calls of each selector; each draws from a stream of its own, and the count is the last one's."""


@dataclass(frozen=True)
class SelectionCommand:
    """Time every selector on every law and dimension of a profile."""

    output: Path
    """where the JSON goes"""
    profile: ProfileName = "quick"
    """how large the vectors are"""


def run_selection(
    profile_name: ProfileName, *, seed: int = 0, advance: Callable[[], None] = lambda: None
) -> dict[str, Any]:
    """Measure all selectors; the study's JSON.

    Args:
        profile_name: key of `PROFILES`.
        seed: of the draws.
        advance: called after each vector, of which there are `vector_count(profile_name)`.
    """
    torch.set_num_threads(1)
    rows = []
    for dimension in PROFILES[profile_name].selection_dimensions:
        for law, draw in LAWS.items():
            vector = draw(dimension, random_stream(seed, law)).float()
            rows += [_measured(name, law, vector) for name in SELECTORS]
            advance()
    return {
        "profile": profile_name,
        "seed": seed,
        "density": _DENSITY,
        "rows": rows,
        "provenance": provenance(process_count=1),
    }


def vector_count(profile_name: ProfileName) -> int:
    """How many vectors the study measures every selector on."""
    return len(PROFILES[profile_name].selection_dimensions) * len(LAWS)


def _measured(name: str, law: str, vector: Tensor) -> dict[str, Any]:
    k = target_count(_DENSITY, vector.numel())
    times = []
    for repeat in range(REPEAT_COUNT):
        stream = random_stream(repeat, name)
        started = time.perf_counter()
        payload = SELECTORS[name](vector, k, stream)
        times.append(time.perf_counter() - started)
    root = magnitude_bit_width(vector.dtype)
    searches = [gaussian_k_search(vector, k, start_level=level).evaluation_count for level in (None, root)]
    return {
        "selector": name,
        "law": law,
        "dimension": vector.numel(),
        "target_count": k,
        "selected_count": payload.count,
        "best_seconds": min(times),
        "counting_pass_count": searches[0] if name == "gaussian_k" else None,
        "counting_pass_count_from_root": searches[1] if name == "gaussian_k" else None,
    }


def main() -> None:
    """Run the command line."""
    command = tyro.cli(SelectionCommand, prog="python -m sparsync.experiments.studies.selection.selection")
    with exit_on_bad_input():
        require_output(command.output)
        with step_progress(vector_count(command.profile), visible=True, title="vectors") as advance:
            study = run_selection(command.profile, advance=advance)
        write_json(command.output, study)
    table = Table("selector", "law", "d", "count/k", "best ms", "passes", "from root")
    for row in study["rows"]:
        share = f"{row['selected_count'] / row['target_count']:.2f}"
        passes = ["" if row[key] is None else str(row[key]) for key in row if key.startswith("counting")]
        milliseconds = f"{1e3 * row['best_seconds']:.2f}"
        table.add_row(row["selector"], row["law"], str(row["dimension"]), share, milliseconds, *passes)
    Console().print(table)


if __name__ == "__main__":
    main()
