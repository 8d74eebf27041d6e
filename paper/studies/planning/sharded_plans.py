"""Is more replicated the less is sent? The study `sharded_plans`: its figure and macros.

In the figure, above: the replicated share of the parameters against the density, where the planner chooses the batch
and where it is given; below: the gain over all shards of both, and the density at which a plan moves against the memory
of a device, predicted and planned.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper import latex
from paper.results import Result, result
from paper.studies.study import Macro, Study
from paper.style import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, VERMILION, Look, legend_below, new_figure

NETWORKS = {
    "resnet50": (Look("ResNet-50", ORANGE), "o"),
    "bert_large": (Look("BERT-large", BLUE), "s"),
    "gpt2": (Look("GPT-2", VERMILION), "^"),
    "gpt2_xl": (Look("GPT-2 XL", GREEN), "v"),
    "llama_7b": (Look("LLaMA 7B", PURPLE), "D"),
}
"""Looks and markers."""
PUBLISHED = {"gpt2_page": "Page", "gpt2_program": "Program", "opt": "Opt"}
"""Words of the macros' names."""
BASELINES = {"slices": "Slices", "operators": "Operators"}
FREE, GIVEN = "free", "given"
_TERA, _GIGA, _MICRO = 1e12, 1e9, 1e-6


def curves(study: Result, memory: float, batch: str, *, bits_per_second: float | None = None) -> list[Result]:
    """Of each network, with so much memory a parameter and on the link that is drawn, or on another one.

    Raises:
        ValueError: there is none.
    """
    wanted = (memory, batch, study["move_bits_per_second"] if bits_per_second is None else bits_per_second)
    found = [
        row
        for row in study.records("curves")
        if (row["memory_per_parameter"], row["batch_is"], row["bits_per_second"]) == wanted
    ]
    if not found:
        raise ValueError(f"{study.path}: no curve with {wanted}")
    return found


def moves(study: Result, *, is_late: bool) -> list[Result]:
    """Densities at which plans move, with latency or without."""
    return [row for row in study.records("moves") if (row["latency_seconds"] > 0) == is_late]


def largest_error(rows: Sequence[Result]) -> float:
    """Of predicted densities, relative; of plans that move at all.

    Raises:
        ValueError: none does.
    """
    errors = [abs(row["density"] / row["predicted"] - 1) for row in rows if row["density"]]
    if not errors:
        raise ValueError("no plan moves")
    return float(max(errors))


def published(study: Result, model: str) -> Result:
    """A published model.

    Raises:
        ValueError: the study has no such model.
    """
    for found in study.records("published"):
        if found["model"] == model:
            return found
    raise ValueError(f"{study.path}: no published model {model!r}")


def gains(study: Result, model: str, baseline: str) -> list[float]:
    """Over a baseline, in every setting of a published model in which it has room."""
    rows = published(study, model).records("rows")
    return [row["gain"][baseline] for row in rows if row["gain"][baseline] is not None]


def slowest(study: Result) -> Result:
    """Which curve, or published model, had the plan that took longest."""
    return max([*study.records("curves"), *study.records("published")], key=lambda row: float(row["plan_seconds"]))


def sharded_plans(data_folder: Path) -> Figure:
    """Shares by density twice, gains, and where plans move."""
    study = result(data_folder, "sharded_plans")
    figure = new_figure(5.0, profile=study["profile"])
    (free, given), (gained, moved) = figure.subplots(2, 2)
    _draw_shares(free, study, FREE)
    _draw_shares(given, study, GIVEN)
    _draw_gains(gained, study)
    _draw_moves(moved, study)
    legend_below(figure, free, columns=len(NETWORKS))
    return figure


def _draw_shares(axes: Axes, study: Result, batch: str) -> None:
    for row in curves(study, study["given_memory"], batch):
        look, marker = NETWORKS[str(row["network"])]
        shares = [100 * share for share in row["replicated_share"]]
        axes.plot(row["density"], shares, **look.line, marker=marker, markersize=3)
    if batch == FREE:
        axes.axvline(study["predicted_density"], color=BLACK, linestyle=":")
        axes.annotate(
            "predicted", (study["predicted_density"], 50), xytext=(4, 0), textcoords="offset points", fontsize=7
        )
    title = "the planner chooses the batch" if batch == FREE else "the batch is given"
    axes.set(title=title, xlabel=r"density $\kappa$", ylabel="replicated parameters in %", xscale="log", ylim=(-4, 104))


