"""What do private ways to learn together send, reach and give away? The study `private_learning`: two figures, numbers.

One figure: who sends less, split learning or federated averaging; accuracy on uneven shards; what masks add to the
bytes. The other: accuracy and the area of an attack on membership, by the privacy that noise buys.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter, NullLocator

from paper import latex
from paper.comparisons import difference_phrase, mean_phrase, tally
from paper.results import Result, result
from paper.studies.study import Macro, Study
from paper.style import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILION, Look, new_figure
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.tools.intervals import Estimate, mean, paired_difference

NAME = "private_learning"
SCHEMES: dict[str, Look] = {
    "large_batch": Look("large batch", BLACK),
    "federated": Look("averaging", BLUE),
    "selected": Look("averaging, Top-$k$", SKY, (0, (4, 2))),
    "split": Look("split", VERMILION),
    "split, own layers": Look("split, own layers", ORANGE, (0, (4, 2))),
}
"""How the schemes are drawn."""
WORDS = {"Selected": "selected", "LargeBatch": "large_batch", "Split": "split", "OwnLayers": "split, own layers"}
"""Of macros that compare a scheme with federated averaging."""
POINTS = 100.0
"""Of accuracy, in one."""


def study_of(data_folder: Path) -> Result:
    """The result."""
    return result(data_folder, NAME)


def map_rows(study: Result, *, sends_less: bool | None = None) -> list[Result]:
    """Epochs in which split learning sends less than federated averaging, or not, or all."""
    rows = study.records("map")
    return [row for row in rows if sends_less in (None, row["split_bytes"] < row["federated_bytes"])]


def right_count(study: Result) -> int:
    """Epochs in which the one that sends less is the one that the crossover says."""
    return sum(
        (row["split_bytes"] < row["federated_bytes"]) == (row["example_count"] < row["crossover"])
        for row in study.records("map")
    )


def equal_count(study: Result) -> tuple[int, int]:
    """Runs whose bytes are those stated, and all runs of which bytes are stated."""
    pairs = [
        (row[f"{scheme}_bytes"], row[f"{scheme}_stated_bytes"])
        for row in study.records("map")
        for scheme in ("split", "federated")
    ]
    pairs += [(row["bytes"], row["stated_bytes"]) for row in study.records("masks")]
    return sum(sent == stated for sent, stated in pairs), len(pairs)


def concentrations(study: Result) -> list[float]:
    """Of the shards, ascending."""
    return sorted({row["concentration"] for row in study.records("shards")})


def shard_accuracies(study: Result, scheme: str, concentration: float) -> list[float]:
    """In points, by seed.

    Raises:
        ValueError: there is none.
    """
    rows = [row for row in study.records("shards") if (row["scheme"], row["concentration"]) == (scheme, concentration)]
    if not rows:
        raise ValueError(f"{study.path}: no run of {scheme!r} at concentration {concentration}")
    return [POINTS * row["accuracy"] for row in sorted(rows, key=lambda row: int(row["seed"]))]


def shard_difference(study: Result, scheme: str, concentration: float) -> Estimate:
    """Accuracy of a scheme less that of federated averaging, in points, seed by seed."""
    own, averaged = (shard_accuracies(study, name, concentration) for name in (scheme, "federated"))
    return paired_difference(own, averaged)


def noises(study: Result) -> list[float | None]:
    """In the order of privacy: nothing clipped, clipped only, and more and more noise."""
    found = {row["noise"] for row in study.records("noise")}
    return sorted(found, key=lambda noise: -1.0 if noise is None else float(noise))


def densities(study: Result) -> list[float]:
    """Of the runs with noise, from all entries down."""
    return sorted({row["density"] for row in study.records("noise")}, reverse=True)


def noise_values(study: Result, field: str, noise: float | None, density: float) -> list[float]:
    """A field of the runs at a noise and a density, by seed.

    Raises:
        ValueError: there is none.
    """
    rows = [row for row in study.records("noise") if (row["noise"], row["density"]) == (noise, density)]
    if not rows:
        raise ValueError(f"{study.path}: no run with the noise {noise} and density {density}")
    return [float(row[field]) for row in sorted(rows, key=lambda row: int(row["seed"]))]


def epsilon_of(study: Result, noise: float) -> float:
    """The largest ε of the seeds, whose shards differ a little."""
    return max(noise_values(study, "epsilon", noise, densities(study)[0]))


def noise_difference(study: Result, field: str, *, scale: float = 1.0) -> Estimate:
    """A field at the most noise less that without clipping, seed by seed; everything is sent."""
    values = [[scale * value for value in noise_values(study, field, at, 1.0)] for at in (noises(study)[-1], None)]
    return paired_difference(*values)


def selection_differences(study: Result, field: str) -> list[Estimate]:
    """A field with selection after the noise less that without, at each noise above 0."""
    return [
        paired_difference(*(noise_values(study, field, noise, density) for density in reversed(densities(study))))
        for noise in noises(study)
        if noise
    ]


def advantage_room(study: Result) -> tuple[float, float]:
    """At the most noise the largest advantage of an attack, and the bound at its ε."""
    noise = noises(study)[-1]
    assert noise is not None, "some run has noise"
    numbers = {"loss_factor": math.exp(epsilon_of(study, noise)), "loss_excess": study["delta"]}
    bound = STATEMENTS["membership_bound"].evaluate(**numbers)
    return max(noise_values(study, "attack_advantage", noise, 1.0)), bound


def mask_rows(study: Result) -> list[Result]:
    """Of the most clients, from all entries down."""
    rows = study.records("masks")
    clients = max(row["client_count"] for row in rows)
    return sorted((row for row in rows if row["client_count"] == clients), key=lambda row: -float(row["density"]))


def recovered_count(study: Result) -> tuple[int, int]:
    """Runs under masks that went on without a client that was lost, and all of them."""
    rows = study.records("masks")
    return sum(len(row["lost"]) == 1 for row in rows), len(rows)


def private_learning(data_folder: Path) -> Figure:
    """Who sends less, accuracy on uneven shards, and bytes under masks."""
    study = study_of(data_folder)
    figure = new_figure(2.6, profile=study["profile"])
    left, middle, right = figure.subplots(1, 3)
    _draw_map(left, study)
    _draw_shards(middle, study)
    _draw_masks(right, study)
    return figure


def private_noise(data_folder: Path) -> Figure:
    """Accuracy and the attack's area by ε, with selection after the noise and without."""
    study = study_of(data_folder)
    figure = new_figure(2.4, profile=study["profile"])
    left, right = figure.subplots(1, 2)
    looks = zip(densities(study), (BLUE, VERMILION), ("o", "s"), strict=False)
    for density, colour, marker in looks:
        name = "all entries" if density == 1 else rf"Top-$k$ after the noise, $\kappa={density:g}$"
        shift = 0.08 if density == 1 else -0.08
        for axes, field, scale in ((left, "accuracy", POINTS), (right, "attack_area", 1.0)):
            estimates = [
                mean([scale * value for value in noise_values(study, field, noise, density)]) for noise in noises(study)
            ]
            _draw_estimates(axes, [place + shift for place in range(len(estimates))], estimates, colour, marker, name)
    names = [
        "none" if noise is None else "clip" if not noise else f"{epsilon_of(study, noise):.1f}"
        for noise in noises(study)
    ]
    for axes in (left, right):
        axes.set_xticks(range(len(names)), names)
        axes.set_xlabel(rf"$\epsilon$ at $\delta={_power(study['delta'])}$")
    left.set_ylabel("test accuracy, %")
    right.set_ylabel("area of the attack")
    right.axhline(0.5, color=GREY, linewidth=0.8, linestyle=(0, (2, 2)))
    right.annotate(
        "guessing",
        (0.02, 0.5),
        xycoords=("axes fraction", "data"),
        xytext=(0, 2),
        textcoords="offset points",
        fontsize=7,
        color=GREY,
    )
    left.legend(loc="lower left", fontsize=7)
    return figure


