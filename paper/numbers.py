r"""Write every number that the paper's text uses as a LaTeX macro, its tables, and the proofs of its statements.

    python -m paper.numbers --data-folder paper/data --output-folder paper/generated

`numbers.tex` defines `\sp<Name>` for each name in `MACROS`; every other file is a table of a study, or the appendix.
Values come from result files and from `STATEMENTS` only, so a number in the text cannot differ from the data behind it.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from paper.commands import command_definitions
from paper.origins import ORIGINS
from paper.results import each_read_once, write_text
from paper.studies.registry import STUDIES
from paper.studies.study import Macro
from sparsync.verify.tools.interrupts import interrupt_as_line

MACROS: dict[str, Macro] = {
    **{name: macro for study in STUDIES.values() for name, macro in study.macros.items()},
    **ORIGINS,
}
"""Every macro by its name without the leading `\\sp`."""


@each_read_once()
def macro_definitions(data_folder: Path) -> str:
    """One definition a line, in the order of `MACROS`; then the commands that captions name.

    Raises:
        FileNotFoundError: a result file is missing.
        ValueError: a result lacks a field, or holds a number that is not finite.
    """
    lines = (f"\\newcommand{{\\sp{name}}}{{{macro(data_folder)}}}\n" for name, macro in MACROS.items())
    return "".join(lines) + command_definitions(data_folder)


FILES: dict[str, Macro] = {
    "numbers.tex": macro_definitions,
    **{name: table for study in STUDIES.values() for name, table in study.tables.items()},
}
"""Every file that is written, by name."""


@interrupt_as_line()
def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line (None: the process's own arguments).

    Raises:
        SystemExit: malformed arguments, or results that are missing or incomplete.
    """
    parser = argparse.ArgumentParser(prog="python -m paper.numbers", description="Write the paper's numbers.")
    parser.add_argument("--data-folder", type=Path, required=True, help="where the result files are")
    parser.add_argument("--output-folder", type=Path, required=True, help="where the files go; created if absent")
    options = parser.parse_args(arguments)
    try:
        with each_read_once():
            texts = {name: make(options.data_folder) for name, make in FILES.items()}
        for name, text in texts.items():
            write_text(options.output_folder / name, text)
    except (ValueError, OSError) as error:
        raise SystemExit(f"error: {error}") from error


if __name__ == "__main__":
    main()
