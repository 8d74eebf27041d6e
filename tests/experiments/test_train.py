"""Real gloo ranks under torchrun compute what the simulation computes, bit for bit, and bad input ends all of them."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import tempfile
import time
from dataclasses import asdict, replace
from datetime import timedelta
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
import torch
import torch.distributed as dist

from sparsync.experiments import train
from sparsync.experiments.command import Command
from sparsync.experiments.feedbacks.registry import FEEDBACKS
from sparsync.experiments.simulate import simulate
from sparsync.experiments.training import loop
from sparsync.experiments.training.adaptive import ADAPTIVE_SELECTORS
from sparsync.experiments.training.collectives import GroupAverager
from sparsync.experiments.training.data import load_dataset
from sparsync.experiments.training.groups import open_store
from sparsync.experiments.training.roads import Sent
from sparsync.experiments.training.runs import RUNS
from sparsync.experiments.training.worker import Replica, StepFacts, step
from sparsync.verify.tools.arithmetic import arithmetic
from tests.support.shared_builds import once, shared_folder
from tests.support.slow_cases import slow_except
from tests.support.workers import DEADLINE_SECONDS, joined_already, run_module, run_workers, torchrun

TRAIN = "sparsync.experiments.train"
PLAIN_RUNS = (
    {name: run for name, run in RUNS.items() if not name.endswith("_paper")}
    | {f"fnn3_{name}": replace(RUNS["fnn3_top_k"], step_location="outside", feedback=name) for name in FEEDBACKS}
    | {
        f"fnn3_{name}": replace(RUNS["fnn3_top_k"], collective=name, node_size=2)
        for name in ("balanced", "hierarchical")
    }
)
RELEASED = "fnn3_random_k_paper"
STEPS = 20
# Where a rule adapts, two of the reviews after which it may change.
PLAIN_STEPS = {name: 12 if run.selector in ADAPTIVE_SELECTORS else 6 for name, run in PLAIN_RUNS.items()}


def run_program(text: str, folder: Path, *arguments: str, restarts: int = 0) -> subprocess.CompletedProcess[str]:
    """Two ranks run a program that ends in `train.main`."""
    program = folder / "program.py"
    program.write_text(text, encoding="utf-8")
    launcher = ("--nproc-per-node", "2", "--max-restarts", str(restarts))
    return torchrun(*launcher, str(program), "--output", str(folder / "result.json"), *arguments)


def train_every_plain_run() -> dict[str, dict[str, Any]]:
    """What a rank writes of each run: nothing, but for rank 0. All of them in one group that is there already."""
    os.environ |= {"RANK": str(dist.get_rank()), "WORLD_SIZE": str(dist.get_world_size())}
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(train, "_joined", joined_already)
        patch.setattr(train, "load_dataset", cache(load_dataset))
        for name, run in PLAIN_RUNS.items():
            settings = replace(run, steps=PLAIN_STEPS[name], rank_order=True)
            train.train(Command(run=name, output=Path(folder) / f"{name}.json", settings=settings))
        return {path.stem: json.loads(path.read_text()) for path in Path(folder).iterdir()}


@pytest.fixture(scope="module")
def plain_results(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, dict[str, Any]]]:
    def train_them(target: Path) -> None:
        target.write_text(json.dumps(run_workers(train_every_plain_run, 4)), encoding="utf-8")

    found = once(shared_folder(tmp_path_factory, "train") / "plain.json", train_them)
    return [dict(written) for written in json.loads(found.read_text(encoding="utf-8"))]


@pytest.mark.slow
def test_only_rank_zero_writes(plain_results: list[dict[str, dict[str, Any]]]) -> None:
    assert [set(written) for written in plain_results] == [set(PLAIN_RUNS), set(), set(), set()]


@pytest.mark.parametrize("name", PLAIN_RUNS)
def test_four_ranks_equal_the_simulation_bit_for_bit(name: str, plain_results: list[dict[str, dict[str, Any]]]) -> None:
    result = plain_results[0][name]
    simulated = simulate(replace(PLAIN_RUNS[name], steps=PLAIN_STEPS[name], workers=4, rank_order=True))
    assert result["parameters_sha256"] == simulated.parameters_sha256
    assert result["loss"] == [facts.loss for facts in simulated.steps]
    assert result["delta"] == [fmean(facts.deltas) for facts in simulated.steps]
    assert result["largest_selected_count"] == [max(facts.selected_counts) for facts in simulated.steps]
    assert result["sent_bytes"] == [facts.sent_bytes for facts in simulated.steps]
    assert result["test_accuracy"] == simulated.test_accuracy
    assert result["provenance"]["process_count"] == 4


RELEASED_ARGUMENTS = ("--run-name", RELEASED, "--steps", str(STEPS), "--density", "0.01", "--seed", "3")


def train_as_told(*arguments: str) -> tuple[dict[str, Any] | None, object, str]:
    """The command in a rank of a group that is there already: what it writes, its exit status, what it says."""
    os.environ |= {"RANK": str(dist.get_rank()), "WORLD_SIZE": str(dist.get_world_size())}
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        output, said, status = Path(folder) / "result.json", io.StringIO(), None
        patch.setattr(train, "_joined", joined_already)
        patch.setattr("sys.argv", [TRAIN, "--output", str(output), *arguments])
        patch.setattr("sys.stderr", said)
        try:
            train.main()
        except SystemExit as error:
            status = error.code
        left = [path.name for path in Path(folder).iterdir()]
        assert left in ([], [output.name])
        return json.loads(output.read_text()) if left else None, status, said.getvalue()


def train_the_released_run() -> tuple[dict[str, Any] | None, object, str]:
    return train_as_told(*RELEASED_ARGUMENTS)


def diverge() -> tuple[dict[str, Any] | None, object, str]:
    return train_as_told("--run-name", "fnn3_top_k", "--step-size", "1e30")


def test_released_settings_equal_the_simulation_bit_for_bit_and_so_do_the_same_arguments_again(tmp_path: Path) -> None:
    """Two ranks, under torchrun and again: step size outside, momentum, weight decay and both warm-ups."""
    output = tmp_path / "result.json"
    finished = torchrun("--nproc-per-node", "2", "-m", TRAIN, "--output", str(output), *RELEASED_ARGUMENTS)
    assert finished.returncode == 0, finished.stderr
    result, run = json.loads(output.read_text()), replace(RUNS[RELEASED], steps=STEPS, density=0.01, seed=3, workers=2)
    assert result["run"] == json.loads(json.dumps(asdict(run)))
    assert result["parameters_sha256"] == simulate(run).parameters_sha256
    (again, *_), (other, *_) = run_workers(train_the_released_run, 2)
    assert again["parameters_sha256"] == result["parameters_sha256"]
    assert other is None


def test_a_rank_knows_its_launcher_though_that_ends_before_it_asks(tmp_path: Path) -> None:
    """A fork of a fork: the one between ends at once, and then another process is the parent."""
    said = tmp_path / "said.txt"
    between = os.fork()
    if between == 0:
        itself = os.getpid()
        if os.fork() == 0:
            while os.getppid() == itself:
                time.sleep(0.01)
            os.environ["TORCHELASTIC_RUN_ID"], words = "a run", "nothing"
            try:
                train.require_launcher()
            except ProcessLookupError as error:
                words = str(error)
            said.with_suffix(".new").write_text(words, encoding="utf-8")
            said.with_suffix(".new").rename(said)
        os._exit(0)
    os.waitpid(between, 0)
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not said.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert said.read_text(encoding="utf-8").startswith(f"process {between}, which launched this rank, has ended")


def test_a_lone_process_needs_no_launcher(tmp_path: Path) -> None:
    output = tmp_path / "result.json"
    finished = run_module(TRAIN, "--run", "fnn3_top_k", "--steps", "5", "--output", str(output))
    assert finished.returncode == 0, finished.stderr
    simulated = simulate(replace(RUNS["fnn3_top_k"], steps=5, workers=1))
    assert json.loads(output.read_text())["parameters_sha256"] == simulated.parameters_sha256


def test_a_diverging_run_is_a_result_that_every_rank_ends_with_alike() -> None:
    """The first of them writes it, and says what was not finite."""
    (written, status, said), (other, other_status, other_said) = run_workers(diverge, 2)
    assert written is not None
    assert written["diverged_at_step"] == len(written["loss"]) < written["run"]["steps"]
    assert (status, other, other_status, other_said) == (None, None, None, "")
    assert "is not finite" in said


def refusal_of(
    arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> tuple[object, str]:
    """Exit status and what stands on the error stream; the last test starts a process for it."""
    monkeypatch.setattr("sys.argv", [TRAIN, *arguments])
    with pytest.raises(SystemExit) as refusal:
        train.main()
    return refusal.value.code, capsys.readouterr().err


@pytest.mark.parametrize("rank", [0, 1])
def test_fewer_workers_than_processes_are_refused(
    rank: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RANK", str(rank))
    monkeypatch.setenv("WORLD_SIZE", "2")
    arguments = ("--run-name", "fnn3_top_k", "--workers", "1", "--output", str(tmp_path / "result.json"))
    status, said = refusal_of(arguments, monkeypatch, capsys)
    assert status == 2
    assert said == f"error on rank {rank}: 1 workers are fewer than the 2 processes started\n"
    assert list(tmp_path.iterdir()) == []


def test_a_rank_that_others_do_not_come_to_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in {"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "0"}.items():
        monkeypatch.setenv(name, value)
    output = ("--output", str(tmp_path / "result.json"))
    status, said = refusal_of(("--run-name", "fnn3_top_k", "--join-seconds", "0.5", *output), monkeypatch, capsys)
    assert status == 2
    (line,) = said.splitlines()
    assert line.startswith("error on rank 0: not all 2 ranks have come within 0.5 s (--join-seconds): ")
    assert list(tmp_path.iterdir()) == []


LATE = """
import os, time
import torch.distributed as dist
from sparsync.experiments import train

