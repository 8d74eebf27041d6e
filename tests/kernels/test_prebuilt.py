"""A library that came with the package is loaded if it is whole, of these sources and for this torch; else it says why.

The libraries of these tests are a few bytes, and nothing is compiled or loaded.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

from sparsync.kernels import native_build, prebuilt
from sparsync.kernels.native import backend
from sparsync.kernels.native_build import BuildError, Library, sources_digest
from sparsync.kernels.prebuilt import LIBRARY, NOTE, Origin, PrebuiltError, checked_library, note_text

HERE = Origin("0123456789abcdef", (2, 10))
COMPILED = Library(Path("compiled.so"), ("cpu", "cuda"), "")


def put(folder: Path, origin: Origin) -> Path:
    folder.mkdir()
    (folder / LIBRARY).write_bytes(b"a library")
    (folder / NOTE).write_text(note_text(folder / LIBRARY, origin), encoding="utf-8")
    return folder


def cut(folder: Path) -> None:
    (folder / LIBRARY).write_bytes(b"a lib")


def changed(folder: Path) -> None:
    (folder / LIBRARY).write_bytes(b"A library")


def without_a_fingerprint(folder: Path) -> None:
    (folder / NOTE).write_text(json.dumps({"sources": HERE.sources, "torch_target": [2, 10]}), encoding="utf-8")


def with_half_a_note(folder: Path) -> None:
    (folder / NOTE).write_bytes((folder / NOTE).read_bytes()[:20])


def with_another_note(folder: Path) -> None:
    (folder / NOTE).write_text('{"torch_target": "2.10"}', encoding="utf-8")


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Path]]:
    """What is loaded, in a process that has not asked for a library yet and whose compilers make `COMPILED`."""
    found: list[Path] = []
    monkeypatch.delenv("SPARSYNC_BACKEND", raising=False)
    monkeypatch.setattr(native_build, "load", lambda path, _: found.append(path))
    monkeypatch.setattr(native_build, "build", lambda: COMPILED)
    monkeypatch.setattr(native_build, "_cuda_compiler", lambda: None)
    # What is not loaded has no ops of the wire format.
    monkeypatch.setattr(native_build, "_register_codec", lambda: None)
    native_build.library.cache_clear()
    yield found
    native_build.library.cache_clear()


@pytest.fixture
def brought(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A library of these sources, that came with the package."""
    folder = put(tmp_path / "prebuilt", native_build.origin())
    monkeypatch.setattr(prebuilt, "FOLDER", folder)
    return folder


def no_compiler() -> Library:
    raise BuildError("no C++ compiler: g++ is not on the PATH")


def with_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native_build, "_cuda_compiler", lambda: ["nvcc"])
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)


@pytest.mark.parametrize("version", ["2.10.0", "2.13.0+cpu", "3.0.0.dev20270101"])
def test_a_whole_library_of_these_sources_may_be_loaded(tmp_path: Path, version: str) -> None:
    folder = put(tmp_path / "prebuilt", HERE)
    assert checked_library(folder, HERE, version) == folder / LIBRARY


@pytest.mark.parametrize("version", ["2.9.1+cu128", "1.13.0", "unknown"])
def test_an_older_torch_is_named(tmp_path: Path, version: str) -> None:
    folder = put(tmp_path / "prebuilt", HERE)
    with pytest.raises(PrebuiltError) as refused:
        checked_library(folder, HERE, version)
    assert str(refused.value) == f"the prebuilt library needs torch 2.10 or later, this is {version}"


def test_a_library_of_other_sources_is_refused(tmp_path: Path) -> None:
    folder = put(tmp_path / "prebuilt", HERE)
    with pytest.raises(PrebuiltError, match="of other sources: 0123456789abcdef, here are fedcba9876543210"):
        checked_library(folder, Origin("fedcba9876543210", (2, 10)), "2.13.0")


