"""The wheel of `make wheel` serves without a compiler, at once and with the definition's bits, on any Linux of its tag.

It is installed into an environment of its own that sees torch, but no compiler and nothing of this checkout.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from sparsync.kernels import wheel_build
from sparsync.kernels.native_build import BuildError
from sparsync.kernels.wheel_build import WheelError, build_wheel
from tests.support.paths import ROOT, packaged_files
from tests.support.shared_builds import once, shared_folder
from tests.support.stand_ins.forked import Server
from tests.support.stand_ins.quick_compiler import quick_compiler

# Built and installed anew, with every optimisation, which takes more than a minute.
pytestmark = pytest.mark.slow
PREBUILT = {"kernels/prebuilt/libsparsync.so", "kernels/prebuilt/libsparsync.json"}
BITS = """
import hashlib, torch
from sparsync.kernels.native import SelectionState, backend, feedback_select
digest = hashlib.sha256()
for dtype in (torch.float32, torch.bfloat16, torch.float16):
    for rule in ("top_k", "gaussian_k", "gaussian_k_released", "threshold"):
        for d in (1, 65, 20011):
            generator, state, residual = torch.Generator().manual_seed(d), SelectionState(), torch.zeros(d)
            for step in range(3):
                g = (torch.randn(d, generator=generator) * 10.0 ** (-2 * step)).to(dtype)
                least = 0.02 if rule == "threshold" else None
                payload = feedback_select(g, residual, max(1, d // 50), rule=rule, state=state, threshold=least)
                for tensor in (payload.values, payload.indices, residual):
                    digest.update(tensor.numpy().tobytes())
print(backend(), digest.hexdigest(), sep="|")
"""
WHERE = "from sparsync.kernels.native_build import library; print(library().path)"
DAMAGED = """
import shutil, sys
from pathlib import Path
from sparsync.kernels import prebuilt
from sparsync.kernels.native import backend
copy = Path(sys.argv[1])
shutil.copytree(prebuilt.FOLDER, copy)
whole = (copy / prebuilt.LIBRARY).read_bytes()
(copy / prebuilt.LIBRARY).write_bytes(whole[: len(whole) // 2])
prebuilt.FOLDER = copy
print(backend())
"""


def make_environment(folder: Path, wheel: Path) -> None:
    venv.create(folder, symlinks=True)
    python = str(folder / "bin" / "python")
    command = [sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index", str(wheel)]
    subprocess.run(command, check=True, capture_output=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    # Of a folder that a .pth file names, .pth files are not read: that of the editable install stays unknown.
    seen = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    (packages / "seen.pth").write_text("\n".join(sorted(seen)) + "\n", encoding="utf-8")


@pytest.fixture(scope="module")
def compiler(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """What compiles in this module unless a test says otherwise; what it made is no library for anyone else."""
    if shutil.which("g++") is None:
        pytest.skip("no g++")
    with pytest.MonkeyPatch.context() as patch:
        found = quick_compiler(tmp_path_factory)
        patch.setenv("CXX", str(found))
        patch.setenv("SPARSYNC_CACHE", str(shared_folder(tmp_path_factory, "wheel") / "native"))
        yield found


@pytest.fixture(scope="module")
def wheel(compiler: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    assert os.environ["CXX"] == str(compiler)
    (built,) = once(shared_folder(tmp_path_factory, "wheel") / "dist", build_wheel).glob("*")
    return built


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = shared_folder(tmp_path_factory, "wheel") / "environment"
    return once(target, lambda folder: make_environment(folder, wheel))


@pytest.fixture(scope="module")
def server(environment: Path) -> Server:
    return Server([str(environment / "bin" / "python")], ["torch"], {**os.environ, "PYTHONPATH": ""})


@pytest.fixture(scope="module")
def files(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as opened:
        return {name: opened.read(name) for name in opened.namelist() if not name.endswith("/")}


def installed(server: Server, folder: Path, code: str, *arguments: str, **variables: str) -> str:
    """What the environment's Python prints; the PATH is an empty folder."""
    nothing, cache = folder / "nothing", folder / "cache"
    nothing.mkdir(exist_ok=True)
    ours = {"PATH": str(nothing), "CXX": "", "CUDA_HOME": "", "PYTHONPATH": "", "SPARSYNC_CACHE": str(cache)}
    environment = os.environ | ours | {"SPARSYNC_BACKEND": ""} | variables
    finished = server.run("-c", code, *arguments, environment=environment, folder=folder)
    assert finished.returncode == 0, finished.stderr
    assert not cache.exists(), "something was compiled"
    return finished.stdout.strip()


def test_the_wheel_holds_the_tree_the_library_and_its_note(files: dict[str, bytes]) -> None:
    packaged = {name.removeprefix("sparsync/") for name in files if name.startswith("sparsync/")}
    assert packaged == packaged_files() | PREBUILT
    assert not [name for name in files if ".libs/" in name], "a library was copied into the wheel"


def test_the_wheel_is_for_every_python_and_for_the_systems_that_its_symbols_allow(
    wheel: Path, files: dict[str, bytes]
) -> None:
    named = re.fullmatch(r"sparsync-[0-9.]+-(py3-none-manylinux_2_([0-9]+)_(\w+))\.whl", wheel.name)
    assert named is not None, wheel.name
    assert named[3] == platform.machine()
    assert int(named[2]) <= int(platform.libc_ver()[1].split(".")[1])
    (marks,) = (text.decode().splitlines() for name, text in files.items() if name.endswith(".dist-info/WHEEL"))
    assert f"Tag: {named[1]}" in marks
    assert "Root-Is-Purelib: false" in marks
    command = [sys.executable, "-m", "auditwheel", "show", "--json", str(wheel)]
    shown = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert shown["sym_tag"] == f"manylinux_2_{named[2]}_{named[3]}"
    assert set(shown["external_libs"]) == {"libtorch_cpu.so"}
    assert not shown["unsupported_isa"]


def test_the_record_of_the_wheel_has_every_file_with_its_digest_and_size(files: dict[str, bytes]) -> None:
    (record,) = (name for name in files if name.endswith(".dist-info/RECORD"))
    rows = {name: (digest, size) for name, digest, size in csv.reader(files[record].decode().splitlines())}
    assert rows.pop(record) == ("", "")
    digests = {name: hashlib.sha256(text).digest() for name, text in files.items() if name != record}
    encoded = {name: base64.urlsafe_b64encode(digest).decode().rstrip("=") for name, digest in digests.items()}
    assert rows == {name: (f"sha256={encoded[name]}", str(len(files[name]))) for name in encoded}


def test_where_the_sources_lay_is_not_in_the_wheel(files: dict[str, bytes]) -> None:
    assert not [name for name, text in files.items() if str(ROOT).encode() in text]


def test_the_installed_wheel_serves_without_a_compiler_and_gives_the_bits_of_the_definition(
    environment: Path, server: Server, tmp_path: Path
) -> None:
    assert installed(server, tmp_path, WHERE).startswith(str(environment))
    widest = installed(server, tmp_path, BITS)
    plain = installed(server, tmp_path, BITS, SPARSYNC_INSTRUCTION_SET="portable")
    defined = installed(server, tmp_path, BITS, SPARSYNC_BACKEND="reference")
    assert widest.startswith("native (CPU)|")
    assert plain == widest
    assert defined == f"reference: SPARSYNC_BACKEND=reference|{widest.split('|')[1]}"


def test_half_a_library_is_not_loaded_and_the_definition_serves(server: Server, tmp_path: Path) -> None:
    copy = tmp_path / "prebuilt"
    said = installed(server, tmp_path, DAMAGED, str(copy))
    refused = f"the prebuilt library is not what was built: {copy / 'libsparsync.so'}"
    assert said == f"reference: {refused}; no C++ compiler: g++ is not on the PATH"


@pytest.mark.slow
def test_a_second_wheel_has_the_same_bytes_whoever_builds_it(wheel: Path, tmp_path: Path) -> None:
    earlier = os.umask(0o077)
    try:
        again = build_wheel(tmp_path)
    finally:
        os.umask(earlier)
    assert again.name == wheel.name
    assert again.read_bytes() == wheel.read_bytes()
    assert list(tmp_path.iterdir()) == [again]


def test_the_stand_in_for_the_compiler_sees_every_file_beside_the_source(compiler: Path, tmp_path: Path) -> None:
    """What is compiled of a copy is what it made before, until a header differs."""
    made = []
    for name, number in (("one", 1), ("copy", 1), ("other", 2)):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "number.h").write_text(f"#define NUMBER {number}\n")
        (folder / "source.cpp").write_text('#include "number.h"\nint number() { return NUMBER; }\n')
        command = [str(compiler), f"-I{folder}", "-c", str(folder / "source.cpp"), "-o", str(folder / "source.o")]
        subprocess.run(command, check=True)
        made.append((folder / "source.o").read_bytes())
    assert made[0] == made[1] != made[2]


@pytest.mark.slow
def test_clones_in_other_places_compile_the_same_bytes(tmp_path: Path) -> None:
    """As they are delivered, with every optimisation."""
    if shutil.which("g++") is None:
        pytest.skip("no g++")
    wheels = []
    for name in ("one", "another, elsewhere"):
        clone = tmp_path / name
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
        package = clone / "build" / "typing" / "sparsync"
        package.mkdir(parents=True)
        for folder in ("theory", "verify", "kernels", "experiments"):
            (package / folder).symlink_to(clone / folder)
        paths = os.pathsep.join((str(package.parent), sysconfig.get_path("purelib")))
        command = [sys.executable, "-S", "-m", "sparsync.kernels.wheel_build", "--output-folder", str(clone / "dist")]
        ours = {"PYTHONPATH": paths, "SPARSYNC_CACHE": str(clone / "cache"), "CXX": ""}
        finished = subprocess.run(command, env=os.environ | ours, capture_output=True, text=True, check=False)
        assert finished.returncode == 0, finished.stderr
        wheels.append(Path(finished.stdout.strip()))
    assert wheels[0].read_bytes() == wheels[1].read_bytes()


def test_a_date_that_is_none_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "today")
    with pytest.raises(ValueError, match="SOURCE_DATE_EPOCH must be a whole number of seconds, got 'today'"):
        build_wheel(tmp_path)


def test_outside_a_clone_and_on_other_systems_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    monkeypatch.setattr(wheel_build, "CHECKOUT", tmp_path)
    with pytest.raises(WheelError, match=f"from a clone, and {tmp_path} is none"):
        build_wheel(tmp_path / "dist")
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(WheelError, match="is built on Linux, this is darwin"):
        build_wheel(tmp_path / "dist")
    assert not (tmp_path / "dist").exists()


def test_a_tool_that_fails_is_quoted_and_leaves_nothing(
    compiler: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert os.environ["CXX"] == str(compiler)
    monkeypatch.setattr(wheel_build, "_TORCH_LIBRARIES", ("--unknown",))
    assert wheel_build.main(["--output-folder", str(tmp_path / "dist")]) == 1
    assert capsys.readouterr().err.startswith("error: auditwheel ended with status 2: ")
    assert list((tmp_path / "dist").iterdir()) == []


def test_without_a_compiler_there_is_no_wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", str(tmp_path / "none"))
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    with pytest.raises(BuildError, match="no C\\+\\+ compiler"):
        build_wheel(tmp_path / "dist")
