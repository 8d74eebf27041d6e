"""Where does a result file come from? The facts about code, versions and machine that every result carries.

The one place for them: the ledger here and the runs in `experiments/` both ask `require_output` before they start and
write through `write_json` when they end.
"""

import json
import os
import platform
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import numpy
import torch

from sparsync.verify.tools.arithmetic import arithmetic

PACKAGE_FOLDER = Path(__file__).resolve().parents[1]
"""The folder `verify`; in a checkout its parent is the repository's root."""
RESULT_FOLDER = "paper/data"
"""Tracked results; rewriting them does not make the code that wrote them dirty."""

GIT_TIMEOUT_SECONDS = 30


def provenance(*, process_count: int, device: torch.device | str = "cpu") -> dict[str, str | int | bool | None]:
    """The commit, versions, machine and date of this run; null where a fact does not exist (no checkout, no GPU).

    What decides the bits of a result is named too, see `arithmetic`.

    Args:
        process_count: number of processes that computed the result.
        device: where they computed it; a GPU that was present but not used is not named.

    Raises:
        ValueError: process_count is below 1.
    """
    if process_count < 1:
        raise ValueError(f"process_count must be at least 1, got {process_count}")
    commit, dirty = git_state(PACKAGE_FOLDER)
    return {
        "git_commit": commit,
        "git_dirty": dirty,
        "python_version": platform.python_version(),
        "torch_version": torch.__version__,
        "numpy_version": numpy.__version__,
        # To import it takes a fifth of the time in which a rank of a training run begins.
        "sympy_version": version("sympy"),
        "cuda_version": torch.version.cuda,
        "processor_name": machine_name(),
        **arithmetic(),
        "gpu_name": machine_name(device) if torch.device(device).type == "cuda" else None,
        "process_count": process_count,
        "date_utc": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def machine_name(device: torch.device | str = "cpu") -> str:
    """The GPU that a device is, or the processor."""
    if torch.device(device).type == "cuda":
        return torch.cuda.get_device_name(device)
    processors = Path("/proc/cpuinfo")
    lines = processors.read_text(encoding="utf-8").splitlines() if processors.exists() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())


def git_state(package_folder: Path) -> tuple[str | None, bool | None]:
    """The commit and whether the tree differs from it, results aside.

    Outside a checkout of ours the latter is not known, and the commit only of an archive.

    Args:
        package_folder: a folder whose parent is the repository's root. An installed copy inside another project's
            checkout fails this test, so it never reports that project's commit.
    """
    root = package_folder.parent
    top = _git(root, "rev-parse", "--show-toplevel")
    commit = _git(root, "rev-parse", "HEAD")
    if top is None or commit is None or Path(top).resolve() != root.resolve():
        return archived_commit(package_folder), None
    changes = _git(root, "status", "--porcelain", "--", ".", f":(exclude){RESULT_FOLDER}")
    return commit, None if changes is None else changes != ""


def archived_commit(package_folder: Path) -> str | None:
    """The commit of which `git archive` made this copy; None of any other copy.

    Args:
        package_folder: holds the folder `tools`, with a file into which git writes it.
    """
    path = package_folder / "tools" / "archived_commit.txt"
    text = path.read_text(encoding="utf-8").strip() if path.is_file() else ""
    return text if re.fullmatch("[0-9a-f]{40}", text) else None


def require_output(path: Path, *, option: str = "--output") -> None:
    """Find out before the work, not after it, that its result cannot be written.

    Args:
        path: the file that `write_whole` will make or replace; nothing else is ever replaced.
        option: what the user calls it.

    Raises:
        ValueError: the path is that of a folder, a pipe or a device, or see `require_writable`.
    """
    if path.exists() and not path.is_file():
        raise ValueError(f"{option} must name a file, got {path}")
    require_writable((path.resolve() if path.is_symlink() else path).parent)


def require_writable(folder: Path) -> None:
    """Find out that a file can be written there, and leave none.

    Raises:
        ValueError: no such folder, or no file can be written there.
    """
    if not folder.is_dir():
        raise ValueError(f"the output folder {folder} does not exist")
    try:
        with tempfile.NamedTemporaryFile(dir=folder, buffering=0) as file:
            # A full disk may still take an empty file.
            file.write(b"x")
    except OSError as error:
        raise ValueError(f"no file can be written in the output folder {folder}: {error.strerror}") from error


def require_folder(folder: Path, *, option: str) -> None:
    """Find out before the work that no file can be written in a folder, and make the folder where it is absent.

    Args:
        folder: where results will lie.
        option: what the user calls it.

    Raises:
        ValueError: it is no folder and none can be made there, or see `require_writable`.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(f"{option} must name a folder, got {folder}: {error.strerror}") from error
    require_writable(folder)


def write_json(path: Path, data: Mapping[str, object]) -> None:
    """Write data as JSON, see `write_whole`.

    Raises:
        ValueError: data holds a NaN or an infinity, which JSON cannot.
        TypeError: data holds something that is not JSON.
    """
    text = _json_text(data) + "\n"
    write_whole(path, lambda beside: beside.write_text(text, encoding="utf-8"))


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Let `write` fill a file beside `path`, then rename it: a reader sees the old file or the whole new one.

    Where `path` is a link, its target is replaced and the link stays. Creates parent folders.

    Raises:
        OSError: it cannot be written (a full disk names no file by itself), and the old file is as it was.
    """
    # Renaming onto a link would put the file in the link's place.
    path = path.resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.") as folder:
        beside = Path(folder) / path.name
        try:
            write(beside)
            with beside.open("rb") as file:
                os.fsync(file.fileno())
        except OSError as error:
            if error.errno is None:
                raise
            raise OSError(error.errno, error.strerror, str(path)) from error
        beside.replace(path)


def _json_text(value: object, indent: str = "") -> str:
    """JSON with a line per field, and each list of numbers or strings, however long, on one line."""
    deeper = indent + "  "
    if isinstance(value, Mapping) and value:
        if not all(isinstance(name, str) for name in value):
            raise TypeError(f"names of JSON fields are strings, got {list(value)}")
        fields = (f"{deeper}{json.dumps(name)}: {_json_text(field, deeper)}" for name, field in value.items())
        return "{\n" + ",\n".join(fields) + f"\n{indent}}}"
    if isinstance(value, list | tuple) and any(isinstance(item, Mapping | list | tuple) for item in value):
        items = (f"{deeper}{_json_text(item, deeper)}" for item in value)
        return "[\n" + ",\n".join(items) + f"\n{indent}]"
    return json.dumps(value, allow_nan=False, ensure_ascii=False)


def _git(folder: Path, *arguments: str) -> str | None:
    """The output of a git command, or None where git is missing, refuses (not a checkout, no commit yet) or hangs."""
    if shutil.which("git") is None:
        return None
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        finished = subprocess.run(
            ("git", "-C", str(folder), *arguments),
            capture_output=True,
            text=True,
            check=False,
            env=environment,
            timeout=GIT_TIMEOUT_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return finished.stdout.strip() if finished.returncode == 0 else None
