"""The library is compiled once for all that asks for it, and whatever stands in the way is said.

Most of these run a stand-in for the compilers that logs its arguments and writes an empty file in no time.
"""

from __future__ import annotations

import ctypes
import json
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from sparsync.kernels import build_cache, native_build
from sparsync.kernels.build_cache import cache_folder
from sparsync.kernels.native import backend
from sparsync.kernels.native_build import HOST_STEPS, SOURCE_FOLDER, BuildError, Library, build
from tests.support import emulated_build
from tests.support.emulated_build import build_emulated
from tests.support.stand_ins.forked import run_forked

COMPILER = """#!{python} -S
import os, sys, time
name, arguments = os.path.basename(sys.argv[0]), sys.argv[1:]
if "--version" in arguments:
    sys.exit(print(name, "13"))
if arguments == ["--list-gpu-arch"]:
    sys.exit(print("compute_75", "compute_80", "compute_90", sep="\\n"))
with open({log!r}, "a") as log:
    log.write(" ".join([name, *arguments]) + "\\n")
time.sleep({seconds})
if {failure!r} and {failure!r} in arguments:
    sys.exit("first line\\nlast line of the error")
open(arguments[arguments.index("-o") + 1], "w").close()
"""


@dataclass(frozen=True)
class Toolchain:
    """A folder that is the whole PATH, the log of what was run in it, and an empty cache."""

    folder: Path
    log: Path
    cache: Path

    def install(self, name: str, *, seconds: float = 0.0, failure: str = "") -> None:
        """Put a stand-in on the PATH; it fails if `failure` is one of its arguments."""
        script = self.folder / name
        text = COMPILER.format(python=sys.executable, log=str(self.log), seconds=seconds, failure=failure)
        script.write_text(text, encoding="utf-8")
        script.chmod(0o755)

    def runs(self) -> list[str]:
        """One line per run that compiled or linked."""
        return self.log.read_text(encoding="utf-8").splitlines() if self.log.exists() else []


@pytest.fixture
def toolchain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Toolchain:
    made = Toolchain(tmp_path / "bin", tmp_path / "log", tmp_path / "cache")
    made.folder.mkdir()
    made.install("g++")
    monkeypatch.setenv("PATH", str(made.folder))
    monkeypatch.setenv("SPARSYNC_CACHE", str(made.cache))
    for name in ("CXX", "CUDA_HOME", "SPARSYNC_BACKEND"):
        monkeypatch.delenv(name, raising=False)
    return made