leave = dist.destroy_process_group
dist.destroy_process_group = lambda: (leave(), time.sleep(20 * int(os.environ["RANK"])))

def fail(*arguments, averager, local_ranks, **others):
    if local_ranks == [1]:
        raise {error}("rank one gives up")
    averager.gather([0.0])

train.run_training = fail
train.main()
"""


@pytest.mark.parametrize("error", slow_except({"ValueError"}, ["ValueError", "ArithmeticError"]))
def test_a_rank_that_fails_says_why_before_its_peers_lose_it(error: str, tmp_path: Path) -> None:
    """Leaving the group may take long; torchrun ends the others as soon as the first has ended."""
    finished = run_program(LATE.format(error=error), tmp_path, "--run-name", "fnn3_top_k")
    assert finished.returncode != 0
    lines = finished.stderr.splitlines()
    (said,) = [place for place, line in enumerate(lines) if line.endswith("rank one gives up")]
    assert not any("[rank0]" in line for line in lines[:said])
    assert list(tmp_path.glob("*.json")) == []


KILLED = """
import os, signal
from sparsync.experiments import train
from sparsync.experiments.training import loop

step = loop.step

def once(index, *others):
    if (index, os.environ["RANK"], os.environ["TORCHELASTIC_RESTART_COUNT"]) == (3, "1", "0"):
        os.kill(os.getpid(), signal.SIGKILL)
    return step(index, *others)

