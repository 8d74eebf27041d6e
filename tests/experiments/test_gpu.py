"""What `make gpu` does, with small commands in place of its steps: each runs, ends, has a log and is counted."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
import torch

from sparsync.experiments import gpu
from sparsync.experiments.gpu import CPU_TESTS, CUDA_TESTS, Step, chosen, run_steps, steps
from sparsync.experiments.studies.kernels import checks, study
from tests.support.paths import ROOT
from tests.support.stand_ins.forked import run_forked

SANITIZER = "/opt/compute-sanitizer"
SPEAKS_OF_CUDA = re.compile(r'"cuda"|\bcuda_backend\b|torch\.cuda|def test_\w*cuda')
# Files that speak of CUDA, and why no test in them needs a GPU.
NEED_NO_GPU = {
    "tests/experiments/learning/test_kfac.py": "a state that was loaded to a GPU has a stand-in",
    "tests/experiments/local/test_messages.py": "devices are only named",
    "tests/experiments/racing/test_real_command.py": "a device is only named",
    "tests/experiments/studies/kernels/test_study.py": "names of cases and refusals",
    "tests/experiments/test_gpu.py": "this file",
    "tests/experiments/test_train.py": "a machine's devices are set, and nothing runs on them",
    "tests/kernels/test_native_build.py": "nvcc is a stand-in",
    "tests/kernels/test_prebuilt.py": "what is compiled for a GPU is only named",
    "tests/paper/studies/test_kernels.py": "records that were written for the tests",
    "tests/paper/test_kernel_page.py": "records that were written for the tests",
}
ABSENT = ("tyro", "pooch", "psutil", "matplotlib", "cvxpy", "clarabel", "highspy", "flint", "z3", "cvc5", "PEPit")
TRAINING = ("tests/experiments/learning/test_cuda.py", "tests/experiments/test_simulate_cuda.py")
"""Modules that are skipped as a whole where there is no GPU."""
HANG = "import time; time.sleep(600)"
# Writes its own number and that of a child in a session of its own, then waits.
PARENT = """
import os, pathlib, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", {hang!r}], start_new_session=True)
pathlib.Path({unfinished!r}).write_text(f"{{os.getpid()}} {{child.pid}}")
os.rename({unfinished!r}, {family!r})
{rest}
"""
UNTIL_INTERRUPTED = """
try:
    time.sleep(600)
except KeyboardInterrupt:
    print("what failed so far")
