"""What does a step of error feedback cost? The fused kernel against adding alone and against what PyTorch offers.

`python -m sparsync.experiments.studies.kernels.study --profile quick --output-folder build/quick/data` writes
`kernels-<hardware>.json`. Ratios are best time over best time of e += g in the same rounds: on a machine with other
work the best is steadier than the median. Needs no more than torch, numpy, sympy and rich, for GPU machines without
a package registry.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, get_args

import torch
from rich.console import Console
from rich.table import Table

from sparsync.experiments.studies.kernels import cub, replay
from sparsync.experiments.studies.kernels.checks import WARM_UP_COUNT, Expectation, expect, require_kernel
from sparsync.experiments.studies.kernels.contenders import BYTES_PER_ENTRY, FLOOR, Contender, contenders
from sparsync.experiments.studies.kernels.laws import LAWS, Case, drawn_case, model_cases, recorded_case
from sparsync.experiments.studies.kernels.memory import memory_rows
from sparsync.experiments.studies.kernels.model_shapes import MODEL_SHAPES
from sparsync.experiments.studies.kernels.timing import Effort, check_and_time
from sparsync.experiments.studies.profiles import ProfileName, sized
from sparsync.kernels.native import backend
from sparsync.verify.tools.interrupts import interrupt_as_line
from sparsync.verify.tools.provenance import provenance, require_folder, write_json

DENSITY = 0.001
DEFAULT_THREAD_COUNT = 2


@dataclass(frozen=True)
class Sizes:
    """How large the study is.

    Args:
        effort: repetitions of each contender.
        dimensions: d of Gaussian vectors.
        law_dimensions: d at which every law is drawn.
        denser_dimensions: d of Gaussian vectors selected from at density 0.01.
        models: keys of `MODEL_SHAPES`.
        memory_dimensions: d at which extra memory is measured; small ones drown in the system's page counts.
    """

    effort: Effort
    dimensions: tuple[int, ...]
    law_dimensions: tuple[int, ...] = ()
    denser_dimensions: tuple[int, ...] = ()
    models: tuple[str, ...] = ()
    memory_dimensions: tuple[int, ...] = ()


_RECORD = Sizes(
    effort=Effort(seconds=2.0, fewest=3, most=200),
    dimensions=(10_000, 100_000, 1_000_000, 25_600_000, 138_000_000),
    law_dimensions=(1_000_000, 25_600_000),
    denser_dimensions=(1_000_000,),
    models=tuple(MODEL_SHAPES),
    memory_dimensions=(25_600_000,),
)
SIZES: dict[ProfileName, Sizes] = {
    "smoke": Sizes(Effort(seconds=0.05, fewest=2, most=20), dimensions=(10_000, 100_000), law_dimensions=(10_000,)),
    "quick": Sizes(
        Effort(seconds=0.3, fewest=3, most=50), dimensions=(100_000, 25_600_000), law_dimensions=(1_000_000,)
    ),
    "record": _RECORD,
    "full": replace(_RECORD, effort=Effort(seconds=0.5, fewest=5, most=100)),
}
LARGEST_ON_GPU = 1_000_000_000
"""A further dimension of the full profile, on a GPU only."""
Entrants = Callable[[Expectation], list[Contender]]
"""Who is timed on a case; the first is the floor."""


@dataclass(frozen=True)
class Part:
    """Cases that are in memory together, and who is timed on them."""

    name: str
    make: Callable[[], list[Case]]
    entrants: Entrants


def run_kernels(
    profile_name: ProfileName,
    *,
    device: torch.device,
    thread_count: int = DEFAULT_THREAD_COUNT,
    seed: int = 0,
    report: Callable[[str], None] = lambda _: None,
    save: Callable[[dict[str, Any]], None] = lambda _: None,
) -> dict[str, Any]:
    """Check and time all contenders on all cases; the study's JSON.

    Args:
        profile_name: key of `SIZES`.
        device: where everything runs.
        thread_count: arithmetic threads on the CPU.
        seed: of the draws.
        report: called with each part's name before it is drawn.
        save: called after each part with the study so far, whose `unmeasured` names the parts to come: what was
            measured outlives a machine that is taken away.

    Raises:
        RuntimeError: a contender's result is wrong, or the device is a GPU without a kernel.
    """
    require_kernel(device)
    sizes, parts = sized(SIZES, profile_name), study_parts(profile_name, device, seed)
    study: dict[str, Any] = {
        "profile": profile_name,
        "seed": seed,
        **_conditions(device, thread_count),
        "rows": [],
        "memory": [],
        "unmeasured": [part.name for part in parts],
    }
    threads_before = torch.get_num_threads()
    torch.set_num_threads(thread_count)
    try:
        for dimension in sizes.memory_dimensions:
            study["memory"] += memory_rows(dimension, device, thread_count=thread_count)
        for part in parts:
            report(part.name)
            for case in part.make():
                study["rows"] += case_rows(case, sizes.effort, part.entrants)
            study["unmeasured"].remove(part.name)
            save(study)
    finally:
        torch.set_num_threads(threads_before)
    return study


def _conditions(device: torch.device, thread_count: int) -> dict[str, Any]:
    """Where and with what a study is made."""
    return {
        "device": device.type,
        "hardware": hardware_name(device),
        "thread_count": thread_count,
        "backend": backend(),  # compiles the kernel if it has to be
        "bytes_per_entry": BYTES_PER_ENTRY,
        "absent": cub.absence() if device.type == "cuda" else {},
        "provenance": provenance(process_count=1, device=device),
    }


def study_parts(profile_name: ProfileName, device: torch.device, seed: int) -> list[Part]:
    """What a profile times, in this order; a GPU is lent for minutes, so what can best be missed comes last."""
    sizes = sized(SIZES, profile_name)
    drawn = [("gaussian", dimension, DENSITY) for dimension in sizes.dimensions]
    drawn += [("gaussian", dimension, 10 * DENSITY) for dimension in sizes.denser_dimensions]
    drawn += [(law, dimension, DENSITY) for law in LAWS if law != "gaussian" for dimension in sizes.law_dimensions]
    place: dict[str, Any] = {"device": device, "seed": seed}
    parts = [_drawn_part(*law, **place) for law in drawn]
    parts.append(Part("recorded", partial(_recorded, WARM_UP_COUNT + 1 + sizes.effort.most, **place), usual_entrants))
    parts += [Part(name, partial(_model, name, **place), usual_entrants) for name in sizes.models]
    if device.type == "cuda":
        again = [part for part in parts if part.name.startswith("gaussian") or part.name in sizes.models]
        parts += [replace(part, name=part.name + replay.SUFFIX, entrants=_replayed_entrants) for part in again]
        if profile_name == "full":
            parts.append(_drawn_part("gaussian", LARGEST_ON_GPU, DENSITY, **place))
    return parts


def usual_entrants(expected: Expectation) -> list[Contender]:
    """Everyone, with nothing recorded."""
    found = contenders(expected.case, threshold=expected.threshold)
    return found + cub.contenders(expected.case) if expected.corrected[0].is_cuda else found


def _replayed_entrants(expected: Expectation) -> list[Contender]:
    return replay.replayed_contenders(expected.case)


def _drawn_part(law: str, dimension: int, density: float, **place: Any) -> Part:
    name = f"{law}, d = {dimension}, density {density:g}"
    return Part(name, partial(_drawn, law, dimension, density, **place), usual_entrants)


def _drawn(law: str, dimension: int, density: float, **place: Any) -> list[Case]:
    return [drawn_case(law, dimension, density, **place)]


def _recorded(step_count: int, **place: Any) -> list[Case]:
    return [recorded_case(step_count, DENSITY, **place)]


def _model(name: str, **place: Any) -> list[Case]:
    return model_cases(name, MODEL_SHAPES[name](), DENSITY, **place)


def case_rows(case: Case, effort: Effort, entrants: Entrants = usual_entrants) -> list[dict[str, Any]]:
    """One row per contender: what was asked, how good the answer was, and how long it took."""
    expected = expect(case)
    found = entrants(expected)
    measured = check_and_time(expected, found, effort)
    floor_seconds = min(measured[found[0].name][1].seconds)
    rows = []
    for name, (quality, timing) in measured.items():
        best = min(timing.seconds)
        row: dict[str, Any] = {
            "name": case.name,
            "granularity": case.granularity,
            "tensor_count": len(case.lengths),
            "dimension": case.dimension,
            "density": case.density,
            "target_count": sum(case.target_counts),
            "contender": name,
            "best_seconds": best,
            "median_seconds": median(timing.seconds),
            "repetition_count": len(timing.seconds),
            "gigabytes_per_second": BYTES_PER_ENTRY * case.dimension / best / 1e9,
            "ratio_to_add": best / floor_seconds,
            "streaming_passes": {str(count): number for count, number in sorted(Counter(timing.pass_counts).items())},
        }
        if quality is not None:
            row |= {"selected_share": quality.selected_count / sum(case.target_counts), **asdict(quality)}
        rows.append(row)
    return rows


def hardware_name(device: torch.device) -> str:
    """The model of the GPU or of the processor."""
    name = provenance(process_count=1, device=device)["gpu_name" if device.type == "cuda" else "processor_name"]
    return str(name)


def output_name(study: dict[str, Any]) -> str:
    """`kernels-<hardware>.json`; on the CPU the hardware includes the number of threads."""
    threads = f" {study['thread_count']} threads" if study["device"] == "cpu" else ""
    return f"kernels-{re.sub(r'[^a-z0-9]+', '-', (study['hardware'] + threads).lower()).strip('-')}.json"


def summary(study: dict[str, Any]) -> Table:
    """One line per case: the floor's best time, and those of others as multiples of it."""
    caption = "columns from the fourth on: times over that of e += g; cold / warm"
    heads = ("case", "d", "e += g, ms", "gaussian_k", "top_k", "torch.topk", "released")
    table = Table(*heads, title=f"{study['hardware']}, {study['backend']}", caption=caption)
    cases: dict[str, dict[str, dict[str, Any]]] = {}
    for row in study["rows"]:
        granularity = "" if row["granularity"] == "vector" else f" {row['granularity']}"
        density = "" if row["density"] == DENSITY else f" {row['density']:g}"
        cases.setdefault(f"{row['name']}{granularity}{density}\n{row['dimension']:.3g}", {})[row["contender"]] = row
    for key, rows in cases.items():
        ratios = {name: f"{row['ratio_to_add']:.3g}" for name, row in rows.items()}
        ours = [f"{ratios[f'{rule}, cold']} / {ratios[f'{rule}, warm']}" for rule in ("gaussian_k", "top_k")]
        theirs = [ratios.get(name, "") for name in ("torch.topk, unsorted", "released, PyTorch")]
        table.add_row(*key.split("\n"), f"{1e3 * rows[FLOOR]['best_seconds']:.3f}", *ours, *theirs)
    return table


@interrupt_as_line()
def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m sparsync.experiments.studies.kernels.study", description="Time the fused kernel and its rivals."
    )
    parser.add_argument("--profile", choices=get_args(ProfileName), default="quick", help="how large the study is")
    parser.add_argument("--output-folder", type=Path, required=True, help="where the JSON goes; created if absent")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="where everything runs")
    parser.add_argument("--threads", type=int, default=DEFAULT_THREAD_COUNT, help="arithmetic threads on the CPU")
    options = parser.parse_args()
    if options.threads < 1:
        parser.error(f"--threads must be at least 1, got {options.threads}")
    if options.device == "cuda" and not torch.cuda.is_available():
        parser.error("--device cuda needs a CUDA GPU: torch.cuda.is_available() is False")
    try:
        require_folder(options.output_folder, option="--output-folder")
    except ValueError as error:
        parser.error(str(error))
    progress = Console(stderr=True)
    study = run_kernels(
        options.profile,
        device=torch.device(options.device),
        thread_count=options.threads,
        report=lambda name: progress.print(name, highlight=False),
        save=lambda so_far: write_json(options.output_folder / output_name(so_far), so_far),
    )
    Console().print(summary(study))


if __name__ == "__main__":
    main()