loop.step = once
train.main()
"""


@pytest.mark.slow
def test_restarted_ranks_find_each_other_and_train_as_if_none_had_been_lost(tmp_path: Path) -> None:
    finished = run_program(KILLED, tmp_path, "--run-name", "fnn3_top_k", "--steps", "5", restarts=1)
    assert finished.returncode == 0, finished.stderr
    # torchrun names whom it finds first: the rank that was killed, or the one that lost it.
    assert re.search(r"\(exitcode: -(9\) local_rank: 1|6\) local_rank: 0)", finished.stderr)
    simulated = simulate(replace(RUNS["fnn3_top_k"], steps=5, workers=2))
    assert json.loads((tmp_path / "result.json").read_text())["parameters_sha256"] == simulated.parameters_sha256


@pytest.mark.parametrize(("node_count", "is_found"), [("1", False), ("2", True)])
def test_what_a_lost_rank_left_is_not_found_after_a_restart_of_one_node(
    node_count: str, is_found: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """torchrun's agent keeps its store. Of several nodes each counts its own restarts, so there all share one place."""
    # The stubs of torch do not name it.
    agent = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)  # type: ignore[attr-defined]
    environment = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(agent.port), "RANK": "0", "WORLD_SIZE": "1"}
    for name, value in (environment | {"TORCHELASTIC_USE_AGENT_STORE": "True", "GROUP_WORLD_SIZE": node_count}).items():
        monkeypatch.setenv(name, value)
    minute = timedelta(minutes=1)
    open_store(minute).set("address", "of a rank that is lost")
    monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", "1")
    assert open_store(minute).check(["address"]) == is_found


UNLIKE_PROCESSORS = """
import os
os.environ["ATEN_CPU_CAPABILITY"] = ["avx2", "default"][int(os.environ["RANK"])]
from sparsync.experiments import train
train.main()
"""