"""
DEAF = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); time.sleep(600)"


def python(name: str, code: str, limit_seconds: float = 60, grace_seconds: float = 15) -> Step:
    return Step(name, [sys.executable, "-c", code], limit_seconds, grace_seconds)


def parent(folder: Path, rest: str) -> str:
    return PARENT.format(hang=HANG, unfinished=str(folder / "unfinished"), family=str(folder / "family"), rest=rest)


def family(folder: Path) -> list[int]:
    return [int(word) for word in (folder / "family").read_text().split()]


def wait_until_gone(members: list[int]) -> None:
    """What was killed may be there for a moment, or for as long as nobody asks for its status."""
    deadline = time.monotonic() + 30
    while any(map(is_alive, members)):
        assert time.monotonic() < deadline, members
        time.sleep(0.01)


def is_alive(member: int) -> bool:
    try:
        return psutil.Process(member).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_every_step_runs_whatever_became_of_the_one_before(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    todo = [
        python("first", "import sys; print('said'); sys.exit(3)"),
        Step("second", ["/dev/null/program"], 60),
        python("third", "import sys; sys.stderr.write('also said\\n')"),
        python("fourth", "import os; os.abort()"),
    ]
    assert run_steps(todo, tmp_path) == ["first", "second", "fourth"]
    logs = {path.stem: path.read_text() for path in tmp_path.iterdir()}
    assert list(map(logs.get, ("first", "third", "fourth"))) == ["said\n", "also said\n", ""]
    assert "/dev/null/program" in logs["second"]
    shown = "".join(f"== {step.name}\n{logs[step.name]}" for step in todo)
    assert capfd.readouterr().out == shown


def test_nothing_is_tried_without_a_needed_step(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    todo = [
        replace(python("good", ""), is_needed=True),
        python("bad", "raise SystemExit(1)"),
        replace(python("needed", "raise SystemExit(1)"), is_needed=True),
        python("never", ""),
    ]
    assert run_steps(todo, tmp_path) == ["bad", "needed"]
    assert capfd.readouterr().out == "== good\n== bad\n== needed\n"
    assert [step.name for step in steps(tmp_path, sanitizer=None) if step.is_needed] == ["build"]


def test_some_steps_can_be_chosen_by_name_and_keep_their_order() -> None:
    todo = [python(name, "") for name in ("build", "checks", "bench")]
    assert [step.name for step in chosen(todo, ["bench", "build"])] == ["build", "bench"]
    assert chosen(todo, None) == todo
    with pytest.raises(ValueError, match="no step 'fast', 'more'; there are build, checks, bench"):
        chosen(todo, ["fast", "build", "more"])


def test_a_step_knows_its_variables_and_the_checkout_and_is_asked_nothing(tmp_path: Path) -> None:
    code = "import os, sys; print(os.getcwd(), os.environ['WORD'], os.environ['HOME'], sys.stdin.read(), sep='|')"
    step = Step("step", [sys.executable, "-c", code], 60, environment={"WORD": "said"})
    assert run_steps([step], tmp_path) == []
    assert (tmp_path / "step.log").read_text() == f"{ROOT}|said|{os.environ['HOME']}|\n"


def test_a_step_whose_time_is_up_is_interrupted_and_says_what_it_has(tmp_path: Path) -> None:
    """It has failed, though its status is 0; and what it began in a session of its own is not left behind."""
    step = python("step", parent(tmp_path, UNTIL_INTERRUPTED), limit_seconds=3)
    assert run_steps([step, python("next", "")], tmp_path) == ["step"]
    assert (tmp_path / "step.log").read_text() == "what failed so far\nnot done after 3 seconds\n"
    wait_until_gone(family(tmp_path))


@pytest.mark.parametrize(("rest", "grace_seconds"), [(DEAF, 0.2), (UNTIL_INTERRUPTED, 0)])
def test_a_step_that_no_interrupt_ends_is_killed_with_its_children(
    tmp_path: Path, rest: str, grace_seconds: float
) -> None:
    step = python("step", parent(tmp_path, rest), limit_seconds=3, grace_seconds=grace_seconds)
    assert run_steps([step], tmp_path) == ["step"]
    assert (tmp_path / "step.log").read_text() == "not done after 3 seconds\n"
    wait_until_gone(family(tmp_path))


def test_nothing_of_a_step_that_has_ended_goes_on(tmp_path: Path) -> None:
    code = f"import subprocess, sys; print(subprocess.Popen([sys.executable, '-c', {HANG!r}]).pid)"
    assert run_steps([python("step", code)], tmp_path) == []
    wait_until_gone([int((tmp_path / "step.log").read_text())])


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, -signal.SIGINT), (signal.SIGTERM, 128 + signal.SIGTERM)]
)
def test_who_ends_make_gpu_ends_the_step(tmp_path: Path, number: signal.Signals, status: int) -> None:
    command = [sys.executable, "-c", parent(tmp_path, "time.sleep(600)")]
    code = f"""