@pytest.mark.parametrize("damage", [cut, changed, without_a_fingerprint], ids=lambda it: it.__name__)
def test_a_library_that_is_not_what_was_built_is_refused(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    folder = put(tmp_path / "prebuilt", HERE)
    damage(folder)
    with pytest.raises(PrebuiltError, match=r"is not what was built: .*libsparsync\.so"):
        checked_library(folder, HERE, "2.13.0")


@pytest.mark.parametrize("damage", [with_half_a_note, with_another_note], ids=lambda it: it.__name__)
def test_a_note_that_says_nothing_is_named(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    folder = put(tmp_path / "prebuilt", HERE)
    damage(folder)
    with pytest.raises(PrebuiltError, match=r"cannot be read: .*libsparsync\.json: "):
        checked_library(folder, HERE, "2.13.0")


def test_the_digest_of_the_sources_sees_a_change_and_not_where_they_lie(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, copy = sources_digest(), tmp_path / "csrc"
    for path in native_build.SOURCE_FOLDER.rglob("*.*"):
        target = copy / path.relative_to(native_build.SOURCE_FOLDER)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(path.read_bytes())
    monkeypatch.setattr(native_build, "SOURCE_FOLDER", copy)
    assert sources_digest() == first
    (copy / "cuda" / "op.cu").write_text("// the CPU part has nothing of it\n")
    assert sources_digest() == first
    with (copy / "core.h").open("a") as header:
        header.write("// changed\n")
    assert sources_digest() != first


def test_what_the_package_brings_is_loaded_and_nothing_is_compiled(loaded: list[Path], brought: Path) -> None:
    assert native_build.library() == Library(brought / LIBRARY, ("cpu",), "")
    assert (backend(), loaded) == ("native (CPU)", [brought / LIBRARY])


def test_a_package_that_brings_nothing_compiles(loaded: list[Path]) -> None:
    assert not prebuilt.FOLDER.exists()
    assert native_build.library() == COMPILED
    assert loaded == [COMPILED.path]


def test_for_a_gpu_it_compiles_where_nvcc_is(
    loaded: list[Path], brought: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_a_gpu(monkeypatch)
    assert native_build.library() == COMPILED
    assert loaded == [COMPILED.path]


def test_nvcc_without_a_gpu_is_left_alone(loaded: list[Path], brought: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_a_gpu(monkeypatch)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    assert native_build.library().path == brought / LIBRARY


def test_where_nothing_can_be_compiled_for_a_gpu_the_cpu_is_served(
    loaded: list[Path], brought: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_a_gpu(monkeypatch)
    monkeypatch.setattr(native_build, "build", no_compiler)
    assert backend() == "native (CPU); no C++ compiler: g++ is not on the PATH"


@pytest.mark.usefixtures("loaded")
def test_a_library_that_is_refused_is_compiled_instead_and_the_reason_is_said(brought: Path) -> None:
    cut(brought)
    said = f"the prebuilt library is not what was built: {brought / LIBRARY}"
    assert backend() == f"native (CPU, CUDA); {said}"


@pytest.mark.usefixtures("loaded")
def test_with_neither_the_definition_serves_and_both_reasons_are_said(
    brought: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (brought / NOTE).unlink()
    monkeypatch.setattr(native_build, "build", no_compiler)
    missing = f"[Errno 2] No such file or directory: '{brought / NOTE}'"
    assert backend() == f"reference: {missing}; no C++ compiler: g++ is not on the PATH"


def test_a_library_that_cannot_be_loaded_is_compiled_instead(
    loaded: list[Path], brought: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def load(path: Path, _: str) -> None:
        loaded.append(path)
        if path == brought / LIBRARY:
            raise OSError("undefined symbol: torch_parallel_for")

    monkeypatch.setattr(native_build, "load", load)
    assert backend() == "native (CPU, CUDA); undefined symbol: torch_parallel_for"
    assert loaded == [brought / LIBRARY, COMPILED.path]
