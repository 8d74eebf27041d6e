"""The wheel holds what the tree holds and runs without it; a folder that `packages` forgets fails elsewhere only."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tests.support.paths import ROOT, packaged_files, tracked_files
from tests.support.shared_builds import once, shared_folder
from tests.support.stand_ins.forked import Server
from tests.support.stand_ins.quick_compiler import quick_compiler

COMMANDS = (
    *(f"sparsync.experiments.{name}" for name in ("train", "simulate", "race", "learn", "reproduce")),
    "sparsync.theory.calculator",
)
AFTER = "-- status 0\n"
# One after the other in one process, which imports what they share once.
HELP = """
import runpy, sys
for module in sys.argv[1:]:
    sys.argv = [module, "--help"]
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        print("-- status", end.code or 0)
"""
# What README tells others to import, and a use of each.
PUBLIC = """
import torch
from sparsync.experiments.policies.registry import POLICIES
from sparsync.kernels.native import feedback_select
from sparsync.kernels.payload import SparsePayload
from sparsync.kernels.selection import SELECTORS
from sparsync.theory.statements import STATEMENTS
assert STATEMENTS["top_k"].evaluate(k=3, d=12) == 0.75
vector = torch.tensor([1.0, -4.0, 2.0, 3.0])
sent = SELECTORS["top_k"](vector, 2)
assert isinstance(sent, SparsePayload) and sent.indices.tolist() == [1, 3]
residual = torch.zeros(4)
assert torch.equal(feedback_select(vector, residual, 2, rule="top_k").dense(), sent.dense())
assert residual.tolist() == [1.0, 0.0, 2.0, 0.0]
assert isinstance(POLICIES["bsp"](), POLICIES["bsp"])
"""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy, so that no build folder of the checkout can lend files to what is built from it."""
    return once(shared_folder(tmp_path_factory, "package") / "tree", copy_tracked)


def copy_tracked(copy: Path) -> None:
    for name in tracked_files():
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        (copy / name).write_bytes((ROOT / name).read_bytes())


def wheel_of(source: Path, output: Path) -> Path:
    """Of a folder or a source distribution."""
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--no-deps",
        "--no-build-isolation",
        "-w",
        str(output),
        str(source),
    ]
    subprocess.run(command, check=True, capture_output=True)
    (built,) = output.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def wheel(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    (built,) = once(shared_folder(tmp_path_factory, "package") / "wheel", partial(wheel_of, tree)).glob("*.whl")
    return built


@pytest.fixture(scope="module")
def wheel_files(wheel: Path) -> set[str]:
    return set(zipfile.ZipFile(wheel).namelist())


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    command = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", str(wheel), "--target"]

    def install(target: Path) -> None:
        subprocess.run([*command, str(target)], check=True, capture_output=True)

    return once(shared_folder(tmp_path_factory, "package") / "installed", install)


Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def run_installed(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Without the hooks of this environment (-S), which lead to the checkout; what is compiled is not for GPUs."""
    environment = {**os.environ, "PYTHONPATH": sysconfig.get_path("purelib")}
    server = Server([sys.executable, "-S"], ["torch", "sympy"], environment)
    compiler = quick_compiler(tmp_path_factory)

    def run(installed: Path, folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
        ours = {"CXX": str(compiler), "SPARSYNC_CACHE": str(folder / "native"), "PATH": os.defpath, "CUDA_HOME": ""}
        return server.run(*command, environment={**environment, **ours}, folder=folder, path=[installed])

    return run


def test_the_wheel_holds_every_module_and_data_file_of_the_tree(wheel_files: set[str]) -> None:
    packaged = {name.removeprefix("sparsync/") for name in wheel_files if name.startswith("sparsync/")}
    assert packaged == packaged_files()


def test_the_wheel_carries_both_licences(wheel_files: set[str]) -> None:
    licences = {name.split("/licenses/")[1] for name in wheel_files if "/licenses/" in name}
    assert licences == {"LICENSE", "experiments/embedded/LICENSE"}


@pytest.mark.slow
def test_a_source_distribution_makes_the_same_wheel(tree: Path, wheel_files: set[str], tmp_path: Path) -> None:
    build = "import sys; from setuptools.build_meta import build_sdist; build_sdist(sys.argv[1])"
    subprocess.run([sys.executable, "-c", build, str(tmp_path)], cwd=tree, check=True, capture_output=True)
    (distribution,) = tmp_path.glob("*.tar.gz")
    assert set(zipfile.ZipFile(wheel_of(distribution, tmp_path)).namelist()) == wheel_files


@pytest.mark.slow
def test_every_command_of_the_installed_wheel_says_how_it_is_used(
    installed: Path, run_installed: Run, tmp_path: Path
) -> None:
    finished = run_installed(installed, tmp_path, "-c", HELP, *COMMANDS)
    assert finished.returncode == 0, finished.stderr
    said = finished.stdout.split(AFTER)
    assert len(said) == len(COMMANDS) + 1
    assert all(module in text for module, text in zip(COMMANDS, said, strict=False))


@pytest.mark.slow
def test_the_public_names_of_the_installed_wheel_do_what_they_say(
    installed: Path, run_installed: Run, tmp_path: Path
) -> None:
    finished = run_installed(installed, tmp_path, "-c", PUBLIC)
    assert finished.returncode == 0, finished.stderr
    where = "import sparsync; print(*sparsync.__path__, sep='\\n')"
    assert run_installed(installed, tmp_path, "-c", where).stdout.splitlines() == [str(installed / "sparsync")]


def test_a_folder_that_the_wheel_lacks_is_noticed(installed: Path, run_installed: Run, tmp_path: Path) -> None:
    lacking = tmp_path / "lacking"
    shutil.copytree(installed, lacking, ignore=shutil.ignore_patterns("policies"))
    finished = run_installed(lacking, tmp_path, "-c", PUBLIC)
    assert "No module named 'sparsync.experiments.policies'" in finished.stderr


def test_certificates_are_checked_by_python_alone() -> None:
    """Isolated, without the packages of this environment."""
    command = [sys.executable, "-I", "-S", "verify/check_certificates.py", "paper/data/certificates"]
    finished = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=240)
    assert finished.returncode == 0, finished.stdout + finished.stderr


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
