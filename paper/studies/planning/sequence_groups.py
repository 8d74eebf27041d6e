"""What do groups of different sizes gain on documents of different length? The study `sequence_groups`.

In the figure, above: seconds of a batch with one group of all devices, and with the best groups of one size, over those
of the plan, a dot for each batch; below: a plan of one batch, and the same batch with one group.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from paper import latex
from paper.comparisons import ratio, ratio_phrase
from paper.results import Result, result
from paper.studies.study import Macro, Study
from paper.style import BLACK, BLUE, GREY, VERMILION, Look, new_figure
from sparsync.verify.tools.intervals import Estimate

SETS = {
    "wikipedia": ("Wikipedia, fitted", "Wikipedia"),
    "files": ("files of a library", "Files"),
    "books": ("books", "Books"),
    "chapters": ("chapters", "Chapters"),
    "wikipedia, flat": ("Wikipedia, flat", "Flat"),
}
"""Names in the figure, and words of the macros."""
RIVALS = {
    "static": Look("one group of all devices", VERMILION),
    "homogeneous": Look("the best groups of one size", BLUE),
}
PUBLISHED_STATIC = {"DeepSpeed": 1.72, "Megatron": 1.98}
"""Published gains of FlexSP over other programs, of GPT-6.7B on Wikipedia with at most 192 thousand tokens, in the
figure of its repository; the article was not read."""


def gain(data_folder: Path, name: str, rival: str) -> Estimate:
    """The logarithm of a rival's seconds over those of the plan, batch by batch."""
    own = result(data_folder, "sequence_groups").record("sets").record(name)
    return ratio(own[f"{rival}_seconds"], own["planned_seconds"])


def sequence_groups(data_folder: Path) -> Figure:
    """Gains by set, and a plan beside one group."""
    study = result(data_folder, "sequence_groups")
    figure = new_figure(5.6, profile=study["profile"])
    gained, planned, static = figure.subplots(3, 1, height_ratios=(2.2, 2.0, 2.0))
    _draw_gains(gained, study, data_folder)
    example = study.record("example")
    tokens = [
        length for groups in (*example["planned"], *example["static"]) for one in groups for length in one["tokens"]
    ]
    norm = LogNorm(min(tokens), max(tokens))
    ends = [_draw_plan(axes, study, name, norm) for axes, name in ((planned, "planned"), (static, "static"))]
    for axes in (planned, static):
        axes.set(xlim=(0, 1.02 * max(ends)), ylim=(0, study["device_count"]), ylabel="device")
        axes.grid(visible=False)
    planned.set_title("a batch, planned")
    static.set_title("the same batch, one group of all devices")
    static.set_xlabel("seconds")
    colours = ScalarMappable(norm, "viridis")
    figure.colorbar(colours, ax=[planned, static], label="tokens of a sequence", pad=0.01, aspect=30)
    return figure


def _draw_gains(axes: Axes, study: Result, data_folder: Path) -> None:
    """A row for each set."""
    for row, name in enumerate(SETS):
        own = study.record("sets").record(name)
        for place, (rival, look) in enumerate(RIVALS.items()):
            height = row - 0.16 + 0.32 * place
            found = gain(data_folder, name, rival)
            pairs = zip(own[f"{rival}_seconds"], own["planned_seconds"], strict=True)
            gains = [slow / quick for slow, quick in pairs]
            axes.plot(gains, [height] * len(gains), "o", color=look.colour, ms=2.4, alpha=0.5, mew=0)
            if found.count > 1:
                axes.plot([math.exp(found.low), math.exp(found.high)], [height] * 2, color=look.colour, lw=1.2)
            axes.plot([math.exp(found.value)], [height], "D", color=look.colour, ms=3.6, mec=BLACK, mew=0.4)
    published = [*PUBLISHED_STATIC.values()]
    axes.vlines(published, -0.5, 0.1, color=BLACK, lw=1.0, ls=":")
    axes.text(sum(published) / len(published), -0.45, "published", ha="center", fontsize=7)
    axes.axvline(1, color=GREY, lw=0.7)
    for look in RIVALS.values():
        axes.plot([], [], "D-", color=look.colour, ms=3.6, mec=BLACK, mew=0.4, label=look.title)
    axes.legend(loc="center right", fontsize=7)
    axes.set_yticks(range(len(SETS)), [words for words, _ in SETS.values()])
    axes.set_ylim(len(SETS) - 0.5, -0.95)
    axes.set(xlabel="seconds over those of the plan")
    axes.grid(visible=False, axis="y")


