"""Where does the time of a step go? Bars of each bucket's time on the processor and on the link. Needs matplotlib."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sparsync.experiments.sizing.step import Step
from sparsync.verify.tools.provenance import write_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = {"forward": "#4477aa", "backward": "#66ccee", "gather": "#ccbb44", "exchange": "#ee6677"}
_MOST_LABELS = 40


def figure_of(step: Step) -> Figure:
    """A row for each bucket, the first at the top: when it is computed, gathered and sent.

    Raises:
        ValueError: matplotlib is not there.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ValueError("a picture needs matplotlib: pip install 'sparsync[paper]'") from error
    names = [work.name for work in step.works]
    rows = {name: row for row, name in enumerate(names)}
    figure = Figure(figsize=(8.0, max(2.5, min(10.0, 0.22 * len(names) + 1.2))), layout="constrained")
    axes = figure.subplots()
    for kind, colour in COLOURS.items():
        spans = [span for span in step.timeline.spans if span.kind == kind]
        shift = -0.2 if kind in ("forward", "backward") else 0.2
        axes.barh(
            [rows[span.name] + shift for span in spans],
            [1e3 * (span.end_seconds - span.start_seconds) for span in spans],
            left=[1e3 * span.start_seconds for span in spans],
            height=0.4,
            color=colour,
            label=kind if spans else None,
        )
    axes.set_yticks(range(len(names)), names if len(names) <= _MOST_LABELS else [""] * len(names), fontsize=6)
    axes.invert_yaxis()
    axes.set_xlabel("milliseconds since the step began")
    axes.set_ylabel("bucket")
    figure.legend(loc="outside upper center", ncols=len(COLOURS), fontsize=8)
    return figure


def draw(step: Step, path: Path) -> None:
    """Write the picture, whole or not at all.

    Raises:
        ValueError: matplotlib is not there, or does not know the file's ending.
    """
    figure = figure_of(step)
    ending = path.suffix.removeprefix(".") or "png"
    if ending not in (known := figure.canvas.get_supported_filetypes()):
        raise ValueError(f"a picture must end in one of {', '.join(sorted(known))}, got {path}")
    write_whole(path, lambda beside: figure.savefig(beside, dpi=150, format=ending))