def _draw_estimates(
    axes: Axes, places: Sequence[float], estimates: Sequence[Estimate], colour: str, marker: str, name: str
) -> None:
    values = [estimate.value for estimate in estimates]
    reach = [0.0 if math.isinf(estimate.high) else estimate.high - estimate.value for estimate in estimates]
    axes.errorbar(places, values, reach, fmt=marker, color=colour, markersize=3, elinewidth=0.8, label=name)


def _draw_map(axes: Axes, study: Result) -> None:
    for sends_less, colour, marker, name in ((True, VERMILION, "s", "split"), (False, BLUE, "o", "averaging")):
        rows = map_rows(study, sends_less=sends_less)
        axes.plot(
            [row["example_count"] for row in rows],
            [row["client_count"] for row in rows],
            marker,
            color=colour,
            markersize=3.5,
            label=f"{name} sends less",
        )
    # In proportion to the clients, where there are others to hand layers to.
    per_client = {row["client_count"]: row["crossover"] for row in study.records("map")}
    clients = sorted(count for count in per_client if count > 1)
    ends = [clients[0] / 1.5, clients[-1] * 1.5]
    slope = per_client[clients[0]] / clients[0]
    axes.plot([slope * end for end in ends], ends, color=BLACK, linewidth=0.9, label="$p^{*}$, stated")
    counts = sorted(per_client)
    axes.set(xscale="log", yscale="log", xlabel="examples of an epoch $p$", ylabel="clients", title="bytes of an epoch")
    axes.set_ylim(counts[0] / 1.5, counts[-1] * 5)
    axes.set_yticks(counts, [str(count) for count in counts])
    axes.yaxis.set_minor_locator(NullLocator())
    examples = [row["example_count"] for row in study.records("map")]
    axes.set_xlim(min(examples) / 1.5, max(examples) * 1.5)
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.legend(loc="upper left", fontsize=6.5, handlelength=1.4, labelspacing=0.2)