def _draw_gains(axes: Axes, study: Result) -> None:
    for batch, dash in ((FREE, "-"), (GIVEN, (0, (4, 1.5)))):
        for row in curves(study, study["given_memory"], batch):
            look, _ = NETWORKS[str(row["network"])]
            axes.plot(row["density"], row["gain"], color=look.colour, linestyle=dash)
    axes.plot([], [], color=GREY, label="chosen batch")
    axes.plot([], [], color=GREY, linestyle=(0, (4, 1.5)), label="given batch")
    axes.legend(loc="upper right")
    axes.set(xlabel=r"density $\kappa$", ylabel="samples/s over those of all shards", xscale="log")


def _draw_moves(axes: Axes, study: Result) -> None:
    limits = study.records("limits")
    late = moves(study, is_late=True) or moves(study, is_late=False)
    floor = min(limit["density"][0] for limit in limits) / 3
    for limit in limits:
        axes.plot(limit["memory"], limit["density"], color=BLACK)
        axes.annotate(
            f"{limit['device_count']} devices",
            (limit["memory"][len(limit["memory"]) // 2], limit["density"][len(limit["memory"]) // 2]),
            xytext=(2, -11),
            textcoords="offset points",
            fontsize=7,
        )
    for row in late:
        look, marker = NETWORKS[str(row["network"])]
        is_stuck = not row["density"]
        axes.plot(
            [row["memory_per_parameter"]],
            [floor if is_stuck else row["density"]],
            marker="x" if is_stuck else marker,
            color=look.colour,
            markersize=4 if is_stuck else 3,
            linestyle="",
        )
    least = min(limit["least_memory"] for limit in limits)
    most = max(limit["most_memory"] for limit in limits)
    axes.axvspan(least - 6, least, color=GREY, alpha=0.2, lw=0)
    axes.axvspan(most, most + 6, color=GREY, alpha=0.2, lw=0)
    for place, words in ((least - 3, "no density"), (most + 3, "every density")):
        axes.text(
            place, 0.5, words, transform=axes.get_xaxis_transform(), rotation=90, ha="center", va="center", fontsize=7
        )
    axes.set(
        xlabel="memory of a device, bytes per parameter",
        ylabel=r"replicated below density $\kappa$",
        yscale="log",
        xlim=(least - 6, most + 6),
    )


def _range(values: Sequence[float], show: Callable[[float], str]) -> str:
    """From the least to the most; once where both read the same."""
    least, most = show(min(values)), show(max(values))
    return least if least == most else f"{least} to {most}"


def _percents(shares: Sequence[float]) -> str:
    return _range(shares, lambda share: latex.percent(share, 0))


def _times(values: Sequence[float]) -> str:
    return _range(values, lambda value: latex.decimal(value, 2))


def _end(name: str, place: int, batch: str, show: Callable[[Sequence[float]], str]) -> Macro:
    """A field of all networks' curves at the first or the last density."""

    def words(data_folder: Path) -> str:
        study = result(data_folder, "sharded_plans")
        return show([row[name][place] for row in curves(study, study["given_memory"], batch)])

    return words


def _other_memory(pick: Callable[[Sequence[float]], float]) -> Macro:
    """Shares of all densities and networks, with the memory that is picked."""

    def words(data_folder: Path) -> str:
        study = result(data_folder, "sharded_plans")
        memory = pick([row["memory_per_parameter"] for row in study.records("curves")])
        return _percents([share for row in curves(study, memory, FREE) for share in row["replicated_share"]])

    return words


def _memory(pick: Callable[[Sequence[float]], float]) -> Macro:
    return lambda folder: latex.shortest(
        pick([row["memory_per_parameter"] for row in result(folder, "sharded_plans").records("curves")])
    )


def _fact(name: str, scale: float = 1.0) -> Macro:
    return lambda folder: latex.shortest(result(folder, "sharded_plans")[name] / scale)


def _fast(data_folder: Path) -> str:
    """Shares at the last density on the fastest link."""
    study = result(data_folder, "sharded_plans")
    found = curves(study, study["given_memory"], FREE, bits_per_second=_fastest(study))
    return _percents([row["replicated_share"][-1] for row in found])


def _fastest(study: Result) -> float:
    return max(float(row["bits_per_second"]) for row in study.records("curves"))


def _limit(name: str) -> Macro:
    return lambda folder: latex.shortest(result(folder, "sharded_plans").records("limits")[0][name])


def _gain(model: str, baseline: str) -> Macro:
    return lambda folder: _times(gains(result(folder, "sharded_plans"), model, baseline))


def _published(model: str, show: Callable[[Result], str]) -> Macro:
    return lambda folder: show(published(result(folder, "sharded_plans"), model))


def _published_gain(found: Result) -> str:
    return latex.decimal(found["published_gain"], 2)


def _published_memory(found: Result) -> str:
    return latex.shortest(found["memory_bytes"] / 2**30)


def _window(found: Result) -> str:
    """Of the only sequences that are tried."""
    return latex.integer(found.records("rows")[0]["window"])


def _windows(found: Result) -> str:
    return _range([row["window"] for row in found.records("rows")], latex.shortest)


def _field_range(name: str, scale: float) -> Callable[[Result], str]:
    return lambda found: _range([row[name] / scale for row in found.records("rows")], latex.shortest)


def _error(*, is_late: bool) -> Macro:
    def words(data_folder: Path) -> str:
        rows = moves(result(data_folder, "sharded_plans"), is_late=is_late)
        return latex.percent(largest_error(rows), 0) if any(row["density"] for row in rows) else "no plan moves"

    return words


def _stuck(data_folder: Path) -> str:
    rows = moves(result(data_folder, "sharded_plans"), is_late=True)
    return f"{latex.integer(sum(not row['density'] for row in rows))} of {latex.integer(len(rows))}"


def _slowest(data_folder: Path) -> str:
    study = result(data_folder, "sharded_plans")
    return latex.decimal(slowest(study)["plan_seconds"], 1)


def _processor(data_folder: Path) -> str:
    return latex.escape(str(result(data_folder, "sharded_plans").record("provenance")["processor_name"]))


MACROS: dict[str, Macro] = {
    "ShardPlanDevices": _fact("device_count"),
    "ShardPlanMemory": _fact("given_memory"),
    "ShardPlanLink": _fact("move_bits_per_second", _GIGA),
    "ShardPlanLatency": _fact("latency_seconds", _MICRO),
    "ShardPlanStates": _fact("state_bytes"),
    "ShardPlanResidual": _fact("residual_bytes"),
    "ShardPlanLeast": _limit("least_memory"),
    "ShardPlanMost": _limit("most_memory"),
    "ShardPlanPredicted": lambda folder: latex.decimal(result(folder, "sharded_plans")["predicted_density"], 3),
    "ShardPlanLeastDensity": lambda folder: latex.shortest(
        result(folder, "sharded_plans").records("curves")[0]["density"][-1]
    ),
    "ShardPlanDense": _end("replicated_share", 0, FREE, _percents),
    "ShardPlanSparse": _end("replicated_share", -1, FREE, _percents),
    "ShardPlanGivenDense": _end("replicated_share", 0, GIVEN, _percents),
    "ShardPlanGivenSparse": _end("replicated_share", -1, GIVEN, _percents),
    "ShardPlanGain": _end("gain", -1, FREE, _times),
    "ShardPlanGivenGain": _end("gain", -1, GIVEN, _times),
    "ShardPlanLowMemory": _memory(min),
    "ShardPlanLowShares": _other_memory(min),
    "ShardPlanHighMemory": _memory(max),
    "ShardPlanHighShares": _other_memory(max),
    "ShardPlanFastLink": lambda folder: latex.shortest(_fastest(result(folder, "sharded_plans")) / _GIGA),
    "ShardPlanFastShares": _fast,
    "ShardPlanError": _error(is_late=False),
    "ShardPlanLateError": _error(is_late=True),
    "ShardPlanStuck": _stuck,
    "ShardPlanSeconds": _slowest,
    "ShardPlanProcessor": _processor,
    "ShardPlanPublishedDevices": _published("opt", lambda found: latex.integer(found["device_count"])),
    "ShardPlanPublishedLinks": _published("opt", _field_range("bits_per_second", _GIGA)),
    "ShardPlanPublishedSpeeds": _published("opt", _field_range("operations_per_second", _TERA)),
    "ShardPlanGptPublished": _published("gpt2_program", _published_gain),
    "ShardPlanGptMemory": _published("gpt2_program", _published_memory),
    "ShardPlanPageWindows": _published("gpt2_page", _windows),
    "ShardPlanProgramWindow": _published("gpt2_program", _window),
    "ShardPlanProgramBatch": _published("gpt2_program", lambda found: latex.integer(found.records("rows")[0]["batch"])),
    "ShardPlanOptPublished": _published("opt", _published_gain),
    "ShardPlanOptMemory": _published("opt", _published_memory),
    "ShardPlanOptWindow": _published("opt", _window),
    **{
        f"ShardPlan{word}{ending}": _gain(model, baseline)
        for model, word in PUBLISHED.items()
        for baseline, ending in BASELINES.items()
    },
}

STUDY = Study(macros=MACROS, figures={"sharded_plans": sharded_plans}, results=("sharded_plans",))
