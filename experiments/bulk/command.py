"""The command line of a bulk-synchronous program: `torchrun -m sparsync.experiments.bulk.NAME --output FILE …`.

A program is a system, see `experiments/parties/party.py`, whose settings are its options.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import tyro

from sparsync.experiments.command import exit_on_bad_input
from sparsync.experiments.parties.party import System
from sparsync.experiments.parties.processes import SystemCommand, take_part, with_settings


def read_arguments(name: str, system: System, arguments: Sequence[str]) -> SystemCommand:
    """Parse the command line.

    Raises:
        ValueError: a setting out of range, or an output that cannot be written, see `require_output`.
        SystemExit: malformed arguments, after tyro's message; or `--help`.
    """
    typed = with_settings(SystemCommand, system.settings)
    command = tyro.cli(
        typed,
        prog=f"torchrun -m sparsync.experiments.bulk.{name}",
        description=f"{system.summary[0].upper()}{system.summary[1:]}.",
        args=list(arguments),
        default=typed(output=tyro.MISSING, settings=system.settings()),
    )
    command.require()
    return command


def main(name: str, system: System) -> None:
    """Run the command line."""
    with exit_on_bad_input():
        take_part(name, system, read_arguments(name, system, sys.argv[1:]))
