"""The wheel holds what the tree holds: a sub-folder missing from `packages` would work here and fail elsewhere."""

from __future__ import annotations

import subprocess
import sys
import tomllib
import zipfile

import pytest

from tests.support.paths import ROOT

FOLDERS = ("theory", "verify", "kernels", "experiments")
PACKAGED_DATA = {f"experiments/embedded/{name}" for name in ("fashion_mnist_subset.npz", "LICENSE", "README.md")}


@pytest.fixture(scope="module")
def wheel_files(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """Built from a copy, so that no build folder of the checkout can lend it files."""
    copy, output = tmp_path_factory.mktemp("tree"), tmp_path_factory.mktemp("wheel")
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    for name in filter(None, tracked.stdout.split("\0")):
        if (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            (copy / name).write_bytes((ROOT / name).read_bytes())
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "-w", str(output), str(copy)]
    subprocess.run(command, check=True, capture_output=True)
    (wheel,) = output.glob("*.whl")
    return set(zipfile.ZipFile(wheel).namelist())


def test_the_wheel_holds_every_module_and_data_file_of_the_tree(wheel_files: set[str]) -> None:
    tracked = subprocess.run(["git", "ls-files", *FOLDERS], cwd=ROOT, capture_output=True, text=True, check=True)
    modules = {name for name in tracked.stdout.split() if name.endswith((".py", ".v", ".h", ".cpp", ".cu", ".cuh"))}
    packaged = {name.removeprefix("sparsync/") for name in wheel_files if name.startswith("sparsync/")}
    assert packaged == modules | PACKAGED_DATA


def test_the_wheel_carries_both_licences(wheel_files: set[str]) -> None:
    licences = {name.split("/licenses/")[1] for name in wheel_files if "/licenses/" in name}
    assert licences == {"LICENSE", "experiments/embedded/LICENSE"}


def test_every_requirement_is_pinned_for_ci() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"].values()
    wanted = {_name(line) for group in (project["dependencies"], *extras) for line in group} - {"sparsync"}
    pinned = {_name(line) for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")}
    assert wanted <= pinned


def _name(requirement: str) -> str:
    for mark in "[<>=":
        requirement = requirement.split(mark)[0]
    return requirement.strip().lower().replace("_", "-")
