"""A checkpoint is whole or not there, damage is found, the last ones stay, and another run's is refused."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.distributed.checkpoint.filesystem import FileSystemReader, FileSystemWriter
from torch.distributed.checkpoint.state_dict_saver import save

from sparsync.experiments.checkpoints import folder as folders
from sparsync.experiments.checkpoints import keeper as keepers
from sparsync.experiments.checkpoints.folder import Checkpoint, Folder, differences
from sparsync.experiments.checkpoints.keeper import Keeping, open_keeper
from sparsync.experiments.command import Command
from sparsync.experiments.simulate import simulate
from sparsync.experiments.training.data import load_dataset
from sparsync.experiments.training.runs import Run
from sparsync.verify.tools.interrupts import InterruptedBySignal
from sparsync.verify.tools.locks import held
from tests.support.slow_cases import slow_except

RUN = Run(selector="top_k", model="fnn2", density=0.01, steps=6, evaluate_every=6, test_limit=16, workers=2)


def train(keeping: Keeping, run: Run = RUN) -> str:
    with open_keeper(keeping) as keeper:
        return simulate(run, load_dataset("embedded"), keeper=keeper).parameters_sha256


@pytest.fixture
def kept(tmp_path: Path) -> Keeping:
    """Of a whole run: after updates 4 and 6."""
    keeping = Keeping(tmp_path / "kept", every=2, resume=True)
    train(keeping)
    return keeping


def steps_in(folder: Path) -> list[int]:
    return [checkpoint.step for checkpoint in Folder(folder, 1).checkpoints()]


def test_the_last_ones_stay_and_nothing_else(kept: Keeping) -> None:
    assert steps_in(kept.folder) == [6, 4]
    names = {path.name for path in kept.folder.iterdir()}
    assert names == {"step-00000004", "step-00000006", "attempts.json", "reached-0"}
    assert [path.name for path in kept.folder.parent.iterdir()] == ["kept"]


def test_a_finished_run_is_not_trained_again(kept: Keeping, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = simulate(RUN).parameters_sha256
    monkeypatch.setattr("sparsync.experiments.training.loop.step", None)
    assert train(kept) == whole


@pytest.mark.parametrize(
    "change",
    slow_except(
        {"flip a bit", "remove", "no such run"},
        ["flip a bit", "cut", "remove", "no manifest", "no JSON", "no such run"],
    ),
)
def test_a_damaged_one_is_named_and_the_one_before_it_is_taken(
    change: str, kept: Keeping, capsys: pytest.CaptureFixture[str]
) -> None:
    newest = kept.folder / "step-00000006"
    file = newest / ("manifest.json" if "no" in change.split() else "__0_0.distcp")
    content = file.read_bytes()
    place = len(content) // 2
    changed = {
        "flip a bit": content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :],
        "cut": content[:-1],
        "no JSON": b"{",
        "no such run": content.replace(b'"seed": 0', b'"seed": 1'),
    }
    if change in changed:
        file.write_bytes(changed[change])
    else:
        file.unlink()
    assert train(kept) == simulate(RUN).parameters_sha256
    said = capsys.readouterr().err
    assert said.startswith(f"warning: {file} is not ")
    assert said.endswith("looking for an older checkpoint\n")
    shutil.rmtree(kept.folder / "step-00000006")
    (kept.folder / "step-00000004" / "__0_0.distcp").write_bytes(b"")
    with pytest.raises(ValueError, match=r"all checkpoints in .* are damaged"):
        train(kept)


def test_a_damaged_one_goes_once_a_newer_one_is_there_and_no_sooner(kept: Keeping) -> None:
    (kept.folder / "step-00000006" / "__0_0.distcp").write_bytes(b"")
    closer = replace(kept, every=1, keep=1)

    def stop_after_five(step_count: int, _: object) -> None:
        if step_count == 6:
            raise OSError("stopped")

    with pytest.raises(OSError, match="stopped"), open_keeper(closer) as keeper:
        simulate(RUN, load_dataset("embedded"), keeper=keeper, observe=stop_after_five)
    assert steps_in(kept.folder) == [5]
    assert train(closer) == simulate(RUN).parameters_sha256


def test_what_another_process_wrote_elsewhere_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder is not on a disk that all see."""
    keeping, steps = Keeping(tmp_path / "kept", every=2, resume=True), []

    def write_elsewhere(*arguments: Any, storage_writer: FileSystemWriter, **options: Any) -> None:
        save(*arguments, storage_writer=storage_writer, **options)
        steps.append(storage_writer.path)
        if len(steps) == 2:
            (Path(storage_writer.path) / "__0_0.distcp").unlink()

    monkeypatch.setattr(folders, "save", write_elsewhere)
    with pytest.raises(OSError, match=r"^__0_0\.distcp of another process is missing in .*step-00000004"):
        train(keeping)
    assert steps_in(keeping.folder) == [2]


