"""The command line of a study that measures seconds: `python -m …studies.planning.NAME --output FILE`.

Such a study is no part of `make reproduce`, since nothing else may run beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import tyro

from sparsync.experiments.command import exit_on_bad_input, step_progress
from sparsync.experiments.studies.profiles import ProfileName
from sparsync.verify.tools.provenance import require_output, write_json


@dataclass(frozen=True)
class MeasuredCommand:
    """A parsed command line."""

    output: Path
    """where the JSON result goes; its folder must exist"""
    profile: ProfileName = "quick"
    """how large the study is"""


class Measure(Protocol):
    """A study."""

    def __call__(self, profile_name: ProfileName, *, advance: Callable[[], None] = ...) -> dict[str, Any]:
        """Its JSON."""
        ...


@dataclass(frozen=True)
class MeasuredStudy:
    """What its command line needs to know.

    Args:
        name: of its file.
        description: what is measured, a sentence.
        measure: gives its JSON.
        step_count: how often it advances.
        summary: of its JSON, what a person reads.
    """

    name: str
    description: str
    measure: Measure
    step_count: Callable[[ProfileName], int]
    summary: Callable[[Mapping[str, Any]], str]

    def read(self, arguments: Sequence[str] | None = None) -> MeasuredCommand:
        """Parse the command line (None: the process's own).

        Raises:
            ValueError: the output cannot be written.
            SystemExit: malformed arguments, after tyro's message; or `--help`.
        """
        command = tyro.cli(
            MeasuredCommand,
            prog=f"python -m sparsync.experiments.studies.planning.{self.name}",
            description=self.description,
            args=arguments,
        )
        require_output(command.output)
        return command

    def main(self, arguments: Sequence[str] | None = None) -> None:
        """Run the command line."""
        with exit_on_bad_input():
            command = self.read(arguments)
            with step_progress(self.step_count(command.profile), visible=True, title=self.name) as advance:
                study = self.measure(command.profile, advance=advance)
            write_json(command.output, study)
        print(f"{self.summary(study)}\n→ {command.output}")  # noqa: T201
