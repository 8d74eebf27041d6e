"""How many entries do published threshold rules send, and where does the released one miss its range?

Reads `refinement.json`: two families of laws, every density, the same vectors for all rules. The table counts how often
each rule is in range; the figure is a map of the released rule's count over k, white from two thirds to four thirds.
"""

from __future__ import annotations

from fractions import Fraction
from math import log10
from pathlib import Path
from statistics import median

from matplotlib.colors import BoundaryNorm, ListedColormap
from matplotlib.figure import Figure

from paper import latex, rules
from paper.results import Result, result
from paper.studies.study import Macro, Study
from paper.style import new_figure
from sparsync.theory.selectors.released_rotation import rotation_pair
from sparsync.theory.statements import STATEMENTS

RULE = "gaussian_k_released"
"""The rule of the map."""
WINDOW_DENSITY = 0.001
"""The density at which the text gives the passes of the released rule."""
AXES = {"mean": "mean, in standard deviations", "exponent": r"exponent $\beta$ of $\exp(-|u|^\beta)$"}
"""Names of the laws' parameters on the figure."""
TITLES = {"shifted gaussian": "Gaussian with a mean", "generalised gaussian": "generalised Gaussian"}
"""Names of the families on the figure."""
EDGES = (0.0, 0.01, 0.1, 2 / 3, 4 / 3, 10.0, 100.0, float("inf"))
"""Counts over k at which the colour changes; the lowest class holds a count of zero."""
_COLOURS = ("#08306B", "#4292C6", "#C6DBEF", "#FFFFFF", "#FDD0A2", "#F16913", "#7F2704")
_NAMES = ("below 0.01", "0.01 to 0.1", "0.1 to 2/3", "in the range", "4/3 to 10", "10 to 100", "above 100")


def studied_rules(data_folder: Path) -> list[str]:
    """Every rule of the study."""
    families = result(data_folder, "refinement")["families"].values()
    return rules.in_order({rule for family in families for rule in family["selected_count"]})


def band_share(data_folder: Path, rule: str) -> float:
    """Share of all laws and densities at which a rule's count lies in [2k/3, 4k/3]."""
    inside = [
        2 * target <= 3 * count <= 4 * target for count, target in _counts(result(data_folder, "refinement"), rule)
    ]
    return float(sum(inside) / len(inside))


def relative_counts(data_folder: Path, rule: str) -> list[float]:
    """Counts over k of a rule at all laws and densities, ascending."""
    return sorted(count / target for count, target in _counts(result(data_folder, "refinement"), rule))


def captured_shares(data_folder: Path, rule: str) -> list[float]:
    """‖C(u)‖²/‖Top_k(u)‖² of a rule at all laws and densities, ascending."""
    families = result(data_folder, "refinement")["families"].values()
    return sorted(float(share) for family in families for row in family["captured_share"][rule] for share in row)


def rule_table(data_folder: Path) -> str:
    """A `tabular` with a line per rule: how often it is in range, its counts over k, and the least that it captures."""
    heads = r"rule & in range & least & median & most & captured, least & median \\"
    lines = [_line(data_folder, rule) for rule in studied_rules(data_folder)]
    body = f"\\toprule\n{heads}\n\\midrule\n{''.join(lines)}\\bottomrule\n"
    return f"\\begin{{tabular}}{{@{{}}lrrrrrr@{{}}}}\n{body}\\end{{tabular}}\n"


def failure_map(data_folder: Path) -> Figure:
    """The class of count/k that the released rule returns, for each law and density."""
    study = result(data_folder, "refinement")
    figure = new_figure(3.0, profile=study["profile"])
    families = study["families"]
    mesh = None
    for axes, (name, family) in zip(figure.subplots(1, len(families)), families.items(), strict=True):
        classes = [
            [relative_class(count, target) for count, target in zip(row, study["target_count"], strict=True)]
            for row in family["selected_count"][RULE]
        ]
        logarithms = [log10(density) for density in study["density"]]
        mesh = axes.pcolormesh(
            family["value"],
            logarithms,
            list(zip(*classes, strict=True)),
            cmap=ListedColormap(_COLOURS),
            norm=BoundaryNorm(range(len(_COLOURS) + 1), len(_COLOURS)),
            shading="nearest",
            rasterized=True,
        )
        axes.grid(visible=False)
        axes.set(title=TITLES.get(name, name), xlabel=AXES.get(family["parameter"], family["parameter"]))
        if family["parameter"] == "exponent":
            axes.set_xscale("log", base=2)
            axes.xaxis.set_major_formatter("{x:g}")
        axes.set_yticks([-4, -3, -2, -1], ["$10^{-4}$", "$10^{-3}$", "$10^{-2}$", "$10^{-1}$"])
    figure.axes[0].set_ylabel(r"density $\kappa$")
    if mesh is not None:
        bar = figure.colorbar(mesh, ax=figure.axes, ticks=[index + 0.5 for index in range(len(_NAMES))])
        bar.set_ticklabels(_NAMES, fontsize=7)
        bar.set_label("entries sent, divided by $k$")
    return figure


def relative_class(count: int, target: int) -> int:
    """Which of the classes between `EDGES` a count falls into; the range includes both its ends, exactly.

    Args:
        count: entries selected.
        target: k.
    """
    if 2 * target <= 3 * count <= 4 * target:
        return _NAMES.index("in the range")
    ratio = count / target
    return sum(ratio >= edge for edge in EDGES[1:-1])


def _line(data_folder: Path, rule: str) -> str:
    counts, captured = relative_counts(data_folder, rule), captured_shares(data_folder, rule)
    values = (counts[0], median(counts), counts[-1], captured[0], median(captured))
    numbers = [latex.integer(round(value)) if value >= 100 else latex.decimal(value, 2) for value in values]
    share = rf"{latex.percent(band_share(data_folder, rule))}\,\%"
    return f"{' & '.join([rules.named(rule).cited, share, *numbers])} \\\\\n"


def _counts(study: Result, rule: str) -> list[tuple[int, int]]:
    """Count and target of a rule at all laws and densities."""
    return [
        (count, target)
        for family in study["families"].values()
        for row in family["selected_count"][rule]
        for count, target in zip(row, study["target_count"], strict=True)
    ]


def _worst_passes(_data_folder: Path) -> str:
    """Of the released rule without a limit, for the window of a centred Gaussian."""
    rise_count, _, fall_count, _ = rotation_pair(Fraction(STATEMENTS["released_window"].evaluate(kappa=WINDOW_DENSITY)))
    return latex.integer(rise_count + fall_count)


MACROS: dict[str, Macro] = {
    "RefinementDimension": lambda folder: latex.integer(result(folder, "refinement")["dimension"]),
    "RefinementSmallestTarget": lambda folder: latex.integer(min(result(folder, "refinement")["target_count"])),
    "RefinementReleasedShare": lambda folder: latex.percent(band_share(folder, RULE)),
    "RefinementOursShare": lambda folder: latex.percent(band_share(folder, "gaussian_k")),
    "WindowDensity": lambda _folder: latex.shortest(WINDOW_DENSITY),
    "WorstPasses": _worst_passes,
}

STUDY = Study(
    macros=MACROS, figures={"failure_map": failure_map}, tables={"rules.tex": rule_table}, results=("refinement",)
)
