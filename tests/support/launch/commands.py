"""The torchrun lines of the launch files, taken apart: what torchrun reads, and what the command that it starts."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from typing import get_args, get_type_hints

from torch.distributed.run import get_args_parser

from sparsync.experiments.command import _RUN_ALIASES, Command, read_command

# What a checkpoint is asked for by. Until the command has them, a line is read without them.
OF_CHECKPOINTS = {"checkpoint", "every", "keep", "resume"}
TRAIN = "sparsync.experiments.train"


def option_names(record: type) -> set[str]:
    """Fields of a dataclass, and of those that it holds, as they are written on a command line."""
    names: set[str] = set()
    hints = get_type_hints(record)
    for field in fields(record):
        kinds = [kind for kind in (hints[field.name], *get_args(hints[field.name])) if is_dataclass(kind)]
        names.add(field.name.replace("_", "-"))
        names |= {name for kind in kinds if isinstance(kind, type) for name in option_names(kind)}
    return names


def known_options() -> set[str]:
    """All that the command can be told, checkpoints too, even where it has none yet."""
    return option_names(Command) | {alias.removeprefix("--") for alias in _RUN_ALIASES} | OF_CHECKPOINTS


def name_of(word: str) -> str:
    """`every` of `--every=50`."""
    return word.removeprefix("--").partition("=")[0]


def read_torchrun(words: Sequence[str]) -> argparse.Namespace:
    """What torchrun makes of its line.

    Raises:
        SystemExit: an option is not one of its own.
    """
    return get_args_parser().parse_args(list(words))


def read_train(words: Sequence[str]) -> Command:
    """What the command makes of its options.

    Raises:
        ValueError, SystemExit: see `read_command`.
    """
    has_checkpoints = option_names(Command) >= OF_CHECKPOINTS
    return read_command("", "", [word for word in words if has_checkpoints or name_of(word) not in OF_CHECKPOINTS])
