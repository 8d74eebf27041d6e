"""Did recorded runs keep their promises? `python -m sparsync.verify.judge FILE …` judges trace files, a line for each.

Status 0: every run kept what it promised, and the line says what that was. 1: one broke a promise, which is named with
the event that showed it. 2: a file is no whole trace. Of several files the largest counts. What a file says is judged,
not who wrote it: a trace whose every number was invented to fit together passes, and is a run that could have been.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from sparsync.verify.monitors.verdict import judge_file, told
from sparsync.verify.tools.interrupts import interrupt_as_line


def read(arguments: Sequence[str] | None = None) -> list[Path]:
    """The files that a command line names (None: the process's own).

    Raises:
        SystemExit: it names none, or asks for help.
    """
    parser = argparse.ArgumentParser(prog="python -m sparsync.verify.judge", description="Judge trace files.")
    parser.add_argument("files", nargs="+", type=Path, help="written by a race with --traces, or by write_trace")
    found: list[Path] = parser.parse_args(arguments).files
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Judge the files; return the exit status."""
    with interrupt_as_line():
        return told(read(arguments), judge_file)


if __name__ == "__main__":
    sys.exit(main())
