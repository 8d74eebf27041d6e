"""Drawings of a race: quality against time and bytes, and who computes, waits and sends."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from sparsync.experiments.racing.contest import QUADRATIC, Outcome, Race
from sparsync.verify.monitors.trace import Arrived, Departed, Event, Joined, Released, Sent, Started, Stepped
from sparsync.verify.tools.provenance import write_whole

PHASE_COLOURS = {"computes": "#3b6ea5", "waits": "#d9a441", "reads": "#8fb08c", "sends": "#a23b4a"}
DASHES = ("solid", "dashed", "dotted")
UNITS = (("GB", 1e9), ("MB", 1e6), ("kB", 1e3))
Span = tuple[float, float]


def require_drawable(path: Path) -> None:
    """Raises `ValueError` for a file of a kind that cannot be drawn."""
    known = sorted(Figure().canvas.get_supported_filetypes())
    if path.suffix.removeprefix(".") not in known:
        raise ValueError(f"cannot draw {path}; the name must end in one of: {', '.join(known)}")


def draw_comparison(path: Path, race: Race, outcomes: Sequence[Outcome]) -> None:
    """Two panels: quality against simulated time, and against bytes sent."""
    figure = Figure(figsize=(10, max(3.6, 0.22 * len(outcomes))), layout="constrained")
    by_time, by_bytes = figure.subplots(1, 2, sharey=True)
    most = max(outcome.points[-1].sent_bytes for outcome in outcomes)
    unit, unit_bytes = next((unit for unit in UNITS if most >= unit[1]), UNITS[-1])
    for place, outcome in enumerate(outcomes):
        qualities = [point.quality for point in outcome.points]
        # Colours repeat after ten; then the dashes differ.
        style: dict[str, Any] = {"linewidth": 1.4, "color": f"C{place % 10}", "linestyle": DASHES[place // 10 % 3]}
        by_time.plot([point.seconds for point in outcome.points], qualities, label=outcome.label, **style)
        by_bytes.plot([point.sent_bytes / unit_bytes for point in outcome.points], qualities, **style)
    by_time.set_xlabel("simulated seconds")
    by_bytes.set_xlabel(f"{unit} sent by all workers")
    if race.data == QUADRATIC:
        by_time.set_yscale("log")
        by_time.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        by_time.yaxis.set_major_formatter("{x:g}")
        by_time.yaxis.set_minor_formatter(NullFormatter())
    by_time.set_ylabel(race.measure)
    for axes in (by_time, by_bytes):
        axes.grid(alpha=0.3)
    figure.legend(loc="outside right upper", fontsize="small", frameon=False)
    figure.suptitle(f"{race.workers} workers, cluster {race.cluster}, selector {race.selector}", fontsize="medium")
    _save(figure, path)


def draw_gantt(path: Path, outcomes: Sequence[Outcome], worker_count: int, seconds: float) -> None:
    """One panel per contestant, one row per worker."""
    height = len(outcomes) * (0.6 + 0.22 * worker_count) + 0.6
    figure = Figure(figsize=(9, height), layout="constrained")
    panels = figure.subplots(len(outcomes), 1, sharex=True, squeeze=False)[:, 0]
    for axes, outcome in zip(panels, outcomes, strict=True):
        for (worker, phase), spans in phases(outcome.trace, seconds).items():
            bars = [(begin, end - begin) for begin, end in spans]
            # What is under way is a thin line over what its worker does meanwhile.
            place, order = ((worker + 0.22, 0.18), 3) if phase == "sends" else ((worker - 0.4, 0.8), 2)
            axes.broken_barh(
                bars, place, facecolor=PHASE_COLOURS[phase], edgecolor="white", linewidth=0.3, zorder=order
            )
        axes.set_yticks(range(worker_count))
        axes.set_ylim(worker_count - 0.5, -0.5)
        axes.set_ylabel("worker")
        axes.set_title(outcome.label, fontsize="medium", loc="left")
    panels[-1].set_xlabel("simulated seconds")
    panels[-1].set_xlim(0, seconds)
    handles = [panels[0].barh(0, 0, color=colour, label=phase) for phase, colour in PHASE_COLOURS.items()]
    figure.legend(handles=handles, loc="outside lower center", ncols=4, frameon=False)
    _save(figure, path)


def phases(trace: Iterable[Event], until: float) -> dict[tuple[int, str], list[Span]]:
    """By worker and phase, the times from which until which it lasted; what lasts at the end ends there."""
    spans: dict[tuple[int, str], list[Span]] = defaultdict(list)
    under_way: dict[int, Sent] = {}
    current: dict[int, tuple[str, float]] = {}
    nexts = {Joined: "reads", Started: "computes", Stepped: "waits", Released: "reads", Departed: ""}

    def close(worker: int, time: float) -> None:
        phase, begin = current.pop(worker, ("", time))
        if phase and begin < min(time, until):
            spans[worker, phase].append((begin, min(time, until)))

    for event in trace:
        if isinstance(event, Sent):
            under_way[event.message] = event
        elif isinstance(event, Arrived):
            sent = under_way.pop(event.message)
            if sent.time < min(event.time, until):
                spans[sent.worker, "sends"].append((sent.time, min(event.time, until)))
        phase = nexts.get(type(event))
        if phase is None or not isinstance(event, Joined | Started | Stepped | Released | Departed):
            continue
        close(event.worker, event.time)
        if phase:
            current[event.worker] = (phase, event.time)
    for worker in list(current):
        close(worker, until)
    for sent in under_way.values():
        if sent.time < until:
            spans[sent.worker, "sends"].append((sent.time, until))
    return dict(spans)


def _save(figure: Figure, path: Path) -> None:
    """No half-written figure is ever there; the name that was given says its format, wherever a link leads."""
    drawn_as = path.suffix.removeprefix(".")
    write_whole(path, lambda beside: figure.savefig(beside, dpi=150, format=drawn_as))
