"""One file that holds all that is tracked, builds and passes its tests alone: `dist/sparsync-<version>.tar.gz`.

    python -m paper.artefact --output-folder dist

It is `git archive` of HEAD, with a list `SHA256SUMS` of its files, which `sha256sum -c SHA256SUMS` checks; the digest
of the whole is written beside it. Results of a copy name the commit that it was made of, as git writes that into
`verify/tools/archived_commit.txt`. Two archives of a commit are equal, byte for byte.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import subprocess
import tarfile
import tomllib
from collections.abc import Sequence
from pathlib import Path

from paper.results import write_text
from sparsync.verify.tools.interrupts import interrupt_as_line
from sparsync.verify.tools.provenance import write_whole

INVENTORY = "SHA256SUMS"


def write_artefact(root: Path, output_folder: Path) -> Path:
    """Archive HEAD; the path of the archive is returned.

    Args:
        root: of a checkout.
        output_folder: created if absent.

    Raises:
        ValueError: the tree has changes, or is no checkout.
        OSError: the archive cannot be written.
    """
    changed = _git(root, "status", "--porcelain").decode().strip()
    if changed:
        raise ValueError(f"the tree has changes, commit them first:\n{changed}")
    version = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    name = f"sparsync-{version}"
    archived = _git(root, "archive", "--format=tar", f"--prefix={name}/", "HEAD")
    content = gzip.compress(with_inventory(archived, name), mtime=0)
    path = output_folder / f"{name}.tar.gz"
    write_whole(path, lambda beside: beside.write_bytes(content))
    write_text(path.with_name(f"{path.name}.sha256"), f"{hashlib.sha256(content).hexdigest()}  {path.name}\n")
    return path


def with_inventory(archived: bytes, name: str) -> bytes:
    """The tar archive with one file more, `name/SHA256SUMS`: a digest and a path a line, of every other file."""
    buffer = io.BytesIO(archived)
    with tarfile.open(fileobj=buffer, mode="r:") as archive:
        files = [member for member in archive.getmembers() if member.isfile()]
        digests = {file.name.removeprefix(f"{name}/"): _digest(archive, file) for file in files}
        newest = max(int(file.mtime) for file in files)
    text = "".join(f"{digest}  {path}\n" for path, digest in sorted(digests.items())).encode()
    added = tarfile.TarInfo(f"{name}/{INVENTORY}")
    added.size, added.mtime, added.mode = len(text), newest, 0o664
    buffer.seek(0)
    with tarfile.open(fileobj=buffer, mode="a:") as archive:
        archive.addfile(added, io.BytesIO(text))
    return buffer.getvalue()


def _digest(archive: tarfile.TarFile, file: tarfile.TarInfo) -> str:
    content = archive.extractfile(file)
    assert content is not None
    return hashlib.sha256(content.read()).hexdigest()


def _git(root: Path, *words: str) -> bytes:
    done = subprocess.run(["git", *words], cwd=root, capture_output=True, check=False)
    if done.returncode:
        raise ValueError(f"git {words[0]} failed in {root}: {done.stderr.decode().strip()}")
    return done.stdout


@interrupt_as_line()
def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line (None: the process's own arguments), from the checkout's root.

    Raises:
        SystemExit: malformed arguments, or a tree that cannot be archived.
    """
    parser = argparse.ArgumentParser(prog="python -m paper.artefact", description="Archive what is committed.")
    parser.add_argument("--output-folder", type=Path, default=Path("dist"), help="where the archive goes")
    options = parser.parse_args(arguments)
    try:
        print(write_artefact(Path(), options.output_folder))  # noqa: T201
    except (ValueError, OSError) as error:
        raise SystemExit(f"error: {error}") from error


if __name__ == "__main__":
    main()
