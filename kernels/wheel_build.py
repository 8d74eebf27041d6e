"""One wheel for this platform with the compiled CPU part inside, so that whoever installs it needs no compiler.

Tracked files → the ordinary wheel → with the library and its note → auditwheel, which names the oldest glibc that will
do → the output folder. The library has no Python symbols and leaves torch's libraries to the installed torch, so one
wheel serves every Python 3; the same sources, compiler and torch make the same bytes, dated by the commit.

`python -m sparsync.kernels.wheel_build --output-folder dist` builds it and prints its path.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import os
import subprocess
import sys
import sysconfig
import tempfile
import time
import zipfile
from pathlib import Path

from sparsync.kernels import native_build, prebuilt
from sparsync.kernels.build_cache import CHECKOUT

_PACKAGED = ("pyproject.toml", "README.md", "LICENSE", "theory", "verify", "kernels", "experiments")
_TORCH_LIBRARIES = ("libtorch*.so", "libc10*.so")
_PLACE = "sparsync/kernels/prebuilt"
# Before 1980 no date fits into a zip file.
_EARLIEST_SECONDS = 315532800
_LAST_LINE_COUNT = 8


class WheelError(Exception):
    """No wheel can be built here; the message says why."""


def build_wheel(output_folder: Path) -> Path:
    """Build the wheel of this clone's tracked files and put it, whole, into a folder; return its path.

    Args:
        output_folder: made if need be; a wheel of the same name is replaced.

    Raises:
        WheelError: this is no clone, the platform is not Linux, or one of the tools fails.
        BuildError: there is no host compiler, or it failed.
        ValueError: SOURCE_DATE_EPOCH holds no whole number.
        OSError: a folder cannot be written.
    """
    if not sys.platform.startswith("linux"):
        raise WheelError(f"a wheel with a compiled library is built on Linux, this is {sys.platform}")
    seconds = _source_seconds()
    built = native_build.build(with_cuda=False)
    assert built.path is not None
    note = prebuilt.note_text(built.path, native_build.origin())
    files = {prebuilt.LIBRARY: built.path.read_bytes(), prebuilt.NOTE: note.encode()}
    output_folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=output_folder, prefix=".unfinished-") as scratch:
        pure = _pure_wheel(Path(scratch), seconds)
        platform_wheel = _with_library(pure, files, seconds)
        audited = _audited(platform_wheel, seconds)
        return _put(audited, output_folder)


def main(arguments: list[str] | None = None) -> int:
    """Build it, print its path, return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m sparsync.kernels.wheel_build", description=__doc__)
    parser.add_argument("--output-folder", type=Path, required=True)
    chosen = parser.parse_args(arguments)
    try:
        print(build_wheel(chosen.output_folder))  # noqa: T201
    except (WheelError, native_build.BuildError, ValueError, OSError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    return 0


def _source_seconds() -> int:
    """SOURCE_DATE_EPOCH, else when the commit was made."""
    chosen = os.environ.get("SOURCE_DATE_EPOCH")
    if chosen is None:
        return int(_git("log", "-1", "--format=%ct"))
    try:
        return int(chosen)
    except ValueError:
        raise ValueError(f"SOURCE_DATE_EPOCH must be a whole number of seconds, got {chosen!r}") from None


def _pure_wheel(scratch: Path, seconds: int) -> Path:
    """What `pip install .` builds, from a copy of the tracked files: no build folder of the clone can lend it files."""
    tree, wheels = scratch / "tree", scratch / "pure"
    for name in _git("ls-files", "-z", "--", *_PACKAGED).split("\0"):
        if name and (CHECKOUT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            (tree / name).write_bytes((CHECKOUT / name).read_bytes())
    _run("-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "-w", str(wheels), str(tree), seconds=seconds)
    (wheel,) = wheels.glob("*.whl")
    return wheel


def _with_library(pure: Path, files: dict[str, bytes], seconds: int) -> Path:
    """The same wheel with more files, named and marked as one of this platform's."""
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    target = pure.with_name(pure.name.replace("-any.whl", f"-{platform}.whl"))
    with zipfile.ZipFile(pure) as source:
        contents = {name: source.read(name) for name in sorted(source.namelist()) if not name.endswith("/")}
    (marks,) = (name for name in contents if name.endswith(".dist-info/WHEEL"))
    text = contents[marks].decode().replace("Root-Is-Purelib: true", "Root-Is-Purelib: false")
    contents[marks] = text.replace("Tag: py3-none-any", f"Tag: py3-none-{platform}").encode()
    contents |= {f"{_PLACE}/{name}": content for name, content in files.items()}
    record = marks.replace("/WHEEL", "/RECORD")
    del contents[record]
    contents[record] = _record(contents, record)
    date = time.gmtime(max(seconds, _EARLIEST_SECONDS))[:6]
    with zipfile.ZipFile(target, "w") as wheel:
        for name, content in contents.items():
            entry = zipfile.ZipInfo(name, date)
            entry.external_attr = (0o100755 if name.endswith(".so") else 0o100644) << 16
            wheel.writestr(entry, content, zipfile.ZIP_DEFLATED)
    return target


def _record(contents: dict[str, bytes], own_name: str) -> bytes:
    """A line for each file, with its SHA-256 and its size; none of them needs quotes.

    Source: packaging.python.org, "Recording installed projects".
    """
    lines = []
    for name, content in contents.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        lines.append(f"{name},sha256={digest},{len(content)}\n")
    return "".join([*lines, f"{own_name},,\n"]).encode()


def _audited(wheel: Path, seconds: int) -> Path:
    """The wheel under the tag that its symbols allow; nothing is copied into it and no library is changed."""
    folder = wheel.parents[1] / "audited"
    options = ["--plat", "auto", "--only-plat", "--patcher", "none", "--wheel-dir", str(folder)]
    options += [word for name in _TORCH_LIBRARIES for word in ("--exclude", name)]
    _run("-m", "auditwheel", "repair", *options, str(wheel), seconds=seconds)
    (audited,) = folder.glob("*.whl")
    return audited


def _put(wheel: Path, folder: Path) -> Path:
    with wheel.open("rb") as file:
        os.fsync(file.fileno())
    return wheel.replace(folder / wheel.name)


def _git(*words: str) -> str:
    try:
        done = subprocess.run(["git", *words], cwd=CHECKOUT, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise WheelError("a wheel is built from a clone, and git is not on the PATH") from None
    if done.returncode != 0:
        raise WheelError(f"a wheel is built from a clone, and {CHECKOUT} is none: {done.stderr.strip()}")
    return done.stdout


def _run(*words: str, seconds: int) -> None:
    """A tool of this Python; what it writes bears one date, and the same rights whoever runs it."""
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(seconds)}
    command = [sys.executable, *words]
    done = subprocess.run(command, env=environment, umask=0o022, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        last = (done.stderr or done.stdout).strip().splitlines()[-_LAST_LINE_COUNT:]
        raise WheelError(f"{words[1]} ended with status {done.returncode}: " + "\n".join(last))


if __name__ == "__main__":
    raise SystemExit(main())
