"""A folder of checkpoints: each is whole or not there, damage is found, and the last ones are kept.

    FOLDER/step-00000200/   __0_0.distcp …, .metadata    what torch.distributed.checkpoint wrote
                            manifest.json                 the run that it is of, and the SHA-256 of every file

A checkpoint is written as `.step-….writing` and renamed once all of it is on the disk, the manifest last. So a process
that is killed at any moment leaves the earlier ones as they were.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.distributed.checkpoint.api import CheckpointException
from torch.distributed.checkpoint.filesystem import FileSystemReader, FileSystemWriter
from torch.distributed.checkpoint.metadata import TensorStorageMetadata
from torch.distributed.checkpoint.state_dict_loader import load
from torch.distributed.checkpoint.state_dict_saver import save

from sparsync.experiments.checkpoints.together import Processes
from sparsync.verify.tools.provenance import write_json

FORMAT = 2
"""Of the manifest and of the names of tensors; another one is refused."""
_MANIFEST = "manifest.json"
_ALONE = "torch.distributed is disabled"
"""How PyTorch begins to warn of what is asked for here."""
_NAME = re.compile(r"step-(\d{8})")
_LEFTOVER = re.compile(r"\.step-\d{8}\.(writing|old)|\.attempts\.json\..+")


@dataclass(frozen=True)
class Checkpoint:
    """One that is whole, in its folder."""

    path: Path
    step: int

    def manifest(self) -> dict[str, Any]:
        """What was written with it.

        Raises:
            ValueError: there is none, it is not readable, of another format, or not what was written.
        """
        place = self.path / _MANIFEST
        try:
            found = dict(json.loads(place.read_text(encoding="utf-8")))
            written = found["format"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{place} is not readable: {error}") from error
        if written != FORMAT:
            raise ValueError(f"{self.path} has format {written}, this version of sparsync reads {FORMAT}")
        if found.pop("sha256", None) != _digest(found):
            raise ValueError(f"{place} is not what was written")
        return found

    def damage(self, share: int = 0, shares: int = 1) -> str:
        """Which file is missing or not the one that was written; empty if all are.

        Args:
            share: which share of the files is looked at, from 0.
            shares: how many there are; as many processes look at all of them.
        """
        try:
            files = sorted(self.manifest()["files"].items())
        except ValueError as error:
            return str(error)
        for name, digest in files[share::shares]:
            try:
                found = _sha256(self.path / name)
            except OSError as error:
                return f"{self.path / name} is not readable: {error.strerror}"
            if found != digest:
                return f"{self.path / name} is not what was written: SHA-256 {found}, and not {digest}"
        return ""

    def read(self, names: Iterable[str]) -> dict[str, Tensor]:
        """These tensors, on the CPU; each process reads for itself.

        Raises:
            ValueError: there is none of that name, or they cannot be read.
        """
        reader = FileSystemReader(self.path)
        metadata = reader.read_metadata().state_dict_metadata
        wanted: dict[str, Any] = {}
        for name in names:
            found = metadata.get(name)
            if not isinstance(found, TensorStorageMetadata):
                raise ValueError(f"{self.path} holds no {name!r}")
            wanted[name] = torch.empty(found.size, dtype=found.properties.dtype)
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message=_ALONE)
                load(wanted, storage_reader=reader, no_dist=True)
        except CheckpointException as error:
            _raise_interrupt(error, rank=0)
            raise ValueError(f"{self.path} is not readable: {_causes(error)}") from error
        return wanted


class Folder:
    """Where the checkpoints of one run are.

    Args:
        path: that all processes see; it exists.
        keep: how many of them stay, the last ones.
    """

    def __init__(self, path: Path, keep: int) -> None:
        self.path, self._keep = path, keep

    def checkpoints(self) -> list[Checkpoint]:
        """All that are whole, the newest first."""
        found = [(match, path) for path in self.path.iterdir() if (match := _NAME.fullmatch(path.name))]
        return sorted((Checkpoint(path, int(match[1])) for match, path in found), key=lambda each: -each.step)

    def remove_leftovers(self) -> None:
        """What a killed process left half-written or half-deleted; nobody else may be writing."""
        for path in self.path.iterdir():
            if _LEFTOVER.fullmatch(path.name):
                shutil.rmtree(path)

    def begin(self, step: int) -> Path:
        """An empty folder for the files of a checkpoint; one process calls this, before the others write."""
        writing = self._hidden(step, "writing")
        shutil.rmtree(writing, ignore_errors=True)
        writing.mkdir()
        return writing

    def write(self, step: int, tensors: Mapping[str, Tensor], processes: Processes) -> None:
        """Write this process's tensors into the folder that `begin` made; all processes of the run call this.

        Args:
            step: of the checkpoint.
            tensors: by name; one that several processes have is written once.
            processes: of the run.

        Raises:
            OSError: on every process, if one could not write; ranks and reasons are named.
            KeyboardInterrupt: on the process that was interrupted.
        """
        writer, alone = FileSystemWriter(self._hidden(step, "writing"), sync_files=True), processes.count == 1
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message=_ALONE)
                save(dict(tensors), storage_writer=writer, process_group=processes.group, no_dist=alone)
        except CheckpointException as error:
            _raise_interrupt(error, rank=processes.rank)
            raise OSError(f"{self._unwritten(step)}: {_causes(error)}") from error
        except RuntimeError as error:
            # Another process is lost.
            raise OSError(f"{self._unwritten(step)}: {_first_line(error)}") from error

    def _unwritten(self, step: int) -> str:
        # PyTorch's words do not always say that a disk was full.
        free = shutil.disk_usage(self.path).free
        return f"the checkpoint of step {step} was not written in {self.path}, where {free} bytes are free"

    def finish(self, step: int, manifest: Mapping[str, Any]) -> None:
        """Put the manifest there, and the checkpoint in its place; then remove those that are too old.

        One process calls this, once all have written. Checkpoints of later steps are damaged, or of an attempt that
        this one does not go on from, and go too.

        Raises:
            OSError: what another process has written is not there, as on a disk that this one does not see.
        """
        writing, place = self._hidden(step, "writing"), self.path / f"step-{step:08d}"
        files = {path.name: _sha256(path) for path in sorted(writing.iterdir())}
        _require_all(writing, files)
        fields = {**manifest, "format": FORMAT, "step": step, "files": files}
        write_json(writing / _MANIFEST, {**fields, "sha256": _digest(fields)})
        _sync(writing)
        if place.exists():
            # Of an attempt that was damaged later, or began anew before it.
            self._remove(Checkpoint(place, step))
        writing.rename(place)
        _sync(self.path)
        there = self.checkpoints()
        later = [each for each in there if each.step > step]
        for one in [*later, *there[len(later) + self._keep :]]:
            self._remove(one)

    def _remove(self, checkpoint: Checkpoint) -> None:
        # Renamed first: half a checkpoint must not have the name of a whole one.
        hidden = self._hidden(checkpoint.step, "old")
        shutil.rmtree(hidden, ignore_errors=True)
        checkpoint.path.rename(hidden)
        shutil.rmtree(hidden)

    def _hidden(self, step: int, suffix: str) -> Path:
        return self.path / f".step-{step:08d}.{suffix}"


def differences(saved: Mapping[str, Any], own: Mapping[str, Any]) -> list[str]:
    """`seed was 0 and is 1`, for every field that differs or that one of both lacks."""
    names: Sequence[str] = [*own, *(name for name in saved if name not in own)]
    return [
        f"{name} was {saved.get(name, 'absent')!r} and is {own.get(name, 'absent')!r}"
        for name in names
        if name not in saved or name not in own or saved[name] != own[name]
    ]


def _require_all(writing: Path, files: Iterable[str]) -> None:
    """See `Folder.finish`."""
    stored = FileSystemReader(writing).read_metadata().storage_data or {}
    if missing := sorted({info.relative_path for info in stored.values()} - set(files)):
        raise OSError(f"{', '.join(missing)} of another process is missing in {writing}; do all see this folder?")


def _raise_interrupt(error: CheckpointException, *, rank: int) -> None:
    """PyTorch makes an error of everything, also of the interrupt that a process was about to end with."""
    failure = error.failures.get(rank)
    if failure is not None and isinstance(failure[0], KeyboardInterrupt):
        raise failure[0] from None


def _digest(fields: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()


def _causes(error: CheckpointException) -> str:
    return "; ".join(f"rank {rank}: {_first_line(failure[0])}" for rank, failure in sorted(error.failures.items()))


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0]


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _sync(folder: Path) -> None:
    """Bring the names in a folder to the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