def _draw_shards(axes: Axes, study: Result) -> None:
    found = concentrations(study)
    for place, (scheme, look) in enumerate(SCHEMES.items()):
        estimates = [mean(shard_accuracies(study, scheme, concentration)) for concentration in found]
        # Beside each other, in proportion to the concentration.
        places = [concentration * 1.18 ** (place - 2) for concentration in found]
        _draw_estimates(axes, places, estimates, look.colour, "o", "")
        axes.plot(places, [estimate.value for estimate in estimates], linewidth=0.9, **look.line)
    axes.set(
        xscale="log", xlabel=r"concentration $\alpha$ of the shards", ylabel="test accuracy, %", title="uneven shards"
    )
    axes.legend(loc="lower right", fontsize=6.5, handlelength=1.8, labelspacing=0.2)


def _draw_masks(axes: Axes, study: Result) -> None:
    rows = mask_rows(study)
    dense = rows[0]["plain_bytes"]
    shares = [row["density"] for row in rows]
    for field, colour, marker, name in (("masked", PURPLE, "s", "masked"), ("plain", GREEN, "o", "in the clear")):
        axes.plot(
            shares,
            [row[f"{field}_bytes"] / dense for row in rows],
            marker + "-",
            color=colour,
            markersize=3.5,
            label=name,
        )
    axes.set(xscale="log", yscale="log", xlabel=r"density $\kappa$", ylabel="bytes, over all in the clear")
    axes.set_title(f"masks, {rows[0]['client_count']} clients")
    axes.legend(loc="lower right", fontsize=7)


def _power(value: float) -> str:
    exponent = math.log10(value)
    return f"10^{{{exponent:.0f}}}" if math.isclose(exponent, round(exponent)) else f"{value:g}"


def _of_schemes(data_folder: Path, *, scheme: str, place: int) -> str:
    study = study_of(data_folder)
    return difference_phrase(shard_difference(study, scheme, concentrations(study)[place]), unit="points", digits=1)


def _averaged(data_folder: Path, *, place: int) -> str:
    study = study_of(data_folder)
    return mean_phrase(mean(shard_accuracies(study, "federated", concentrations(study)[place])), digits=1)


def _mask_factor(data_folder: Path, *, place: int) -> str:
    row = mask_rows(study_of(data_folder))[place]
    return latex.decimal(row["masked_bytes"] / row["plain_bytes"], 2)


def _saved(data_folder: Path) -> str:
    """Bytes of all entries in the clear, over those of the least density under masks."""
    rows = mask_rows(study_of(data_folder))
    return latex.decimal(rows[0]["plain_bytes"] / rows[-1]["masked_bytes"], 0)


def _union_shares(data_folder: Path) -> list[float]:
    rows = [row for row in mask_rows(study_of(data_folder)) if row["density"] < 1]
    return sorted(row["union_count"] / row["random_union"] for row in rows)


def _epsilon(data_folder: Path, *, place: int) -> str:
    study = study_of(data_folder)
    epsilons = sorted(epsilon_of(study, noise) for noise in noises(study) if noise)
    return latex.decimal(epsilons[place], 1)