@pytest.fixture
def _asked_anew() -> Iterator[None]:
    """`library` as a process finds it that has not asked yet."""
    native_build.library.cache_clear()
    yield
    native_build.library.cache_clear()


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the sources that a test may change."""
    copy = tmp_path / "csrc"
    shutil.copytree(SOURCE_FOLDER, copy)
    monkeypatch.setattr(native_build, "SOURCE_FOLDER", copy)
    return copy


def here() -> int:
    return len([step for step in HOST_STEPS if step.machine in (None, platform.machine())])


def library_of(code: str, **environment: str) -> str:
    """What a process prints that has not asked yet."""
    done = run_forked("-c", code, environment=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_every_source_of_the_host_is_compiled() -> None:
    assert {step.source for step in HOST_STEPS} == {
        str(path.relative_to(SOURCE_FOLDER)) for path in SOURCE_FOLDER.rglob("*.cpp")
    }
    assert len({(step.source, step.suffix) for step in HOST_STEPS}) == len(HOST_STEPS)


def test_each_step_is_compiled_once_and_linked_against_torch(toolchain: Toolchain) -> None:
    built = build()
    assert built == Library(built.path, ("cpu",), "")
    assert built.path is not None
    assert built.path.parent == toolchain.cache
    *compiled, linked = toolchain.runs()
    assert len(compiled) == here()
    assert all("-ffp-contract=off" in run and "-DTORCH_TARGET_VERSION=0x020a000000000000" in run for run in compiled)
    assert "-Wl,--as-needed" in linked
    assert "-ltorch_cpu" in linked


def test_what_is_in_the_cache_is_not_compiled_again(toolchain: Toolchain) -> None:
    first, runs = build(), toolchain.runs()
    assert build() == first
    assert toolchain.runs() == runs


def damaged(library: Path) -> None:
    library.write_bytes(b"other bytes")


def damaged_at_the_same_size(library: Path) -> None:
    damaged(library)
    renoted(library, size_bytes=library.stat().st_size)


def without_a_fingerprint(library: Path) -> None:
    """As notes used to be."""
    library.with_suffix(".json").write_text(json.dumps({"devices": ["cpu"], "reason": ""}))


def with_half_a_note(library: Path) -> None:
    note = library.with_suffix(".json")
    note.write_bytes(note.read_bytes()[:20])


def renoted(library: Path, **facts: object) -> None:
    note = library.with_suffix(".json")
    note.write_text(json.dumps({**json.loads(note.read_text()), **facts}))


@pytest.mark.parametrize(
    "damage", [damaged, damaged_at_the_same_size, without_a_fingerprint, with_half_a_note], ids=lambda it: it.__name__
)
def test_a_library_that_is_not_what_was_written_is_made_anew_once(
    toolchain: Toolchain, damage: Callable[[Path], None]
) -> None:
    first = build()
    assert first.path is not None
    whole, runs = first.path.read_bytes(), len(toolchain.runs())
    damage(first.path)
    assert [build(), build()] == [first] * 2
    assert first.path.read_bytes() == whole
    assert len(toolchain.runs()) == 2 * runs


def test_a_changed_source_makes_another_library(toolchain: Toolchain, sources: Path) -> None:
    first = build().path
    with (sources / "core.h").open("a") as header:
        header.write("// changed\n")
    second = build().path
    assert first != second
    assert len(toolchain.runs()) == 2 * (here() + 1)


def test_another_compiler_makes_another_library(toolchain: Toolchain, monkeypatch: pytest.MonkeyPatch) -> None:
    first = build().path
    toolchain.install("clang++")
    monkeypatch.setenv("CXX", "clang++ -g")
    assert build().path != first
    assert toolchain.runs()[-1].startswith("clang++ -g -shared")


def test_without_nvcc_the_cuda_sources_and_other_files_change_nothing(toolchain: Toolchain, sources: Path) -> None:
    first = build().path
    for name in ("cuda/added.cuh", "cuda/added.cu", "added.txt"):
        (sources / name).write_text("// new\n")
    assert build().path == first
    assert len(toolchain.runs()) == here() + 1


def test_processes_that_ask_at_once_share_one_compilation(toolchain: Toolchain) -> None:
    toolchain.install("g++", seconds=0.1)
    code = "from sparsync.kernels.native_build import build; print(build().path, flush=True)"
    paths = library_of(f"import os; child = os.fork(); {code}; child and os.waitpid(child, 0)").splitlines()
    assert len(paths) == 2
    assert len(set(paths)) == 1
    assert Path(paths[0]).is_file()
    assert len(toolchain.runs()) == here() + 1


def test_an_interrupted_build_leaves_nothing_that_counts(toolchain: Toolchain) -> None:
    toolchain.install("g++", failure="-shared")
    with pytest.raises(BuildError):
        build()
    assert {path.suffix for path in toolchain.cache.iterdir()} == {".lock"}
    toolchain.install("g++")
    assert build().devices == ("cpu",)


@pytest.mark.parametrize("failure", ["-shared", "-ffp-contract=off"])
def test_a_compiler_that_fails_is_quoted(toolchain: Toolchain, failure: str) -> None:
    toolchain.install("g++", failure=failure)
    with pytest.raises(BuildError, match=r"g\+\+ ended with status 1: first line\nlast line of the error"):
        build()


@pytest.mark.usefixtures("_asked_anew")
@pytest.mark.parametrize(("words", "said"), [("g++ '", "CXX holds no command: No closing"), (" ", "Could not load")])
def test_a_compiler_that_is_no_command_is_named_and_a_blank_one_is_the_usual(
    words: str, said: str, toolchain: Toolchain, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The usual one is a stand-in here, and what it writes is empty."""
    monkeypatch.setenv("CXX", words)
    assert backend().startswith(f"reference: {said}")
    assert len(toolchain.runs()) == (0 if words.strip() else here() + 1)


