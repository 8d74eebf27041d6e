"""What did the original study draw, and what becomes of it here? Its figures and its table, row by row.

Shi, Chu, Cheung and See 2019 was not read but for its abstract: what its figures and its table show is taken from the
code and the plotting scripts that were released with it, and no number of theirs is printed. So each row names the
relation that we test, and its verdict is one of that relation. Results that are not there yet are "not run".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from paper import latex
from paper.comparisons import UNKNOWN
from paper.studies.headlines.headline import NOT_REPRODUCED, REPRODUCED
from paper.studies.original import findings
from paper.studies.original.findings import Finding
from paper.studies.study import Study

NOT_RUN = "not run"


@dataclass(frozen=True)
class Row:
    """A figure or table of the original study, and ours.

    Args:
        theirs: what its script draws.
        relation: that is tested here.
        ours: names of the results that have it, and of our figure or table in brackets.
        setting: whether it is the same, and what differs.
        find: what was found; None, or FileNotFoundError, where it has not been run.
    """

    theirs: str
    relation: str
    ours: str
    setting: str
    find: Callable[[Path], Finding | None]

    def verdict(self, data_folder: Path) -> tuple[str, str]:
        """The word, and what was found."""
        try:
            found = self.find(data_folder)
        except FileNotFoundError:
            found = None
        if found is None:
            return NOT_RUN, ""
        return {True: REPRODUCED, False: NOT_REPRODUCED, None: UNKNOWN}[found.holds], found.words


ROWS: tuple[Row, ...] = (
    Row(
        "Convergence of Top-k, Rand-k and dense training: VGG-16, ResNet-20, ResNet-50",
        "exact Top-k ends above Rand-k",
        "convergence (accuracy)",
        "no: less data, ResNet-20 and smaller networks; density 0.001 and momentum 0.9 as theirs, steps tuned here",
        findings.above,
    ),
    Row(
        "Histograms of corrected gradients, dense and Top-k, six models",
        "error feedback widens them",
        "gradient_laws (gradient_histograms)",
        "partly: six models of the same kinds, shorter training; density 0.001 as theirs",
        findings.inflated,
    ),
    Row(
        "Sorted squares of a Gaussian sample against a line",
        "they lie under the line",
        "contraction (profiles)",
        "yes: 100,000 Gaussian entries; scale does not matter",
        findings.under_line,
    ),
    Row(
        "The bound against the error of Top-k: a Gaussian sample, FNN-3, ResNet-20, LSTM",
        "the bound holds where it is drawn",
        "contraction (ladder)",
        "partly: the same sample and densities, of networks FNN-3 alone; our error is exact, the script's is not",
        findings.bounded,
    ),
    Row(
        "Seconds of Top-k, DGC and Gaussian-k by dimension on a GPU",
        f"Gaussian-k selects faster than exact Top-k on long vectors, both in PyTorch, by a factor {findings.FASTER:g}",
        "kernels (kernels)",
        "no: other GPUs and a processor; Gaussian entries, where the released benchmark has uniform ones, of which the "
        "released rule ends with none",
        findings.selected,
    ),
    Row(
        "Convergence of Gaussian-k, Top-k and dense training",
        f"Gaussian-k ends within {findings.CLOSE_POINTS:g} point of Top-k",
        "convergence (accuracy)",
        "no: as in the first row; their rule is run as released",
        findings.alike,
    ),
    Row(
        "Densities 0.001, 0.005 and 0.01; numbers sent against accuracy",
        "the released rule sends about k",
        "convergence (counts)",
        "partly: densities as far as arenas have them, other networks",
        findings.counts,
    ),
    Row(
        "Table: seconds of a step and scaling efficiency, ImageNet, 16 GPUs",
        "Gaussian-k is quicker than Top-k, and Top-k than dense training",
        "scaling (scaling), links (links_seconds)",
        "no: predicted; with 16 workers, 128 images each, density 0.001, and 10 Gbit/s as described to us; two of four "
        "models",
        findings.scaled,
    ),
)
"""In the order of the original study, as its scripts have it."""


def original_table(data_folder: Path) -> str:
    """Theirs, what is tested, ours, whether the setting is the same, and the verdict with what was found."""
    lines = []
    for row in ROWS:
        word, words = row.verdict(data_folder)
        said = rf"\emph{{{word}}}" + (f": {latex.escape(words)}" if words else "")
        cells = map(latex.escape, (row.theirs, row.relation, row.setting))
        lines.append(f"{' & '.join(cells)} & {said} \\\\[3pt]\n")
    column = r">{\raggedright\arraybackslash}p"
    layout = "".join(f"{column}{{{width}}}" for width in ("3.3cm", "2.6cm", "3.8cm", "4.6cm"))
    head = r"theirs & relation tested & same setting? & verdict and finding \\"
    begin = f"\\begin{{tabular}}{{@{{}}{layout}@{{}}}}\n\\toprule\n{head}\n\\midrule\n"
    return begin + "".join(lines) + "\\bottomrule\n\\end{tabular}\n"


def original_markdown(data_folder: Path) -> str:
    """The same rows for a page, with the names of our results."""
    lines = []
    for row in ROWS:
        word, words = row.verdict(data_folder)
        cells = (row.theirs, row.relation, row.ours, row.setting, f"**{word}**" + (f": {words}" if words else ""))
        lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |\n")
    head = "| theirs | relation tested | ours: result (figure or table) | same setting? | verdict and finding |\n"
    return f"{head}|---|---|---|---|---|\n{''.join(lines)}"


def _tallied(data_folder: Path) -> str:
    """`4 reproduced, 1 not reproduced, …`: every verdict that was given."""
    words = [row.verdict(data_folder)[0] for row in ROWS]
    counted = ((word, words.count(word)) for word in (REPRODUCED, NOT_REPRODUCED, UNKNOWN, NOT_RUN))
    return ", ".join(f"{latex.integer(count)} {word}" for word, count in counted if count)


STUDY = Study(
    macros={"OriginalRows": lambda _folder: latex.integer(len(ROWS)), "OriginalVerdicts": _tallied},
    tables={"original.tex": original_table},
    results=("contraction", "kernels", "scaling"),
)
"""What the paper prints of it."""
