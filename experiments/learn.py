"""Learning systems around the core, on real processes: second-order, split, federated, self-paced.

`torchrun --nproc-per-node 4 -m sparsync.experiments.learn --system kfac --output FILE`: the settings of the system are
its options, `--help` lists them. Each run says what it sent, and what Top-k made of it where it was asked for.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

import tyro

from sparsync.experiments.command import exit_on_bad_input
from sparsync.experiments.learning.registry import SYSTEMS
from sparsync.experiments.parties.processes import SystemCommand, take_part, with_settings


@dataclass(frozen=True)
class LearnCommand(SystemCommand):
    """A parsed command line."""

    system: str = field(default=tyro.MISSING, kw_only=True)
    """key of SYSTEMS"""


def read_arguments(arguments: Sequence[str]) -> LearnCommand:
    """Parse the command line.

    Raises:
        ValueError: unknown system, a setting out of range, or an output that cannot be written, see `require_output`.
        SystemExit: malformed arguments, after tyro's message; or `--help`.
    """
    scout = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    scout.add_argument("--system")
    name = scout.parse_known_args(arguments)[0].system
    if name is not None and name not in SYSTEMS:
        raise ValueError(f"unknown system {name!r}; known: {', '.join(SYSTEMS)}")
    shown = next(iter(SYSTEMS)) if name is None else name
    typed = with_settings(LearnCommand, SYSTEMS[shown].settings)
    command = tyro.cli(
        typed,
        prog="torchrun -m sparsync.experiments.learn",
        description=f"Learning systems: {_listed()}. The settings below are those of {shown}.",
        args=list(arguments),
        default=typed(system=name or tyro.MISSING, output=tyro.MISSING, settings=SYSTEMS[shown].settings()),
    )
    if command.system != name:
        raise ValueError(f"write --system {command.system} in full, so that its settings are found")
    command.require()
    return command


def _listed() -> str:
    return "; ".join(f"{name}, {system.summary}" for name, system in SYSTEMS.items())


def main() -> None:
    """Run the command line."""
    with exit_on_bad_input():
        command = read_arguments(sys.argv[1:])
        take_part(command.system, SYSTEMS[command.system], command)


if __name__ == "__main__":
    main()