def test_torch_may_lie_in_a_folder_with_spaces_and_commas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if shutil.which("g++") is None:
        pytest.skip("g++ is not installed")
    folder, source = tmp_path / "a folder, of torch", tmp_path / "one.cpp"
    folder.symlink_to(native_build._TORCH_FOLDER)
    monkeypatch.setattr(native_build, "_TORCH_FOLDER", folder)
    source.write_text('extern "C" __attribute__((visibility("default"))) int one() { return 1; }', encoding="utf-8")
    built = build_emulated(tmp_path / "cache", sources=[source])
    assert ctypes.CDLL(str(built)).one() == 1


@pytest.mark.usefixtures("_asked_anew")
def test_a_failure_is_not_retried_in_the_same_process(toolchain: Toolchain) -> None:
    toolchain.install("g++", failure="-shared")
    said = "reference: g++ ended with status 1: first line\nlast line of the error"
    assert [backend(), backend()] == [said] * 2
    assert len(toolchain.runs()) == here() + 1


@pytest.mark.usefixtures("_asked_anew")
def test_a_library_that_cannot_be_loaded_is_named(toolchain: Toolchain) -> None:
    """What the stand-in writes is empty."""
    said = backend()
    assert said.startswith(f"reference: Could not load this library: {toolchain.cache}/libsparsync-")
    assert said.endswith("file too short")


@pytest.mark.usefixtures("_asked_anew")
def test_a_cache_that_cannot_be_written_is_named(toolchain: Toolchain) -> None:
    toolchain.cache.write_text("a file")
    assert str(toolchain.cache) in backend()


def test_without_a_compiler_the_definition_serves(tmp_path: Path) -> None:
    code = (
        "import torch; from sparsync.kernels.native import backend, feedback_select\n"
        "e = torch.zeros(3); p = feedback_select(torch.tensor([1., 3., 2.]), e, 1, rule='top_k')\n"
        "print(backend(), p.indices.tolist(), e.tolist(), sep='|')"
    )
    said = library_of(code, PATH=str(tmp_path), CXX="", CUDA_HOME="", SPARSYNC_CACHE=str(tmp_path))
    assert said == "reference: no C++ compiler: g++ is not on the PATH|[1]|[1.0, 0.0, 2.0]"


def test_nvcc_adds_cuda_for_the_devices_it_knows(toolchain: Toolchain) -> None:
    toolchain.install("nvcc")
    assert build().devices == ("cpu", "cuda")
    cuda, linked = [run for run in toolchain.runs() if run.startswith("nvcc")]
    targets = [word.removeprefix("-gencode=") for word in cuda.split() if word.startswith("-gencode")]
    assert targets == [
        "arch=compute_80,code=sm_80",
        "arch=compute_90,code=sm_90",
        "arch=compute_90,code=compute_90",
    ]
    assert "--fmad=false" in cuda
    assert "-cudart static -shared" in linked
    assert "-Xlinker=--no-as-needed" in linked