def _noise_mean(data_folder: Path, *, field: str, scale: float, digits: int) -> str:
    values = noise_values(study_of(data_folder), field, None, 1.0)
    return mean_phrase(mean([scale * value for value in values]), digits=digits)


def _whole(name: str) -> Macro:
    return lambda folder: latex.integer(study_of(folder)[name])


MACROS: dict[str, Macro] = {
    "PrivateMapRuns": lambda folder: latex.integer(len(map_rows(study_of(folder)))),
    "PrivateMapRight": lambda folder: latex.integer(right_count(study_of(folder))),
    "PrivateByteRuns": lambda folder: latex.integer(equal_count(study_of(folder))[1]),
    "PrivateByteEqual": lambda folder: latex.integer(equal_count(study_of(folder))[0]),
    "PrivateShardClients": _whole("shard_clients"),
    "PrivateShardRounds": _whole("shard_rounds"),
    "PrivateShardSeeds": lambda folder: latex.integer(
        len(shard_accuracies(study_of(folder), "federated", concentrations(study_of(folder))[0]))
    ),
    "PrivateUneven": lambda folder: latex.shortest(concentrations(study_of(folder))[0]),
    "PrivateEven": lambda folder: latex.shortest(concentrations(study_of(folder))[-1]),
    "PrivateAveragedUneven": partial(_averaged, place=0),
    "PrivateAveragedEven": partial(_averaged, place=-1),
    **{f"Private{word}Uneven": partial(_of_schemes, scheme=scheme, place=0) for word, scheme in WORDS.items()},
    **{f"Private{word}Even": partial(_of_schemes, scheme=scheme, place=-1) for word, scheme in WORDS.items()},
    "PrivateNoiseExamples": _whole("noise_examples"),
    "PrivateNoiseClients": _whole("noise_clients"),
    "PrivateNoiseSteps": _whole("noise_steps"),
    "PrivateNoiseSeeds": lambda folder: latex.integer(len(noise_values(study_of(folder), "accuracy", None, 1.0))),
    "PrivateNoiseDensity": lambda folder: latex.shortest(study_of(folder)["noise_density"]),
    "PrivateEpsilonLeast": partial(_epsilon, place=0),
    "PrivateEpsilonMost": partial(_epsilon, place=-1),
    "PrivateOpenAccuracy": partial(_noise_mean, field="accuracy", scale=POINTS, digits=1),
    "PrivateOpenArea": partial(_noise_mean, field="attack_area", scale=1.0, digits=3),
    "PrivateAccuracyCost": lambda folder: difference_phrase(
        noise_difference(study_of(folder), "accuracy", scale=POINTS), unit="points", digits=1
    ),
    "PrivateAreaCost": lambda folder: difference_phrase(noise_difference(study_of(folder), "attack_area"), digits=3),
    "PrivateSelectedAccuracy": lambda folder: tally(
        selection_differences(study_of(folder), "accuracy"), more="higher", less="lower"
    ),
    "PrivateSelectedArea": lambda folder: tally(
        selection_differences(study_of(folder), "attack_area"), more="larger", less="smaller"
    ),
    "PrivateAdvantage": lambda folder: latex.decimal(advantage_room(study_of(folder))[0], 2),
    "PrivateAdvantageBound": lambda folder: latex.decimal(advantage_room(study_of(folder))[1], 2),
    "PrivateMaskRuns": lambda folder: latex.integer(recovered_count(study_of(folder))[1]),
    "PrivateMaskRecovered": lambda folder: latex.integer(recovered_count(study_of(folder))[0]),
    "PrivateMaskClients": lambda folder: latex.integer(mask_rows(study_of(folder))[0]["client_count"]),
    "PrivateMaskDense": partial(_mask_factor, place=0),
    "PrivateMaskSparse": partial(_mask_factor, place=-1),
    "PrivateMaskDensity": lambda folder: latex.shortest(mask_rows(study_of(folder))[-1]["density"]),
    "PrivateMaskSaved": _saved,
    "PrivateUnionLeast": lambda folder: latex.percent(_union_shares(folder)[0], 0),
    "PrivateUnionMost": lambda folder: latex.percent(_union_shares(folder)[-1], 0),
}

STUDY = Study(
    macros=MACROS,
    figures={"private_learning": private_learning, "private_noise": private_noise},
    results=(NAME,),
)
"""What the paper prints of it."""