@pytest.mark.parametrize("act", ["write_data", "read_data"])
def test_an_interrupt_meanwhile_is_one_and_no_error(act: str, kept: Keeping, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise InterruptedBySignal(15)

    owner = FileSystemWriter if act == "write_data" else FileSystemReader
    monkeypatch.setattr(owner, act, interrupted)
    with pytest.raises(InterruptedBySignal):
        train(kept if act == "read_data" else replace(kept, folder=kept.folder.with_name("other")))


@pytest.mark.parametrize("killed_in", ["write", "finish", "rename", "prune"])
def test_a_kill_while_it_is_written_leaves_the_one_before(
    killed_in: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A child process ends without another word, at its second checkpoint."""
    keeping = Keeping(tmp_path / "kept", every=2, keep=1, resume=True)
    child = os.fork()
    if child == 0:
        _die_at_the_second(killed_in, monkeypatch)
        train(keeping)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    there = steps_in(keeping.folder)
    assert there == ([4] if killed_in == "prune" else [2])
    assert Checkpoint(keeping.folder / f"step-{there[0]:08d}", there[0]).damage() == ""
    assert train(keeping) == simulate(RUN).parameters_sha256
    assert steps_in(keeping.folder) == [6]
    assert not [path.name for path in keeping.folder.iterdir() if path.name.startswith(".")]


def _die_at_the_second(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, name, marked, last = {
        "write": (folders, "save", "", 2),
        "finish": (folders, "write_json", "manifest.json", 2),
        "rename": (Path, "rename", ".writing", 2),
        "prune": (shutil, "rmtree", ".old", 1),
    }[place]
    act, calls = getattr(owner, name), []

    def act_or_die(*arguments: object, **options: object) -> object:
        # Names are also removed, renamed and written that are no checkpoint's.
        if str(arguments[0]).endswith(marked) and not options.get("ignore_errors"):
            calls.append(arguments)
        if len(calls) == last:
            os._exit(9)
        return act(*arguments, **options)

    monkeypatch.setattr(owner, name, act_or_die)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"seed": 1}, "seed was 0 and is 1"),
        ({"density": 0.02, "momentum": 0.5}, "density was 0.01 and is 0.02; momentum was 0.0 and is 0.5"),
        ({"model": "fnn3"}, "model was 'fnn2' and is 'fnn3'; dimension was 25450 and is 199210"),
        ({"steps": 7}, "steps was 6 and is 7"),
    ],
)
def test_one_of_other_settings_is_refused_with_what_differs(change: dict[str, Any], said: str, kept: Keeping) -> None:
    before = (kept.folder / "attempts.json").read_bytes()
    with pytest.raises(ValueError, match=f"is of another run: {said}"):
        train(kept, replace(RUN, **change))
    assert (kept.folder / "attempts.json").read_bytes() == before


def test_one_of_another_version_or_other_data_is_refused(kept: Keeping, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keepers, "version", lambda _: "9.9")
    with pytest.raises(ValueError, match=r"sparsync_version was '\S+' and is '9.9'$"):
        train(kept)
    monkeypatch.undo()
    data = load_dataset("embedded")
    with open_keeper(kept) as keeper, pytest.raises(ValueError, match=r"data_sha256 was '[0-9a-f]{64}' and is '0'"):
        simulate(RUN, replace(data, sha256="0"), keeper=keeper)
    manifest = kept.folder / "step-00000006" / "manifest.json"
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "format": 1}))
    assert "has format 1, this version of sparsync reads 2" in Folder(kept.folder, 1).checkpoints()[0].damage()


def test_checkpoints_are_neither_taken_nor_replaced_unasked(kept: Keeping) -> None:
    with pytest.raises(ValueError, match=r"holds checkpoints, the newest of step 6; --resume goes on from it"):
        train(replace(kept, resume=False))
    assert steps_in(kept.folder) == [6, 4]


def test_a_folder_that_another_process_has_is_refused(kept: Keeping, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keepers, "PATIENCE_SECONDS", 0.0)
    with held(kept.folder), pytest.raises(ValueError, match=rf"is being written by process {os.getpid()} on"):
        train(kept)


def test_what_cannot_be_written_is_an_error_that_leaves_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keeping, write = Keeping(tmp_path / "kept", every=2, resume=True), FileSystemWriter.write_data
    calls = []

    def full_at_the_second(*arguments: object) -> object:
        calls.append(arguments)
        if len(calls) == 2:
            raise OSError(28, "No space left on device")
        return write(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(FileSystemWriter, "write_data", full_at_the_second)
    with pytest.raises(OSError, match=r"step 4 was not written in .*: rank 0: .*No space left on device"):
        train(keeping)
    assert steps_in(keeping.folder) == [2]
    assert train(keeping) == simulate(RUN).parameters_sha256


@pytest.mark.parametrize("name", ["every", "keep"])
def test_numbers_below_one_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=f"{name} must be at least 1, got 0"):
        replace(Keeping(tmp_path), **{name: 0})  # type: ignore[arg-type]  # a name of an int


def test_options_without_a_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="--resume goes on from the folder that --checkpoint names"):
        _ = Command("fnn3_top_k", tmp_path / "out.json", RUN, resume=True).keeping
    for option in ({"every": 0}, {"keep": 3}):
        with pytest.raises(ValueError, match=f"--{next(iter(option))} is about checkpoints, whose folder --checkpoint"):
            _ = Command("fnn3_top_k", tmp_path / "out.json", RUN, **option).keeping  # type: ignore[arg-type]


def test_fields_that_only_one_side_has_are_different() -> None:
    assert differences({"old": 1, "same": 2}, {"same": 2, "new": None}) == [
        "new was 'absent' and is None",
        "old was 1 and is 'absent'",
    ]
    assert differences({"same": [1.5]}, {"same": [1.5]}) == []


def test_what_is_not_there_cannot_be_read(kept: Keeping) -> None:
    (newest, _) = Folder(kept.folder, 1).checkpoints()
    assert newest.read(["parameters"])["parameters"].shape == torch.Size([25450])
    with pytest.raises(ValueError, match="holds no 'workers/2/generator'"):
        newest.read(["workers/2/generator"])