def test_nvcc_is_found_in_cuda_home(toolchain: Toolchain, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    home = tmp_path / "cuda"
    (home / "bin").mkdir(parents=True)
    toolchain.install("nvcc")
    shutil.move(toolchain.folder / "nvcc", home / "bin" / "nvcc")
    monkeypatch.setenv("CUDA_HOME", str(home))
    assert build().devices == ("cpu", "cuda")


@pytest.mark.parametrize("failure", ["--fmad=false", "-shared"])
def test_where_nvcc_fails_the_cpu_part_serves_and_the_reason_is_kept(toolchain: Toolchain, failure: str) -> None:
    toolchain.install("nvcc", failure=failure)
    built = build()
    assert built.devices == ("cpu",)
    assert built.backend().startswith("native (CPU); no CUDA: ")
    assert built.backend().endswith("last line of the error")
    runs = toolchain.runs()
    assert build() == built
    assert toolchain.runs() == runs


def test_the_emulated_library_has_its_own_place(
    toolchain: Toolchain, sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    emulation = tmp_path / "emulation"
    shutil.copytree(emulated_build.EMULATION_FOLDER, emulation)
    monkeypatch.setattr(emulated_build, "EMULATION_FOLDER", emulation)
    first = build_emulated()
    assert build_emulated() == first
    (run,) = toolchain.runs()
    assert "-DSPARSYNC_EMULATE" in run
    assert "-x c++" in run
    for place in (sources / "cuda" / "added.cuh", emulation / "added.h"):
        before = build_emulated()
        place.write_text("// new\n")
        assert build_emulated() != before
    assert build_emulated(extra_flags=["-fsanitize=address"]) != first
    assert "-fsanitize=address" in toolchain.runs()[-1]


def test_other_sources_may_be_emulated(toolchain: Toolchain, tmp_path: Path) -> None:
    source = tmp_path / "own.cu"
    source.write_text("// one\n")
    first = build_emulated(tmp_path, sources=[source])
    source.write_text("// two\n")
    assert build_emulated(tmp_path, sources=[source]) != first
    assert first.parent == tmp_path


def test_the_cache_is_where_it_is_wanted_else_in_the_checkout_else_at_home(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SPARSYNC_CACHE", str(tmp_path))
    assert cache_folder() == tmp_path
    monkeypatch.delenv("SPARSYNC_CACHE")
    monkeypatch.setattr(build_cache, "CHECKOUT", tmp_path)
    assert cache_folder() == Path.home() / ".cache" / "sparsync"
    (tmp_path / "pyproject.toml").touch()
    assert cache_folder() == tmp_path / "build" / "native"


def test_the_command_says_where_the_library_is_and_what_runs(tmp_path: Path) -> None:
    environment = {"PATH": str(tmp_path), "CXX": "", "CUDA_HOME": ""}
    done = run_forked("-m", "sparsync.kernels.native_build", environment=environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "no native library: reference: no C++ compiler: g++ is not on the PATH\n"


@pytest.mark.parametrize(("device", "status"), [("cpu", 0), ("cuda", 1)])
def test_the_command_fails_where_a_device_that_is_asked_for_is_not_served(
    monkeypatch: pytest.MonkeyPatch, device: str, status: int
) -> None:
    monkeypatch.setattr(native_build, "library", lambda: native_build.Library(Path("a.so"), ("cpu",), "no CUDA"))
    monkeypatch.setattr(sys, "argv", ["native_build", "--device", device])
    assert native_build.main() == status


def test_a_compiler_that_brings_its_own_libstdcxx_links_the_names_that_old_systems_lack(tmp_path: Path) -> None:
    """Some have no shared libstdc++; its archive defines those names too, and nobody is to see the rest of it."""
    compiler = native_build.host_compiler()
    flags, source = native_build.host_flags(), native_build.SOURCE_FOLDER / "cpu" / "old_systems.cpp"
    user = tmp_path / "user.cpp"
    user.write_text(
        "#include <vector>\nvoid use(std::vector<int>& items, long count) { items.resize(count); new int[count]; }\n"
    )
    library = tmp_path / "library.so"
    link = ["-shared", "-static-libstdc++", *native_build._cpu_link_flags(), "-o", str(library)]
    native_build.run_compiler([*compiler, *flags, str(source), str(user), *link])
    exported = subprocess.run(["nm", "-D", "--defined-only", "-C", library], capture_output=True, text=True, check=True)
    assert "std::__throw_length_error" not in exported.stdout


def test_the_command_refuses_an_unknown_backend_in_one_line() -> None:
    done = run_forked("-m", "sparsync.kernels.native_build", environment={"SPARSYNC_BACKEND": "foo"})
    said = "error: SPARSYNC_BACKEND must be empty or 'reference', got 'foo'\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", said)
