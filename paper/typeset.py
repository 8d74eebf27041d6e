"""Set the papers, and say what is wrong with them: boxes that stick out, references that lead nowhere, too many pages.

    python -m paper.typeset --output-folder build/paper

Needs latexmk, and what `paper.figures` and `paper.numbers` write. What LaTeX only warns of is an error here.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from paper.documents import DOCUMENTS, FOLDER, MAIN_PART_END, Document
from sparsync.verify.tools.interrupts import interrupt_as_line

MOST_OVERFULL_POINTS = 1.0
"""What may stick out: a third of a millimetre, which is less than a reader sees of a margin without a rule."""
_OVERFULL = re.compile(r"^Overfull \\[hv]box \((\d+(?:\.\d+)?)pt too (?:wide|high)\).*$", flags=re.MULTILINE)
_WARNINGS = re.compile(
    r"^.*(?:Reference|Citation|Label|Hyper reference) `[^']*'.*(?:undefined|multiply).*$", re.MULTILINE
)
# TeX breaks the lines of its log at this many characters; ours are to stay whole.
_WHOLE_LINES = {"max_print_line": "10000"}
_LATEXMK = ("latexmk", "-pdf", "-interaction=nonstopmode", "-halt-on-error")


def overfull_boxes(log: str) -> list[str]:
    """The lines of a log that tell of a box that sticks out by more than `MOST_OVERFULL_POINTS`."""
    return [match[0] for match in _OVERFULL.finditer(log) if float(match[1]) > MOST_OVERFULL_POINTS]


def broken_references(log: str) -> list[str]:
    """The lines of a log that tell of a reference, citation or label that is undefined, or defined more than once."""
    return _WARNINGS.findall(log)


def page_of(label: str, aux: str) -> int:
    """The page that a label stands on.

    Args:
        label: its name.
        aux: what LaTeX has written of labels.

    Raises:
        ValueError: there is no such label, or its page is no number.
    """
    found = re.search(rf"^\\newlabel\{{{re.escape(label)}\}}\{{\{{[^{{}}]*\}}\{{(\d+)\}}", aux, flags=re.MULTILINE)
    if not found:
        raise ValueError(f"no label {label!r} with a page")
    return int(found[1])


def complaints(document: Document, log: str, aux: str) -> list[str]:
    """What is wrong with a paper as it was set, a line each; none if nothing is.

    Args:
        document: with the limit of its pages.
        log: of the last run of LaTeX.
        aux: what that run has written of labels.

    Raises:
        ValueError: the paper does not say where its main part ends.
    """
    found = [*overfull_boxes(log), *broken_references(log)]
    if (pages := page_of(MAIN_PART_END, aux)) > document.page_limit:
        found.append(f"the main part ends on page {pages}, and may have {document.page_limit}")
    return [f"{document.stem}: {line}" for line in found]


def typeset(document: Document, source_folder: Path, output_folder: Path) -> list[str]:
    """Write `<stem>.pdf`; returns what is wrong with it.

    Args:
        document: which paper.
        source_folder: holds the texts, and `generated/`.
        output_folder: created if absent.

    Raises:
        FileNotFoundError: there is no latexmk.
        subprocess.CalledProcessError: LaTeX stopped; the log says where.
        ValueError: see `complaints`.
    """
    if shutil.which(_LATEXMK[0]) is None:
        raise FileNotFoundError("setting a paper needs latexmk (Debian: latexmk texlive-latex-extra texlive-science)")
    output_folder.mkdir(parents=True, exist_ok=True)
    command = [*_LATEXMK, f"-outdir={output_folder.resolve()}", f"{document.stem}.tex"]
    subprocess.run(command, cwd=source_folder, env=os.environ | _WHOLE_LINES, check=True)
    # A log quotes the text in the encoding of its fonts.
    log, aux = ((output_folder / f"{document.stem}{end}").read_text("utf-8", "replace") for end in (".log", ".aux"))
    return complaints(document, log, aux)


@interrupt_as_line()
def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line (None: the process's own arguments).

    Raises:
        SystemExit: malformed arguments, a paper that cannot be set, or one with which something is wrong.
    """
    parser = argparse.ArgumentParser(prog="python -m paper.typeset", description="Set the papers.")
    parser.add_argument("--output-folder", type=Path, required=True, help="where the PDFs go; created if absent")
    parser.add_argument("--only", nargs="+", choices=DOCUMENTS, default=list(DOCUMENTS), help="these papers, not both")
    options = parser.parse_args(arguments)
    try:
        wrong = [line for stem in options.only for line in typeset(DOCUMENTS[stem], FOLDER, options.output_folder)]
    except (ValueError, OSError, subprocess.CalledProcessError) as error:
        raise SystemExit(f"error: {error}") from error
    if wrong:
        raise SystemExit("\n".join(("error: the papers are set, and this is wrong with them:", *wrong)))


if __name__ == "__main__":
    main()
