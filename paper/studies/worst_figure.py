"""What do the vectors look like that Top-k serves worst? Extremal squares of each class, and named counterexamples.

Computed from the exact vectors in `verify/`; the ledger's file says only with which profile they were checked.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

from matplotlib.figure import Figure

from paper.results import ledger_result
from paper.style import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILION, Look, new_figure
from sparsync.verify.contraction.counterexamples import COUNTEREXAMPLES
from sparsync.verify.contraction.weights import CLASS_WEIGHTS, tail_ratio

DIMENSION, COUNT = 10, 3
"""d of the vectors of the left panel, and k."""

CLASSES: dict[str, Look] = {
    "top_k": Look("any vector", BLACK),
    "square_convex_discrete": Look("$v_i/(d+1-i)$ falls", SKY, (0, (4, 1.5))),
    "square_convex": Look("$v_i/(2(d-i)+1)$ falls", BLUE),
    "bell_shaped_discrete": Look("$v_i/(d+1-i)^2$ falls", ORANGE, (0, (4, 1.5))),
    "bell_shaped": Look(r"$v_i/((d-i+1)^3-(d-i)^3)$ falls", VERMILION),
}
"""The classes drawn, from the weakest hypothesis to the strongest, by statement."""

REFUTATIONS: dict[str, Look] = {
    "one_then_flat": Look("convex, below the line", GREEN),
    "below_line_extremal": Look("below the line", PURPLE, (0, (3, 2))),
    "constant": Look("convex", GREY, (0, (1, 1))),
}
"""The counterexamples to exponent two that are drawn; all have the dimension of the left panel."""


def worst_cases(data_folder: Path) -> Figure:
    """Sorted squares by rank: of the vectors that attain the bounds, and of vectors that break a weaker wording."""
    figure = new_figure(2.7, profile=ledger_result(data_folder)["profile"])
    left, right = figure.subplots(1, 2, sharex=True)
    ranks = range(1, DIMENSION + 1)
    for label, look in CLASSES.items():
        squares = [Fraction(weight) for weight in CLASS_WEIGHTS[label](DIMENSION)]
        total = sum(squares, Fraction(0))
        title = f"{look.title}: {float(tail_ratio(squares, COUNT)):.3f}"
        left.step(ranks, [float(square / total) for square in squares], where="mid", **{**look.line, "label": title})
    right.plot(ranks, [1 - (rank - 1) / DIMENSION for rank in ranks], color=BLACK, linewidth=0.6, label="the line")
    for name, look in REFUTATIONS.items():
        case = COUNTEREXAMPLES[name]
        title = f"{look.title}: {float(case.ratio):.3f} > {float(case.claimed):.2f}, $k={case.count}$"
        squares = [square / case.squares[0] for square in case.squares]
        right.step(ranks, [float(square) for square in squares], where="mid", **{**look.line, "label": title})
    for axes, share, label in ((left, "total", "attain the bounds"), (right, "largest", "break exponent two")):
        axes.set(xlabel="rank $i$", ylabel=f"$v_i$, as a share of the {share}", title=label)
        axes.set_ylim(0, 1.45 * axes.get_ylim()[1])
        axes.legend(fontsize=6.5, loc="upper right")
    left.axvline(COUNT + 0.5, color=GREY, linewidth=0.6)
    return figure
