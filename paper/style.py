"""How does every figure look? Colours, curves, one set of matplotlib parameters, the smoke note.

A method has the same colour and dash in every figure, see `rules.py`. The colours are Okabe and Ito's (2008) palette,
which readers with any common colour vision tell apart; dashes tell the curves apart in grey print.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

if TYPE_CHECKING:
    from matplotlib.typing import RcKeyType

TEXT_WIDTH_INCHES = 6.3
"""The width of the papers' text block: figures are drawn at the size at which they are printed."""
_HALF_INCHES = (3.1, 2.1)
"""Width and height of a figure that shares its line with another."""
PNG_DOTS_PER_INCH = 200

BLACK, ORANGE, SKY, GREEN, BLUE, VERMILION, PURPLE, YELLOW, GREY = (
    "#000000",
    "#E69F00",
    "#56B4E9",
    "#009E73",
    "#0072B2",
    "#D55E00",
    "#CC79A7",
    "#F0E442",
    "#7F7F7F",
)

Dash = str | tuple[int, tuple[float, ...]]


@dataclass(frozen=True)
class Look:
    """A curve's name in legends, its colour and its dash."""

    title: str
    colour: str
    dash: Dash = "-"

    @property
    def line(self) -> dict[str, Any]:
        """The keyword arguments of `Axes.plot`."""
        return {"label": self.title, "color": self.colour, "linestyle": self.dash}


_PARAMETERS: dict[RcKeyType, Any] = {
    "font.family": "STIXGeneral",
    "mathtext.fontset": "stix",
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.labelsize": 9,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "legend.handlelength": 2.6,
    "lines.linewidth": 1.2,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#E4E4E4",
    "grid.linewidth": 0.5,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    # Fonts as outlines that can be searched; type 3 fonts are refused by some publishers.
    "pdf.fonttype": 42,
}


@contextmanager
def paper_style() -> Iterator[None]:
    """The parameters of every figure, in force within the context, whatever the user's own are."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_PARAMETERS)
        yield


def half_figure(*, profile: str) -> Figure:
    """An empty figure that shares its line with another."""
    width, height = _HALF_INCHES
    return new_figure(height, profile=profile, width_inches=width)


def new_figure(height_inches: float, *, profile: str, width_inches: float = TEXT_WIDTH_INCHES) -> Figure:
    """An empty figure, as wide as the text unless a width is given; one made from smoke data says so on its face."""
    figure = Figure(figsize=(width_inches, height_inches), layout="constrained")
    if profile == "smoke":
        figure.suptitle("smoke profile: not for reading", color=VERMILION, fontsize=9)
    return figure


def legend_below(figure: Figure, axes: Axes, *, columns: int) -> None:
    """One legend for all panels, below them, from the labelled curves of one."""
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=columns)
