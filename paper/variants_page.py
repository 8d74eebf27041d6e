"""What does each variant of error feedback lose? The table of `paper/docs/training.md`, from `variants.json`."""

from __future__ import annotations

from pathlib import Path

from paper.results import result
from paper.studies.variants.runs import LOW_RANK, MODELS, OPTIMISERS, machines, places
from paper.studies.variants.study import cell, table_rows
from sparsync.verify.tools.intervals import Estimate


def variants_markdown(data_folder: Path) -> str:
    """A row for each variant and density, and one for PowerSGD; the machines stand above.

    Raises:
        FileNotFoundError: the study was not run.
    """
    study = result(data_folder, "variants")
    columns = places(study)
    heads = [
        f"{MODELS[model][0]}, {OPTIMISERS[optimiser]} ({MODELS[model][1]})".replace("\\", "")
        for model, optimiser in columns
    ]
    lines = [["variant, density", *heads], ["---", *["--:"] * len(columns)]]
    for method, density in table_rows(study):
        name = "PowerSGD" if method == LOW_RANK else f"`{method}`, {density:g}"
        lines.append(
            [
                name,
                *(cell(study, place, method, density, write=_written, bold="**{}**") for place in columns),
            ]
        )
    table = "".join("| " + " | ".join(line) + " |\n" for line in lines)
    return f"\n{', '.join(machines(study))}; {len(study['seeds'])} seeds:\n\n{table}"


def _written(loss: Estimate) -> str:
    return f"{loss.value:+.1f}" + (f" ({loss.low:.1f} to {loss.high:.1f})" if loss.count > 1 else "")