import sys
from sparsync.experiments import gpu
gpu.torch.cuda.is_available = lambda: True
gpu.steps = lambda folder, sanitizer: [gpu.Step("step", {command!r}, 60)]
sys.argv = ["gpu", "--output-folder", {str(tmp_path / "out")!r}]
gpu.main()
"""
    with subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        # A shell lets what it starts in the background ignore interrupts.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        while not (tmp_path / "family").exists():
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(number)
        assert process.wait(60) == status
    wait_until_gone(family(tmp_path))


@pytest.fixture
def out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The output folder of a machine that has a GPU and no compute-sanitizer."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr("shutil.which", lambda _: None)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    monkeypatch.setattr(sys, "argv", ["gpu", "--output-folder", str(tmp_path / "new" / "out")])
    return tmp_path / "new" / "out"


def test_what_failed_is_listed_at_the_end(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bad, good = "raise SystemExit(1)", ""
    todo = [python("build", bad), python("checks", good), python("bench", bad)]
    monkeypatch.setattr(gpu, "steps", lambda *_, **__: todo)
    with pytest.raises(SystemExit) as ended:
        gpu.main()
    assert ended.value.code == "make gpu: failed: build bench"
    assert {path.name for path in out.iterdir()} == {"build.log", "checks.log", "bench.log", "memcheck.log"}


def test_all_is_well_without_a_sanitizer_which_is_said(
    out: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(gpu, "steps", lambda *_, **__: [python("build", "print('built')")])
    gpu.main()
    assert capsys.readouterr().out == "== build\nbuilt\ncompute-sanitizer was not found\n"
    assert (out / "memcheck.log").read_text() == "compute-sanitizer was not found\n"


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_make_gpu_says_what_it_lacks_and_leaves_nothing(tmp_path: Path) -> None:
    command = ["make", "gpu", f"GPU_PYTHON={sys.executable}", f"OUT={tmp_path / 'out'}"]
    finished = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)
    assert finished.returncode
    assert "make gpu needs a CUDA GPU: torch.cuda.is_available() is False\n" in finished.stderr
    assert not (tmp_path / "out").exists()


def test_nine_minutes_are_enough_and_what_may_outlive_its_end_comes_last() -> None:
    without, everything = steps(Path("out"), sanitizer=None), steps(Path("out"), sanitizer=SANITIZER)
    assert [step.name for step in everything] == [*(step.name for step in without), "memcheck", "racecheck"]
    assert sum(step.limit_seconds for step in everything) <= 540
    assert [step.grace_seconds for step in everything] == [15] * len(without) + [0] * 2
    assert all(step.command[:3] == [SANITIZER, "--tool", step.name] for step in everything[len(without) :])


def test_every_file_with_a_test_that_needs_a_gpu_is_run() -> None:
    files = {str(path.relative_to(ROOT)): path.read_text() for path in (ROOT / "tests").rglob("test_*.py")}
    speaking = {name for name, text in files.items() if SPEAKS_OF_CUDA.search(text)}
    assert speaking == {*CUDA_TESTS, *NEED_NO_GPU}
    assert set(CUDA_TESTS).isdisjoint(NEED_NO_GPU)
    assert set(CPU_TESTS) <= set(files)


def test_make_gpu_runs_the_steps_that_are_asked_for(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "steps", lambda *_, **__: [python("build", ""), python("bench", "")])
    monkeypatch.setattr(sys, "argv", [*sys.argv, "--only", "bench"])
    gpu.main()
    assert {path.name for path in out.iterdir()} == {"bench.log"}


def collected(command: list[str]) -> list[str]:
    """The tests that a step would run."""
    interpreter, *words = [word for word in command if word not in ("-n", "4")]
    assert interpreter == sys.executable
    listed = run_forked(*words, "--collect-only", "-p", "no:xdist")
    assert listed.returncode == 0, listed.stderr
    return [line for line in listed.stdout.splitlines() if "::" in line]


def test_tests_that_need_the_gpu_come_first_and_none_runs_twice() -> None:
    lists = {step.name: collected(list(step.command)) for step in steps(Path("out"), sanitizer=None)[1:3]}
    with_gpu, rest = lists["cuda-tests"], lists["other-tests"]
    assert {name.split("::")[0] for name in with_gpu} == {*CUDA_TESTS} - {*TRAINING}
    assert set(with_gpu).isdisjoint(rest)
    assert {name.split("::")[0] for name in rest} == {*CPU_TESTS}
    # Parameters name what a test runs on; a test that needs a GPU and does not say so would wait for the second step.
    assert [name for name in rest if "cuda" in name] == []


def test_what_make_gpu_runs_needs_no_package_that_a_gpu_machine_may_lack() -> None:
    tests = sorted({*CUDA_TESTS, *CPU_TESTS})
    names = [name.removesuffix(".py").replace("/", ".") for name in tests]
    modules = [gpu.__name__, study.__name__, checks.__name__, *names]
    # Modules that train need data and options to be read: they are skipped where that is missing.
    skipped = [name.removesuffix(".py").replace("/", ".") for name in TRAINING]
    code = f"""
import contextlib, importlib, sys, pytest
for name in {ABSENT}: sys.modules[name] = None
for name in {modules}:
    allowed = (pytest.skip.Exception,) if name in {skipped} else ()
    with contextlib.suppress(*allowed): importlib.import_module(name)
"""
    finished = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False, timeout=120
    )
    assert finished.returncode == 0, finished.stderr


def test_its_own_imports_are_torch_and_what_comes_with_python() -> None:
    code = """
import sys, torch
before = {name.split(".")[0] for name in sys.modules}
import sparsync.experiments.gpu
print(*{name.split(".")[0] for name in sys.modules} - before - set(sys.stdlib_module_names))
"""
    finished = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert finished.stdout.split() == ["sparsync"]
