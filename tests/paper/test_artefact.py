"""The archive holds what is committed and says so, twice the same, and passes its tests where nothing else is."""

from __future__ import annotations

import gzip
import hashlib
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from paper import artefact
from paper.artefact import INVENTORY, write_artefact
from tests.support.paths import ROOT

IDENTITY = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
QUICK_TESTS = ("tests/test_house.py", "tests/verify/tools/test_provenance.py", "tests/kernels/test_selection.py")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A small project, with a file into which git writes the commit."""
    root = tmp_path / "checkout"
    for name, text in {
        "pyproject.toml": '[project]\nversion = "1.2.3"\n',
        "verify/tools/.gitattributes": (ROOT / "verify/tools/.gitattributes").read_text(encoding="utf-8"),
        "verify/tools/archived_commit.txt": (ROOT / "verify/tools/archived_commit.txt").read_text(encoding="utf-8"),
        ".gitignore": "dist/\n",
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    for words in (["init", "-q"], ["add", "-A"], [*IDENTITY, "commit", "-qm", "all"]):
        subprocess.run(["git", *words], cwd=root, check=True)
    return root


def unpacked(archive: Path, folder: Path) -> Path:
    with tarfile.open(archive) as found:
        found.extractall(folder, filter="data")
    (root,) = folder.iterdir()
    return root


def test_the_archive_names_its_version_its_commit_and_the_digests_of_all_files(checkout: Path, tmp_path: Path) -> None:
    archive = write_artefact(checkout, checkout / "dist")
    assert archive.name == "sparsync-1.2.3.tar.gz"
    root = unpacked(archive, tmp_path / "copy")
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=checkout, capture_output=True, text=True, check=True)
    assert (root / "verify/tools/archived_commit.txt").read_text(encoding="utf-8") == commit.stdout
    lines = (root / INVENTORY).read_text(encoding="utf-8").splitlines()
    digests = {path: digest for digest, _, path in (line.partition("  ") for line in lines)}
    files = {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()} - {INVENTORY}
    assert digests.keys() == files
    assert all(hashlib.sha256((root / path).read_bytes()).hexdigest() == digest for path, digest in digests.items())
    beside = archive.with_name(f"{archive.name}.sha256").read_text(encoding="utf-8")
    assert beside == f"{hashlib.sha256(archive.read_bytes()).hexdigest()}  {archive.name}\n"


def test_two_archives_of_a_commit_are_equal(checkout: Path, tmp_path: Path) -> None:
    first, again = (write_artefact(checkout, tmp_path / name) for name in ("first", "again"))
    assert first.read_bytes() == again.read_bytes()
    assert gzip.decompress(first.read_bytes())


@pytest.mark.parametrize("name", ["new.txt", "pyproject.toml"])
def test_a_tree_with_changes_is_refused(name: str, checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (checkout / name).write_text("changed\n", encoding="utf-8")
    monkeypatch.chdir(checkout)
    with pytest.raises(SystemExit, match=rf"error: the tree has changes, commit them first:\n.*{name}"):
        artefact.main([])
    assert not (checkout / "dist").exists()


def test_a_folder_that_is_no_checkout_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"git status failed in"):
        write_artefact(tmp_path, tmp_path / "dist")


@pytest.mark.slow
def test_an_unpacked_archive_passes_its_tests_alone(tmp_path: Path) -> None:
    """Of HEAD, whatever has changed since; with this Python, as nothing can be installed here."""
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
    root = unpacked(write_artefact(clone, tmp_path / "dist"), tmp_path / "alone")
    package = root / "build" / "typing" / "sparsync"
    package.mkdir(parents=True)
    for folder in ("theory", "verify", "kernels", "experiments"):
        (package / folder).symlink_to(root / folder)
    paths = os.pathsep.join((str(package.parent), str(root)))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not slow", *QUICK_TESTS]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    finished = subprocess.run(
        command, cwd=root, env=environment | {"PYTHONPATH": paths}, capture_output=True, text=True, check=False
    )
    assert finished.returncode == 0, finished.stdout
    assert " passed" in finished.stdout