def _draw_plan(axes: Axes, study: Result, name: str, norm: LogNorm) -> float:
    """Groups as stripes of devices, in which a sequence is as long as it takes; returns where the batch ends."""
    example = study.record("example")
    colours = ScalarMappable(norm, "viridis")
    begin = 0.0
    for groups in example[name]:
        begin += example["fixed_seconds"]
        device, ends = 0, [begin]
        for group in sorted(groups, key=lambda one: -int(one["device_count"])):
            end = begin
            for tokens, seconds in zip(group["tokens"], group["seconds"], strict=True):
                colour = colours.to_rgba(tokens)
                axes.add_patch(Rectangle((end, device), seconds, group["device_count"], facecolor=colour, lw=0))
                end += seconds
            axes.add_patch(
                Rectangle((begin, device), end - begin, group["device_count"], fill=False, edgecolor="white", lw=0.5)
            )
            device += group["device_count"]
            ends.append(end)
        begin = max(ends)
    axes.axvline(begin, color=GREY, lw=0.7)
    return begin


def homogeneous_over_static(data_folder: Path, name: str) -> Estimate:
    """The logarithm of the seconds of one group over those of the best groups of one size."""
    own = result(data_folder, "sequence_groups").record("sets").record(name)
    return ratio(own["static_seconds"], own["homogeneous_seconds"])


def _gain(name: str, rival: str) -> Macro:
    return lambda folder: ratio_phrase(gain(folder, name, rival))


def _of_all_sets(data_folder: Path, field: str) -> list[float]:
    sets = result(data_folder, "sequence_groups").record("sets")
    return [value for name in SETS for value in sets.record(name)[field]]


def _largest_gap(names: Sequence[str]) -> Macro:
    def words(data_folder: Path) -> str:
        sets = result(data_folder, "sequence_groups").record("sets")
        return latex.percent(max(gap for name in names for gap in sets.record(name)["gap"]), 0)

    return words


def _summary(name: str, field: str) -> Macro:
    return lambda folder: latex.integer(
        round(result(folder, "sequence_groups").record("sets").record(name)["summary"][field])
    )


def _count(name: str) -> Macro:
    return lambda folder: latex.integer(
        result(folder, "sequence_groups").record("sets").record(name)["sequence_count"][0]
    )


def _fact(name: str) -> Macro:
    return lambda folder: latex.integer(result(folder, "sequence_groups")[name])


def _example_sizes(data_folder: Path) -> str:
    """Of how many devices the groups of the drawn plan are."""
    example = result(data_folder, "sequence_groups").record("example")
    sizes = {int(group["device_count"]) for groups in example["planned"] for group in groups}
    return ", ".join(latex.integer(size) for size in sorted(sizes))


def _published(program: str) -> Macro:
    return lambda _folder: latex.decimal(PUBLISHED_STATIC[program], 2)


MACROS: dict[str, Macro] = {
    "SequenceSeeds": _fact("seed_count"),
    "SequenceDevices": _fact("device_count"),
    "SequenceTokenBytes": _fact("token_bytes"),
    "SequenceCapacity": _fact("token_capacity"),
    "SequenceCount": _count("wikipedia"),
    "SequenceBookCount": _count("books"),
    **{
        f"Sequence{word}{ending}": _gain(name, rival)
        for name, (_, word) in SETS.items()
        for rival, ending in (("static", "OverStatic"), ("homogeneous", "OverSame"))
    },
    **{
        f"Sequence{SETS[name][1]}{ending}": _summary(name, field)
        for name in ("files", "chapters")
        for field, ending in (("median", "Median"), ("longest", "Longest"))
    },
    "SequenceSameOverStatic": lambda folder: ratio_phrase(homogeneous_over_static(folder, "wikipedia")),
    "SequenceGap": _largest_gap(("wikipedia",)),
    "SequenceLargestGap": _largest_gap(tuple(SETS)),
    "SequenceExampleSizes": _example_sizes,
    "SequenceSeconds": lambda folder: latex.decimal(max(_of_all_sets(folder, "plan_seconds")), 1),
    "SequenceProcessor": lambda folder: latex.escape(
        str(result(folder, "sequence_groups").record("provenance")["processor_name"])
    ),
    "SequencePublishedDeepSpeed": _published("DeepSpeed"),
    "SequencePublishedMegatron": _published("Megatron"),
}

STUDY = Study(macros=MACROS, figures={"sequence_groups": sequence_groups}, results=("sequence_groups",))