@pytest.mark.skipif(
    "AVX" not in torch.backends.cpu.get_cpu_capability(), reason="PyTorch has one code for this processor"
)
def test_ranks_whose_processors_round_differently_are_refused(tmp_path: Path) -> None:
    """Already the initial parameters differ, in their last bit."""
    finished = run_program(UNLIKE_PROCESSORS, tmp_path, "--run-name", "fnn3_top_k", "--steps", "5")
    assert finished.returncode != 0
    assert "after 0 updates ranks [1] have other parameters than rank 0" in finished.stderr
    assert list(tmp_path.glob("*.json")) == []


def train_though_a_parameter_changes_on_the_last_rank() -> str:
    def disturbed(index: int, replica: Replica, *others: Any) -> tuple[StepFacts, list[Sent]]:
        outcome = step(index, replica, *others)
        if (index, dist.get_rank()) == (2, 1):
            replica.model.parameters[7] += 1e-3
        return outcome

    run, data = replace(RUNS["fnn3_top_k"], steps=8, evaluate_every=2, workers=2), load_dataset("embedded")
    rank, averager = dist.get_rank(), GroupAverager("sparse")
    # The process ends with this test.
    pytest.MonkeyPatch().setattr(loop, "step", disturbed)
    with pytest.raises(ValueError, match="other parameters") as caught:
        loop.run_training(run, data, worker_count=2, local_ranks=[rank], averager=averager)
    return str(caught.value).partition(":")[0]


def test_parameters_that_drift_apart_end_every_rank_at_the_next_evaluation() -> None:
    said = run_workers(train_though_a_parameter_changes_on_the_last_rank, 2)
    assert said == ["after 4 updates ranks [1] have other parameters than rank 0"] * 2


def test_a_rank_without_a_gpu_where_there_are_some_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("RANK", "LOCAL_RANK"):
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 1)
    status, said = refusal_of(("--run", "fnn3_top_k", "--output", str(tmp_path / "result.json")), monkeypatch, capsys)
    assert status == 2
    assert "error on rank 1: local rank 1 has no GPU, 1 present" in said


def test_a_lone_process_trains_on_the_pixels_and_with_the_threads_of_its_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    # It asks for one thread while it makes its digest, once in a process.
    arithmetic()
    asked: list[int] = []
    monkeypatch.setattr("torch.set_num_threads", asked.append)
    run, output = replace(RUNS["fnn3_top_k"], pixels="standardised", threads=2, steps=1), tmp_path / "result.json"
    train.train(Command(run="fnn3_top_k", output=output, settings=run))
    standardised = simulate(replace(run, workers=1, threads=3))
    assert json.loads(output.read_text())["loss"] == [standardised.steps[0].loss]
    assert standardised.steps[0].loss != simulate(replace(run, workers=1, pixels="unit", threads=4)).steps[0].loss
    assert asked == [2, 3, 4]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--run", "fnn3_topk"), "unknown run 'fnn3_topk'"),
        (("--run", "fnn3_top_k", "--density", "0"), "density must lie in (0, 1], got 0.0"),
        (("--run", "fnn3_top_k", "--density", "1.5"), "density must lie in (0, 1], got 1.5"),
        (("--run", "fnn3_top_k", "--steps", "0"), "steps must be at least 1, got 0"),
        (("--run", "fnn3_top_k", "--join-seconds", "0"), "join_seconds must be positive and at most 1e6, got 0.0"),
        (("--run", "fnn3_top_k", "--values", "int8", "--collective", "dense"), "collective 'sparse', not by 'dense'"),
        (("--run", "fnn3_top_k", "--data", "mnist"), "unknown data source 'mnist'"),
        (("--run", "fnn3_top_k", "--data", "fashion_mnist:no-such-folder"), "no-such-folder"),
        (("--run", "fnn3_top_k", "--batch-size", "20000"), "batch size 20000"),
    ],
)
def test_bad_input_is_refused_in_one_line(
    arguments: tuple[str, ...],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name in ("RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    status, said = refusal_of((*arguments, "--output", str(tmp_path / "result.json")), monkeypatch, capsys)
    assert status == 2
    assert message in said
    assert "Traceback" not in said
    assert list(tmp_path.iterdir()) == []


def test_a_missing_output_folder_is_refused_before_training(tmp_path: Path) -> None:
    output = tmp_path / "absent" / "result.json"
    finished = run_module(TRAIN, "--run", "fnn3_top_k", "--output", str(output))
    assert finished.returncode == 2
    assert f"the output folder {output.parent} does not exist" in finished.stderr
    assert "Traceback" not in finished.stderr
    assert not output.parent.exists()
