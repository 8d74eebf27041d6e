"""Draw the paper's figures from result files, as PDF for the paper and PNG for a screen.

    python -m paper.figures --data-folder paper/data --output-folder paper/generated [--only overview] [--jobs 2]

Each figure is one function from a data folder to a figure, which its study exports.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from paper.results import each_read_once
from paper.studies import registry
from paper.studies.study import Draw
from paper.style import PNG_DOTS_PER_INCH, paper_style
from sparsync.verify.tools.arguments import positive
from sparsync.verify.tools.interrupts import interrupt_as_line
from sparsync.verify.tools.pool import CasesFailedError, Pool
from sparsync.verify.tools.provenance import write_whole

FIGURES: dict[str, Draw] = {name: draw for study in registry.STUDIES.values() for name, draw in study.figures.items()}
"""Every figure by file name."""

_FORMATS: dict[str, dict[str, Any]] = {
    # No date: the same data give the same bytes.
    "pdf": {"metadata": {"CreationDate": None}},
    "png": {"dpi": PNG_DOTS_PER_INCH},
}
"""What each format is saved with; the layout found for the first, the paper's, is that of the others."""


def write_figure(
    name: str, data_folder: Path, output_folder: Path, *, endings: Sequence[str] = tuple(_FORMATS)
) -> None:
    """Draw one figure and write `<name>.pdf` and `<name>.png`.

    Args:
        name: key of `FIGURES`.
        data_folder: holds the result files.
        output_folder: created if absent.
        endings: which of the two; both unless told.

    Raises:
        ValueError: unknown name, or a result without a field that the figure needs.
        FileNotFoundError: a result file is missing.
    """
    _require_known(name)
    with paper_style():
        with each_read_once():
            figure = FIGURES[name](data_folder)
        for ending in endings:
            save = partial(figure.savefig, format=ending, **_FORMATS[ending])
            write_whole(output_folder / f"{name}.{ending}", save)
            figure.set_layout_engine("none")


def _require_known(name: str) -> None:
    if name not in FIGURES:
        raise ValueError(f"unknown figure {name!r}; known: {', '.join(FIGURES)}")


@interrupt_as_line()
def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line (None: the process's own arguments).

    Raises:
        SystemExit: malformed arguments, or results that are missing or incomplete.
    """
    parser = argparse.ArgumentParser(prog="python -m paper.figures", description="Draw the paper's figures.")
    parser.add_argument("--data-folder", type=Path, required=True, help="where the result files are")
    parser.add_argument("--output-folder", type=Path, required=True, help="where the figures go; created if absent")
    parser.add_argument("--only", nargs="+", default=list(FIGURES), metavar="FIGURE", help="these figures, not all")
    parser.add_argument("--jobs", type=positive, default=1, metavar="N", help="figures at a time; default: 1")
    options = parser.parse_args(arguments)
    draw = partial(write_figure, data_folder=options.data_folder, output_folder=options.output_folder)
    try:
        for name in options.only:
            _require_known(name)
        Pool(options.jobs, preloaded=registry.__name__).run(draw, options.only)
    except (ValueError, CasesFailedError) as error:
        raise SystemExit(f"error: {error}") from error


if __name__ == "__main__":
    main()
