"""How slow is your method at worst? `python -m sparsync.verify.tight_rate --method FILE.py` finds the exact rate.

FILE.py has a class with a function `step`, see `paper/docs/tight_rates.md`. Without `--steps` the rate is the least
factor by which a quadratic Lyapunov function shrinks in a step (or the factor of the one that the class names); with
`--steps N` it is what is measured after N steps over what is measured at the start. It is found by a solver, and proved
in fractions where the solver's answer rounds to a proof. Status 2: the method or a number is none; nothing is written.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from sparsync.verify.tools.interrupts import interrupt_as_line
from sparsync.verify.tools.provenance import provenance, require_output, write_json
from sparsync.verify.worst_case_rates import autolyap, pepit
from sparsync.verify.worst_case_rates.answers import Answer, Asked, answer, closed_form
from sparsync.verify.worst_case_rates.best import best_number
from sparsync.verify.worst_case_rates.certify import Bound
from sparsync.verify.worst_case_rates.exact_numbers import MethodError, number, plain
from sparsync.verify.worst_case_rates.examples import EXAMPLES
from sparsync.verify.worst_case_rates.method_file import Method, read_method
from sparsync.verify.worst_case_rates.programmes import SolverError
from sparsync.verify.worst_case_rates.report import compared_rows, lines_of, record_of

_USAGE_STATUS = 2
_PLAIN_WIDTH = 140


def read_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse the command line; None is the process's own.

    Raises:
        SystemExit: malformed arguments, after argparse's message; or `--help`.
    """
    parser = argparse.ArgumentParser(
        prog="python -m sparsync.verify.tight_rate", description="Find and prove the worst-case rate of a method."
    )
    parser.add_argument("--method", help="FILE.py, or FILE.py:Class where the file has several methods")
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=NUMBER", help="replace a number; repeatable"
    )
    parser.add_argument("--steps", type=int, metavar="N", help="the worst case after N steps from the method's start")
    parser.add_argument("--initial", help="what is measured at the start: distance, value or gradient")
    parser.add_argument("--performance", help="what is measured at the end: these, or best_gradient")
    parser.add_argument("--search", action="store_true", help="search a Lyapunov function though the method names one")
    parser.add_argument("--optimise", metavar="NAME", help="first find the number that makes the rate least")
    parser.add_argument("--between", nargs=2, metavar=("LOW", "HIGH"), help="where; default: a quarter to four times")
    parser.add_argument(
        "--compare", action="store_true", help="ask PEPit and AutoLyap too; without --method, about every example"
    )
    parser.add_argument("--output", type=Path, metavar="FILE.json", help="where result and certificate go")
    options = parser.parse_args(arguments)
    if options.method is None and not options.compare:
        parser.error("--method FILE.py is required")
    if options.between is not None and options.optimise is None:
        parser.error("--between is for --optimise")
    return options


def changes_of(texts: Sequence[str]) -> dict[str, str]:
    """NAME=NUMBER as names and texts.

    Raises:
        MethodError: a text has no such form, or a name comes twice.
    """
    changes: dict[str, str] = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not sign or not name.isidentifier() or not value:
            raise MethodError(f"--set takes NAME=NUMBER, got {text!r}")
        if name in changes:
            raise MethodError(f"--set gives {name} twice, {changes[name]} and {value}")
        number(value, f"--set {name}")
        changes[name] = value
    return changes


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    options = read_arguments(arguments)
    try:
        with interrupt_as_line():
            if options.output is not None:
                require_output(options.output)
            if options.method is None:
                _compare_examples()
            else:
                _answer(options)
    except (ValueError, OSError, SolverError) as error:
        sys.stderr.write(f"error: {error}\n")
        return _USAGE_STATUS
    return 0


def _answer(options: argparse.Namespace) -> None:
    changes = changes_of(options.set)
    asked = Asked(options.steps, options.initial, options.performance, options.search)
    best: Fraction | None = None
    if options.optimise is not None:
        between = None if options.between is None else [number(text, "--between") for text in options.between]
        with _advancing("tried") as advance:
            best = best_number(options.method, changes, options.optimise, asked, between, advance)
        changes = {**changes, options.optimise: str(best)}
    method = read_method(options.method, changes)
    with _advancing("programmes") as advance:
        found = answer(method, asked, advance)
    others = _others(method, asked, found) if options.compare else None
    if options.output is not None:
        record = record_of(method, asked, found, others)
        write_json(options.output, {**record, "provenance": provenance(process_count=1)})
    if best is not None:
        sys.stdout.write(f"least for {options.optimise} = {plain(best)}\n")
    for line in lines_of(method, found):
        sys.stdout.write(f"{line}\n")
    if others is not None:
        _print_table([(method, found, others)])


def _others(method: Method, asked: Asked, found: Answer) -> dict[str, Any]:
    """What PEPit, AutoLyap and the method's closed form say; a text says why one says nothing."""
    return {
        "pepit": _said(pepit.is_there(), lambda: _of_pepit(method, asked, found)),
        "autolyap": _said(autolyap.is_there(), lambda: autolyap.rate(method, asked)),
        "closed_form": closed_form(method, asked),
    }


def _said(installed: bool, ask: Callable[[], float | str]) -> float | str:
    if not installed:
        return "not installed"
    try:
        return ask()
    except (MethodError, RuntimeError) as error:
        return f"{error}"


def _of_pepit(method: Method, asked: Asked, found: Answer) -> float | str:
    if asked.steps is not None:
        return pepit.worst_case(method, asked.steps, initial=asked.initial, performance=asked.performance)
    if not found.made_of:
        return pepit.named_factor(method)
    return pepit.found_factor(method, found.upper) if isinstance(found.upper, Bound) else "no function was proved"


def _compare_examples() -> None:
    found = []
    with _advancing("examples") as advance:
        for example in EXAMPLES:
            method = read_method(str(example.path), {})
            own = answer(method, example.asked)
            found.append((method, own, _others(method, example.asked, own)))
            advance()
    _print_table(found)


def _print_table(found: Sequence[tuple[Method, Answer, dict[str, Any]]]) -> None:
    console = Console()
    console = console if console.is_terminal else Console(width=_PLAIN_WIDTH)
    table = Table("method", "rate of", "ours", "proved", "PEPit", "AutoLyap", "difference", "closed form")
    for row in compared_rows(found):
        table.add_row(*row)
    console.print(table)


@contextmanager
def _advancing(title: str) -> Iterator[Callable[[], None]]:
    """A progress bar without an end that is known, on a terminal outside CI."""
    console = Console(stderr=True)
    if not console.is_terminal or os.environ.get("CI"):
        yield lambda: None
        return
    with Progress(console=console, transient=True) as progress:
        task = progress.add_task(title, total=None)
        yield lambda: progress.advance(task)


if __name__ == "__main__":
    sys.exit(main())
